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
//!
//! # Threads, forks and signals
//!
//! Handles, guards and views may move to any thread. A release runs on the thread that drops the
//! last handle or lease. CPU access to memory with in-flight device work waits for that work. User
//! code (an owner's release, an event, a device factory, an allocator, a deleter) runs while the
//! library holds no lock.
//!
//! Locks that outlive a call are held across `fork`, so that the child finds them free. The
//! library's threads (one for cached blocks, one for device work, and with the feature `threads`
//! the helpers of large work) exist only while there is work, and block all signals but those of
//! their own faults. The `SIGBUS` handler is installed when a map asks to be guarded.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `word.rs` | the lease word, which alone decides who may access the memory |
//! | `header.rs`, `handle.rs`, `lease.rs`, `release.rs`, `nested.rs` | who frees memory, and when |
//! | `owner/` | one file for each kind of owner; seals of shared memory are in `shared.rs` |
//! | `work.rs` | the device work that an allocation waits for |
//! | `racy/` | the only accesses to bytes that another thread or process may write |
//! | `overlap/` | the only decision whether two operands share bytes |
//! | `os/` | the only calls of the system |
//! | `memfd.rs` | new shared memory |
//! | `shareable.rs`, `publish.rs` | memory of pools whose descriptor can leave the process later |
//! | `copied.rs` | the only counter of copied bytes |
//! | `thread_index.rs`, `index_set.rs` | an index for each thread, and so counters without sharing |
//! | `book/` | live allocations and leases, which the ledger reads |
//! | `fork.rs`, `thread.rs`, `fault.rs` | locks across forks, threads, the `SIGBUS` guard |

mod access;
mod allocation;
pub(crate) mod book;
mod brief_lease;
mod conflict;
pub(crate) mod copied;
pub(crate) mod fault;
pub(crate) mod fork;
pub(crate) mod handle;
pub(crate) mod header;
pub(crate) mod holder;
pub(crate) mod index_set;
pub(crate) mod lease;
pub(crate) mod memfd;
#[cfg(all(test, loom))]
mod model;
mod nested;
pub(crate) mod os;
pub(crate) mod overlap;
pub(crate) mod owner;
mod place;
mod pod;
mod protocols;
mod publish;
pub(crate) mod racy;
pub(crate) mod release;
pub(crate) mod shareable;
pub(crate) mod sync;
pub(crate) mod thread;
pub(crate) mod thread_index;
mod word;
pub(crate) mod work;

pub(crate) use access::{exclusive, lease, lease_at_once, no_access};
pub use allocation::Allocation;
pub(crate) use brief_lease::BriefLease;
pub use conflict::{Conflict, Wanted};
pub(crate) use copied::count_copied;
pub use copied::{copied_bytes, copied_bytes_here};
pub(crate) use handle::Handle;
pub use header::Birth;
pub(crate) use lease::Lease;
pub use owner::MapOptions;
pub use place::{Backing, DeviceKind, Place, default_place, set_default_place};
pub use pod::Pod;
pub use protocols::Protocols;
pub(crate) use publish::publish;
pub use racy::{Pinned, Shared};
pub use word::LeaseKind;
