//! The word of a slot, which alone decides who may touch the slot's bytes and its message.
//!
//! ```text
//!            take (sender)          publish (sender)         claim (receiver)
//!   Free ───────────────> Loaned ─────────────────> Sent ────────────────────┐
//!    ^  <───────────────────┘ give back              │ ^                     │
//!    │                                               │ └─────────────────────┘
//!    └───────────────────────────────────────────────┘ the last release or refusal
//! ```
//!
//! A word in state Sent has two sets of receivers: those that *want* the message (it waits for
//! them), and those that *hold* it (they have a view). When both are empty, the same step makes the
//! slot free.
//!
//! Reasons: `DESIGN.md`, "A slot's word names its receivers".
//!
//! # Invariants
//!
//! As long as all processes follow the protocol:
//!
//! 1. Each state that a loan begins has another tag than the previous one of the slot, modulo 2²¹.
//!    So a step that compares the whole word acts on the message that it saw.
//! 2. Only the sender that the word names touches a Loaned slot's bytes and message. Only receivers
//!    in `held` read a Sent slot's.
//! 3. All accesses to the word are sequentially consistent, which `bell.rs` and `member.rs` need,
//!    and which costs no more than acquisition and release where processes run today. Every step
//!    that ends an access (publish, release, give back) is a release, and every step
//!    that begins one (take, claim, evict) an acquisition. Between an end and a later beginning
//!    there are only read-modify-writes of this word, which continue the release sequence. So all
//!    accesses of an earlier holder happen before those of a later one, whichever processes they
//!    are in.
//!
//! A process that breaks the protocol can write any word. So every loop here ends after
//! [`ATTEMPTS`] rounds, and nothing that a word says is used as an index or an address.

use crate::memory::sync::{AtomicU64, Ordering, fence};

/// The most receivers and the most senders that a channel can have at a time.
pub(crate) const MOST_MEMBERS: usize = 20;

/// The bit of `wanted` for "one receiver, whichever comes first".
pub(crate) const ANY: u64 = 1 << MOST_MEMBERS;

/// Longer than any honest contention lasts: each failed round is a step of another thread, which
/// has a bounded number of them for each message.
const ATTEMPTS: usize = 1 << 12;

const KIND_BITS: u32 = 2;
const TAG_BITS: u32 = 21;
const WANTED_BITS: u32 = MOST_MEMBERS as u32 + 1;
const HELD_BITS: u32 = MOST_MEMBERS as u32;
const TAG_AT: u32 = KIND_BITS;
const WANTED_AT: u32 = TAG_AT + TAG_BITS;
const HELD_AT: u32 = WANTED_AT + WANTED_BITS;
const _: () = assert!(HELD_AT + HELD_BITS == 64);

const FREE: u64 = 0;
const LOANED: u64 = 1;
const SENT: u64 = 2;

/// A value of a slot's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotState(u64);

impl SlotState {
    fn new(kind: u64, tag: u64, wanted: u64, held: u64) -> Self {
        let tag = tag & ((1 << TAG_BITS) - 1);
        Self(kind | tag << TAG_AT | wanted << WANTED_AT | held << HELD_AT)
    }

    /// A Sent state, or Free if no receiver is left.
    fn sent(self, wanted: u64, held: u64) -> Self {
        let kind = if wanted | held == 0 { FREE } else { SENT };
        Self::new(kind, self.tag(), wanted, held)
    }

    fn kind(self) -> u64 {
        self.0 & ((1 << KIND_BITS) - 1)
    }

    fn tag(self) -> u64 {
        self.0 >> TAG_AT & ((1 << TAG_BITS) - 1)
    }

    /// Whether the slot was never on loan, or not since its tags began again.
    pub(crate) fn is_unused(self) -> bool {
        self.0 == 0
    }

    /// Whether the slot has the same elements as at another state, neither being Loaned.
    pub(crate) fn has_elements_of(self, other: Self) -> bool {
        self.kind() != LOANED && other.kind() != LOANED && self.tag() == other.tag()
    }

    pub(crate) fn is_free(self) -> bool {
        self.kind() == FREE
    }

    /// The sender that has the slot on loan.
    pub(crate) fn owner(self) -> Option<u64> {
        (self.kind() == LOANED).then_some(self.0 >> WANTED_AT & ((1 << WANTED_BITS) - 1))
    }

    /// The receivers for which a message waits, and maybe [`ANY`]. None unless it is sent.
    pub(crate) fn wanted(self) -> u64 {
        if self.kind() == SENT { self.0 >> WANTED_AT & ((1 << WANTED_BITS) - 1) } else { 0 }
    }

    /// The receivers that have a view of the message. None unless it is sent.
    pub(crate) fn held(self) -> u64 {
        if self.kind() == SENT { self.0 >> HELD_AT } else { 0 }
    }
}

pub(crate) fn load(word: &AtomicU64) -> SlotState {
    SlotState(word.load(Ordering::SeqCst))
}

/// Like [`load`], for a process that has the memory for reading only. It orders nothing.
pub(crate) fn glance(word: &AtomicU64) -> SlotState {
    SlotState(word.load(Ordering::Relaxed))
}

fn step(word: &AtomicU64, from: SlotState, to: SlotState) -> Result<SlotState, SlotState> {
    match word.compare_exchange(from.0, to.0, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Ok(to),
        Err(found) => Err(SlotState(found)),
    }
}

/// Repeats a step until it succeeds, `next` finds nothing to do, or an honest peer would have let
/// it succeed.
fn steps(word: &AtomicU64, next: impl Fn(SlotState) -> Option<SlotState>) -> Option<SlotState> {
    let mut from = load(word);
    for _ in 0..ATTEMPTS {
        match step(word, from, next(from)?) {
            Ok(to) => return Some(to),
            Err(found) => from = found,
        }
    }
    None
}

/// Loans a free slot to a sender, or a sent one that no receiver holds, whose message is lost.
pub(crate) fn take(word: &AtomicU64, from: SlotState, sender: usize) -> Option<SlotState> {
    let may = from.is_free() || from.kind() == SENT && from.held() == 0;
    let to = SlotState::new(LOANED, from.tag() + 1, sender as u64, 0);
    let taken = may.then(|| step(word, from, to).ok()).flatten();
    // For taps, which hold nothing: one that sees a byte or word that is written from now on also
    // sees that the slot is on loan.
    fence(Ordering::Release);
    taken
}

/// Sends the loaned slot to the receivers of `wanted`; without any, it becomes free. `None` if the
/// slot is no longer on loan as `loaned`.
pub(crate) fn publish(word: &AtomicU64, loaned: SlotState, wanted: u64) -> Option<SlotState> {
    step(word, loaned, loaned.sent(wanted, 0)).ok()
}

/// Frees the loaned slot, unless it is no longer on loan as `loaned`.
pub(crate) fn give_back(word: &AtomicU64, loaned: SlotState) -> bool {
    step(word, loaned, SlotState::new(FREE, loaned.tag(), 0, 0)).is_ok()
}

/// Makes a receiver the holder of the message, which waited for `bit`. With `keep`, it goes on
/// waiting for the others. Fails if the word is no longer `from`.
pub(crate) fn claim(
    word: &AtomicU64,
    from: SlotState,
    receiver: usize,
    bit: u64,
    keep: bool,
) -> Result<SlotState, SlotState> {
    if from.wanted() & bit == 0 {
        return Err(from);
    }
    let wanted = if keep { from.wanted() } else { from.wanted() & !bit };
    step(word, from, from.sent(wanted, from.held() | 1 << receiver))
}

/// Ends a receiver's view of the message that it claimed as `claimed`. Returns whether the slot is
/// free now.
pub(crate) fn release(word: &AtomicU64, claimed: SlotState, receiver: usize) -> bool {
    let bit = 1 << receiver;
    let next = |from: SlotState| {
        let is_held = from.tag() == claimed.tag() && from.held() & bit != 0;
        is_held.then(|| from.sent(from.wanted(), from.held() & !bit))
    };
    steps(word, next).is_some_and(SlotState::is_free)
}

/// The message no longer waits for the receivers in `bits`, if the word is still `from`. Returns
/// whether the slot is free now.
pub(crate) fn refuse(word: &AtomicU64, from: SlotState, bits: u64) -> bool {
    if from.wanted() & bits == 0 {
        return false;
    }
    step(word, from, from.sent(from.wanted() & !bits, from.held())).is_ok_and(SlotState::is_free)
}

/// Removes a receiver that is gone from the slot. Returns whether the slot became free.
pub(crate) fn remove_receiver(word: &AtomicU64, receiver: usize) -> bool {
    let bit = 1 << receiver;
    let next = |from: SlotState| {
        let is_there = (from.wanted() | from.held()) & bit != 0;
        is_there.then(|| from.sent(from.wanted() & !bit, from.held() & !bit))
    };
    steps(word, next).is_some_and(SlotState::is_free)
}

/// Frees the slot if it is on loan to a sender that is gone. Returns whether it did.
pub(crate) fn remove_sender(word: &AtomicU64, sender: usize) -> bool {
    let next = |from: SlotState| {
        (from.owner() == Some(sender as u64)).then(|| SlotState::new(FREE, from.tag(), 0, 0))
    };
    steps(word, next).is_some()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_message_passes_through_every_state() {
        let word = AtomicU64::new(0);
        let loaned = take(&word, load(&word), 19).unwrap();
        assert_eq!((loaned.owner(), loaned.wanted(), loaned.held()), (Some(19), 0, 0));
        assert!(take(&word, load(&word), 3).is_none(), "it is on loan");
        let sent = publish(&word, loaned, 0b101).unwrap();
        assert_eq!((sent.owner(), sent.wanted(), sent.held()), (None, 0b101, 0));
        assert!(publish(&word, loaned, 1).is_none() && !give_back(&word, loaned));
        assert!(claim(&word, sent, 1, 0b10, false).is_err(), "it does not wait for receiver 1");
        let claimed = claim(&word, sent, 0, 1, false).unwrap();
        assert!(take(&word, load(&word), 3).is_none(), "it is held");
        let last = claim(&word, claimed, 2, 0b100, false).unwrap();
        assert_eq!((last.wanted(), last.held()), (0, 0b101));
        assert!(!release(&word, claimed, 0) && !release(&word, claimed, 0));
        assert!(release(&word, last, 2) && load(&word).is_free());
        let again = take(&word, load(&word), 0).unwrap();
        assert_ne!(again.tag(), loaned.tag());
        assert!(!release(&word, last, 2), "a release of an earlier message");
        assert!(give_back(&word, again) && load(&word).is_free());
    }

    #[test]
    fn a_message_without_receivers_is_free_at_once() {
        let word = AtomicU64::new(0);
        let loaned = take(&word, load(&word), 0).unwrap();
        assert!(publish(&word, loaned, 0).unwrap().is_free());
    }

    #[test]
    fn a_message_that_waits_for_any_is_kept_or_taken() {
        let word = AtomicU64::new(0);
        let loaned = take(&word, load(&word), 0).unwrap();
        let sent = publish(&word, loaned, ANY).unwrap();
        let kept = claim(&word, sent, 3, ANY, true).unwrap();
        let both = claim(&word, kept, 4, ANY, true).unwrap();
        assert_eq!((both.wanted(), both.held()), (ANY, 0b11000));
        assert!(!release(&word, kept, 3) && !release(&word, both, 4));
        assert!(refuse(&word, load(&word), ANY) && load(&word).is_free());
    }

    #[test]
    fn members_that_are_gone_are_removed() {
        let word = AtomicU64::new(0);
        let loaned = take(&word, load(&word), 5).unwrap();
        assert!(!remove_sender(&word, 4) && remove_sender(&word, 5) && !remove_sender(&word, 5));
        assert!(publish(&word, loaned, 1).is_none());
        let loaned = take(&word, load(&word), 5).unwrap();
        let sent = publish(&word, loaned, 0b11).unwrap();
        claim(&word, sent, 0, 1, false).unwrap();
        assert!(!remove_receiver(&word, 0) && !remove_receiver(&word, 0));
        assert!(remove_receiver(&word, 1) && load(&word).is_free());
    }

    #[test]
    fn every_word_is_harmless() {
        for value in (0..64).map(|bit| 1u64 << bit).chain([u64::MAX, 3, 0x5555_5555_5555_5555]) {
            let word = AtomicU64::new(value);
            let state = load(&word);
            let _ = (state.owner(), state.wanted(), state.held());
            assert!(take(&word, state, 1).is_none() || load(&word).owner() == Some(1));
            let _ = (remove_sender(&word, 1), remove_receiver(&word, 1), refuse(&word, load(&word), ANY));
        }
    }
}

/// One slot under the model checker. A cell stands for its bytes and message: the checker fails if
/// an access to it is not ordered against another that excludes it. The number of the message is
/// read before a claim, as receivers do, and belongs to the message if the claim succeeds.
///
/// Run with `RUSTFLAGS="--cfg loom" cargo test -p crossdock-loom --release`.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread::{self, JoinHandle};

    struct Slot {
        word: AtomicU64,
        number: AtomicU64,
        contents: UnsafeCell<u64>,
    }

    // SAFETY: the cell of `loom` checks each access itself, which is what the model tests.
    unsafe impl Send for Slot {}
    // SAFETY: the cell of `loom` checks each access itself, which is what the model tests.
    unsafe impl Sync for Slot {}

    fn slot() -> Arc<Slot> {
        Arc::new(Slot { word: AtomicU64::new(0), number: AtomicU64::new(0), contents: UnsafeCell::new(0) })
    }

    /// A sender takes the slot, free or not, and sends a message. `false` if it cannot.
    fn send(slot: &Slot, sender: usize, number: u64, wanted: u64) -> bool {
        let Some(loaned) = take(&slot.word, load(&slot.word), sender) else { return false };
        // SAFETY: the checker reports any other access that is not ordered against this one.
        slot.contents.with_mut(|contents| unsafe { *contents = number });
        slot.number.store(number, Ordering::Relaxed);
        assert!(publish(&slot.word, loaned, wanted).is_some(), "the slot was on loan");
        true
    }

    /// A receiver claims the message, if there is one for it.
    fn receive(slot: &Slot, receiver: usize, bit: u64, keep: bool) -> Option<SlotState> {
        let state = load(&slot.word);
        let number = slot.number.load(Ordering::Relaxed);
        let claimed = claim(&slot.word, state, receiver, bit, keep).ok()?;
        look(slot, number);
        Some(claimed)
    }

    fn look(slot: &Slot, number: u64) {
        // SAFETY: the checker reports any other access that is not ordered against this one.
        slot.contents.with(|contents| assert_eq!(unsafe { *contents }, number));
    }

    fn beside(slot: &Arc<Slot>, run: impl FnOnce(&Slot) + 'static) -> JoinHandle<()> {
        let slot = Arc::clone(slot);
        thread::spawn(move || run(&slot))
    }

    fn receives(slot: &Slot, receiver: usize, bit: u64, keep: bool) {
        if let Some(claimed) = receive(slot, receiver, bit, keep) {
            release(&slot.word, claimed, receiver);
        }
    }

    fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
        threads.into_iter().for_each(|thread| thread.join().expect("no thread of the model panics"));
    }

    /// After all threads, the slot can be used as if nothing had happened.
    fn is_usable(slot: &Slot) {
        remove_receiver(&slot.word, 0);
        remove_receiver(&slot.word, 1);
        refuse(&slot.word, load(&slot.word), ANY);
        assert!(load(&slot.word).is_free(), "{:?}", load(&slot.word));
        assert!(send(slot, 0, 99, 1) && receive(slot, 0, 1, false).is_some());
    }

    #[test]
    fn a_sender_beside_two_receivers_of_each_message() {
        loom::model(|| {
            let slot = slot();
            assert!(send(&slot, 0, 1, 0b11));
            let threads = [0, 1].map(|who| beside(&slot, move |slot| receives(slot, who, 1 << who, false)));
            // The next message follows as soon as both have released the first, or replaces it.
            send(&slot, 0, 2, 0b11);
            join(threads);
            is_usable(&slot);
        });
    }

    #[test]
    fn two_receivers_of_one_message() {
        loom::model(|| {
            let slot = slot();
            let threads = [0, 1].map(|who| beside(&slot, move |slot| receives(slot, who, ANY, false)));
            send(&slot, 0, 1, ANY);
            join(threads);
            is_usable(&slot);
        });
    }

    #[test]
    fn two_senders_that_take_the_slot_of_a_message_beside_its_receiver() {
        loom::model(|| {
            let slot = slot();
            assert!(send(&slot, 0, 1, 1));
            let receiving = beside(&slot, |slot| receives(slot, 0, 1, false));
            let sending = beside(&slot, |slot| _ = send(slot, 1, 2, 1));
            send(&slot, 0, 3, 1);
            join([receiving, sending]);
            is_usable(&slot);
        });
    }

    #[test]
    fn the_latest_value_is_retired_beside_its_receiver() {
        loom::model(|| {
            let slot = slot();
            assert!(send(&slot, 0, 1, ANY));
            let receiving = beside(&slot, |slot| receives(slot, 0, ANY, true));
            refuse(&slot.word, load(&slot.word), ANY);
            send(&slot, 0, 2, ANY);
            join([receiving]);
            is_usable(&slot);
        });
    }

    #[test]
    fn a_tap_sees_a_message_whole_or_not_at_all_beside_the_next_one() {
        loom::model(|| {
            let slot = slot();
            assert!(send(&slot, 0, 1, 1));
            let sending = beside(&slot, |slot| _ = send(slot, 0, 2, 1));
            let state = glance(&slot.word);
            fence(Ordering::Acquire);
            let number = slot.number.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if glance(&slot.word).has_elements_of(state) {
                assert_eq!(number, state.tag(), "the first message has tag 1, the second 2");
            }
            join([sending]);
        });
    }

    #[test]
    fn a_dead_receiver_is_removed_beside_one_that_lives_and_a_sender() {
        loom::model(|| {
            let slot = slot();
            assert!(send(&slot, 0, 1, 0b11));
            // It dies with a view, and its memory is unmapped before another member notices.
            assert!(receive(&slot, 1, 0b10, false).is_some());
            let receiving = beside(&slot, |slot| receives(slot, 0, 1, false));
            let reaping = beside(&slot, |slot| _ = remove_receiver(&slot.word, 1));
            send(&slot, 0, 2, 1);
            join([receiving, reaping]);
            is_usable(&slot);
        });
    }
}
