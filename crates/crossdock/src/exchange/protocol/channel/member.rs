//! A sender or receiver as a member of the channel: its number, how others know that it lives, and
//! what becomes of a dead one's slots.
//!
//! A member holds a lock on a byte of the memory's file, through an open file description of its
//! own (`F_OFD_SETLK`). The kernel gives the lock to one holder, and releases it when the holder's
//! process ends, however it ends, after its memory is unmapped. So the lock is the number, the sign
//! of life and the right to clean up at once: a member that gets the lock of a number with traces
//! knows that their maker is gone, and that no other member removes them. No process identifiers
//! are involved, which name other processes in other containers, and are used again.
//!
//! Reasons: `DESIGN.md`, "A member of a channel is a lock of the kernel".
//!
//! A forked child inherits the description and would keep the lock. So it is closed there, and
//! what the child inherited of the channel refuses to work.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::dtypes;
use crate::exchange::protocol::channel::message::NO_MESSAGE;
use crate::exchange::protocol::channel::slot::{self, MOST_MEMBERS};
use crate::memory::Handle;
use crate::memory::fork::{ForkLock, close_in_child, generation};
use crate::memory::os::files;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChannelEnd {
    Receiver,
    Sender,
}

impl ChannelEnd {
    pub(super) fn lock_byte(self, index: usize) -> usize {
        match self {
            Self::Receiver => index,
            Self::Sender => 32 + index,
        }
    }
}

/// A member. It leaves when this is dropped: by the sender or receiver, or by the last of its loans
/// or views.
pub(super) struct Membership {
    pub(super) control: Arc<ControlMap>,
    /// The bytes of the slots, writable for a sender.
    pub(super) data: Handle,
    end: ChannelEnd,
    pub(super) index: usize,
    /// The open file description that has the lock of this member. Only this value closes it,
    /// unless this process is a forked child, where `close_inherited` did.
    file: ManuallyDrop<OwnedFd>,
    /// The process, by its number of forks.
    generation: u64,
    /// Held by the thread that cleans up. All threads of this process that have this member also
    /// have its locks, so that these do not keep them apart.
    cleaning: Mutex<()>,
}

impl Membership {
    pub(super) fn join(control: &Arc<ControlMap>, end: ChannelEnd) -> Result<Arc<Self>> {
        let data = control.map_data(end == ChannelEnd::Sender)?;
        let file = files::reopen(control.fd()?, true).map_err(|error| {
            let text = format!("the channel's memory could not be reopened: {}", system_text(&error));
            Error::caused(Kind::Io, text, error)
        })?;
        // Held so that no fork copies the lock without the list that closes it in the child.
        let mut in_children = in_children();
        let mut index = 0;
        while !try_lock(&file, end.lock_byte(index))? {
            index += 1;
            if index == MOST_MEMBERS {
                let who = if end == ChannelEnd::Sender { "senders" } else { "receivers" };
                let text = format!("the channel has {MOST_MEMBERS} {who} already, the most there can be");
                return Err(Error::new(Kind::Exhausted, text));
            }
        }
        in_children.push(file.as_raw_fd());
        drop(in_children);
        // A dead member may have left something at this number.
        clean(control, end, index);
        let member = Arc::new(Self {
            control: Arc::clone(control),
            data,
            end,
            index,
            file: ManuallyDrop::new(file),
            generation: generation(),
            cleaning: Mutex::new(()),
        });
        member.set().fetch_or(1 << index, Ordering::SeqCst);
        Ok(member)
    }

    fn set(&self) -> &AtomicU64 {
        set(&self.control, self.end)
    }

    /// Whether this process is the one that joined, and not a child of it.
    pub(super) fn is_here(&self) -> bool {
        generation() == self.generation
    }

    pub(super) fn check_here(&self) -> Result<()> {
        if self.is_here() {
            return Ok(());
        }
        let text = "this end of the channel belongs to the process that forked this one; attach again";
        Err(Error::new(Kind::Conflict, text))
    }

    /// No message is sent to this receiver any more. It keeps the views that it has.
    pub(super) fn stop(&self) {
        if !self.is_here() {
            return;
        }
        self.set().fetch_and(!(1 << self.index), Ordering::SeqCst);
        if sweep(&self.control) {
            self.control.freed().ring_sleepers();
        }
    }

    /// Removes what dead members left, and returns whether there was any. Costs a system call for
    /// each other member.
    #[cold]
    pub(super) fn reap(&self) -> bool {
        let Ok(_cleaning) = self.cleaning.try_lock() else { return false };
        let control = &self.control;
        let mut traces = [set(control, ChannelEnd::Receiver), set(control, ChannelEnd::Sender)]
            .map(|set| set.load(Ordering::Acquire));
        for index in 0..control.geometry().slots() {
            let state = slot::load(control.slot(index));
            traces[0] |= state.held();
            traces[1] |= state.owner().map_or(0, |owner| 1u64.checked_shl(owner as u32).unwrap_or(0));
        }
        traces[0] |= u64::from(control.sent().sleepers.load(Ordering::Relaxed));
        traces[1] |= u64::from(control.freed().sleepers.load(Ordering::Relaxed));
        let mut found = false;
        for (end, traces) in [ChannelEnd::Receiver, ChannelEnd::Sender].into_iter().zip(traces) {
            for index in (0..MOST_MEMBERS).filter(|index| traces & 1 << index != 0) {
                let byte = end.lock_byte(index);
                if (end, index) != (self.end, self.index) && matches!(try_lock(&self.file, byte), Ok(true)) {
                    clean(control, end, index);
                    files::unlock_byte(self.file.as_fd(), byte);
                    found = true;
                }
            }
        }
        // A sender may have died, or missed that a receiver left, with a message for that one.
        let swept = sweep(control);
        if found || swept {
            control.sent().ring();
            control.freed().ring_sleepers();
        }
        found || swept
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        clean(&self.control, self.end, self.index);
        let mut in_children = in_children();
        in_children.retain(|&other| other != self.file.as_raw_fd());
        // SAFETY: the field is not used after this, the drop of its owner. The process is the one
        // that joined, so the handler has not closed it.
        unsafe { ManuallyDrop::drop(&mut self.file) };
        drop(in_children);
        self.control.freed().ring_sleepers();
    }
}

fn set(control: &ControlMap, end: ChannelEnd) -> &AtomicU64 {
    match end {
        ChannelEnd::Receiver => control.receivers(),
        ChannelEnd::Sender => control.senders(),
    }
}

/// Removes every trace of a member whose lock the caller has.
fn clean(control: &ControlMap, end: ChannelEnd, index: usize) {
    set(control, end).fetch_and(!(1 << index), Ordering::SeqCst);
    match end {
        ChannelEnd::Receiver => {
            control.sent().leave(index);
            for slot in 0..control.geometry().slots() {
                slot::remove_receiver(control.slot(slot), index);
            }
        }
        ChannelEnd::Sender => {
            control.freed().leave(index);
            for slot in 0..control.geometry().slots() {
                if slot::load(control.slot(slot)).owner() == Some(index as u64) {
                    control.number(slot).store(NO_MESSAGE, Ordering::Relaxed);
                }
                slot::remove_sender(control.slot(slot), index);
            }
            dtypes::remove_sender(control, index);
        }
    }
}

/// Messages no longer wait for receivers that are gone. Returns whether a slot became free.
///
/// A sender reads the set of receivers before it sends, so it may send to one that leaves at the
/// same time. Then both look again: the sender at the set after it sent, the receiver at the slots
/// after it left the set, all by sequentially consistent accesses. So one of them sees the other,
/// and a third member does if the sender dies in between.
///
/// The slot is read before the set: a receiver that the slot names was in the set before the slot
/// named it. If it is not in the set that is read later, it has left.
pub(super) fn sweep(control: &ControlMap) -> bool {
    let mut freed = false;
    for index in 0..control.geometry().slots() {
        freed |= sweep_slot(control, index);
    }
    freed
}

pub(super) fn sweep_slot(control: &ControlMap, index: usize) -> bool {
    let state = slot::load(control.slot(index));
    if state.wanted() & !slot::ANY == 0 {
        return false;
    }
    let gone = state.wanted() & !slot::ANY & !control.receivers().load(Ordering::SeqCst);
    slot::refuse(control.slot(index), state, gone)
}

// ===== locks

/// Tries to lock a byte for a description. `false` if another description has it.
fn try_lock(file: &OwnedFd, byte: usize) -> Result<bool> {
    files::try_lock_byte(file.as_fd(), byte).map_err(|error| {
        let text = format!("byte {byte} of the channel could not be locked: {}", system_text(&error));
        Error::caused(Kind::Io, text, error)
    })
}

// ===== forks

/// The descriptors that a forked child closes, so that it does not keep its parent's locks.
static IN_CHILDREN: ForkLock<Vec<RawFd>> = ForkLock::new(Vec::new());

fn in_children() -> MutexGuard<'static, Vec<RawFd>> {
    close_in_child(close_inherited);
    IN_CHILDREN.lock()
}

/// Runs in a forked child.
fn close_inherited() {
    let mut inherited = IN_CHILDREN.lock();
    for &fd in inherited.iter() {
        // SAFETY: clause 1 of `close`: the list has descriptors that members of this channel own
        // and have not closed. In this child those members, which know that they are inherited,
        // never use or close them again.
        unsafe { files::close(fd) };
    }
    inherited.clear();
}
