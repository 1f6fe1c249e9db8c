//! The header of a region: its owner, its place, and the word that counts its holders.
//!
//! ```text
//!   Handle ──┐
//!   Handle ──┼──> Header { word, region, owner, place, … } ──> the bytes
//!   Lease  ──┘         owner: &'static Owner ── release(header)
//! ```
//!
//! A header lies in a block of its own, followed by what its owner needs to free the region
//! ([`adopt`](super::owner::adopt)), or, for pool memory, in front of the bytes. It contains
//! everything that slicing must preserve, so that a slice is a handle, a pointer and a length.
//!
//! Reasons: `DESIGN.md`, "An allocation knows no devices, pools or ledger".

use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::error::{Error, Result};
use crate::memory::fault;
use crate::memory::place::{Backing, Place};
use crate::memory::protocols::Protocols;
use crate::memory::word::{LeaseWord, WordValue};

/// Which other parties may access a region when this library adopts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Birth {
    /// None: all access goes through this library's leases.
    Sole,
    /// All parties may read it, and none ever writes it.
    Constant,
    /// Another owner may write it at any time. Only Share and Pin leases are possible.
    Aliased,
}

/// A region of memory: its address, its length in bytes, and its place.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) ptr: NonNull<u8>,
    pub(crate) nbytes: usize,
    pub(crate) place: Place,
    pub(crate) backing: Backing,
}

/// A file or shared-memory descriptor, and where in it a region begins.
pub(crate) struct Descriptor {
    pub(crate) fd: crate::memory::os::fd::RawFd,
    pub(crate) offset: u64,
    pub(crate) writable: bool,
}

/// The driver's view of device memory.
pub(crate) struct DeviceMapping<'a> {
    /// The memory manager, as the layer of devices stores it.
    pub(crate) manager: &'a dyn Any,
    /// The driver's object, or null.
    pub(crate) object: *mut c_void,
    /// The address at which the object begins.
    pub(crate) base: NonNull<u8>,
    /// Whether the device uses these addresses. If not, they are a reserved range of the process
    /// without memory.
    pub(crate) is_addressed: bool,
}

/// The function table of an owner.
///
/// # Invariants
///
/// 1. Each function is called only with a header that has this table as its `owner`, and that is
///    alive when the call begins.
pub(crate) struct Owner {
    /// Frees the region and the header. Called once, on the thread that drops the last handle or
    /// lease.
    pub(crate) release: unsafe fn(NonNull<Header>),
    /// The descriptor behind the region, if there is one.
    pub(crate) descriptor: unsafe fn(NonNull<Header>) -> Option<Descriptor>,
    /// The error that damaged the region, if there is one: a mapped file that shrank.
    pub(crate) fault: unsafe fn(NonNull<Header>) -> Option<Error>,
    /// The device's memory manager behind the region, if there is one. The borrow of the pointer
    /// keeps the header alive.
    pub(crate) device: unsafe fn(&NonNull<Header>) -> Option<DeviceMapping<'_>>,
    /// The number of bytes that a handle keeps alive.
    pub(crate) retained: unsafe fn(NonNull<Header>) -> usize,
    /// Whether `release` runs only code of this library, the system, and drivers.
    pub(crate) is_own: unsafe fn(NonNull<Header>) -> bool,
    /// Whether the region is a part of one that was divided.
    pub(crate) is_part: bool,
}

/// The record of one region.
///
/// # Invariants
///
/// 1. While the word counts a handle or lease, the header and the region of `nbytes` bytes at `ptr`
///    are alive, and only `owner.release` frees them.
/// 2. `owner.release` is called exactly once: by the thread that brings the word's counts to zero.
/// 3. The region's bytes are initialised if the place is the host.
/// 4. From the first handle on, all fields but `word`, `exported`, `awaited` and `constant` are
///    constant.
/// 5. If the word is not marked aliased, a lease of this word or its exclusive handle covers every
///    access to the bytes.
#[repr(C, align(64))]
pub(crate) struct Header {
    word: LeaseWord,
    ptr: NonNull<u8>,
    nbytes: usize,
    pub(super) owner: &'static Owner,
    place: Place,
    /// The protocols by which it was exported, [`PRIVATE`] and [`PROMISED`].
    pub(super) exported: AtomicU32,
    backing: Backing,
    pub(super) tracked: bool,
    pub(super) constant: AtomicBool,
    /// Whether host access has to wait for noted events.
    pub(crate) awaited: AtomicBool,
    spare: Spare,
}

/// A bit of `exported` that is no protocol: see [`Header::is_known_private`].
const PRIVATE: u32 = 1 << 31;

/// A bit of `exported` that is no protocol: see [`Header::is_promised`].
const PROMISED: u32 = 1 << 30;

/// Two words for use by the owner.
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
    /// A header with one handle, unlisted.
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

    /// Sets the length of the region, before any other party knows the header.
    #[inline]
    pub(crate) fn set_nbytes(&mut self, nbytes: usize) {
        self.nbytes = nbytes;
    }

    pub(crate) fn set_spare_ptr(&mut self, ptr: *const ()) {
        self.spare.ptr = ptr;
    }

    pub(crate) fn set_spare_word(&mut self, word: u64) {
        self.spare.word = word;
    }

    /// Reuses the header of a freed region for a new region of the same owner at the same place.
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

    #[inline]
    pub(crate) fn backing(&self) -> Backing {
        self.backing
    }

    /// The check of every copy after it read or wrote the bytes: fails if they are those of a
    /// guarded map whose file shrank, which read as zeros and keep nothing. Another library may
    /// have lent them.
    #[inline]
    pub(crate) fn check_fault(&self) -> Result<()> {
        match self.backing {
            Backing::File | Backing::Foreign if self.place.is_host() => {
                fault::fault_at(self.ptr).map_or(Ok(()), Err)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn reading(&self) -> WordValue {
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
        Protocols(self.exported.load(Ordering::Relaxed) & !(PRIVATE | PROMISED))
    }

    /// Whether the region is known to be private anonymous memory: no second mapping shows its
    /// bytes.
    #[inline]
    pub(crate) fn is_known_private(&self) -> bool {
        self.exported.load(Ordering::Relaxed) & PRIVATE != 0
    }

    /// Whether `&T` of the region relies on a promise that code without `unsafe`, such as a Python
    /// program, can break: of an Arrow producer, or of a caller that vouches for foreign memory.
    pub(crate) fn is_promised(&self) -> bool {
        self.exported.load(Ordering::Relaxed) & PROMISED != 0
    }

    /// Records that a promise is all that keeps the region from being written.
    pub(crate) fn mark_promised(&self) {
        self.exported.fetch_or(PROMISED, Ordering::Relaxed);
    }

    /// Records that the region is private anonymous memory, and stays so while its owner keeps it.
    pub(crate) fn mark_private(&self) {
        self.exported.fetch_or(PRIVATE, Ordering::Relaxed);
    }
}
