//! Where everything lies in a channel's memory. Version 1.
//!
//! | bytes | contents |
//! |---|---|
//! | 0.. | magic, version, and what the options say; written once, before any other process has it |
//! | [`HEAD`] | the number of the next message |
//! | [`SENT`] | the bell for receivers: a count, and the receivers that sleep |
//! | [`FREED`] | the bell for senders |
//! | [`MEMBERS`] | the receivers that get messages, the senders, whether the channel is closed, and the dropped messages |
//! | [`SLOTS`].. | a record for each slot: its word, the message, shape and strides |
//! | behind them | [`MOST_TYPES`] dtypes as text |
//! | a page boundary | the bytes of the slots |
//!
//! Each part that different threads write has two cache lines of its own, since adjacent-line
//! prefetch loads lines in pairs. All fields are 64-bit atomics, but the bells, which are 32-bit
//! ones because a futex is.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::channel::options::{ChannelOptions, Delivery, MOST_SLOTS};
use crate::layout::MAX_RANK;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"XDOCKCHN");
pub(super) const VERSION: u64 = 1;

/// The words at the beginning: magic, version, slots, bytes of a slot, delivery, drops oldest.
pub(super) const HEADER_WORDS: usize = 6;

pub(super) const HEAD: usize = 128;
pub(super) const SENT: usize = 256;
pub(super) const FREED: usize = 384;
pub(super) const MEMBERS: usize = 512;
const SLOTS: usize = 1024;

/// The words of a slot's record: the word, the number of the message, dtype and rank, the offset of
/// element 0 in the slot, and then shape and strides in turn.
pub(super) const SLOT_HEAD_WORDS: usize = 4;
const SLOT_RECORD: usize = (8 * (SLOT_HEAD_WORDS + 2 * MAX_RANK)).next_multiple_of(128);

/// The most dtypes that the messages of a channel can have.
pub(super) const MOST_TYPES: usize = 64;
/// The bytes of a dtype's entry: two words and the text.
const TYPE_ENTRY: usize = 4096;
pub(super) const MOST_TYPE_NBYTES: usize = TYPE_ENTRY - 16;

const PAGE: usize = 4096;

/// The sizes of a channel. Its numbers come from the memory's header, and are checked and copied
/// once, so that no later write of another process changes them.
///
/// # Invariants
///
/// 1. `slots` is 1 to [`MOST_SLOTS`], and all sums and products below are within `isize`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    slots: usize,
    slot_nbytes: usize,
    pub(super) delivery: Delivery,
    pub(super) drops_oldest: bool,
}

impl Geometry {
    pub(super) fn new(options: &ChannelOptions) -> Result<Self> {
        options.check()?;
        let ChannelOptions { slots, slot_nbytes, delivery, drops_oldest, .. } = *options;
        let geometry = Self { slots, slot_nbytes, delivery, drops_oldest };
        let nbytes = slot_nbytes.checked_add(PAGE).and_then(|slot| slot.checked_mul(slots));
        let nbytes = nbytes.and_then(|data| data.checked_add(geometry.control_nbytes()));
        if nbytes.is_none_or(|nbytes| isize::try_from(nbytes).is_err()) {
            let text = format!("{slots} slots of {slot_nbytes} bytes exceed the address space");
            return Err(Error::new(Kind::Overflow, text));
        }
        Ok(geometry)
    }

    pub(super) fn to_header(self) -> [u64; HEADER_WORDS] {
        let delivery = match self.delivery {
            Delivery::Each => 0,
            Delivery::One => 1,
            Delivery::Latest => 2,
        };
        let (slots, slot_nbytes) = (self.slots as u64, self.slot_nbytes as u64);
        [MAGIC, VERSION, slots, slot_nbytes, delivery, u64::from(self.drops_oldest)]
    }

    /// Checks the header of memory that has `nbytes` bytes.
    pub(super) fn from_header(header: [u64; HEADER_WORDS], nbytes: u64) -> Result<Self> {
        let [magic, version, slots, slot_nbytes, delivery, drops_oldest] = header;
        let malformed = |text: String| Err(Error::new(Kind::Malformed, text));
        if magic != MAGIC {
            return malformed(format!("the memory begins with {magic:#018x}, so it is not a channel"));
        }
        if version != VERSION {
            let text = format!("the channel has version {version}; this library knows version {VERSION}");
            return Err(Error::new(Kind::Unsupported, text));
        }
        let delivery = match delivery {
            0 => Delivery::Each,
            1 => Delivery::One,
            2 => Delivery::Latest,
            _ => return malformed(format!("the channel has delivery {delivery}, which does not exist")),
        };
        let (Ok(slots), Ok(slot_nbytes)) = (usize::try_from(slots), usize::try_from(slot_nbytes)) else {
            return malformed(format!("the channel claims {slots} slots of {slot_nbytes} bytes"));
        };
        let options =
            ChannelOptions::new(slots, slot_nbytes).delivery(delivery).drops_oldest(drops_oldest & 1 != 0);
        let geometry = Self::new(&options)?;
        if nbytes < geometry.nbytes() as u64 {
            return malformed(format!(
                "the channel's {slots} slots of {slot_nbytes} bytes need {} bytes, but the memory has {nbytes}",
                geometry.nbytes()
            ));
        }
        Ok(geometry)
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn slot_nbytes(&self) -> usize {
        self.slot_nbytes
    }

    /// The slot after another one.
    pub(super) fn after(&self, index: usize) -> usize {
        if index + 1 < self.slots { index + 1 } else { 0 }
    }

    /// Where the record of a slot begins, which must exist.
    pub(super) fn slot(&self, index: usize) -> usize {
        assert!(index < self.slots, "slot {index} of {}", self.slots);
        SLOTS + index * SLOT_RECORD
    }

    /// Where the entry of a dtype begins, which must exist.
    pub(super) fn dtype(&self, index: usize) -> usize {
        assert!(index < MOST_TYPES, "dtype {index} of {MOST_TYPES}");
        SLOTS + self.slots * SLOT_RECORD + index * TYPE_ENTRY
    }

    /// The bytes before those of the slots: whole pages.
    pub(super) fn control_nbytes(&self) -> usize {
        (SLOTS + self.slots * SLOT_RECORD + MOST_TYPES * TYPE_ENTRY).next_multiple_of(PAGE)
    }

    /// From one slot's bytes to the next's. Slots of a page or more begin at a page.
    fn slot_stride(&self) -> usize {
        self.slot_nbytes.max(1).next_multiple_of(if self.slot_nbytes < PAGE { 128 } else { PAGE })
    }

    pub(super) fn data_nbytes(&self) -> usize {
        self.slots * self.slot_stride()
    }

    /// Where a slot's bytes begin behind the control part.
    pub(super) fn data(&self, index: usize) -> usize {
        assert!(index < self.slots, "slot {index} of {}", self.slots);
        index * self.slot_stride()
    }

    pub(super) fn nbytes(&self) -> usize {
        self.control_nbytes() + self.data_nbytes()
    }
}

const _: () = assert!(MOST_SLOTS * SLOT_RECORD + MOST_TYPES * TYPE_ENTRY < 1 << 24, "Geometry 1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_the_options_said() {
        for delivery in [Delivery::Each, Delivery::One, Delivery::Latest] {
            let options = ChannelOptions::new(3, 5000).delivery(delivery).drops_oldest(true);
            let geometry = Geometry::new(&options).unwrap();
            let again = Geometry::from_header(geometry.to_header(), geometry.nbytes() as u64).unwrap();
            assert_eq!((again.slots(), again.slot_nbytes(), again.delivery), (3, 5000, delivery));
            assert!(again.drops_oldest && again.nbytes() == geometry.nbytes());
        }
    }

    #[test]
    fn headers_that_lie_are_refused() {
        let geometry = Geometry::new(&ChannelOptions::new(3, 100)).unwrap();
        let (header, nbytes) = (geometry.to_header(), geometry.nbytes() as u64);
        assert!(Geometry::from_header(header, nbytes - 1).unwrap_err().is_malformed());
        for (at, value) in
            [(0, 0), (1, 2), (2, 0), (2, 1025), (2, u64::MAX), (3, u64::MAX), (3, 1 << 62), (4, 3)]
        {
            let mut header = header;
            header[at] = value;
            assert!(Geometry::from_header(header, nbytes).is_err(), "word {at} is {value}");
        }
        assert!(Geometry::new(&ChannelOptions::new(0, 1)).is_err());
    }

    #[test]
    fn parts_are_disjoint_and_aligned() {
        for (slots, slot_nbytes) in [(1, 0), (7, 1), (1024, 127), (3, 4096), (2, 4097)] {
            let geometry = Geometry::new(&ChannelOptions::new(slots, slot_nbytes)).unwrap();
            assert!(MEMBERS + 64 <= geometry.slot(0));
            assert_eq!(geometry.slot(slots - 1) + SLOT_RECORD, geometry.dtype(0));
            assert!(geometry.dtype(MOST_TYPES - 1) + TYPE_ENTRY <= geometry.control_nbytes());
            assert!(geometry.data(slots - 1) + slot_nbytes <= geometry.data_nbytes());
            assert!(
                geometry.data(slots - 1).is_multiple_of(128)
                    && geometry.control_nbytes().is_multiple_of(PAGE)
            );
        }
    }
}
