//! What is listed: a row for each allocation, and in it a record for each lease.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::memory::allocation::Header;
use crate::memory::conflict::Protocols;
use crate::memory::fork::ForkLock;
use crate::memory::ledger::{Entry, Holder, MISSED};
use crate::memory::pool;
use crate::memory::word::LeaseKind;

/// Not a tree: a table can be asked to grow, and say no.
type Table<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// By the address of the header.
type Rows = Table<usize, Row>;

struct Book {
    rows: Rows,
    /// The number of the last lease that was noted.
    last: u32,
}

static BOOK: ForkLock<Book> = ForkLock::new(Book { rows: new_table(), last: 0 });

/// # Invariants
///
/// 1. `header` is alive. Of an allocation that was listed when it was made (`since`), [`forget`] takes the row out, under the
///    lock, before its owner frees the header. Any other has a lease in `leases`, which keeps the header alive, and
///    [`forget_lease`] takes the row out with the last of them, under the lock, before that is given back.
struct Row {
    header: NonNull<Header>,
    since: Option<Instant>,
    /// By number.
    leases: Table<u32, Record>,
}

struct Record {
    kind: LeaseKind,
    protocols: Protocols,
    since: Instant,
}

// SAFETY: Row 1: the header is alive while the row is in the table, and what is read of it is atomic or constant.
unsafe impl Send for Row {}

const fn new_table<K, V>() -> Table<K, V> {
    HashMap::with_hasher(BuildHasherDefault::new())
}

fn book() -> MutexGuard<'static, Book> {
    // SAFETY: a static stays where it is.
    unsafe { BOOK.lock() }
}

/// Lists an allocation. One for whose row there is no memory is left out.
#[cold]
#[inline(never)]
pub(crate) fn record(header: NonNull<Header>) {
    let mut book = book();
    if book.rows.try_reserve(1).is_ok() {
        let row = Row { header, since: Some(Instant::now()), leases: new_table() };
        book.rows.insert(header.as_ptr().addr(), row);
    } else {
        MISSED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes an allocation out that was listed when it was made.
pub(crate) fn forget(header: NonNull<Header>) {
    let row = book().rows.remove(&header.as_ptr().addr());
    drop(row);
}

/// Lists a lease, and answers with its number. One for which there is no memory is left out, and has none.
///
/// # Safety
///
/// The caller has the lease, and hands its number to [`forget_lease`] before it gives the lease back.
pub(crate) unsafe fn note_lease(header: NonNull<Header>, kind: LeaseKind) -> Option<NonZeroU32> {
    let number = book().note(header, kind);
    if number.is_none() {
        MISSED.fetch_add(1, Ordering::Relaxed);
    }
    number
}

/// Adds a protocol to those by which a lease went out.
#[cold]
#[inline(never)]
pub(crate) fn mark_lease(header: NonNull<Header>, number: NonZeroU32, protocol: Protocols) {
    let mut book = book();
    let row = book.rows.get_mut(&header.as_ptr().addr());
    if let Some(record) = row.and_then(|row| row.leases.get_mut(&number.get())) {
        record.protocols = Protocols(record.protocols.0 | protocol.0);
    }
}

/// Takes a lease out that is about to be given back.
#[cold]
#[inline(never)]
pub(crate) fn forget_lease(header: NonNull<Header>, number: NonZeroU32) {
    let address = header.as_ptr().addr();
    let mut book = book();
    let Some(row) = book.rows.get_mut(&address) else { return };
    row.leases.remove(&number.get());
    if row.since.is_none() && row.leases.is_empty() {
        book.rows.remove(&address);
    }
}

/// The leases of an allocation that are listed, the oldest first; none where there is no memory to say it.
pub(crate) fn holders_of(header: &Header) -> Vec<Holder> {
    let address = std::ptr::from_ref(header).addr();
    let mut holders = Vec::new();
    let book = book();
    let Some(row) = book.rows.get(&address) else { return holders };
    if holders.try_reserve_exact(row.leases.len()).is_ok() {
        row.list_holders(Instant::now(), &mut holders);
    }
    holders
}

/// Every row, in no order.
pub(crate) fn entries() -> Vec<Entry> {
    let book = book();
    let now = Instant::now();
    book.rows.values().map(|row| row.entry(now)).collect()
}

impl Book {
    fn note(&mut self, header: NonNull<Header>, kind: LeaseKind) -> Option<NonZeroU32> {
        let record = Record { kind, protocols: Protocols::NONE, since: Instant::now() };
        let address = header.as_ptr().addr();
        let number = if let Some(row) = self.rows.get_mut(&address) {
            let number = next_number(&mut self.last, &row.leases);
            row.leases.try_reserve(1).ok()?;
            row.leases.insert(number.get(), record);
            number
        } else {
            let mut leases = new_table();
            let number = next_number(&mut self.last, &leases);
            leases.try_reserve(1).ok()?;
            self.rows.try_reserve(1).ok()?;
            leases.insert(number.get(), record);
            self.rows.insert(address, Row { header, since: None, leases });
            number
        };
        Some(number)
    }
}

/// A number that no lease of this table has. They come round again after 2³² leases, of which a few may still be held.
fn next_number(last: &mut u32, leases: &Table<u32, Record>) -> NonZeroU32 {
    loop {
        *last = last.wrapping_add(1);
        if let Some(number) = NonZeroU32::new(*last).filter(|number| !leases.contains_key(&number.get())) {
            return number;
        }
    }
}

impl Row {
    fn entry(&self, now: Instant) -> Entry {
        // SAFETY: Row 1, and the caller, who has the row, has the lock.
        let header = unsafe { self.header.as_ref() };
        let reading = header.reading();
        let mut holders = Vec::with_capacity(self.leases.len());
        self.list_holders(now, &mut holders);
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
            holders,
        }
    }

    fn list_holders(&self, now: Instant, holders: &mut Vec<Holder>) {
        holders.extend(self.leases.values().map(|record| Holder {
            kind: record.kind,
            protocols: record.protocols,
            age: now.saturating_duration_since(record.since),
        }));
        holders.sort_unstable_by_key(|holder| std::cmp::Reverse(holder.age));
    }
}

/// The pool that an allocation came from. Called under the ledger's lock: it takes none.
fn pool_name(header: &Header) -> Option<&'static str> {
    pool::describe(header).map(|(_, name)| name)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_round_and_leave_out_nothing_and_those_still_held() {
        let mut leases = new_table();
        for held in [u32::MAX, 1, 2] {
            let record = Record { kind: LeaseKind::Pin, protocols: Protocols::NONE, since: Instant::now() };
            leases.insert(held, record);
        }
        let mut last = u32::MAX - 2;
        let numbers: Vec<u32> = (0..3).map(|_| next_number(&mut last, &leases).get()).collect();
        assert_eq!(numbers, [u32::MAX - 1, 3, 4]);
    }
}
