//! Copies the figures of the record into `COMPARE.md`, the README, the page of the command and the
//! guide.
//!
//! They are between a line `<!-- figures: <block> -->` and the next `<!-- end -->`; the text
//! around them is written by hand.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crossdock_measure::record::{self, Line};
use crossdock_measure::{BEST_COPY, MEMCPY, MEMSET};

use crate::runs::{Runs, runs};
use crate::{Result, costs, record_of, tour};

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end -->\n";

/// A block of figures.
struct Block {
    name: &'static str,
    page: &'static str,
    write: fn() -> Result<String>,
}

const BLOCKS: [Block; 7] = [
    Block { name: "kernels", page: "COMPARE.md", write: || Ok(kernels(&recorded("kernels")?)) },
    Block { name: "misses", page: "COMPARE.md", write: misses },
    Block { name: "arrays", page: "COMPARE.md", write: || Ok(lines(&recorded("arrays")?)) },
    Block { name: "arrow", page: "COMPARE.md", write: || Ok(arrow(&recorded("memory")?)) },
    Block { name: "headline", page: "README.md", write: headline },
    Block { name: "tour", page: "docs/command.md", write: tour::figures },
    Block { name: "costs", page: COSTS, write: costs::figures },
];

/// The groups whose figures are in `COMPARE.md`.
const GROUPS: [&str; 3] = ["kernels", "arrays", "memory"];

const COSTS: &str = "docs/guide/12-costs.md";

const PAGES: [&str; 4] = ["COMPARE.md", "README.md", "docs/command.md", COSTS];

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page)
}

/// Writes the figures into the pages.
pub(crate) fn rewrite() -> Result {
    for page in PAGES {
        let path = path(page);
        let text = with_figures(page, &fs::read_to_string(&path)?)?;
        fs::write(path, text)?;
        println!("the figures in {page} are those of the record");
    }
    Ok(())
}

/// The page with its figures replaced by those of the record.
fn with_figures(page: &str, text: &str) -> Result<String> {
    let mut parts = text.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").ok_or("a block of figures has no name")?;
        let (_, after) = rest.split_once(END).ok_or_else(|| format!("the block {name} has no end"))?;
        let block = BLOCKS.iter().find(|block| (block.page, block.name) == (page, name));
        let block = block.ok_or_else(|| format!("{page} has no block {name}"))?;
        text += &format!("{BEGIN}{name} -->\n{}{END}{after}", (block.write)()?);
    }
    Ok(text)
}

pub(crate) fn recorded(group: &str) -> Result<Vec<Runs>> {
    Ok(runs(record::read(&record_of(group))?))
}

/// The cost of a hand-over in Rust, Python and Ruby, each by one case.
fn headline() -> Result<String> {
    let (sentence, circumstances) = tour::headline()?;
    let mut recorded_where = BTreeSet::from([circumstances]);
    let mut nanoseconds = |group: &str, case: &str| -> Result<String> {
        let runs = recorded(group)?.into_iter().find(|runs| runs.last().case == case);
        let runs = runs.ok_or_else(|| format!("the record of {group} has no case `{case}`"))?;
        recorded_where.insert(runs.last().circumstances.in_words());
        Ok(format!("{:.0} ns", runs.figure()))
    };
    let python = nanoseconds("python", "np.asarray(x)")?;
    let ruby = nanoseconds("ruby", "get + release of an array")?;
    // The commits and the compiler stand beside the tables.
    let recorded_where = recorded_where.iter().map(|words| words.split(", commit").next().unwrap_or(words));
    let recorded_where = recorded_where.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ");
    Ok(format!(
        "{sentence}\nIn Python, `np.asarray(x)` takes {python}; in Ruby, a MemoryView is taken and released in {ruby}.\n\
         Recorded {recorded_where}: [all figures](COMPARE.md).\n"
    ))
}

/// The dates, machines and sources of the runs, and their number.
pub(crate) fn circumstances<'a>(all: impl Iterator<Item = &'a Runs>) -> String {
    let (mut words, mut counts) = (BTreeSet::new(), BTreeSet::new());
    for runs in all {
        words.insert(runs.last().circumstances.in_words());
        counts.insert(runs.count());
    }
    let Some((least, most)) = counts.first().zip(counts.last()) else {
        return "Nothing is recorded yet.\n".to_owned();
    };
    let count = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    let plural = if *most == 1 { "run" } else { "runs, of which this is the median" };
    format!("Recorded {}; {count} {plural}.\n", words.into_iter().collect::<Vec<_>>().join("; "))
}

/// Names of tables, each once.
fn tables(all: &[Runs]) -> Vec<&str> {
    let mut tables: Vec<&str> = all.iter().map(|runs| runs.last().table.as_str()).collect();
    tables.dedup();
    tables
}

/// Cases with their own column in the table of kernels, on one thread and on two.
const COLUMNS: [&str; 6] = [
    "crossdock, 1 thread",
    "crossdock, 2 threads",
    "NumPy",
    "ndarray",
    "ndarray, 2 threads",
    "ndarray, native",
];
/// Replaces a column if the work assigns to a new array.
const INTO_NEW: [(&str, &str); 2] = [
    ("crossdock, 1 thread", "crossdock, into a new array"),
    ("crossdock, 2 threads", "crossdock, into a new array, 2 threads"),
];

/// Ratios to `memcpy` (to `memset` if nothing is read): those of Crossdock, NumPy and `ndarray`,
/// and the best of all other peers.
fn kernels(all: &[Runs]) -> String {
    let mut text = circumstances(all.iter());
    if all.is_empty() {
        return text;
    }
    let bests = ["best other, 1 thread", "best other, 2 threads", "best other, native"];
    let _ = writeln!(text, "\n| work | limit, GB/s | {} | {} |", COLUMNS.join(" | "), bests.join(" | "));
    let _ = writeln!(text, "|---|--:|{}---|---|---|", "--:|".repeat(COLUMNS.len()));
    for table in tables(all) {
        let of_table: Vec<&Runs> = all.iter().filter(|runs| runs.last().table == table).collect();
        let case = |name: &str| of_table.iter().copied().find(|runs| runs.last().case == name);
        let limit = if case(MEMSET).is_some() { MEMSET } else { MEMCPY };
        let gigabytes = case(limit).map_or(String::new(), |runs| format!("{:.1} ({limit})", runs.figure()));
        let ratio = |runs: Option<&Runs>| runs.map_or("–".to_owned(), |runs| runs.ratio_in_words(limit));
        let column = |name: &str| {
            // An assignment into an existing array does not compare with one into a new array.
            let is_into_new = INTO_NEW.iter().any(|(_, new)| case(new).is_some());
            match INTO_NEW.iter().find(|(known, _)| is_into_new && *known == name) {
                Some((_, new)) => ratio(case(new)),
                None => ratio(case(name)),
            }
        };
        let others = || {
            of_table.iter().copied().filter(|runs| {
                let case = runs.last().case.as_str();
                let is_limit = [limit, MEMCPY].contains(&case) || case.starts_with(BEST_COPY);
                !is_limit && !COLUMNS.contains(&case) && !case.starts_with("crossdock")
            })
        };
        let best = |is_of_column: fn(&str) -> bool| {
            let best = others()
                .filter(|runs| is_of_column(&runs.last().case))
                .max_by(|a, b| a.figure().total_cmp(&b.figure()));
            best.map_or("–".to_owned(), |runs| format!("{} {}", ratio(Some(runs)), runs.last().case))
        };
        let columns = COLUMNS.map(column).join(" | ");
        let bests = [
            best(|case| !case.ends_with("2 threads") && !case.ends_with("native")),
            best(|case| case.ends_with("2 threads")),
            best(|case| case.ends_with("native")),
        ];
        let _ = writeln!(text, "| {table} | {gigabytes} | {columns} | {} |", bests.join(" | "));
    }
    text
}

/// The figures that missed their target in at least one run.
fn misses() -> Result<String> {
    let mut all = Vec::new();
    for group in GROUPS {
        all.extend(recorded(group)?);
    }
    Ok(missed(&all))
}

fn missed(all: &[Runs]) -> String {
    let held: Vec<&Runs> = all.iter().filter(|runs| runs.last().met.is_some()).collect();
    let missed: Vec<&Runs> = held.iter().copied().filter(|runs| runs.misses() > 0).collect();
    let mut text = format!(
        "Of {} figures that should reach something, {} did not in at least one run:\n\n",
        held.len(),
        missed.len()
    );
    for runs in missed {
        let Line { table, case, figure: _, unit, reach, .. } = runs.last();
        let _ = writeln!(
            text,
            "- {table}, {case}: {:.2} {unit}, should be {reach}; missed in {} of {}",
            runs.figure(),
            runs.misses(),
            runs.count()
        );
    }
    text
}

/// All figures.
fn lines(all: &[Runs]) -> String {
    let mut text = circumstances(all.iter());
    if all.is_empty() {
        return text;
    }
    text += "\n| what | who | figure |\n|---|---|--:|\n";
    let mut last = "";
    for runs in all {
        let Line { table, case, unit, .. } = runs.last();
        let shown = if table == last { "" } else { table };
        let _ = writeln!(text, "| {shown} | {case} | {} {unit} |", runs.figure_in_words());
        last = table;
    }
    text
}

/// The operations that Arrow C++ has, too.
fn arrow(all: &[Runs]) -> String {
    // In a program without its own allocator, as Arrow's is.
    let own = |case: &str| case.starts_with("crossdock") && !case.contains("program with");
    let both = tables(all).into_iter().filter_map(|table| {
        let find = |is: fn(&str) -> bool| {
            all.iter().find(|runs| runs.last().table == table && is(&runs.last().case))
        };
        Some((table, find(|case| case == "Arrow C++")?, find(own)?))
    });
    let both: Vec<_> = both.collect();
    let mut text = circumstances(both.iter().flat_map(|(_, theirs, own)| [*theirs, *own]));
    if both.is_empty() {
        return text;
    }
    text += "\n| operation | Arrow C++ | crossdock |\n|---|--:|--:|\n";
    for (table, theirs, own) in both {
        let figure = |runs: &Runs| format!("{} {}", runs.figure_in_words(), runs.last().unit);
        let _ = writeln!(text, "| {table} | {} | {} |", figure(theirs), figure(own));
    }
    text
}

#[cfg(test)]
mod tests {
    use crossdock_measure::record::Circumstances;

    use super::*;

    #[test]
    fn the_pages_have_the_figures_of_the_record() {
        for page in PAGES {
            let text = fs::read_to_string(path(page)).unwrap();
            for Block { name, .. } in BLOCKS.iter().filter(|block| block.page == page) {
                assert!(text.contains(&format!("{BEGIN}{name} -->\n")), "{page} has no block {name}");
            }
            let expected = with_figures(page, &text).unwrap();
            for (line, expected) in text.lines().zip(expected.lines()) {
                assert_eq!(line, expected, "{page}: type `cargo xtask compare`");
            }
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn all_figures_are_of_one_machine_and_one_commit() {
        let mut states = BTreeSet::new();
        for group in GROUPS {
            let all = recorded(group).unwrap();
            assert!(!all.is_empty(), "{group} has no record");
            states.extend(all.iter().map(|runs| {
                let Circumstances { machine, commit, .. } = &runs.last().circumstances;
                format!("{machine}, commit {commit}")
            }));
        }
        assert_eq!(states.len(), 1, "record all groups again: {states:?}");
        let state = states.first().unwrap();
        assert!(!state.ends_with('+'), "the sources had changed: {state}");
        let tour = tour::figures().unwrap();
        let tour = tour.lines().next().unwrap_or_default();
        assert!(
            tour.contains(state.as_str()),
            "`cargo xtask bench tour --record` was not of {state}: {tour}"
        );
    }

    #[test]
    fn a_work_that_only_writes_is_compared_with_memset() {
        let text = kernels(&runs(vec![
            line("memcpy", 10.0, "1.0 x memcpy; 0.5 x memset", "\"\","),
            line("memset", 20.0, "2.0 x memcpy; 1.0 x memset", "\"\","),
            line("crossdock, 1 thread", 15.0, "1.5 x memcpy; 0.75 x memset", "\"\","),
        ]));
        assert!(text.contains("| a work | 20.0 (memset) | 0.75 | "), "{text}");
        let text = kernels(&recorded("kernels").unwrap());
        let fill = text.lines().find(|row| row.contains(" fill ")).expect("a work only writes");
        assert!(fill.contains(" (memset) |"), "{fill}");
    }

    #[test]
    fn each_work_has_one_row() {
        let text = kernels(&recorded("kernels").unwrap());
        let mut rows: Vec<&str> =
            text.lines().filter_map(|row| row.strip_prefix("| ")?.split(" |").next()).collect();
        let count = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), count, "{text}");
    }

    fn line(case: &str, figure: f64, ratios: &str, held: &str) -> Line {
        let text =
            format!("2026-01-02,a machine,abc,,\"\",\"a work\",\"{case}\",{figure},GB/s,\"{ratios}\",{held}");
        Line::parse(&text).unwrap()
    }

    #[test]
    fn ratios_stand_in_their_columns() {
        let text = kernels(&runs(vec![
            line("memcpy", 10.0, "1.0 x memcpy", "\"\","),
            line("crossdock, 1 thread", 5.0, "0.5 x memcpy", "\"\","),
            line("transpose", 2.0, "0.2 x memcpy", "\"\","),
            line("strided-perm", 3.0, "0.3 x memcpy", "\"\","),
            line("strided-perm, 2 threads", 9.0, "0.9 x memcpy", "\"\","),
            line("strided-perm, native", 4.0, "0.4 x memcpy", "\"\","),
        ]));
        let expected = "| a work | 10.0 (memcpy) | 0.50 | – | – | – | – | – | 0.30 strided-perm \
                        | 0.90 strided-perm, 2 threads | 0.40 strided-perm, native |\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn what_is_claimed_of_a_new_array_is_measured_into_a_new_array() {
        let text = kernels(&runs(vec![
            line("memcpy", 10.0, "1.0 x memcpy", "\"\","),
            line("crossdock, 1 thread", 5.0, "0.5 x memcpy", "\"\","),
            line("crossdock, 2 threads", 6.0, "0.6 x memcpy", "\"\","),
            line("crossdock, into a new array", 7.0, "0.7 x memcpy", "\"\","),
            line("crossdock, into a new array, 2 threads", 8.0, "0.8 x memcpy", "\"\","),
        ]));
        assert!(text.contains("| 10.0 (memcpy) | 0.70 | 0.80 | – |"), "{text}");
        let text = kernels(&runs(vec![
            line("memcpy", 10.0, "1.0 x memcpy", "\"\","),
            line("crossdock, 2 threads", 6.0, "0.6 x memcpy", "\"\","),
            line("crossdock, into a new array", 7.0, "0.7 x memcpy", "\"\","),
        ]));
        assert!(text.contains("| 10.0 (memcpy) | 0.70 | – | – |"), "{text}");
    }

    #[test]
    fn what_is_missed_in_one_run_of_several_is_named() {
        let text = missed(&runs(vec![
            line("own", 9.0, "0.9 x memcpy", "\">= 0.95 x memcpy\",no"),
            line("own", 9.6, "0.96 x memcpy", "\">= 0.95 x memcpy\",yes"),
            line("other", 9.6, "0.96 x memcpy", "\">= 0.95 x memcpy\",yes"),
        ]));
        assert!(text.contains("Of 2 figures that should reach something, 1 did not"), "{text}");
        assert!(
            text.contains("- a work, own: 9.60 GB/s, should be >= 0.95 x memcpy; missed in 1 of 2"),
            "{text}"
        );
    }
}
