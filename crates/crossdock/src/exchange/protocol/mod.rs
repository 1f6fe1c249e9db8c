//! The protocols by which arrays change hands in memory.
//!
//! The pure halves of Python's buffer protocol and array interface are here too, for the wheel
//! alone: all of them needs an interpreter. Rust code hands Python arrays over by [`dlpack`] or
//! [`arrow`].

pub(crate) mod array_interface;
pub mod arrow;
pub mod dlpack;
pub mod memory_view;
pub(crate) mod pep3118;
pub mod shm;
