//! `_repr_html_`: tables and columns as tables of a notebook. Only the displayed elements are read.

use std::fmt::Write as _;

use crossdock::bindings::table::{chunk_of, cut, displayed};
use crossdock::table::{Column, Field};
use pyo3::prelude::*;

use crate::html::escaped;
use crate::table::values;
use crate::table::values::Meaning;

/// How many rows and columns are displayed.
const ROWS: usize = 10;
const COLUMNS: usize = 20;

/// Columns with their names and types, and a line below. `column` gives a field and its chunks.
pub(super) fn table(
    py: Python<'_>,
    (rows, columns): (usize, usize),
    column: impl Fn(usize) -> PyResult<(Field, Vec<Column>)>,
    below: &str,
) -> PyResult<String> {
    let (shown_rows, shown_columns) = (displayed(rows, ROWS), displayed(columns, COLUMNS));
    let taken = shown_columns.into_iter().map(|index| index.map(&column).transpose());
    let taken = taken.collect::<PyResult<Vec<Option<_>>>>()?;
    let mut html = String::from("<div class=\"crossdock-table\"><table><thead><tr><th></th>");
    // Writing to a `String` does not fail, here and below.
    for column in &taken {
        let _ = match column {
            Some((field, _)) => write!(
                html,
                "<th>{}<br/><small>{}</small></th>",
                escaped(&cut(field.name())),
                escaped(&cut(&field.column_type().to_string()))
            ),
            None => write!(html, "<th>…</th>"),
        };
    }
    html += "</tr></thead><tbody>";
    for row in shown_rows {
        let _ = match row {
            Some(row) => write!(html, "<tr><th>{row}</th>"),
            None => write!(html, "<tr><th>…</th>"),
        };
        for column in &taken {
            let _ = match (row, column) {
                (Some(row), Some((field, chunks))) => {
                    write!(html, "<td>{}</td>", cell(py, chunks, row, Meaning::of(field)))
                }
                _ => write!(html, "<td>…</td>"),
            };
        }
        html += "</tr>";
    }
    let _ = write!(html, "</tbody></table><p>{}</p></div>", escaped(below));
    Ok(html)
}

/// An element; a null in grey, which tells it from the text `None`.
fn cell(py: Python<'_>, chunks: &[Column], row: usize, meaning: Meaning<'_>) -> String {
    let Some((chunk, index)) = chunk_of(chunks, row) else { return String::new() };
    if matches!(chunk.resolved(index), Ok(None)) {
        return "<span style=\"opacity:.5\">None</span>".to_owned();
    }
    escaped(&cut(&values::shown(py, chunk, index, meaning, false)))
}
