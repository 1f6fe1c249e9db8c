//! Waits for a command, at most until a deadline.

use std::fs;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The clock ticks per second in Linux's accounting, on every machine.
const TICKS: u64 = 100;

/// The result of a command.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The processor time of the command and of the processes that it waited for.
    pub(crate) work: Duration,
}

/// Waits for `child`. Past the deadline, stops it with all that it started and returns `None`.
pub(crate) fn wait(child: &mut Child, deadline: Option<Instant>) -> Result<Option<Ended>> {
    let mut pause = Duration::from_millis(1);
    loop {
        // The kernel keeps the times of a process that has ended until its parent reads the status.
        if let Some(stat) = Stat::of(child.id()).filter(|stat| stat.state == "Z") {
            return Ok(Some(Ended { status: child.wait()?, work: stat.work }));
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Some(Ended { status, work: Duration::ZERO }));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            stop(child)?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Stops `child` with all that it started. A process group would do it in one call, but would no
/// longer hear Ctrl-C.
pub(crate) fn stop(child: &mut Child) -> Result<()> {
    let mut family = vec![child.id()];
    let parents = parents();
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(process, _)| process));
        next += 1;
    }
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -KILL \"$@\" 2>/dev/null", "sh"]).args(family.iter().map(u32::to_string));
    kill.status().context("`kill` cannot be started")?;
    child.wait()?;
    Ok(())
}

/// The kernel's record of a process (proc_pid_stat(5)).
struct Stat {
    /// `Z` after it has ended.
    state: String,
    parent: u32,
    /// Its processor time, and that of the processes that it waited for.
    work: Duration,
}

impl Stat {
    /// `None` if there is no such process.
    fn of(process: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name in parentheses may contain anything; the state, field 3, follows it.
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum::<u64>();
        let work = Duration::from_millis(ticks * 1000 / TICKS);
        Some(Self { state: (*fields.first()?).to_owned(), parent: fields.get(1)?.parse().ok()?, work })
    }
}

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|process| Some((process, Stat::of(process)?.parent))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_in_time_has_its_status() {
        let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(600);
        let ended = wait(&mut child, Some(deadline)).unwrap().unwrap();
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn the_work_of_a_command_counts_what_it_started() {
        let script = "(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done) & wait";
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let ended = wait(&mut child, None).unwrap().unwrap();
        assert!(ended.status.success() && ended.work > Duration::ZERO, "{:?}", ended.work);
    }

    #[test]
    fn what_hangs_is_stopped_with_what_it_started() {
        let file = std::env::temp_dir().join(format!("crossdock-hangs-{}", std::process::id()));
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let mut child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let grandchild = loop {
            match fs::read_to_string(&file).unwrap_or_default().trim().parse::<u32>() {
                Ok(process) => break process,
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        };
        fs::remove_file(&file).unwrap();
        assert!(parents().contains(&(grandchild, child.id())));
        assert!(wait(&mut child, Some(Instant::now())).unwrap().is_none());
        // The process that inherits a dead process may take a while to wait for it.
        let state = || fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        while !state().is_empty() && !state().contains(") Z ") {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
