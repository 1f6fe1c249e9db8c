//! WebAssembly with WASI: one thread, memory of the allocator, and files that are read into it.

pub(crate) mod files;
pub(crate) mod pages;
pub(crate) mod process;
pub(crate) mod threads;
