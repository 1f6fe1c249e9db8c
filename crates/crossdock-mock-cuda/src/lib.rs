//! A CUDA driver without a GPU, for tests: a library that a program loads instead of the real
//! driver.
//!
//! Its operations really happen, in host memory. Device addresses fault when the CPU accesses them;
//! the bytes are in separate pages that only the driver knows. Streams are asynchronous, one thread
//! each, and can be held back. Kernels are the library's own, compiled for the host, with fibers as
//! work-items. The driver counts calls and live objects, fails on request, and records misuse that
//! the real driver punishes or leaves undefined: a wrong pointer, a double free, a use after free,
//! a destroyed stream or event, a call without a context.
//!
//! It says nothing about speed. It is more lenient than a GPU in one respect: it has no caches, so
//! no data is stale.
//!
//! The same source builds two libraries: the driver, and [`Mock`], by which tests control it.

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
mod virtual_memory;

pub use mock::{HeldBack, Live, Mock, Paused};
pub use status::Status;
