//! The tests over one mutant.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::outcome::Fate;
use super::switch::CHOICE;
use crate::run::start;
use crate::{filter, processes};

/// The time of a program without a mutant is exceeded this many times before it counts as endless,
/// and at least by this much.
const TIMES: u32 = 10;
const LEAST: Duration = Duration::from_secs(30);

/// The interval at which a running program is checked.
const PAUSE: Duration = Duration::from_millis(5);

/// A test program, with the tests of it that judge a file.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<String>,
    /// The folder in which it runs.
    pub(super) folder: PathBuf,
    /// The CUDA driver without a GPU, for tests of another language.
    pub(super) driver: Option<PathBuf>,
    /// Parts of names, each of which a test must have. They are arguments too.
    pub(super) filters: &'static [&'static str],
}

impl Program {
    fn command(&self, mutant: usize) -> Command {
        // If a mutant takes all memory, the system ends it first, rather than other processes.
        let mut command = Command::new("sh");
        command.args(["-c", "echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec \"$@\"", "sh"]);
        command.arg(&self.path).args(&self.arguments).args(self.filters).current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder).env(CHOICE, mutant.to_string());
        // For Python, and ignored by other languages: the package beside the tests.
        command.env("PYTHONPATH", self.folder.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
        if let Some(driver) = &self.driver {
            // A skipped test would catch nothing.
            command.env("CROSSDOCK_CUDA_DRIVER", driver).env("CROSSDOCK_REQUIRE_COUNTERPARTS", "1");
        }
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// How long a mutant may take: the tests pass without one, and each filter finds a test.
    pub(super) fn patience(&self) -> Result<Duration> {
        let begun = Instant::now();
        let output = self.command(0).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{} fails without a mutant:\n{text}", self.path.display());
        }
        if self.arguments.is_empty() {
            filter::each_finds_some(self.filters, &filter::ran(&text))
                .with_context(|| self.path.display().to_string())?;
        }
        Ok(LEAST + begun.elapsed() * TIMES)
    }

    /// Runs it as a mutant, up to the first test that fails.
    fn judge(&self, mutant: usize, patience: Duration) -> Result<Fate> {
        let mut command = self.command(mutant);
        let mut child = start(command.stdout(Stdio::piped()))?;
        let output = child.stdout.take().context("the output is piped")?;
        let has_failed = AtomicBool::new(false);
        let deadline = Instant::now() + patience;
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
                if lines.any(|line| line.starts_with(b"test ") && line.ends_with(b"FAILED")) {
                    has_failed.store(true, Ordering::Relaxed);
                }
            });
            loop {
                if let Some(status) = child.try_wait()? {
                    return Ok(if status.success() { Fate::Survived } else { Fate::Caught });
                }
                let failed = has_failed.load(Ordering::Relaxed);
                if failed || Instant::now() >= deadline {
                    processes::stop(&mut child)?;
                    return Ok(if failed { Fate::Caught } else { Fate::TimedOut });
                }
                thread::sleep(PAUSE);
            }
        })
    }
}

/// The fate of a mutant: it survives if all programs pass.
pub(super) fn fate(programs: &[(Program, Duration)], mutant: usize) -> Result<Fate> {
    for (program, patience) in programs {
        match program.judge(mutant, *patience)? {
            Fate::Survived => {}
            fate => return Ok(fate),
        }
    }
    Ok(Fate::Survived)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program that behaves as a test program of Rust does, depending on the mutant.
    fn program(name: &str) -> Program {
        let folder = std::env::temp_dir().join(format!("crossdock-xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("tests");
        let text = format!(
            "#!/bin/sh\necho \"test a::low ... ok\"\ncase ${CHOICE} in\n\
             1) echo 'test a::high ... FAILED'; sleep 600;;\n2) exit 101;;\n3) sleep 600;;\nesac\n"
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Program { path, arguments: vec![], folder, driver: None, filters: &["a::low"] }
    }

    #[test]
    fn a_mutant_is_caught_by_a_failed_test_a_crash_or_the_clock() {
        let program = program("fate");
        assert!(program.patience().unwrap() >= LEAST);
        let programs = [(program.clone(), Duration::from_millis(300))];
        let fates = [0, 1, 2, 3].map(|mutant| fate(&programs, mutant).unwrap());
        assert_eq!(fates, [Fate::Survived, Fate::Caught, Fate::Caught, Fate::TimedOut]);
        let folder = program.folder.clone();
        let error = Program { filters: &["b::"], ..program }.patience().unwrap_err();
        assert!(format!("{error:#}").contains("`b::`"), "{error:#}");
        fs::remove_dir_all(folder).unwrap();
    }
}
