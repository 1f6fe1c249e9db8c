//! The rows of a table as lines of text, a batch at a time.

use std::io::Write;

use crossdock::element::Value;
use crossdock::table::{Column, ColumnValue};

use crate::cat::Args;
use crate::cat::rows::{Stop, Style, csv, csv_bytes};
use crate::cell::{cell, show};
use crate::failure::Result;
use crate::open::TableTarget;

/// The table whose rows are written: a whole one, or a column that is no array. `None` for arrays.
pub(super) fn find(args: &Args) -> Result<Option<TableTarget>> {
    if args.bytes || args.source.at.is_some() || args.source.raw.is_some() {
        return Ok(None);
    }
    let table = TableTarget::open(&args.source.target)?;
    Ok(table.filter(|table| table.column.is_none() || args.source.open(false).is_err()))
}

/// Writes all rows, of which one batch at a time is in memory.
pub(super) fn write(table: &TableTarget, style: Style, out: &mut impl Write) -> Result<(), Stop> {
    let fields = table.file.schema().fields();
    let names = match table.column {
        Some(index) => &fields[index..=index],
        None => fields,
    };
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
                ColumnValue::Null => {}
                ColumnValue::Element(Value::Text(text)) => csv(&text, is_shown, out)?,
                ColumnValue::Element(Value::Bytes(bytes)) => csv_bytes(&bytes, is_shown, out)?,
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
