//! Records of figures: CSV files with the date, the machine and the sources of each figure.

use std::fmt::{self, Write as _};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::{Figure, Result, machine};

/// The first line of a record.
pub const HEADER: &str = "date,machine,commit,rustc,peers,table,case,figure,unit,ratios,reach,met";

/// Appends lines to a record, which is created with its header if it does not exist.
///
/// # Errors
///
/// If it cannot be written.
pub fn append(path: &Path, lines: &[Line]) -> Result {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let fresh = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut text = if fresh { format!("{HEADER}\n") } else { String::new() };
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// All lines of a record, the oldest first; none if it does not exist.
///
/// # Errors
///
/// If it cannot be read, or if a line is invalid.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    fs::read_to_string(path)?.lines().skip(1).map(Line::parse).collect()
}

/// The date, machine and sources of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Circumstances {
    /// The date in ISO 8601.
    pub date: String,
    /// The processor; for figures of a device, the device.
    pub machine: String,
    /// The commit, followed by `+` if the sources had changed since. Empty if unknown, and in lines
    /// older than the column.
    pub commit: String,
    /// The compiler. May be empty, like the commit.
    pub rustc: String,
    /// The peers and their versions.
    pub peers: String,
}

impl Circumstances {
    /// The circumstances of this run, on this machine, without peers. The commit is that of the
    /// checkout in which the folder `sources` is.
    pub fn now(sources: &Path) -> Self {
        let output = |program: &str, args: &[&str]| {
            let mut command = Command::new(program);
            let output = command.args(args).current_dir(sources).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| plain(text.trim()))
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
            peers: String::new(),
        }
    }

    /// The same for another machine, or for a device.
    #[must_use]
    pub fn on(self, machine: &str) -> Self {
        Self { machine: plain(machine), ..self }
    }

    /// The same with these peers.
    #[must_use]
    pub fn beside(self, peers: &str) -> Self {
        Self { peers: peers.replace(['"', '\n'], " "), ..self }
    }

    /// Whether machine and commit are equal.
    pub fn is_of_the_same_state(&self, other: &Self) -> bool {
        (&self.machine, &self.commit) == (&other.machine, &other.commit)
    }

    /// The date, the machine and the sources, for people.
    pub fn in_words(&self) -> String {
        let mut words = format!("{}, {}", self.date, self.machine);
        for (name, value) in [("commit ", &self.commit), ("", &self.rustc)] {
            if !value.is_empty() {
                let _ = write!(words, ", {name}{value}");
            }
        }
        words
    }
}

/// Text for a field without quotes.
fn plain(text: &str) -> String {
    text.replace(['"', ',', '\n'], " ")
}

/// One line of a record: a figure and its circumstances.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Date, machine and sources.
    pub circumstances: Circumstances,
    /// The title of its table.
    pub table: String,
    /// The name of the measurement.
    pub case: String,
    /// The value.
    pub figure: f64,
    /// The symbol of its unit.
    pub unit: String,
    /// Ratios to peers, with the names of the peers.
    pub ratios: Vec<(f64, String)>,
    /// The bound in words, if there is one.
    pub reach: String,
    /// Whether the bound was reached.
    pub met: Option<bool>,
}

impl Line {
    /// The line of a figure.
    pub fn new(circumstances: &Circumstances, table: &str, case: &str, figure: &Figure) -> Self {
        Self {
            circumstances: circumstances.clone(),
            table: table.to_owned(),
            case: case.to_owned(),
            figure: figure.value,
            unit: figure.unit.symbol().to_owned(),
            ratios: figure.ratios.clone(),
            reach: figure.reach_in_words().unwrap_or_default(),
            met: figure.met(),
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// If it does not have the fields that [`HEADER`] names.
    pub fn parse(text: &str) -> Result<Self> {
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
    pub fn ratio(&self, peer: &str) -> Option<f64> {
        self.ratios.iter().find(|(_, name)| name == peer).map(|&(ratio, _)| ratio)
    }
}

/// The form in a record. Names are quoted, since they contain commas (types do).
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Circumstances { date, machine, commit, rustc, peers } = &self.circumstances;
        let Self { table, case, figure, unit, reach, .. } = self;
        let ratios: Vec<_> = self.ratios.iter().map(|(ratio, peer)| format!("{ratio:.3} x {peer}")).collect();
        let ratios = ratios.join("; ");
        let met = self.met.map_or("", |met| if met { "yes" } else { "no" });
        write!(
            f,
            "{date},{machine},{commit},{rustc},\"{peers}\",\"{table}\",\"{case}\",{figure:.3},{unit},\"{ratios}\",\"{reach}\",{met}"
        )
    }
}

/// The text between commas, except for commas within quotes.
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
    use crate::{Reach, Unit};

    fn circumstances() -> Circumstances {
        let [date, machine, commit, rustc, peers] =
            ["2026-01-02", "a machine", "abc", "rustc 1", "peer 1, 2"];
        let [date, machine, commit, rustc, peers] = [date, machine, commit, rustc, peers].map(str::to_owned);
        Circumstances { date, machine, commit, rustc, peers }
    }

    fn line() -> Line {
        let figure = Figure {
            value: 12.0,
            unit: Unit::Nanoseconds,
            ratios: vec![(1.25, "peer".to_owned())],
            reach: Some(Reach::ratio(1.2, "peer")),
        };
        Line::new(&circumstances(), "title", "own, with a comma", &figure)
    }

    #[test]
    fn a_line_has_what_the_header_names() {
        let expected = "2026-01-02,a machine,abc,rustc 1,\"peer 1, 2\",\"title\",\"own, with a comma\",12.000,ns,\"1.250 x peer\",\"<= 1.20 x peer\",no";
        assert_eq!(line().to_string(), expected);
        assert_eq!(fields(expected).len(), HEADER.split(',').count());
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let read = Line::parse(&line().to_string()).unwrap();
        assert_eq!(read, line());
        assert_eq!((read.case.as_str(), read.figure, read.unit.as_str()), ("own, with a comma", 12.0, "ns"));
        assert_eq!((read.ratio("peer"), read.ratio("other"), read.met), (Some(1.25), None, Some(false)));
        assert_eq!(read.circumstances, circumstances());
        assert!(Line::parse("2026-01-02,a machine").is_err());
    }

    #[test]
    fn a_name_with_a_comma_or_a_quote_stays_one_field() {
        let circumstances = circumstances().on("GPU, 80 GB").beside("one \"peer\", another");
        let figure = Figure::alone(1.0, Unit::Terabytes);
        let line = Line::new(&circumstances, "gpu", "a copy", &figure);
        assert_eq!(Line::parse(&line.to_string()).unwrap(), line);
        assert_eq!(line.circumstances.machine, "GPU  80 GB");
    }
}
