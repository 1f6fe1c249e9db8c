//! New memory: pools, their blocks and their statistics.
//!
//! ```text
//!   Pool ── account ── account ── … ── source      a chain: limits and statistics on the way, memory at the end
//!              │ charged for
//!            Block ──> UninitBuffer, MutableBuffer ──> Buffer      made by the layer above
//! ```
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `account.rs`, `source.rs` | the chain of accounts, and the source at its end |
//! | `block.rs` | one block and its header |
//! | `charge.rs` | the amount in use, the limit, and the credit that threads keep |
//! | `thread_cache.rs`, `counters.rs` | state of each thread |
//! | `mapped.rs`, `cache/` | large blocks, and the thread that returns free ones to the system |
//! | `shareable.rs`, `raw.rs` | blocks that other processes can map later; those of another library |
//! | `debug.rs` | guard bytes and patterns of debug mode |

mod account;
#[cfg(feature = "allocator-api2-0_2")]
mod allocator;
mod block;
mod cache;
mod charge;
mod counters;
mod debug;
mod form;
mod hints;
mod log;
mod mapped;
#[cfg(all(test, loom))]
mod model;
mod options;
mod plain;
#[expect(clippy::module_inception, reason = "a file is named after the type that it defines")]
mod pool;
pub(crate) mod raw;
mod resize;
mod shareable;
mod source;
mod thread_cache;

pub(crate) use block::{Block, describe, is_block};
pub use counters::Statistics;
pub use debug::{Damage, take_damage};
pub use form::ALIGNMENT;
pub use hints::Hints;
pub use options::AllocOptions;
pub use pool::Pool;
pub(crate) use pool::take_default;
