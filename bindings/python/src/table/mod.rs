//! `crossdock.Table` and `crossdock.Column`: what Arrow describes and no array can.
//!
//! | file | contents |
//! |---|---|
//! | `import.rs`, `import_device.rs` | tables and columns on the memory of other objects |
//! | `import_some.rs`, `handed_over.rs` | imports that leave columns out; which columns are copied |
//! | `table_object.rs`, `column_object.rs` | the two classes |
//! | `new_column.rs` | columns of Python's values |
//! | `as_numpy.rs`, `comparison.rs` | columns as NumPy's arrays; `==`, which is refused |
//! | `values.rs` | elements as Python values |
//! | `display.rs`, `html.rs` | tables and columns as text, and in notebooks |
//! | `memory.rs` | copies, and the promise that memory is constant |
//! | `pickle.rs` | pickles |
//! | `sealed.rs` | sealed memory for `multiprocessing`, where the system has descriptors |
//! | `ipc.rs`, `batches.rs` | tables in Arrow IPC files, whole or a batch at a time |
//! | `export.rs` | capsules of streams, batches, columns and schemas |

mod as_numpy;
mod batches;
mod column_object;
mod comparison;
mod display;
mod export;
mod handed_over;
mod html;
mod import;
mod import_device;
mod import_some;
mod ipc;
mod memory;
mod new_column;
mod pickle;
#[cfg(unix)]
mod sealed;
mod table_object;
mod values;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

pub(crate) use batches::{BatchReader, open_batches};
pub(crate) use column_object::Column;
pub(crate) use import::{NotATable, column, table, table_in, whole};
pub(crate) use ipc::{TableBatches, of_file, to_file};
pub(crate) use pickle::{_rebuild_column, _rebuild_table};
#[cfg(unix)]
pub(crate) use sealed::_reduce_shared;
pub(crate) use table_object::Table;

/// An attribute that the class does not have. Tables with one batch and columns with one chunk have
/// `__arrow_c_array__` and `__arrow_c_device_array__`; others do not, since some consumers prefer
/// them to a stream wherever they find them.
///
/// Reasons: `DESIGN.md`, "A table in Python is a stream of batches".
fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str, parts: usize) -> PyResult<Bound<'py, PyAny>> {
    match name {
        "__arrow_c_array__" if parts == 1 => return object.getattr("_arrow_c_array"),
        "__arrow_c_device_array__" if parts == 1 => return object.getattr("_arrow_c_device_array"),
        _ => {}
    }
    let class = object.get_type().qualname()?;
    let error = PyAttributeError::new_err(format!("'{class}' object has no attribute '{name}'"));
    // The interpreter suggests similar names by these two.
    let value = error.value(object.py());
    value.setattr("name", name)?;
    value.setattr("obj", object)?;
    Err(error)
}
