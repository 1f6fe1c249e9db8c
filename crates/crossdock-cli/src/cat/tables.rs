//! The rows of a table as lines of text, a batch at a time.

use std::io::Write;

use crossdock::element::Value;
use crossdock::table::{Column, ColumnType, ColumnValue};

use crate::cat::Args;
use crate::cat::rows::{Stop, Style, csv, csv_bytes};
use crate::cell::{cell, show, values_of};
use crate::failure::Result;
use crate::open::{Opened, TableTarget, not_of_table};

/// Stands in CSV for a null that is the only field of its row; the same text as a value is quoted.
const NULL: &str = "null";

/// What the command writes.
pub(super) enum CatInput {
    /// An array in a file, or a column that can be one.
    Array(Opened),
    /// The rows of a whole table, or of a column that cannot be an array.
    Rows(TableTarget),
}

/// Opens what the arguments name.
pub(super) fn find(args: &Args) -> Result<CatInput> {
    let array = || args.source.open(false).map(CatInput::Array);
    if args.source.at.is_some() || args.source.raw.is_some() {
        return array();
    }
    let Some(table) = TableTarget::open(&args.source.target)? else { return array() };
    let fields = table.file.schema().fields();
    match table.column {
        // The only column of a table needs no name.
        None if args.bytes && fields.len() > 1 => Err(not_of_table(&table.path, "--bytes")),
        _ if args.bytes => array(),
        // Arrays lack the meaning of times of day, dates and zones.
        Some(index) if has_dtype(fields[index].column_type()) => match array() {
            Err(failure) if !failure.is_shrunk() => Ok(CatInput::Rows(table)),
            found => found,
        },
        _ => Ok(CatInput::Rows(table)),
    }
}

/// Whether the dtype of an array can hold the whole meaning of the type.
fn has_dtype(ty: &ColumnType) -> bool {
    matches!(ty, ColumnType::Fixed(_) | ColumnType::Boolean | ColumnType::FixedList { .. })
}

/// Writes all rows, with one batch in memory at a time.
pub(super) fn write(table: &TableTarget, style: Style, out: &mut impl Write) -> Result<(), Stop> {
    let fields = table.file.schema().fields();
    let names = match table.column {
        Some(index) => &fields[index..=index],
        None => fields,
    };
    if names.is_empty() && style != Style::Text {
        return Ok(());
    }
    if let Style::Csv { has_header: true, is_shown } = style {
        for (at, field) in names.iter().enumerate() {
            out.write_all(if at > 0 { b"," } else { b"" })?;
            csv(field.name(), is_shown, out)?;
        }
        out.write_all(b"\n")?;
    }
    for batch in 0..table.file.len() {
        let (len, columns) = match table.column {
            Some(index) => {
                let column = table.file.column(batch, index)?;
                (column.len(), vec![column])
            }
            None => {
                let batch = table.file.batch(batch)?;
                (batch.len(), batch.columns().collect::<crossdock::Result<Vec<_>>>()?)
            }
        };
        for row in 0..len {
            line(&columns, row, style, out)?;
        }
    }
    Ok(())
}

fn line(columns: &[Column], row: usize, style: Style, out: &mut impl Write) -> Result<(), Stop> {
    let separator: &[u8] = if style == Style::Text { b" " } else { b"," };
    for (at, column) in columns.iter().enumerate() {
        out.write_all(if at > 0 { separator } else { b"" })?;
        match style {
            Style::Text => out.write_all(cell(column, row)?.as_bytes())?,
            Style::Csv { is_shown, .. } => match column.value(row)? {
                // Readers skip empty lines.
                ColumnValue::Null if columns.len() == 1 => out.write_all(NULL.as_bytes())?,
                ColumnValue::Null => {}
                ColumnValue::Element(Value::Text(text)) if columns.len() == 1 && text == NULL => {
                    write!(out, "\"{text}\"")?
                }
                ColumnValue::Element(Value::Text(text)) => csv(&text, is_shown, out)?,
                ColumnValue::Element(Value::Bytes(bytes) | Value::Void(bytes)) => {
                    csv_bytes(&bytes, is_shown, out)?
                }
                ColumnValue::Element(value @ Value::DateTime { .. }) => {
                    let has_zone = matches!(
                        values_of(column.column_type()),
                        ColumnType::Timestamp { zone: Some(_), .. }
                    );
                    write!(out, "{value}{}", if has_zone { "Z" } else { "" })?
                }
                value => {
                    let mut text = String::new();
                    show(column.column_type(), &value, &mut text)?;
                    csv(&text, is_shown, out)?;
                }
            },
        }
    }
    Ok(out.write_all(b"\n")?)
}
