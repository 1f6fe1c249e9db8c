//! Device work that is noted on an allocation: the interface to the layer that keeps the notes.
//!
//! A header has room for one flag. The layer of devices keeps the notes, and sets the flag through
//! [`mark`] only, which stores that layer's functions first. So a thread that finds the flag set
//! finds the functions, too. Nothing here blocks or needs one-time initialisation, so all of it
//! works in a forked child.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Result;
use crate::memory::header::Header;
use crate::memory::word::LeaseKind;

/// The functions of the layer that keeps the notes.
pub(crate) struct Keeper {
    /// Waits for the work that must end before access under a lease of this kind.
    pub(crate) wait: fn(&Header, LeaseKind) -> Result<()>,
    /// Fails if access would have to wait.
    pub(crate) check: fn(&Header, LeaseKind) -> Result<()>,
    /// Removes the notes of an allocation without holders, and returns them.
    pub(crate) take: fn(NonNull<Header>) -> Forgotten,
}

/// The notes of an ended allocation, to be dropped where foreign code may run.
#[derive(Default)]
pub(crate) struct Forgotten(#[expect(dead_code, reason = "kept to be dropped")] Option<Box<dyn Send>>);

impl Forgotten {
    pub(crate) fn new(notes: Box<dyn Send>) -> Self {
        Self(Some(notes))
    }
}

/// Null, or stored by [`mark`].
static KEEPER: AtomicPtr<Keeper> = AtomicPtr::new(ptr::null_mut());

/// Sets the header's flag: access has to wait for work.
pub(crate) fn mark(header: &Header, keeper: &'static Keeper) {
    KEEPER.store(ptr::from_ref(keeper).cast_mut(), Ordering::Release);
    // Release pairs with the Acquire load of the flag: a thread that sees the flag sees the
    // functions.
    header.awaited.store(true, Ordering::Release);
}

fn keeper() -> Option<&'static Keeper> {
    // SAFETY: the pointer is null or was made by `mark` from a `&'static Keeper`, which is never
    // freed.
    unsafe { KEEPER.load(Ordering::Acquire).as_ref() }
}

/// Waits for the work that must end before access under a lease of this kind.
#[cold]
pub(super) fn wait(header: &Header, kind: LeaseKind) -> Result<()> {
    keeper().map_or(Ok(()), |keeper| (keeper.wait)(header, kind))
}

/// Fails if access would have to wait.
#[cold]
pub(super) fn check(header: &Header, kind: LeaseKind) -> Result<()> {
    keeper().map_or(Ok(()), |keeper| (keeper.check)(header, kind))
}

/// Removes the notes of an allocation without holders, and returns them.
#[cold]
pub(super) fn take(header: NonNull<Header>) -> Forgotten {
    keeper().map_or_else(Forgotten::default, |keeper| (keeper.take)(header))
}
