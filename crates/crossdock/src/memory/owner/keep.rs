//! What an owner stores, and the block in which it lies behind the header.

use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::error::{Error, Result};
use crate::memory::handle::Handle;
use crate::memory::header::{Birth, Descriptor, DeviceMapping, Header, Owner, Region, Spare};
use crate::memory::nested;
use crate::memory::release::{forget_work, release_quietly};

/// The alignment that allocators provide at no extra cost.
pub(crate) const MALLOC_ALIGNMENT: usize = 16;

/// What an owner stores in order to free its region.
pub(crate) trait Keep: Send + 'static {
    /// Whether the region is a part of one that was divided.
    const IS_PART: bool = false;

    /// Whether [`Keep::free`] never drops a handle or a lease of another allocation, so that a
    /// release of it is never the middle of a chain.
    const IS_LEAF: bool = false;

    /// Frees the region. A panic is caught; the block itself is freed all the same.
    ///
    /// # Safety
    ///
    /// 1. The call is the only one for the region.
    /// 2. No handle or lease reaches the region any more.
    unsafe fn free(self);

    /// The descriptor behind the region, if there is one.
    fn descriptor(&self) -> Option<Descriptor> {
        None
    }

    /// The error that damaged the region, if there is one.
    fn fault(&self) -> Option<Error> {
        None
    }

    /// The device's memory manager behind the region.
    fn device(&self) -> Option<DeviceMapping<'_>> {
        None
    }

    /// The number of bytes kept alive for a region of `nbytes`.
    fn retained_nbytes(&self, nbytes: usize) -> usize {
        nbytes
    }

    /// Whether [`Keep::free`] runs only code of this library, the system, and drivers.
    fn is_own(&self) -> bool {
        false
    }
}

/// A header, and behind it what its owner stores.
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

    /// Allocated at the alignment of the allocators' fast path, with room to align the block within
    /// it.
    const LAYOUT: AllocLayout = {
        let align = if align_of::<Self>() < MALLOC_ALIGNMENT { align_of::<Self>() } else { MALLOC_ALIGNMENT };
        match AllocLayout::from_size_align(size_of::<Self>() + align_of::<Self>() - align, align) {
            Ok(layout) => layout,
            Err(_) => panic!("the value that the owner keeps is too large"),
        }
    };

    /// Allocates a block, or returns `keep` if out of memory.
    fn new(region: Region, birth: Birth, keep: K, owner: &'static Owner) -> Result<NonNull<Self>, K> {
        // SAFETY: `LAYOUT` has the size of `Self` at least, which contains a `Header` and so is not
        // zero.
        let Some(base) = NonNull::new(unsafe { alloc(Self::LAYOUT) }) else { return Err(keep) };
        let lead = base.addr().get().wrapping_neg() % align_of::<Self>();
        // SAFETY: `LAYOUT` exceeds `Self` by `align_of::<Self>() - align` bytes, which is the most
        // that `lead` can be.
        let block = unsafe { base.add(lead) }.cast::<Self>();
        let header = Header::new(region, birth, owner, Spare { word: lead as u64, ..Spare::NONE });
        // SAFETY: `LAYOUT` has room for `Self` behind `lead` bytes, which align it, and the new
        // block is reached from here only.
        unsafe { block.write(Self { header, keep }) };
        Ok(block)
    }

    /// Moves a block's contents out and frees its memory.
    ///
    /// # Safety
    ///
    /// 1. `header` begins a block that [`OwnerBlock::new`] made for this `K`.
    /// 2. No other pointer is used to access the block, now or later.
    unsafe fn take(header: NonNull<Header>) -> Self {
        let place = header.cast::<Self>();
        // SAFETY: clauses 1 and 2 of `# Safety`: a `Self` lies there, and this read is the last
        // access to it.
        let block = unsafe { place.read() };
        // SAFETY: clause 1 of `# Safety`: `new` put the block `word` bytes behind the start of the
        // allocation, and stored that number in `spare`.
        let base = unsafe { place.cast::<u8>().sub(block.header.spare().word as usize) };
        // SAFETY: clause 1 of `# Safety`: `new` allocated `base` with `LAYOUT`; the contents were
        // moved out above.
        unsafe { dealloc(base.as_ptr(), Self::LAYOUT) };
        block
    }

    unsafe fn release(header: NonNull<Header>) {
        if K::IS_LEAF {
            // SAFETY: clauses 1 and 2 of `free`: this is the one call for a header without holders
            // (Header 2), which begins a block of this table's type.
            return unsafe { Self::free(header) };
        }
        // SAFETY: clauses 1 and 2 of `nested::release`: this is the one call for a header without
        // holders (Header 2), and those are the clauses of `free`, which catches a panic. Clause 3:
        // `new` sets only the word of the two.
        unsafe { nested::release(header, Self::free) }
    }

    /// # Safety
    ///
    /// 1. `header` begins a block that [`OwnerBlock::new`] made for this `K`.
    /// 2. Its word counts no holder any more, and this is the only call.
    unsafe fn free(header: NonNull<Header>) {
        // SAFETY: clauses 1 and 2 of `take` are clauses 1 and 2 of `# Safety`: without holders
        // there is no access to the block.
        let keep = unsafe { Self::take(header) }.keep;
        // SAFETY: clause 2 of `# Safety`: no handle or lease is left, and `free` runs once.
        release_quietly(|| unsafe { keep.free() });
    }

    unsafe fn descriptor(header: NonNull<Header>) -> Option<Descriptor> {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin an
        // `OwnerBlock<K>`; the caller's handle keeps the block alive (Owner 1).
        unsafe { header.cast::<Self>().as_ref() }.keep.descriptor()
    }

    unsafe fn retained(header: NonNull<Header>) -> usize {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin an
        // `OwnerBlock<K>`; the caller's handle keeps the block alive (Owner 1).
        let block = unsafe { header.cast::<Self>().as_ref() };
        block.keep.retained_nbytes(block.header.nbytes())
    }

    unsafe fn fault(header: NonNull<Header>) -> Option<Error> {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin an
        // `OwnerBlock<K>`; the caller's handle keeps the block alive (Owner 1).
        unsafe { header.cast::<Self>().as_ref() }.keep.fault()
    }

    unsafe fn device(header: &NonNull<Header>) -> Option<DeviceMapping<'_>> {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin an
        // `OwnerBlock<K>`; the block is alive while the header is borrowed (Owner 1).
        unsafe { header.cast::<Self>().as_ref() }.keep.device()
    }

    unsafe fn is_own(header: NonNull<Header>) -> bool {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin an
        // `OwnerBlock<K>`; the header is not released yet (Owner 1).
        unsafe { header.cast::<Self>().as_ref() }.keep.is_own()
    }
}

/// Makes an allocation of a region that `keep` frees. If out of memory, `keep` frees the region at
/// once.
///
/// # Safety
///
/// Until `keep.free()` is called:
///
/// 1. The region is valid for reads of `region.nbytes` initialised bytes. It is valid for writes
///    too, unless `birth` is `Constant` or every handle is made read-only before any write.
/// 2. The region is not freed or moved.
/// 3. If `birth` is `Sole`, only this allocation's holders access the region. If `Constant`, no
///    party writes it. If `Aliased`, accesses by other parties may race only with atomic and racy
///    accesses.
pub(crate) unsafe fn adopt<K: Keep>(region: Region, birth: Birth, keep: K) -> Result<Handle> {
    // SAFETY: clauses 1 to 3 of `# Safety` are those of `adopt_as`, and `OWNER` is the table that
    // `owner_of` returns for `K`.
    unsafe { adopt_as(region, birth, keep, &OwnerBlock::<K>::OWNER) }
}

/// The function table for a `keep` of this type, for a static whose address identifies what was
/// adopted with it.
pub(crate) const fn owner_of<K: Keep>() -> Owner {
    OwnerBlock::<K>::OWNER
}

/// Like [`adopt`], with a function table that the caller can recognise later.
///
/// # Safety
///
/// 1. Clauses 1 to 3 of [`adopt`] hold.
/// 2. `owner` is the result of [`owner_of`] for this `K`.
pub(crate) unsafe fn adopt_as<K: Keep>(
    region: Region,
    birth: Birth,
    keep: K,
    owner: &'static Owner,
) -> Result<Handle> {
    let block = match OwnerBlock::new(region, birth, keep, owner) {
        Ok(block) => block,
        Err(keep) => {
            // SAFETY: no header was made, so no holder reaches the region, and `keep` was returned
            // unfreed: this call is the only one.
            release_quietly(|| unsafe { keep.free() });
            return Err(Error::out_of_memory(
                OwnerBlock::<K>::LAYOUT.size(),
                OwnerBlock::<K>::LAYOUT.align(),
            ));
        }
    };
    // SAFETY: `OwnerBlock::new` wrote a complete header whose word counts one handle and no lease,
    // and this handle is that one.
    Ok(unsafe { Handle::first(block.cast()) })
}

/// Borrows what [`adopt_as`] stored.
///
/// # Safety
///
/// 1. [`adopt_as`] made the allocation with a `K`.
pub(crate) unsafe fn kept<K: Keep>(handle: &Handle) -> &K {
    // SAFETY: clause 1 of `# Safety`: the header begins an `OwnerBlock<K>`, which the borrowed
    // handle keeps alive (Handle 1).
    &unsafe { handle.header_ptr().cast::<OwnerBlock<K>>().as_ref() }.keep
}

/// Ends the allocation and returns what [`adopt_as`] stored: the caller then frees the region.
///
/// # Safety
///
/// 1. [`adopt_as`] made the allocation with a `K`.
/// 2. The handle is the only one, and no lease of the allocation is held.
/// 3. The allocation's device work has been waited for.
pub(crate) unsafe fn give_up<K: Keep>(handle: Handle) -> K {
    // SAFETY: clause 1 of `into_header` is clause 2 of `# Safety`.
    let header = unsafe { handle.into_header() };
    // SAFETY: clause 2 of `# Safety`: the handle was the only holder, so the header is alive until
    // `take` frees it below.
    if unsafe { header.as_ref() }.awaited.load(Ordering::Relaxed) {
        forget_work(header);
    }
    // SAFETY: clause 1 of `# Safety`: the header begins an `OwnerBlock<K>`; by clause 2 no other
    // holder accesses it.
    unsafe { OwnerBlock::<K>::take(header) }.keep
}
