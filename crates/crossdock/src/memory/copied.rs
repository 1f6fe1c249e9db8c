//! The counter of copied bytes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

static COPIED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static COPIED_HERE: Cell<u64> = const { Cell::new(0) };
}

/// How many bytes of array data this library has copied since the process began, on all threads.
///
/// Every copy of array data goes through this counter, whether it was requested or permitted. So
/// "nothing was copied" is a measurement: the difference of two readings. Single elements that are
/// read or written by value do not count.
///
/// If other threads copy meanwhile, [`copied_bytes_here`] counts this thread's copies.
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

/// Like [`copied_bytes`], for calls on this thread, since the thread began.
///
/// A copy that is divided among worker threads counts on the thread that called it. What a device's
/// stream copies counts on the thread that reports its completion.
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

/// Counts bytes of array data that were copied. The code that copies them calls it, with the number
/// that arrived.
///
/// For adapters: another library may have copied bytes on the way to an array, and those count,
/// too.
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
