//! The ledger's book: a row for each live allocation, and in it a record for each lease.
//!
//! It is written here, where allocations and leases begin and end. The layer above reads it and
//! adds what only that layer records of pools and devices ([`ledger`](crate::ledger)).
//!
//! Reasons: `DESIGN.md`, "The ledger notes a lease when it is taken".

mod leases;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use crate::memory::book::leases::{BookMap, LeaseRecords};
use crate::memory::fork::ForkLock;
use crate::memory::header::Header;
use crate::memory::holder::Holder;
use crate::memory::protocols::Protocols;
use crate::memory::word::LeaseKind;

const OFF: u8 = 0;
const ON: u8 = 1;
/// Undecided: the environment decides.
const OPEN: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OPEN);
static MISSED: AtomicU64 = AtomicU64::new(0);

/// Lists allocations and leases that begin from now on.
pub fn switch_on() {
    STATE.store(ON, Ordering::Relaxed);
}

/// Stops listing new allocations and leases. Listed ones stay until they are released.
pub fn switch_off() {
    STATE.store(OFF, Ordering::Relaxed);
}

/// Whether new allocations and leases are listed.
#[inline]
pub fn is_on() -> bool {
    let state = STATE.load(Ordering::Relaxed);
    state != OFF && (state == ON || ask_environment())
}

/// Reads the variable once, before the first allocation is listed. `var_os` copies a value that is
/// set, and aborts if out of memory.
#[cold]
#[inline(never)]
fn ask_environment() -> bool {
    let wanted = std::env::var_os("CROSSDOCK_LEDGER").is_some_and(|value| !value.is_empty() && value != "0");
    let state = if wanted { ON } else { OFF };
    match STATE.compare_exchange(OPEN, state, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => wanted,
        Err(decided) => decided == ON,
    }
}

/// How many allocations and leases were left out because memory was short, since the process began.
pub fn missed() -> u64 {
    MISSED.load(Ordering::Relaxed)
}

/// By the address of the header.
type AllocationRows = BookMap<usize, AllocationRow>;

/// The rows of the allocations whose header address maps to this shard.
struct BookShard {
    rows: AllocationRows,
    /// The number of the last lease that was noted.
    last: u32,
}

const SHARDS: usize = 64;

/// Sharded, so that threads with different allocations rarely contend. No lock is taken while
/// another is held.
static BOOK: [ForkLock<BookShard>; SHARDS] =
    [const { ForkLock::new(BookShard { rows: HashMap::with_hasher(BuildHasherDefault::new()), last: 0 }) };
        SHARDS];

/// # Invariants
///
/// 1. `header` is alive. If the allocation was listed when it was made (`since`), [`forget`]
///    removes the row under the lock before the owner frees the header. Otherwise a lease in
///    `leases` keeps the header alive, and [`forget_lease`] removes the row with the last of them,
///    under the lock, before that lease is released.
struct AllocationRow {
    header: NonNull<Header>,
    since: Option<Instant>,
    leases: LeaseRecords,
}

// SAFETY: AllocationRow 1: the header is alive while the row is in the table, and readers access
// its atomic and constant fields only (Header 4).
unsafe impl Send for AllocationRow {}

fn locked(shard: &'static ForkLock<BookShard>) -> MutexGuard<'static, BookShard> {
    shard.lock()
}

/// The locked shard of a header address.
fn shard_of(address: usize) -> MutexGuard<'static, BookShard> {
    // Headers are at least 64 bytes apart; the multiplication spreads addresses with a larger
    // alignment.
    let spread = (address as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    locked(&BOOK[(spread >> (u64::BITS - SHARDS.ilog2())) as usize])
}

/// Lists an allocation, unless there is no memory for its row.
#[cold]
#[inline(never)]
pub(crate) fn record(header: NonNull<Header>) {
    let address = header.as_ptr().addr();
    let mut shard = shard_of(address);
    if shard.rows.try_reserve(1).is_ok() {
        let row = AllocationRow { header, since: Some(Instant::now()), leases: LeaseRecords::new() };
        shard.rows.insert(address, row);
    } else {
        MISSED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Removes the row of an allocation that was listed when it was made.
pub(crate) fn forget(header: NonNull<Header>) {
    let address = header.as_ptr().addr();
    let row = shard_of(address).rows.remove(&address);
    drop(row);
}

/// Lists a lease and returns its number. `None` if there is no memory for its record.
///
/// # Safety
///
/// 1. `header` is valid, and its word counts the caller's lease.
/// 2. The caller passes the number to [`forget_lease`] while a lease or handle of its own still
///    keeps the header alive.
pub(crate) unsafe fn note_lease(header: NonNull<Header>, kind: LeaseKind) -> Option<NonZeroU32> {
    let number = shard_of(header.as_ptr().addr()).note(header, kind);
    if number.is_none() {
        MISSED.fetch_add(1, Ordering::Relaxed);
    }
    number
}

/// Adds a protocol to those by which a lease was exported.
#[cold]
#[inline(never)]
pub(crate) fn mark_lease(header: NonNull<Header>, number: NonZeroU32, protocol: Protocols) {
    let address = header.as_ptr().addr();
    if let Some(row) = shard_of(address).rows.get_mut(&address) {
        row.leases.mark(number, protocol);
    }
}

/// Removes the record of a lease that is about to be released.
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

/// The contents of a row, while its shard is locked: `read` takes no lock of this book.
pub(crate) struct LockedRow<'a> {
    pub(crate) header: &'a Header,
    /// When the allocation was made, if it was listed then.
    pub(crate) since: Option<Instant>,
    leases: &'a LeaseRecords,
}

impl LockedRow<'_> {
    /// The listed leases, unordered.
    pub(crate) fn holders(&self, now: Instant) -> Vec<Holder> {
        self.leases.holders(now).collect()
    }
}

/// Passes every row to `read`, unordered, one locked shard after another.
pub(crate) fn read(mut read: impl FnMut(LockedRow<'_>)) {
    for shard in &BOOK {
        for row in locked(shard).rows.values() {
            // SAFETY: AllocationRow 1: the row is in the table and the shard is locked, so the
            // header stays alive while `read` uses it.
            let header = unsafe { row.header.as_ref() };
            read(LockedRow { header, since: row.since, leases: &row.leases });
        }
    }
}

pub(crate) fn sort_oldest_first(holders: &mut [Holder]) {
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

impl BookShard {
    fn note(&mut self, header: NonNull<Header>, kind: LeaseKind) -> Option<NonZeroU32> {
        let address = header.as_ptr().addr();
        if let Some(row) = self.rows.get_mut(&address) {
            return row.leases.insert(&mut self.last, kind);
        }
        let mut leases = LeaseRecords::new();
        let number = leases.insert(&mut self.last, kind)?;
        self.rows.try_reserve(1).ok()?;
        self.rows.insert(address, AllocationRow { header, since: None, leases });
        Some(number)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::memory::LeaseKind;
    use crate::memory::handle::Handle;

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
                // SAFETY: clause 1 of `note_lease`: the lease was forgotten above, so the word
                // still counts it. Clause 2: `remove` calls `forget_lease` before it releases the
                // lease.
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
