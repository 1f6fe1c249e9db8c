//! The rows and columns of a table as text, as pandas prints them.

/// How many rows and columns are displayed: half of them from either end.
const ROWS: usize = 10;
const COLUMNS: usize = 12;

/// How many characters a cell has at most.
const WIDTH: usize = 40;

/// Formatting pads to no more characters. The lines of longer names are not aligned.
const MOST_PADDED: usize = u16::MAX as usize;

/// The indices that are displayed of so many, at most `most`; `None` stands for those left out.
pub fn displayed(len: usize, most: usize) -> Vec<Option<usize>> {
    if len <= most {
        return (0..len).map(Some).collect();
    }
    let head = (0..most / 2).map(Some);
    head.chain([None]).chain((len - most / 2..len).map(Some)).collect()
}

/// The text of a cell on one line, cut to 40 characters.
pub fn cut(text: &str) -> String {
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

/// A table of so many rows and columns. `name` gives the name of a column, and `cells` its cells in
/// these rows, with "..." for `None`.
///
/// # Errors
///
/// Those of `cells`.
pub fn grid<E>(
    shape: (usize, usize),
    name: impl Fn(usize) -> String,
    cells: impl Fn(usize, &[Option<usize>]) -> Result<Vec<String>, E>,
) -> Result<String, E> {
    let rows = displayed(shape.0, ROWS);
    let labels = rows.iter().map(|row| row.map_or("...".to_owned(), |row| row.to_string()));
    let mut table = vec![(String::new(), labels.collect::<Vec<_>>())];
    for column in displayed(shape.1, COLUMNS) {
        table.push(match column {
            Some(column) => (name(column), cells(column, &rows)?),
            None => ("...".to_owned(), vec!["...".to_owned(); rows.len()]),
        });
    }
    let width = |text: &String| text.chars().count();
    let widest = |(name, cells): &(String, Vec<String>)| {
        cells.iter().chain([name]).map(width).max().unwrap_or(0).min(MOST_PADDED)
    };
    let widths: Vec<usize> = table.iter().map(widest).collect();
    let mut text = String::new();
    for row in 0..=rows.len() {
        let mut line = String::new();
        for (number, ((name, cells), &width)) in table.iter().zip(&widths).enumerate() {
            let cell = if row == 0 { name } else { &cells[row - 1] };
            line += &if number == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    Ok(format!("{text}\n[{} rows x {} columns]", shape.0, shape.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_longer_than_formatting_pads_is_written_whole() {
        let name = "n".repeat(MOST_PADDED + 1);
        let cells = |_, rows: &[Option<usize>]| Ok::<_, ()>(vec!["7".to_owned(); rows.len()]);
        let text = grid((1, 1), |_| name.clone(), cells).unwrap();
        assert_eq!(text.lines().next().map(str::trim), Some(&*name));
        assert!(text.ends_with("\n\n[1 rows x 1 columns]"), "{text}");
    }
}
