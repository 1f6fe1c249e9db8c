//! POSIX systems.
//!
//! Rust's runtime opens `/dev/null` in place of a closed stream before `main`, so that all output
//! would be lost without an error. The loader asks before the runtime does that.

pub(crate) mod ends;
pub(crate) mod signals;

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when the process started, as by `>&-` in a shell.
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

/// Whether both describe the same file.
pub(crate) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Whether a file is standard output.
pub(crate) fn is_stdout(file: &File) -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let stdout = stdout.and_then(|stdout| stdout.metadata());
    matches!((file.metadata(), stdout), (Ok(file), Ok(stdout)) if is_same(&file, &stdout))
}

/// Whether this process ignores a signal, as inherited from its parent.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 << (signal - 1) != 0)
}
