//! Small blocks of the global allocator, each with its header in front: how they go back to it.

use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::pool::form::{Form, plain_layout};
use crate::pool::source::{Bytes, Global};

/// # Safety
///
/// The header is in front of a block of the global allocator with the plain alignment and no guards. Neither is used any more.
#[inline]
pub(super) unsafe fn deallocate_plain(header: NonNull<Header>, lead: usize, capacity: usize) {
    // SAFETY: the last use of the header.
    unsafe { drop_header(header) };
    // SAFETY: the header lies `lead` bytes behind the beginning of the allocator's block.
    let base = unsafe { header.cast::<u8>().sub(lead) };
    // SAFETY: the block was allocated with it.
    let layout = unsafe { plain_layout(capacity) };
    // SAFETY: as above, by the global allocator.
    unsafe { Global.deallocate(base, layout) };
}

/// # Safety
///
/// A header of a plain block of the global allocator. Neither is used any more.
pub(crate) unsafe fn deallocate_kept(header: NonNull<Header>) {
    // SAFETY: the caller's word.
    let (form, capacity) = Form::unpack(unsafe { header.as_ref() }.spare().word);
    // SAFETY: the caller's word.
    unsafe { deallocate_plain(header, form.lead, capacity) };
}

/// A header holds nothing that needs a drop. (The model checker's atomics do.)
///
/// # Safety
///
/// The header is not used any more, or written anew.
#[inline]
pub(super) unsafe fn drop_header(_header: NonNull<Header>) {
    #[cfg(loom)]
    // SAFETY: the caller's word.
    unsafe {
        _header.drop_in_place()
    };
}
