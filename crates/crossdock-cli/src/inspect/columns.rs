//! Tables in Arrow IPC files: the columns, their nulls and extremes, and the first rows.

use std::cmp::{Ordering, Reverse};
use std::ffi::OsStr;
use std::path::Path;

use crossdock::bindings::files::RowCounts;
use crossdock::bindings::similar;
use crossdock::bindings::table::nbytes;
use crossdock::element::Value;
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::exchange::files::{Format, OpenOptions};
use crossdock::table::{Column, ColumnValue, Field};
use serde_json::{Map, json};

use crate::cell::show;
use crate::failure::{Failure, Result};
use crate::glob;
use crate::inspect::files::FileLine;
use crate::inspect::listing::Sort;
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
    let target = open::split(target)?;
    let path = target.path();
    if args.protocols || !target.rest().is_empty() {
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
    let chosen = chosen(args, path, file)?;
    let columns: Vec<&Summary> = chosen.iter().map(|&index| &columns[index]).collect();
    let line = FileLine {
        cells: [
            Format::Arrow.to_string(),
            String::new(),
            format!("{rows} x {}", table::counted(fields.len() as u64, "column")),
        ],
        nbytes: file.buffer().nbytes() as u64,
        elements: (rows as u64).saturating_mul(fields.len() as u64),
    };
    let line = (!args.needs_details()).then_some(line);
    if args.json {
        let mut all = json!({
            "schema": SCHEMA,
            "path": path.to_string_lossy(),
            "format": if file.is_stream() { "Arrow IPC stream" } else { "Arrow IPC file" },
            "rows": rows,
            "batches": file.len(),
            "nbytes": file.buffer().nbytes(),
            "columns": columns.iter().copied().map(as_json).collect::<Vec<_>>(),
        });
        if let Some(count) = args.values {
            all["values"] = head(file, &chosen, count)?.into_iter().map(serde_json::Value::from).collect();
        }
        return Ok(Answer::Table { json: all, text: String::new(), line });
    }
    let batches = if file.len() == 1 { "1 batch".to_owned() } else { format!("{} batches", file.len()) };
    let kind = if file.is_stream() { "stream" } else { "file" };
    let mut text = format!(
        "{}: Arrow IPC {kind}, {} of {} in {batches}, {} B\n\n",
        terminal::path(path),
        table::counted(rows as u64, "row"),
        table::counted(fields.len() as u64, "column"),
        file.buffer().nbytes(),
    );
    text += &lines(args, &columns);
    if let Some(count) = args.values {
        text.push('\n');
        text += &first_rows(file, &chosen, &head(file, &chosen, count)?);
    }
    Ok(Answer::Table { json: serde_json::Value::Null, text, line })
}

/// The indices of the columns to show, in the order in which they are shown.
fn chosen(args: &Args, path: &Path, file: &IpcFile) -> Result<Vec<usize>> {
    let fields = file.schema().fields();
    let mut chosen: Vec<usize> = (0..fields.len()).collect();
    if let Some(pattern) = &args.filter {
        chosen.retain(|&index| glob::matches(pattern, fields[index].name()));
        if chosen.is_empty() {
            let near = similar(pattern, fields.iter().map(Field::name));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let (path, all) = (terminal::path(path), fields.len());
            let text = format!("{path}: no name of the {all} columns matches {pattern:?}{near}");
            return Err(Failure::new(text));
        }
    }
    match args.sort {
        Some(Sort::Name) => chosen.sort_by_key(|&index| fields[index].name()),
        Some(Sort::Bytes) => {
            let mut sizes = vec![0u64; fields.len()];
            for batch in 0..file.len() {
                for (column, size) in file.batch(batch)?.columns().zip(&mut sizes) {
                    *size = size.saturating_add(nbytes(&[column?]) as u64);
                }
            }
            chosen.sort_by_key(|&index| Reverse(sizes[index]));
        }
        None => {}
    }
    Ok(chosen)
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

fn lines(args: &Args, columns: &[&Summary]) -> String {
    let mut table = table::plain();
    let header = ["column", "type", "nulls", "min", "max"];
    table.set_header(&header[..if args.stats { 5 } else { 3 }]);
    for column in columns {
        let mut row = vec![shown(&column.name), shown(&column.ty), column.nulls.to_string()];
        if args.stats {
            let extremes = column.extremes.as_ref();
            let text = |text: &String| if text.is_empty() { "\"\"".to_owned() } else { shown(text) };
            row.push(extremes.map_or_else(String::new, |(least, _)| text(least)));
            row.push(extremes.map_or_else(String::new, |(_, greatest)| text(greatest)));
        }
        table.add_row(row);
    }
    table::lines(&mut table, [2], INDENT)
}

/// The cells of the first rows.
fn head(file: &IpcFile, chosen: &[usize], count: usize) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in 0..file.len() {
        if rows.len() >= count {
            break;
        }
        let batch = file.batch(batch)?;
        let columns = chosen.iter().take(MOST_COLUMNS).map(|&index| batch.column(index));
        let columns = columns.collect::<crossdock::Result<Vec<_>>>()?;
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
        value @ (ColumnValue::Element(_) | ColumnValue::Decimal(_)) => {
            let mut text = String::new();
            show(column.column_type(), &value, &mut text)?;
            Ok(text)
        }
        // Lists are shortened to their first and last items.
        _ => {
            let text = column.slice(row..=row)?.to_string();
            Ok(text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text).to_owned())
        }
    }
}

fn first_rows(file: &IpcFile, chosen: &[usize], rows: &[Vec<String>]) -> String {
    let mut table = table::plain();
    let fields = file.schema().fields();
    let names = chosen.iter().take(MOST_COLUMNS).map(|&index| shown(fields[index].name()));
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
    found: Option<[(ColumnValue, String); 2]>,
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
                value @ (ColumnValue::Element(_) | ColumnValue::Decimal(_)) => value,
                _ => {
                    self.has_no_order = true;
                    continue;
                }
            };
            if order(&value, &value).is_none() {
                // NaN is neither.
                self.has_no_order |= !matches!(value, ColumnValue::Element(Value::Float(_)));
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
fn order(one: &ColumnValue, other: &ColumnValue) -> Option<Ordering> {
    let (one, other) = match (one, other) {
        (ColumnValue::Element(one), ColumnValue::Element(other)) => (one, other),
        (ColumnValue::Decimal(one), ColumnValue::Decimal(other)) => {
            return Some(order_of_decimals(one, other));
        }
        _ => return None,
    };
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

/// The order of two decimals of one scale.
fn order_of_decimals(one: &str, other: &str) -> Ordering {
    let digits = |text: &'_ str| text.trim_start_matches('-').to_owned();
    let (first, second) = (digits(one), digits(other));
    let by_digits = first.len().cmp(&second.len()).then_with(|| first.cmp(&second));
    match (one.starts_with('-'), other.starts_with('-')) {
        (false, false) => by_digits,
        (true, true) => by_digits.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}
