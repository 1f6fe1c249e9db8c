//! Regions of bytes with an owner and a place, and the leases that permit access. Knows no shapes.
//!
//! ```text
//!   Vec · static · file · shared memory · foreign pointer · what the layers above bring     owners: who frees it
//!        └────────────┬──────────────┘
//!                Allocation        one region, one owner, one word that counts handles and leases
//! ```
//!
//! The layers above make windows on regions ([`buffer`](crate::buffer)), allocate regions from
//! pools ([`pool`](crate::pool)), and place them on devices ([`device`](crate::device)).

mod access;
mod allocation;
pub(crate) mod book;
mod conflict;
pub(crate) mod copied;
pub(crate) mod fault;
pub(crate) mod fork;
mod glance;
pub(crate) mod handle;
pub(crate) mod header;
pub(crate) mod holder;
pub(crate) mod lease;
#[cfg(all(test, loom))]
mod model;
pub(crate) mod overlap;
pub(crate) mod owner;
mod place;
mod pod;
mod protocols;
pub(crate) mod racy;
pub(crate) mod release;
pub(crate) mod sync;
pub(crate) mod thread;
mod unload;
mod word;
pub(crate) mod work;

pub(crate) use access::{exclusive, lease, lease_at_once, no_access};
pub use allocation::Allocation;
pub use conflict::{Conflict, Wanted};
pub(crate) use copied::count_copied;
pub use copied::{copied_bytes, copied_bytes_here};
pub(crate) use glance::Glance;
pub(crate) use handle::Handle;
pub use header::Birth;
pub(crate) use lease::Lease;
pub use owner::MapOptions;
pub use place::{Backing, DeviceKind, Place, default_place, set_default_place};
pub use pod::Pod;
pub use protocols::Protocols;
pub use racy::{Pinned, Shared};
pub use word::LeaseKind;
