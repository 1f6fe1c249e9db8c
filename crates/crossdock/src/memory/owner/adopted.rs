//! Adopts any owner that dereferences to a slice: `Arc<Vec<T>>`, `Bytes`, `String`, `Cow`, …

use std::ops::Deref;
use std::ptr::NonNull;

use crate::error::{Error, Result, try_box};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Region};
use crate::memory::owner::keep::{Keep, adopt};
use crate::memory::place::{Backing, Place};
use crate::memory::pod::Pod;
use crate::memory::release::release_quietly;

/// An owner at a fixed address, so that a slice within the owner itself stays valid.
///
/// # Invariants
///
/// 1. It points to an owner in a block as [`Box`] allocates it, and no other pointer owns that
///    block.
///
/// It is no `Box`: moving a `Box` asserts unique access to its contents, and the slice may point
/// into them.
struct Boxed<O>(NonNull<O>);

// SAFETY: Boxed 1: no other pointer owns the block, so moving this moves the owner, which is
// `Send`.
unsafe impl<O: Send> Send for Boxed<O> {}

impl<O> Boxed<O> {
    /// Like `Box::new`, but returns an error if out of memory. The owner is then dropped.
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
        // SAFETY: Boxed 1: the block came from a `Box` (`try_new`), and only this drop, which runs
        // once, frees it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<O: Send + 'static> Keep for Boxed<O> {
    unsafe fn free(self) {
        drop(self);
    }
}

/// O(1): one small allocation. The owner is dereferenced once and is not touched again until it is
/// dropped. Its slice stays constant at a fixed address while no `&mut` to the owner exists, as
/// safe Rust guarantees.
pub(crate) fn adopt_owner<T, O>(owner: O) -> Result<Handle>
where
    T: Pod,
    O: Deref<Target: AsRef<[T]>> + Send + 'static,
{
    // If dereferencing panics, `keep` drops the owner.
    let keep = Boxed::try_new(owner)?;
    // SAFETY: Boxed 1: the block is alive, and until `keep` is freed the owner is reached through
    // this shared reference only.
    let owner = unsafe { keep.0.as_ref() };
    let slice: &[T] = (**owner).as_ref();
    let region = Region {
        ptr: NonNull::from(slice).cast(),
        nbytes: size_of_val(slice),
        place: Place::CPU,
        backing: Backing::Heap,
    };
    // SAFETY: clause 1 of `adopt`: a slice of `T` is initialised (Pod 2). Clauses 2 and 3: `keep`
    // holds the owner, and no other path reaches it, so the bytes that `&self` lent stay alive and
    // constant; a `Constant` region is only read.
    unsafe { adopt(region, Birth::Constant, keep) }
}

/// An owner with nothing to free.
struct Forever;

impl Keep for Forever {
    const IS_LEAF: bool = true;

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
    // SAFETY: clauses 1 to 3 of `adopt`: a `&'static` slice is initialised (Pod 2), is never freed,
    // and is never written.
    unsafe { adopt(region, Birth::Constant, Forever) }
}
