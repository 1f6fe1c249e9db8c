//! What Crossdock's speed claims rest on, in ratios to peers that are measured in the same run.
//!
//! `cargo xtask bench` builds the peers and starts [`run`]; `bench/README.md` says what is measured and how.

mod arrow;
mod companion;
mod hand_over;
mod harness;
mod loops;
mod memory;
mod threads;

use std::error::Error;
use std::process::{Command, ExitCode};

use crate::arrow::Arrow;
use crate::harness::Table;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// One table.
struct Measure {
    group: &'static str,
    name: &'static str,
    run: fn(&Measure, Option<&Arrow>) -> Result<Table>,
}

const GROUPS: [&str; 2] = ["hand-over", "memory"];

/// All tables, in the order in which they are measured.
fn measures() -> impl Iterator<Item = &'static Measure> {
    hand_over::MEASURES.iter().chain(memory::MEASURES)
}

/// The benchmark's command line.
pub fn run() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match main(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers a benchmark that wants its loops run in this process, until its standard input ends.
pub fn serve() -> ExitCode {
    match companion::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn main(args: &[&str]) -> Result {
    if let ["--resident", owner] = args {
        return memory::resident::child(owner);
    }
    let recorded = args.contains(&"--record");
    let args: Vec<&str> = args.iter().copied().filter(|&arg| arg != "--record").collect();
    if let ["--here", name] = args[..] {
        let measure = measures().find(|measure| measure.name == name).ok_or("there is no such table")?;
        let table = (measure.run)(measure, Arrow::load()?.as_ref())?;
        println!("{table}");
        if recorded {
            println!("recorded in {}\n", table.record()?.display());
        }
        return Ok(());
    }
    let wanted = |measure: &Measure| {
        args.is_empty() || args.iter().any(|&arg| arg == measure.group || arg == measure.name)
    };
    if let Some(wrong) =
        args.iter().find(|&&arg| !measures().any(|measure| measure.group == arg || measure.name == arg))
    {
        let names: Vec<_> = measures().map(|measure| measure.name).collect();
        let (groups, names) = (GROUPS.join(", "), names.join(", "));
        return Err(format!("`{wrong}` is no group ({groups}) and no table ({names})").into());
    }
    println!("{}", peers()?);
    for measure in measures().filter(|measure| wanted(measure)) {
        // In a process of its own: what one table leaves in caches, heaps and threads does not meet the next.
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--here", measure.name]).args(recorded.then_some("--record"));
        if !command.status()?.success() {
            return Err(format!("the table `{}` failed", measure.name).into());
        }
    }
    Ok(())
}

/// Who is there, and who is not.
fn peers() -> Result<String> {
    let arrow = match Arrow::load()? {
        Some(arrow) => format!("Arrow C++ {}", arrow.version()),
        None => format!("no Arrow C++ ({} is not set: type `cargo xtask bench`)", arrow::LIBRARY),
    };
    let mimalloc = match companion::path()? {
        Some(_) => "programs with mimalloc",
        None => "no program with mimalloc (it is not built: type `cargo xtask bench`)",
    };
    Ok(format!("peers: {arrow}; {mimalloc}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_means_one_table_or_one_group() {
        let mut names: Vec<_> = measures().map(|measure| measure.name).collect();
        names.extend(GROUPS);
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name} stands twice");
        }
        assert!(measures().all(|measure| GROUPS.contains(&measure.group)));
    }
}
