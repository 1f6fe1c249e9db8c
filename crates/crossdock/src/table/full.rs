//! The rules that every element of a column obeys.

use std::ops::Range;

use crate::buffer::{Bitmap, BitmapRead, ReadOrPinLease};
use crate::error::{Error, Kind, Result};
use crate::table::checks::Checks;
use crate::table::column::Column;
use crate::table::column_type::{ColumnType, OffsetWidth, Storage, UnionMode};
use crate::table::integers::{IntegerKind, Integers};
use crate::table::shape::{VIEW, kind_of, malformed};
use crate::table::text::{BytesView, TextBytes};
use crate::table::utf8::{TEXT_BLOCK, is_text, not_text};

/// Compares each element with the rules of the type, in the column, its children and dictionary.
///
/// # Errors
///
/// As [`Column::check`].
pub(crate) fn check(column: &Column) -> Result<()> {
    let buffers = column.buffers();
    match column.column_type().storage() {
        Storage::Bytes(width, is_text) => check_bytes(column, width, is_text)?,
        Storage::Views(is_text) => check_views(column, is_text)?,
        Storage::List(width) => check_offsets(column, width, column.children()[0].len())?,
        Storage::ListView(width) => check_list_views(column, width)?,
        Storage::RunEnds => check_run_ends(column)?,
        Storage::Union(mode) => check_union(column, mode)?,
        Storage::Fixed(_) if column.dictionary().is_some() => check_indices(column)?,
        Storage::Null | Storage::Bits | Storage::Fixed(_) | Storage::FixedList(_) | Storage::Struct => {
            // Nothing to compare; but the caller relies on access.
            buffers.first().map(ReadOrPinLease::at).transpose()?;
        }
    }
    for (k, child) in column.children().iter().enumerate() {
        child.check(Checks::Full).map_err(|error| error.within(format_args!("child {k}")))?;
    }
    match column.dictionary() {
        Some(values) => values.check(Checks::Full).map_err(|error| error.within("the dictionary")),
        None => Ok(()),
    }
}

/// Whether elements are valid, as an answer for one index at a time.
pub(super) struct Validity(Option<BitmapRead>);

impl Validity {
    pub(super) fn of(column: &Column) -> Result<Self> {
        Ok(Self(column.validity().map(Bitmap::read).transpose()?))
    }

    /// The bytes of the bits, and the bit of the first element, if no party can write them.
    pub(super) fn in_memory(&self) -> Option<(&[u8], usize)> {
        self.0.as_ref()?.in_memory()
    }

    #[inline]
    pub(super) fn is_valid(&self, index: usize) -> Result<bool> {
        match &self.0 {
            None => Ok(true),
            Some(bits) => bits.get(index),
        }
    }
}

/// Offsets that neither decrease nor exceed `extent`.
fn check_offsets(column: &Column, width: OffsetWidth, extent: usize) -> Result<()> {
    if column.is_empty() {
        return Ok(());
    }
    let range = column.offset()..column.offset() + column.len() + 1;
    let offsets = Integers::at(&column.buffers()[0], width)?;
    match offsets.in_memory(range.clone()) {
        Some(all) if all.increase_within(extent) => Ok(()),
        _ => check_each_offset(&offsets, range, extent),
    }
}

fn check_each_offset(offsets: &Integers, range: Range<usize>, extent: usize) -> Result<()> {
    let mut before = 0;
    offsets.for_each(range, |index, offset| {
        if offset < before {
            return Err(malformed(format!("offset {offset} at index {index} is less than {before}")));
        }
        before = offset;
        match usize::try_from(offset).is_ok_and(|offset| offset <= extent) {
            true => Ok(()),
            false => Err(bounds(format!("offset {offset} at index {index} is out of bounds for {extent}"))),
        }
    })
}

/// Offsets, and UTF-8 wherever an element of text is valid: blocks of elements at once and, where
/// that fails, one by one.
fn check_bytes(column: &Column, width: OffsetWidth, expects_text: bool) -> Result<()> {
    let (bytes, validity) = (TextBytes::of(column)?, Validity::of(column)?);
    let (offsets, extent) = (Integers::at(&column.buffers()[0], width)?, column.buffers()[1].nbytes());
    let mut room = Vec::new();
    for start in (0..column.len()).step_by(TEXT_BLOCK) {
        let block = start..column.len().min(start + TEXT_BLOCK);
        if bytes.is_block_correct(block.clone(), expects_text) {
            continue;
        }
        let first = column.offset() + start;
        check_each_offset(&offsets, first..first + block.len() + 1, extent)?;
        for index in block.filter(|_| expects_text) {
            let bytes = bytes.get(index, &mut room)?;
            if !is_text(bytes) && validity.is_valid(index)? {
                return Err(not_text(bytes, index));
            }
        }
    }
    Ok(())
}

fn check_views(column: &Column, expects_text: bool) -> Result<()> {
    let (bytes, validity) = (TextBytes::of(column)?, Validity::of(column)?);
    let mut room = Vec::new();
    for index in 0..column.len() {
        if !validity.is_valid(index)? {
            continue;
        }
        let view = bytes.view(index)?;
        let text = bytes.get(index, &mut room)?;
        if let BytesView::Elsewhere { prefix, .. } = view
            && text.get(..4) != Some(&prefix[..])
        {
            return Err(malformed(format!("the prefix in view {index} is not that of its bytes")));
        }
        if expects_text && !is_text(text) {
            return Err(not_text(text, index));
        }
    }
    debug_assert_eq!(VIEW, 16);
    Ok(())
}

fn check_list_views(column: &Column, width: OffsetWidth) -> Result<()> {
    let (start, len, extent) = (column.offset(), column.len(), column.children()[0].len());
    let sizes = Integers::at(&column.buffers()[1], width)?;
    Integers::at(&column.buffers()[0], width)?.for_each(start..start + len, |index, offset| {
        let size = sizes.get(index)?;
        let end = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
        match end.and_then(|(offset, size)| offset.checked_add(size)).is_some_and(|end| end <= extent) {
            true => Ok(()),
            false => Err(bounds(format!(
                "the list at index {index} has {size} elements from {offset} on, out of bounds for {extent}"
            ))),
        }
    })
}

fn check_indices(column: &Column) -> Result<()> {
    let (Some(values), Some(kind)) =
        (column.dictionary(), column.column_type().dtype().as_ref().and_then(IntegerKind::of))
    else {
        return Ok(());
    };
    let (start, validity) = (column.offset(), Validity::of(column)?);
    Integers::at(&column.buffers()[0], kind)?.for_each(start..start + column.len(), |at, index| {
        let is_within = usize::try_from(index).is_ok_and(|index| index < values.len());
        if is_within || !validity.is_valid(at - start)? {
            return Ok(());
        }
        let (at, len) = (at - start, values.len());
        Err(bounds(format!(
            "index {index} of element {at} is out of bounds for a dictionary of {len} values"
        )))
    })
}

/// The last of run ends that increase from 1 or more on; 0 if there are none.
pub(super) fn check_increase(run_ends: &Column) -> Result<i64> {
    let mut before = 0;
    let range = run_ends.offset()..run_ends.offset() + run_ends.len();
    Integers::at(&run_ends.buffers()[0], kind_of(run_ends))?.for_each(range, |_, end| {
        if end <= before {
            return Err(malformed(format!("a run ends at element {end}, but the one before at {before}")));
        }
        before = end;
        Ok(())
    })?;
    Ok(before)
}

fn check_run_ends(column: &Column) -> Result<()> {
    let before = check_increase(&column.children()[0])?;
    // Compared again: the memory may have changed since the column was made.
    let wanted = column.offset() + column.len();
    match column.is_empty() || usize::try_from(before).is_ok_and(|end| end >= wanted) {
        true => Ok(()),
        false => Err(bounds(format!("its runs end at element {before}, but it has {wanted} elements"))),
    }
}

fn check_union(column: &Column, mode: UnionMode) -> Result<()> {
    let ColumnType::Union { ids, .. } = column.column_type() else { return Ok(()) };
    let offsets = match mode {
        UnionMode::Dense => Some(Integers::at(&column.buffers()[1], IntegerKind::I32)?),
        UnionMode::Sparse => None,
    };
    let range = column.offset()..column.offset() + column.len();
    Integers::at(&column.buffers()[0], IntegerKind::I8)?.for_each(range, |index, id| {
        let Some(child) = ids.iter().position(|&known| i64::from(known) == id) else {
            return Err(malformed(format!("the identifier {id} at index {index} is that of no child")));
        };
        let Some(offsets) = &offsets else { return Ok(()) };
        let (offset, len) = (offsets.get(index)?, column.children()[child].len());
        match usize::try_from(offset).is_ok_and(|offset| offset < len) {
            true => Ok(()),
            false => Err(bounds(format!(
                "offset {offset} at index {index} is out of bounds for child {child} of {len} elements"
            ))),
        }
    })
}

#[cold]
fn bounds(text: String) -> Error {
    Error::new(Kind::Bounds, text)
}
