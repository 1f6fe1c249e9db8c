//! Tables in Arrow IPC files: the columns, their nulls and extremes, and the first rows.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::Path;

use crossdock::bindings::files::RowCounts;
use crossdock::element::Value;
use crossdock::exchange::files::OpenOptions;
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::table::{Column, ColumnValue};
use serde_json::{Map, json};

use crate::failure::{Failure, Result};
use crate::inspect::{Answer, Args};
use crate::open;
use crate::table;
use crate::terminal;
use crate::terminal::shown;

/// The version of the JSON of a table; `docs/command.md` describes it.
const SCHEMA: &str = "crossdock.table/1";

const INDENT: &str = "  ";

/// The most columns of printed rows.
const MOST_COLUMNS: usize = 50;

/// What is printed about a table; `None` if the target is not a whole file with one.
pub(super) fn answer(args: &Args, target: &OsStr) -> Result<Option<Answer>> {
    let path = Path::new(target);
    if args.is_listing() || args.protocols {
        return Ok(None);
    }
    let Some(file) = open::table(path, OpenOptions::new())? else { return Ok(None) };
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
    let counts = RowCounts::of(file)?;
    let (rows, fields) = (counts.rows(), file.schema().fields());
    let extremes = if args.stats { extremes(file)? } else { vec![None; fields.len()] };
    let columns = fields.iter().zip(counts.nulls()).zip(extremes).map(|((field, nulls), extremes)| Summary {
        name: field.name().to_owned(),
        ty: field.column_type().to_string(),
        nulls: *nulls as u64,
        extremes,
    });
    let columns: Vec<_> = columns.collect();
    if args.json {
        let mut all = json!({
            "schema": SCHEMA,
            "path": path.to_string_lossy(),
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
    let batches = if file.len() == 1 { "1 batch".to_owned() } else { format!("{} batches", file.len()) };
    let kind = if file.is_stream() { "stream" } else { "file" };
    let mut text = format!(
        "{}: Arrow IPC {kind}, {} of {} in {batches}, {} B\n\n",
        terminal::path(path),
        table::counted(rows as u64, "row"),
        table::counted(columns.len() as u64, "column"),
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
    all.insert("name".into(), column.name.as_str().into());
    all.insert("type".into(), column.ty.as_str().into());
    all.insert("nulls".into(), column.nulls.into());
    if let Some((least, greatest)) = &column.extremes {
        all.insert("min".into(), least.as_str().into());
        all.insert("max".into(), greatest.as_str().into());
    }
    all.into()
}

fn lines(args: &Args, columns: &[Summary]) -> String {
    let mut table = table::plain();
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
    table::lines(&mut table, [2], INDENT)
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
    let mut table = table::plain();
    let names = file.schema().fields().iter().take(MOST_COLUMNS).map(|field| shown(field.name()));
    table.set_header([String::new()].into_iter().chain(names));
    for (index, row) in rows.iter().enumerate() {
        table.add_row([index.to_string()].into_iter().chain(row.iter().map(|cell| shown(cell))));
    }
    table::lines(&mut table, 0..=MOST_COLUMNS, INDENT)
}

/// The least and the greatest value of each column, as text; `None` if there are none, or if values
/// of the type have no order. Reads all elements, each batch once.
fn extremes(file: &IpcFile) -> Result<Vec<Option<(String, String)>>> {
    let mut all = vec![Extremes::default(); file.schema().fields().len()];
    for batch in 0..file.len() {
        let batch = file.batch(batch)?;
        for (column, extremes) in batch.columns().zip(&mut all) {
            extremes.add(&column?)?;
        }
    }
    Ok(all.into_iter().map(Extremes::text).collect())
}

#[derive(Clone, Default)]
struct Extremes {
    /// The least and the greatest value so far, with their texts.
    found: Option<[(Value, String); 2]>,
    /// Values of the type have no order.
    has_no_order: bool,
}

impl Extremes {
    fn add(&mut self, column: &Column) -> Result<()> {
        for row in 0..column.len() {
            if self.has_no_order {
                return Ok(());
            }
            let value = match column.value(row)? {
                ColumnValue::Null => continue,
                ColumnValue::Element(value) => value,
                _ => {
                    self.has_no_order = true;
                    continue;
                }
            };
            if order(&value, &value).is_none() {
                // NaN is neither.
                self.has_no_order |= !matches!(value, Value::Float(_));
                continue;
            }
            let Some([least, greatest]) = &mut self.found else {
                let text = cell(column, row)?;
                self.found = Some([(value.clone(), text.clone()), (value, text)]);
                continue;
            };
            if order(&value, &least.0) == Some(Ordering::Less) {
                *least = (value, cell(column, row)?);
            } else if order(&value, &greatest.0) == Some(Ordering::Greater) {
                *greatest = (value, cell(column, row)?);
            }
        }
        Ok(())
    }

    fn text(self) -> Option<(String, String)> {
        let [least, greatest] = self.found.filter(|_| !self.has_no_order)?;
        Some((least.1, greatest.1))
    }
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
