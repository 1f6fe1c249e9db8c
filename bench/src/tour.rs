//! Records the output of the tour of the photograph, and shows its first rows in
//! `docs/command.md` and one figure in the README.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crossdock_measure::record::Circumstances;

use crate::{Result, record_folder};

/// The consumer whose hand-over the README shows.
const PEER: &str = "ndarray";

/// The command, which is built beside this program.
const PROGRAM: &str = "crossdock";

fn path() -> PathBuf {
    record_folder().join("tour.txt")
}

/// Runs the tour, prints its output, and records it if requested.
pub(crate) fn run(recorded: bool) -> Result {
    let program = std::env::current_exe()?.with_file_name(PROGRAM);
    let output = Command::new(&program).arg("tour").output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} tour: {}", program.display(), words.trim()).into());
    }
    let text = String::from_utf8(output.stdout)?;
    print!("{text}");
    if recorded {
        // The first line is the file's path, which is meaningless on other machines.
        let (_, found) = text.split_once('\n').ok_or("the tour printed nothing")?;
        fs::write(path(), format!("{}\n\n{found}", Circumstances::now(&record_folder()).in_words()))?;
        println!("recorded in {}", path().display());
    }
    Ok(())
}

/// The rows of the whole photograph from the record, with date and machine.
pub(crate) fn figures() -> Result<String> {
    let record = fs::read_to_string(path())?;
    excerpt(&record).ok_or_else(|| format!("{} is no record of the tour", path().display()).into())
}

/// One sentence with the times of a hand-over to `ndarray` and of a copy, with date and machine.
pub(crate) fn headline() -> Result<(String, String)> {
    let record = fs::read_to_string(path())?;
    sentence(&record).ok_or_else(|| format!("{} is no record of the tour", path().display()).into())
}

fn sentence(record: &str) -> Option<(String, String)> {
    let (circumstances, printed) = record.split_once("\n\n")?;
    // Strides are in bytes, too.
    let mut counts = printed.split(", ").filter_map(|part| part.strip_suffix(" bytes"));
    let nbytes = counts.find(|count| count.parse::<u64>().is_ok())?;
    let row = printed.lines().find(|line| line.trim_start().starts_with(PEER))?;
    let words: Vec<&str> = row.split_whitespace().collect();
    let [.., hand_over, unit, copy, copy_unit] = words[..] else { return None };
    let sentence = format!(
        "Lending {nbytes} bytes to `{PEER}` takes **{hand_over} {unit}**; copying them takes {copy} {copy_unit}."
    );
    Some((sentence, circumstances.to_owned()))
}

/// From the upper border of the table to its first empty row, with a border below.
fn excerpt(record: &str) -> Option<String> {
    let (circumstances, printed) = record.split_once("\n\n")?;
    let mut lines = printed.lines().skip_while(|line| !line.starts_with('─'));
    let border = lines.next()?;
    let mut text = format!("Recorded {circumstances}.\n\n```text\n{border}\n");
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = write!(text, "{border}\n```\n");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excerpt_is_the_first_view_between_two_borders() {
        let record = "2026-01-02, a machine\n\nfile\n\n───\n view  to \n───\n a     b \n       c \n    \n d     e \n───\n";
        let expected =
            "Recorded 2026-01-02, a machine.\n\n```text\n───\n view  to\n───\n a     b\n       c\n───\n```\n";
        assert_eq!(excerpt(record).as_deref(), Some(expected));
        assert_eq!(excerpt("nothing"), None);
    }

    #[test]
    fn the_headline_has_the_first_row_of_its_consumer() {
        let record = "2026-01-02, a machine\n\nuint8 [2, 3], strides [3, 1] bytes, 6 bytes, opened\n\n \
                      whole  Array<T, D>  0 B  5 ns  1 µs\n        ndarray  0 B  7 ns  2 µs\n";
        let (headline, circumstances) = sentence(record).unwrap();
        assert_eq!(headline, "Lending 6 bytes to `ndarray` takes **7 ns**; copying them takes 2 µs.");
        assert_eq!(circumstances, "2026-01-02, a machine");
        assert_eq!(sentence("nothing"), None);
    }
}
