//! A driver of CUDA without a GPU, for tests: a library that a program loads in the driver's place.
//!
//! What is done through it really happens, in memory of the host. Addresses of device memory fault when the processor touches them; the
//! bytes are in pages beside, known to the driver alone. Streams are asynchronous, a thread each, and can be held back. Kernels are the
//! library's own, compiled for the host, whose work-items are fibers. The driver counts calls and what is alive, fails at what it is told
//! to fail at, and notes whatever a program does that the real one punishes or leaves undefined: a wrong pointer, memory freed twice or
//! used after that, a stream or an event that is gone, a call without a context.
//!
//! It says nothing of speed, and it is more lenient than a GPU in one thing: nothing is cached, hence nothing stale.
//!
//! The same source is two libraries: the driver, and what tests use to talk to it, [`Mock`].

mod abi;
mod call;
mod config;
mod control;
mod counts;
mod current;
mod driver;
mod lacking;
mod memory;
mod mock;
mod module;
mod pages;
mod queue;
mod state;
mod status;
mod transfer;

pub use mock::{HeldBack, Live, Mock, Paused};
pub use status::Status;
