//! Tables and columns as text for people. Only the displayed elements are read.

use crossdock::bindings::table::{displayed, grid};
use pyo3::prelude::*;

/// How many elements of a column are displayed.
const ELEMENTS: usize = 10;
/// How many characters a cell has at most.
const WIDTH: usize = 40;

/// At most [`WIDTH`] characters, on one line.
pub(super) fn cut(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_debug().collect(),
        false => letter.to_string(),
    };
    let mut short: String = text.chars().take(WIDTH + 1).map(escaped).collect();
    if short.chars().count() > WIDTH {
        short = short.chars().take(WIDTH - 3).chain("...".chars()).collect();
    }
    short
}

/// The elements between brackets.
pub(super) fn list(len: usize, one: impl Fn(usize) -> String) -> String {
    let one = |index: Option<usize>| index.map_or("...".to_owned(), &one);
    format!("[{}]", displayed(len, ELEMENTS).into_iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Rows and columns as pandas prints them.
pub(super) fn rows(
    shape: (usize, usize),
    names: &[&str],
    cells: impl Fn(usize, &[Option<usize>]) -> PyResult<Vec<String>>,
) -> PyResult<String> {
    let name = |column: usize| cut(names[column]);
    let cells = |column: usize, rows: &[Option<usize>]| {
        Ok(cells(column, rows)?.iter().map(|text| cut(text)).collect())
    };
    grid(shape, name, cells)
}
