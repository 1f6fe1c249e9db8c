//! The lease word: one atomic that counts handles and leases together.
//!
//! ```text
//!  63 62   61      60 ........ 43   42 ........ 24   23 ........ 0
//! +------+-------+----------------+----------------+---------------+
//! | mode |aliased|  read | share  |      pin       |    handle     |
//! |      |       |     | write    |                |               |
//! +------+-------+----------------+----------------+---------------+
//! ```
//!
//! A lease is a handle: the memory lives until every count is zero. So taking a lease is one
//! compare-and-swap, releasing it one subtraction, without a second reference count. Read, Share
//! and Write leases exclude each other, so one count and a mode serve all three. The mode becomes
//! stale when that count falls to zero. The next lease overwrites it, so releasing needs no loop.
//!
//! Orderings. A lease is taken with Acquire and released with Release: what its holder does happens
//! before what the next, excluded, holder does. (Read-modify-writes in between continue the release
//! sequence.) A handle is added with Relaxed, since another handle keeps the memory alive
//! meanwhile, and dropped with Release. The last holder fences with Acquire, so that everything
//! done through any handle happens before the release.
//!
//! Reasons: `DESIGN.md`, "A lease is a handle".
//! See also: `DESIGN.md`, "A lease covers the whole allocation".
//! See also: `DESIGN.md`, "Aliased memory is one bit of the lease word".

use std::fmt;

use crate::memory::sync::{AtomicU64, Ordering, fence};

/// What a lease permits its holder, and which other leases it excludes.
///
/// | lease | how many | its holder may | it excludes |
/// |---|---|---|---|
/// | `Read` | any | rely on constancy: `&[T]`, borrowed views | `Share`, `Write` |
/// | `Write` | one | have `&mut [T]` | everything |
/// | `Share` | any | load and store racily | `Read`, `Write` |
/// | `Pin` | any | load racily | `Write` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseKind {
    /// Other holders may read; no party may write.
    Read,
    /// Only the holder may access the bytes.
    Write,
    /// Other holders may write at any time, and so may this one.
    Share,
    /// Other holders may write at any time; this one never does.
    Pin,
}

impl fmt::Display for LeaseKind {
    /// `read`, `write`, `share` or `pin`, as in "a read lease".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Share => "share",
            Self::Pin => "pin",
        })
    }
}

const HANDLE: u64 = 1;
const PIN: u64 = 1 << 24;
const LEASE: u64 = 1 << 43;
const ALIASED: u64 = 1 << 61;

const HANDLES: u64 = PIN - 1;
const PINS: u64 = LEASE - PIN;
const LEASES: u64 = ALIASED - LEASE;

const MODE: u64 = 3 << 62;
const MODE_READ: u64 = 1 << 62;
const MODE_SHARE: u64 = 2 << 62;
const MODE_WRITE: u64 = 3 << 62;

/// The counts that keep the memory alive.
const HOLDERS: u64 = HANDLES | PINS | LEASES;

/// Adding a handle is an unconditional addition, undone if it passed this bound. The upper half of
/// the field is room for threads between these two steps.
const MOST_HANDLES: u64 = HANDLES / 2;

/// One value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordValue(u64);

impl WordValue {
    /// The number of handles, without those of threads that are being refused one.
    pub(crate) fn handles(self) -> u64 {
        (self.0 & HANDLES).min(MOST_HANDLES)
    }

    pub(crate) fn pins(self) -> u64 {
        (self.0 & PINS) / PIN
    }

    /// The kind and number of Read, Share or Write leases.
    pub(crate) fn leases(self) -> Option<(LeaseKind, u64)> {
        let count = (self.0 & LEASES) / LEASE;
        let kind = match self.0 & MODE {
            MODE_READ => LeaseKind::Read,
            MODE_SHARE => LeaseKind::Share,
            _ => LeaseKind::Write,
        };
        (count > 0).then_some((kind, count))
    }

    /// The number of leases of every kind.
    pub(crate) fn lease_count(self) -> u64 {
        self.pins() + self.leases().map_or(0, |(_, count)| count)
    }

    pub(crate) fn is_aliased(self) -> bool {
        self.0 & ALIASED != 0
    }

    /// Whether another lease of `kind` is refused only because its count is full.
    pub(crate) fn is_full(self, kind: LeaseKind) -> bool {
        match kind {
            LeaseKind::Write => false,
            LeaseKind::Pin => {
                self.pins() == PINS / PIN && !matches!(self.leases(), Some((LeaseKind::Write, _)))
            }
            LeaseKind::Read | LeaseKind::Share => {
                let same =
                    matches!(self.leases(), Some((held, count)) if held == kind && count == LEASES / LEASE);
                same && !(kind == LeaseKind::Read && self.is_aliased())
            }
        }
    }

    /// The word with one more lease of `kind`, or `None` if a lease, the birth, or a full count
    /// forbids it.
    #[inline]
    fn admit(self, kind: LeaseKind) -> Option<u64> {
        let word = self.0;
        match kind {
            LeaseKind::Pin => {
                let written = word & LEASES != 0 && word & MODE == MODE_WRITE;
                (!written && word & PINS != PINS).then(|| word + PIN)
            }
            LeaseKind::Read => self.admit_counted(MODE_READ, ALIASED),
            LeaseKind::Share => self.admit_counted(MODE_SHARE, 0),
            LeaseKind::Write => {
                (word & (LEASES | PINS | ALIASED) == 0).then_some((word | MODE_WRITE) + LEASE)
            }
        }
    }

    #[inline]
    fn admit_counted(self, mode: u64, forbidden: u64) -> Option<u64> {
        let word = self.0;
        let other_mode = word & LEASES != 0 && word & MODE != mode;
        let refused = other_mode || word & forbidden != 0 || word & LEASES == LEASES;
        (!refused).then_some((word & !MODE | mode) + LEASE)
    }
}

/// The unit that a lease of this kind adds to the word.
#[inline]
fn unit(kind: LeaseKind) -> u64 {
    if kind == LeaseKind::Pin { PIN } else { LEASE }
}

/// The word itself. It only counts: [`Handle`](super::handle::Handle) and
/// [`Lease`](super::lease::Lease) define what its answers permit.
pub(crate) struct LeaseWord(AtomicU64);

impl LeaseWord {
    /// One handle, no lease. `aliased` memory never admits Read or Write, because another owner may
    /// write it.
    pub(crate) fn new(aliased: bool) -> Self {
        Self(AtomicU64::new(HANDLE | if aliased { ALIASED } else { 0 }))
    }

    pub(crate) fn reading(&self) -> WordValue {
        WordValue(self.0.load(Ordering::Relaxed))
    }

    /// Counts one more handle. The caller has a handle or a lease already.
    #[inline]
    pub(crate) fn add_handle(&self) -> Result<(), WordValue> {
        let before = self.0.fetch_add(HANDLE, Ordering::Relaxed);
        if before & HANDLES >= MOST_HANDLES { Err(self.undo_handle()) } else { Ok(()) }
    }

    #[cold]
    fn undo_handle(&self) -> WordValue {
        // Never the last holder: the caller has a handle or a lease.
        WordValue(self.0.fetch_sub(HANDLE, Ordering::Relaxed))
    }

    /// Releases one handle. `true`: it was the last holder, and the caller must release the memory.
    #[inline]
    #[must_use]
    pub(crate) fn drop_handle(&self) -> bool {
        // If this is the only holder, no other thread can reach the word to change it: no
        // read-modify-write is needed. (Acquire: the drops of other threads happen before the
        // release that follows.)
        self.0.load(Ordering::Acquire) & HOLDERS == HANDLE || self.subtract(HANDLE)
    }

    /// Takes a lease, which from then on keeps the memory alive by itself. On refusal the word is
    /// unchanged.
    #[inline]
    pub(crate) fn take(&self, kind: LeaseKind) -> Result<(), WordValue> {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let Some(next) = WordValue(word).admit(kind) else { return Err(WordValue(word)) };
            match self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// [`take`](Self::take) in one attempt: `false` also if another thread changed the word
    /// meanwhile.
    #[inline(always)]
    pub(crate) fn take_at_once(&self, kind: LeaseKind) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        WordValue(word).admit(kind).is_some_and(|next| {
            self.0.compare_exchange(word, next, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })
    }

    /// Releases a lease. `true`: it was the last holder, and the caller must release the memory.
    #[inline]
    #[must_use]
    pub(crate) fn give(&self, kind: LeaseKind) -> bool {
        self.subtract(unit(kind))
    }

    /// Turns a lease into a handle, adding the handle first: the memory is held throughout.
    pub(crate) fn exchange_for_handle(&self, kind: LeaseKind) -> Result<(), WordValue> {
        self.add_handle()?;
        let _never_last = self.give(kind);
        Ok(())
    }

    /// Whether one handle is all there is: no lease, no other handle, no other owner. Acquire: what
    /// former holders did happens before what the caller does next.
    #[inline]
    pub(crate) fn is_exclusive(&self) -> bool {
        self.0.load(Ordering::Acquire) & (HOLDERS | ALIASED) == HANDLE
    }

    /// Like [`LeaseWord::is_exclusive`], but another owner may write the memory.
    pub(crate) fn is_only_handle(&self) -> bool {
        self.0.load(Ordering::Acquire) & HOLDERS == HANDLE
    }

    /// Begins the aliased state: another process may write the memory from now on. Refused while a
    /// Read or Write lease is held, whose holder relies on the opposite.
    pub(crate) fn set_aliased(&self) -> Result<(), WordValue> {
        // Acquire, also on refusal: the caller may read what the holder wrote before its lease.
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            if word & ALIASED == 0 && word & LEASES != 0 && word & MODE != MODE_SHARE {
                return Err(WordValue(word));
            }
            match self.0.compare_exchange_weak(word, word | ALIASED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Ends the aliased state. The caller guarantees that no other owner writes the memory.
    pub(crate) fn clear_aliased(&self) {
        self.0.fetch_and(!ALIASED, Ordering::Relaxed);
    }

    #[inline]
    fn subtract(&self, unit: u64) -> bool {
        let last = self.0.fetch_sub(unit, Ordering::Release) & HOLDERS == unit;
        if last {
            fence(Ordering::Acquire);
        }
        last
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use LeaseKind::{Pin, Read, Share, Write};

    const KINDS: [LeaseKind; 4] = [Read, Write, Share, Pin];

    /// The table of the design in full: may the second be taken while the first is held?
    fn coexist(first: LeaseKind, second: LeaseKind) -> bool {
        matches!((first, second), (Read | Pin, Read) | (Share | Pin, Share) | (Read | Share | Pin, Pin))
    }

    #[test]
    fn every_pair_of_leases_coexists_or_excludes_as_the_table_says() {
        for first in KINDS {
            for second in KINDS {
                let word = LeaseWord::new(false);
                word.take(first).unwrap_or_else(|_| panic!("{first:?} on free memory"));
                assert_eq!(word.take(second).is_ok(), coexist(first, second), "{second:?} beside {first:?}");
            }
        }
    }

    #[test]
    fn a_refused_lease_changes_nothing() {
        let word = LeaseWord::new(false);
        word.take(Read).unwrap_or_else(|_| panic!());
        let before = word.reading().0;
        assert!(word.take(Share).is_err());
        assert!(word.take(Write).is_err());
        assert_eq!(word.reading().0, before);
    }

    #[test]
    fn an_attempt_takes_what_a_lease_does_or_changes_nothing() {
        for aliased in [false, true] {
            for held in KINDS.map(Some).into_iter().chain([None]) {
                for wanted in KINDS {
                    let words = [LeaseWord::new(aliased), LeaseWord::new(aliased)];
                    if let Some(held) = held {
                        let _aliased_memory_admits_few = words.each_ref().map(|word| word.take(held).is_ok());
                    }
                    let [word, other] = &words;
                    let before = word.reading().0;
                    let (taken, answer) = (word.take_at_once(wanted), other.take(wanted).is_ok());
                    let case = format!("{wanted:?} beside {held:?}, aliased: {aliased}");
                    assert_eq!((taken, word.reading().0), (answer, other.reading().0), "{case}");
                    assert_eq!(word.reading().0 == before, !taken, "{case}");
                    assert!(!taken || !word.give(wanted), "{case}");
                }
            }
        }
        for full in [HANDLE | PINS, HANDLE | LEASES | MODE_READ, HANDLE | LEASES | MODE_SHARE] {
            let word = LeaseWord(AtomicU64::new(full));
            let kinds = KINDS.into_iter().filter(|&kind| WordValue(full).admit(kind).is_none());
            assert!(kinds.clone().count() > 0 && kinds.fold(true, |ok, kind| ok & !word.take_at_once(kind)));
            assert_eq!(word.reading().0, full);
        }
    }

    #[test]
    fn aliased_memory_admits_share_and_pin_only() {
        for kind in KINDS {
            let word = LeaseWord::new(true);
            assert_eq!(word.take(kind).is_ok(), matches!(kind, Share | Pin), "{kind:?}");
        }
    }

    #[test]
    fn memory_becomes_aliased_unless_a_holder_relies_on_the_opposite() {
        for kind in KINDS {
            let word = LeaseWord::new(false);
            word.take(kind).unwrap_or_else(|_| panic!());
            let becomes = matches!(kind, Share | Pin);
            assert_eq!(
                (word.set_aliased().is_ok(), word.reading().is_aliased()),
                (becomes, becomes),
                "{kind:?}"
            );
            assert!(!word.give(kind));
            assert!(word.set_aliased().is_ok() && !word.is_exclusive());
            assert!(word.take(Read).is_err() && word.take(Write).is_err() && word.take(Share).is_ok());
        }
    }

    #[test]
    fn aliased_memory_is_released_when_its_last_holder_goes() {
        let word = LeaseWord::new(true);
        word.take(Share).unwrap_or_else(|_| panic!());
        assert!(!word.drop_handle());
        assert!(word.give(Share));
    }

    #[test]
    fn a_lease_keeps_the_memory_after_the_last_handle() {
        for kind in KINDS {
            let word = LeaseWord::new(false);
            word.take(kind).unwrap_or_else(|_| panic!());
            assert!(!word.drop_handle());
            assert!(word.give(kind), "{kind:?}");
        }
    }

    #[test]
    fn the_stale_mode_of_a_given_back_lease_binds_nobody() {
        let word = LeaseWord::new(false);
        for kind in KINDS {
            word.take(kind).unwrap_or_else(|_| panic!("{kind:?} on memory that is free again"));
            assert!(!word.give(kind));
        }
        assert!(word.is_exclusive());
    }

    #[test]
    fn memory_that_is_free_again_admits_and_excludes_as_new_memory_does() {
        for stale in KINDS {
            for first in KINDS {
                for second in KINDS {
                    let word = LeaseWord::new(false);
                    word.take(stale).unwrap_or_else(|_| panic!());
                    assert!(!word.give(stale));
                    word.take(first).unwrap_or_else(|_| panic!("{first:?} after {stale:?}"));
                    assert_eq!(
                        word.reading().leases(),
                        (first != Pin).then_some((first, 1)),
                        "after {stale:?}"
                    );
                    let is_taken = word.take(second).is_ok();
                    assert_eq!(
                        is_taken,
                        coexist(first, second),
                        "{second:?} beside {first:?} after {stale:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn full_counts_are_refused_and_never_wrap() {
        let handles = LeaseWord(AtomicU64::new(MOST_HANDLES));
        let Err(found) = handles.add_handle() else { panic!("another handle than can be counted") };
        assert_eq!((found.handles(), handles.reading().0), ((1 << 23) - 1, MOST_HANDLES));
        assert!(!handles.drop_handle());
        assert!(handles.add_handle().is_ok());

        let pins = LeaseWord(AtomicU64::new(HANDLE | PINS));
        assert!(pins.take(Pin).is_err());
        assert_eq!(pins.reading().pins(), (1 << 19) - 1);

        for (kind, mode) in [(Read, MODE_READ), (Share, MODE_SHARE)] {
            let leases = LeaseWord(AtomicU64::new(HANDLE | LEASES | mode));
            assert!(leases.take(kind).is_err());
            assert_eq!(leases.reading().leases(), Some((kind, (1 << 18) - 1)));
            assert!(!leases.reading().is_aliased());
        }
    }

    /// All counts that can be held, by kind and number, with the bounds.
    #[test]
    fn a_count_is_full_where_one_more_is_all_that_stands_in_the_way() {
        let most = (1 << 18) - 1;
        for (held, mode) in [(Read, MODE_READ), (Share, MODE_SHARE)] {
            for (count, is_full) in [(0, false), (1, false), (most - 1, false), (most, true)] {
                let reading = WordValue(HANDLE | (count * LEASE) | mode);
                assert_eq!(reading.leases(), (count > 0).then_some((held, count)));
                for wanted in KINDS {
                    let stands = wanted == held && is_full;
                    assert_eq!(reading.is_full(wanted), stands, "{wanted:?} beside {count} {held:?}");
                }
            }
        }
        for (pins, is_full) in [(0, false), (1, false), ((1 << 19) - 2, false), ((1 << 19) - 1, true)] {
            let reading = WordValue(HANDLE | (pins * PIN));
            for wanted in KINDS {
                assert_eq!(reading.is_full(wanted), wanted == Pin && is_full, "{wanted:?} beside {pins} Pin");
            }
            // A pin cannot be taken beside a writer, nor a Read lease of aliased memory, whatever
            // the counts.
            assert!(!WordValue(reading.0 | LEASE | MODE_WRITE).is_full(Pin));
        }
        assert!(!WordValue(HANDLE | LEASES | MODE_READ | ALIASED).is_full(Read));
        assert!(WordValue(HANDLE | LEASES | MODE_SHARE | ALIASED).is_full(Share));
    }

    #[test]
    fn a_lease_becomes_a_handle_in_one_step_or_stays() {
        for kind in KINDS {
            let word = LeaseWord::new(false);
            word.take(kind).unwrap_or_else(|_| panic!());
            assert!(word.exchange_for_handle(kind).is_ok());
            assert_eq!(
                (word.reading().handles(), word.reading().pins(), word.reading().leases()),
                (2, 0, None)
            );
        }
        let full = LeaseWord(AtomicU64::new(MOST_HANDLES | PIN));
        assert!(full.exchange_for_handle(Pin).is_err());
        assert_eq!(full.reading().pins(), 1);
    }

    #[test]
    fn memory_that_was_aliased_is_anybodys_once_that_is_taken_back() {
        let word = LeaseWord::new(true);
        word.take(Share).unwrap_or_else(|_| panic!());
        word.clear_aliased();
        assert!(!word.reading().is_aliased());
        assert_eq!((word.reading().leases(), word.reading().handles()), (Some((Share, 1)), 1));
        assert!(!word.give(Share));
        assert!(word.is_exclusive() && word.take(Write).is_ok());
        assert!(!word.is_only_handle());
    }

    #[test]
    fn a_full_count_is_told_apart_from_a_conflict() {
        let full = |word: u64, kind| WordValue(HANDLE | word).is_full(kind);
        assert!(full(PINS, Pin) && full(PINS | LEASE | MODE_READ, Pin) && full(PINS | MODE_WRITE, Pin));
        assert!(!full(PINS - PIN, Pin) && !full(PINS | LEASE | MODE_WRITE, Pin));
        for (kind, mode, other) in [(Read, MODE_READ, Share), (Share, MODE_SHARE, Read)] {
            assert!(full(LEASES | mode, kind), "{kind:?}");
            assert!(!full((LEASES - LEASE) | mode, kind), "{kind:?}");
            // A lease of another kind would be refused anyway.
            assert!(!full(LEASES | mode, other) && !full(LEASES | mode, Write), "{kind:?}");
            assert_eq!(full(LEASES | mode | ALIASED, kind), kind == Share, "aliased memory admits no Read");
        }
        assert!(!full(PINS | LEASES | MODE_SHARE, Write));
    }

    #[test]
    fn each_count_is_read_by_itself() {
        let word = LeaseWord::new(true);
        for _ in 0..2 {
            word.add_handle().unwrap_or_else(|_| panic!());
            word.take(Share).unwrap_or_else(|_| panic!());
        }
        for _ in 0..5 {
            word.take(Pin).unwrap_or_else(|_| panic!());
        }
        let reading = word.reading();
        assert_eq!((reading.handles(), reading.pins(), reading.leases()), (3, 5, Some((Share, 2))));
        assert!(reading.is_aliased() && !word.is_only_handle());
        word.clear_aliased();
        let reading = word.reading();
        assert_eq!((reading.handles(), reading.pins(), reading.leases()), (3, 5, Some((Share, 2))));
        assert!(!reading.is_aliased());
        assert!(!word.give(Share) && word.reading().leases() == Some((Share, 1)));
        assert!(!word.give(Share) && word.reading().leases().is_none());
    }

    #[test]
    fn a_lease_is_exchanged_for_a_handle_or_stays() {
        let word = LeaseWord::new(false);
        word.take(Read).unwrap_or_else(|_| panic!());
        word.exchange_for_handle(Read).unwrap_or_else(|_| panic!());
        assert_eq!((word.reading().handles(), word.reading().leases()), (2, None));
        assert!(!word.drop_handle() && word.drop_handle());

        let full = LeaseWord(AtomicU64::new(MOST_HANDLES | LEASE | MODE_READ));
        assert!(full.exchange_for_handle(Read).is_err());
        assert_eq!((full.reading().handles(), full.reading().leases()), (MOST_HANDLES, Some((Read, 1))));
    }

    #[test]
    fn exclusive_means_no_other_handle_no_lease_and_no_other_owner() {
        let word = LeaseWord::new(false);
        assert!(word.is_exclusive());
        word.add_handle().unwrap_or_else(|_| panic!());
        assert!(!word.is_exclusive());
        assert!(!word.drop_handle());
        for kind in KINDS {
            word.take(kind).unwrap_or_else(|_| panic!());
            assert!(!word.is_exclusive(), "{kind:?}");
            assert!(!word.give(kind));
        }
        assert!(word.is_exclusive());
        let aliased = LeaseWord::new(true);
        assert!(!aliased.is_exclusive());
        assert!(aliased.is_only_handle());
    }
}
