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
//!   [`Signal::give_up`](crate::device::Signal::give_up).
//!
//! The list is had as data ([`live`]) and as text ([`report`]); a refused lease names what is listed of those that stand in its
//! way ([`Conflict::holders`](crate::memory::Conflict::holders)).
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
/// during the call: other threads take and release leases meanwhile.
pub fn live() -> Vec<Entry> {
    let mut entries = entry::entries();
    entry::sort(&mut entries, |a, b| a.address.cmp(&b.address));
    entries
}

/// What [`live`] lists, as a table: the largest first, the holders of each below it. O(n log n).
pub fn report() -> Report {
    Report::new(live(), missed(), is_on())
}
