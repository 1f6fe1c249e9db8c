//! What is being done, on stderr while it is done, where that is a terminal. All of it is gone when the [`ProgressBar`] is dropped.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the bytes of an array that is read; hidden where that is soon done.
pub(crate) fn reading(nbytes: usize) -> ProgressBar {
    const LONG: usize = 256 << 20;
    if nbytes < LONG {
        return ProgressBar::hidden();
    }
    styled(
        ProgressBar::new(nbytes as u64),
        "reading {wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left",
    )
}

/// A bar over the bytes of a file that is written; hidden where that is soon done. A file that `shrinks` what is written to it tells
/// how much it has become, since how much it will be is not known.
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

/// A spinner that turns by itself, for a copy that does not tell how far it is; hidden where that is soon done.
pub(crate) fn copying(nbytes: usize) -> ProgressBar {
    spinning("copying", nbytes)
}

/// The same while bytes are compared with a checksum.
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

/// So many steps, each with a message. Nothing runs beside them, since some are measured.
pub(crate) fn steps(count: usize) -> ProgressBar {
    styled(ProgressBar::new(count as u64), "{pos} of {len} steps done: {wide_msg}")
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
