//! Small blocks of the global allocator, with a header in front: how they are freed.

use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::pool::form::{Form, plain_layout};
use crate::pool::source::{ByteAllocator, Global};

/// # Safety
///
/// 1. `header` lies `lead` bytes behind the beginning of a block of the global allocator with the
///    plain layout of `capacity`.
/// 2. Header and block are not used any more.
#[inline]
pub(super) unsafe fn deallocate_plain(header: NonNull<Header>, lead: usize, capacity: usize) {
    // SAFETY: clause 1 of `drop_header`: by clause 2 of `# Safety` this is the last use of the
    // header.
    unsafe { drop_header(header) };
    // SAFETY: clause 1 of `# Safety`: the allocator's block begins `lead` bytes in front of the
    // header.
    let base = unsafe { header.cast::<u8>().sub(lead) };
    // SAFETY: clause 1 of `plain_layout`: the block exists, so its layout was valid when it was
    // allocated.
    let layout = unsafe { plain_layout(capacity) };
    // SAFETY: clause 1 of `deallocate`: the global allocator allocated `base` with this layout
    // (clause 1 of `# Safety`). Clause 2 is clause 2 of `# Safety`.
    unsafe { Global.deallocate(base, layout) };
}

/// # Safety
///
/// 1. `header` is that of a plain block of the global allocator, as `Block::begin` wrote it.
/// 2. Header and block are not used any more.
pub(crate) unsafe fn deallocate_kept(header: NonNull<Header>) {
    // SAFETY: clause 1 of `# Safety`: a header lies there, whose spare word holds the form and the
    // capacity.
    let (form, capacity) = Form::unpack(unsafe { header.as_ref() }.spare().word);
    // SAFETY: clause 1 of `deallocate_plain`: the lead and the capacity come from the header of
    // this plain block. Clause 2 is clause 2 of `# Safety`.
    unsafe { deallocate_plain(header, form.lead, capacity) };
}

/// Drops a header. Only the model checker's atomics need it.
///
/// # Safety
///
/// 1. The header is not used any more, or is written anew before its next use.
#[inline]
pub(super) unsafe fn drop_header(_header: NonNull<Header>) {
    #[cfg(loom)]
    // SAFETY: clause 1 of `# Safety`: the header is valid now, and it is not used again as it is.
    unsafe {
        _header.drop_in_place()
    };
}
