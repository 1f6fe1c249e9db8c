//! Whether standard output was closed when the process started, as by `>&-` in a shell.
//!
//! Rust's runtime opens `/dev/null` in place of a closed stream before `main`, so that all output
//! would be lost without an error. The loader asks before the runtime does that.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn ask() {
    // SAFETY: F_GETFD takes any number and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    IS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

// SAFETY: the loader calls each function of this section once, before `main`; `ask` has the C ABI,
// ignores the arguments, and needs nothing of the runtime.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static ASK: extern "C" fn() = ask;

/// The error of a write to a closed standard output.
pub(crate) fn check_stdout() -> io::Result<()> {
    match IS_CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::from_raw_os_error(libc::EBADF)),
        false => Ok(()),
    }
}
