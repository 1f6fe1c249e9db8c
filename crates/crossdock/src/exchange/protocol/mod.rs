//! The protocols by which arrays change hands in memory.

pub mod array_interface;
pub mod arrow;
pub mod dlpack;
pub mod memory_view;
pub mod pep3118;
pub mod shm;
