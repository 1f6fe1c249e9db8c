//! The steps of a hand-over with their nanoseconds, for the guide: a picture of those in Rust, and
//! a table of those by other ways.

use std::fmt::Write;

use crate::Result;
use crate::compare::{circumstances, recorded};
use crate::runs::Runs;

/// The group of a record, a case of it, and what the guide says for it.
type Step = (&'static str, &'static str, &'static str);

/// From the floor to a view that a function returns.
const IN_RUST: [Step; 7] = [
    (GROUP, "Arc::clone + drop", "a counter up and down: the floor"),
    (GROUP, "Buffer::clone + drop", "a handle on bytes"),
    (GROUP, "Array<u16, 3>::slice of three axes + drop", "a part of a typed array"),
    (GROUP, "DArray::clone + drop", "a handle with dtype, shape and strides"),
    (GROUP, "MemoryView: get + release", "a lease, and the array under it"),
    (GROUP, "crossdock::view(&DArray): get + release", "the same by `view`"),
    (GROUP, "MemoryView: get + release, moved by `?`", "a view that a function returns"),
];

/// The group of what is measured in Rust.
const GROUP: &str = "hand-over";

/// By a protocol or from another language: the group of the record, the case, and the words.
const OTHERS: [Step; 10] = [
    ("hand-over", "buffer protocol: loan + release", "Rust: a buffer for Python's protocol"),
    ("hand-over", "DLPack: export of what is prepared + deleter", "Rust: DLPack, described once before"),
    ("hand-over", "DLPack: export + deleter", "Rust: DLPack"),
    ("hand-over", "Arrow: export + release", "Rust: Arrow"),
    ("c", "get + release of an array, through C", "C: a MemoryView of an array"),
    ("c", "get + release of a C producer", "C: a MemoryView of another producer, checked"),
    ("ruby", "get + release of an array", "Ruby: a MemoryView"),
    ("python", "memoryview(x)", "Python: `memoryview(x)`"),
    ("python", "np.asarray(x)", "Python: `np.asarray(x)`"),
    ("python", "np.from_dlpack(x)", "Python: `np.from_dlpack(x)`"),
];

/// Nanoseconds of one cell of a bar.
const CELL: f64 = 1.0;

/// The longest bar, in cells.
const LONGEST: usize = 40;

/// The last runs of a step.
fn find(step: &Step) -> Result<Runs> {
    let (group, case, _) = step;
    let runs = recorded(group)?.into_iter().find(|runs| runs.last().case == *case);
    runs.ok_or_else(|| format!("the record of {group} has no case `{case}`").into())
}

/// The picture and the table, each with its dates and machines.
pub(crate) fn figures() -> Result<String> {
    let steps = IN_RUST.iter().map(find).collect::<Result<Vec<_>>>()?;
    let mut text = circumstances(steps.iter());
    text += &picture(IN_RUST.iter().map(|(_, _, words)| *words).zip(steps.iter().map(Runs::figure)));
    let others = OTHERS.iter().map(find).collect::<Result<Vec<_>>>()?;
    let _ = write!(text, "\n{}\n| by way of | ns |\n|---|--:|\n", circumstances(others.iter()));
    for ((_, _, words), runs) in OTHERS.iter().zip(&others) {
        let _ = writeln!(text, "| {words} | {:.0} |", runs.figure());
    }
    Ok(text)
}

/// One bar for each step.
fn picture<'a>(steps: impl Iterator<Item = (&'a str, f64)> + Clone) -> String {
    let width = steps.clone().map(|(words, _)| words.chars().count()).max().unwrap_or(0);
    let mut text = "\n```text\n".to_owned();
    for (words, nanoseconds) in steps {
        let cells = ((nanoseconds / CELL).round() as usize).clamp(1, LONGEST);
        let _ = writeln!(text, "{words:width$}  {} {nanoseconds:.1} ns", "█".repeat(cells));
    }
    text += "```\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_nanoseconds_up_to_the_longest() {
        let text = picture([("one", 3.6), ("another", 900.0)].into_iter());
        let longest = "█".repeat(LONGEST);
        assert_eq!(text, format!("\n```text\none      ████ 3.6 ns\nanother  {longest} 900.0 ns\n```\n"));
    }
}
