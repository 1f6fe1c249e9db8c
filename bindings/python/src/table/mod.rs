//! `crossdock.Table` and `crossdock.Column`: what Arrow describes and no array can.
//!
//! | file | contents |
//! |---|---|
//! | `import.rs` | tables and columns on the memory of other objects |
//! | `table_object.rs`, `column_object.rs` | the two classes |
//! | `new_column.rs` | columns of Python's values |
//! | `as_numpy.rs`, `comparison.rs` | columns as NumPy's arrays; `==`, which is refused |
//! | `values.rs`, `display.rs` | elements as Python values; tables and columns as text |
//! | `export.rs` | capsules of streams, batches, columns and schemas |

mod as_numpy;
mod column_object;
mod comparison;
mod display;
mod export;
mod import;
mod new_column;
mod table_object;
mod values;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

pub(crate) use column_object::Column;
pub(crate) use import::{column, table};
pub(crate) use table_object::Table;

/// The error of the interpreter for an attribute that an object does not have.
fn no_attribute(object: &Bound<'_, PyAny>, name: &str) -> PyResult<PyErr> {
    let class = object.get_type().qualname()?;
    let error = PyAttributeError::new_err(format!("'{class}' object has no attribute '{name}'"));
    // The interpreter suggests similar names by these two.
    let value = error.value(object.py());
    value.setattr("name", name)?;
    value.setattr("obj", object)?;
    Ok(error)
}
