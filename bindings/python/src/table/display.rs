//! Tables and columns as text for people. Only the displayed elements are read.

use pyo3::prelude::*;

/// How many rows and columns are displayed: half of them from either end.
const ROWS: usize = 10;
const COLUMNS: usize = 12;
/// How many characters a cell has at most.
const WIDTH: usize = 40;

/// The indices that are displayed of so many, at most `most`; `None` stands for those left out.
fn displayed(len: usize, most: usize) -> Vec<Option<usize>> {
    if len <= most {
        return (0..len).map(Some).collect();
    }
    let head = (0..most / 2).map(Some);
    head.chain([None]).chain((len - most / 2..len).map(Some)).collect()
}

/// At most [`WIDTH`] characters, on one line.
fn cut(text: &str) -> String {
    let mut short: String = text.escape_debug().take(WIDTH + 1).collect();
    if short.chars().count() > WIDTH {
        short = short.chars().take(WIDTH - 3).chain("...".chars()).collect();
    }
    short
}

/// The elements between brackets.
pub(super) fn list(len: usize, one: impl Fn(usize) -> String) -> String {
    let one = |index: Option<usize>| index.map_or("...".to_owned(), &one);
    format!("[{}]", displayed(len, ROWS).into_iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Rows and columns as pandas prints them.
pub(super) fn rows(
    shape: (usize, usize),
    names: &[&str],
    cells: impl Fn(usize, &[Option<usize>]) -> PyResult<Vec<String>>,
) -> PyResult<String> {
    let indices = displayed(shape.0, ROWS);
    let labels = indices.iter().map(|row| row.map_or("...".to_owned(), |row| row.to_string()));
    let mut table = vec![(String::new(), labels.collect::<Vec<_>>())];
    for column in displayed(shape.1, COLUMNS) {
        table.push(match column {
            Some(column) => {
                (cut(names[column]), cells(column, &indices)?.iter().map(|text| cut(text)).collect())
            }
            None => ("...".to_owned(), vec!["...".to_owned(); indices.len()]),
        });
    }
    let mut text = String::new();
    for row in 0..=indices.len() {
        let mut line = String::new();
        for (number, (name, cells)) in table.iter().enumerate() {
            let width = cells.iter().chain([name]).map(|text| text.chars().count()).max().unwrap_or(0);
            let cell = if row == 0 { name } else { &cells[row - 1] };
            line += &if number == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    Ok(format!("{text}\n[{} rows x {} columns]", shape.0, shape.1))
}
