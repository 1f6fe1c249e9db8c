//! Which allocations are alive, and who holds them: the answer to "why is this memory still alive?".
//!
//! Off, it costs one look at a flag for each allocation and each lease that is taken. On ([`switch_on`], or the environment
//! variable `CROSSDOCK_LEDGER`), it lists
//!
//! - every allocation that is made from then on, with its place, backing, pool, size and age;
//! - every lease that is taken from then on, of older allocations too, with its kind, the protocols by which it went out,
//!   and its age. A leaked lease stays listed, since it holds the memory for ever: that is what the
//!   ledger is for;
//! - for each of these allocations, the device work noted on it that access has to wait for. Work
//!   whose end is never signalled is found here, and ended by
//!   [`Signal::give_up`](crate::memory::device::Signal::give_up).
//!
//! The list is had as data ([`live`]) and as text ([`report`]); a refused lease names what is listed of those that stand in its
//! way ([`Conflict::holders`](crate::memory::Conflict::holders)).
//!
//! ```
//! use crossdock::memory::{Buffer, LeaseKind, ledger};
//! use crossdock::view::Request;
//! use crossdock::{Array, DArray};
//!
//! ledger::switch_on();
//! let array = DArray::from(Array::from_vec(vec![1i32, 2, 3], [3])?);
//! let address = array.as_ptr().addr();
//! let lent = crossdock::view(&array, Request::pin())?; // somewhere far away
//! drop(array);
//!
//! // Why is this memory still alive?
//! let entry = ledger::live().into_iter().find(|entry| entry.address == address).unwrap();
//! assert_eq!((entry.nbytes, entry.handles), (12, 0));
//! let holder = entry.holders[0];
//! assert_eq!(holder.kind, LeaseKind::Pin);
//! assert!(holder.to_string().starts_with("Pin lease, MemoryView, "));
//! assert!(ledger::report().to_string().contains(&format!("{address:#x}")));
//! # drop(lent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `CROSSDOCK_LEDGER`
//!
//! Set to anything but nothing and `0`, it switches the ledger on before the first allocation. It is read once, and a program
//! that has switched the ledger on or off before that has its way.
//!
//! # Cost
//!
//! On, each allocation and each lease takes one of 64 locks, chosen by the address, and reads the
//! clock. A refused lease visits only the leases of its own allocation. A row that cannot be
//! allocated is left out, and counted ([`missed`]).

mod book;
mod leases;
mod report;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use crate::memory::allocation::Birth;
use crate::memory::conflict::Protocols;
use crate::memory::device::UnderWay;
use crate::memory::place::{Backing, Place};
use crate::memory::word::LeaseKind;

pub(crate) use book::{forget, forget_lease, holders_of, mark_lease, note_lease, record};
pub use report::Report;
pub(crate) use report::{Age, Way};

const OFF: u8 = 0;
const ON: u8 = 1;
/// Nobody has asked yet: the environment decides.
const OPEN: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OPEN);
static MISSED: AtomicU64 = AtomicU64::new(0);
static FAILED_RELEASES: AtomicU64 = AtomicU64::new(0);

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
    /// The name of the pool that it came from, where it came from one.
    pub pool: Option<&'static str>,
    /// Who else may touch it.
    pub birth: Birth,
    /// How long ago it was made. `None`: before the ledger was on, and it is listed for the leases that were taken since.
    pub age: Option<Duration>,
    /// The number of its handles.
    pub handles: u64,
    /// The kind and number of Read, Share or Write leases on it.
    pub leases: Option<(LeaseKind, u64)>,
    /// The number of Pin leases on it.
    pub pins: u64,
    /// The protocols by which it was ever handed out.
    pub exported: Protocols,
    /// Those of its leases that were taken while the ledger was on, the oldest first.
    pub holders: Vec<Holder>,
    /// The device work noted on it, the oldest first.
    pub work: Vec<UnderWay>,
}

/// One lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// What it permits.
    pub kind: LeaseKind,
    /// The protocols by which it went out. None for a guard, and while an element is read or written.
    pub protocols: Protocols,
    /// How long ago it was taken.
    pub age: Duration,
}

/// Lists the allocations that are made, and the leases that are taken, from now on.
pub fn switch_on() {
    STATE.store(ON, Ordering::Relaxed);
}

/// Stops listing what is new. What is listed stays so until it is released or given back.
pub fn switch_off() {
    STATE.store(OFF, Ordering::Relaxed);
}

/// Whether new allocations and leases are listed.
#[inline]
pub fn is_on() -> bool {
    let state = STATE.load(Ordering::Relaxed);
    state != OFF && (state == ON || ask_environment())
}

/// Where the variable is set, its value is copied, in memory that is not asked for politely: once, before anything is made.
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

/// The listed live allocations, by address. O(n log n) in the number of allocations and holders.
///
/// An allocation that lives throughout the call is listed. Its fields were true at some moment
/// during the call: other threads take and release leases meanwhile.
pub fn live() -> Vec<Entry> {
    let mut entries = book::entries();
    entries.sort_unstable_by_key(|entry| entry.address);
    entries
}

/// What [`live`] lists, as a table: the largest first, the holders of each below it. O(n log n).
pub fn report() -> Report {
    Report::new(live(), missed(), is_on())
}

/// How many allocations and leases were left out for want of memory, since the process began.
pub fn missed() -> u64 {
    MISSED.load(Ordering::Relaxed)
}

/// How often the code of somebody else panicked in the middle of ours, since the process began: an owner that released its memory, an
/// allocator behind a pool, an event that was dropped, a listener of a logging pool. Such a panic goes no further.
pub fn failed_releases() -> u64 {
    FAILED_RELEASES.load(Ordering::Relaxed)
}

pub(crate) fn count_failed_release() {
    FAILED_RELEASES.fetch_add(1, Ordering::Relaxed);
}
