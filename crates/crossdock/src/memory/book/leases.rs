//! The listed leases of one allocation: a dense list, and a map from each number to its index.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::num::NonZeroU32;
use std::time::Instant;

use crate::memory::holder::Holder;
use crate::memory::protocols::Protocols;
use crate::memory::word::LeaseKind;

/// Not a `BTreeMap`: a `HashMap` can report that it cannot grow (`try_reserve`).
pub(super) type BookMap<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// The entry of one lease.
pub(super) struct LeaseRecord {
    number: NonZeroU32,
    kind: LeaseKind,
    protocols: Protocols,
    since: Instant,
}

/// # Invariants
///
/// 1. `places` maps the number of every record to its index in `records`, and contains nothing
///    else.
pub(super) struct LeaseRecords {
    records: Vec<LeaseRecord>,
    places: BookMap<NonZeroU32, usize>,
}

impl LeaseRecords {
    pub(super) const fn new() -> Self {
        Self { records: Vec::new(), places: HashMap::with_hasher(BuildHasherDefault::new()) }
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Lists a lease taken now, under a number after `last`. `None` if out of memory; then the list
    /// is unchanged.
    pub(super) fn insert(&mut self, last: &mut u32, kind: LeaseKind) -> Option<NonZeroU32> {
        self.records.try_reserve(1).ok()?;
        self.places.try_reserve(1).ok()?;
        let number = self.next_number(last);
        self.places.insert(number, self.records.len());
        self.records.push(LeaseRecord { number, kind, protocols: Protocols::NONE, since: Instant::now() });
        Some(number)
    }

    /// A number that no lease in this list has. Numbers wrap after 2³² leases, while a few of the
    /// old ones may still be held.
    fn next_number(&self, last: &mut u32) -> NonZeroU32 {
        loop {
            *last = last.wrapping_add(1);
            if let Some(number) = NonZeroU32::new(*last).filter(|number| !self.places.contains_key(number)) {
                return number;
            }
        }
    }

    pub(super) fn remove(&mut self, number: NonZeroU32) {
        let Some(place) = self.places.remove(&number) else { return };
        self.records.swap_remove(place);
        if let Some(moved) = self.records.get(place) {
            self.places.insert(moved.number, place);
        }
    }

    /// Adds a protocol to those by which a lease was exported.
    pub(super) fn mark(&mut self, number: NonZeroU32, protocol: Protocols) {
        if let Some(record) = self.places.get(&number).and_then(|&place| self.records.get_mut(place)) {
            record.protocols = Protocols(record.protocols.0 | protocol.0);
        }
    }

    /// Unordered. O(leases that are held now).
    pub(super) fn holders(&self, now: Instant) -> impl Iterator<Item = Holder> {
        self.records.iter().map(move |record| Holder {
            kind: record.kind,
            protocols: record.protocols,
            age: now.saturating_duration_since(record.since),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_round_and_leave_out_nothing_and_those_still_held() {
        let mut leases = LeaseRecords::new();
        for held in [u32::MAX, 1, 2] {
            assert_eq!(
                leases.insert(&mut held.wrapping_sub(1), LeaseKind::Pin).map(NonZeroU32::get),
                Some(held)
            );
        }
        let mut last = u32::MAX - 2;
        let numbers: Vec<u32> =
            (0..3).map(|_| leases.insert(&mut last, LeaseKind::Read).unwrap().get()).collect();
        assert_eq!(numbers, [u32::MAX - 1, 3, 4]);
    }

    #[test]
    fn whatever_is_taken_out_the_others_are_found_by_their_numbers() {
        let (mut leases, mut last) = (LeaseRecords::new(), 0);
        let numbers: Vec<_> = (0..6).map(|_| leases.insert(&mut last, LeaseKind::Share).unwrap()).collect();
        // The last, the first, one in the middle, and one that is already gone.
        for gone in [5, 0, 2, 2] {
            leases.remove(numbers[gone]);
        }
        for kept in [1, 3, 4] {
            leases.mark(numbers[kept], Protocols(1 << kept));
        }
        leases.mark(numbers[0], Protocols::DLPACK);
        let mut marks: Vec<u32> = leases.holders(Instant::now()).map(|holder| holder.protocols.0).collect();
        marks.sort_unstable();
        assert_eq!((leases.len(), marks), (3, vec![1 << 1, 1 << 3, 1 << 4]));
    }
}
