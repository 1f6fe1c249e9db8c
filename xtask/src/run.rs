//! One run of one suite: its commands, its log, and the counts of its test runners.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::filter;
use crate::processes;
use crate::provision;
use crate::report::Report;
use crate::skips;
use crate::suite::Suite;

/// The width of a suite's name in progress messages.
const STEP: usize = 9;

/// The state that all suites of one `cargo xtask` share.
#[derive(Clone)]
pub(crate) struct Door {
    /// The root of the checkout.
    pub(crate) root: PathBuf,
    /// The folder of all builds: `CARGO_TARGET_DIR`, or `target/` in the root.
    pub(crate) target: PathBuf,
    /// More random cases, and fuzzing.
    pub(crate) long: bool,
    /// The subset of daily work, within the suites that run.
    pub(crate) fast: bool,
    /// Whether builds are incremental, which makes the first one up to half as long again. Other
    /// builds omit line tables, too, which take a seventh of their time.
    pub(crate) incremental: bool,
}

impl Door {
    pub(crate) fn new(long: bool) -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("start it as `cargo xtask`")?;
        let root = Path::new(&manifest).parent().context("xtask/ has no parent folder")?.to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        Ok(Self { target: root.join(target), root, long, fast: false, incremental: true })
    }

    /// `cargo` with `args`, split at spaces, in the root.
    pub(crate) fn cargo(&self, args: &str) -> Command {
        let mut command = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args);
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TARGET_DIR", &self.target);
        if !self.incremental {
            command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        }
        command
    }

    /// Builds releases that only this suite's tests use: not optimised, which takes longer than it
    /// makes the tests shorter, and without link-time optimisation and line tables. The long run
    /// tests what users get.
    pub(crate) fn build_for_tests(&self, command: &mut Command) {
        if !self.long {
            command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
            command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16").env("CARGO_PROFILE_RELEASE_DEBUG", "0");
            // Where all of this is the same, what crates need is built once for all suites.
            command.env("CARGO_PROFILE_RELEASE_STRIP", "none");
        }
    }

    /// Lints the crates of a workspace in a build of it, as `cargo clippy` does in a check, which
    /// would check all that they need as well.
    pub(crate) fn lint(command: &mut Command) {
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        // How `cargo clippy` passes arguments on.
        command.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    }

    /// `program` with `args`, split at spaces, in the root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>, args: &str) -> Command {
        let mut command = Command::new(program);
        command.args(args.split_whitespace()).current_dir(&self.root).stdin(Stdio::null());
        command
    }
}

/// The counts of test runners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// A suite while it runs.
pub(crate) struct Run<'a> {
    pub(crate) door: &'a Door,
    name: String,
    log: File,
    path: PathBuf,
    start: Instant,
    /// The processor time of its commands, in milliseconds.
    work: AtomicU64,
    /// When a command counts as hanging.
    deadline: Option<Instant>,
    pub(crate) counts: Counts,
    closing: Vec<String>,
    notes: Vec<String>,
    /// The reason for each test that was not run.
    skips: Vec<String>,
}

impl<'a> Run<'a> {
    /// Begins a separate log for the suite or chain `name`.
    pub(crate) fn new(door: &'a Door, name: &str) -> Result<Self> {
        let logs = door.target.join("xtask");
        fs::create_dir_all(&logs).with_context(|| format!("{} cannot be made", logs.display()))?;
        let path = logs.join(name).with_extension("log");
        let log = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
        let said_before = path.with_extension("not-run");
        if said_before.exists() {
            fs::remove_file(&said_before)
                .with_context(|| format!("{} cannot be removed", said_before.display()))?;
        }
        Ok(Self {
            door,
            name: name.to_owned(),
            log,
            path,
            start: Instant::now(),
            work: AtomicU64::new(0),
            deadline: None,
            counts: Counts::default(),
            closing: Vec::new(),
            notes: Vec::new(),
            skips: Vec::new(),
        })
    }
}

impl Run<'_> {
    /// Provides the suite's needs, and runs it. An error of the suite is in the report; `Err` is an
    /// error of this program.
    pub(crate) fn suite(door: &Door, suite: &Suite) -> Result<Report> {
        let mut run = Run::new(door, suite.name)?;
        // The long run has an observer and no deadline.
        run.deadline = (!door.long).then(|| run.start + Duration::from_secs(60 * suite.minutes));

        let result = provision::ensure(&mut run, suite.needs).and_then(|()| {
            // Daily work skips missing counterparts.
            let peers = if door.fast { Ok(()) } else { provision::ensure(&mut run, suite.peers) };
            let result = (suite.run)(&mut run);
            // A missing counterpart causes later failures, so it is named first.
            match (peers, result) {
                (Err(peers), Err(error)) => Err(peers.context(format!("{error:#}"))),
                (peers, result) => peers.and(result),
            }
        });
        let remark = skips::remark(&run.skips());
        run.notes.extend(remark);
        Ok(Report {
            name: suite.name,
            took: run.start.elapsed(),
            work: run.work(),
            error: result.err().map(|error| format!("{error:#}")),
            counts: run.counts,
            closing: run.closing,
            notes: run.notes,
            log: run.path,
        })
    }

    /// Runs `cargo` with `args`.
    pub(crate) fn cargo(&mut self, args: &str) -> Result<()> {
        let mut command = self.door.cargo(args);
        self.exec(&mut command)
    }

    /// Runs test programs, with `filters` for test names. Also an error if no test ran, or if a
    /// filter matched none.
    pub(crate) fn tests(&mut self, command: &mut Command, filters: &[&str]) -> Result<()> {
        let text = self.output(command.arg("--").args(filters))?;
        filter::each_finds_some(filters, &filter::ran(&text)).with_context(|| format!("`{}`", spell(command)))
    }

    /// In the long run, gives the random tests a new seed each time. The suite's line shows it:
    /// `CROSSDOCK_SEED` repeats it.
    pub(crate) fn seed(&mut self, command: &mut Command) {
        const SEED: &str = "CROSSDOCK_SEED";
        if !self.door.long {
            return;
        }
        let seed = std::env::var(SEED).unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (now.as_secs() % 1_000_000_000).to_string()
        });
        command.env(SEED, &seed);
        self.note(format!("{SEED}={seed}"));
    }

    /// Runs a command with its output in the log, and counts the results of test runners there.
    pub(crate) fn exec(&mut self, command: &mut Command) -> Result<()> {
        self.output(command).map(drop)
    }

    /// Like [`Run::exec`], and returns the output of the command.
    pub(crate) fn output(&mut self, command: &mut Command) -> Result<String> {
        let (status, text) = self.answer(command)?;
        if !status.success() {
            bail!("`{}` ended with {status}", spell(command));
        }
        Ok(text)
    }

    /// The standard output of a command; the rest goes into the log.
    pub(crate) fn stdout(&mut self, command: &mut Command) -> Result<String> {
        writeln!(self.log, "$ {}", spell(command))?;
        command.env(skips::FILE, self.path.with_extension("not-run"));
        let path = self.path.with_extension("out");
        command.stdout(File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?);
        let mut child = start(command.stderr(self.log.try_clone()?))?;
        let status = self.wait(&mut child, &spell(command))?;
        if !status.success() {
            bail!("`{}` ended with {status}", spell(command));
        }
        Ok(String::from_utf8_lossy(&fs::read(&path)?).into_owned())
    }

    /// Runs chains of commands in parallel, one per CPU, each with a separate log. The commands of
    /// a chain run one after another, until one fails. At the end the logs are copied into this
    /// one, those of failed chains last.
    pub(crate) fn side_by_side(&mut self, chains: Vec<(String, Vec<Command>)>) -> Result<()> {
        let (door, deadline, watched) = (self.door, self.deadline, &*self);
        let mut done = at_once(chains, |(name, mut commands): (String, Vec<Command>)| -> Result<_> {
            watched.step(&name);
            let mut run = Run::new(door, &name)?;
            run.deadline = deadline;
            let result = commands.iter_mut().try_for_each(|command| run.exec(command));
            Ok((run, result))
        })
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
        done.sort_by_key(|(_, result)| result.is_err());
        let mut failures = Vec::new();
        for (run, result) in done {
            self.append(&fs::read_to_string(&run.path)?)?;
            self.counts.add(run.counts);
            self.add_work(run.work());
            self.skips.extend(run.skips());
            self.closing.extend(run.closing);
            failures.extend(result.err().map(|error| format!("{error:#}")));
        }
        if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("; ")) }
    }

    /// Runs a command that must fail, with `words` in its output.
    pub(crate) fn must_fail(&mut self, command: &mut Command, words: &str) -> Result<()> {
        let (status, text) = self.answer(command)?;
        if status.success() || !text.contains(words) {
            bail!("`{}` should have failed with `{words}`, and ended with {status}", spell(command));
        }
        Ok(())
    }

    /// Runs a command that may fail. Returns its status and its output. The log is a file rather
    /// than a pipe, so that a process left behind by a test cannot block the suite.
    pub(crate) fn answer(&mut self, command: &mut Command) -> Result<(ExitStatus, String)> {
        writeln!(self.log, "$ {}", spell(command))?;
        command.env(skips::FILE, self.path.with_extension("not-run"));
        let (before, worked) = (self.log.metadata()?.len(), self.work());
        let mut child = start(command.stdout(self.log.try_clone()?).stderr(self.log.try_clone()?))?;
        let status = self.wait(&mut child, &spell(command));
        let written = fs::read(&self.path)?;
        // Below its output, of which it is no part.
        writeln!(self.log, "# {:.1} s of work", (self.work() - worked).as_secs_f64())?;
        let written = written.get(before as usize..).unwrap_or_default();
        let text = String::from_utf8_lossy(written).into_owned();
        for line in text.lines() {
            self.count(line);
        }
        Ok((status?, text))
    }

    /// Waits for the command `name`, at most for the suite's minutes.
    pub(crate) fn wait(&self, child: &mut Child, name: &str) -> Result<ExitStatus> {
        let ended = processes::wait(child, self.deadline)?;
        let ended = ended
            .with_context(|| format!("`{name}` was stopped: it ran past the minutes that its suite has"))?;
        self.add_work(ended.work);
        Ok(ended.status)
    }

    fn add_work(&self, work: Duration) {
        self.work.fetch_add(work.as_millis() as u64, Ordering::Relaxed);
    }

    /// The processor time of its commands so far.
    fn work(&self) -> Duration {
        Duration::from_millis(self.work.load(Ordering::Relaxed))
    }

    /// The reasons of the skipped tests so far, one for each.
    pub(crate) fn skips(&self) -> Vec<String> {
        let said = skips::read(&self.path.with_extension("not-run"));
        self.skips.iter().cloned().chain(said).collect()
    }

    fn count(&mut self, line: &str) {
        self.skips.extend(skips::in_line(line));
        let Some(counts) = closing_line(line) else { return };
        self.counts.add(counts);
        if counts.passed + counts.failed > 0 {
            self.closing.push(line.trim().to_owned());
        }
    }

    /// A program in the target folder: `text` for the shell.
    pub(crate) fn script(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.door.target.join("xtask").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n"))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(path)
    }

    /// Puts `text` into the log.
    pub(crate) fn append(&mut self, text: &str) -> Result<()> {
        Ok(self.log.write_all(text.as_bytes())?)
    }

    /// Reports the part of a long suite that begins.
    pub(crate) fn step(&self, name: &str) {
        println!("{:STEP$}  {name} ({:.0} s so far)", self.name, self.start.elapsed().as_secs_f64());
    }

    /// A remark for the suite's line in the table.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Fails if no test has run so far: a suite that runs nothing proves nothing.
    pub(crate) fn expect_tests(&self) -> Result<()> {
        if self.counts.passed + self.counts.failed == 0 {
            bail!("not one test ran");
        }
        Ok(())
    }
}

/// Calls `work` for each item, on one thread per CPU, and returns the results in the order of the
/// items.
pub(crate) fn at_once<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let (count, waiting, done) =
        (items.len(), Mutex::new(items.into_iter().enumerate()), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    // A panic of one thread continues here, after all have ended.
    thread::scope(|scope| {
        for _ in 0..processors.min(count) {
            scope.spawn(|| {
                while let Some((place, item)) = next() {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|&(place, _)| place);
    done.into_iter().map(|(_, result)| result).collect()
}

pub(crate) fn start(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| format!("`{}` cannot be started", spell(command)))
}

/// A command as it would be typed, without its environment.
fn spell(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The counts in the closing line of a test runner (cargo-nextest, libtest, pytest, test-unit), if
/// `line` is one. Output of failed tests is indented, and does not count again.
fn closing_line(line: &str) -> Option<Counts> {
    if let Some(counts) = closing_line_of_test_unit(line) {
        return Some(counts);
    }
    let list = if let Some(summary) = line.strip_prefix("     Summary [") {
        summary.split_once(" run: ")?.1
    } else if let Some(list) = line.strip_prefix("test result: ") {
        list.split_once(". ")?.1
    } else {
        let (list, time) = line.trim_start_matches("=").rsplit_once(" in ")?;
        if list.starts_with("  ") {
            return None;
        }
        let seconds = time.split(' ').next()?.strip_suffix('s')?;
        seconds.parse::<f64>().ok()?;
        list
    };
    let mut counts = Counts::default();
    let mut any = false;
    for part in list.split([',', ';']) {
        let mut words = part.split_whitespace();
        let (Some(number), Some(word)) = (words.next(), words.next()) else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        match word {
            "passed" | "xfailed" => counts.passed += number,
            // nextest: `2 timed out`, `1 exec failed`; pytest: `1 error`, `3 errors`, `1 xpassed`.
            "failed" | "timed" | "exec" | "error" | "errors" | "xpassed" => counts.failed += number,
            "skipped" | "ignored" => counts.skipped += number,
            _ => continue,
        }
        any = true;
    }
    any.then_some(counts)
}

/// `8 tests, 51 assertions, 1 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications`.
fn closing_line_of_test_unit(line: &str) -> Option<Counts> {
    let mut numbers = [0_usize; 7];
    let words = ["tests", "assertions", "failures", "errors", "pendings", "omissions", "notifications"];
    let mut parts = line.split(", ");
    for (place, word) in numbers.iter_mut().zip(words) {
        *place = parts.next()?.strip_suffix(word)?.strip_suffix(' ')?.parse().ok()?;
    }
    let [tests, _, failures, errors, pending, omitted, _] = numbers;
    let (failed, skipped) = (failures + errors, pending + omitted);
    Some(Counts { passed: tests.checked_sub(failed + skipped)?, failed, skipped })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: usize, failed: usize, skipped: usize) -> Option<Counts> {
        Some(Counts { passed, failed, skipped })
    }

    #[test]
    fn closing_lines_of_the_runners_are_read() {
        let cases = [
            ("     Summary [   0.004s] 12 tests run: 12 passed, 3 skipped", counts(12, 0, 3)),
            ("     Summary [   0.004s] 1 test run: 1 passed, 0 skipped", counts(1, 0, 0)),
            (
                "     Summary [  9.1s] 7 tests run: 4 passed (1 slow), 1 failed, 1 timed out, 1 exec failed, 0 skipped",
                counts(4, 3, 0),
            ),
            (
                "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 9 filtered out; finished in 0.00s",
                counts(5, 0, 2),
            ),
            (
                "test result: FAILED. 1 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out",
                counts(1, 4, 0),
            ),
            (
                "9 tests, 51 assertions, 1 failures, 2 errors, 0 pendings, 1 omissions, 0 notifications",
                counts(5, 3, 1),
            ),
            ("4 passed, 1 skipped in 0.12s", counts(4, 0, 1)),
            ("== 1 failed, 4 passed, 2 errors in 72.10s (0:01:12) ==", counts(4, 3, 0)),
        ];
        for (line, expected) in cases {
            assert_eq!(closing_line(line), expected, "{line}");
        }
    }

    #[test]
    fn other_lines_are_not() {
        let indented = ["    test result: FAILED. 0 passed; 1 failed", "    4 passed in 0.10s"];
        for line in indented {
            assert_eq!(closing_line(line), None, "{line}");
        }
        for line in ["", "12 passed", "no tests ran in 0.01s", "Finished `dev` in 3s", "took 4 passed in all"]
        {
            assert_eq!(closing_line(line), None, "{line}");
        }
    }
}
