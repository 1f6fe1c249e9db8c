//! The fuzz targets: builds, runs, merges and records them. `fuzz/README.md` explains the terms.

mod corpus;
mod record;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Subcommand;

use crate::checks::file_stems;
use crate::instruments::{SANITIZED, UNLOCK};
use crate::run::{Door, Run, at_once, start};

pub(crate) const FUZZ_PACKAGE: &str = "crossdock-fuzz";
pub(crate) const FUZZ_TARGETS: &str = "fuzz/fuzz_targets";

/// Flags need an explicit target, so that build scripts and procedural macros are built without
/// them.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The fuzzing time of the suite, for all targets together, in seconds. It chooses anew each time,
/// and libFuzzer's log shows the seed.
const SUITE_SECONDS: u64 = 600;

/// Longer inputs are cut when a corpus is read or written.
const LONGEST_INPUT: usize = 4096;

/// What `cargo xtask fuzz` does, for some targets or all.
#[derive(Subcommand)]
pub(crate) enum Action {
    /// Fuzz, from the corpora and what was found before, into target/fuzz/corpus
    Run {
        /// For each target
        #[arg(long, default_value_t = 600)]
        seconds: u64,
        /// All if there are none
        targets: Vec<String>,
    },
    /// Bring what was found into fuzz/corpus: of all inputs, the few that together cover as much
    Merge {
        /// All if there are none
        targets: Vec<String>,
    },
    /// Measure coverage and runs per second, into fuzz/record.csv and the table of fuzz/README.md
    Record {
        /// All if there are none
        targets: Vec<String>,
    },
}

/// `cargo xtask fuzz`.
pub(crate) fn command(action: &Action) -> Result<ExitCode> {
    let door = Door::new(false)?;
    let mut run = Run::new(&door, "fuzz")?;
    let (Action::Run { targets, .. } | Action::Merge { targets } | Action::Record { targets }) = action;
    let targets = build(&mut run, targets)?;
    match action {
        Action::Run { seconds, .. } => {
            println!("{}", fuzz(&mut run, &targets, *seconds, Start::Found)?.join("\n"));
        }
        Action::Merge { .. } => {
            for target in &targets {
                println!("{}", corpus::merge(&mut run, target)?);
            }
        }
        Action::Record { .. } => record::record(&mut run, &targets)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The suite: every target fuzzes from its corpus for its share of the time. New inputs go to the
/// target folder, so the checkout is unchanged. (A test of the targets' own package runs each on
/// all of its corpus.)
pub(crate) fn suite(run: &mut Run<'_>) -> Result<()> {
    let targets = build(run, &[])?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let seconds = SUITE_SECONDS * processors as u64 / targets.len() as u64;
    let notes = fuzz(run, &targets, seconds, Start::Corpus)?;
    notes.into_iter().for_each(|note| run.note(note));
    Ok(())
}

/// The inputs that a run starts from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The corpus in the repository, so that every run of the suite is the same, whatever this
    /// machine found before.
    Corpus,
    /// The corpus, and the inputs found before.
    Found,
}

/// Builds the program with all targets, and returns those with these names, or all.
fn build(run: &mut Run<'_>, wanted: &[String]) -> Result<Vec<Target>> {
    let mut names = file_stems(&run.door.root.join(FUZZ_TARGETS))?;
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
        bail!("there is no fuzz target `{unknown}`; there are: {}", names.join(", "));
    }
    if names.is_empty() {
        bail!("there are no fuzz targets in {FUZZ_TARGETS}");
    }
    let work = run.door.target.join("fuzz");
    let mut build =
        run.door.cargo(&format!("build --package {FUZZ_PACKAGE} --release --bin fuzz --target {TARGET}"));
    build.env("CARGO_TARGET_DIR", &work).env(UNLOCK.0, UNLOCK.1).env("RUSTFLAGS", flags());
    build.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    run.exec(&mut build)?;
    names.retain(|name| wanted.is_empty() || wanted.contains(name));
    names.into_iter().map(|name| Target::new(run.door, name)).collect()
}

/// Coverage for libFuzzer, which also sees the operands of comparisons, the address sanitizer, and
/// debug assertions in optimised code.
fn flags() -> String {
    const COVERAGE: [&str; 4] = ["level=4", "inline-8bit-counters", "pc-table", "trace-compares"];
    let coverage = COVERAGE.map(|part| format!("-Cllvm-args=-sanitizer-coverage-{part}")).join(" ");
    format!(
        "{SANITIZED} --cfg fuzzing -Cpasses=sancov-module {coverage} -Ccodegen-units=1 -Cdebug-assertions"
    )
}

/// Runs targets in parallel, one per CPU. Waits for all of them before it reports the failures. The
/// logs of failed targets come last in the log of the run, whose last lines the summary shows.
fn fuzz(run: &mut Run<'_>, targets: &[Target], seconds: u64, from: Start) -> Result<Vec<String>> {
    let watched = &*run;
    let done = at_once(targets.iter().collect(), |target: &Target| target.fuzz(watched, seconds, from));
    let mut ended: Vec<_> = targets.iter().zip(done).collect();
    failures_last(&mut ended);
    let (mut notes, mut failures) = (Vec::new(), Vec::new());
    for (target, result) in ended {
        run.append(&String::from_utf8_lossy(&fs::read(&target.log).unwrap_or_default()))?;
        match result {
            Ok(note) => notes.push(note),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if failures.is_empty() { Ok(notes) } else { bail!("{}", failures.join("; ")) }
}

/// Moves failures behind successes, each in their order.
fn failures_last<T, R>(ended: &mut [(T, Result<R>)]) {
    ended.sort_by_key(|(_, result)| result.is_err());
}

/// A fuzz target and its folders.
struct Target {
    name: String,
    program: PathBuf,
    /// Named seeds and kept inputs, in the repository.
    corpus: PathBuf,
    /// New inputs, to be merged.
    found: PathBuf,
    /// Inputs that broke it.
    artifacts: PathBuf,
    /// A dictionary of the texts that it reads, if it has one.
    dictionary: PathBuf,
    log: PathBuf,
}

impl Target {
    fn new(door: &Door, name: String) -> Result<Self> {
        let (kept, work) = (door.root.join("fuzz"), door.target.join("fuzz"));
        let target = Self {
            program: work.join(TARGET).join("release/fuzz"),
            corpus: kept.join("corpus").join(&name),
            found: work.join("corpus").join(&name),
            artifacts: work.join("artifacts").join(&name),
            dictionary: kept.join("dictionaries").join(&name).with_extension("dict"),
            log: work.join(&name).with_extension("log"),
            name,
        };
        if corpus::inputs(&target.corpus)?.is_empty() {
            bail!("the fuzz target `{}` has no seeds in {}", target.name, target.corpus.display());
        }
        for folder in [&target.found, &target.artifacts] {
            fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        }
        Ok(target)
    }

    /// The target with the arguments of every run.
    fn command(&self, run: &Run<'_>) -> Command {
        let mut command = run.door.command(&self.program, "-timeout=10 -rss_limit_mb=4096");
        command.env("CROSSDOCK_FUZZ_TARGET", &self.name).arg(format!("-max_len={LONGEST_INPUT}"));
        command.arg(format!("-artifact_prefix={}/", self.artifacts.display()));
        command
    }

    /// Runs the command with its output in the target's log, and returns that.
    fn logged(&self, run: &Run<'_>, command: &mut Command) -> Result<String> {
        let log =
            File::create(&self.log).with_context(|| format!("{} cannot be written", self.log.display()))?;
        let mut child = start(command.stdout(log.try_clone()?).stderr(log))?;
        let status = run.wait(&mut child, &self.name)?;
        let text = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        if !status.success() {
            bail!("the fuzz target `{}` ended with {status}; its log is {}", self.name, self.log.display());
        }
        Ok(text)
    }

    /// Fuzzes, and checks that it ran for as long as it should, with more than its inputs.
    fn fuzz(&self, run: &Run<'_>, seconds: u64, from: Start) -> Result<String> {
        let found = match from {
            Start::Corpus => corpus::fresh(run, "suite", self)?,
            Start::Found => self.found.clone(),
        };
        let begun = (corpus::inputs(&self.corpus)?.len() + corpus::inputs(&found)?.len()) as u64;
        let mut command = self.command(run);
        command.arg(format!("-max_total_time={seconds}"));
        if self.dictionary.exists() {
            command.arg(format!("-dict={}", self.dictionary.display()));
        }
        // libFuzzer writes into the first folder and only reads the others.
        let text = self.logged(run, command.args([&found, &self.corpus]))?;
        if from == Start::Corpus {
            corpus::copy(corpus::inputs(&found)?.into_iter(), &self.found)?;
        }
        let Some((runs, took)) = done(&text) else {
            bail!("the fuzz target `{}` did not say how many runs it did: {}", self.name, self.log.display());
        };
        if runs <= begun || took < seconds {
            bail!(
                "the fuzz target `{}` did {runs} runs from {begun} inputs in {took} of {seconds} seconds",
                self.name
            );
        }
        Ok(format!("{} {runs} runs in {took} s", self.name))
    }
}

/// Runs and seconds from libFuzzer's `Done 12345 runs in 61 second(s)`.
fn done(log: &str) -> Option<(u64, u64)> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("Done "))?;
    let mut words = line.split(' ');
    Some((words.next()?.parse().ok()?, words.nth(2)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_run_ends_with_its_failures() {
        let result = |is_ok: bool| if is_ok { Ok(()) } else { Err(anyhow::anyhow!("ended")) };
        let mut ended: Vec<_> = [("a", true), ("b", false), ("c", true), ("d", false)]
            .map(|(name, ok)| (name, result(ok)))
            .into();
        failures_last(&mut ended);
        assert_eq!(ended.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "c", "b", "d"]);
    }

    #[test]
    fn libfuzzers_last_word_is_read() {
        assert_eq!(done("INFO: seed\nDone 12345 runs in 61 second(s)\nstat::x: 1\n"), Some((12345, 61)));
        assert_eq!(done("INFO: seed\n"), None);
    }
}
