//! Columns of Python's values, in new memory.

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, OffsetWidth};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::errors::Raise;
use crate::nested;

/// A column of a list's values: text, or what an array has, some of them None.
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
    if first.is_instance_of::<PyString>() {
        let (ty, buffers) = text(&items)?;
        let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
        return Column::new(ty, parts, Checks::Shape).raise();
    }
    let filled = items.iter().map(|item| if item.is_none() { first } else { item });
    let column =
        Column::from_array(nested::read(PyList::new(object.py(), filled)?.as_any(), None)?).raise()?;
    let (mut ty, mut buffers) = (column.column_type().clone(), column.buffers().to_vec());
    if ty == ColumnType::Fixed(DType::BOOL) {
        let values = items.iter().map(|item| Ok(!item.is_none() && item.is_truthy()?));
        (ty, buffers) = (ColumnType::Boolean, vec![bits(&values.collect::<PyResult<Vec<_>>>()?)?]);
    }
    let parts = ColumnParts { len, validity, buffers, ..ColumnParts::default() };
    Column::new(ty, parts, Checks::Shape).raise()
}

/// Offsets and bytes.
fn text(items: &[Bound<'_, PyAny>]) -> PyResult<(ColumnType, Vec<Buffer>)> {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for item in items {
        if !item.is_none() {
            bytes.extend_from_slice(item.cast::<PyString>()?.to_cow()?.as_bytes());
        }
        offsets.push(bytes.len() as i64);
    }
    let short = offsets.iter().map(|&offset| i32::try_from(offset)).collect::<Result<Vec<_>, _>>();
    let (width, offsets) = match short {
        Ok(short) => (OffsetWidth::I32, Buffer::from_vec(short)),
        Err(_) => (OffsetWidth::I64, Buffer::from_vec(offsets)),
    };
    Ok((ColumnType::Utf8(width), vec![offsets.raise()?, Buffer::from_vec(bytes).raise()?]))
}

/// Bits in Arrow's order.
fn bits(values: &[bool]) -> PyResult<Buffer> {
    let byte = |values: &[bool]| values.iter().rev().fold(0u8, |byte, &value| byte << 1 | u8::from(value));
    Buffer::from_vec(values.chunks(8).map(byte).collect()).raise()
}
