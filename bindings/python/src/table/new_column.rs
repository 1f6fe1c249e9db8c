//! Columns of Python's values, in new memory.

use crossdock::bindings::table;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, Field, Metadata, OffsetWidth};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyList, PyString};

use crate::errors::{self, Raise};
use crate::nested;
use crate::table::values::imported_uuid_class;

/// A column of a list's values, and its field: text, bytes, identifiers, days, or what an array
/// has, some of them null.
pub(super) fn of_values(object: &Bound<'_, PyAny>) -> PyResult<(Field, Column)> {
    let items = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let len = items.len();
    let is_valid = items.iter().map(|item| Ok(!is_null(item)?)).collect::<PyResult<Vec<bool>>>()?;
    let validity = match is_valid.contains(&false) {
        true => Some(bits(&is_valid)?),
        false => None,
    };
    let Some(first) = items.iter().zip(&is_valid).find_map(|(item, is_valid)| is_valid.then_some(item))
    else {
        // An empty list has no type either.
        let parts = ColumnParts { len, ..ColumnParts::default() };
        return with_field(Column::new(ColumnType::Null, parts, Checks::Shape).raise()?);
    };
    let is_text = first.is_instance_of::<PyString>();
    if is_text || first.is_instance_of::<PyBytes>() {
        let (ty, buffers) = text(&items, &is_valid, is_text)?;
        let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
        return with_field(Column::new(ty, parts, Checks::Shape).raise()?);
    }
    if let Some(class) = imported_uuid_class(object.py())?
        && first.is_instance(class)?
    {
        let buffers = vec![identifiers(&items, &is_valid, class)?];
        let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
        let (field, column) =
            with_field(Column::new(ColumnType::FixedBinary(16), parts, Checks::Shape).raise()?)?;
        let metadata = Metadata::new([("ARROW:extension:name", "arrow.uuid")]);
        return Ok((field.with_metadata(metadata), column));
    }
    let filled = items.iter().zip(&is_valid).map(|(item, &is_valid)| if is_valid { item } else { first });
    let filled: Vec<_> = filled.collect();
    let array = nested::read(PyList::new(object.py(), &filled)?.as_any(), None)?;
    if matches!(array.dtype(), dtype if *dtype == DType::F64 || *dtype == DType::C128) {
        filled.iter().try_for_each(|item| check_float(item))?;
    }
    let column = with_days(Column::from_array(array).raise()?)?;
    // Dates that are not a time are null too.
    let validity = match column.validity() {
        Some(times) => {
            let both = times.to_vec().raise()?.into_iter().zip(&is_valid);
            Some(bits(&both.map(|(one, &other)| one && other).collect::<Vec<_>>())?)
        }
        None => validity,
    };
    let (mut ty, mut buffers) = (column.column_type().clone(), column.buffers().to_vec());
    if ty == ColumnType::Fixed(DType::BOOL) {
        let values = items.iter().zip(&is_valid).map(|(item, &valid)| Ok(valid && item.is_truthy()?));
        (ty, buffers) = (ColumnType::Boolean, vec![bits(&values.collect::<PyResult<Vec<_>>>()?)?]);
    }
    let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
    with_field(Column::new(ty, parts, Checks::Shape).raise()?)
}

/// A column with a field of its type.
pub(super) fn with_field(column: Column) -> PyResult<(Field, Column)> {
    Ok((Field::new("", column.column_type().clone()).raise()?, column))
}

/// Whether a value stands for none: None, those of pandas, and a NaT of NumPy without a unit. One
/// that has a unit becomes null as an element.
fn is_null(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    if item.is_none() {
        return Ok(true);
    }
    if item.is_exact_instance_of::<PyString>()
        || item.is_exact_instance_of::<PyInt>()
        || item.is_exact_instance_of::<PyFloat>()
    {
        return Ok(false);
    }
    match item.get_type().name()?.to_string_lossy().as_ref() {
        "NAType" | "NaTType" => Ok(true),
        "datetime64" | "timedelta64" if item.ne(item)? => {
            let typestr: String = item.getattr("dtype")?.getattr("str")?.extract()?;
            Ok(!typestr.contains('['))
        }
        _ => Ok(false),
    }
}

/// Refuses an integer beyond those that floats count one by one.
fn check_float(item: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: `item` is a live object, and its `Bound` proves that this thread holds the GIL.
    let is_integer = unsafe { ffi::PyIndex_Check(item.as_ptr()) } != 0;
    if !is_integer || !item.call_method0("__abs__")?.gt(1i64 << 53)? {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{item} is among floats, which have integers up to 2**53 = {} exactly; convert all values to float, or to int",
        1i64 << 53
    )))
}

/// A column whose days, if it has NumPy's, are those of Arrow.
pub(super) fn with_days(column: Column) -> PyResult<Column> {
    table::with_days(column).map_err(|error| match error.is_value() {
        true => {
            PyOverflowError::new_err(format!("days since 1970 exceed the 32 bits of Arrow's dates: {error}"))
        }
        false => errors::exception(&error),
    })
}

/// Offsets and the bytes of text or bytes.
fn text(items: &[Bound<'_, PyAny>], is_valid: &[bool], is_text: bool) -> PyResult<(ColumnType, Vec<Buffer>)> {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for (item, &is_valid) in items.iter().zip(is_valid) {
        match is_text {
            _ if !is_valid => {}
            true => bytes.extend_from_slice(item.cast::<PyString>()?.to_cow()?.as_bytes()),
            false => bytes.extend_from_slice(item.cast::<PyBytes>()?.as_bytes()),
        }
        offsets.push(bytes.len() as i64);
    }
    let short = offsets.iter().map(|&offset| i32::try_from(offset)).collect::<Result<Vec<_>, _>>();
    let (width, offsets) = match short {
        Ok(short) => (OffsetWidth::I32, Buffer::from_vec(short)),
        Err(_) => (OffsetWidth::I64, Buffer::from_vec(offsets)),
    };
    let ty = if is_text { ColumnType::Utf8(width) } else { ColumnType::Binary(width) };
    Ok((ty, vec![offsets.raise()?, Buffer::from_vec(bytes).raise()?]))
}

/// The 16 bytes of each identifier; zeros for nulls.
fn identifiers(items: &[Bound<'_, PyAny>], is_valid: &[bool], class: &Bound<'_, PyAny>) -> PyResult<Buffer> {
    let mut bytes = Vec::with_capacity(items.len() * 16);
    for (index, (item, &is_valid)) in items.iter().zip(is_valid).enumerate() {
        match is_valid {
            false => bytes.extend([0; 16]),
            true if item.is_instance(class)? => {
                bytes.extend(item.getattr(intern!(item.py(), "bytes"))?.extract::<[u8; 16]>()?);
            }
            true => {
                let name = item.get_type().qualname()?;
                let text = format!(
                    "element {index} is a {name}, but the first value is a uuid.UUID; convert all values to one type"
                );
                return Err(PyTypeError::new_err(text));
            }
        }
    }
    Buffer::from_vec(bytes).raise()
}

/// Bits in Arrow's order.
fn bits(values: &[bool]) -> PyResult<Buffer> {
    let byte = |values: &[bool]| values.iter().rev().fold(0u8, |byte, &value| byte << 1 | u8::from(value));
    Buffer::from_vec(values.chunks(8).map(byte).collect()).raise()
}
