//! The columns of the measurements.

use std::sync::Arc;

use crossdock::Array;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, Field, OffsetWidth, RecordBatch};

use crate::Result;

/// The number of rows.
pub(super) const ROWS: usize = 1024;

/// Columns of eight bytes for each element, without nulls.
pub(super) fn fixed(count: usize) -> Result<RecordBatch> {
    let column = |k: usize| {
        let values: Vec<f64> = (0..ROWS).map(|row| (row + k) as f64).collect();
        Ok((format!("column {k}"), Column::from_array(Array::from_vec(values, [ROWS])?)?))
    };
    let columns = (0..count).map(column).collect::<crossdock::Result<Vec<_>>>()?;
    Ok(RecordBatch::from_columns(columns)?)
}

/// Integers with nulls, text, lists, structs and dictionaries, as many of each.
pub(super) fn mixed(of_each: usize) -> Result<RecordBatch> {
    let mut columns = Vec::new();
    for k in 0..of_each {
        columns.push((format!("integers {k}"), integers()?));
        columns.push((format!("text {k}"), text(&words(ROWS), true)?));
        columns.push((format!("lists {k}"), lists()?));
        columns.push((format!("structs {k}"), structs()?));
        columns.push((format!("dictionary {k}"), dictionary()?));
    }
    Ok(RecordBatch::from_columns(columns)?)
}

/// So many short words, some of them with letters beyond ASCII.
pub(super) fn words(count: usize) -> Vec<String> {
    const WORDS: [&str; 8] = ["column", "Spalte", "größe", "a", "naïve", "memory", "προς", "between"];
    (0..count).map(|k| format!("{}{}", WORDS[k % 8], k % 100)).collect()
}

/// A third of the elements are null.
fn validity(len: usize) -> Result<Option<Buffer>> {
    Ok(Some(Buffer::from_vec(vec![0b0110_1101u8; len.div_ceil(8)])?))
}

fn new(ty: ColumnType, parts: ColumnParts) -> Result<Column> {
    Ok(Column::new(ty, parts, Checks::Shape)?)
}

fn integers() -> Result<Column> {
    let buffers = vec![Buffer::from_vec((0..ROWS as i64).collect())?];
    let parts = ColumnParts { len: ROWS, buffers, validity: validity(ROWS)?, ..Default::default() };
    new(ColumnType::Fixed(DType::I64), parts)
}

/// A column of text.
pub(super) fn text(words: &[String], has_nulls: bool) -> Result<Column> {
    let mut offsets = vec![0i32];
    for word in words {
        offsets.push(offsets.last().copied().unwrap_or_default() + word.len() as i32);
    }
    let buffers = vec![Buffer::from_vec(offsets)?, Buffer::from_vec(words.concat().into_bytes())?];
    let validity = if has_nulls { validity(words.len())? } else { None };
    new(ColumnType::utf8(), ColumnParts { len: words.len(), buffers, validity, ..Default::default() })
}

fn lists() -> Result<Column> {
    let items = Column::from_array(Array::from_vec((0..3 * ROWS as i32).collect(), [3 * ROWS])?)?;
    let item = Arc::new(Field::new("item", items.column_type().clone())?);
    let buffers = vec![Buffer::from_vec((0..=ROWS as i32).map(|row| 3 * row).collect())?];
    let ty = ColumnType::List { item, offsets: OffsetWidth::I32 };
    new(ty, ColumnParts { len: ROWS, buffers, children: vec![items], ..Default::default() })
}

fn structs() -> Result<Column> {
    let children = vec![integers()?, text(&words(ROWS), true)?];
    let field = |(name, column): (&str, &Column)| Field::new(name, column.column_type().clone());
    let fields = ["count", "name"].into_iter().zip(&children).map(field);
    let ty = ColumnType::Struct(fields.collect::<crossdock::Result<_>>()?);
    new(ty, ColumnParts { len: ROWS, children, ..Default::default() })
}

fn dictionary() -> Result<Column> {
    let values = text(&words(8), false)?;
    let field = Arc::new(Field::new("", values.column_type().clone())?);
    let ty = ColumnType::Dictionary { index: DType::I32, values: field, ordered: false };
    let buffers = vec![Buffer::from_vec((0..ROWS as i32).map(|row| row % 8).collect())?];
    new(ty, ColumnParts { len: ROWS, buffers, dictionary: Some(values), ..Default::default() })
}
