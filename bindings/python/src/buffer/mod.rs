//! The buffer protocol (PEP 3118), both ways.

mod export;
mod exports;
mod import;

pub(crate) use export::{get, release};
pub(crate) use exports::Exports;
pub(crate) use import::{bytes_of, is_offered, lend, lend_to};
