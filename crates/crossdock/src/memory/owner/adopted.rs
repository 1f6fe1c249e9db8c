//! Anything that dereferences to a slice and may be kept: `Arc<Vec<T>>`, `Bytes`, `String`, `Cow`, …

use std::ops::Deref;
use std::ptr::NonNull;

use crate::error::{Error, Result, try_box};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Region};
use crate::memory::owner::keep::{Keep, adopt};
use crate::memory::place::{Backing, Place};
use crate::memory::pod::Pod;
use crate::memory::release::release_quietly;

/// An owner moved to an address of its own, so that a slice which lies within the owner itself stays where it is.
///
/// # Invariants
///
/// 1. It points to an owner in a block as [`Box`] would have it, and nobody else does. Not a `Box`: moving one claims its
///    contents as ours alone, while the slice may point into them.
struct Boxed<O>(NonNull<O>);

// SAFETY: the pointer is the only one to its owner, which is Send.
unsafe impl<O: Send> Send for Boxed<O> {}

impl<O> Boxed<O> {
    /// As `Box::new`, with an error in the place of an abort. The owner is dropped with the error.
    fn try_new(owner: O) -> Result<Self> {
        match try_box(owner) {
            Ok(owner) => Ok(Self(NonNull::from(Box::leak(owner)))),
            Err(owner) => {
                release_quietly(|| drop(owner));
                Err(Error::out_of_memory(size_of::<O>(), align_of::<O>()))
            }
        }
    }
}

impl<O> Drop for Boxed<O> {
    fn drop(&mut self) {
        // SAFETY: Boxed 1.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<O: Send + 'static> Keep for Boxed<O> {
    unsafe fn free(self) {
        drop(self);
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
    // The owner is dropped if dereferencing panics.
    let keep = Boxed::try_new(owner)?;
    // SAFETY: Boxed 1; from here on, the owner is touched through shared references only, until it is dropped.
    let owner = unsafe { keep.0.as_ref() };
    let slice: &[T] = (**owner).as_ref();
    let region = Region {
        ptr: NonNull::from(slice).cast(),
        nbytes: size_of_val(slice),
        place: Place::CPU,
        backing: Backing::Heap,
    };
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
