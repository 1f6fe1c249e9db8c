//! The programs beside this one: suites of tests, the command, and what Python says.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::table::{Outcome, Row};
use crate::{Arguments, Result};

/// Programs whose names begin so are suites of tests.
const TESTS: &str = "test-";
/// The command.
const COMMAND: &str = "crossdock";
/// The script for Python.
const SCRIPT: &str = "gpu.py";

/// Runs all of them, one after the other.
pub(crate) fn run(arguments: &Arguments, deadline: Instant) -> Vec<Row> {
    let folder = match &arguments.programs {
        Some(folder) => Ok(folder.clone()),
        None => own_folder(),
    };
    let programs = folder.and_then(|folder| Ok((suites(&folder)?, folder)));
    let (suites, folder) = match programs {
        Ok(programs) => programs,
        Err(error) => return vec![Row::new("programs", Outcome::Failed(error.to_string()))],
    };
    let mut rows = Vec::new();
    for suite in suites {
        let name = suite.file_name().unwrap_or_default().to_string_lossy().into_owned();
        rows.push(row(&name, Command::new(&suite).env("CROSSDOCK_REQUIRE_GPU", "1"), deadline));
    }
    let command = folder.join(COMMAND);
    if command.is_file() {
        rows.push(row("tour", Command::new(command).args(["tour", "--place", "cuda:0"]), deadline));
    }
    let script = folder.join(SCRIPT);
    rows.push(match &arguments.python {
        Some(python) if script.is_file() => row("python", Command::new(python).arg(script), deadline),
        _ => {
            Row::new("python", Outcome::LeftOut("no Python with the wheel was named by --python".to_owned()))
        }
    });
    rows
}

fn own_folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().ok_or("this program lies in no folder")?.to_owned())
}

/// The suites in a folder, by name.
fn suites(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let is_suite =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TESTS));
    let mut suites: Vec<_> = paths.into_iter().filter(is_suite).collect();
    suites.sort();
    if suites.is_empty() {
        return Err(format!("{} has no program whose name begins with `{TESTS}`", folder.display()).into());
    }
    Ok(suites)
}

/// Runs one program; its output goes into a file, of which the last line is shown.
fn row(name: &str, command: &mut Command, deadline: Instant) -> Row {
    if Instant::now() >= deadline {
        return Row::new(name, Outcome::LeftOut("there was no time left".to_owned()));
    }
    let log = std::env::temp_dir().join(format!("crossdock-gpu-check-{}-{name}.log", std::process::id()));
    let outcome = match logged(command, &log, deadline) {
        Ok(Some(status)) if status.success() => Outcome::Passed(last_line(&log)),
        Ok(Some(status)) => {
            Outcome::Failed(format!("{status}: {} (all of it: {})", last_line(&log), log.display()))
        }
        Ok(None) => Outcome::Failed(format!("it was stopped when the time was over (see {})", log.display())),
        Err(error) => Outcome::Failed(error.to_string()),
    };
    if matches!(outcome, Outcome::Passed(_)) {
        // Where it cannot be removed, the system's own cleaning will.
        let _ = fs::remove_file(&log);
    }
    Row::new(name, outcome)
}

fn logged(command: &mut Command, log: &Path, deadline: Instant) -> Result<Option<ExitStatus>> {
    let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn();
    Ok(wait(child?, deadline)?)
}

/// The status of a program that ends in time. `None`: it was stopped.
fn wait(mut child: Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn last_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(it said nothing)").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: u64) -> Outcome {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        row("shell", Command::new("sh").args(["-c", script]), deadline).outcome
    }

    #[test]
    fn a_program_is_told_by_its_status_and_its_last_line() {
        assert!(matches!(shell("echo one; echo two; echo", 60), Outcome::Passed(said) if said == "two"));
        let Outcome::Failed(said) = shell("echo broken; exit 3", 60) else { panic!("it passed") };
        assert!(said.contains("exit status: 3: broken"), "{said}");
    }

    #[test]
    fn a_program_that_takes_too_long_is_stopped_and_one_that_is_late_is_not_begun() {
        let Outcome::Failed(said) = shell("exec sleep 1000", 1) else { panic!("it passed") };
        assert!(said.contains("stopped"), "{said}");
        assert!(matches!(shell("true", 0), Outcome::LeftOut(_)));
    }
}
