//! What drivers are written with: the in-flight work of a queue, and what it holds until it is
//! over.
//!
//! A driver does work by itself, after the call that asked for it, and signals its end by an event
//! of its own. It releases nothing that the library holds. [`DriverQueue`] puts the two together:
//! it keeps what the work needs ([`Held`]: a [`Transfer`](crate::device::Transfer), a
//! [`Work`](crate::device::engine::Work), or one of them with a value beside), and returns an
//! [`Event`](crate::device::Event) that has released it when it says that the work is over.
//!
//! Devices that do their work while the caller waits need none of this. Devices whose work is done
//! by a thread of this process use [`Signal`](crate::device::Signal) as the driver's event.
//!
//! A driver that is loaded into a process does not survive a fork: [`generation`] tells a child
//! from its parent, and a [`ForkLock`] is for what both may ask, such as why the driver cannot be
//! loaded. What goes wrong where no caller can be told, such as in a drop, goes to
//! [`report_release_error`]. Host memory that is only pinned or shared may be written meanwhile by
//! another thread, and is copied by [`racy_copy`].

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
