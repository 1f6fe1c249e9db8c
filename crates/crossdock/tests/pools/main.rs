//! Pools against a model: usage, limits, and lifetimes, in any order and on any thread.

#[cfg(feature = "allocator-api2-0_2")]
mod allocators;
#[cfg_attr(feature = "allocator-api2-0_2", path = "counting.rs")]
#[cfg_attr(not(feature = "allocator-api2-0_2"), path = "uncounted.rs")]
mod counting;
mod limits;
mod schedule;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossdock::pool::Pool;
use crossdock_testkit::cases;

/// A pool without a parent.
struct Root {
    pool: Pool,
    /// The bytes that it has from its allocator, if that counts them; the allocator has the other
    /// handle.
    outstanding: Option<Arc<AtomicU64>>,
    has_cache: bool,
}
