//! An allocation with one owner.

use std::fmt;

use crate::error::Result;
use crate::memory::access::exclusive;
use crate::memory::handle::Handle;
use crate::memory::header::Birth;
use crate::memory::owner::adopt_foreign;
use crate::memory::place::Place;

/// One region of memory on a place, with one owner: it cannot be cloned. It becomes a
/// [`Buffer`](crate::buffer::Buffer) to be shared and sliced, and a buffer without other handles
/// becomes one again.
///
/// Its memory is freed with the last holder, or released by a callback if it was adopted, or not
/// freed at all if it is non-owned.
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
    /// Adopts memory of another library. `release` is called exactly once, as for
    /// [`Buffer::from_foreign`](crate::buffer::Buffer::from_foreign).
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_foreign`](crate::buffer::Buffer::from_foreign).
    ///
    /// # Safety
    ///
    /// Until `release` is called:
    ///
    /// 1. `nbytes` bytes at `ptr` are valid for reads and writes; if the place is the host, they
    ///    are initialised.
    /// 2. The memory is neither freed nor moved.
    /// 3. Only this allocation's holders access it ([`Birth::Sole`]).
    pub unsafe fn adopt(
        ptr: *mut u8,
        nbytes: usize,
        place: Place,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        // SAFETY: clauses 1 to 3 of `# Safety` are those that `adopt_foreign` requires of memory
        // with `Birth::Sole`.
        let handle = unsafe { adopt_foreign(ptr, nbytes, place, Birth::Sole, release) }?;
        Ok(Self { handle })
    }

    /// Points to memory that another party owns, uses, and frees after the last use here. Its
    /// leases are Share and Pin only.
    ///
    /// # Errors
    ///
    /// As [`Buffer::non_owned`](crate::buffer::Buffer::non_owned).
    ///
    /// # Safety
    ///
    /// While a handle or lease of the memory lives:
    ///
    /// 1. `nbytes` bytes at `ptr` are valid for reads and writes; if the place is the host, they
    ///    are initialised.
    /// 2. The memory is neither freed nor moved.
    /// 3. Other parties access it only atomically, or in ways that this program's memory model does
    ///    not cover.
    pub unsafe fn non_owned(ptr: *mut u8, nbytes: usize, place: Place) -> Result<Self> {
        // SAFETY: clauses 1 to 3 of `# Safety` are those that `adopt_foreign` requires of memory
        // with `Birth::Aliased`, until the last holder calls the empty `release`.
        let handle = unsafe { adopt_foreign(ptr, nbytes, place, Birth::Aliased, || {}) }?;
        Ok(Self { handle })
    }

    /// Makes an allocation of a handle that is the only one, on memory that is not constant.
    pub(crate) fn of(handle: Handle) -> Self {
        Self { handle }
    }

    pub(crate) fn into_handle(self) -> Handle {
        self.handle
    }

    /// The address of the first byte, in its place. It gives no permission to access the memory.
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

    /// The bytes, mutably. O(1).
    ///
    /// # Errors
    ///
    /// As [`Buffer::as_mut_slice`](crate::buffer::Buffer::as_mut_slice): `is_place` on a device,
    /// `is_conflict` if the memory has another holder or owner.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        exclusive(&mut self.handle, false)?;
        let header = self.handle.header();
        // SAFETY: the slice is the whole region, initialised on the host (Header 3). `exclusive`
        // found no other holder and no other owner, and the mutable borrow prevents new ones while
        // the slice lives.
        Ok(unsafe { std::slice::from_raw_parts_mut(header.ptr().as_ptr(), header.nbytes()) })
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocation({} bytes at {:p} on {})", self.nbytes(), self.ptr(), self.place())
    }
}
