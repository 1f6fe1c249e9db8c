//! Work of a device that is noted on an allocation: what this layer asks of the one that keeps the
//! notes.
//!
//! A header has room for one flag. The layer of devices keeps the notes, and sets the flag through
//! [`mark`] alone, which stores its functions first: a thread that finds the flag set finds the
//! functions, too. Nothing here waits or is made once, so a forked child has all of it.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Result;
use crate::memory::header::Header;
use crate::memory::word::LeaseKind;

/// The functions of the layer that keeps the notes.
pub(crate) struct Keeper {
    /// Waits for the work that access under a lease of this kind comes after.
    pub(crate) wait: fn(&Header, LeaseKind) -> Result<()>,
    /// Refuses access that would have to wait.
    pub(crate) check: fn(&Header, LeaseKind) -> Result<()>,
    /// Takes out the notes of an allocation without holders.
    pub(crate) take: fn(NonNull<Header>) -> Forgotten,
}

/// The notes of an allocation that is no more, to be dropped where foreign code may run.
#[derive(Default)]
pub(crate) struct Forgotten(#[expect(dead_code, reason = "kept to be dropped")] Option<Box<dyn Send>>);

impl Forgotten {
    pub(crate) fn new(notes: Box<dyn Send>) -> Self {
        Self(Some(notes))
    }
}

/// Null, or from [`mark`].
static KEEPER: AtomicPtr<Keeper> = AtomicPtr::new(ptr::null_mut());

/// Notes on the header that access has to wait for work.
pub(crate) fn mark(header: &Header, keeper: &'static Keeper) {
    KEEPER.store(ptr::from_ref(keeper).cast_mut(), Ordering::Release);
    // Release: a thread that sees the flag sees the functions.
    header.awaited.store(true, Ordering::Release);
}

fn keeper() -> Option<&'static Keeper> {
    // SAFETY: null, or a reference that lives as long as the program (`mark`).
    unsafe { KEEPER.load(Ordering::Acquire).as_ref() }
}

/// Waits for the work that access under a lease of this kind comes after.
#[cold]
pub(super) fn wait(header: &Header, kind: LeaseKind) -> Result<()> {
    keeper().map_or(Ok(()), |keeper| (keeper.wait)(header, kind))
}

/// Refuses access that would have to wait.
#[cold]
pub(super) fn check(header: &Header, kind: LeaseKind) -> Result<()> {
    keeper().map_or(Ok(()), |keeper| (keeper.check)(header, kind))
}

/// Takes out what is noted on an allocation without holders.
#[cold]
pub(super) fn take(header: NonNull<Header>) -> Forgotten {
    keeper().map_or_else(Forgotten::default, |keeper| (keeper.take)(header))
}
