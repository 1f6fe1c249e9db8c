//! One region with one owner, counted by the lease word.
//!
//! ```text
//!   Handle ──┐
//!   Handle ──┼──> Header { word, region, owner, place, … } ──> the bytes
//!   Lease  ──┘         owner: &'static Owner ── release(header)
//! ```
//!
//! A header lives in a block of its own together with what its owner needs to free the region ([`Block`]), or, for
//! pool memory, in front of the bytes. Everything that must survive slicing is here, so that a slice is a handle, a
//! pointer and a length.

use std::alloc::{Layout as AllocLayout, alloc, dealloc};
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::error::{Error, Rejected, Result};
use crate::memory::conflict::{Conflict, Protocols, Wanted};
use crate::memory::device::{self, Attached, Forgotten};
use crate::memory::ledger;
use crate::memory::place::{Backing, Place};
use crate::memory::word::{LeaseKind, LeaseWord, Reading};

/// Who else may touch a region when it becomes ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Birth {
    /// Nobody: all access goes through this library's leases.
    Sole,
    /// Everybody may read it and nobody will ever write it.
    Constant,
    /// Another owner may write it at any time. Only Share and Pin leases can be had.
    Aliased,
}

/// A region of memory: where it begins, how many bytes it has, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) ptr: NonNull<u8>,
    pub(crate) nbytes: usize,
    pub(crate) place: Place,
    pub(crate) backing: Backing,
}

/// A file or shared-memory descriptor, and where in it a region begins.
pub(crate) struct Descriptor {
    pub(crate) fd: std::os::fd::RawFd,
    pub(crate) offset: u64,
    pub(crate) writable: bool,
}

/// What an owner can do: its function table.
pub(crate) struct Owner {
    /// Frees the region and the header. Called once, by whoever dropped the last handle or lease, on that thread.
    pub(crate) release: unsafe fn(NonNull<Header>),
    /// The descriptor behind the region, where there is one.
    pub(crate) descriptor: unsafe fn(NonNull<Header>) -> Option<Descriptor>,
    /// The error that befell the region, where there is one: a mapped file that shrank.
    pub(crate) fault: unsafe fn(NonNull<Header>) -> Option<Error>,
    /// The device's memory manager behind the region, where there is one.
    pub(crate) device: unsafe fn(NonNull<Header>) -> Option<Attached>,
    /// How many bytes a handle keeps alive.
    pub(crate) retained: unsafe fn(NonNull<Header>) -> usize,
    /// Whether `release` runs only code of this library, the system, and drivers.
    pub(crate) is_own: unsafe fn(NonNull<Header>) -> bool,
    /// Whether the region is a part of one that was divided.
    pub(crate) is_part: bool,
}

/// What is known of one region.
///
/// # Invariants
///
/// 1. While the word counts any handle or lease, the header, and the region of `nbytes` bytes at `ptr`, are alive, and
///    nobody but `owner.release` frees them.
/// 2. `owner.release` is called exactly once: by whoever brought the word's counts to zero.
/// 3. The region's bytes are initialised, where the place is the host.
/// 4. All of it but `word`, `exported`, `awaited` and `constant` is constant from the first handle on.
/// 5. If the word is not marked aliased, every access to the bytes is covered by a lease of this word or by its
///    exclusive handle.
#[repr(C, align(64))]
pub(crate) struct Header {
    word: LeaseWord,
    ptr: NonNull<u8>,
    nbytes: usize,
    owner: &'static Owner,
    place: Place,
    /// The protocols by which it was exported, and [`PRIVATE`].
    exported: AtomicU32,
    backing: Backing,
    tracked: bool,
    constant: AtomicBool,
    /// Whether events are noted that host access has to wait for.
    pub(crate) awaited: AtomicBool,
    spare: Spare,
}

/// A bit that stands for no protocol.
const PRIVATE: u32 = 1 << 31;

/// Two words of the owner's own.
#[derive(Clone, Copy)]
pub(crate) struct Spare {
    pub(crate) ptr: *const (),
    pub(crate) word: u64,
}

impl Spare {
    pub(crate) const NONE: Self = Self { ptr: std::ptr::null(), word: 0 };
}

const _: () = assert!(size_of::<Header>() == 64 || cfg!(loom), "a header is one cache line");

impl Header {
    /// A header with one handle, in no list.
    #[inline]
    pub(crate) fn new(region: Region, birth: Birth, owner: &'static Owner, spare: Spare) -> Self {
        Self {
            word: LeaseWord::new(birth == Birth::Aliased),
            ptr: region.ptr,
            nbytes: region.nbytes,
            owner,
            place: region.place,
            exported: AtomicU32::new(0),
            backing: region.backing,
            tracked: false,
            constant: AtomicBool::new(birth == Birth::Constant),
            awaited: AtomicBool::new(false),
            spare,
        }
    }

    /// Says that the region has `nbytes` bytes, while nobody else knows of it.
    #[inline]
    pub(crate) fn set_nbytes(&mut self, nbytes: usize) {
        self.nbytes = nbytes;
    }

    pub(crate) fn set_spare_ptr(&mut self, ptr: *const ()) {
        self.spare.ptr = ptr;
    }

    /// Makes the header of a region that is gone one of a new region, of the same owner, at the same place.
    #[inline]
    pub(crate) fn renew(&mut self, ptr: *const ()) {
        self.word = LeaseWord::new(false);
        self.exported = AtomicU32::new(0);
        self.tracked = false;
        self.constant = AtomicBool::new(false);
        self.awaited = AtomicBool::new(false);
        self.spare.ptr = ptr;
    }

    pub(crate) fn is_owned_by(&self, owner: &'static Owner) -> bool {
        std::ptr::eq(self.owner, owner)
    }

    #[inline]
    pub(crate) fn spare(&self) -> Spare {
        self.spare
    }

    #[inline]
    pub(crate) fn word(&self) -> &LeaseWord {
        &self.word
    }

    #[inline]
    pub(crate) fn nbytes(&self) -> usize {
        self.nbytes
    }

    #[inline]
    pub(crate) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    #[inline]
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    pub(crate) fn backing(&self) -> Backing {
        self.backing
    }

    #[inline]
    pub(crate) fn reading(&self) -> Reading {
        self.word.reading()
    }

    #[inline]
    pub(crate) fn birth(&self) -> Birth {
        match (self.constant.load(Ordering::Relaxed), self.word.reading().is_aliased()) {
            (true, _) => Birth::Constant,
            (false, true) => Birth::Aliased,
            (false, false) => Birth::Sole,
        }
    }

    #[inline]
    pub(crate) fn exported(&self) -> Protocols {
        Protocols(self.exported.load(Ordering::Relaxed) & !PRIVATE)
    }

    /// Whether the region was found in private anonymous memory: no second mapping shows its bytes.
    pub(crate) fn is_known_private(&self) -> bool {
        self.exported.load(Ordering::Relaxed) & PRIVATE != 0
    }

    /// The region lies in private anonymous memory, and does so as long as its owner keeps it.
    #[cfg_attr(
        any(not(target_os = "linux"), miri),
        expect(dead_code, reason = "only Linux tells what memory is private")
    )]
    pub(crate) fn mark_private(&self) {
        self.exported.fetch_or(PRIVATE, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn conflict(&self, wanted: Wanted, found: Reading) -> Conflict {
        let holders = if ledger::is_on() { ledger::holders_of(self) } else { Vec::new() };
        Conflict::new(wanted, found, self.exported(), holders)
    }
}

/// A counted reference to an allocation: keeps it alive, and permits nothing by itself.
///
/// # Invariants
///
/// 1. It is counted once in the word of the header it points to (hence [`Header`] 1 holds while it lives).
pub(crate) struct Handle(NonNull<Header>);

// SAFETY: all of the header that changes is atomic (Header 4), and owners accept release on any thread (Block::new,
// pool). The bytes are touched through leases only, which exclude racing accesses or make them atomic.
unsafe impl Send for Handle {}
// SAFETY: as for Send; `&Handle` offers nothing that is not atomic.
unsafe impl Sync for Handle {}

impl Handle {
    /// Takes over the first handle of a header that is complete.
    ///
    /// # Safety
    ///
    /// `header` points to a valid [`Header`], whose word counts one handle that nobody else has.
    #[inline]
    pub(crate) unsafe fn first(header: NonNull<Header>) -> Self {
        if ledger::is_on() {
            // SAFETY: the caller's word.
            unsafe { list(header) };
        }
        Self(header)
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: Handle 1: the header is alive, and only shared references to it exist.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn try_clone(&self) -> Result<Self, Conflict> {
        match self.header().word.add_handle() {
            Ok(()) => Ok(Self(self.0)),
            Err(found) => Err(self.header().conflict(Wanted::Handle, found)),
        }
    }

    /// Takes a lease. O(1): one compare-and-swap.
    #[inline]
    pub(crate) fn lease(&self, kind: LeaseKind) -> Result<Lease, Conflict> {
        match self.header().word.take(kind) {
            Ok(()) if ledger::is_on() => {
                // SAFETY: the word counts the lease, which nobody else has.
                Ok(unsafe { Lease::noted(self.0, kind) })
            }
            Ok(()) => Ok(Lease { header: self.0, tag: Tag::new(kind, None) }),
            Err(found) => Err(self.header().conflict(Wanted::Lease(kind), found)),
        }
    }

    /// Asserts that this is the only holder and nobody outside may write: then `&mut self` covers the bytes too.
    #[inline]
    pub(crate) fn exclusive(&mut self) -> Result<(), Conflict> {
        if self.header().word.is_exclusive() {
            Ok(())
        } else {
            Err(self.header().conflict(Wanted::Exclusive, self.header().reading()))
        }
    }

    /// Asserts that this is the only holder in this process.
    pub(crate) fn only_handle(&mut self) -> Result<(), Conflict> {
        if self.header().word.is_only_handle() {
            Ok(())
        } else {
            Err(self.header().conflict(Wanted::OnlyHandle, self.header().reading()))
        }
    }

    /// Takes the caller's word that no owner outside writes the memory.
    ///
    /// # Safety
    ///
    /// From now on, until the last holder is gone, every write goes through leases of this allocation, and every read
    /// by others is over.
    pub(crate) unsafe fn assume_not_aliased(&self) {
        self.header().word.clear_aliased();
    }

    /// Takes the caller's word that nobody writes the memory any more.
    ///
    /// # Safety
    ///
    /// From now on, until the last holder is gone, nobody writes the memory; every handle is read-only.
    pub(crate) unsafe fn mark_constant(&self) {
        self.header().constant.store(true, Ordering::Relaxed);
        self.header().word.clear_aliased();
    }

    pub(crate) fn is_owned_by(&self, owner: &'static Owner) -> bool {
        self.header().is_owned_by(owner)
    }

    /// The header, to be taken apart by its owner. The handle, which is the only one, is not given up: the caller has it now.
    pub(crate) fn into_header(self) -> NonNull<Header> {
        let mut header = self.0;
        std::mem::forget(self);
        // SAFETY: the only handle, hence nobody else reaches the header.
        if std::mem::take(&mut unsafe { header.as_mut() }.tracked) {
            ledger::forget(header);
        }
        header
    }

    /// Lets the owner move the header. The handle is the only one, and what `owner` returns is the header of the same allocation. The
    /// owner does not panic once it has moved it: this handle would still point to where it was.
    pub(crate) fn rebuild(&mut self, owner: impl FnOnce(NonNull<Header>) -> NonNull<Header>) {
        // Its place is taken by what the owner returns.
        let header = Self(self.0).into_header();
        self.0 = owner(header);
        std::mem::forget(std::mem::replace(self, {
            // SAFETY: the same allocation, whose one handle is ours.
            unsafe { Self::first(self.0) }
        }));
    }

    pub(crate) fn is_part(&self) -> bool {
        self.header().owner.is_part
    }

    pub(crate) fn descriptor(&self) -> Option<Descriptor> {
        let describe = self.header().owner.descriptor;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { describe(self.0) }
    }

    pub(crate) fn device(&self) -> Option<Attached> {
        let device = self.header().owner.device;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { device(self.0) }
    }

    /// Waits for the work on a device that access under a lease of this kind comes after. One load where there is none.
    #[inline]
    pub(crate) fn await_work(&self, kind: LeaseKind) -> Result<()> {
        if self.header().awaited.load(Ordering::Acquire) { device::wait(self.header(), kind) } else { Ok(()) }
    }

    /// Whether no work on a device is noted. One load.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.header().awaited.load(Ordering::Acquire)
    }

    /// As [`Handle::await_work`], but refuses where it would wait.
    pub(crate) fn check_work(&self, kind: LeaseKind) -> Result<()> {
        if self.header().awaited.load(Ordering::Acquire) {
            device::check(self.header(), kind)
        } else {
            Ok(())
        }
    }

    pub(crate) fn retained_nbytes(&self) -> usize {
        let retained = self.header().owner.retained;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { retained(self.0) }
    }

    pub(crate) fn fault(&self) -> Option<Error> {
        let fault = self.header().owner.fault;
        // SAFETY: Handle 1: the header is alive, and it is this owner's own.
        unsafe { fault(self.0) }
    }
}

impl Clone for Handle {
    /// # Panics
    ///
    /// When the allocation has as many handles as its word can count (2²³ - 1).
    #[inline]
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(handle) => handle,
            Err(conflict) => panic!("{conflict}"),
        }
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        if self.header().word.drop_handle() {
            // SAFETY: the word said that this was the last holder.
            unsafe { release(self.0) }
        }
    }
}

/// Permission to touch an allocation's bytes in one way; it keeps them alive, too.
///
/// # Invariants
///
/// 1. It is counted once, as `kind`, in the word of the header it points to (hence [`Header`] 1 holds while it lives).
/// 2. If it has a note, the ledger's row of the header has a record of that number, which is this lease's alone.
pub(crate) struct Lease {
    header: NonNull<Header>,
    tag: Tag,
}

const _: () = assert!(size_of::<Lease>() == 16, "a lease travels in two registers");

/// The kind of a lease and the number of its note, if it has one. One word and not two fields, so that a lease is a pair of
/// scalars, which the compiler moves in registers.
#[derive(Clone, Copy)]
struct Tag(u64);

impl Tag {
    const READ: u32 = LeaseKind::Read as u32;
    const WRITE: u32 = LeaseKind::Write as u32;
    const SHARE: u32 = LeaseKind::Share as u32;

    #[inline]
    fn new(kind: LeaseKind, note: Option<NonZeroU32>) -> Self {
        Self(u64::from(note.map_or(0, NonZeroU32::get)) << 32 | kind as u64)
    }

    #[inline]
    fn kind(self) -> LeaseKind {
        match self.0 as u32 {
            Self::READ => LeaseKind::Read,
            Self::WRITE => LeaseKind::Write,
            Self::SHARE => LeaseKind::Share,
            _ => LeaseKind::Pin,
        }
    }

    #[inline]
    fn note(self) -> Option<NonZeroU32> {
        NonZeroU32::new((self.0 >> 32) as u32)
    }
}

// SAFETY: as for Handle: it offers nothing that is not atomic. (Guards say for themselves what they may cross.)
unsafe impl Send for Lease {}
// SAFETY: as for Send.
unsafe impl Sync for Lease {}

impl Lease {
    /// A lease that the ledger lists, if it has the memory.
    ///
    /// # Safety
    ///
    /// The word of `header` counts a lease of `kind` that nobody else has.
    #[cold]
    #[inline(never)]
    unsafe fn noted(header: NonNull<Header>, kind: LeaseKind) -> Self {
        // SAFETY: the lease is ours from now on; whatever gives it back calls `forget_note` before.
        let note = unsafe { ledger::note_lease(header, kind) };
        Self { header, tag: Tag::new(kind, note) }
    }

    #[inline]
    fn forget_note(&self) {
        if let Some(number) = self.tag.note() {
            ledger::forget_lease(self.header, number);
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> LeaseKind {
        self.tag.kind()
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: Lease 1: the header is alive, and only shared references to it exist.
        unsafe { self.header.as_ref() }
    }

    pub(crate) fn device(&self) -> Option<Attached> {
        let device = self.header().owner.device;
        // SAFETY: Lease 1: the header is alive, and it is this owner's own.
        unsafe { device(self.header) }
    }

    /// Notes by which protocol the memory goes out. Once noted, it costs a load.
    #[inline]
    pub(crate) fn mark_exported(&self, protocol: Protocols) {
        let header = self.header();
        if !header.exported().contains(protocol) {
            header.exported.fetch_or(protocol.0, Ordering::Relaxed);
        }
        if let Some(number) = self.tag.note() {
            ledger::mark_lease(self.header, number, protocol);
        }
    }

    /// Gives the lease back and keeps the memory; or it comes back, where there are as many handles as can be counted.
    pub(crate) fn into_handle(self) -> Result<Handle, Rejected<Self>> {
        match self.header().word.exchange_for_handle(self.kind()) {
            Ok(()) => {
                self.forget_note();
                let header = self.header;
                std::mem::forget(self);
                Ok(Handle(header))
            }
            Err(found) => {
                let error = self.header().conflict(Wanted::Handle, found).into();
                Err(Rejected { value: self, error })
            }
        }
    }

    /// Releases the lease without running code of the owner. If it was the last holder, the result
    /// is the allocation, which its owner still has to release.
    pub(crate) fn give_back(self) -> Option<Orphan> {
        self.forget_note();
        let header = self.header;
        let was_last = self.header().word.give(self.kind());
        std::mem::forget(self);
        // Orphan 1: the word said that this was the last holder. (Not built otherwise, because
        // dropping an `Orphan` releases the allocation.)
        if was_last { Some(Orphan { header: Some(header), events: Forgotten::default() }) } else { None }
    }

    /// A handle beside the lease.
    pub(crate) fn to_handle(&self) -> Result<Handle, Conflict> {
        match self.header().word.add_handle() {
            Ok(()) => Ok(Handle(self.header)),
            Err(found) => Err(self.header().conflict(Wanted::Handle, found)),
        }
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        self.forget_note();
        if self.header().word.give(self.kind()) {
            // SAFETY: the word said that this was the last holder.
            unsafe { release(self.header) }
        }
    }
}

/// An allocation without holders that its owner still has to release: dropping this runs the
/// owner's code. For callers that release a lease where that code must not run, such as under a
/// lock.
///
/// # Invariants
///
/// 1. While `header` is `Some`, its word counts no holder, and only this `Orphan` may release the
///    allocation.
pub(crate) struct Orphan {
    header: Option<NonNull<Header>>,
    /// The events noted on it. Dropping one may run a user's code.
    events: Forgotten,
}

// SAFETY: owners may be released on any thread, and the header's mutable parts are atomic (Header
// 4).
unsafe impl Send for Orphan {}

impl Orphan {
    /// Releases the allocation now if that runs no foreign code, so that memory of the library's
    /// own pools and devices is available at once.
    pub(crate) fn release_own(&mut self) {
        let Some(header) = self.header else { return };
        // SAFETY: Orphan 1: only this `Orphan` may release the allocation, so the header is alive.
        let owner = unsafe { header.as_ref() }.owner;
        // SAFETY: Orphan 1: the header is alive; `owner` is the table in that header.
        if unsafe { (owner.is_own)(header) } {
            self.events = device::forget_later(header);
            self.header = None;
            // SAFETY: Orphan 1: no holder is left; the header was taken out, so this is the only
            // call.
            unsafe { release(header) }
        }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(header) = self.header.take() {
            // SAFETY: Orphan 1: no holder is left; the header was taken out, so this is the only
            // call.
            unsafe { release(header) }
        }
    }
}

/// Puts an allocation on the ledger's list.
///
/// # Safety
///
/// The header is complete, and nobody but the caller knows of it yet.
#[cold]
#[inline(never)]
unsafe fn list(mut header: NonNull<Header>) {
    // SAFETY: the caller's word.
    unsafe { header.as_mut() }.tracked = true;
    ledger::record(header);
}

/// # Safety
///
/// The word of `header` counts no holder any more, and this is called once for it.
#[inline(never)]
unsafe fn release(header: NonNull<Header>) {
    let (noted, owner) = {
        // SAFETY: Header 2: nobody but us frees the header, and we have not yet.
        let header = unsafe { header.as_ref() };
        (header.tracked || header.awaited.load(Ordering::Relaxed), header.owner)
    };
    if noted {
        // SAFETY: the caller's word.
        return unsafe { release_listed(header) };
    }
    // SAFETY: Header 2: the counts are at zero, and this is the one call.
    unsafe { (owner.release)(header) }
}

/// As [`release`], for an allocation that is on a list.
///
/// # Safety
///
/// As for [`release`].
#[cold]
#[inline(never)]
unsafe fn release_listed(header: NonNull<Header>) {
    device::forget(header);
    ledger::forget(header);
    // SAFETY: Header 2: nobody but us frees the header, and we have not yet.
    let owner = unsafe { header.as_ref() }.owner;
    // SAFETY: Header 2: the counts are at zero, and this is the one call.
    unsafe { (owner.release)(header) }
}

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
    fn device(&self) -> Option<Attached> {
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
struct Block<K> {
    header: Header,
    keep: K,
}

impl<K: Keep> Block<K> {
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
    /// The header begins a block that [`Block::new`] made, and that nobody uses any more.
    unsafe fn take(header: NonNull<Header>) -> Self {
        let place = header.cast::<Self>();
        // SAFETY: the caller's word.
        let block = unsafe { place.read() };
        // SAFETY: the lead is what `new` put between the allocator's block and this one.
        let base = unsafe { place.cast::<u8>().sub(block.header.spare.word as usize) };
        // SAFETY: allocated in `new` with this layout, and read for the last time above.
        unsafe { dealloc(base.as_ptr(), Self::LAYOUT) };
        block
    }

    unsafe fn release(header: NonNull<Header>) {
        // SAFETY: this table is installed by `adopt_as::<K>` alone, whose headers begin a `Block<K>`; Header 2 makes this the only call.
        let keep = unsafe { Self::take(header) }.keep;
        // SAFETY: Header 2: the counts are at zero, and this is the one call.
        release_quietly(|| unsafe { keep.free() });
    }

    unsafe fn descriptor(header: NonNull<Header>) -> Option<Descriptor> {
        // SAFETY: as in `release`, the header begins a `Block<K>`; a handle keeps it alive during the call.
        unsafe { header.cast::<Self>().as_ref() }.keep.descriptor()
    }

    unsafe fn retained(header: NonNull<Header>) -> usize {
        // SAFETY: as in `release`, the header begins a `Block<K>`; a handle keeps it alive during the call.
        let block = unsafe { header.cast::<Self>().as_ref() };
        block.keep.retained_nbytes(block.header.nbytes())
    }

    unsafe fn fault(header: NonNull<Header>) -> Option<Error> {
        // SAFETY: as in `release`, the header begins a `Block<K>`; a handle keeps it alive during the call.
        unsafe { header.cast::<Self>().as_ref() }.keep.fault()
    }

    unsafe fn device(header: NonNull<Header>) -> Option<Attached> {
        // SAFETY: as in `release`, the header begins a `Block<K>`; a handle keeps it alive during the call.
        unsafe { header.cast::<Self>().as_ref() }.keep.device()
    }

    unsafe fn is_own(header: NonNull<Header>) -> bool {
        // SAFETY: only `adopt_as::<K>` installs this table, and its headers begin a `Block<K>`; the
        // header is not released yet.
        unsafe { header.cast::<Self>().as_ref() }.keep.is_own()
    }
}

/// Runs what an owner does to release its memory. An owner's panic must not unwind into whoever happened to drop last: it
/// is counted and goes no further.
pub(crate) fn release_quietly(release: impl FnOnce()) {
    let Err(mut payload) = catch_unwind(AssertUnwindSafe(release)) else { return };
    ledger::count_failed_release();
    // A payload's own drop may panic, with a payload whose drop may, and so on. A few are followed; the last is let go.
    for _ in 0..4 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
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
    unsafe { adopt_as(region, birth, keep, &Block::<K>::OWNER) }
}

/// The function table of what is adopted with such a `keep`, for a static by which it is told from all others.
pub(crate) const fn owner_of<K: Keep>() -> Owner {
    Block::<K>::OWNER
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
    let block = match Block::new(region, birth, keep, owner) {
        Ok(block) => block,
        Err(keep) => {
            // SAFETY: nobody else knows of the region, and this is the one call.
            release_quietly(|| unsafe { keep.free() });
            return Err(Error::out_of_memory(Block::<K>::LAYOUT.size(), Block::<K>::LAYOUT.align()));
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
    // SAFETY: the caller's word: the header begins a `Block<K>`, which the handle keeps alive.
    &unsafe { handle.0.cast::<Block<K>>().as_ref() }.keep
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
        device::forget(header);
    }
    // SAFETY: the caller's word: the header begins a `Block<K>`, which nobody else has.
    unsafe { Block::<K>::take(header) }.keep
}
