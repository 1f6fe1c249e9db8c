//! Python's buffer protocol, without Python: what a consumer is given, and under which lease.
//!
//! The struct itself, `Py_buffer`, holds a reference to a Python object, so that filling it in belongs to the wheel, which has an
//! interpreter. What there is to decide is decided here: [`Flags::given`], which parts of the description a consumer gets or why it
//! is refused; [`lend`], which gives the [`Loan`] that is held until the consumer releases the buffer; [`import`](import()), the one check of what
//! others fill in; and the formats, which are [`element::dialect::pep3118`](crate::element::dialect::pep3118).
//!
//! The [tests](https://github.com/python/cpython/blob/main/Modules/_testbuffer.c) of CPython have a reference exporter; every answer is
//! compared with its.

mod export;
mod flags;
mod import;

pub use export::lend;
pub use flags::{Flags, Given};
pub use import::Described;

pub use crate::view::loan::Loan;
pub use crate::view::located::{import, import_to};
