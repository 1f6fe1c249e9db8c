//! Pools and the allocators of the crate `allocator-api2`: a pool over any allocator, and any pool
//! as an allocator.

mod over;
mod raw;
mod taken;
