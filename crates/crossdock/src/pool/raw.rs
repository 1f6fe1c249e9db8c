//! Blocks of a shareable pool that another library owns by their addresses: NumPy, by the allocator
//! that the wheel gives it.

use std::ptr::NonNull;

use crate::error::{Error, Kind, Result};
use crate::memory::{Handle, shareable};
use crate::pool::block::is_block;
use crate::pool::{AllocOptions, Pool};

/// A block of `nbytes` bytes (not 0), zeroed or with the bytes of an earlier block. Arrays that
/// other code makes on these addresses know the descriptor behind them.
///
/// # Errors
///
/// `is_exhausted` if there are no descriptors left, `is_out_of_memory`, `is_unsupported` for a pool
/// that is not shareable.
pub fn allocate(pool: &Pool, options: AllocOptions, nbytes: usize, zeroed: bool) -> Result<NonNull<u8>> {
    let block = options.block(pool, nbytes, zeroed)?;
    // SAFETY: clause 1 of `freeze`: `block` has at least `nbytes` bytes. Clause 2: a block of a
    // shareable pool was mapped, so the system or an earlier owner initialised all of its bytes;
    // for other pools the bytes are not read, as the handle is dropped below.
    let handle = unsafe { block.freeze(nbytes) };
    let ptr = handle.header().ptr();
    if shareable::descriptor(ptr, nbytes).is_none() {
        return Err(Error::new(Kind::Unsupported, format!("the pool {} is not shareable", pool.name())));
    }
    std::mem::forget(handle);
    Ok(ptr)
}

/// The size of a block that [`allocate`] returned; `None` for other memory.
pub fn nbytes(ptr: NonNull<u8>) -> Option<usize> {
    shareable::header_at(ptr).map(|(_, nbytes)| nbytes)
}

/// Releases a block that [`allocate`] returned, and returns whether it is one.
///
/// # Safety
///
/// 1. If [`allocate`] returned the address, it is not used any more.
pub unsafe fn release(ptr: NonNull<u8>) -> bool {
    let Some((header, _)) = shareable::header_at(ptr) else { return false };
    // SAFETY: clause 1 of `Handle::from_forgotten`: the block begins at the address, so `allocate`
    // made it, and forgot its handle; by clause 1 of `# Safety` this is the one release.
    let handle = unsafe { Handle::from_forgotten(header) };
    debug_assert!(is_block(&handle), "only blocks are in the table");
    drop(handle);
    true
}
