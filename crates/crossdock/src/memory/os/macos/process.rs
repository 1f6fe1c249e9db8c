//! Random bytes, and waits for words that processes share.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(crate) use crate::memory::os::unix::process::*;

/// Whether the system tells which files are mapped at an address.
pub(crate) const TELLS_MAPPINGS: bool = false;

/// How often a word is looked at.
const PAUSE: Duration = Duration::from_millis(1);

/// Fills at most 256 bytes with random ones.
pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: the call writes as many bytes as the slice has.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Those who wait look by themselves.
pub(crate) fn wake_all(_: &AtomicU32) {}

/// Sleeps while a word has a value. May return early: the call that other systems have is new.
pub(crate) fn wait_while(word: &AtomicU32, value: u32, limit: Duration) {
    if word.load(Ordering::SeqCst) == value {
        std::thread::sleep(limit.min(PAUSE));
    }
}
