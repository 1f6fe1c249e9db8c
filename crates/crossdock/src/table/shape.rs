//! The rules that a column's buffers and children obey, as far as O(1) for each can tell.

use crate::buffer::Buffer;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::table::column::{Column, ColumnParts};
use crate::table::column_type::{ColumnType, OffsetWidth, Storage, UnionMode};
use crate::table::field::Field;
use crate::table::integers::{IntegerKind, Integers};

/// The number of bytes of a view.
pub(crate) const VIEW: usize = 16;

/// Checks the parts of a column against its type.
///
/// # Errors
///
/// `is_malformed` for a wrong number of buffers or children, children of another type, a bitmap
/// that the type does not have, and contradictory offsets; `is_bounds` for buffers and children
/// that are too short; `is_overflow`.
pub(crate) fn check_shape(ty: &ColumnType, parts: &ColumnParts) -> Result<()> {
    ty.check()?;
    let end = parts.offset.checked_add(parts.len).filter(|&end| end < isize::MAX as usize);
    let end = end.ok_or_else(|| {
        let text =
            format!("{} elements from element {} on exceed the address space", parts.len, parts.offset);
        Error::new(Kind::Overflow, text)
    })?;
    let storage = ty.storage();
    check_counts(ty, storage, parts)?;
    if let Some(validity) = &parts.validity {
        need(validity, "validity bitmap", end.div_ceil(8), end)?;
    }
    let buffers = &parts.buffers;
    match storage {
        Storage::Null => Ok(()),
        Storage::Bits => need(&buffers[0], "buffer of bits", end.div_ceil(8), end),
        Storage::Fixed(nbytes) => {
            check_dictionary(ty, parts)?;
            need(&buffers[0], "buffer of elements", times(end, nbytes)?, end)
        }
        Storage::Bytes(width, _) => check_offsets(parts, width, end, buffers[1].nbytes(), "bytes"),
        Storage::Views(_) => need(&buffers[0], "buffer of views", times(end, VIEW)?, end),
        Storage::List(width) => check_offsets(parts, width, end, parts.children[0].len(), "elements"),
        Storage::ListView(width) => {
            need(&buffers[0], "buffer of offsets", times(end, width.nbytes())?, end)?;
            need(&buffers[1], "buffer of sizes", times(end, width.nbytes())?, end)
        }
        Storage::FixedList(len) => check_child(&parts.children[0], 0, times(end, len)?),
        Storage::Struct => {
            parts.children.iter().enumerate().try_for_each(|(k, child)| check_child(child, k, end))
        }
        Storage::RunEnds => check_run_ends(parts, end),
        Storage::Union(mode) => {
            need(&buffers[0], "buffer of identifiers", end, end)?;
            match mode {
                UnionMode::Dense => need(&buffers[1], "buffer of offsets", times(end, 4)?, end),
                UnionMode::Sparse => {
                    parts.children.iter().enumerate().try_for_each(|(k, child)| check_child(child, k, end))
                }
            }
        }
    }
}

fn check_counts(ty: &ColumnType, storage: Storage, parts: &ColumnParts) -> Result<()> {
    let (wanted, more) = storage.buffer_count();
    let found = parts.buffers.len();
    if found < wanted || found > wanted && !more {
        let at_least = if more { "at least " } else { "" };
        return Err(malformed(format!(
            "it has {found} buffers beside validity, but {ty} requires {at_least}{wanted}"
        )));
    }
    if parts.validity.is_some() && !ty.has_validity() {
        return Err(malformed(format!("it has a validity bitmap, but {ty} has none")));
    }
    if parts.dictionary.is_some() != matches!(ty, ColumnType::Dictionary { .. }) {
        let has = if parts.dictionary.is_some() { "a" } else { "no" };
        return Err(malformed(format!("it has {has} dictionary, unlike {ty}")));
    }
    let is_dictionary = usize::from(parts.dictionary.is_some());
    let wanted = ty.fields().count() - is_dictionary;
    if parts.children.len() != wanted {
        return Err(malformed(format!(
            "it has {} children, but {ty} requires {wanted}",
            parts.children.len()
        )));
    }
    let children = if is_dictionary == 0 { &parts.children[..] } else { &[] };
    for (k, (field, child)) in ty.fields().zip(children).enumerate() {
        check_type(&format_args!("child {k}"), field, child)?;
    }
    Ok(())
}

fn check_dictionary(ty: &ColumnType, parts: &ColumnParts) -> Result<()> {
    let (ColumnType::Dictionary { values, .. }, Some(dictionary)) = (ty, &parts.dictionary) else {
        return Ok(());
    };
    check_type(&format_args!("the dictionary"), values, dictionary)
}

fn check_type(what: &std::fmt::Arguments<'_>, field: &Field, column: &Column) -> Result<()> {
    if field.column_type() == column.column_type() {
        return Ok(());
    }
    let (wanted, found) = (field.column_type(), column.column_type());
    Err(malformed(format!("{what} is of type {found}, but its field requires {wanted}")))
}

/// Checks the ends of offsets: those between are compared where they are used.
fn check_offsets(parts: &ColumnParts, width: OffsetWidth, end: usize, extent: usize, of: &str) -> Result<()> {
    let offsets = &parts.buffers[0];
    if end == 0 && offsets.nbytes() == 0 {
        return Ok(());
    }
    need(offsets, "buffer of offsets", times(end + 1, width.nbytes())?, end)?;
    // Without elements no offset is followed; it may be one of a longer column.
    if parts.len == 0 || !offsets.is_host() {
        return Ok(());
    }
    let offsets = Integers::at(offsets, width)?;
    let (first, last) = (offsets.get(parts.offset)?, offsets.get(end)?);
    if first < 0 || first > last || usize::try_from(last).is_ok_and(|last| last > extent) {
        let text = format!("offsets {first}..{last} of its elements are out of bounds for {extent} {of}");
        return Err(Error::new(Kind::Bounds, text));
    }
    Ok(())
}

fn check_run_ends(parts: &ColumnParts, end: usize) -> Result<()> {
    let [run_ends, values] = &parts.children[..] else { return Ok(()) };
    if run_ends.validity().is_some() {
        return Err(malformed("its run ends have a validity bitmap, but they must not be null"));
    }
    if run_ends.len() > values.len() {
        let text = format!("it has {} runs, but {} values", run_ends.len(), values.len());
        return Err(Error::new(Kind::Bounds, text));
    }
    if parts.len == 0 || !run_ends.is_host() {
        return Ok(());
    }
    let last = run_ends.len().checked_sub(1).map_or(Ok(0), |last| run_end(run_ends, last))?;
    if usize::try_from(last).is_ok_and(|last| last >= end) {
        return Ok(());
    }
    Err(Error::new(Kind::Bounds, format!("its runs end at element {last}, but it has {end} elements")))
}

/// The end of one run.
fn run_end(run_ends: &Column, run: usize) -> Result<i64> {
    Integers::at(&run_ends.buffers()[0], kind_of(run_ends))?.get(run_ends.offset() + run)
}

/// The integers of a column that `ColumnType::check` or its parent restricted to integers.
pub(crate) fn kind_of(column: &Column) -> IntegerKind {
    let dtype = column.column_type().dtype().unwrap_or(DType::I32);
    IntegerKind::of(&dtype).unwrap_or(IntegerKind::I32)
}

fn check_child(child: &Column, k: usize, wanted: usize) -> Result<()> {
    if child.len() >= wanted {
        return Ok(());
    }
    let text = format!("child {k} has {} elements, but {wanted} are required", child.len());
    Err(Error::new(Kind::Bounds, text))
}

fn need(buffer: &Buffer, what: &str, wanted: usize, elements: usize) -> Result<()> {
    if buffer.nbytes() >= wanted {
        return Ok(());
    }
    let text = format!(
        "its {what} has {} bytes, but {wanted} are required for {elements} elements",
        buffer.nbytes()
    );
    Err(Error::new(Kind::Bounds, text))
}

pub(crate) fn times(elements: usize, nbytes: usize) -> Result<usize> {
    let product = elements.checked_mul(nbytes).filter(|&product| isize::try_from(product).is_ok());
    product.ok_or_else(|| {
        let text = format!("{elements} times {nbytes} elements or bytes exceed the address space");
        Error::new(Kind::Overflow, text)
    })
}

#[cold]
pub(crate) fn malformed(text: impl Into<String>) -> Error {
    Error::new(Kind::Malformed, text)
}
