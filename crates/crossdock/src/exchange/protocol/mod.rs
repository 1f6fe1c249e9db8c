//! The protocols that exchange arrays in memory.
//!
//! Python's buffer protocol and array interface are here without their Python part, which needs an
//! interpreter: only the wheel uses them. Rust code exports arrays to Python by [`dlpack`] or
//! [`arrow`].

pub(crate) mod array_interface;
pub mod arrow;
#[cfg(unix)]
pub mod channel;
pub mod dlpack;
#[cfg(unix)]
pub mod hold;
pub mod memory_view;
pub(crate) mod pep3118;
#[cfg(unix)]
pub mod shm;
