//! Columns and batches as text. Only the displayed elements are read; an error is printed in place
//! of an element that cannot be.

use std::fmt;

use crate::element::Value;
use crate::table::column::Column;
use crate::table::column_type::ColumnType;
use crate::table::grid::{displayed, grid};
use crate::table::record_batch::RecordBatch;
use crate::table::value::ColumnValue;

/// How many elements of a list are displayed.
const ELEMENTS: usize = 10;
/// How many characters a cell has at most.
const WIDTH: usize = 40;

/// An element in a list.
fn nested(f: &mut impl fmt::Write, column: &Column, index: usize) -> fmt::Result {
    match column.value(index) {
        Ok(value) => show(f, column.column_type(), &value),
        Err(error) => write!(f, "<{error}>"),
    }
}

fn list(f: &mut impl fmt::Write, column: &Column) -> fmt::Result {
    f.write_str("[")?;
    for (k, index) in displayed(column.len(), ELEMENTS).into_iter().enumerate() {
        f.write_str(if k == 0 { "" } else { ", " })?;
        match index {
            Some(index) => nested(f, column, index)?,
            None => f.write_str("...")?,
        }
    }
    f.write_str("]")
}

/// The names of a type's fields, if it is a struct.
fn names(ty: &ColumnType) -> Vec<&str> {
    match ty {
        ColumnType::Struct(fields) => fields.iter().map(|field| field.name()).collect(),
        ColumnType::Dictionary { values, .. } | ColumnType::RunEndEncoded { values, .. } => {
            names(values.column_type())
        }
        _ => vec![],
    }
}

fn show(f: &mut impl fmt::Write, ty: &ColumnType, value: &ColumnValue) -> fmt::Result {
    match value {
        ColumnValue::Null => f.write_str("null"),
        ColumnValue::Element(value) => {
            write!(f, "{value}")?;
            match ty {
                ColumnType::Timestamp { zone: Some(zone), .. } => write!(f, "Z[{zone}]"),
                _ => Ok(()),
            }
        }
        ColumnValue::Decimal(text) => f.write_str(text),
        ColumnValue::List(column) | ColumnValue::Map(column) => list(f, column),
        ColumnValue::Struct(values) => {
            let (names, types) = (names(ty), ty.fields().map(|field| field.column_type()));
            let types: Vec<&ColumnType> = types.collect();
            f.write_str("{")?;
            for (k, value) in values.iter().enumerate() {
                let name = names.get(k).copied().unwrap_or_default();
                write!(f, "{}{name}: ", if k == 0 { "" } else { ", " })?;
                show(f, types.get(k).copied().unwrap_or(&ColumnType::Null), value)?;
            }
            f.write_str("}")
        }
    }
}

/// One cell of a batch: text without quotes, on one line.
fn cell(column: &Column, index: usize) -> String {
    let mut text = String::new();
    match column.value(index) {
        Ok(ColumnValue::Element(Value::Text(plain))) => text = plain,
        Ok(value) => drop(show(&mut text, column.column_type(), &value)),
        Err(error) => text = format!("<{error}>"),
    }
    // All that is displayed, and one character more.
    let end = text.char_indices().nth(WIDTH + 1).map_or(text.len(), |(end, _)| end);
    text.truncate(end);
    if text.chars().any(char::is_control) {
        text = text.escape_debug().to_string();
    }
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

impl fmt::Display for Column {
    /// The elements between brackets, at most ten of them.
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::table::Column;
    ///
    /// let column = Column::from_array(Array::from_vec(vec![1.5f64, 2.0], [2])?)?;
    /// assert_eq!(column.to_string(), "[1.5, 2.0]");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, self)
    }
}

impl fmt::Display for RecordBatch {
    /// A table as pandas prints it: at most ten rows and twelve columns, half of them from either
    /// end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.schema().fields();
        let name = |number: usize| fields[number].name().escape_debug().to_string();
        let cells = |number: usize, rows: &[Option<usize>]| {
            Ok::<_, fmt::Error>(match self.column(number) {
                Ok(column) => {
                    let shown = |row: &Option<usize>| row.map_or("...".to_owned(), |row| cell(&column, row));
                    rows.iter().map(shown).collect()
                }
                Err(error) => vec![format!("<{error}>"); rows.len()],
            })
        };
        f.write_str(&grid((self.len(), fields.len()), name, cells)?)
    }
}
