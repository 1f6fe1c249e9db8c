//! Bytes with an owner and a place. Knows nothing of shapes.
//!
//! ```text
//!   pool · Vec · static · file · shared memory · foreign pointer          owners: who frees it
//!        └────────────┬──────────────┘
//!                Allocation        one region, one owner, one word that counts handles and leases
//!                     │
//!                  Buffer          a window: handle, pointer, length. O(1) to clone and slice
//!                     │
//!        read · write · share · pin          guards: a lease, and the access that it gives
//!                     │
//!         io: readers and writers            a guard and a position: std's streams, and positional access
//! ```

mod allocation;
mod bitmap;
mod borrowed;
mod buffer;
mod bytes;
mod cache;
mod conflict;
mod copied;
pub mod device;
mod fault;
pub(crate) mod fork;
mod glance;
mod guard;
mod hints;
pub mod io;
pub mod ledger;
mod look;
mod mapped;
#[cfg(all(test, loom))]
mod model;
mod mutable;
pub(crate) mod overlap;
mod owned;
mod owner;
mod place;
mod pod;
mod pool;
pub mod racy;
mod sync;
mod thread;
mod unload;
mod vector;
mod word;

pub use allocation::Birth;
pub(crate) use allocation::{Handle, Lease};
pub use bitmap::BitmapBuilder;
pub use borrowed::{BufferView, BufferViewMut};
pub use buffer::Buffer;
pub(crate) use buffer::{exclusive, lease, lease_at_once};
pub use conflict::{Conflict, Protocols, Wanted};
pub use copied::{copied_bytes, copied_bytes_here, count_copied};
pub(crate) use glance::Glance;
pub use guard::{PinGuard, ReadGuard, ShareGuard, WriteGuard};
pub use hints::Hints;
pub use mutable::{BufferBuilder, MutableBuffer};
pub use owned::{Allocation, default_place, set_default_place};
pub use owner::MapOptions;
pub use place::{Backing, DeviceKind, Place};
pub use pod::Pod;
pub(crate) use pool::slot;
pub use pool::{ALIGNMENT, AllocOptions, Damage, Pool, Statistics, UninitBuffer, take_damage};
pub use word::LeaseKind;
