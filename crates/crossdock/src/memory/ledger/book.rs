//! What is listed: a row for each allocation, and in it a record for each lease.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::memory::allocation::Header;
use crate::memory::conflict::Protocols;
use crate::memory::device;
use crate::memory::fork::ForkLock;
use crate::memory::ledger::leases::{Leases, Table};
use crate::memory::ledger::{Entry, Holder, MISSED};
use crate::memory::pool;
use crate::memory::word::LeaseKind;

/// By the address of the header.
type Rows = Table<usize, Row>;

/// The rows of the allocations whose header address maps to this shard.
struct Shard {
    rows: Rows,
    /// The number of the last lease that was noted.
    last: u32,
}

const SHARDS: usize = 64;

/// Sharded, so that threads with different allocations rarely contend. No lock is taken while
/// another is held.
static BOOK: [ForkLock<Shard>; SHARDS] =
    [const { ForkLock::new(Shard { rows: HashMap::with_hasher(BuildHasherDefault::new()), last: 0 }) };
        SHARDS];

/// # Invariants
///
/// 1. `header` is alive. Of an allocation that was listed when it was made (`since`), [`forget`] takes the row out, under the
///    lock, before its owner frees the header. Any other has a lease in `leases`, which keeps the header alive, and
///    [`forget_lease`] takes the row out with the last of them, under the lock, before that is given back.
struct Row {
    header: NonNull<Header>,
    since: Option<Instant>,
    leases: Leases,
}

// SAFETY: Row 1: the header is alive while the row is in the table, and what is read of it is atomic or constant.
unsafe impl Send for Row {}

fn locked(shard: &'static ForkLock<Shard>) -> MutexGuard<'static, Shard> {
    // SAFETY: the locks are statics, which never move.
    unsafe { shard.lock() }
}

/// The locked shard of a header address.
fn shard_of(address: usize) -> MutexGuard<'static, Shard> {
    // Headers are at least 64 bytes apart; the multiplication spreads addresses with a larger
    // alignment.
    let spread = (address as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    locked(&BOOK[(spread >> (u64::BITS - SHARDS.ilog2())) as usize])
}

/// Lists an allocation. One for whose row there is no memory is left out.
#[cold]
#[inline(never)]
pub(crate) fn record(header: NonNull<Header>) {
    let address = header.as_ptr().addr();
    let mut shard = shard_of(address);
    if shard.rows.try_reserve(1).is_ok() {
        let row = Row { header, since: Some(Instant::now()), leases: Leases::new() };
        shard.rows.insert(address, row);
    } else {
        MISSED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes an allocation out that was listed when it was made.
pub(crate) fn forget(header: NonNull<Header>) {
    let address = header.as_ptr().addr();
    let row = shard_of(address).rows.remove(&address);
    drop(row);
}

/// Lists a lease, and answers with its number. One for which there is no memory is left out, and has none.
///
/// # Safety
///
/// The caller has the lease, and hands its number to [`forget_lease`] before it gives the lease back.
pub(crate) unsafe fn note_lease(header: NonNull<Header>, kind: LeaseKind) -> Option<NonZeroU32> {
    let number = shard_of(header.as_ptr().addr()).note(header, kind);
    if number.is_none() {
        MISSED.fetch_add(1, Ordering::Relaxed);
    }
    number
}

/// Adds a protocol to those by which a lease went out.
#[cold]
#[inline(never)]
pub(crate) fn mark_lease(header: NonNull<Header>, number: NonZeroU32, protocol: Protocols) {
    let address = header.as_ptr().addr();
    if let Some(row) = shard_of(address).rows.get_mut(&address) {
        row.leases.mark(number, protocol);
    }
}

/// Takes a lease out that is about to be given back.
#[cold]
#[inline(never)]
pub(crate) fn forget_lease(header: NonNull<Header>, number: NonZeroU32) {
    let address = header.as_ptr().addr();
    let mut shard = shard_of(address);
    let Some(row) = shard.rows.get_mut(&address) else { return };
    row.leases.remove(number);
    if row.since.is_none() && row.leases.len() == 0 {
        shard.rows.remove(&address);
    }
}

/// The listed leases of an allocation, the oldest first; empty if the list cannot be allocated. O(n
/// log n) in the leases of this allocation alone.
pub(crate) fn holders_of(header: &Header) -> Vec<Holder> {
    let address = std::ptr::from_ref(header).addr();
    let count = shard_of(address).rows.get(&address).map_or(0, |row| row.leases.len());
    // Allocated without the lock, with room for leases that are taken in the meantime.
    let mut holders = Vec::new();
    if count > 0 && holders.try_reserve_exact(count.saturating_add(4)).is_ok() {
        let now = Instant::now();
        let room = holders.capacity();
        if let Some(row) = shard_of(address).rows.get(&address) {
            holders.extend(row.leases.holders(now).inspect(|_| count_visit()).take(room));
        }
        sort_oldest_first(&mut holders);
    }
    holders
}

/// Every row, in no order.
pub(crate) fn entries() -> Vec<Entry> {
    let now = Instant::now();
    let mut entries = Vec::new();
    // Addresses of headers, to look up the work noted on them.
    let mut keys = Vec::new();
    for shard in &BOOK {
        let shard = locked(shard);
        keys.extend(shard.rows.keys().copied());
        entries.extend(shard.rows.values().map(|row| row.entry(now)));
    }
    for (entry, key) in entries.iter_mut().zip(keys) {
        sort_oldest_first(&mut entry.holders);
        entry.work = device::noted_at(key);
    }
    entries
}

fn sort_oldest_first(holders: &mut [Holder]) {
    holders.sort_unstable_by_key(|holder| std::cmp::Reverse(holder.age));
}

#[cfg(test)]
thread_local! {
    /// How many leases this thread has visited for refusals.
    static VISITS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Lets tests count the leases that a refusal visits.
#[inline]
fn count_visit() {
    #[cfg(test)]
    VISITS.set(VISITS.get() + 1);
}

impl Shard {
    fn note(&mut self, header: NonNull<Header>, kind: LeaseKind) -> Option<NonZeroU32> {
        let address = header.as_ptr().addr();
        if let Some(row) = self.rows.get_mut(&address) {
            return row.leases.insert(&mut self.last, kind);
        }
        let mut leases = Leases::new();
        let number = leases.insert(&mut self.last, kind)?;
        self.rows.try_reserve(1).ok()?;
        self.rows.insert(address, Row { header, since: None, leases });
        Some(number)
    }
}

impl Row {
    /// The holders are unordered, and the work is not looked up yet.
    fn entry(&self, now: Instant) -> Entry {
        // SAFETY: Row 1, and the caller, who has the row, has the lock.
        let header = unsafe { self.header.as_ref() };
        let reading = header.reading();
        Entry {
            address: header.ptr().as_ptr().addr(),
            nbytes: header.nbytes(),
            place: header.place(),
            backing: header.backing(),
            pool: pool_name(header),
            birth: header.birth(),
            age: self.since.map(|since| now.saturating_duration_since(since)),
            handles: reading.handles(),
            leases: reading.leases(),
            pins: reading.pins(),
            exported: header.exported(),
            holders: self.leases.holders(now).collect(),
            work: Vec::new(),
        }
    }
}

/// The pool that an allocation came from. Called under the ledger's lock: it takes none.
fn pool_name(header: &Header) -> Option<&'static str> {
    pool::describe(header).map(|(_, name)| name)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::allocation::Handle;
    use crate::memory::{Buffer, LeaseKind};

    /// Allocations with leases that are listed although the ledger is off, because other tests of
    /// this process rely on it being off.
    struct Listed(Vec<(Handle, Vec<NonZeroU32>)>);

    impl Listed {
        fn new(allocations: usize, leases: usize) -> Self {
            let handle = || Buffer::zeroed(8).unwrap().into_parts().0;
            let mut listed = Self((0..allocations).map(|_| (handle(), Vec::new())).collect());
            (0..allocations).for_each(|index| listed.add(index, leases));
            listed
        }

        fn add(&mut self, index: usize, leases: usize) {
            let (handle, numbers) = &mut self.0[index];
            for _ in 0..leases {
                std::mem::forget(handle.lease(LeaseKind::Pin).unwrap());
                // SAFETY: the lease was forgotten above, so it is held; `remove` takes it off the
                // list before it releases it.
                numbers.push(unsafe { note_lease(NonNull::from(handle.header()), LeaseKind::Pin) }.unwrap());
            }
        }

        fn remove(&mut self, index: usize, leases: usize) {
            let (handle, numbers) = &mut self.0[index];
            for number in numbers.drain(..leases) {
                forget_lease(NonNull::from(handle.header()), number);
                assert!(!handle.header().word().give(LeaseKind::Pin), "the handle is left");
            }
        }

        fn header(&self, index: usize) -> &Header {
            self.0[index].0.header()
        }
    }

    impl Drop for Listed {
        fn drop(&mut self) {
            (0..self.0.len()).for_each(|index| self.remove(index, self.0[index].1.len()));
        }
    }

    #[test]
    fn a_refusal_looks_at_the_leases_of_its_own_allocation_alone() {
        let mut listed = Listed::new(300, 10);
        // Many leases were taken and released: they must not slow the search.
        listed.add(150, 2000);
        listed.remove(150, 2000);
        let before = VISITS.get();
        for round in 1..=5 {
            assert_eq!(holders_of(listed.header(150)).len(), 10);
            assert_eq!(VISITS.get() - before, round * 10);
        }
        // Without leases, none is visited.
        let unlisted = Buffer::zeroed(8).unwrap().into_parts().0;
        assert!(holders_of(unlisted.header()).is_empty());
        assert_eq!(VISITS.get() - before, 50);
    }

    /// The search for the leases of one allocation must not wait for a thread that holds another
    /// shard.
    #[test]
    fn a_refusal_takes_the_lock_of_its_own_allocation_alone() {
        let listed = Listed::new(300, 1);
        let address = |index| std::ptr::from_ref(listed.header(index)).addr();
        let lock = |index| (&raw const *shard_of(address(index))).addr();
        let own = lock(0);
        let elsewhere = (1..300).find(|&index| lock(index) != own).unwrap();
        let held = shard_of(address(elsewhere));
        assert_eq!(holders_of(listed.header(0)).len(), 1);
        drop(held);
    }
}
