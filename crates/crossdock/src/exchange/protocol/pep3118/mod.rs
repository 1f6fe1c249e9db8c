//! Python's buffer protocol, without Python: the answer to a consumer's request, and its lease.
//!
//! The struct itself, `Py_buffer`, holds a reference to a Python object, so the wheel, which has an
//! interpreter, fills it in. This module decides: [`Flags::given`], which parts of the description
//! a consumer gets, or why its request is refused; [`lend`], which returns the [`ExportLease`] that
//! lives until the consumer releases the buffer; [`import`](import()), the one check of a
//! producer's description; and the formats, which are
//! [`element::dialect::pep3118`](crate::element::dialect::pep3118).
//!
//! CPython's [tests](https://github.com/python/cpython/blob/main/Modules/_testbuffer.c) have a
//! reference exporter; tests compare every answer with its answer.

mod export;
mod flags;
mod import;

pub use export::lend;
pub use flags::{Flags, Given};
pub use import::Described;

pub use crate::view::export_lease::ExportLease;
pub use crate::view::located::{import, import_to};
