//! Which allocations are alive, for whoever asks why.
//!
//! Off by default, when it costs one load of a flag for each allocation made. Switched on, it lists the allocations made
//! from then on.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ptr::NonNull;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::memory::allocation::{Birth, Header};
use crate::memory::conflict::Protocols;
use crate::memory::fork::ForkLock;
use crate::memory::place::{Backing, Place};
use crate::memory::word::LeaseKind;

static ON: AtomicBool = AtomicBool::new(false);
static FAILED_RELEASES: AtomicU64 = AtomicU64::new(0);
static LIVE: ForkLock<Rows> = ForkLock::new(HashMap::with_hasher(BuildHasherDefault::new()));

/// By the address of the header. Not a tree: a table can be asked to grow, and say no.
type Rows = HashMap<usize, Row, BuildHasherDefault<DefaultHasher>>;

/// # Invariants
///
/// 1. `header` is alive: [`forget`] takes the row out, under the lock, before its owner frees the header.
struct Row {
    header: NonNull<Header>,
    since: Instant,
}

// SAFETY: Row 1: the header is alive while the row is in the table, and what is read of it is atomic or constant.
unsafe impl Send for Row {}

/// One live allocation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Where it begins: an address of its place.
    pub address: usize,
    /// Its size in bytes.
    pub nbytes: usize,
    /// The device.
    pub place: Place,
    /// What stands behind it.
    pub backing: Backing,
    /// Who else may touch it.
    pub birth: Birth,
    /// How long ago it was made.
    pub age: Duration,
    /// The number of its handles.
    pub handles: u64,
    /// The kind and number of Read, Share or Write leases on it.
    pub leases: Option<(LeaseKind, u64)>,
    /// The number of Pin leases on it.
    pub pins: u64,
    /// The protocols by which it was ever handed out.
    pub exported: Protocols,
}

/// Lists the allocations that are made from now on. One for whose row there is no memory is left out.
pub fn switch_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Stops listing new allocations. Those that are listed stay so until they are released.
pub fn switch_off() {
    ON.store(false, Ordering::Relaxed);
}

/// The listed allocations that are alive, by address. O(n) in their number.
pub fn live() -> Vec<Entry> {
    let mut entries: Vec<Entry> = rows()
        .values()
        .map(|row| {
            // SAFETY: Row 1, and the lock is held.
            let header = unsafe { row.header.as_ref() };
            let reading = header.reading();
            Entry {
                address: header.ptr().as_ptr().addr(),
                nbytes: header.nbytes(),
                place: header.place(),
                backing: header.backing(),
                birth: header.birth(),
                age: row.since.elapsed(),
                handles: reading.handles(),
                leases: reading.leases(),
                pins: reading.pins(),
                exported: header.exported(),
            }
        })
        .collect();
    entries.sort_unstable_by_key(|entry| entry.address);
    entries
}

/// How many owners panicked while they released their memory, since the process began. Such a panic goes no further.
pub fn failed_releases() -> u64 {
    FAILED_RELEASES.load(Ordering::Relaxed)
}

#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

pub(crate) fn record(header: NonNull<Header>) {
    let mut rows = rows();
    if rows.try_reserve(1).is_ok() {
        rows.insert(header.as_ptr().addr(), Row { header, since: Instant::now() });
    }
}

pub(crate) fn forget(header: NonNull<Header>) {
    rows().remove(&header.as_ptr().addr());
}

pub(crate) fn count_failed_release() {
    FAILED_RELEASES.fetch_add(1, Ordering::Relaxed);
}

fn rows() -> MutexGuard<'static, Rows> {
    // SAFETY: a static stays where it is.
    unsafe { LIVE.lock() }
}
