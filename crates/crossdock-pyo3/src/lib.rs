//! Arguments and results of PyO3 functions that are arrays of any Python library.
//!
//! An argument type imports an array by the first protocol that its library speaks, checks the
//! dtype and the rank, and holds a lease of Crossdock while the function runs. It is a guard, not a
//! slice: other Python code may write the memory of a NumPy array at any time.
//!
//! | argument | elements | refused for |
//! |---|---|---|
//! | [`Readonly`] | by value, which other parties may write | memory on a device |
//! | [`Writable`] | by value, read and written | read-only arrays, and what another argument has |
//! | [`Constant`] | `&T`, slices | memory that another party may write, and promises of Python code |
//! | [`Readonly::assume_constant`] | `&T`, slices; `unsafe` | unaligned elements |
//! | [`Writable::assume_exclusive`] | `&mut T`, slices; `unsafe` | unaligned or repeated elements |
//! | [`AnyArray`] | of any dtype and rank, without a lease | |
//!
//! [`AnyArray`] is the result type, too: a Python object that NumPy, PyTorch, PyArrow and others
//! import zero-copy, by the buffer protocol, DLPack or Arrow.
//!
//! ```ignore
//! use crossdock::Array;
//! use crossdock_pyo3::{AnyArray, Readonly, Writable};
//! use pyo3::exceptions::PyValueError;
//! use pyo3::prelude::*;
//!
//! /// Adds `x` to `y`, in place.
//! #[pyfunction]
//! fn add(py: Python<'_>, x: Readonly<'_, f64, 1>, y: Writable<'_, f64, 1>) -> PyResult<()> {
//!     if x.len() != y.len() {
//!         return Err(PyValueError::new_err(format!("the lengths {} and {} differ", x.len(), y.len())));
//!     }
//!     let (x, y) = (x.access(), y.access());
//!     py.detach(|| {
//!         for (index, value) in x.values().enumerate() {
//!             y.set([index], y.get([index])? + value)?;
//!         }
//!         Ok::<_, crossdock::Error>(())
//!     })
//!     .map_err(crossdock_pyo3::to_py_err)
//! }
//!
//! /// An array that NumPy takes by `np.asarray`.
//! #[pyfunction]
//! fn squares(count: u32) -> PyResult<AnyArray> {
//!     let squares: Vec<u32> = (0..count).map(|number| number * number).collect();
//!     let shape = [squares.len()];
//!     Array::from_vec(squares, shape).map(AnyArray::from).map_err(crossdock_pyo3::to_py_err)
//! }
//! ```
//!
//! # Errors
//!
//! An argument that is refused raises `TypeError` for another dtype or an object without elements
//! in memory, `ValueError` for another rank, and `BufferError` for memory that cannot be lent so.
//! The text says what is there, what is needed, and what to do in Python. Nothing is copied: an
//! array in another byte order is refused, and so are masked elements and nulls.
//!
//! # Arguments that overlap
//!
//! A [`Writable`] is refused while another argument has one of its elements, and so is any argument
//! while a [`Writable`] has one of its own, also on other threads and in other extensions with this
//! crate. Two columns of one table do not overlap; arrays that interleave in less regular ways may
//! be refused although they share no element.
//!
//! `docs/extensions.md` compares these types with `PyReadonlyArray` and `PyReadwriteArray` of the
//! crate `numpy`.
//!
//! Reasons: `DESIGN.md`, "An extension's arguments are guards".

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(dead_code, unused_imports, reason = "the wheel uses more of the sources that it shares")]

#[cfg(Py_GIL_DISABLED)]
compile_error!("crossdock-pyo3 needs an interpreter with the GIL: its Python objects are not synchronised");

mod any_array;
mod array_type;
mod claims;
mod extract;
mod guard;
mod interpreter;
mod memory;
mod words;

// What the wheel does for its own imports and exports.
#[path = "../wheel/arguments.rs"]
mod arguments;
#[path = "../wheel/arrow/mod.rs"]
mod arrow;
#[path = "../wheel/buffer/mod.rs"]
mod buffer;
#[path = "../wheel/capsule.rs"]
mod capsule;
#[path = "../wheel/consumer_state.rs"]
mod consumer_state;
#[path = "../wheel/copies.rs"]
mod copies;
#[path = "../wheel/detach.rs"]
mod detach;
#[path = "../wheel/dlpack.rs"]
mod dlpack;
#[path = "../wheel/dtype.rs"]
mod dtype;
#[path = "../wheel/dtype_object.rs"]
mod dtype_object;
#[path = "../wheel/entry.rs"]
mod entry;
#[path = "../wheel/errors.rs"]
mod errors;
#[path = "../wheel/interface/mod.rs"]
mod interface;
#[path = "../wheel/masked.rs"]
mod masked;
#[path = "../wheel/modules.rs"]
mod modules;
#[path = "../wheel/moment.rs"]
mod moment;
#[path = "../wheel/numbers.rs"]
mod numbers;
#[path = "../wheel/numpy.rs"]
mod numpy;
#[path = "../wheel/numpy_dtype.rs"]
mod numpy_dtype;
#[path = "../wheel/object.rs"]
mod object;
#[path = "../wheel/overlap.rs"]
mod overlap;
#[path = "../wheel/owner.rs"]
mod owner;
#[path = "../wheel/pandas.rs"]
mod pandas;
#[path = "../wheel/parameters.rs"]
mod parameters;
#[path = "../wheel/pillow.rs"]
mod pillow;
#[path = "../wheel/protocols.rs"]
mod protocols;
#[path = "../wheel/python_buffer.rs"]
mod python_buffer;
#[path = "../wheel/pytorch.rs"]
mod pytorch;
#[path = "../wheel/records.rs"]
mod records;
#[path = "../wheel/shape.rs"]
mod shape;
#[path = "../wheel/signature.rs"]
mod signature;
#[path = "../wheel/spare.rs"]
mod spare;
#[path = "../wheel/tensorflow.rs"]
mod tensorflow;
#[path = "../wheel/type_table.rs"]
mod type_table;
#[path = "../wheel/words.rs"]
mod wheel_words;

pub use any_array::AnyArray;
pub use guard::{Constant, Exclusive, Readonly, Unwritten, Writable};

/// The Python exception for an error of Crossdock, by its kind, with the advice in Python's words.
pub fn to_py_err(error: crossdock::Error) -> pyo3::PyErr {
    errors::exception(&error)
}
