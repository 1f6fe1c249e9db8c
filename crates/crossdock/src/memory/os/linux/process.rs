//! Random bytes, and waits for words that processes share.

use std::io;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

pub(crate) use crate::memory::os::unix::process::*;

/// Whether the system tells which files are mapped at an address (`/proc/self/maps`).
pub(crate) const TELLS_MAPPINGS: bool = !cfg!(miri);

/// Fills at most 256 bytes with random ones.
pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: the call writes at most as many bytes as the slice has.
    let written = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match usize::try_from(written) == Ok(bytes.len()) {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// Wakes the threads of all processes that [`wait_while`] the word has a value.
pub(crate) fn wake_all(word: &AtomicU32) {
    // SAFETY: the address is that of a live 32-bit atomic; the call wakes threads and accesses no
    // memory of this process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Sleeps while a word has a value, until [`wake_all`], or for as long as `limit`. May return
/// early.
pub(crate) fn wait_while(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = libc::timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos() as _ };
    let no_word = ptr::null::<u32>();
    // SAFETY: the address is that of a live 32-bit atomic, which the kernel reads, and `limit` a
    // record that outlives the call.
    unsafe {
        let wait = libc::FUTEX_WAIT;
        libc::syscall(libc::SYS_futex, word.as_ptr(), wait, value, &raw const limit, no_word, 0)
    };
}
