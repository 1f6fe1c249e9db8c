//! Tables in Arrow IPC files: the columns, their nulls and extremes, and the first rows.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use crossdock::element::Value;
use crossdock::exchange::files::OpenOptions;
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::table::{Column, ColumnValue};
use serde_json::{Map, json};

use crate::failure::{Failure, Result};
use crate::inspect::{Answer, Args};
use crate::terminal;
use crate::terminal::shown;

/// The version of the JSON of a table; `docs/command.md` describes it.
const SCHEMA: &str = "crossdock.table/1";

/// The most columns of printed rows.
const MOST_COLUMNS: usize = 50;

/// What is printed about a table; `None` if the target is not a whole file with one.
pub(super) fn answer(args: &Args, target: &OsStr) -> Result<Option<Answer>> {
    let path = Path::new(target);
    if args.is_listing() || args.protocols || !path.is_file() {
        return Ok(None);
    }
    let file = match OpenOptions::new().guarded(true).try_open_table(path) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(None),
        // The reader of arrays has the better suggestions.
        Err(error) if error.is_io() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let described = describe(args, path, &file);
    // If the file shrank, no other result is valid.
    match file.buffer().fault() {
        Some(fault) => Err(Failure::shrank(path, &fault)),
        None => described.map(Some),
    }
}

/// One column, over all batches.
struct Summary {
    name: String,
    ty: String,
    nulls: u64,
    /// The least and the greatest value, if elements are compared.
    extremes: Option<(String, String)>,
}

fn describe(args: &Args, path: &Path, file: &IpcFile) -> Result<Answer> {
    let rows = file.rows()?;
    let fields = file.schema().fields();
    let mut nulls = vec![0u64; fields.len()];
    for batch in 0..file.len() {
        for (sum, count) in nulls.iter_mut().zip(file.null_counts(batch)?) {
            *sum += count as u64;
        }
    }
    let mut columns = Vec::new();
    for (index, (field, nulls)) in fields.iter().zip(nulls).enumerate() {
        let extremes = if args.stats { extremes(file, index)? } else { None };
        let ty = field.column_type().to_string();
        columns.push(Summary { name: field.name().to_owned(), ty, nulls, extremes });
    }
    if args.json {
        let mut all = json!({
            "schema": SCHEMA,
            "path": terminal::json(&path.to_string_lossy()),
            "format": if file.is_stream() { "Arrow IPC stream" } else { "Arrow IPC file" },
            "rows": rows,
            "batches": file.len(),
            "nbytes": file.buffer().nbytes(),
            "columns": columns.iter().map(as_json).collect::<Vec<_>>(),
        });
        if let Some(count) = args.values {
            all["values"] = head(file, count)?.into_iter().map(serde_json::Value::from).collect();
        }
        return Ok(Answer::Array { json: all, text: String::new() });
    }
    let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let batches = if file.len() == 1 { "1 batch".to_owned() } else { format!("{} batches", file.len()) };
    let kind = if file.is_stream() { "stream" } else { "file" };
    let mut text = format!(
        "{}: Arrow IPC {kind}, {} of {} in {batches}, {} B\n\n",
        terminal::path(path),
        many(rows, "row"),
        many(columns.len(), "column"),
        file.buffer().nbytes(),
    );
    text += &lines(args, &columns);
    if let Some(count) = args.values {
        text.push('\n');
        text += &first_rows(file, &head(file, count)?);
    }
    Ok(Answer::Array { json: serde_json::Value::Null, text })
}

fn as_json(column: &Summary) -> serde_json::Value {
    let mut all = Map::new();
    all.insert("name".into(), terminal::json(&column.name).into());
    all.insert("type".into(), terminal::json(&column.ty).into());
    all.insert("nulls".into(), column.nulls.into());
    if let Some((least, greatest)) = &column.extremes {
        all.insert("min".into(), terminal::json(least).into());
        all.insert("max".into(), terminal::json(greatest).into());
    }
    all.into()
}

fn lines(args: &Args, columns: &[Summary]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let header = ["column", "type", "nulls", "min", "max"];
    table.set_header(&header[..if args.stats { 5 } else { 3 }]);
    for column in columns {
        let mut row = vec![shown(&column.name), shown(&column.ty), column.nulls.to_string()];
        if args.stats {
            let (least, greatest) = column.extremes.clone().unwrap_or_default();
            row.extend([shown(&least), shown(&greatest)]);
        }
        table.add_row(row);
    }
    printed(&mut table, &[2])
}

fn printed(table: &mut Table, numbers: &[usize]) -> String {
    for &number in numbers {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, " {}", line.trim_end());
    }
    text
}

/// The cells of the first rows.
fn head(file: &IpcFile, count: usize) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in 0..file.len() {
        if rows.len() >= count {
            break;
        }
        let batch = file.batch(batch)?;
        let columns = batch.columns().take(MOST_COLUMNS).collect::<crossdock::Result<Vec<_>>>()?;
        for row in 0..batch.len().min(count - rows.len()) {
            rows.push(columns.iter().map(|column| cell(column, row)).collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(rows)
}

/// One element; text without quotes.
fn cell(column: &Column, row: usize) -> Result<String> {
    match column.value(row)? {
        ColumnValue::Element(Value::Text(text)) => Ok(text),
        _ => {
            let text = column.slice(row..=row)?.to_string();
            Ok(text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text).to_owned())
        }
    }
}

fn first_rows(file: &IpcFile, rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let names = file.schema().fields().iter().take(MOST_COLUMNS).map(|field| shown(field.name()));
    table.set_header([String::new()].into_iter().chain(names));
    for (index, row) in rows.iter().enumerate() {
        table.add_row([index.to_string()].into_iter().chain(row.iter().map(|cell| shown(cell))));
    }
    let all: Vec<usize> = (0..=MOST_COLUMNS.min(file.schema().fields().len())).collect();
    printed(&mut table, &all)
}

/// The least and the greatest value of a column, as text; `None` if there are none, or if values of
/// the type have no order. Reads all elements.
fn extremes(file: &IpcFile, index: usize) -> Result<Option<(String, String)>> {
    let mut found: Option<[(Value, String); 2]> = None;
    for batch in 0..file.len() {
        let column = file.batch(batch)?.column(index)?;
        for row in 0..column.len() {
            let value = match column.value(row)? {
                ColumnValue::Null => continue,
                ColumnValue::Element(value) => value,
                _ => return Ok(None),
            };
            if order(&value, &value).is_none() {
                match value {
                    // NaN is neither.
                    Value::Float(_) => continue,
                    _ => return Ok(None),
                }
            }
            let Some([least, greatest]) = &mut found else {
                let text = cell(&column, row)?;
                found = Some([(value.clone(), text.clone()), (value, text)]);
                continue;
            };
            if order(&value, &least.0) == Some(Ordering::Less) {
                *least = (value, cell(&column, row)?);
            } else if order(&value, &greatest.0) == Some(Ordering::Greater) {
                *greatest = (value, cell(&column, row)?);
            }
        }
    }
    Ok(found.map(|[least, greatest]| (least.1, greatest.1)))
}

/// The order of two values of one type.
fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        (Value::UInt(one), Value::UInt(other)) => Some(one.cmp(other)),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other),
        (Value::Text(one), Value::Text(other)) => Some(one.cmp(other)),
        (Value::Bytes(one), Value::Bytes(other)) | (Value::Void(one), Value::Void(other)) => {
            Some(one.cmp(other))
        }
        (Value::DateTime { count: one, .. }, Value::DateTime { count: other, .. })
        | (Value::TimeDelta { count: one, .. }, Value::TimeDelta { count: other, .. }) => {
            Some(one.cmp(other))
        }
        _ => None,
    }
}
