//! The end of a channel that receives, and the views of its messages.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::array::{ArrayBuilder, DArray};
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::channel::ahead;
use crate::exchange::protocol::channel::bell::LONGEST_SLEEP;
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::dtypes::DTypes;
use crate::exchange::protocol::channel::member::{ChannelEnd, Membership};
use crate::exchange::protocol::channel::message::Message;
use crate::exchange::protocol::channel::options::Delivery;
use crate::exchange::protocol::channel::sender::region;
use crate::exchange::protocol::channel::slot::{self, SlotState};
use crate::memory::Birth;
use crate::memory::owner::{Keep, adopt};

/// Polls before a receiver sleeps: about as long as it takes to fall asleep.
const POLLS: usize = 100;

/// A receiver that polls looks at all slots after this many polls without a ring: a sender may have
/// died between sending and ringing.
const POLLS_BEFORE_LOOK: u32 = 1 << 12;

/// The most attempts to claim a message in a call: each that fails is another receiver's success.
const ATTEMPTS: usize = 1 << 10;

/// The end of a [`Channel`](super::Channel) that receives.
pub struct Receiver {
    member: Arc<Membership>,
    dtypes: DTypes,
    /// The bell's count when no message was there.
    seen: Option<u32>,
    polls: u32,
    /// The slot where the next message is likely, and its number if no message is missed.
    next: usize,
    expected: u64,
    /// Whether no message with a number before `expected` can still come.
    is_settled: bool,
    missed: Option<u64>,
}

/// A message that waits for this receiver.
struct WaitingMessage {
    slot: usize,
    state: SlotState,
    number: u64,
    /// Whether no earlier message can still come.
    is_settled: bool,
}

/// # Invariants
///
/// 1. This value alone stands for this receiver's claim `claimed` of `slot`.
struct ViewOwner {
    member: Arc<Membership>,
    slot: usize,
    claimed: SlotState,
}

impl Keep for ViewOwner {
    unsafe fn free(self) {
        let control = &self.member.control;
        if self.member.is_here() && slot::release(control.slot(self.slot), self.claimed, self.member.index) {
            control.freed().ring_sleepers();
        }
    }

    fn is_own(&self) -> bool {
        true
    }
}

impl Receiver {
    pub(super) fn attach(control: &Arc<ControlMap>) -> Result<Self> {
        let member = Membership::join(control, ChannelEnd::Receiver)?;
        let (expected, missed) = match control.geometry().delivery {
            Delivery::Each => (control.head().load(Ordering::Acquire), Some(0)),
            Delivery::One | Delivery::Latest => (0, None),
        };
        let dtypes = DTypes::default();
        Ok(Self { member, dtypes, seen: None, polls: 0, next: 0, expected, is_settled: false, missed })
    }

    /// The next message, if there is one. Never waits, makes no system call, and costs one load if
    /// nothing was sent since the last call: call it in a loop to poll.
    ///
    /// The array is a read-only view of the slot. Its slot is free again when the last handle and
    /// lease of it is dropped, on any thread. Since another process can write the memory, it is
    /// aliased: Pin leases can be taken of it.
    ///
    /// # Errors
    ///
    /// `is_closed` if the channel is closed and has no more messages; if another process wrote a
    /// message that is none, what is wrong with it (`is_malformed`, `is_bounds`, `is_overflow`,
    /// …): the message is then dropped. `is_conflict` in a forked child, once there may be a
    /// message.
    #[inline]
    pub fn try_receive(&mut self) -> Result<Option<DArray>> {
        let count = self.member.control.sent().count();
        if self.seen == Some(count) && self.polls < POLLS_BEFORE_LOOK {
            self.polls += 1;
            return Ok(None);
        }
        let mut place = MaybeUninit::uninit();
        if self.look(count, &mut place)?.is_none() {
            return Ok(None);
        }
        // Its ring is no news: without this, the next poll would read the words of all slots, which
        // senders are about to change. Each message rings once, after it was sent. So if another
        // one is mistaken for this one, then this one's ring is still to come.
        self.seen = self.seen.map(|seen| seen.wrapping_add(1));
        // SAFETY: `look` returned the array in `place`, and that borrow has ended.
        Ok(Some(unsafe { place.assume_init() }))
    }

    /// The next message. Sleeps until it is sent, or until `timeout` has passed: then the result is
    /// `None`. Without a timeout, it waits as long as it takes.
    ///
    /// # Errors
    ///
    /// As [`Receiver::try_receive`].
    pub fn receive(&mut self, timeout: Option<Duration>) -> Result<Option<DArray>> {
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return self.try_receive();
        }
        for _ in 0..POLLS {
            if let Some(array) = self.try_receive()? {
                return Ok(Some(array));
            }
            std::hint::spin_loop();
        }
        self.receive_later(timeout)
    }

    /// How many messages were dropped before this receiver received them, because it was too slow.
    /// A message that a sender was killed while sending counts, too. 0 for [`Delivery::One`]. A
    /// lower bound if there are several senders.
    pub fn missed(&self) -> u64 {
        self.missed.unwrap_or(0)
    }

    /// Removes what members left that are gone. Receivers that sleep and senders that wait do this
    /// by themselves.
    #[doc(hidden)]
    pub fn reap(&self) {
        self.member.reap();
    }

    /// Waits until [`Receiver::try_receive`] may find a message or the end of the channel, and
    /// takes nothing. Says whether it may; not after `timeout`.
    #[doc(hidden)]
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let found = self.sleep_until(timeout, |this, _| {
            this.member.check_here()?;
            let is_closed = this.member.control.closed().load(Ordering::Acquire) != 0;
            Ok((is_closed || this.search().is_some()).then_some(()))
        })?;
        if found.is_some() {
            // The next call looks, even if the ring of the message is still to come.
            self.seen = None;
        }
        Ok(found.is_some())
    }

    #[cold]
    fn receive_later(&mut self, timeout: Option<Duration>) -> Result<Option<DArray>> {
        self.sleep_until(timeout, |this, seen| {
            let mut place = MaybeUninit::uninit();
            match this.look(seen, &mut place)?.is_some() {
                // SAFETY: `look` returned the array in `place`, and that borrow has ended.
                true => Ok(Some(unsafe { place.assume_init() })),
                false => Ok(None),
            }
        })
    }

    /// Repeats `attempt`, which gets the bell's count before it, after each ring until it finds
    /// something.
    fn sleep_until<T>(
        &mut self,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Self, u32) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let start = Instant::now();
        loop {
            let member = Arc::clone(&self.member);
            let bell = member.control.sent();
            let seen = bell.enter(member.index);
            let found = attempt(self, seen);
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            let is_over = left.is_some_and(|left| left.is_zero());
            if matches!(found, Ok(None)) && !is_over {
                bell.sleep(seen, left.unwrap_or(Duration::MAX));
            }
            bell.leave(member.index);
            match found? {
                Some(found) => return Ok(Some(found)),
                None if is_over => return Ok(None),
                // Nothing for a while: a sender may be gone.
                None if bell.count() == seen && left.is_none_or(|left| left > LONGEST_SLEEP) => {
                    member.reap();
                }
                None => {}
            }
        }
    }

    /// Looks at the slots, and makes the array of a message in its place. The bell's count was read
    /// before.
    fn look<'a>(&mut self, count: u32, place: &'a mut MaybeUninit<DArray>) -> Result<Option<&'a mut DArray>> {
        self.member.check_here()?;
        ahead::receive(&self.member.control, &self.member.data, self.next);
        for _ in 0..ATTEMPTS {
            let control = &*self.member.control;
            let Some(found) = self.likely().or_else(|| self.search()) else {
                if control.closed().load(Ordering::Acquire) == 0 {
                    self.seen = Some(count);
                    self.polls = 0;
                    return Ok(None);
                }
                // Everything that was sent before the channel was closed is visible now.
                if self.search().is_none() {
                    return Err(Error::new(Kind::Closed, "the channel is closed, and has no more messages"));
                }
                continue;
            };
            let (word, keep) = (control.slot(found.slot), control.geometry().delivery == Delivery::Latest);
            if let Ok(claimed) = slot::claim(word, found.state, self.member.index, self.bit(), keep) {
                return self.view(&found, claimed, place).map(Some);
            }
        }
        Ok(None)
    }

    /// What a message for this receiver has in `wanted`.
    fn bit(&self) -> u64 {
        match self.member.control.geometry().delivery {
            Delivery::Each => 1 << self.member.index,
            Delivery::One | Delivery::Latest => slot::ANY,
        }
    }

    /// The next message, if it is where a lone sender puts it, and no other can come before it.
    #[inline]
    fn likely(&self) -> Option<WaitingMessage> {
        let (control, slot) = (&self.member.control, self.next);
        let state = slot::load(control.slot(slot));
        let number = control.number(slot).load(Ordering::Relaxed);
        let is_it = self.is_settled && state.wanted() & self.bit() != 0 && number == self.expected;
        is_it.then_some(WaitingMessage { slot, state, number, is_settled: true })
    }

    /// The oldest message for this receiver or, if only the latest counts, the newest that it has
    /// not seen. The number of a message is read after the word, and belongs to it as long as the
    /// word is the same (slot.rs, invariant 1).
    ///
    /// Messages of one sender keep their order: a message is ignored whose number was assigned
    /// after the search began. The assignment of an earlier number is an acquisition of what the
    /// sender did before, so the search sees all earlier messages of that sender.
    ///
    /// A sender that has been assigned a number and has not sent the message yet has its slot on
    /// loan. So if the search sees no loan, all numbers before that of the oldest message are
    /// settled.
    fn search(&self) -> Option<WaitingMessage> {
        let control = &self.member.control;
        let (bit, latest) = (self.bit(), control.geometry().delivery == Delivery::Latest);
        let end = if latest { u64::MAX } else { control.head().load(Ordering::Acquire) };
        let mut best: Option<WaitingMessage> = None;
        let mut is_settled = !latest;
        for slot in 0..control.geometry().slots() {
            let state = slot::load(control.slot(slot));
            is_settled &= state.owner().is_none();
            if state.wanted() & bit == 0 {
                continue;
            }
            let number = control.number(slot).load(Ordering::Relaxed);
            let is_better = match &best {
                _ if number >= end || latest && number < self.expected => false,
                None => true,
                Some(best) => (number < best.number) != latest,
            };
            if is_better {
                best = Some(WaitingMessage { slot, state, number, is_settled: false });
            }
        }
        best.map(|best| WaitingMessage { is_settled, ..best })
    }

    /// The array of a message that was claimed. Everything that other processes wrote is checked
    /// here, and an error releases the slot.
    fn view<'a>(
        &mut self,
        found: &WaitingMessage,
        claimed: SlotState,
        place: &'a mut MaybeUninit<DArray>,
    ) -> Result<&'a mut DArray> {
        let control = &self.member.control;
        let geometry = control.geometry();
        let WaitingMessage { slot, number, is_settled, .. } = *found;
        self.missed = match (self.missed, geometry.delivery) {
            (_, Delivery::One) => None,
            (None, _) => Some(0),
            // Another sender was faster: this one was counted.
            (Some(missed), _) if number < self.expected => Some(missed.saturating_sub(1)),
            (Some(missed), _) => Some(missed.saturating_add(number - self.expected)),
        };
        self.expected = self.expected.max(number.saturating_add(1));
        self.is_settled = is_settled;
        self.next = geometry.after(slot);
        let owner = ViewOwner { member: Arc::clone(&self.member), slot, claimed };
        let region = region(&self.member, slot, geometry.slot_nbytes());
        // SAFETY: clause 1 of `adopt`: the region lies in a slot of the map `member.data`, which
        // `owner` keeps; shared memory is initialised, and the buffer below, made of the first
        // handle, is read-only. Clause 2: the map is not moved or unmapped while `owner` lives.
        // Clause 3: `Aliased`, since other processes can write it.
        let handle = unsafe { adopt(region, Birth::Aliased, owner) }?;
        let buffer = Buffer::whole(handle).into_readonly();
        let message = Message::read(control, slot);
        let dtype = self.dtypes.dtype(control, message.dtype)?;
        let mut array = ArrayBuilder::new(place);
        message.read_layout(control, slot, dtype.itemsize(), array.layout())?;
        let offset = usize::try_from(message.offset).unwrap_or(usize::MAX);
        array.finish_on(buffer, dtype, offset)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.member.stop();
    }
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receiver({}, {} missed)", self.member.index, self.missed())
    }
}
