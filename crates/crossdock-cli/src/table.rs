//! Tables, and times in them.

use std::fmt::Write;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

/// A table with a header; the columns with these numbers hold numbers.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: &[[String; N]], numbers: &[usize]) -> String {
    let mut table = plain();
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    lines(&mut table, numbers.iter().copied(), "")
}

/// An empty table, to be printed without rules.
pub(crate) fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The lines of a [`plain`] table, each behind `indent`; the columns with these numbers hold
/// numbers.
pub(crate) fn lines(table: &mut Table, numbers: impl IntoIterator<Item = usize>, indent: &str) -> String {
    for number in numbers {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for line in table.lines() {
        // Writing to a string cannot fail. A line begins with the padding of its first cell.
        let _ = writeln!(text, "{indent}{}", line.trim_end().get(1..).unwrap_or_default());
    }
    text
}

/// A number of things: "1 row", "2 rows".
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Where the arrays of a version lie.
pub(crate) fn memory(is_mapped: bool) -> String {
    if is_mapped { "mapped file" } else { "sealed" }.to_owned()
}

/// A time in two words at most.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_short() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (61, "1 min"), (7_260, "2 h 1 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
