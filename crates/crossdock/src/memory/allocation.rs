//! An allocation while one owner has it.

use std::fmt;

use crate::error::Result;
use crate::memory::access::exclusive;
use crate::memory::handle::Handle;
use crate::memory::header::Birth;
use crate::memory::owner::adopt_foreign;
use crate::memory::place::Place;

/// One region of memory on a place, owned by whoever has this: not to be cloned. It becomes a [`Buffer`](crate::buffer::Buffer) to be shared and
/// sliced, and a buffer that nobody else has becomes one again.
///
/// It is owned and freed with the last holder; or adopted, with a callback in the place of freeing; or not owned at all.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::memory::{Allocation, Place};
///
/// let allocation = Allocation::new(100, Place::CPU)?;
/// assert_eq!(allocation.nbytes(), 100);
/// let buffer = Buffer::from(allocation);
/// let shared = buffer.clone();
/// let refused = Allocation::try_from(buffer).unwrap_err(); // there is another handle
/// drop(shared);
/// let allocation = Allocation::try_from(refused.value)?;
/// assert_eq!(allocation.nbytes(), 100);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The handle is the only one on its memory, which is not constant.
pub struct Allocation {
    handle: Handle,
}

impl Allocation {
    /// Takes over memory of somebody else's. `release` is called exactly once, as for [`Buffer::from_foreign`](crate::buffer::Buffer::from_foreign).
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_foreign`](crate::buffer::Buffer::from_foreign).
    ///
    /// # Safety
    ///
    /// As for [`Buffer::from_foreign`](crate::buffer::Buffer::from_foreign) with [`Birth::Sole`]: nobody else touches the memory until `release` is called.
    pub unsafe fn adopt(
        ptr: *mut u8,
        nbytes: usize,
        place: Place,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        // SAFETY: the caller's word: as for `adopt_foreign` of memory born sole.
        let handle = unsafe { adopt_foreign(ptr, nbytes, place, Birth::Sole, release) }?;
        Ok(Self { handle })
    }

    /// Points at memory that somebody else owns, uses, and frees at some time after the last use here. Its leases are Share and Pin
    /// only.
    ///
    /// # Errors
    ///
    /// As [`Buffer::non_owned`](crate::buffer::Buffer::non_owned).
    ///
    /// # Safety
    ///
    /// As for [`Buffer::non_owned`](crate::buffer::Buffer::non_owned).
    pub unsafe fn non_owned(ptr: *mut u8, nbytes: usize, place: Place) -> Result<Self> {
        // SAFETY: the caller's word: as for `adopt_foreign` of aliased memory, for as long as any handle or lease lives.
        let handle = unsafe { adopt_foreign(ptr, nbytes, place, Birth::Aliased, || {}) }?;
        Ok(Self { handle })
    }

    /// What this handle, the only one on memory that is not constant, owns.
    pub(crate) fn of(handle: Handle) -> Self {
        Self { handle }
    }

    pub(crate) fn into_handle(self) -> Handle {
        self.handle
    }

    /// The address of the first byte, in its place. It gives no permission to touch it.
    pub fn ptr(&self) -> *const u8 {
        self.handle.header().ptr().as_ptr()
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.handle.header().nbytes()
    }

    /// The device.
    pub fn place(&self) -> Place {
        self.handle.header().place()
    }

    /// The bytes, to be written. O(1).
    ///
    /// # Errors
    ///
    /// As [`Buffer::as_mut_slice`](crate::buffer::Buffer::as_mut_slice): `is_place` on a device, `is_conflict` where the memory is not ours alone.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        exclusive(&mut self.handle, false)?;
        let header = self.handle.header();
        // SAFETY: the whole region, initialised (Header 3). The handle is exclusive and mutably borrowed, so no lease or other
        // handle can come to be while the slice lives.
        Ok(unsafe { std::slice::from_raw_parts_mut(header.ptr().as_ptr(), header.nbytes()) })
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocation({} bytes at {:p} on {})", self.nbytes(), self.ptr(), self.place())
    }
}
