//! What Crossdock is measured by, and how: for the benchmarks, which put peers beside it, and for the command, which shows a
//! user what the machine at hand makes of it.
//!
//! ```text
//!   WORKS ──> Task ──> Engine ──> Case ──> compare ──> Figure ──> record
//! ```
//!
//! A [`Work`] is data. [`Task::new`] makes arrays of it, and an [`Engine`] (ours, `memcpy`, a peer)
//! does it or declines. [`compare`] takes the time of several [`Case`]s in turn. A [`Figure`] has a
//! unit, ratios to peers and what it should reach; [`record`] keeps it in a file.

pub mod bandwidth;
mod comparison;
mod device;
mod engine;
mod figure;
pub mod machine;
mod numbers;
pub mod record;
mod rounds;
mod task;
mod work;

use std::error::Error;

pub use self::comparison::{Case, compare};
pub use self::device::{DeviceCopy, Link, OnDevice, links};
pub use self::engine::{Crossdock, Engine, Into, Job, MEMCPY, MEMSET, Memcpy, Memset};
pub use self::figure::{Figure, Reach, Scale, Unit};
pub use self::rounds::{Contender, LONG_SAMPLE, Limits, SAMPLE, median, ratio, rounds};
pub use self::task::Task;
pub use self::work::{DEVICE_WORKS, Operation, Section, WORKS, Work, WorkReach};

/// What goes wrong while measuring ends it, with a sentence.
pub type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;
