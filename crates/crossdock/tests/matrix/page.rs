//! The page: written from the results of the run, and compared with the existing page.

use std::fmt::Write;
use std::path::Path;

use crate::Matrix;
use crate::classes::CLASSES;
use crate::exporters::EXPORTERS;
use crate::importers::IMPORTERS;
use crate::memories::MEMORIES;
use crate::verdict::Verdict;

const HEAD: &str = "\
# The matrix

Every importer of the Rust library with every exporter, over every class of layout. An adapter knows one foreign library and the array in
the middle, and no other adapter: n adapters replace n² bridges. The test `crates/crossdock/tests/matrix` runs every combination, writes
this page, and compares it in later runs.

- **in place**: the consumer sees the bytes at their address, and none was counted as copied.
- **copies**: the bytes have another address, all were counted, and the copy was permitted; without permission, the export is refused.
- **refused**: an error with this reason; the source is unchanged.
- **–**: the producer or consumer has no such data.

Reasons are the texts of errors, with … in place of addresses and lists of numbers; the tests state the reasons of –. JPEG is left out,
since it changes the elements.
";

/// The beginning of the part that another test writes.
const OF_OTHERS: &str = "\n## In Python\n";

/// Compares the page with the run, or rewrites it.
pub(crate) fn check(matrix: &Matrix) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/matrix.md");
    let page = page(matrix);
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    // The tests of the wheel and of the gem write and compare the following part.
    let (there, of_others) = there.split_at(there.find(OF_OTHERS).unwrap_or(there.len()));
    if std::env::var_os("CROSSDOCK_BLESS").is_some() {
        std::fs::write(&path, page + of_others).unwrap();
        return;
    }
    let other = page.lines().zip(there.lines()).find(|(ours, theirs)| ours != theirs);
    assert!(
        page == there,
        "docs/evidence/matrix.md does not say what was found, from here on: {other:?}; look why, and write it anew with \
         CROSSDOCK_BLESS=1 cargo test -p crossdock --all-features --test matrix"
    );
}

fn page(matrix: &Matrix) -> String {
    let mut page = HEAD.to_owned();
    let classes: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
    let importers: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    let exporters: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.name).collect();
    let memories: Vec<&str> = MEMORIES.iter().map(|memory| memory.name).collect();

    page += "\n## What comes in\n\nData of the class in the foreign library, by each importer, and the kind of memory that the imported array has.\n\n";
    let with_memory: Vec<String> =
        importers.iter().zip(&matrix.into).map(|(name, memory)| format!("{name} | {memory}")).collect();
    page += &table("importer | memory", &names(&with_memory), &classes, &transposed(&matrix.imports));
    page += "\n## What goes out\n\nA Crossdock array of the class, by each exporter.\n\n";
    page += &table("exporter", &exporters, &classes, &transposed(&matrix.exports));
    page += "\n## In which memory it goes out\n\nA row-major array in memory of each kind; a column-major one for \
             `nalgebra::DMatrix`, which is column-major.\nAn exporter depends on the kind of memory, not on its importer.\n\n";
    page += &table("exporter", &exporters, &memories, &transposed(&matrix.memories));
    page += "\n## From each to each\n\nRow-major data, from each importer to each exporter; column-major data, if either is `nalgebra::DMatrix`. \
             A cell is the worse\nof two answers: the importer's, and the exporter's for an array of the library in memory of the \
             same kind. Importers\nwith the same answers share a row, and exporters a column.\n\n";
    let (from, rows) = shared(&importers, &matrix.each_to_each());
    let (to, columns) = shared(&exporters, &transposed(&rows));
    page += &table("from \\ to", &names(&from), &names(&to), &transposed(&columns));

    let _ = write!(
        page,
        "\nOf {} ways ({} classes from {} importers to {} exporters), {} are in place, {} copy, {} are refused, and {} have no such \
         data.\n",
        matrix.count(|_| true),
        classes.len(),
        importers.len(),
        exporters.len(),
        matrix.count(|verdict| matches!(verdict, Verdict::InPlace)),
        matrix.count(|verdict| matches!(verdict, Verdict::Copies(_))),
        matrix.count(|verdict| matches!(verdict, Verdict::Refused(_))),
        matrix.count(|verdict| matches!(verdict, Verdict::CannotSay(_))),
    );
    page += "\n## The same memory, twice\n\nThe importers of the row and of the column import the same memory. \
             Then the array of the row is assigned\nfrom that of the column: shifted up and down, reversed, transposed, with a conversion, and \
             with two columns swapped.\n**as if copied**: every byte is as if the source had been copied before, and \
             only overlapping operands were. Rows with the same\nanswers are merged.\n\n";
    let (into, rows) = shared(&importers, &matrix.twice);
    let (from, columns) = shared(&importers, &transposed(&rows));
    page += &table("written \\ from", &names(&into), &names(&from), &transposed(&columns));
    page
}

/// A table, and the reasons in it, numbered in order of appearance.
fn table(corner: &str, rows: &[&str], columns: &[&str], cells: &[Vec<Verdict>]) -> String {
    let mut reasons = vec![];
    let mut text = format!("| {corner} | {} |\n", columns.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(text.matches('|').count() - 1));
    for (row, cells) in rows.iter().zip(cells) {
        let cells: Vec<String> = cells.iter().map(|verdict| cell(verdict, &mut reasons)).collect();
        let _ = writeln!(text, "| {row} | {} |", cells.join(" | "));
    }
    text.push('\n');
    for (number, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {reason}", number + 1);
    }
    text
}

fn cell(verdict: &Verdict, reasons: &mut Vec<String>) -> String {
    let (word, why) = match verdict {
        Verdict::InPlace => return "in place".to_owned(),
        Verdict::Assigned => return "as if copied".to_owned(),
        Verdict::Copies(why) => ("copies", why),
        Verdict::Refused(why) => ("refused", why),
        Verdict::CannotSay(why) => ("–", why),
    };
    let why = without_lists(why);
    let number = reasons.iter().position(|reason| *reason == why).unwrap_or_else(|| {
        reasons.push(why);
        reasons.len() - 1
    });
    format!("{word} {}", raised(number + 1))
}

/// The distinct rows, each once, with all of their names.
fn shared(names: &[&str], rows: &[Vec<Verdict>]) -> (Vec<String>, Vec<Vec<Verdict>>) {
    let mut different: (Vec<String>, Vec<Vec<Verdict>>) = (vec![], vec![]);
    for (&name, row) in names.iter().zip(rows) {
        match different.1.iter().position(|other| other == row) {
            Some(known) => different.0[known] += &format!("; {name}"),
            None => {
                different.0.push(name.to_owned());
                different.1.push(row.clone());
            }
        }
    }
    different
}

fn names(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// `strides [8, 2]` as `strides […]`: the same refusal for another layout.
fn without_lists(text: &str) -> String {
    let mut parts = text.split('[');
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let _ = write!(short, "[…{}", part.find(']').map_or(part, |end| &part[end..]));
    }
    short
}

/// `12` as `¹²`.
fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect()
}

fn transposed(rows: &[Vec<Verdict>]) -> Vec<Vec<Verdict>> {
    (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column].clone()).collect()).collect()
}
