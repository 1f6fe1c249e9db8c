//! Progress on stderr, if that is a terminal. Dropping the [`ProgressBar`] erases it.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::out;

/// A bar over the bytes of an array that is read; hidden for a short one.
pub(crate) fn reading(nbytes: usize) -> ProgressBar {
    const READING: &str = "reading {wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left";
    over_bytes(nbytes, READING)
}

/// The same for the bytes of two arrays that are compared.
pub(crate) fn comparing(nbytes: usize) -> ProgressBar {
    const COMPARING: &str = "comparing {wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left";
    over_bytes(nbytes, COMPARING)
}

fn over_bytes(nbytes: usize, template: &str) -> ProgressBar {
    const LONG: usize = 256 << 20;
    match nbytes {
        ..LONG => ProgressBar::hidden(),
        _ => styled(ProgressBar::new(nbytes as u64), template),
    }
}

/// A bar over the bytes of a file that is written; hidden for a short one. With `shrinks`, it shows
/// only the current size, since the final size is unknown.
pub(crate) fn writing(nbytes: u64, shrinks: bool) -> ProgressBar {
    const LONG: u64 = 64 << 20;
    match () {
        () if nbytes < LONG => ProgressBar::hidden(),
        () if shrinks => {
            styled(ProgressBar::new_spinner(), "{spinner} writing, {binary_bytes} so far in {elapsed}")
        }
        () => styled(
            ProgressBar::new(nbytes),
            "writing {wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left",
        ),
    }
}

/// A spinner for a copy without progress reports; hidden for a short one.
pub(crate) fn copying(nbytes: usize) -> ProgressBar {
    spinning("copying", nbytes)
}

/// A spinner for the comparison of bytes with a checksum.
pub(crate) fn verifying(nbytes: usize) -> ProgressBar {
    spinning("verifying", nbytes)
}

fn spinning(what: &str, nbytes: usize) -> ProgressBar {
    const LONG: usize = 16 << 20;
    if nbytes < LONG || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let spinner = styled(ProgressBar::new_spinner(), "{spinner} {wide_msg}");
    spinner.set_message(format!("{what} {nbytes} bytes"));
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// A line that is rewritten while messages pass.
pub(crate) fn passing() -> ProgressBar {
    styled(ProgressBar::new_spinner(), "{spinner} {wide_msg}")
}

/// A number of steps, each with a message. No thread updates it, since some steps are measured.
pub(crate) fn steps(count: usize) -> ProgressBar {
    styled(ProgressBar::new(count as u64), "{pos} of {len} steps done: {wide_msg}")
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if out::is_quiet() {
        return ProgressBar::hidden();
    }
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
