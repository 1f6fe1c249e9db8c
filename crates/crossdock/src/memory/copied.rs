//! The one counter of copied bytes.

use std::sync::atomic::{AtomicU64, Ordering};

static COPIED: AtomicU64 = AtomicU64::new(0);

/// How many bytes of array data this library has copied since the process began, on all threads.
///
/// Every copy of array data goes through this counter, whether it was asked for or allowed, so that "nothing was copied"
/// is a measurement: the difference of two readings. Single elements that are read or written by value do not count.
///
/// ```
/// use crossdock::memory::{Buffer, copied_bytes};
///
/// let before = copied_bytes();
/// let buffer = Buffer::from_vec(vec![0u8; 1000])?;
/// assert_eq!(copied_bytes(), before);
/// let other = Buffer::copy_from_slice(&buffer.read()?)?;
/// assert_eq!(copied_bytes(), before + 1000);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn copied_bytes() -> u64 {
    COPIED.load(Ordering::Relaxed)
}

/// Called by whatever copies array data, with the number of bytes that arrived.
pub(crate) fn count_copied(nbytes: usize) {
    COPIED.fetch_add(nbytes as u64, Ordering::Relaxed);
}
