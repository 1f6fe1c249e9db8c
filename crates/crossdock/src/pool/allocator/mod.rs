//! Pools and the allocators of the crate `allocator-api2`: a pool over any of them, and any pool as one of them.

mod over;
mod raw;
mod taken;
