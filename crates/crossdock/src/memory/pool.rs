//! New memory: the default pool, which takes its blocks from the program's global allocator.
//!
//! ```text
//!  block                header (64-aligned)      bytes (64-aligned)                padding
//!  |-- up to 48 bytes --|-- 64 ------------------|-- nbytes ----------------------|-- zeroed, to a multiple of 64 --|
//! ```
//!
//! The header lives in front of the bytes, in the same block. The block is asked for at the allocator's usual alignment
//! and aligned here, which keeps it on the allocator's fast path.

use std::alloc::{Layout as AllocLayout, alloc, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::memory::allocation::{Birth, Descriptor, Handle, Header, Owner, Region, Spare};
use crate::memory::buffer::Buffer;
use crate::memory::device::Attached;
use crate::memory::place::{Backing, Place};

/// The alignment of new memory, in bytes: a cache line, and what Arrow and XLA ask for.
pub const ALIGNMENT: usize = 64;

const BLOCK_ALIGNMENT: usize = 16;
const HEADER: usize = size_of::<Header>();
/// What a block has beside the bytes and their padding.
const OVERHEAD: usize = HEADER + ALIGNMENT - BLOCK_ALIGNMENT;

const _: () = assert!(HEADER.is_multiple_of(ALIGNMENT), "the bytes behind an aligned header are aligned");

static OWNER: Owner =
    Owner { release, descriptor: no_descriptor, fault: no_fault, device: no_device, is_part: false };

/// The layout of the block behind `nbytes` bytes, or `None` where it has no size that fits.
fn block_layout(nbytes: usize) -> Option<AllocLayout> {
    let total = nbytes.checked_next_multiple_of(ALIGNMENT)?.checked_add(OVERHEAD)?;
    AllocLayout::from_size_align(total, BLOCK_ALIGNMENT).ok()
}

/// Allocates `nbytes` bytes, aligned and padded to [`ALIGNMENT`]. The padding is zeroed; the bytes are if `zeroed` says so.
///
/// Not a `Handle` yet: its bytes may be uninitialised (Header 3).
fn allocate(nbytes: usize, zeroed: bool) -> Result<NonNull<Header>> {
    let out_of_memory = || Error::out_of_memory(nbytes, ALIGNMENT);
    let layout = block_layout(nbytes).ok_or_else(out_of_memory)?;
    let take = if zeroed { alloc_zeroed } else { alloc };
    // SAFETY: the layout is not zero-sized: it has the overhead.
    let block = unsafe { take(layout) };
    let block = NonNull::new(block).ok_or_else(out_of_memory)?;
    let lead = block.addr().get().wrapping_neg() % ALIGNMENT;
    // SAFETY: `lead` is at most the alignment's slack, which is part of the overhead.
    let header = unsafe { block.add(lead) }.cast::<Header>();
    // SAFETY: the header is part of the overhead, too.
    let bytes = unsafe { header.add(1) }.cast::<u8>();
    if !zeroed {
        let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
        // SAFETY: the padding is part of the block.
        let end = unsafe { bytes.add(nbytes) };
        // SAFETY: as above.
        unsafe { end.write_bytes(0, padding) };
    }
    let region = Region { ptr: bytes, nbytes, place: Place::CPU, backing: Backing::Heap };
    let fresh = Header::new(region, Birth::Sole, &OWNER, Spare { ptr: std::ptr::null(), word: lead as u64 });
    // SAFETY: aligned, and inside the block.
    unsafe { header.write(fresh) };
    Ok(header)
}

/// # Safety
///
/// `header` came from [`allocate`], and nobody uses the block any more.
unsafe fn release(header: NonNull<Header>) {
    let (nbytes, lead) = {
        // SAFETY: alive until the block is freed below.
        let header = unsafe { header.as_ref() };
        (header.nbytes(), header.spare().word as usize)
    };
    // A header holds nothing that needs a drop. (The model checker's atomics do.)
    #[cfg(loom)]
    // SAFETY: the last use of the header.
    unsafe {
        header.drop_in_place()
    };
    let Some(layout) = block_layout(nbytes) else { return };
    // SAFETY: the block began `lead` bytes in front of the header.
    let block = unsafe { header.cast::<u8>().sub(lead) };
    // SAFETY: allocated by the same allocator with the same layout.
    unsafe { dealloc(block.as_ptr(), layout) };
}

unsafe fn no_descriptor(_: NonNull<Header>) -> Option<Descriptor> {
    None
}

unsafe fn no_device(_: NonNull<Header>) -> Option<Attached> {
    None
}

unsafe fn no_fault(_: NonNull<Header>) -> Option<Error> {
    None
}

/// `nbytes` zeroed bytes.
pub(crate) fn allocate_zeroed(nbytes: usize) -> Result<Handle> {
    let header = allocate(nbytes, true)?;
    // SAFETY: the header is complete and this is its one handle; zeroed bytes are initialised.
    Ok(unsafe { Handle::first(header) })
}

/// New memory whose bytes are not initialised yet: filled once, and then a [`Buffer`].
///
/// ```
/// use crossdock::memory::UninitBuffer;
///
/// let mut fresh = UninitBuffer::new(4)?;
/// for (index, byte) in fresh.as_uninit_mut().iter_mut().enumerate() {
///     byte.write(index as u8);
/// }
/// // SAFETY: every byte was written above.
/// let buffer = unsafe { fresh.assume_init() };
/// assert_eq!(&buffer.read()?[..], [0, 1, 2, 3]);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Invariants
///
/// 1. The header came from `allocate`, its word counts one handle, and nobody else knows of it.
#[derive(Debug)]
pub struct UninitBuffer {
    header: NonNull<Header>,
    nbytes: usize,
}

// SAFETY: the only reference to a block of memory that may be freed on any thread.
unsafe impl Send for UninitBuffer {}
// SAFETY: `&UninitBuffer` gives no access to the bytes.
unsafe impl Sync for UninitBuffer {}

impl UninitBuffer {
    /// Allocates `nbytes` bytes, aligned to [`ALIGNMENT`]. Nothing is written but the padding behind them.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where there is none, or where `nbytes` is more than an address space holds.
    pub fn new(nbytes: usize) -> Result<Self> {
        Ok(Self { header: allocate(nbytes, false)?, nbytes })
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// The bytes, to be written.
    pub fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: UninitBuffer 1: the header is alive.
        let ptr = unsafe { self.header.as_ref() }.ptr();
        // SAFETY: the block has that many bytes, and `&mut self` is the only way to them.
        unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr().cast(), self.nbytes) }
    }

    /// Takes the caller's word that every byte has been written. O(1).
    ///
    /// # Safety
    ///
    /// Every byte of [`UninitBuffer::as_uninit_mut`] is initialised.
    pub unsafe fn assume_init(self) -> Buffer {
        let header = self.header;
        std::mem::forget(self);
        // SAFETY: UninitBuffer 1; the bytes are initialised (the caller's word).
        Buffer::whole(unsafe { Handle::first(header) })
    }
}

impl Drop for UninitBuffer {
    fn drop(&mut self) {
        // SAFETY: UninitBuffer 1: never made a handle, hence nobody uses the block.
        unsafe { release(self.header) }
    }
}
