//! Measurement of Crossdock: for the benchmarks, which compare it with peers, and for the command,
//! which measures the user's machine.
//!
//! ```text
//!   WORKS ──> Task ──> Engine ──> Case ──> compare ──> Figure ──> record
//! ```
//!
//! A [`Work`] is data. [`Task::new`] creates its arrays, and an [`Engine`] (Crossdock, `memcpy`, a
//! peer) performs or declines it. [`compare`] measures several [`Case`]s in turn. A [`Figure`] has
//! a unit, ratios to peers, and a bound to reach; [`record`] stores it in a file.

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
pub use self::engine::{
    BEST_COPY, BEST_COPY_TWO, BestCopy, Crossdock, Engine, Into, Job, MEMCPY, MEMSET, Memcpy, Memset,
};
pub use self::figure::{Figure, Reach, Scale, Unit};
pub use self::rounds::{Contender, LONG_SAMPLE, Limits, SAMPLE, median, ratio, rounds};
pub use self::task::Task;
pub use self::work::{DEVICE_WORKS, Operation, Section, WORKS, Work, WorkReach};

/// An error during a measurement ends it, with a sentence.
pub type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;
