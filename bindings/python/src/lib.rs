//! Crossdock for Python: the type `crossdock.Array`, and the functions that make one.
//!
//! The type is made of slots of our own, since what is handed over in nanoseconds cannot afford a general trampoline; the functions are
//! PyO3's. What the interpreter has no part in (formats, which request gets what, DLPack's structs) is the library's.

mod arguments;
mod buffer;
mod convert;
mod detach;
mod dlpack;
mod docstrings;
mod entry;
mod errors;
mod flags;
mod functions;
mod html;
mod import;
mod ledger;
mod memory;
mod methods;
mod moment;
mod nested;
mod object;
mod operators;
mod owner;
mod subscript;

use pyo3::prelude::*;

/// What is written in Rust of the package `crossdock`.
#[pymodule]
mod _crossdock {
    use super::*;

    #[pymodule_export]
    use super::functions::{array, asarray, empty, from_address, from_dlpack, full, open, zeros};

    #[pymodule_export]
    use super::ledger::ledger;

    #[pymodule_export]
    use super::memory::Bytes;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("Array", object::make_type(module.py())?)
    }
}
