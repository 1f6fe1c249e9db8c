//! What is known of one region: who owns it, where it lies, and the word that counts who has it.
//!
//! ```text
//!   Handle ──┐
//!   Handle ──┼──> Header { word, region, owner, place, … } ──> the bytes
//!   Lease  ──┘         owner: &'static Owner ── release(header)
//! ```
//!
//! A header lives in a block of its own together with what its owner needs to free the region
//! ([`adopt`](super::owner::adopt)), or, for pool memory, in front of the bytes. Everything that must survive slicing
//! is here, so that a slice is a handle, a pointer and a length.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::error::Error;
use crate::memory::place::{Backing, Place};
use crate::memory::protocols::Protocols;
use crate::memory::word::{LeaseWord, Reading};

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

/// What stands behind memory of a device.
pub(crate) struct Attached<'a> {
    /// The manager of the memory, as the layer of devices keeps it.
    pub(crate) manager: &'a dyn Any,
    /// The driver's object, or null.
    pub(crate) object: *mut c_void,
    /// The address at which the object begins.
    pub(crate) base: NonNull<u8>,
    /// Whether the device uses these addresses. Else they are a range of the process in which nothing
    /// lies.
    pub(crate) is_addressed: bool,
}

/// What an owner can do: its function table.
pub(crate) struct Owner {
    /// Frees the region and the header. Called once, by whoever dropped the last handle or lease, on that thread.
    pub(crate) release: unsafe fn(NonNull<Header>),
    /// The descriptor behind the region, where there is one.
    pub(crate) descriptor: unsafe fn(NonNull<Header>) -> Option<Descriptor>,
    /// The error that befell the region, where there is one: a mapped file that shrank.
    pub(crate) fault: unsafe fn(NonNull<Header>) -> Option<Error>,
    /// The device's memory manager behind the region, where there is one. Who has the reference to the pointer keeps the
    /// header alive.
    pub(crate) device: unsafe fn(&NonNull<Header>) -> Option<Attached<'_>>,
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
    pub(super) owner: &'static Owner,
    place: Place,
    /// The protocols by which it was exported, and [`PRIVATE`].
    pub(super) exported: AtomicU32,
    backing: Backing,
    pub(super) tracked: bool,
    pub(super) constant: AtomicBool,
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
}
