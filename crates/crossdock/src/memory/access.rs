//! Leases for access by the CPU: checks the place, write permission and pending device work.

use crate::error::{Advice, Error, Kind, Result};
use crate::memory::handle::Handle;
use crate::memory::lease::Lease;
use crate::memory::place::Place;
use crate::memory::word::LeaseKind;

/// Takes a lease for access by the CPU through a handle that may be read-only.
///
/// Always inlined: out of line, the result travels through memory, which takes as long as the lease
/// itself.
#[inline(always)]
pub(crate) fn lease(handle: &Handle, readonly: bool, kind: LeaseKind) -> Result<Lease> {
    check_access(handle.header().place(), readonly && matches!(kind, LeaseKind::Write | LeaseKind::Share))?;
    handle.await_work(kind)?;
    Ok(handle.lease(kind)?)
}

/// Like [`lease`], but fails if it would have to wait.
pub(crate) fn lease_at_once(handle: &Handle, readonly: bool, kind: LeaseKind) -> Result<Lease> {
    handle.check_work(kind)?;
    lease(handle, readonly, kind)
}

/// Fails unless `&mut` to the handle covers the bytes, too, for access by the CPU.
pub(crate) fn exclusive(handle: &mut Handle, readonly: bool) -> Result<()> {
    check_access(handle.header().place(), readonly)?;
    handle.await_work(LeaseKind::Write)?;
    handle.exclusive()?;
    // Again, because a handle dropped meanwhile may have noted work. Usually one load.
    handle.await_work(LeaseKind::Write)
}

#[inline]
fn check_access(place: Place, refuse_writing: bool) -> Result<()> {
    if place.is_host() && !refuse_writing { Ok(()) } else { Err(no_access(place)) }
}

#[cold]
pub(crate) fn no_access(place: Place) -> Error {
    if place.is_host() {
        Error::new(Kind::ReadOnly, "the memory is read-only through this handle")
            .advising(Advice::CopyToWrite)
    } else {
        Error::new(Kind::Place, format!("memory on {place} is not accessible from the CPU"))
            .advising(Advice::CopyToCpu)
    }
}
