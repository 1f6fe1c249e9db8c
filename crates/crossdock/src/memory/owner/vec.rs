//! A `Vec`, adopted without a copy, and given back as one.

use std::alloc::{Layout as AllocLayout, dealloc};
use std::mem::{ManuallyDrop, replace};
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::Pod;
use crate::memory::allocation::{Birth, Handle, Keep, Region, adopt};
use crate::memory::place::{Backing, Place};

/// The raw parts of a `Vec`. Not the vector itself: holding one would claim its bytes as ours alone, while guards and
/// foreign consumers point into them.
///
/// # Invariants
///
/// 1. It is the block of a vector that nobody has any more: `nbytes` bytes at `ptr`, of the global allocator, with the alignment
///    `align`; none at all where `nbytes` is 0.
pub(crate) struct VecParts {
    ptr: NonNull<u8>,
    nbytes: usize,
    align: usize,
}

// SAFETY: VecParts 1; elements that were Pod are Send.
unsafe impl Send for VecParts {}

impl VecParts {
    /// Takes a vector apart.
    fn of<T: Pod>(vec: Vec<T>) -> Self {
        let mut vec = ManuallyDrop::new(vec);
        Self {
            // SAFETY: a vector's pointer is never null.
            ptr: unsafe { NonNull::new_unchecked(vec.as_mut_ptr().cast()) },
            // What a vector has is no more than `isize::MAX` bytes.
            nbytes: vec.capacity() * size_of::<T>(),
            align: align_of::<T>(),
        }
    }

    /// Puts a vector together, of the first `nbytes` bytes, and leaves no block here.
    ///
    /// # Errors
    ///
    /// `is_dtype` where the block is not one that a vector of `T` could have, or the bytes are no whole number of `T`.
    ///
    /// # Safety
    ///
    /// The first `nbytes` bytes are initialised, and touched by nobody else.
    unsafe fn take<T: Pod>(&mut self, nbytes: usize) -> Result<Vec<T>> {
        let size = size_of::<T>();
        let fits = self.align == align_of::<T>()
            && size > 0
            && nbytes.is_multiple_of(size)
            && self.nbytes.is_multiple_of(size);
        if !fits {
            return Err(Error::new(
                Kind::DType,
                format!(
                    "a vector of {nbytes} bytes with room for {}, aligned to {}, is not one of elements of {size} bytes that are \
                     aligned to {}: ask for the elements that it had",
                    self.nbytes,
                    self.align,
                    align_of::<T>()
                ),
            ));
        }
        let parts = replace(self, Self::of(Vec::<T>::new()));
        // SAFETY: VecParts 1, of the size and alignment that so many `T` have, as just checked; the first of them are initialised
        // (the caller's word), with any bytes (Pod 1).
        Ok(unsafe { Vec::from_raw_parts(parts.ptr.as_ptr().cast(), nbytes / size, parts.nbytes / size) })
    }
}

impl Keep for VecParts {
    unsafe fn free(self) {
        if self.nbytes > 0 {
            // SAFETY: VecParts 1: a vector has such a layout.
            let layout = unsafe { AllocLayout::from_size_align_unchecked(self.nbytes, self.align) };
            // SAFETY: VecParts 1; this is the one call. The elements needed no drop (Pod: Copy).
            unsafe { dealloc(self.ptr.as_ptr(), layout) };
        }
    }

    fn retained_nbytes(&self, _: usize) -> usize {
        self.nbytes
    }

    fn vec(&mut self) -> Option<&mut VecParts> {
        Some(self)
    }
}

/// O(1): the vector's block becomes the allocation.
pub(crate) fn adopt_vec<T: Pod>(vec: Vec<T>) -> Result<Handle> {
    let nbytes = size_of_val(&vec[..]);
    let parts = VecParts::of(vec);
    let region = Region { ptr: parts.ptr, nbytes, place: Place::CPU, backing: Backing::Heap };
    // SAFETY: the bytes are those of a vector's elements, initialised (Pod 2: no padding), ours alone, and freed by
    // VecParts only.
    unsafe { adopt(region, Birth::Sole, parts) }
}

/// The vector that was adopted, whose elements may have been written since. O(1). The handle comes back with the error.
///
/// # Errors
///
/// `is_conflict` where there is another handle, a lease, or an export; `is_unsupported` where the memory is no vector's; `is_dtype` where the
/// vector was none of such elements.
pub(crate) fn take_vec<T: Pod>(mut handle: Handle) -> Result<Vec<T>, (Handle, Error)> {
    match taken(&mut handle) {
        // Frees the header; there is no block any more that would go with it.
        Ok(vec) => Ok(vec),
        Err(error) => Err((handle, error)),
    }
}

/// The vector out of the hands of its owner. What is left is a handle on an allocation that has no memory, to be dropped.
fn taken<T: Pod>(handle: &mut Handle) -> Result<Vec<T>> {
    let (backing, nbytes) = (handle.header().backing(), handle.header().nbytes());
    let Some(parts) = handle.vec()? else {
        return Err(Error::new(
            Kind::Unsupported,
            format!("the {nbytes} bytes are {backing} memory, and no vector that was adopted: copy them"),
        ));
    };
    // SAFETY: the region is the vector's elements (`adopt_vec`), initialised (Header 3), and the handle is the only one (`vec`).
    unsafe { parts.take(nbytes) }
}
