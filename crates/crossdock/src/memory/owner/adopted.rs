//! Anything that dereferences to a slice and may be kept: `Arc<Vec<T>>`, `Bytes`, `String`, `Cow`, …

use std::ops::Deref;
use std::ptr::NonNull;

use crate::error::Result;
use crate::memory::Pod;
use crate::memory::allocation::{Birth, Handle, Keep, Region, adopt};
use crate::memory::place::{Backing, Place};

/// An owner moved to an address of its own, so that a slice which lies within the owner itself stays where it is.
struct Boxed<O>(*mut O);

// SAFETY: the pointer is the only one to its owner, which is Send.
unsafe impl<O: Send> Send for Boxed<O> {}

impl<O: Send + 'static> Keep for Boxed<O> {
    unsafe fn free(self) {
        // SAFETY: the pointer came from `Box::into_raw` in `adopt_owner`, and `free` is called once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// O(1) but for one small box. The owner is dereferenced once, and never touched again until it is dropped: what its
/// slice promised then (constant bytes at a fixed address) it must keep while nobody has `&mut` to it, as any type does
/// that is sound in safe Rust.
pub(crate) fn adopt_owner<T, O>(owner: O) -> Result<Handle>
where
    T: Pod,
    O: Deref<Target: AsRef<[T]>> + Send + 'static,
{
    // The box is dropped, and the owner with it, if dereferencing panics.
    let owner = Box::new(owner);
    let slice: &[T] = (**owner).as_ref();
    let region = Region {
        ptr: NonNull::from(slice).cast(),
        nbytes: size_of_val(slice),
        place: Place::CPU,
        backing: Backing::Heap,
    };
    let keep = Boxed(Box::into_raw(owner));
    // SAFETY: the slice's bytes are initialised (Pod 2). They stay alive and unchanged while the owner, which nobody
    // can reach any more, does: they were lent by `&self`, and are read-only here.
    unsafe { adopt(region, Birth::Constant, keep) }
}

/// Nothing to free.
struct Forever;

impl Keep for Forever {
    unsafe fn free(self) {}
}

/// O(1).
pub(crate) fn adopt_static<T: Pod>(slice: &'static [T]) -> Result<Handle> {
    let region = Region {
        ptr: NonNull::from(slice).cast(),
        nbytes: size_of_val(slice),
        place: Place::CPU,
        backing: Backing::Static,
    };
    // SAFETY: a `&'static` slice is initialised (Pod 2), alive and constant for ever.
    unsafe { adopt(region, Birth::Constant, Forever) }
}
