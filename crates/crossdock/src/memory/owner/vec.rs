//! A `Vec`, adopted without a copy.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::error::Result;
use crate::memory::Pod;
use crate::memory::allocation::{Birth, Handle, Keep, Region, adopt};
use crate::memory::place::{Backing, Place};

/// The raw parts of a `Vec<T>`. Not the vector itself: holding one would claim its bytes as ours alone, while guards and
/// foreign consumers point into them.
struct VecParts<T> {
    ptr: *mut T,
    capacity: usize,
}

// SAFETY: the parts are those of a `Vec<T>` that nobody has any more, and `T: Pod` is Send.
unsafe impl<T: Pod> Send for VecParts<T> {}

impl<T: Pod> Keep for VecParts<T> {
    unsafe fn free(self) {
        // SAFETY: these are the parts of the vector taken apart in `adopt_vec`; its elements need no drop (Pod: Copy).
        drop(unsafe { Vec::from_raw_parts(self.ptr, 0, self.capacity) });
    }

    fn retained_nbytes(&self, _: usize) -> usize {
        // What a vector has is no more than `isize::MAX` bytes.
        self.capacity * size_of::<T>()
    }
}

/// O(1): the vector's block becomes the allocation.
pub(crate) fn adopt_vec<T: Pod>(vec: Vec<T>) -> Result<Handle> {
    let mut vec = ManuallyDrop::new(vec);
    let ptr = vec.as_mut_ptr();
    let region = Region {
        // SAFETY: a vector's pointer is never null.
        ptr: unsafe { NonNull::new_unchecked(ptr.cast()) },
        nbytes: vec.len() * size_of::<T>(),
        place: Place::CPU,
        backing: Backing::Heap,
    };
    // SAFETY: the bytes are those of a vector's elements, initialised (Pod 2: no padding), ours alone, and freed by
    // VecParts only.
    unsafe { adopt(region, Birth::Sole, VecParts { ptr, capacity: vec.capacity() }) }
}
