//! Tools for writing drivers: the in-flight work of a queue, and the values that it holds until it
//! is done.
//!
//! A driver runs work asynchronously, and signals its end by its own event. It does not release the
//! library's memory. [`DriverQueue`] connects the two: it keeps the values that the work needs
//! ([`Held`]: a [`Transfer`](crate::device::Transfer), a [`Work`](crate::device::engine::Work), or
//! one of them with another value), and returns an [`Event`](crate::device::Event) that has
//! released them when it reports that the work is done.
//!
//! Synchronous devices need none of this. Devices whose work runs on a thread of this process use
//! [`Signal`](crate::device::Signal) as the driver's event.
//!
//! A driver that is loaded into a process does not survive a fork: [`generation`] tells a child
//! from its parent, and a [`ForkLock`] protects state that both may use, such as the reason why the
//! driver cannot be loaded. [`report_release_error`] takes errors that no call can return, such as
//! those of a drop. [`racy_copy`] copies host memory under Pin or Share, which another thread may
//! write meanwhile.

mod finisher;
mod held;
mod queue;
#[cfg(test)]
mod tests;

pub use crate::device::adopt::report_release_error;
pub use crate::memory::fork::{CallsOut, ForkLock, generation};
pub use crate::memory::racy::copy as racy_copy;
pub use held::Held;
pub use queue::DriverQueue;
