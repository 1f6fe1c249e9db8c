//! What was measured, kept: with the date and the machine.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock_measure::machine;

use crate::Result;
use crate::harness::Table;

/// The first line of a record.
pub(crate) const HEADER: &str = "date,machine,commit,rustc,peers,table,case,figure,unit,ratios,reach,met";

/// Tells this program, which is built twice, the versions of the peers.
pub(crate) const PEERS: &str = "CROSSDOCK_BENCH_PEERS";

/// The folder of records.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("record")
}

/// Appends lines to `bench/record/<group>.csv`.
pub(crate) fn append(group: &str, lines: &str) -> Result<PathBuf> {
    let path = folder().join(format!("{group}.csv"));
    fs::create_dir_all(folder())?;
    let fresh = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    if fresh {
        writeln!(file, "{HEADER}")?;
    }
    file.write_all(lines.as_bytes())?;
    Ok(path)
}

/// What is recorded of a group, from the first run to the last; nothing, if nothing is.
pub(crate) fn read(group: &str) -> Result<Vec<Line>> {
    let path = folder().join(format!("{group}.csv"));
    if !path.exists() {
        return Ok(Vec::new());
    }
    fs::read_to_string(path)?.lines().skip(1).map(Line::parse).collect()
}

/// When, where and with which sources something was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Circumstances {
    pub(crate) date: String,
    pub(crate) machine: String,
    /// The commit, followed by `+` if the sources had changed since. Empty in lines older than the
    /// column.
    pub(crate) commit: String,
    pub(crate) rustc: String,
    pub(crate) peers: String,
}

impl Circumstances {
    /// The circumstances of this run.
    pub(crate) fn now() -> Self {
        let output = |program: &str, args: &[&str]| {
            let mut command = Command::new(program);
            let output = command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().replace(['"', ',', '\n'], " "))
        };
        // The lines of an earlier run, which are appended to the record, change no figure.
        let changed = output(
            "git",
            &["status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)bench/record"],
        );
        let mark = if changed.is_some_and(|files| !files.is_empty()) { "+" } else { "" };
        let commit = output("git", &["rev-parse", "--short", "HEAD"]).map(|commit| commit + mark);
        Self {
            date: machine::date(),
            machine: machine::name(),
            commit: commit.unwrap_or_default(),
            rustc: output("rustc", &["--version"]).unwrap_or_default(),
            peers: std::env::var(PEERS).unwrap_or_default().replace(['"', '\n'], " "),
        }
    }

    /// Whether both are the same machine and the same commit.
    pub(crate) fn is_of_the_same_state(&self, other: &Self) -> bool {
        (&self.machine, &self.commit) == (&other.machine, &other.commit)
    }

    /// Prints the table for people.
    pub(crate) fn in_words(&self) -> String {
        let mut words = format!("{}, {}", self.date, self.machine);
        for (name, value) in [("commit ", &self.commit), ("", &self.rustc)] {
            if !value.is_empty() {
                let _ = write!(words, ", {name}{value}");
            }
        }
        words
    }
}

impl Table {
    /// The table in the format of the record, one line for each case. Names are quoted, since they
    /// contain commas (types do).
    pub(crate) fn to_lines(&self, circumstances: &Circumstances) -> String {
        let Circumstances { date, machine, commit, rustc, peers } = circumstances;
        let lines = self.rows.iter().map(|row| {
            let ratios = self.against.iter().zip(&row.ratios);
            let ratios: Vec<_> = ratios.map(|(peer, ratio)| format!("{ratio:.3} x {peer}")).collect();
            let met = self.verdict(row).map_or("", |(_, met)| if met { "yes" } else { "no" });
            format!(
                "{date},{machine},{commit},{rustc},\"{peers}\",\"{}\",\"{}\",{:.3},{},\"{}\",\"{}\",{met}\n",
                self.title,
                row.name,
                row.figure,
                self.unit.symbol(),
                ratios.join("; "),
                self.reach(row).unwrap_or_default(),
            )
        });
        lines.collect()
    }
}

/// One line of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) circumstances: Circumstances,
    pub(crate) table: String,
    pub(crate) case: String,
    pub(crate) figure: f64,
    pub(crate) unit: String,
    /// To whom.
    pub(crate) ratios: Vec<(f64, String)>,
    /// In words, if there is something to be reached.
    pub(crate) reach: String,
    /// Whether it was.
    pub(crate) met: Option<bool>,
}

impl Line {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = || format!("no line of a record: {text}");
        let fields = fields(text);
        let [date, machine, commit, rustc, peers, table, case, figure, unit, ratios, reach, met] =
            &fields[..]
        else {
            return Err(wrong().into());
        };
        let ratios = ratios.split("; ").filter(|ratio| !ratio.is_empty()).map(|ratio| {
            let (ratio, peer) = ratio.split_once(" x ").ok_or_else(wrong)?;
            Ok((ratio.parse()?, peer.to_owned()))
        });
        Ok(Self {
            figure: figure.parse()?,
            ratios: ratios.collect::<Result<_>>()?,
            met: (!met.is_empty()).then(|| met == "yes"),
            circumstances: Circumstances {
                date: date.clone(),
                machine: machine.clone(),
                commit: commit.clone(),
                rustc: rustc.clone(),
                peers: peers.clone(),
            },
            table: table.clone(),
            case: case.clone(),
            unit: unit.clone(),
            reach: reach.clone(),
        })
    }

    /// The ratio to a peer.
    pub(crate) fn ratio(&self, peer: &str) -> Option<f64> {
        self.ratios.iter().find(|(_, name)| name == peer).map(|&(ratio, _)| ratio)
    }
}

/// What stands between commas, except for those within quotes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Reach, Row, Unit};

    fn table() -> Table {
        let row = Row {
            name: "own, with a comma",
            figure: 12.0,
            ratios: vec![1.25],
            reach: Some(Reach::Ratio(1.2, "peer")),
        };
        let unit = Unit::Nanoseconds;
        Table { title: "title", unit, against: vec!["peer"], rows: vec![row], bars: false }
    }

    fn circumstances() -> Circumstances {
        let [date, machine, commit, rustc, peers] =
            ["2026-01-02", "a machine", "abc", "rustc 1", "peer 1, 2"];
        let [date, machine, commit, rustc, peers] = [date, machine, commit, rustc, peers].map(str::to_owned);
        Circumstances { date, machine, commit, rustc, peers }
    }

    #[test]
    fn a_line_has_what_the_header_names() {
        let expected = "2026-01-02,a machine,abc,rustc 1,\"peer 1, 2\",\"title\",\"own, with a comma\",12.000,ns,\"1.250 x peer\",\"<= 1.20 x peer\",no\n";
        assert_eq!(table().to_lines(&circumstances()), expected);
        assert_eq!(fields(expected.trim_end()).len(), HEADER.split(',').count());
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = Line::parse(table().to_lines(&circumstances()).trim_end()).unwrap();
        assert_eq!((line.case.as_str(), line.figure, line.unit.as_str()), ("own, with a comma", 12.0, "ns"));
        assert_eq!((line.ratio("peer"), line.ratio("other"), line.met), (Some(1.25), None, Some(false)));
        assert_eq!(line.circumstances, circumstances());
        assert!(Line::parse("2026-01-02,a machine").is_err());
    }

    #[test]
    fn all_that_is_recorded_can_be_read() {
        for group in ["arrays", "c", "hand-over", "kernels", "memory"] {
            assert!(!read(group).unwrap().is_empty(), "{group}");
        }
    }
}
