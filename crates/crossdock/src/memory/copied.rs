//! The one counter of copied bytes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static COPIED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static COPIED_HERE: Cell<u64> = const { Cell::new(0) };
}

/// How many bytes of array data this library has copied since the process began, on all threads.
///
/// Every copy of array data goes through this counter, whether it was asked for or allowed, so that "nothing was copied"
/// is a measurement: the difference of two readings. Single elements that are read or written by value do not count.
///
/// Where other threads copy meanwhile, [`copied_bytes_here`] says what was of one's own making.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::copied_bytes;
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

/// How many of the [`copied_bytes`] calls on this thread have copied, since the thread began.
///
/// A copy that is shared among worker threads counts where it was called. What a device's stream copies counts on the thread
/// that says it is complete.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::copied_bytes_here;
///
/// let (buffer, before) = (Buffer::from_vec(vec![0u8; 1000])?, copied_bytes_here());
/// let copy = || Buffer::copy_from_slice(&buffer.read()?);
/// std::thread::scope(|scope| scope.spawn(copy).join()).unwrap()?;
/// assert_eq!(copied_bytes_here(), before);
/// copy()?;
/// assert_eq!(copied_bytes_here(), before + 1000);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn copied_bytes_here() -> u64 {
    COPIED_HERE.get()
}

/// Counts bytes of array data that were copied: called by whatever copies them, with the number that arrived.
///
/// For adapters, which know what a library of others has copied for them on the way to an array: those bytes were copied, too.
///
/// ```
/// use crossdock::Array;
/// use crossdock::memory::copied_bytes_here;
/// use crossdock::bindings::count_copied;
///
/// let picture = [1u8, 2, 3, 4];
/// let before = copied_bytes_here();
/// let pixels = picture.to_vec(); // as by a function that gives pixels only as a copy
/// count_copied(pixels.len());
/// let array = Array::from_vec(pixels, [2, 2])?;
/// assert_eq!(copied_bytes_here() - before, array.nbytes() as u64);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn count_copied(nbytes: usize) {
    COPIED.fetch_add(nbytes as u64, Ordering::Relaxed);
    COPIED_HERE.set(COPIED_HERE.get() + nbytes as u64);
}
