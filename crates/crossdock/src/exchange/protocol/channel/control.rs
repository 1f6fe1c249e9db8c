//! A map of a channel's memory, and typed access to its control part.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::channel::bell::Bell;
use crate::exchange::protocol::channel::geometry::{
    FREED, Geometry, HEAD, HEADER_WORDS, MEMBERS, SENT, SLOT_HEAD_WORDS,
};
use crate::memory::{Handle, owner};

/// The control part of a channel, mapped for reading and writing, or by a tap for reading only.
///
/// Other processes write it at any time, so this process accesses it by atomics only, and never
/// takes a value of it as an index or a size without a check.
///
/// # Invariants
///
/// 1. `memory` is a map of `geometry.control_nbytes()` bytes, and begins at a page. Unless this
///    value comes from `open_readonly`, it is writable. If it does, only relaxed loads are made.
pub(super) struct ControlMap {
    memory: Handle,
    geometry: Geometry,
}

impl ControlMap {
    /// Makes the memory of a new channel.
    pub(super) fn new(geometry: Geometry, name: &CStr) -> Result<Self> {
        let whole = owner::allocate_shared(geometry.nbytes(), name)?;
        let control = Self::map(&whole, geometry, true)?;
        for (at, value) in geometry.to_header().into_iter().enumerate() {
            control.word(8 * at).store(value, Ordering::Release);
        }
        Ok(control)
    }

    /// Maps a channel by its descriptor.
    pub(super) fn open(fd: OwnedFd) -> Result<Self> {
        Self::open_for(fd, true)
    }

    /// Maps a channel for reading. The caller makes only relaxed loads: others may write on some
    /// processors, which faults.
    pub(super) fn open_readonly(fd: OwnedFd) -> Result<Self> {
        Self::open_for(fd, false)
    }

    fn open_for(fd: OwnedFd, writable: bool) -> Result<Self> {
        let header = owner::map_shared(fd, 0, 8 * HEADER_WORDS, writable).map_err(|error| {
            if error.is_bounds() {
                Error::caused(Kind::Malformed, "the memory is too small for a channel", error)
            } else {
                error
            }
        })?;
        let words = std::array::from_fn(|at| {
            // SAFETY: `at < HEADER_WORDS`, and the map has as many words.
            let word = unsafe { header.header().ptr().cast::<u64>().add(at) };
            // SAFETY: the word lies in the map, which begins at a page and is alive here; other
            // accesses to it are atomic, or come from code outside this program.
            unsafe { AtomicU64::from_ptr(word.as_ptr()) }.load(Ordering::Relaxed)
        });
        // What the header says was written before this process got the memory.
        fence(Ordering::Acquire);
        let file = File::from(duplicate(&header)?);
        let nbytes = file.metadata().map_err(|error| {
            let text = format!("the size of the channel could not be read: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        })?;
        Self::map(&header, Geometry::from_header(words, nbytes.len())?, writable)
    }

    fn map(memory: &Handle, geometry: Geometry, writable: bool) -> Result<Self> {
        let memory = map(memory, 0, geometry.control_nbytes(), writable)?;
        Ok(Self { memory, geometry })
    }

    /// The bytes of the slots, mapped for a sender or a receiver.
    pub(super) fn map_data(&self, writable: bool) -> Result<Handle> {
        map(&self.memory, self.geometry.control_nbytes(), self.geometry.data_nbytes(), writable)
    }

    /// All of the memory, mapped for reading and writing.
    pub(super) fn map_whole(&self) -> Result<Handle> {
        map(&self.memory, 0, self.geometry.nbytes(), true)
    }

    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>> {
        descriptor(&self.memory)
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn address(&self, at: usize, size: usize) -> *mut u8 {
        let nbytes = self.geometry.control_nbytes();
        assert!(at.is_multiple_of(size) && at < nbytes, "byte {at} of {nbytes}");
        // SAFETY: ControlMap 1: the map has `nbytes` bytes, and `at` is less.
        unsafe { self.memory.header().ptr().add(at) }.as_ptr()
    }

    /// The word at a byte, a multiple of 8.
    #[inline]
    pub(super) fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: ControlMap 1: `address` checked that the word lies in the map, which `self`
        // keeps, and is aligned. All accesses to it are atomic ones of this size, or come from code
        // outside this program.
        unsafe { AtomicU64::from_ptr(self.address(at, 8).cast()) }
    }

    #[inline]
    fn half_word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: ControlMap 1: `address` checked that the half word lies in the map, which `self`
        // keeps, and is aligned. All accesses to it are atomic ones of this size, or come from
        // code outside this program.
        unsafe { AtomicU32::from_ptr(self.address(at, 4).cast()) }
    }

    // ===== the fields

    /// The number of the next message.
    pub(super) fn head(&self) -> &AtomicU64 {
        self.word(HEAD)
    }

    /// Rings when a message was sent.
    pub(super) fn sent(&self) -> Bell<'_> {
        Bell { count: self.half_word(SENT), sleepers: self.half_word(SENT + 4) }
    }

    /// Rings when a slot became free.
    pub(super) fn freed(&self) -> Bell<'_> {
        Bell { count: self.half_word(FREED), sleepers: self.half_word(FREED + 4) }
    }

    /// The receivers that get messages.
    pub(super) fn receivers(&self) -> &AtomicU64 {
        self.word(MEMBERS)
    }

    pub(super) fn senders(&self) -> &AtomicU64 {
        self.word(MEMBERS + 8)
    }

    /// Not 0 once the channel is closed.
    pub(super) fn closed(&self) -> &AtomicU64 {
        self.word(MEMBERS + 16)
    }

    /// How many messages were dropped: each because a sender took its slot, or because no receiver
    /// was attached.
    pub(super) fn dropped(&self) -> &AtomicU64 {
        self.word(MEMBERS + 24)
    }

    /// The word of a slot.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> &AtomicU64 {
        self.word(self.geometry.slot(index))
    }

    /// The number of a slot's message.
    #[inline]
    pub(super) fn number(&self, index: usize) -> &AtomicU64 {
        self.word(self.geometry.slot(index) + 8)
    }

    /// Another word of a slot's record.
    #[inline]
    pub(super) fn message(&self, index: usize, word: usize) -> &AtomicU64 {
        debug_assert!((2..SLOT_HEAD_WORDS + 2 * crate::layout::MAX_RANK).contains(&word));
        self.word(self.geometry.slot(index) + 8 * word)
    }
}

fn map(memory: &Handle, offset: usize, nbytes: usize, writable: bool) -> Result<Handle> {
    owner::map_shared(duplicate(memory)?, offset as u64, nbytes, writable)
}

fn duplicate(memory: &Handle) -> Result<OwnedFd> {
    descriptor(memory)?.try_clone_to_owned().map_err(|error| {
        let text = format!("the channel's descriptor could not be duplicated: {}", system_text(&error));
        Error::caused(Kind::Io, text, error)
    })
}

fn descriptor(memory: &Handle) -> Result<BorrowedFd<'_>> {
    let found = memory.descriptor();
    let found = found.ok_or_else(|| Error::new(Kind::Unsupported, "a channel needs shared memory"))?;
    // SAFETY: the owner keeps this descriptor open, and `memory`, which the result borrows, keeps
    // the owner alive.
    Ok(unsafe { BorrowedFd::borrow_raw(found.fd) })
}
