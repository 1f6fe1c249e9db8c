//! An allocation while one owner has it, and the place where new ones are made.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Rejected, Result};
use crate::memory::allocation::Birth;
use crate::memory::buffer::Buffer;
use crate::memory::device;
use crate::memory::place::{DeviceKind, Place};

/// One region of memory on a place, owned by whoever has this: not to be cloned. It becomes a [`Buffer`] to be shared and
/// sliced, and a buffer that nobody else has becomes one again.
///
/// It is owned and freed with the last holder; or adopted, with a callback in the place of freeing; or not owned at all.
///
/// ```
/// use crossdock::memory::{Allocation, Buffer, Place};
///
/// let allocation = Allocation::new(100, Place::CPU)?;
/// assert_eq!(allocation.end().addr() - allocation.ptr().addr(), 100);
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
/// 1. The buffer is the only handle on its memory, and covers all of it.
pub struct Allocation {
    buffer: Buffer,
}

impl Allocation {
    /// Allocates `nbytes` bytes on a place: of the default pool on the host, where they are zeroed; of the registered device's
    /// memory elsewhere.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; as [`device::memory`] where no such device is registered; what the device says.
    pub fn new(nbytes: usize, place: Place) -> Result<Self> {
        let buffer = if place == Place::CPU {
            Buffer::zeroed(nbytes)?
        } else {
            device::memory(place)?.allocate(nbytes)?
        };
        Ok(Self { buffer })
    }

    /// As [`Allocation::new`], on the [`default_place`].
    ///
    /// # Errors
    ///
    /// As [`Allocation::new`].
    pub fn on_default_place(nbytes: usize) -> Result<Self> {
        Self::new(nbytes, default_place())
    }

    /// Takes over memory of somebody else's. `release` is called exactly once, as for [`Buffer::from_foreign`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_foreign`].
    ///
    /// # Safety
    ///
    /// As for [`Buffer::from_foreign`] with [`Birth::Sole`]: nobody else touches the memory until `release` is called.
    pub unsafe fn adopt(
        ptr: *mut u8,
        nbytes: usize,
        place: Place,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        // SAFETY: the caller's word.
        let buffer = unsafe { Buffer::from_foreign(ptr, nbytes, place, Birth::Sole, release) }?;
        Ok(Self { buffer })
    }

    /// Points at memory that somebody else owns, uses, and frees at some time after the last use here. Its leases are Share and Pin
    /// only.
    ///
    /// # Errors
    ///
    /// As [`Buffer::non_owned`].
    ///
    /// # Safety
    ///
    /// As for [`Buffer::non_owned`].
    pub unsafe fn non_owned(ptr: *mut u8, nbytes: usize, place: Place) -> Result<Self> {
        // SAFETY: the caller's word.
        Ok(Self { buffer: unsafe { Buffer::non_owned(ptr, nbytes, place) }? })
    }

    /// The address of the first byte, in its place. It gives no permission to touch it.
    pub fn ptr(&self) -> *const u8 {
        self.buffer.as_ptr()
    }

    /// The address behind the last byte.
    pub fn end(&self) -> *const u8 {
        self.ptr().wrapping_add(self.nbytes())
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.buffer.nbytes()
    }

    /// The device.
    pub fn place(&self) -> Place {
        self.buffer.place()
    }

    /// The bytes, to be written. O(1).
    ///
    /// # Errors
    ///
    /// As [`Buffer::as_mut_slice`]: `is_place` on a device, `is_conflict` where the memory is not ours alone.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u8]> {
        self.buffer.as_mut_slice()
    }
}

impl From<Allocation> for Buffer {
    fn from(allocation: Allocation) -> Self {
        allocation.buffer
    }
}

impl TryFrom<Buffer> for Allocation {
    type Error = Rejected<Buffer>;

    /// `is_conflict` while anything but this handle keeps the memory, `is_bounds` where the buffer does not cover all of it, `is_read_only`.
    fn try_from(mut buffer: Buffer) -> Result<Self, Rejected<Buffer>> {
        match buffer.check_only_and_whole() {
            Ok(()) => Ok(Self { buffer }),
            Err(error) => Err(Rejected { value: buffer, error }),
        }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocation({} bytes at {:p} on {})", self.nbytes(), self.ptr(), self.place())
    }
}

/// Kind and ordinal of the default place, in one word.
static DEFAULT_PLACE: AtomicU64 = AtomicU64::new(pack(Place::CPU));

const fn pack(place: Place) -> u64 {
    (place.kind().0 as u32 as u64) << 32 | place.ordinal() as u32 as u64
}

const fn unpack(word: u64) -> Place {
    Place::new(DeviceKind((word >> 32) as i32), word as u32 as i32)
}

/// The place where this process makes memory unless told otherwise: at first, the host.
pub fn default_place() -> Place {
    unpack(DEFAULT_PLACE.load(Ordering::Relaxed))
}

/// Sets the place where this process makes memory unless told otherwise, and returns the one before. What exists stays where it
/// is. That there is such a device is not asked: allocating says so.
pub fn set_default_place(place: Place) -> Place {
    unpack(DEFAULT_PLACE.swap(pack(place), Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_being_packed() {
        for place in [Place::CPU, Place::new(DeviceKind(-7), i32::MIN), Place::new(DeviceKind::CUDA, 3)] {
            assert_eq!(unpack(pack(place)), place);
        }
    }
}
