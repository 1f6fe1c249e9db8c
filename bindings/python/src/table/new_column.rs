//! Columns of Python's values, in new memory.

use crossdock::Casting;
use crossdock::buffer::Buffer;
use crossdock::element::{DType, TimeUnit, Value};
use crossdock::layout::Order;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, OffsetWidth};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::errors::Raise;
use crate::nested;

/// A column of a list's values: text, bytes, days, or what an array has, some of them None.
pub(super) fn of_values(object: &Bound<'_, PyAny>) -> PyResult<Column> {
    let items = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let len = items.len();
    let is_valid: Vec<bool> = items.iter().map(|item| !item.is_none()).collect();
    let validity = match is_valid.contains(&false) {
        true => Some(bits(&is_valid)?),
        false => None,
    };
    let Some(first) = items.iter().find(|item| !item.is_none()) else {
        // An empty list has no type either.
        let parts = ColumnParts { len, ..ColumnParts::default() };
        return Column::new(ColumnType::Null, parts, Checks::Shape).raise();
    };
    let is_text = first.is_instance_of::<PyString>();
    if is_text || first.is_instance_of::<PyBytes>() {
        let (ty, buffers) = text(&items, is_text)?;
        let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
        return Column::new(ty, parts, Checks::Shape).raise();
    }
    let filled = items.iter().map(|item| if item.is_none() { first } else { item });
    let array = nested::read(PyList::new(object.py(), filled)?.as_any(), None)?;
    let column = with_days(Column::from_array(array).raise()?)?;
    // Dates that are not a time are null too.
    let validity = match column.validity() {
        Some(times) => {
            let both: Vec<_> = times.to_vec().raise()?.into_iter().zip(is_valid).collect();
            Some(bits(&both.into_iter().map(|(one, other)| one && other).collect::<Vec<_>>())?)
        }
        None => validity,
    };
    let (mut ty, mut buffers) = (column.column_type().clone(), column.buffers().to_vec());
    if ty == ColumnType::Fixed(DType::BOOL) {
        let values = items.iter().map(|item| Ok(!item.is_none() && item.is_truthy()?));
        (ty, buffers) = (ColumnType::Boolean, vec![bits(&values.collect::<PyResult<Vec<_>>>()?)?]);
    }
    let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
    Column::new(ty, parts, Checks::Shape).raise()
}

/// A column whose days, if it has NumPy's, are those of Arrow: of 32 bits, by a copy, which counts.
pub(super) fn with_days(column: Column) -> PyResult<Column> {
    if *column.column_type() != ColumnType::Fixed(DType::datetime(TimeUnit::DAY)) {
        return Ok(column);
    }
    // The count that stands for no time has more than 32 bits.
    let counted = match column.validity() {
        Some(_) => column.fill_nulls(&Value::DateTime { count: 0, unit: TimeUnit::DAY }).raise()?,
        None => column.clone(),
    };
    let counts = counted.array().and_then(|days| days.view_as(&DType::I64)).raise()?;
    let days = counts.cast(&DType::I32, Order::RowMajor, Casting::Checked).map_err(|error| {
        PyOverflowError::new_err(format!("days since 1970 exceed the 32 bits of Arrow's dates: {error}"))
    })?;
    let validity = column.validity().map(|bits| bits.buffer().clone());
    let parts = ColumnParts {
        len: column.len(),
        validity,
        buffers: vec![days.buffer().raise()?.0],
        ..ColumnParts::default()
    };
    Column::new(ColumnType::Date32, parts, Checks::Shape).raise()
}

/// Offsets and the bytes of text or bytes.
fn text(items: &[Bound<'_, PyAny>], is_text: bool) -> PyResult<(ColumnType, Vec<Buffer>)> {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for item in items {
        match is_text {
            _ if item.is_none() => {}
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

/// Bits in Arrow's order.
fn bits(values: &[bool]) -> PyResult<Buffer> {
    let byte = |values: &[bool]| values.iter().rev().fold(0u8, |byte, &value| byte << 1 | u8::from(value));
    Buffer::from_vec(values.chunks(8).map(byte).collect()).raise()
}
