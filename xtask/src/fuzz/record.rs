//! The coverage and speed of the targets, in `fuzz/record.csv` and, from it, in `fuzz/README.md`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, bail};

use super::{Target, corpus, done};
use crate::run::Run;

const RECORD: &str = "fuzz/record.csv";
const README: &str = "fuzz/README.md";

/// One line for each target and day; the last line of a target counts. `seeds` is the coverage of
/// the named seeds alone, `edges` that of the whole corpus before the first new input.
const HEADER: &str = "date,machine,target,inputs,bytes,seeds,edges,features,runs_per_second";

/// The record's table stands between these lines of the page.
const BEGIN: &str = "<!-- the record -->\n";
const END: &str = "<!-- the end of the record -->\n";

/// How long runs are counted.
const SECONDS: u64 = 5;

/// Measures targets one after another, and updates the page.
pub(super) fn record(run: &mut Run<'_>, targets: &[Target]) -> Result<()> {
    let (date, machine) = (run.stdout(&mut run.door.command("date", "-u +%F"))?, machine());
    let path = run.door.root.join(RECORD);
    let mut record = OpenOptions::new().create(true).append(true).open(&path)?;
    if record.metadata()?.len() == 0 {
        writeln!(record, "{HEADER}")?;
    }
    for target in targets {
        let seeds = corpus::seeds(run, target)?;
        let (alone, _) = covered(run, target, &[&seeds])?;
        let (edges, features) = covered(run, target, &[&target.corpus])?;
        let inputs = corpus::inputs(&target.corpus)?;
        let rate = rate(run, target, &[&seeds, &target.corpus])?;
        let (count, nbytes) = (inputs.len(), corpus::size(&inputs)?);
        let line = format!(
            "{},{machine},{},{count},{nbytes},{alone},{edges},{features},{rate:.0}",
            date.trim(),
            target.name
        );
        println!("{line}");
        writeln!(record, "{line}")?;
    }
    draw(&run.door.root)
}

/// The edges and features that the inputs in some folders cover.
fn covered(run: &Run<'_>, target: &Target, folders: &[&Path]) -> Result<(u64, u64)> {
    let mut command = target.command(run);
    let text = target.logged(run, command.arg("-runs=0").args(folders))?;
    coverage(&text).with_context(|| format!("the fuzz target `{}` did not say its coverage", target.name))
}

/// Runs per second of CPU time, so that other work on the machine does not matter. New inputs go to
/// the first folder.
fn rate(run: &Run<'_>, target: &Target, folders: &[&Path]) -> Result<f64> {
    let fuzzing = target.command(run);
    let mut timed = run.door.command("sh", "-c");
    timed.envs(fuzzing.get_envs().filter_map(|(name, value)| Some((name, value?))));
    timed.args(["\"$@\" && times", "sh"]).arg(fuzzing.get_program()).args(fuzzing.get_args());
    timed.arg(format!("-max_total_time={SECONDS}")).args(folders);
    let text = target.logged(run, &mut timed)?;
    let (runs, _) = done(&text).context("libFuzzer did not say how many runs it did")?;
    let seconds = processor_time(&text).context("the shell did not say how long it took")?;
    Ok(runs as f64 / seconds.max(0.01))
}

/// The CPU time of the children from the last line of the shell's `times`: `1m2.500s 0m0.250s`,
/// user and system.
fn processor_time(log: &str) -> Option<f64> {
    let seconds = |text: &str| {
        let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    let (own, system) = log.lines().last()?.split_once(' ')?;
    Some(seconds(own)? + seconds(system)?)
}

/// From libFuzzer's `#14 DONE cov: 500 ft: 900 corp: …`.
fn coverage(log: &str) -> Option<(u64, u64)> {
    let line = log.lines().rev().find(|line| line.contains(" cov: "))?;
    let mut words = line.split_whitespace();
    let mut after = |name: &str| words.by_ref().skip_while(|word| *word != name).nth(1)?.parse().ok();
    Some((after("cov:")?, after("ft:")?))
}

/// The name of the CPU, as in the records of the benchmarks.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields: BTreeMap<_, _> = info
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim().replace(',', "")))
        .collect();
    let field = |name: &str| fields.get(name).map_or("unknown", String::as_str);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    format!("{} family {} model {} ({cores} cores)", field("model name"), field("cpu family"), field("model"))
}

/// Puts the record's table into the page.
fn draw(root: &Path) -> Result<()> {
    let page = fs::read_to_string(root.join(README))?;
    let (before, after) = around(&page)?;
    let table = table(&fs::read_to_string(root.join(RECORD))?)?;
    Ok(fs::write(root.join(README), format!("{before}{BEGIN}{table}{END}{after}"))?)
}

/// The text of the page before and after the table.
fn around(page: &str) -> Result<(&str, &str)> {
    let halves = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    halves.with_context(|| format!("{README} has no place for the record"))
}

/// The last line of each target as a table, with the machines and days of the measurements.
fn table(record: &str) -> Result<String> {
    let mut lines = record.lines();
    if lines.next() != Some(HEADER) {
        bail!("{RECORD} does not begin with {HEADER}");
    }
    let mut last = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [date, machine, target, inputs, bytes, seeds, edges, features, rate] = fields[..] else {
            bail!("a line of {RECORD} does not have {} fields: {line}", HEADER.split(',').count());
        };
        let kib = bytes.parse::<u64>().with_context(|| line.to_owned())?.div_ceil(1024);
        let row = format!("| `{target}` | {inputs} | {kib} | {seeds} | {edges} | {features} | {rate} |");
        last.insert(target, (row, date, machine));
    }
    let mut text =
        "| target | inputs | KiB | edges of the seeds | edges at the start | features | runs per second |\n\
                    |---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    let mut measured: Vec<String> = Vec::new();
    for (row, date, machine) in last.values() {
        writeln!(text, "{row}")?;
        measured.push(format!("{date}, {machine}"));
    }
    measured.sort();
    measured.dedup();
    writeln!(text, "\nMeasured on {}.", measured.join("; "))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::file_stems;
    use crate::fuzz::FUZZ_TARGETS;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    #[test]
    fn coverage_is_read_from_libfuzzers_last_line() {
        let log = "#2 INITED cov: 3 ft: 4 corp: 1/1b\n#9 DONE   cov: 500 ft: 912 corp: 9/300b exec/s: 0\nDone 9 runs";
        assert_eq!(coverage(log), Some((500, 912)));
        assert_eq!(coverage("Done 9 runs"), None);
    }

    #[test]
    fn processor_time_is_what_the_shell_says_of_its_children() {
        assert_eq!(processor_time("Done 9 runs\n0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n"), Some(62.75));
        assert_eq!(processor_time("Done 9 runs in 3 second(s)"), None);
    }

    #[test]
    fn the_last_line_of_a_target_counts() {
        let line = |date, target, edges| format!("{date},m,{target},2,1500,10,{edges},30,40\n");
        let record = [HEADER, "\n", &line("d1", "a", 1), &line("d1", "b", 2), &line("d2", "a", 3)].concat();
        let text = table(&record).unwrap();
        assert!(text.contains("| `a` | 2 | 2 | 10 | 3 | 30 | 40 |\n| `b` | 2 | 2 | 10 | 2 |"), "{text}");
        assert!(text.ends_with("\nMeasured on d1, m; d2, m.\n"), "{text}");
        assert!(table("date\n").is_err() && table(&format!("{HEADER}\na,b\n")).is_err());
    }

    #[test]
    fn the_page_has_the_table_of_the_record_and_a_row_for_each_target() {
        let page = fs::read_to_string(root().join(README)).unwrap();
        let (before, after) = around(&page).unwrap();
        let table = table(&fs::read_to_string(root().join(RECORD)).unwrap()).unwrap();
        assert_eq!(
            page,
            format!("{before}{BEGIN}{table}{END}{after}"),
            "draw it by `cargo xtask fuzz record`"
        );
        for target in file_stems(&root().join(FUZZ_TARGETS)).unwrap() {
            assert!(table.contains(&format!("| `{target}` |")), "{target} was not measured");
            assert!(before.contains(&format!("| `{target}` |")), "{README} does not say what {target} reads");
        }
    }

    #[test]
    fn every_corpus_belongs_to_a_target_and_the_kept_inputs_are_few() {
        let targets = file_stems(&root().join(FUZZ_TARGETS)).unwrap();
        let mut all = 0;
        for folder in corpus::inputs(&root().join("fuzz/corpus")).unwrap() {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            assert!(targets.contains(&name), "{name} is no target");
            let inputs = corpus::inputs(&folder).unwrap();
            assert!((1..=600).contains(&inputs.len()), "{name} has {} inputs", inputs.len());
            all += corpus::size(&inputs).unwrap();
        }
        assert!(all < 4 << 20, "the corpora have {all} bytes");
    }
}
