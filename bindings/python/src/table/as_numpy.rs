//! Columns as NumPy's arrays.

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::table::{Column, ColumnType, Field};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrow::joined;
use crate::errors::Raise;
use crate::numpy;
use crate::words;

/// The elements as a NumPy array, by the arguments of `__array__`: in place unless there are
/// several chunks.
pub(super) fn array<'py>(
    py: Python<'py>,
    field: &Field,
    chunks: &[Column],
    wanted: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let ty = field.column_type();
    let Some(dtype) = meant_dtype(ty) else {
        return Err(PyTypeError::new_err(format!(
            "elements of type {ty} have no dtype of NumPy's: `to_list()` gives them as Python values, and `array()` the \
             numbers in memory where there are such"
        )));
    };
    let nulls = chunks.iter().map(nulls).sum::<crossdock::Result<usize>>().raise()?;
    if nulls > 0 {
        let len: usize = chunks.iter().map(Column::len).sum();
        return Err(PyTypeError::new_err(format!(
            "{nulls} nulls are in {len} elements, and NumPy's arrays have none: {}",
            words::OF_NULLS
        )));
    }
    let arrays: Vec<DArray> = chunks.iter().map(Column::array).collect::<crossdock::Result<_>>().raise()?;
    match &arrays[..] {
        [only] => numpy::converted(numpy::view(py, only)?, wanted, copy),
        [] => {
            let none = DArray::zeros(dtype, &[0], Order::RowMajor).raise()?;
            numpy::converted(numpy::view(py, &none)?, wanted, copy)
        }
        several if copy == Some(false) => Err(PyValueError::new_err(format!(
            "the column has {} chunks, which become one array by a copy, and copy=False forbids one; `chunks()` gives each \
             as a column",
            several.len()
        ))),
        several => match joined(py, several)? {
            Some(all) => numpy::converted(numpy::view(py, &all)?, wanted, None),
            None => {
                Err(PyTypeError::new_err(format!("{} chunks of {ty} do not make one array", several.len())))
            }
        },
    }
}

/// The dtype of the elements, if it has their whole meaning; of the items for lists of one length.
fn meant_dtype(ty: &ColumnType) -> Option<DType> {
    match ty {
        ColumnType::Fixed(_)
        | ColumnType::Date64
        | ColumnType::Timestamp { .. }
        | ColumnType::Duration(_)
        | ColumnType::FixedBinary(_) => ty.dtype(),
        ColumnType::FixedList { item, .. } => meant_dtype(item.column_type()),
        _ => None,
    }
}

/// The nulls of a column and of the items of its lists.
fn nulls(column: &Column) -> crossdock::Result<usize> {
    column.children().iter().try_fold(column.null_count()?, |sum, child| Ok(sum + nulls(child)?))
}
