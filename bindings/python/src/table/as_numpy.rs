//! Columns as NumPy's arrays: in place where NumPy has the type, and otherwise by a copy, which
//! counts.
//!
//! Reasons: `DESIGN.md`, "NumPy gets text as objects, and no nulls among numbers".

use crossdock::DArray;
use crossdock::bindings::count_copied;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::table::{Checks, Column, ColumnType, Field};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::arrow::joined;
use crate::errors::Raise;
use crate::table::values::Meaning;
use crate::table::{memory, values};
use crate::{numpy, words};

/// The elements as a NumPy array, by the arguments of `__array__`.
pub(super) fn array<'py>(
    py: Python<'py>,
    field: &Field,
    chunks: &[Column],
    wanted: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    memory::or_fault(chunks, array_as_read(py, field, chunks, wanted, copy))
}

/// As [`array`], of a file that shrank too.
fn array_as_read<'py>(
    py: Python<'py>,
    field: &Field,
    chunks: &[Column],
    wanted: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let (ty, meaning) = (field.column_type(), Meaning::of(field));
    let copies = |because: &str, remedy: &str| match copy {
        Some(false) => Err(PyValueError::new_err(format!(
            "elements of type {ty} become {because} by a copy, and copy=False forbids one; {remedy}"
        ))),
        _ => Ok(()),
    };
    if is_of_objects(py, wanted.as_ref())? {
        copies("Python's objects", "`to_list()` gives the values")?;
        return objects(py, chunks, meaning);
    }
    let nulls = chunks.iter().map(nulls).sum::<crossdock::Result<usize>>().raise()?;
    // Identifiers are their bytes where a dtype other than objects is requested.
    let are_bytes = wanted.is_some() && matches!((meaning, ty), (Meaning::Uuid, ColumnType::FixedBinary(_)));
    let dtype = if are_bytes { ty.dtype() } else { meant_dtype(field) };
    if nulls > 0 && (are_bytes || !has_own_nulls(field)) {
        let len: usize = chunks.iter().map(Column::len).sum();
        return Err(PyTypeError::new_err(format!(
            "{nulls} nulls are in {len} elements, and NumPy's arrays have none: {}; {}",
            words::OF_NULLS,
            words::AS_OBJECTS
        )));
    }
    if let Some(dtype) = dtype.filter(|_| nulls == 0) {
        return in_place(py, field, chunks, &dtype, wanted, copy);
    }
    copies(
        "elements of NumPy's",
        "`to_list()` gives the values, and `array()` the numbers in memory where there are such",
    )?;
    let parts = chunks.iter().map(|chunk| copied(py, field, chunk));
    let parts = parts.collect::<PyResult<Vec<_>>>()?;
    let all = match &parts[..] {
        [] => py.import("numpy")?.call_method1("empty", (0, dtype_of_none(ty)))?,
        [only] => only.clone(),
        several => py.import("numpy")?.call_method1("concatenate", (several.to_vec(),))?,
    };
    numpy::converted(all, wanted, None)
}

/// Whether Python's objects are requested.
fn is_of_objects(py: Python<'_>, wanted: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    let Some(wanted) = wanted else { return Ok(false) };
    let dtype = py.import("numpy")?.call_method1("dtype", (wanted,))?;
    dtype.getattr(intern!(py, "hasobject"))?.is_truthy()
}

/// Elements that NumPy has: in place, unless there are several chunks.
fn in_place<'py>(
    py: Python<'py>,
    field: &Field,
    chunks: &[Column],
    dtype: &DType,
    wanted: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = chunks.iter().map(|chunk| field.array_of(chunk));
    let arrays: Vec<DArray> = arrays.collect::<crossdock::Result<_>>().raise()?;
    match &arrays[..] {
        // Read-only: a view that may write would keep the column from being exported.
        [only] => numpy::converted(numpy::view(py, &only.clone().into_readonly())?, wanted, copy),
        [] => {
            let none = DArray::zeros(dtype.clone(), &[0], Order::RowMajor).raise()?;
            numpy::converted(numpy::view(py, &none)?, wanted, copy)
        }
        several if copy == Some(false) => Err(PyValueError::new_err(format!(
            "the column has {} chunks, which become one array by a copy, and copy=False forbids one; `chunks()` gives each \
             as a column",
            several.len()
        ))),
        several => match joined(py, several)? {
            Some(all) => numpy::converted(numpy::view(py, &all)?, wanted, None),
            None => Err(PyTypeError::new_err(format!(
                "{} chunks of {} do not make one array",
                several.len(),
                field.column_type()
            ))),
        },
    }
}

/// Elements that NumPy has in another form, in new memory.
fn copied<'py>(py: Python<'py>, field: &Field, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    match field.column_type() {
        ColumnType::Boolean => numpy::view(py, &column.truth_values().raise()?),
        ColumnType::Date32 => {
            count_copied(8 * column.len());
            let days = numpy::view(py, &column.array().raise()?)?.call_method1("astype", ("M8[D]",))?;
            without_nulls(column, days)
        }
        ColumnType::Date64 | ColumnType::Timestamp { .. } | ColumnType::Duration(_) => {
            let copy = column.array().and_then(|array| array.to_order(Order::RowMajor)).raise()?;
            without_nulls(column, numpy::view(py, &copy)?)
        }
        ColumnType::Dictionary { values, .. } if has_form(values) => decoded(py, values, column),
        _ => objects(py, std::slice::from_ref(column), Meaning::of(field)),
    }
}

/// `NaT`, which is NumPy's null, in place of each null.
fn without_nulls<'py>(column: &Column, times: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if column.null_count().raise()? > 0 {
        let valid = numpy::view(times.py(), &column.mask().raise()?)?;
        times.set_item(valid.call_method0("__invert__")?, "NaT")?;
    }
    Ok(times)
}

/// The values of a dictionary, which `field` describes, in the order of the indices.
fn decoded<'py>(py: Python<'py>, field: &Field, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    // NumPy counts negative indices from the end.
    column.check(Checks::Full).raise()?;
    let values = array(py, field, column.dictionary().map_or(&[], std::slice::from_ref), None, None)?;
    let all = values.call_method1("take", (numpy::view(py, &column.array().raise()?)?,))?;
    count_copied(all.getattr(intern!(py, "nbytes"))?.extract()?);
    Ok(all)
}

/// Python's values, as an array of objects.
fn objects<'py>(py: Python<'py>, chunks: &[Column], meaning: Meaning<'_>) -> PyResult<Bound<'py, PyAny>> {
    let len: usize = chunks.iter().map(Column::len).sum();
    let all = py.import("numpy")?.call_method1("empty", (len, "O"))?;
    let mut start = 0;
    for chunk in chunks {
        // By index: NumPy would take lists of one length for further axes.
        for (index, value) in values::elements(py, chunk, meaning)?.iter().enumerate() {
            all.set_item(start + index, value)?;
        }
        start += chunk.len();
    }
    count_copied(len * size_of::<usize>());
    Ok(all)
}

/// The dtype of the elements, if it has their whole meaning; of the items for lists of one length.
fn meant_dtype(field: &Field) -> Option<DType> {
    let ty = field.column_type();
    match ty {
        _ if Meaning::of(field) != Meaning::OfType => None,
        ColumnType::Fixed(_)
        | ColumnType::Date64
        | ColumnType::Timestamp { .. }
        | ColumnType::Duration(_)
        | ColumnType::FixedBinary(_) => ty.dtype(),
        ColumnType::FixedList { item, .. } => meant_dtype(item),
        _ => None,
    }
}

/// Whether NumPy has the elements in some form, other than as Python's objects.
fn has_form(field: &Field) -> bool {
    meant_dtype(field).is_some() || matches!(field.column_type(), ColumnType::Boolean | ColumnType::Date32)
}

/// Whether NumPy's form of the elements has nulls: `NaT` and `None`.
fn has_own_nulls(field: &Field) -> bool {
    match field.column_type() {
        ColumnType::Date32 | ColumnType::Date64 | ColumnType::Timestamp { .. } | ColumnType::Duration(_) => {
            true
        }
        ColumnType::Dictionary { values, .. } => !has_form(values),
        _ => !has_form(field),
    }
}

/// The dtype of a column without chunks.
fn dtype_of_none(ty: &ColumnType) -> &'static str {
    match ty {
        ColumnType::Boolean => "?",
        ColumnType::Date32 => "M8[D]",
        _ => "O",
    }
}

/// The nulls of a column, of the items of its lists, and of the values of its dictionary.
fn nulls(column: &Column) -> crossdock::Result<usize> {
    let own = column.null_count()?;
    if let Some(values) = column.dictionary() {
        return Ok(own + nulls(values)?);
    }
    match column.column_type() {
        ColumnType::FixedList { len, .. } => {
            let (start, end) = (column.offset() * len, (column.offset() + column.len()) * len);
            Ok(own + nulls(&column.children()[0].slice(start..end)?)?)
        }
        _ => Ok(own),
    }
}
