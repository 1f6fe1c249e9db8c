//! Waiting for a command no longer than until a deadline.

use std::fs;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Waits for `child`. Past the deadline, stops it with all that it started; there is no status then.
pub(crate) fn wait(child: &mut Child, deadline: Option<Instant>) -> Result<Option<ExitStatus>> {
    let Some(deadline) = deadline else { return Ok(Some(child.wait()?)) };
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
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

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parent = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name in parentheses may contain anything; behind it come the state and the parent.
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((process, parent))
    };
    processes.filter_map(|entry| parent(entry.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_in_time_has_its_status() {
        let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(600);
        assert_eq!(wait(&mut child, Some(deadline)).unwrap().unwrap().code(), Some(3));
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
        // Whoever inherits a dead process may take a while to bury it.
        let state = || fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        while !state().is_empty() && !state().contains(") Z ") {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
