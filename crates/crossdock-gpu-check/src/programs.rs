//! The programs next to this one: test suites, the command, and the script for Python.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossdock_measure::{Figure, Reach, Unit};

use crate::table::{Outcome, Row};
use crate::{Arguments, Result};

/// The prefix of the names of test suites.
const TESTS: &str = "test-";
/// Some tests hold a stream back. What other threads free or load meanwhile waits in the driver for
/// all streams, with locks that the first ones need to go on.
const ALONE: &[&str] = &["--test-threads=1"];
/// The command.
const COMMAND: &str = "crossdock";
/// The script for Python.
const SCRIPT: &str = "gpu.py";

/// Runs all of them in order.
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
        rows.push(row(&name, Command::new(&suite).args(ALONE).env("CROSSDOCK_REQUIRE_GPU", "1"), deadline));
    }
    let command = folder.join(COMMAND);
    if command.is_file() {
        rows.push(row("tour", Command::new(command).args(["tour", "--place", "cuda:0"]), deadline));
    }
    let script = folder.join(SCRIPT);
    match &arguments.python {
        Some(python) if script.is_file() => {
            let shrink = arguments.shrink.to_string();
            let mut command = Command::new(python);
            let (row, said) = told("python", command.arg(script).args(["--shrink", &shrink]), deadline);
            rows.push(row);
            rows.extend(said.lines().filter_map(figure));
        }
        _ => {
            let why = "no Python with the wheel was named by --python".to_owned();
            rows.push(Row::new("python", Outcome::LeftOut(why)));
        }
    }
    rows
}

/// A figure that the script prints.
fn figure(line: &str) -> Option<Row> {
    let parts: Vec<&str> = line.split('\t').collect();
    let ["FIGURE", what, value, unit, ratio, peer, reach] = parts[..] else { return None };
    let (value, ratio, unit) = (value.parse().ok()?, ratio.parse().ok()?, Unit::parse(unit)?);
    let bound = reach.strip_prefix(unit.sign())?.strip_prefix(' ')?.parse().ok()?;
    let (ratios, reach) = (vec![(ratio, peer.to_owned())], Some(Reach::ratio(bound, peer)));
    Some(Row::new(what, Outcome::Measured(Figure { value, unit, ratios, reach })))
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

/// Runs one program. The table shows the last line of its output.
fn row(name: &str, command: &mut Command, deadline: Instant) -> Row {
    told(name, command, deadline).0
}

/// The same, with all output of the program, which is written to a file.
fn told(name: &str, command: &mut Command, deadline: Instant) -> (Row, String) {
    if Instant::now() >= deadline {
        return (Row::new(name, Outcome::LeftOut("there was no time left".to_owned())), String::new());
    }
    let log = std::env::temp_dir().join(format!("crossdock-gpu-check-{}-{name}.log", std::process::id()));
    let status = logged(command, &log, deadline);
    let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    let last = last_line(&said);
    let outcome = match status {
        Ok(Some(status)) if status.success() => Outcome::Passed(last),
        Ok(Some(status)) => Outcome::Failed(format!("{status}: {last} (all of it: {})", log.display())),
        Ok(None) => Outcome::Failed(format!("it was stopped when the time was over (see {})", log.display())),
        Err(error) => Outcome::Failed(error.to_string()),
    };
    if matches!(outcome, Outcome::Passed(_)) {
        // If the file cannot be removed, the system's clean-up removes it.
        let _ = fs::remove_file(&log);
    }
    (Row::new(name, outcome), said)
}

fn logged(command: &mut Command, log: &Path, deadline: Instant) -> Result<Option<ExitStatus>> {
    let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn();
    Ok(wait(child?, deadline)?)
}

/// The status of a program that ends before the deadline. `None` if it was stopped.
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

fn last_line(said: &str) -> String {
    said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(it said nothing)").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str, seconds: u64) -> Outcome {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        row(name, Command::new("sh").args(["-c", script]), deadline).outcome
    }

    #[test]
    fn a_program_is_told_by_its_status_and_its_last_line() {
        assert!(
            matches!(shell("well", "echo one; echo two; echo", 60), Outcome::Passed(said) if said == "two")
        );
        let Outcome::Failed(said) = shell("badly", "echo broken; exit 3", 60) else { panic!("it passed") };
        assert!(said.contains("exit status: 3: broken"), "{said}");
    }

    #[test]
    fn a_figure_is_read_from_a_line_and_other_lines_are_none() {
        let row = figure("FIGURE\tto PyTorch\t812.5\tns\t0.970\ttorch.from_dlpack\t<= 1").unwrap();
        let Outcome::Measured(told) = row.outcome else { panic!("no figure") };
        assert_eq!((told.value, told.unit), (812.5, Unit::Nanoseconds));
        assert_eq!(told.ratio("torch.from_dlpack"), Some(0.97));
        assert_eq!(told.reach, Some(Reach::ratio(1.0, "torch.from_dlpack")));
        for line in [
            "",
            "13 checks passed",
            "FIGURE\tx",
            "FIGURE\tx\tmany\tns\t1\tit\t<= 1",
            "FIGURE\tx\t1\tns\t1\tit\t1",
            "FIGURE\tx\t1\tns\t1\tit\t>= 1",
            "FIGURE\tx\t1\tfurlongs\t1\tit\t<= 1",
        ] {
            assert!(figure(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn a_program_that_takes_too_long_is_stopped_and_one_that_is_late_is_not_begun() {
        let Outcome::Failed(said) = shell("long", "exec sleep 1000", 1) else { panic!("it passed") };
        assert!(said.contains("stopped"), "{said}");
        assert!(matches!(shell("late", "true", 0), Outcome::LeftOut(_)));
    }
}
