//! A `Vec`, adopted without a copy, and given back the same way.

use std::alloc::{Layout as AllocLayout, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Owner, Region};
use crate::memory::owner::keep::{Keep, adopt_as, give_up, kept, owner_of};
use crate::memory::place::{Backing, Place};
use crate::memory::pod::Pod;

/// The block behind a vector. Not the vector itself: holding one would claim its bytes as ours alone, while guards and
/// foreign consumers point into them.
///
/// # Invariants
///
/// 1. `ptr` and `layout` are those of a vector's block, which nobody else frees; without a size, there is none.
struct VecBlock {
    ptr: NonNull<u8>,
    layout: AllocLayout,
}

/// By its address, a vector is told from what else was adopted.
static OWNER: Owner = owner_of::<VecBlock>();

// SAFETY: a block that nobody else has, of plain data (`T: Pod` is Send).
unsafe impl Send for VecBlock {}

impl Keep for VecBlock {
    unsafe fn free(self) {
        if self.layout.size() != 0 {
            // SAFETY: VecBlock 1: a vector has its block from the global allocator, by the layout of an array of its capacity.
            // The elements need no drop (Pod: Copy).
            unsafe { dealloc(self.ptr.as_ptr(), self.layout) };
        }
    }

    fn retained_nbytes(&self, _: usize) -> usize {
        self.layout.size()
    }

    fn is_own(&self) -> bool {
        true
    }
}

/// O(1): the vector's block becomes the allocation.
pub(crate) fn adopt_vec<T: Pod>(vec: Vec<T>) -> Result<Handle> {
    let overflow = |_| Error::out_of_memory(isize::MAX as usize, align_of::<T>());
    // The size is what the vector has, so it does not overflow; without a size, elements have no block.
    let layout = AllocLayout::array::<T>(vec.capacity()).map_err(overflow)?;
    let mut vec = ManuallyDrop::new(vec);
    // SAFETY: a vector's pointer is never null.
    let ptr = unsafe { NonNull::new_unchecked(vec.as_mut_ptr().cast()) };
    let nbytes = vec.len() * size_of::<T>();
    let region = Region { ptr, nbytes, place: Place::CPU, backing: Backing::Heap };
    // SAFETY: the bytes are those of a vector's elements, initialised (Pod 2: no padding), ours alone, and freed by
    // VecBlock only, whose table this is.
    unsafe { adopt_as(region, Birth::Sole, VecBlock { ptr, layout }, &OWNER) }
}

/// The vector that was adopted, of which `len` elements are left. O(1).
///
/// # Errors
///
/// `is_unsupported` where the memory is not a vector's, `is_alignment` or `is_bounds` where the vector's block is none of a vector of
/// `T`. The handle comes back.
///
/// # Safety
///
/// The handle is exclusive, its work was waited for, and the region has `len` elements at least.
pub(crate) unsafe fn take_vec<T: Pod>(handle: Handle, len: usize) -> Result<Vec<T>, (Handle, Error)> {
    let backing = handle.header().backing();
    if !handle.is_owned_by(&OWNER) {
        let nbytes = handle.header().nbytes();
        let text = format!(
            "{nbytes} bytes of {backing} memory that was not adopted from a vector cannot become one: read it and copy its elements (`read()?.to_vec()`)"
        );
        return Err((handle, Error::new(Kind::Unsupported, text)));
    }
    // SAFETY: just seen: it was made by `adopt_vec`.
    let layout = unsafe { kept::<VecBlock>(&handle) }.layout;
    let capacity = match capacity_of::<T>(layout) {
        Ok(capacity) => capacity,
        Err(error) => return Err((handle, error)),
    };
    // SAFETY: as above; the rest is the caller's word.
    let block = unsafe { give_up::<VecBlock>(handle) };
    // SAFETY: VecBlock 1: a block of the layout of so many `T`, of which the first `len` are initialised (Header 3), with any
    // pattern a value (Pod 1).
    Ok(unsafe { Vec::from_raw_parts(block.ptr.as_ptr().cast(), len, capacity) })
}

/// How many `T` a vector with such a block has room for: the allocator wants it back by the layout by which it gave it.
fn capacity_of<T: Pod>(layout: AllocLayout) -> Result<usize> {
    let (size, align) = (size_of::<T>(), align_of::<T>());
    if layout.align() != align {
        let text = format!(
            "the vector's block is aligned to {} bytes, and one of elements aligned to {align} cannot have it: copy it",
            layout.align()
        );
        return Err(Error::new(Kind::Alignment, text));
    }
    match layout.size().checked_div(size) {
        Some(capacity) if layout.size().is_multiple_of(size) => Ok(capacity),
        _ => {
            let text = format!(
                "the vector's block of {} bytes is not a whole number of elements of {size} bytes: copy it",
                layout.size()
            );
            Err(Error::new(Kind::Bounds, text))
        }
    }
}
