//! Publishing: the descriptor behind memory leaves the library, for another process.
//!
//! Reasons: `DESIGN.md`, "A published block is never used again".

use crate::error::{Error, Result, try_box};
use crate::memory::conflict::Wanted;
use crate::memory::handle::{Handle, refused};
use crate::memory::header::{Birth, Descriptor};
use crate::memory::os::fd::BorrowedFd;
use crate::memory::overlap::{Elsewhere, Extent};
use crate::memory::owner::identity;
use crate::memory::place::Backing;
use crate::memory::shareable::{self, PublishStep};
use crate::memory::word::LeaseKind;

/// The descriptor behind a region, for another process. A private block of a shareable pool is
/// aliased from now on. Constant memory in such a block has none: it would permit writes.
///
/// # Errors
///
/// `is_conflict` if a Read or Write lease of a private block is held; those of `fstat`.
pub(crate) fn publish(handle: &Handle) -> Result<Option<Descriptor>> {
    let header = handle.header();
    let (ptr, nbytes) = (header.ptr(), header.nbytes());
    if header.backing() != Backing::Shared || shareable::descriptor(ptr, nbytes).is_none() {
        return Ok(handle.descriptor());
    }
    if header.birth() == Birth::Constant {
        return Ok(None);
    }
    let conflict = |found| refused(header, Wanted::Lease(LeaseKind::Share), found);
    // The handle's own header, which is not that of the block if another library lent it.
    header.word().set_aliased().map_err(conflict)?;
    let (found, base, whole) = match shareable::prepare(ptr, nbytes) {
        PublishStep::Refused => return Ok(None),
        PublishStep::Done(found) => return Ok(Some(found)),
        PublishStep::Register { found, base, nbytes } => (found, base, nbytes),
    };
    // SAFETY: the block owns the descriptor, and `handle` keeps the block alive.
    let identity = identity(unsafe { BorrowedFd::borrow_raw(found.fd) })?;
    let bytes = Extent::of_host(base.addr().get(), whole);
    let elsewhere = Elsewhere::new(bytes, Extent::of_file(identity, 0, whole))?;
    let elsewhere = try_box(elsewhere)
        .map_err(|elsewhere| Error::out_of_memory(size_of_val(&elsewhere), align_of_val(&elsewhere)))?;
    shareable::make_public(ptr, Some(elsewhere)).map_err(conflict)?;
    Ok(Some(found))
}
