//! Crossdock for Python: the type `crossdock.Array`, and the functions that create arrays.
//!
//! The type has hand-written slots, since PyO3's general trampoline is too slow for exports that
//! take nanoseconds; the functions are PyO3's. Work without the interpreter (formats, request
//! negotiation, DLPack's structs) is in the library.
//!
//! | file | contents |
//! |---|---|
//! | `object.rs`, `array_type.rs` | the object, and the slots of its type |
//! | `protocols.rs`, `import.rs` | the order in which protocols are tried; when a copy is made |
//! | `buffer/export.rs` | exports by the buffer protocol |
//! | `dtype.rs`, `dtype_object.rs` | dtypes: what is read as one, and the object |
//! | `functions.rs`, `creation.rs`, `files.rs` | the functions of the module; files and archives |
//! | `methods.rs`, `axes.rs` | attributes and methods; those that view the axes in another way |
//! | `convert.rs`, `moment.rs` | elements as Python values; dates and durations |
//! | `detach.rs`, `entry.rs` | long work without the GIL; which threads hold it |
//! | `asarray_call.rs`, `dlpack_call.rs` | what takes nanoseconds: the usual calls of two functions |
//! | `direct.rs`, `slice.rs`, `spare.rs` | objects read in place; blocks of memory for the next objects |
//! | `pytorch.rs`, `tensorflow.rs`, `pandas.rs`, … | what is special about objects of one library |
//! | `overlap.rs` | imports whose elements overlap are read-only |
//! | `owner.rs`, `consumer_state.rs` | release of Python references; state kept for consumers |
//! | `device.rs`, `device_object.rs` | names of devices, and copies to them; the object |
//! | `pickle.rs`, `shared.rs` | pickles, and shared memory |
//! | `shareable.rs` | memory that can be shared later, also NumPy's |
//! | `descriptors/` | descriptors of memory, for `multiprocessing` (on POSIX systems) |
//! | `channel/` | streams of arrays between processes (on POSIX systems) |
//! | `sets.rs` | sets of arrays that another process holds (on POSIX systems) |
//! | `table/` | tables and columns |
//!
//! `python/crossdock/array_api/` is the namespace of the array API standard, and
//! `crates/crossdock-pyo3` compiles the files of imports and exports for extensions by PyO3: its
//! `src/lib.rs` lists them.
//!
//! `python/crossdock/_explain/` describes Python objects for the library's `exchange::explain`.

#![cfg_attr(
    not(unix),
    expect(dead_code, unused_imports, reason = "what serves only channels, sets and descriptors")
)]

mod arguments;
mod array_api;
mod array_type;
mod arrow;
mod asarray_call;
mod axes;
mod buffer;
mod capsule;
#[cfg(unix)]
mod channel;
mod consumer_state;
mod convert;
mod copies;
mod creation;
mod descriptors;
mod detach;
mod device;
mod device_object;
mod direct;
mod dlpack;
mod dlpack_call;
mod docstrings;
mod dtype;
mod dtype_object;
mod entry;
mod errors;
mod exchange;
mod explain;
mod file_errors;
mod files;
mod flags;
mod functions;
mod html;
mod import;
mod interface;
mod keywords;
mod ledger;
mod masked;
mod memory;
mod methods;
mod modules;
mod moment;
mod nested;
mod new_array;
mod numbers;
mod numpy;
mod numpy_dtype;
mod object;
mod operators;
mod other_names;
mod overlap;
mod owner;
mod pandas;
mod parameters;
mod pickle;
mod pillow;
mod protocols;
mod python_buffer;
mod pytorch;
mod records;
#[cfg(unix)]
mod sets;
mod shape;
mod shareable;
mod shared;
mod shared_device;
mod signature;
mod slice;
mod spare;
mod subscript;
mod table;
mod tensorflow;
mod text;
mod threads;
mod type_table;
mod words;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::errors::Raise as _;

/// The Rust part of the package `crossdock`.
#[pymodule]
mod _crossdock {
    use super::*;

    #[pymodule_export]
    use super::array_api::{_linspace, _saturated};
    #[pymodule_export]
    use super::arrow::ArrowColumn;
    #[cfg(unix)]
    #[pymodule_export]
    use super::channel::{_Channel, Loan, Receiver, Sender};
    #[pymodule_export]
    use super::creation::{arange, empty_like, full_like, ones, ones_like, zeros_like};
    #[cfg(unix)]
    #[pymodule_export]
    use super::descriptors::{_lend, _map, _offer, _take};
    #[pymodule_export]
    use super::device::devices;
    #[pymodule_export]
    use super::dtype_object::DTypeObject;
    #[pymodule_export]
    use super::explain::{_consumers, _judge, _judge_array, _protocols};
    #[pymodule_export]
    use super::files::{Archive, open, save};
    #[pymodule_export]
    use super::functions::{
        array, asarray, copied_bytes, empty, from_address, from_arrow, from_dlpack, full, to_arrow, zeros,
    };
    #[pymodule_export]
    use super::numpy::register_numpy_dtypes;
    #[pymodule_export]
    use super::pickle::_rebuild;
    #[cfg(unix)]
    #[pymodule_export]
    use super::sets::{HeldArrays, connect, publish};
    #[pymodule_export]
    use super::shareable::{_note_shareable, _set_numpy_handler};
    #[pymodule_export]
    use super::shared::shared;
    #[cfg(unix)]
    #[pymodule_export]
    use super::table::_reduce_shared;
    #[pymodule_export]
    use super::table::{
        _rebuild_column, _rebuild_table, BatchReader, Column, Table, column, open_batches, table,
    };
    #[pymodule_export]
    use super::tensorflow::_unsafe_dlpack;

    #[pymodule_export]
    use super::ledger::ledger;
    #[pymodule_export]
    use super::threads::{get_num_threads, set_num_threads};

    #[pymodule_export]
    use super::memory::Bytes;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        main_interpreter()?;
        crossdock_cuda::register().raise()?;
        crossdock_opencl::register().raise()?;
        memory::note_type(module.py());
        slice::find_bounds();
        direct::find(module.py())?;
        dlpack_call::note_names(module.py());
        files::register_mapping(module.py())?;
        #[cfg(unix)]
        sets::register_mapping(module.py())?;
        // Pickles refer to this module, whatever the package's parts are called.
        for name in ["_rebuild", "_rebuild_column", "_rebuild_table"] {
            module.getattr(name)?.setattr("__module__", "crossdock")?;
        }
        keywords::replace(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("Device", device_object::device_type(module.py())?)?;
        module.add("Array", array_type::make_type(module.py())?)
    }

    /// PyO3 attaches threads to the main interpreter only: in a subinterpreter, calls would block
    /// forever.
    fn main_interpreter() -> PyResult<()> {
        // SAFETY: the interpreter that imports this module called `init`, so this thread holds its
        // GIL and has a current interpreter.
        let own = unsafe { ffi::PyInterpreterState_Get() };
        // SAFETY: `own` is the current interpreter of this thread, which is alive during the
        // import.
        match unsafe { ffi::PyInterpreterState_GetID(own) } {
            0 => Ok(()),
            number => Err(PyImportError::new_err(format!(
                "crossdock works in the main interpreter alone, and this is interpreter {number} of the process: \
                 hand memory from there, or use processes"
            ))),
        }
    }
}
