//! Work on strided elements. Takes raw pointers, layouts and dtypes, never an array.
//!
//! Everything here touches memory racily ([`crate::memory::racy`]), so that it may run under a Share or a Pin lease.

mod cast;
mod casting;
mod copy;
mod cpu;
mod hops;
mod records;
mod threads;

pub(crate) use cast::{cast, index_of};
pub use casting::Casting;
pub(crate) use copy::{Steps, copy, gather, load_bytes};
pub(crate) use hops::{element_at, follow};
pub(crate) use records::{Column, Gaps, convert, copy_columns};
