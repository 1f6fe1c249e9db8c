//! One allocation, as the ledger lists it.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use crate::device::{self, UnderWay};
use crate::memory::book::{self, LockedRow};
use crate::memory::holder::Holder;
use crate::memory::{Backing, Birth, LeaseKind, Place, Protocols};
use crate::pool;

/// One live allocation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The address of its first byte, in its place.
    pub address: usize,
    /// Its size in bytes.
    pub nbytes: usize,
    /// The device.
    pub place: Place,
    /// The kind of memory.
    pub backing: Backing,
    /// The name of its pool, if it came from one.
    pub pool: Option<&'static str>,
    /// Which other parties may access it.
    pub birth: Birth,
    /// The time since it was made. `None`: it was made while the ledger was off, and is listed
    /// because of leases taken since.
    pub age: Option<Duration>,
    /// The number of its handles.
    pub handles: u64,
    /// The kind and number of Read, Share or Write leases on it.
    pub leases: Option<(LeaseKind, u64)>,
    /// The number of Pin leases on it.
    pub pins: u64,
    /// The protocols by which it was ever exported.
    pub exported: Protocols,
    /// Its leases that were taken while the ledger was on, the oldest first.
    pub holders: Vec<Holder>,
    /// The device work noted on it, the oldest first.
    pub work: Vec<UnderWay>,
}

impl Entry {
    /// The holders are unordered, and the work is not looked up yet. Called under a lock of the
    /// book: it takes none.
    fn of(line: &LockedRow<'_>, now: Instant) -> Self {
        let header = line.header;
        let reading = header.reading();
        Self {
            address: header.ptr().as_ptr().addr(),
            nbytes: header.nbytes(),
            place: header.place(),
            backing: header.backing(),
            pool: pool::describe(header).map(|(_, name)| name),
            birth: header.birth(),
            age: line.since.map(|since| now.saturating_duration_since(since)),
            handles: reading.handles(),
            leases: reading.leases(),
            pins: reading.pins(),
            exported: header.exported(),
            holders: line.holders(now),
            work: Vec::new(),
        }
    }
}

/// Sorts entries. The order is a function pointer, so that one copy of std's sort serves every
/// order.
pub(super) fn sort(entries: &mut [Entry], order: fn(&Entry, &Entry) -> Ordering) {
    entries.sort_unstable_by(order);
}

/// Every allocation in the book, unordered.
pub(super) fn entries() -> Vec<Entry> {
    let now = Instant::now();
    // Each with the address of its header, which identifies the work noted on it.
    let mut entries = Vec::new();
    book::read(|line| entries.push((std::ptr::from_ref(line.header).addr(), Entry::of(&line, now))));
    let finished = |(key, mut entry): (usize, Entry)| {
        book::sort_oldest_first(&mut entry.holders);
        entry.work = device::noted_at(key);
        entry
    };
    entries.into_iter().map(finished).collect()
}
