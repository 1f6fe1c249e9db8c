//! A `Vec`, adopted and released without a copy.
//!
//! Reasons: `DESIGN.md`, "A vector is recognised by the address of its owner's table".

use std::alloc::{Layout as AllocLayout, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::error::{Advice, Error, Kind, Result};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Owner, Region};
use crate::memory::owner::keep::{Keep, adopt_as, give_up, kept, owner_of};
use crate::memory::place::{Backing, Place};
use crate::memory::pod::Pod;

/// The block behind a vector. A `Vec` in its place would assert unique access to bytes that guards
/// and foreign consumers point into.
///
/// # Invariants
///
/// 1. `ptr` and `layout` are those of a vector's block, and only this value frees it. If
///    `layout.size()` is 0, there is no block.
struct VecBlock {
    ptr: NonNull<u8>,
    layout: AllocLayout,
}

/// The address of this table distinguishes adopted vectors from other memory.
static OWNER: Owner = owner_of::<VecBlock>();

// SAFETY: VecBlock 1: only this value frees the block, and the global allocator accepts it from any
// thread; `T: Pod` is `Send`.
unsafe impl Send for VecBlock {}

impl Keep for VecBlock {
    const IS_LEAF: bool = true;

    unsafe fn free(self) {
        if self.layout.size() != 0 {
            // SAFETY: VecBlock 1: a vector allocates its block from the global allocator with the
            // layout of an array of its capacity, and this value alone frees it. The elements need
            // no drop (`Pod: Copy`).
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
    // A vector's block never overflows `isize`; a vector without bytes has no block.
    let layout = AllocLayout::array::<T>(vec.capacity()).map_err(overflow)?;
    let mut vec = ManuallyDrop::new(vec);
    // SAFETY: `Vec::as_mut_ptr` never returns null: a vector without a block returns a dangling,
    // aligned pointer.
    let ptr = unsafe { NonNull::new_unchecked(vec.as_mut_ptr().cast()) };
    let nbytes = vec.len() * size_of::<T>();
    let region = Region { ptr, nbytes, place: Place::CPU, backing: Backing::Heap };
    // SAFETY: clause 1 of `adopt`: the bytes are a vector's elements, initialised (Pod 2). Clauses
    // 2 and 3: `vec` was passed by value, so only `VecBlock` has the block and frees it. `OWNER` is
    // `owner_of::<VecBlock>()`.
    unsafe { adopt_as(region, Birth::Sole, VecBlock { ptr, layout }, &OWNER) }
}

/// Returns the adopted vector, truncated to `len` elements. O(1).
///
/// # Errors
///
/// `is_unsupported` if the memory was not adopted from a vector; `is_alignment` or `is_bounds` if
/// the block does not fit a vector of `T`. The error returns the handle.
///
/// # Safety
///
/// 1. The handle is exclusive: no other handle and no lease of the allocation exists.
/// 2. The allocation's device work has been waited for.
/// 3. The region has at least `len` elements of `T`.
pub(crate) unsafe fn take_vec<T: Pod>(handle: Handle, len: usize) -> Result<Vec<T>, (Handle, Error)> {
    let backing = handle.header().backing();
    if !handle.is_owned_by(&OWNER) {
        let nbytes = handle.header().nbytes();
        let text = format!(
            "{nbytes} bytes of {backing} memory that was not adopted from a vector cannot become one"
        );
        return Err((handle, Error::new(Kind::Unsupported, text).advising(Advice::CopyElements)));
    }
    // SAFETY: `is_owned_by(&OWNER)` holds (checked above), and only `adopt_vec` installs `OWNER`,
    // with a `VecBlock`.
    let layout = unsafe { kept::<VecBlock>(&handle) }.layout;
    let capacity = match capacity_of::<T>(layout) {
        Ok(capacity) => capacity,
        Err(error) => return Err((handle, error)),
    };
    // SAFETY: `is_owned_by(&OWNER)` holds, so `adopt_vec` made the allocation with a `VecBlock`;
    // clauses 1 and 2 of `# Safety` are clauses 2 and 3 of `give_up`.
    let block = unsafe { give_up::<VecBlock>(handle) };
    // SAFETY: VecBlock 1: the block has the layout of `capacity` elements of `T` (`capacity_of`)
    // and is the caller's. The first `len` lie in the region (clause 3 of `# Safety`), are
    // initialised (Header 3), and any pattern is a value (Pod 1).
    Ok(unsafe { Vec::from_raw_parts(block.ptr.as_ptr().cast(), len, capacity) })
}

/// The capacity in `T` of a vector with such a block. The allocator requires the layout of the
/// allocation when it frees the block.
fn capacity_of<T: Pod>(layout: AllocLayout) -> Result<usize> {
    let (size, align) = (size_of::<T>(), align_of::<T>());
    if layout.align() != align {
        let text = format!(
            "the vector's memory is aligned to {} bytes, so it cannot become a vector of elements aligned \
            to {align}",
            layout.align()
        );
        return Err(Error::new(Kind::Alignment, text).advising(Advice::CopyElements));
    }
    match layout.size().checked_div(size) {
        Some(capacity) if layout.size().is_multiple_of(size) => Ok(capacity),
        _ => {
            let text = format!(
                "the vector's {} bytes are not a multiple of the element size, {size} bytes",
                layout.size()
            );
            Err(Error::new(Kind::Bounds, text).advising(Advice::CopyElements))
        }
    }
}
