//! Blocks of shared memory: how they enter the table of shareable memory, and how they leave it.

use std::ptr::NonNull;

use crate::memory::header::Header;
use crate::memory::memfd::Memfd;
use crate::memory::shareable::{self, ShareableRegion};
use crate::pool::cache::{Cache, MappedBlock};
use crate::pool::mapped::class_nbytes;

/// The descriptor of a block that a cache returned, and what the table has to know about it.
pub(super) struct NewRegion {
    memfd: Memfd,
    base: NonNull<u8>,
    nbytes: usize,
    is_huge: bool,
}

impl NewRegion {
    /// Takes the descriptor out of a block for `nbytes` bytes. `None` for private memory.
    #[inline]
    pub(super) fn take(mapped: &mut MappedBlock, nbytes: usize) -> Option<Self> {
        let (base, is_huge) = (mapped.base, mapped.is_huge);
        mapped.memfd.take().map(|memfd| Self { memfd, base, nbytes, is_huge })
    }

    /// Enters the block in the table. `None`: out of memory, and the block is returned to the
    /// cache.
    ///
    /// # Safety
    ///
    /// 1. The block came from this cache.
    /// 2. `header` is its header, from now on until [`leave`] is called, and describes bytes in it
    ///    that are constant from the first handle on. After `None`, it is not used.
    /// 3. If `has_slack`, no code uses the bytes of the block behind those.
    pub(super) unsafe fn enter(self, cache: &Cache, header: NonNull<Header>, has_slack: bool) -> Option<()> {
        let Self { memfd, base, nbytes, is_huge } = self;
        let nbytes = class_nbytes(nbytes)?;
        // SAFETY: clause 1 of `new`: the cache mapped a memfd of the class's size there (clause 1
        // of `# Safety`). Clause 2: clauses 2 and 3 of `# Safety`.
        let region = unsafe { ShareableRegion::new(base, nbytes, memfd, header, [has_slack, is_huge]) };
        let Err(memfd) = region.add() else { return Some(()) };
        // SAFETY: clause 1 of `give_shareable`: the block came from this cache, and by clause 2 of
        // `# Safety` its header is not used. Clause 2: it is not kept.
        unsafe { cache.give_shareable(base, nbytes, header, (memfd, is_huge), false) };
        None
    }
}

/// Removes a block from the table and returns it to its cache, which keeps it only if no other
/// process ever could have it.
///
/// # Safety
///
/// 1. The block begins at `base`, came from this cache for `nbytes` bytes, and has entered the
///    table.
/// 2. `removed` is the result of [`shareable::remove`] for it.
/// 3. The block and its header are not used any more. `cacheable` is as for [`Cache::give`].
pub(super) unsafe fn leave(
    cache: &Cache,
    (base, nbytes): (NonNull<u8>, usize),
    header: NonNull<Header>,
    removed: shareable::Removed,
    cacheable: bool,
) {
    let shareable::Removed { memfd, is_private, is_huge } = removed;
    // SAFETY: clause 1 of `give_shareable` is clauses 1 and 3 of `# Safety`. Clause 2: `is_private`
    // says that no other process had the descriptor.
    unsafe { cache.give_shareable(base, nbytes, header, (memfd, is_huge), cacheable && is_private) };
}
