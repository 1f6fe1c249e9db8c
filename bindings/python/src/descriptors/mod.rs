//! Descriptors, by which other processes map memory, on the systems that have them. Elsewhere,
//! `multiprocessing` sends the bytes of arrays and tables, as any pickle has them.

#[cfg(unix)]
mod device;
#[cfg(not(unix))]
mod none;
#[cfg(unix)]
mod posix;

#[cfg(unix)]
pub(crate) use crossdock_cuda::has_descriptor;
#[cfg(not(unix))]
pub(crate) use none::{has_descriptor, register};
#[cfg(unix)]
pub(crate) use posix::{_lend, _map, _offer, _take, duplicated, register};
