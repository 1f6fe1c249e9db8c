//! A tap: what flows over a channel, seen from outside.
//!
//! A tap maps the memory for reading only. It is no member: it takes no slot, holds no message back
//! and writes nothing, so that no sender or receiver can find out that it is there. The price is
//! that it may miss messages. It sees a message as long as no sender has taken its slot again, also
//! after the last receiver has released it.
//!
//! It reads a slot as a reader of a sequence lock: the word, everything else, and the word again.
//! If the tag is the same and the slot was not on loan, it belongs together (slot.rs, invariant 1).
//! An acquire fence follows the first read of the word, and another one precedes the second. A
//! sender has a release fence between taking the slot and its first write (`slot::take`): a tap
//! that read any of what it wrote finds the slot on loan, or with another tag. The elements
//! themselves are accessed as `memory::racy` does, so a mixture of old and new ones is discarded.

use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::Result;
use crate::exchange::protocol::channel::control::ControlMap;
use crate::exchange::protocol::channel::dtypes::DTypes;
use crate::exchange::protocol::channel::message::{Message, NO_MESSAGE};
use crate::exchange::protocol::channel::options::Delivery;
use crate::exchange::protocol::channel::slot::{self, MOST_MEMBERS, SlotState};
use crate::layout::{Layout, Order};

/// An observer of a channel.
pub struct Tap {
    control: ControlMap,
    /// The bytes of the slots, read-only.
    data: Buffer,
    dtypes: DTypes,
    /// The first message that counts.
    first: u64,
    /// The head at the last look.
    head: u64,
    /// The last message that was seen in each slot.
    seen: Vec<u64>,
}

/// A message that a tap saw.
#[derive(Debug)]
pub struct TappedMessage {
    /// The number of the message in the channel, from 0 on.
    pub number: u64,
    /// The number of its sender.
    pub sender: usize,
    /// The dtype of the array.
    pub dtype: DType,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The bytes of the array.
    pub nbytes: usize,
    /// The receivers for which the message waits. One for "whichever is first".
    pub waits: usize,
    /// The receivers that have a view of it.
    pub views: usize,
    /// A copy of the elements, if it was requested.
    pub values: Option<DArray>,
}

/// The state of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// The number of messages sent so far.
    pub sent: u64,
    /// The messages that were dropped because no slot was free, or no receiver attached. Messages
    /// that a newer value replaced do not count.
    pub dropped: u64,
    /// Whether the channel is closed.
    pub is_closed: bool,
    /// How many slots are free, on loan, waiting for receivers, and viewed by receivers.
    pub slots: [usize; 4],
    /// How many messages wait for each receiver, by its number, with [`Delivery::Each`].
    pub waiting: [usize; MOST_MEMBERS],
    /// How many messages each receiver has views of.
    pub viewed: [usize; MOST_MEMBERS],
}

impl Tap {
    pub(super) fn open(fd: OwnedFd) -> Result<Self> {
        let control = ControlMap::open_readonly(fd)?;
        let data = Buffer::whole(control.map_data(false)?).into_readonly();
        let head = control.head().load(Ordering::Relaxed);
        // The newest value is there for everyone who comes later.
        let newest = u64::from(control.geometry().delivery == Delivery::Latest);
        let first = head.saturating_sub(newest);
        let seen = vec![NO_MESSAGE; control.geometry().slots()];
        Ok(Self { control, data, dtypes: DTypes::default(), first, head: first, seen })
    }

    /// The messages that came since the last look and still have their slots, in order. With
    /// `values`, the elements are copied, which counts as
    /// [copied bytes](crate::memory::copied_bytes). Costs one load if nothing came.
    ///
    /// Messages that are none, which only a broken process sends, are left out.
    pub fn look(&mut self, values: bool) -> Vec<TappedMessage> {
        let head = self.control.head().load(Ordering::Relaxed);
        if head == self.head {
            return Vec::new();
        }
        fence(Ordering::Acquire);
        // A sender may have a number and not have sent the message yet: it is looked for again.
        let is_loaned = |slot| slot::glance(self.control.slot(slot)).owner().is_some();
        let is_settled = !(0..self.seen.len()).any(is_loaned);
        fence(Ordering::Acquire);
        let mut found: Vec<TappedMessage> =
            (0..self.seen.len()).filter_map(|slot| self.glance(slot, values).ok().flatten()).collect();
        found.sort_by_key(|message| message.number);
        if is_settled {
            self.head = head;
        }
        found
    }

    /// The message of a slot, if it is new.
    fn glance(&mut self, slot: usize, values: bool) -> Result<Option<TappedMessage>> {
        let control = &self.control;
        let state = slot::glance(control.slot(slot));
        fence(Ordering::Acquire);
        let number = control.number(slot).load(Ordering::Relaxed);
        let is_new = number >= self.first && number != NO_MESSAGE && number != self.seen[slot];
        if state.is_unused() || state.owner().is_some() || !is_new {
            return Ok(None);
        }
        let message = Message::read(control, slot);
        let dtype = self.dtypes.dtype(control, message.dtype)?;
        let mut layout = Layout::contiguous(&[], dtype.itemsize(), Order::RowMajor)?;
        message.read_layout(control, slot, dtype.itemsize(), &mut layout)?;
        let begin = control.geometry().data(slot);
        let bytes = self.data.slice(begin..begin + control.geometry().slot_nbytes())?;
        let offset = usize::try_from(message.offset).unwrap_or(usize::MAX);
        // Checks that the layout lies in the slot.
        let array = DArray::from_buffer(bytes, dtype, layout, offset)?;
        let values = values.then(|| array.to_order(Order::RowMajor)).transpose()?;
        fence(Ordering::Acquire);
        if !slot::glance(control.slot(slot)).has_elements_of(state) {
            return Ok(None);
        }
        self.seen[slot] = number;
        let (shape, nbytes) = (array.shape().to_vec(), array.nbytes());
        let [waits, views] = receivers(state).map(|receivers| receivers.count_ones() as usize);
        let (sender, dtype) = (message.sender, array.dtype().clone());
        Ok(Some(TappedMessage { number, sender, dtype, shape, nbytes, waits, views, values }))
    }

    /// The first message that this tap could see.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The state of the channel now. Its parts are read one after the other.
    pub fn state(&self) -> ChannelState {
        let control = &self.control;
        let mut state = ChannelState {
            sent: control.head().load(Ordering::Relaxed),
            dropped: control.dropped().load(Ordering::Relaxed),
            is_closed: control.closed().load(Ordering::Relaxed) != 0,
            slots: [0; 4],
            waiting: [0; MOST_MEMBERS],
            viewed: [0; MOST_MEMBERS],
        };
        for slot in 0..control.geometry().slots() {
            let word = slot::glance(control.slot(slot));
            let [waits, views] = receivers(word);
            let kind = match () {
                () if word.is_free() => 0,
                () if views != 0 => 3,
                () if waits != 0 => 2,
                () => 1,
            };
            state.slots[kind] += 1;
            for number in 0..MOST_MEMBERS {
                state.waiting[number] += usize::from(waits & 1 << number != 0);
                state.viewed[number] += usize::from(views & 1 << number != 0);
            }
        }
        state
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.control.geometry().slots()
    }

    /// The most bytes of a message.
    pub fn slot_nbytes(&self) -> usize {
        self.control.geometry().slot_nbytes()
    }

    /// Which receivers get a message.
    pub fn delivery(&self) -> Delivery {
        self.control.geometry().delivery
    }
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tap({} slots from message {} on)", self.slots(), self.first)
    }
}

/// The receivers for which a slot's message waits, and those that view it.
fn receivers(state: SlotState) -> [u64; 2] {
    [state.wanted(), state.held()]
}
