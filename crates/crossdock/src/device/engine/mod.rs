//! Strided work on a device: the work's description, and the trait of engines.
//!
//! ```text
//!   array.to_order(…) · cast · fill · assign           on memory that the processor does not address
//!       │
//!   the library plans: sorted, merged and aligned loops, cut into Steps
//!       │
//!   Work     Steps, and the leases of the memory that they touch
//!       │
//!   Engine   of a device: does the Work now, or puts it into a Stream and returns the event of its end
//! ```
//!
//! The library knows layouts and dtypes; an engine knows neither. A [`Step`] is a copy of bytes, a
//! copy of rows, or one launch of a [`Kernel`]. The kernels are text ([`Program::source`]) in C
//! with a dozen macros, which compilers of OpenCL C 1.2, CUDA C++ and C++17 accept. All kernels
//! have the same four parameters: the pointers `to`, `from` and `refused`, and a [`Job`] by value.
//! So an engine compiles the text once, finds a kernel by its [name](Kernel::name), and launches
//! it: about fifty lines.
//!
//! A memory manager names its engine by [`MemoryManager::engine`]. `docs/device.md` shows a
//! whole device with an engine.

mod job;
mod step;
mod work;

use std::fmt;
use std::sync::Arc;

use crate::device::{DeviceLease, Event, MemoryManager, Stream};
use crate::error::{Error, Result};

pub(crate) use job::{AT_ONCE, JobAxis, MOST_AXES, MOST_STEPS, NONE_REFUSED};
pub use job::{Job, Kernel, Program};
pub use step::{Pitched, Rows, Start, Step};
pub use work::Work;

/// Does strided work in the memory of a device.
///
/// Any thread may call any method at any time.
pub trait Engine: Send + Sync + fmt::Debug {
    /// The position at which a kernel finds the first byte of this memory.
    ///
    /// # Errors
    ///
    /// `is_place` for memory that this engine does not reach.
    fn start(&self, lease: &DeviceLease) -> Result<Start>;

    /// Runs the steps in order, and returns when they are done. The caller releases the leases.
    ///
    /// # Errors
    ///
    /// The device's errors. Then no part of the work is in flight.
    fn run(&self, work: &Work) -> Result<()>;

    /// Whether it can enqueue work in the stream.
    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        let _ = stream;
        false
    }

    /// Enqueues work in a stream for which [`Engine::can_enqueue`] is true, and returns the event
    /// of its end. When the steps are done, and before the event reports that, the work's leases
    /// are released: by the [`DriverQueue`](crate::device::driver::DriverQueue) that holds the
    /// work, or by [`Work::complete`].
    ///
    /// # Errors
    ///
    /// The device's errors. Then no part of the work is in flight.
    fn enqueue(&self, work: Work, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        drop(work);
        Err(Error::unsupported(format!("{self:?} cannot run work in {stream:?}")))
    }

    /// Whether its kernels reach memory of this manager.
    fn reaches(&self, memory: &dyn MemoryManager) -> bool;
}
