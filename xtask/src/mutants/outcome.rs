//! The outcomes of cargo-mutants, and the reasons for survivors.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The outcome of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Caught,
    /// The tests did not end. The suite has a deadline, so this counts as caught.
    TimedOut,
    Survived,
    /// It does not compile.
    Unviable,
}

/// One mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// `replace < with <= in Span::overlaps`.
    pub(crate) what: String,
    /// Its current line number.
    pub(crate) line: usize,
    /// The source line without its indentation: it identifies the place even if lines above it
    /// change.
    pub(crate) text: String,
    pub(crate) fate: Fate,
}

/// Fates by their names in the file of outcomes.
const FATES: [(&str, Fate); 4] = [
    ("caught", Fate::Caught),
    ("timed out", Fate::TimedOut),
    ("survived", Fate::Survived),
    ("unviable", Fate::Unviable),
];

/// Writes the outcomes of a file, for [`read`].
pub(crate) fn write(path: &Path, mutants: &[Mutant]) -> Result<()> {
    let rows = mutants.iter().map(|Mutant { what, line, text, fate }| {
        let name = FATES.iter().find(|(_, each)| each == fate).map(|(name, _)| *name);
        json!({ "mutant": what, "line": line, "text": text, "fate": name })
    });
    let rows = serde_json::to_string_pretty(&Value::Array(rows.collect()))?;
    fs::write(path, rows + "\n").with_context(|| format!("{} cannot be written", path.display()))
}

/// The outcomes of the last run over a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Mutant>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("not tried yet: {} is missing", path.display()))?;
    let rows: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    let mutant = |row: &Value| {
        let named = |name: &str| FATES.iter().find(|(each, _)| *each == name).map(|(_, fate)| *fate);
        Some(Mutant {
            what: row["mutant"].as_str()?.to_owned(),
            line: row["line"].as_u64()? as usize,
            text: row["text"].as_str()?.to_owned(),
            fate: row["fate"].as_str().and_then(named)?,
        })
    };
    let mutants: Option<Vec<_>> = rows.as_array().into_iter().flatten().map(mutant).collect();
    mutants.with_context(|| format!("{} is no list of outcomes", path.display()))
}

/// A mutant that no test can catch, since the program behaves the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Equivalent {
    pub(crate) file: String,
    pub(crate) what: String,
    pub(crate) text: String,
    /// How many times it occurs in the line.
    pub(crate) times: usize,
    pub(crate) why: String,
}

impl Equivalent {
    pub(crate) fn is(&self, mutant: &Mutant) -> bool {
        self.what == mutant.what && self.text == mutant.text
    }
}

/// The list of equivalent mutants, kept in the repository.
pub(crate) fn equivalents(path: &Path) -> Result<Vec<Equivalent>> {
    let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let json: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let entries = json.as_array().context("the list of equivalent mutants is not a list")?;
    let entry = |value: &Value| {
        let word = |key: &str| {
            let word = value[key].as_str().filter(|word| !word.trim().is_empty());
            word.map(str::to_owned).with_context(|| format!("an equivalent mutant has no `{key}`: {value}"))
        };
        let times = value["times"].as_u64().unwrap_or(1) as usize;
        let (file, what, text, why) = (word("file")?, word("mutant")?, word("line")?, word("why")?);
        Ok(Equivalent { file, what, text, times, why })
    };
    entries.iter().map(entry).collect()
}

/// The results for one file.
pub(crate) struct Verdict {
    pub(crate) file: String,
    pub(crate) mutants: Vec<Mutant>,
    /// The entries of the list for this file.
    pub(crate) equivalents: Vec<Equivalent>,
    /// Whether all mutants of the file were tried, so that an entry without a mutant is out of
    /// date.
    pub(crate) is_whole: bool,
}

/// The percentage of the viable mutants of all files together that must be caught. A small file may
/// have a larger part of equivalent ones.
const LEAST_PERCENT: usize = 97;

impl Verdict {
    fn count(&self, fate: Fate) -> usize {
        self.mutants.iter().filter(|mutant| mutant.fate == fate).count()
    }

    fn caught(&self) -> usize {
        self.count(Fate::Caught) + self.count(Fate::TimedOut)
    }

    fn viable(&self) -> usize {
        self.mutants.len() - self.count(Fate::Unviable)
    }

    fn survivors(&self) -> impl Iterator<Item = (&Mutant, Option<&Equivalent>)> {
        let survivors = self.mutants.iter().filter(|mutant| mutant.fate == Fate::Survived);
        let mut used = vec![0; self.equivalents.len()];
        survivors.map(move |mutant| {
            let place = self.equivalents.iter().position(|entry| entry.is(mutant));
            let place = place.filter(|&place| used[place] < self.equivalents[place].times);
            (mutant, place.map(|place| (used[place] += 1, &self.equivalents[place]).1))
        })
    }

    /// Entries of the list that are out of date.
    fn stale(&self) -> impl Iterator<Item = (&Equivalent, &'static str)> {
        self.equivalents.iter().filter_map(|entry| {
            let mut fates = self.mutants.iter().filter(|mutant| entry.is(mutant)).map(|mutant| mutant.fate);
            match fates.next() {
                None => self.is_whole.then_some((entry, "there is no such mutant any more")),
                Some(Fate::Survived) => None,
                Some(_) if fates.any(|fate| fate == Fate::Survived) => None,
                Some(_) => Some((entry, "it is caught")),
            }
        })
    }
}

/// The survivors with their reasons, then the table, and whether the run passes. `is_all` means
/// that all files were tried.
pub(crate) fn summary(verdicts: &[Verdict], is_all: bool) -> (String, bool) {
    let mut text = String::new();
    let mut problems = Vec::new();
    for verdict in verdicts {
        for (mutant, equivalent) in verdict.survivors() {
            let Mutant { what, line, text: source, .. } = mutant;
            let why = equivalent.map_or("NOT LISTED", |entry| &entry.why);
            let _ = writeln!(text, "{}:{line}: {what}\n    {source}\n    {why}", verdict.file);
            if equivalent.is_none() {
                problems.push(format!("{}:{line}: {what} survives, and is not listed", verdict.file));
            }
        }
        for (entry, why) in verdict.stale() {
            problems.push(format!("the list has `{}` of {}, but {why}", entry.what, entry.file));
        }
        if verdict.mutants.is_empty() {
            problems.push(format!("{} has no mutants", verdict.file));
        }
    }
    let width = verdicts.iter().map(|verdict| verdict.file.len()).max().unwrap_or(0).max("all".len());
    let _ = writeln!(text, "\n{:width$}  mutants  unviable  caught  timed out  survived  equivalent", "file");
    let mut sums: BTreeMap<usize, usize> = BTreeMap::new();
    for verdict in verdicts {
        let listed = verdict.survivors().filter(|(_, entry)| entry.is_some()).count();
        let row = [
            verdict.mutants.len(),
            verdict.count(Fate::Unviable),
            verdict.count(Fate::Caught),
            verdict.count(Fate::TimedOut),
            verdict.count(Fate::Survived),
            listed,
        ];
        row.iter().enumerate().for_each(|(place, number)| *sums.entry(place).or_default() += number);
        let _ = writeln!(text, "{:width$}  {}", verdict.file, numbers(&row));
    }
    let _ = writeln!(text, "{:width$}  {}", "all", numbers(&sums.into_values().collect::<Vec<_>>()));

    let (caught, viable): (usize, usize) = verdicts
        .iter()
        .map(|verdict| (verdict.caught(), verdict.viable()))
        .fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    if is_all && caught * 100 < viable * LEAST_PERCENT {
        problems.push(format!("fewer than {LEAST_PERCENT} % of the viable mutants are caught"));
    }
    let percent = 100.0 * caught as f64 / viable.max(1) as f64;
    let _ = writeln!(text, "\n{caught} of {viable} viable mutants are caught: {percent:.1} %");
    for problem in &problems {
        let _ = writeln!(text, "error: {problem}");
    }
    (text, problems.is_empty())
}

fn numbers(row: &[usize]) -> String {
    let widths = [7, 8, 6, 9, 8, 10];
    let cells = row.iter().zip(widths).map(|(number, width)| format!("{number:>width$}"));
    cells.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(what: &str, fate: Fate) -> Mutant {
        Mutant { what: what.to_owned(), line: 2, text: "1 < 2".to_owned(), fate }
    }

    fn verdict(mutants: &[Mutant], equivalents: Vec<Equivalent>) -> Verdict {
        Verdict { file: "src/a.rs".into(), mutants: mutants.to_vec(), equivalents, is_whole: true }
    }

    fn listed(what: &str) -> Equivalent {
        let [file, text, why] = ["src/a.rs", "1 < 2", "both are constants"].map(str::to_owned);
        Equivalent { file, what: what.to_owned(), text, times: 1, why }
    }

    #[test]
    fn outcomes_are_read_as_they_were_written() {
        let path = std::env::temp_dir().join(format!("crossdock-xtask-outcomes-{}", std::process::id()));
        let all = FATES.map(|(name, fate)| outcome(&format!("replace \" with {name}"), fate));
        write(&path, &all).unwrap();
        assert_eq!(read(&path).unwrap(), all);
        fs::write(&path, "[{}]").unwrap();
        assert!(read(&path).is_err());
        fs::remove_file(&path).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not tried yet"));
    }

    #[test]
    fn a_survivor_that_is_not_listed_is_an_error() {
        let mut outcomes = vec![outcome("caught", Fate::Caught); 99];
        outcomes.push(outcome("replace < with <=", Fate::Survived));
        let (text, ok) = summary(&[verdict(&outcomes, vec![])], true);
        assert!(!ok && text.contains("error: src/a.rs:2: replace < with <= survives"), "{text}");
        let (text, ok) = summary(&[verdict(&outcomes, vec![listed("replace < with <=")])], true);
        assert!(ok && text.contains("both are constants") && text.contains("99 of 100 viable"), "{text}");
    }

    #[test]
    fn an_entry_stands_for_as_many_places_of_its_line_as_it_says() {
        let outcomes = [outcome("a", Fate::Survived), outcome("a", Fate::Survived)];
        let (text, ok) = summary(&[verdict(&outcomes, vec![listed("a")])], false);
        assert!(!ok && text.contains("NOT LISTED") && text.contains("both are constants"), "{text}");
        let twice = Equivalent { times: 2, ..listed("a") };
        assert!(summary(&[verdict(&outcomes, vec![twice])], false).1);
    }

    #[test]
    fn too_few_caught_are_an_error_even_if_all_are_listed() {
        let outcomes = [outcome("caught", Fate::Caught), outcome("other", Fate::Survived)];
        let verdict = || [verdict(&outcomes, vec![listed("other")])];
        let (text, ok) = summary(&verdict(), true);
        assert!(!ok && text.contains("fewer than 97 %"), "{text}");
        assert!(summary(&verdict(), false).1);
    }

    #[test]
    fn what_the_compiler_refuses_does_not_count_and_what_hangs_is_caught() {
        let outcomes = [
            outcome("a", Fate::Unviable),
            outcome("b", Fate::TimedOut),
            outcome("c", Fate::Caught),
            outcome("d", Fate::Unviable),
        ];
        let (text, ok) = summary(&[verdict(&outcomes, vec![])], true);
        assert!(ok && text.contains("2 of 2 viable"), "{text}");
    }

    #[test]
    fn an_entry_of_the_list_that_is_caught_or_gone_is_an_error() {
        let outcomes = [outcome("a", Fate::Caught)];
        let (text, ok) = summary(&[verdict(&outcomes, vec![listed("a")])], true);
        assert!(!ok && text.contains("it is caught"), "{text}");
        let (text, ok) = summary(&[verdict(&outcomes, vec![listed("b")])], true);
        assert!(!ok && text.contains("no such mutant"), "{text}");
        let part = Verdict { is_whole: false, ..verdict(&outcomes, vec![listed("b")]) };
        assert!(summary(&[part], true).1);
    }

    #[test]
    fn the_kept_list_names_files_of_the_table_and_lines_that_they_have() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for Equivalent { file, text, what, .. } in equivalents(&root.join(super::super::EQUIVALENT)).unwrap()
        {
            assert!(super::super::table::FILES.iter().any(|line| line.file == file), "{file} is not mutated");
            let source = fs::read_to_string(root.join(&file)).unwrap();
            assert!(source.lines().any(|line| line.trim() == text), "{file}: {what}: no line is `{text}`");
        }
    }
}
