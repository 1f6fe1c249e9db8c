//! The first elements of an array, for people and for programs.

use std::fmt::Write;

use crossdock::DArray;
use crossdock::element::{DType, DTypeKind, Value};
use serde_json::{Map, json};

use crate::failure::{Failure, Result};
use crate::inspect::report;
use crate::table;
use crate::terminal::shown;

const INDENT: &str = "  ";

/// The most elements that JSON has.
const MOST: usize = 1_000_000;

/// The most fields that are columns.
const MOST_FIELDS: usize = 50;

/// The first rows: entries along axis 0.
fn head(array: &DArray, rows: usize) -> Result<DArray> {
    match array.shape().first() {
        Some(&len) if len > rows => Ok(array.slice_axis(0, 0..rows)?),
        _ => Ok(array.clone()),
    }
}

/// Lines, each indented by two spaces: a table of records, or the array as NumPy prints it.
pub(super) fn as_text(array: &DArray, rows: usize, columns: usize) -> Result<String> {
    let head = head(array, rows)?;
    let mut text = String::new();
    match head.dtype().as_record() {
        Some(record) if head.rank() == 1 => {
            let mut table = table::plain();
            let fields = || record.fields().iter().take(MOST_FIELDS);
            table.set_header(["".to_owned()].into_iter().chain(fields().map(|field| shown(field.name()))));
            for row in 0..head.len() {
                let mut cells = vec![row.to_string()];
                for field in fields() {
                    let cell = head.field(field.name())?.drop_axis(0, row)?;
                    cells.push(shown(&cell.display().line_width(usize::MAX).to_string()));
                }
                table.add_row(cells);
            }
            text += &table::lines(&mut table, 0..=MOST_FIELDS, INDENT);
        }
        _ => {
            let lines = head.display().line_width(columns.saturating_sub(4).max(20)).to_string();
            for line in lines.lines() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{INDENT}{}", shown(line));
            }
        }
    }
    Ok(text)
}

/// Nested lists of numbers; records are objects.
pub(super) fn as_json(array: &DArray, rows: usize) -> Result<serde_json::Value> {
    let head = head(array, rows)?;
    if head.len() > MOST {
        let text =
            format!("{} values are too many for JSON, which has at most {MOST}; name a view", head.len());
        return Err(Failure::new(text));
    }
    nested(&head)
}

fn nested(array: &DArray) -> Result<serde_json::Value> {
    match array.shape().first() {
        Some(&len) => (0..len)
            .map(|index| nested(&array.drop_axis(0, index)?))
            .collect::<Result<Vec<_>>>()
            .map(Into::into),
        None => element(array),
    }
}

/// One element.
fn element(array: &DArray) -> Result<serde_json::Value> {
    match array.dtype().kind() {
        DTypeKind::Record(record) => {
            let mut object = Map::new();
            for field in record.fields() {
                object.insert(field.name().to_owned(), nested(&array.field(field.name())?)?);
            }
            Ok(object.into())
        }
        _ => Ok(value(&array.get(&[])?, array.dtype())),
    }
}

fn value(value: &Value, dtype: &DType) -> serde_json::Value {
    match value {
        Value::Bool(truth) => (*truth).into(),
        Value::Complex { re, im } => json!([re, im]),
        Value::Text(text) => text.as_str().into(),
        Value::Bytes(bytes) if std::str::from_utf8(bytes).is_ok() => String::from_utf8_lossy(bytes).into(),
        other => report::number(other, dtype),
    }
}
