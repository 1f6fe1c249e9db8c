//! Lists live allocations and their holders: the answer to "why is this memory still alive?".
//!
//! While off, it costs one load of a flag for each allocation and each lease. While on
//! ([`switch_on`], or the environment variable `CROSSDOCK_LEDGER`), it lists
//!
//! - every allocation made from then on, with its place, backing, pool, size and age;
//! - every lease taken from then on, of older allocations too, with its kind, the protocols by
//!   which it was exported, and its age. A leaked lease stays listed, since it holds the memory for
//!   ever: finding it is the purpose of the ledger;
//! - for each of these allocations, the device work noted on it that access has to wait for. Work
//!   whose end is never signalled appears here, and
//!   [`Signal::give_up`](crate::device::Signal::give_up) ends it.
//!
//! The list is available as data ([`live`]) and as text ([`report`]). A refused lease names the
//! listed leases that caused the refusal ([`Conflict::holders`](crate::memory::Conflict::holders)).
//!
//! ```
//! use crossdock::buffer::Buffer;
//! use crossdock::ledger;
//! use crossdock::memory::LeaseKind;
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
//! assert!(holder.to_string().starts_with("pin lease, MemoryView, "));
//! assert!(ledger::report().to_string().contains(&format!("{address:#x}")));
//! # drop(lent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # `CROSSDOCK_LEDGER`
//!
//! Any value except an empty one and `0` switches the ledger on before the first allocation. It is
//! read once; a program that has already switched the ledger on or off takes precedence.
//!
//! # Cost
//!
//! On, each allocation and each lease takes one of 64 locks, chosen by the address, and reads the
//! clock. A refused lease visits only the leases of its own allocation. A row that cannot be
//! allocated is left out, and counted ([`missed`]).

mod entry;
mod report;

pub use crate::memory::book::{is_on, missed, switch_off, switch_on};
pub use crate::memory::holder::Holder;
pub use crate::memory::release::failed_releases;
pub use entry::Entry;
pub use report::Report;

/// The listed live allocations, by address. O(n log n) in the number of allocations and holders.
///
/// An allocation that lives throughout the call is listed. Its fields were true at some moment
/// during the call, since other threads take and release leases meanwhile.
pub fn live() -> Vec<Entry> {
    let mut entries = entry::entries();
    entry::sort(&mut entries, |a, b| a.address.cmp(&b.address));
    entries
}

/// The list of [`live`] as a table: the largest first, with its holders below it. O(n log n).
pub fn report() -> Report {
    Report::new(live(), missed(), is_on())
}
