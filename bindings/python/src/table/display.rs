//! Tables and columns as text for people. Only the displayed elements are read.

use crossdock::bindings::table::{cut, displayed, grid};
use pyo3::prelude::*;

/// How many elements of a column are displayed.
const ELEMENTS: usize = 10;

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
