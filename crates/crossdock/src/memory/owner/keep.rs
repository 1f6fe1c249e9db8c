//! What an owner keeps, and the block in which it stands behind the header.

use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::error::{Error, Result};
use crate::memory::handle::Handle;
use crate::memory::header::{Attached, Birth, Descriptor, Header, Owner, Region, Spare};
use crate::memory::release::{forget_work, release_quietly};

/// What allocators give at no extra cost.
pub(crate) const MALLOC_ALIGNMENT: usize = 16;

/// What an owner keeps in order to free its region.
pub(crate) trait Keep: Send + 'static {
    /// Whether the region is a part of one that was divided.
    const IS_PART: bool = false;

    /// Frees the region. A panic in here is caught; the block itself is freed all the same.
    ///
    /// # Safety
    ///
    /// Called once, when nobody can reach the region any more.
    unsafe fn free(self);

    /// The descriptor behind the region, where there is one.
    fn descriptor(&self) -> Option<Descriptor> {
        None
    }

    /// The error that befell the region.
    fn fault(&self) -> Option<Error> {
        None
    }

    /// The device's memory manager behind the region.
    fn device(&self) -> Option<Attached<'_>> {
        None
    }

    /// How many bytes are kept alive for a region of `nbytes`.
    fn retained_nbytes(&self, nbytes: usize) -> usize {
        nbytes
    }

    /// Whether [`Keep::free`] runs only code of this library, the system, and drivers.
    fn is_own(&self) -> bool {
        false
    }
}

/// A header and, behind it, what its owner keeps.
#[repr(C)]
struct OwnerBlock<K> {
    header: Header,
    keep: K,
}

impl<K: Keep> OwnerBlock<K> {
    const OWNER: Owner = Owner {
        release: Self::release,
        descriptor: Self::descriptor,
        fault: Self::fault,
        device: Self::device,
        retained: Self::retained,
        is_own: Self::is_own,
        is_part: K::IS_PART,
    };

    /// Asked for at the alignment that allocators give on their fast path, with room to align the block in it.
    const LAYOUT: AllocLayout = {
        let align = if align_of::<Self>() < MALLOC_ALIGNMENT { align_of::<Self>() } else { MALLOC_ALIGNMENT };
        match AllocLayout::from_size_align(size_of::<Self>() + align_of::<Self>() - align, align) {
            Ok(layout) => layout,
            Err(_) => panic!("what an owner keeps is too large"),
        }
    };

    /// Makes a block, or gives back what it was to keep.
    fn new(region: Region, birth: Birth, keep: K, owner: &'static Owner) -> Result<NonNull<Self>, K> {
        // SAFETY: a block is not zero-sized: it has a header.
        let Some(base) = NonNull::new(unsafe { alloc(Self::LAYOUT) }) else { return Err(keep) };
        let lead = base.addr().get().wrapping_neg() % align_of::<Self>();
        // SAFETY: the layout has room for a block behind so many bytes.
        let block = unsafe { base.add(lead) }.cast::<Self>();
        let header = Header::new(region, birth, owner, Spare { word: lead as u64, ..Spare::NONE });
        // SAFETY: as above; aligned by the lead.
        unsafe { block.write(Self { header, keep }) };
        Ok(block)
    }

    /// Takes a block apart, whose memory goes back to the allocator.
    ///
    /// # Safety
    ///
    /// The header begins a block that [`OwnerBlock::new`] made, and that nobody uses any more.
    unsafe fn take(header: NonNull<Header>) -> Self {
        let place = header.cast::<Self>();
        // SAFETY: the caller's word.
        let block = unsafe { place.read() };
        // SAFETY: the lead is what `new` put between the allocator's block and this one.
        let base = unsafe { place.cast::<u8>().sub(block.header.spare().word as usize) };
        // SAFETY: allocated in `new` with this layout, and read for the last time above.
        unsafe { dealloc(base.as_ptr(), Self::LAYOUT) };
        block
    }

    unsafe fn release(header: NonNull<Header>) {
        // SAFETY: this table is installed by `adopt_as::<K>` alone, whose headers begin a `OwnerBlock<K>`; Header 2 makes this the only call.
        let keep = unsafe { Self::take(header) }.keep;
        // SAFETY: Header 2: the counts are at zero, and this is the one call.
        release_quietly(|| unsafe { keep.free() });
    }

    unsafe fn descriptor(header: NonNull<Header>) -> Option<Descriptor> {
        // SAFETY: as in `release`, the header begins a `OwnerBlock<K>`; a handle keeps it alive during the call.
        unsafe { header.cast::<Self>().as_ref() }.keep.descriptor()
    }

    unsafe fn retained(header: NonNull<Header>) -> usize {
        // SAFETY: as in `release`, the header begins a `OwnerBlock<K>`; a handle keeps it alive during the call.
        let block = unsafe { header.cast::<Self>().as_ref() };
        block.keep.retained_nbytes(block.header.nbytes())
    }

    unsafe fn fault(header: NonNull<Header>) -> Option<Error> {
        // SAFETY: as in `release`, the header begins a `OwnerBlock<K>`; a handle keeps it alive during the call.
        unsafe { header.cast::<Self>().as_ref() }.keep.fault()
    }

    unsafe fn device(header: &NonNull<Header>) -> Option<Attached<'_>> {
        // SAFETY: as in `release`, the header begins a `OwnerBlock<K>`; a handle keeps it alive during the call.
        unsafe { header.cast::<Self>().as_ref() }.keep.device()
    }

    unsafe fn is_own(header: NonNull<Header>) -> bool {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin a `OwnerBlock<K>`; the
        // header is not released yet.
        unsafe { header.cast::<Self>().as_ref() }.keep.is_own()
    }
}

/// Makes an allocation of a region that `keep` frees. If no header can be had, `keep` frees it at once.
///
/// # Safety
///
/// Until `keep.free()` is called, the region is valid for reads (and, unless it is constant, for writes) of
/// `region.nbytes` bytes, initialised, and not freed or moved by anyone. If `birth` is `Sole`, nobody else touches it;
/// if `Constant`, nobody writes it; if `Aliased`, others touch it in ways that race with nothing but atomic accesses.
pub(crate) unsafe fn adopt<K: Keep>(region: Region, birth: Birth, keep: K) -> Result<Handle> {
    // SAFETY: the caller's word.
    unsafe { adopt_as(region, birth, keep, &OwnerBlock::<K>::OWNER) }
}

/// The function table of what is adopted with such a `keep`, for a static by which it is told from all others.
pub(crate) const fn owner_of<K: Keep>() -> Owner {
    OwnerBlock::<K>::OWNER
}

/// As [`adopt`], under a function table that the caller knows again.
///
/// # Safety
///
/// As for [`adopt`]; `owner` is [`owner_of`] this `K`.
pub(crate) unsafe fn adopt_as<K: Keep>(
    region: Region,
    birth: Birth,
    keep: K,
    owner: &'static Owner,
) -> Result<Handle> {
    let block = match OwnerBlock::new(region, birth, keep, owner) {
        Ok(block) => block,
        Err(keep) => {
            // SAFETY: nobody else knows of the region, and this is the one call.
            release_quietly(|| unsafe { keep.free() });
            return Err(Error::out_of_memory(
                OwnerBlock::<K>::LAYOUT.size(),
                OwnerBlock::<K>::LAYOUT.align(),
            ));
        }
    };
    // SAFETY: the header is complete, and this is its one handle.
    Ok(unsafe { Handle::first(block.cast()) })
}

/// What [`adopt_as`] was given, to be looked at.
///
/// # Safety
///
/// The allocation was made by [`adopt_as`] with a `K`.
pub(crate) unsafe fn kept<K: Keep>(handle: &Handle) -> &K {
    // SAFETY: the caller's word: the header begins a `OwnerBlock<K>`, which the handle keeps alive.
    &unsafe { handle.header_ptr().cast::<OwnerBlock<K>>().as_ref() }.keep
}

/// What [`adopt_as`] was given, back: the allocation is no more, and its region is the caller's to free.
///
/// # Safety
///
/// The handle is the only one on an allocation that was made by [`adopt_as`] with a `K`, there is no lease of it, and its work was
/// waited for.
pub(crate) unsafe fn give_up<K: Keep>(handle: Handle) -> K {
    let header = handle.into_header();
    // SAFETY: nobody else has the header.
    if unsafe { header.as_ref() }.awaited.load(Ordering::Relaxed) {
        forget_work(header);
    }
    // SAFETY: the caller's word: the header begins a `OwnerBlock<K>`, which nobody else has.
    unsafe { OwnerBlock::<K>::take(header) }.keep
}
