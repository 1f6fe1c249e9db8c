//! The figures in `COMPARE.md`, which are those of the record.
//!
//! They stand between a line `<!-- figures: <block> -->` and the next `<!-- end -->`; what is around them is written by hand.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crossdock_measure::MEMCPY;

use crate::Result;
use crate::harness::record::{self, Line};

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end -->\n";

/// A block of figures.
struct Block {
    name: &'static str,
    /// Of which group of the record it is.
    group: &'static str,
    write: fn(&[Line]) -> String,
}

const BLOCKS: [Block; 3] = [
    Block { name: "kernels", group: "kernels", write: kernels },
    Block { name: "arrays", group: "arrays", write: lines },
    Block { name: "arrow", group: "memory", write: arrow },
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../COMPARE.md")
}

/// Writes the figures into the page.
pub(crate) fn rewrite() -> Result {
    let text = with_figures(&fs::read_to_string(page())?)?;
    fs::write(page(), text)?;
    println!("the figures in COMPARE.md are those of the record");
    Ok(())
}

/// The page with the figures of the record in place of what stands there.
fn with_figures(page: &str) -> Result<String> {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").ok_or("a block of figures has no name")?;
        let (_, after) = rest.split_once(END).ok_or_else(|| format!("the block {name} has no end"))?;
        let block = BLOCKS.iter().find(|block| block.name == name);
        let block = block.ok_or_else(|| format!("there is no block {name}"))?;
        let figures = (block.write)(&latest(record::read(block.group)?));
        text += &format!("{BEGIN}{name} -->\n{figures}{END}{after}");
    }
    Ok(text)
}

/// What each case was when it was last recorded, in the order in which the cases came first.
fn latest(lines: Vec<Line>) -> Vec<Line> {
    let mut latest: Vec<Line> = Vec::new();
    for line in lines {
        match latest.iter_mut().find(|known| (&known.table, &known.case) == (&line.table, &line.case)) {
            Some(known) => *known = line,
            None => latest.push(line),
        }
    }
    latest
}

/// On which days and machines it was.
fn circumstances(lines: &[&Line]) -> String {
    let all: BTreeSet<_> = lines.iter().map(|line| format!("{}, {}", line.date, line.machine)).collect();
    match all.is_empty() {
        true => "Nothing is recorded yet.\n".to_owned(),
        false => format!("Recorded {}.\n", all.into_iter().collect::<Vec<_>>().join("; ")),
    }
}

/// Names of tables, each once.
fn tables(lines: &[Line]) -> Vec<&str> {
    let mut tables: Vec<&str> = lines.iter().map(|line| line.table.as_str()).collect();
    tables.dedup();
    tables
}

/// Ratios to `memcpy`: ours, those of NumPy and `ndarray`, and the best of all others.
fn kernels(lines: &[Line]) -> String {
    let columns = ["crossdock, 1 thread", "crossdock, 2 threads", "NumPy", "ndarray"];
    let mut text = circumstances(&lines.iter().collect::<Vec<_>>());
    if lines.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n| work | `memcpy`, GB/s | {} | best other, 1 thread |", columns.join(" | "));
    text += "|---|--:|--:|--:|--:|--:|---|\n";
    for table in tables(lines) {
        let of_table: Vec<&Line> = lines.iter().filter(|line| line.table == table).collect();
        let case = |name: &str| of_table.iter().copied().find(|line| line.case == name);
        let limit = case(MEMCPY).map_or(String::new(), |line| format!("{:.1}", line.figure));
        // Where a new array is what the work is about, that is what is compared.
        let own = |name| {
            if name == columns[0] { case("crossdock, into a new array").or(case(name)) } else { case(name) }
        };
        let ratio = |line: Option<&Line>| match line.and_then(|line| line.ratio(MEMCPY)) {
            Some(ratio) => format!("{ratio:.2}"),
            None => "–".to_owned(),
        };
        let others = of_table.iter().filter(|line| {
            let is_known = line.case == MEMCPY || columns.contains(&line.case.as_str());
            !is_known && !line.case.contains("threads") && !line.case.starts_with("crossdock")
        });
        let best = others.max_by(|a, b| a.figure.total_cmp(&b.figure));
        let best = best.map_or("–".to_owned(), |line| format!("{} ({})", ratio(Some(line)), line.case));
        let ratios = columns.map(|name| ratio(own(name))).join(" | ");
        let _ = writeln!(text, "| {table} | {limit} | {ratios} | {best} |");
    }
    text
}

/// All figures.
fn lines(lines: &[Line]) -> String {
    let mut text = circumstances(&lines.iter().collect::<Vec<_>>());
    if lines.is_empty() {
        return text;
    }
    text += "\n| what | who | figure |\n|---|---|--:|\n";
    let mut last = "";
    for Line { table, case, figure, unit, .. } in lines {
        let shown = if table == last { "" } else { table };
        let _ = writeln!(text, "| {shown} | {case} | {figure:.1} {unit} |");
        last = table;
    }
    text
}

/// What Arrow C++ does as well.
fn arrow(lines: &[Line]) -> String {
    // In a program that says nothing of allocators, as Arrow's is.
    let own = |case: &str| case.starts_with("crossdock") && !case.contains("program with");
    let both = tables(lines).into_iter().filter_map(|table| {
        let find = |is: fn(&str) -> bool| lines.iter().find(|line| line.table == table && is(&line.case));
        Some((table, find(|case| case == "Arrow C++")?, find(own)?))
    });
    let both: Vec<_> = both.collect();
    let mut text =
        circumstances(&both.iter().flat_map(|(_, theirs, own)| [*theirs, *own]).collect::<Vec<_>>());
    if both.is_empty() {
        return text;
    }
    text += "\n| operation | Arrow C++ | crossdock |\n|---|--:|--:|\n";
    for (table, theirs, own) in both {
        let figure = |line: &Line| format!("{:.1} {}", line.figure, line.unit);
        let _ = writeln!(text, "| {table} | {} | {} |", figure(theirs), figure(own));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_figures_of_the_record() {
        let page = fs::read_to_string(page()).unwrap();
        for Block { name, .. } in BLOCKS {
            assert!(page.contains(&format!("{BEGIN}{name} -->\n")), "the page has no block {name}");
        }
        let expected = with_figures(&page).unwrap();
        for (line, expected) in page.lines().zip(expected.lines()) {
            assert_eq!(line, expected, "type `cargo xtask compare`");
        }
        assert_eq!(page, expected);
    }

    fn line(case: &str, figure: f64, ratios: &str) -> Line {
        Line::parse(&format!("2026-01-02,a machine,\"a work\",\"{case}\",{figure},GB/s,\"{ratios}\",\"\","))
            .unwrap()
    }

    #[test]
    fn what_was_recorded_last_counts() {
        let lines = latest(vec![line("a", 1.0, ""), line("b", 2.0, ""), line("a", 3.0, "")]);
        let figures: Vec<_> = lines.iter().map(|line| (line.case.as_str(), line.figure)).collect();
        assert_eq!(figures, [("a", 3.0), ("b", 2.0)]);
    }

    #[test]
    fn ratios_stand_in_their_columns() {
        let text = kernels(&[
            line("memcpy", 10.0, "1.0 x memcpy"),
            line("crossdock, 1 thread", 5.0, "0.5 x memcpy"),
            line("transpose", 2.0, "0.2 x memcpy"),
            line("strided-perm", 3.0, "0.3 x memcpy"),
            line("strided-perm, 2 threads", 9.0, "0.9 x memcpy"),
        ]);
        assert!(text.ends_with("| a work | 10.0 | 0.50 | – | – | – | 0.30 (strided-perm) |\n"), "{text}");
    }
}
