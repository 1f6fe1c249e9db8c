//! Measures Crossdock's speed, in ratios to peers that are measured in the same run.
//!
//! `cargo xtask bench` builds the peers and starts [`run`]; `bench/README.md` describes the
//! measurements.

mod arrays;
mod arrow;
mod c_interface;
mod companion;
mod compare;
mod costs;
mod equals;
mod first_use;
mod formats;
mod hand_over;
mod harness;
mod kernels;
mod loops;
mod memory;
mod phase;
mod picture;
mod runs;
mod shared;
mod small;
mod tables;
mod threads;
mod tour;
mod views;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crossdock_measure::record::{self, Circumstances, HEADER, Line};

use crate::arrow::Arrow;
use crate::harness::Table;
use crate::kernels::{NumPy, native};

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Tells this program, which is built twice, the versions of the peers.
const PEERS: &str = "CROSSDOCK_BENCH_PEERS";

/// The folder of records.
fn record_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("record")
}

/// The record of a group of tables.
fn record_of(group: &str) -> PathBuf {
    record_folder().join(format!("{group}.csv"))
}

/// One table.
#[derive(Clone, Copy)]
struct Measure {
    group: &'static str,
    name: &'static str,
    run: fn(&Measure, Option<&Arrow>) -> Result<Table>,
}

const GROUPS: [&str; 8] = ["hand-over", "c", "memory", "shareable", "arrays", "tables", "threads", "kernels"];

/// All tables, in the order in which they are measured.
fn measures() -> impl Iterator<Item = Measure> {
    let tables = [
        hand_over::MEASURES,
        views::MEASURES,
        formats::MEASURES,
        c_interface::MEASURES,
        memory::MEASURES,
        arrays::MEASURES,
        small::MEASURES,
        equals::MEASURES,
        first_use::MEASURES,
        tables::MEASURES,
        shared::MEASURES,
    ];
    tables.into_iter().flatten().copied().chain(kernels::measures())
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

/// Runs loops for a benchmark in another process, until its standard input ends.
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
    if let [argument] = args
        && let Some((_, child)) = first_use::CHILDREN.iter().find(|(name, _)| name == argument)
    {
        return child();
    }
    if let ["--here", name] = args {
        let measure = measures().find(|measure| measure.name == *name).ok_or("there is no such table")?;
        let table = (measure.run)(&measure, Arrow::load()?.as_ref())?;
        println!("{table}\n{HEADER}");
        let peers = std::env::var(PEERS).unwrap_or_default();
        for line in table.to_lines(&Circumstances::now(&record_folder()).beside(&peers)) {
            println!("{line}");
        }
        return Ok(());
    }
    if let [native::ARGUMENT, peer, work] = args {
        return native::serve(peer, work);
    }
    if let ["--compare"] = args {
        return compare::rewrite();
    }
    let recorded = args.contains(&"--record");
    let args: Vec<&str> = args.iter().copied().filter(|&arg| arg != "--record").collect();
    if args == ["tour"] {
        return tour::run(recorded);
    }
    let chosen = choose(&args)?;
    let peers = peers()?;
    println!("{peers}");
    let mut lines = Vec::new();
    for measure in &chosen {
        // In its own process, so that one table's effects on caches, heaps and threads do not reach
        // the next.
        let mut command = Command::new(std::env::current_exe()?);
        let output = command
            .args(["--here", measure.name])
            .env(PEERS, peers.trim())
            .stderr(Stdio::inherit())
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let Some((table, new)) = text.split_once(&format!("{HEADER}\n")).filter(|_| output.status.success())
        else {
            return Err(format!("the table `{}` failed", measure.name).into());
        };
        print!("{table}");
        let new = new.lines().map(Line::parse).collect::<Result<Vec<_>>>()?;
        if recorded {
            let path = record_of(measure.group);
            record::append(&path, &new)?;
            println!("recorded in {}\n", path.display());
        }
        lines.extend(new.into_iter().map(|line| (measure.group, line)));
    }
    for group in GROUPS {
        let lines: Vec<&Line> = lines.iter().filter(|(of, _)| *of == group).map(|(_, line)| line).collect();
        if let Some(svg) = picture::draw(&lines) {
            let folder = if recorded { record_folder() } else { std::env::current_exe()?.with_file_name("") };
            let path = folder.join(format!("{group}.svg"));
            fs::write(&path, svg)?;
            println!("drawn in {}", path.display());
        }
    }
    println!("{}", outcome(lines.iter().map(|(_, line)| line)));
    Ok(())
}

/// The tables that the arguments select: by the name of a group or of a table, or by a word of the
/// latter.
fn choose(args: &[&str]) -> Result<Vec<Measure>> {
    let mut chosen = vec![args.is_empty(); measures().count()];
    for arg in args {
        let exact = |measure: &Measure| measure.group == *arg || measure.name == *arg;
        let by_word = |measure: &Measure| measure.name.split(' ').any(|word| word == *arg);
        let is_exact = measures().any(|measure| exact(&measure));
        let found = measures().map(|measure| if is_exact { exact(&measure) } else { by_word(&measure) });
        let found: Vec<bool> = found.collect();
        if !found.contains(&true) {
            let names: Vec<_> = measures().map(|measure| measure.name).collect();
            let (groups, names) = (GROUPS.join(", "), names.join(", "));
            return Err(format!("`{arg}` is no group ({groups}) and no table ({names})").into());
        }
        chosen.iter_mut().zip(found).for_each(|(chosen, found)| *chosen |= found);
    }
    Ok(measures().zip(chosen).filter(|(_, chosen)| *chosen).map(|(measure, _)| measure).collect())
}

/// The number of targets that were reached, and those that were not.
fn outcome<'a>(lines: impl Iterator<Item = &'a Line>) -> String {
    let held: Vec<&Line> = lines.filter(|line| line.met.is_some()).collect();
    let missed: Vec<&&Line> = held.iter().filter(|line| line.met == Some(false)).collect();
    let mut text = format!("{} of {} reached", held.len() - missed.len(), held.len());
    for line in missed {
        let ratios: Vec<String> =
            line.ratios.iter().map(|(ratio, peer)| format!("{ratio} x {peer}")).collect();
        let ratios = ratios.join(", ");
        text += &format!(
            "\n  missed: {}, {}: {} {} ({ratios}), {}",
            line.table, line.case, line.figure, line.unit, line.reach
        );
    }
    text
}

/// The available peers, and the missing ones.
fn peers() -> Result<String> {
    let arrow = match Arrow::load()? {
        Some(arrow) => format!("Arrow C++ {}", arrow.version()),
        None => format!("no Arrow C++ ({} is not set: type `cargo xtask bench`)", arrow::LIBRARY),
    };
    let mimalloc = match companion::path()? {
        Some(_) => "programs with mimalloc",
        None => "no program with mimalloc (it is not built: type `cargo xtask bench`)",
    };
    let numpy = match NumPy::find() {
        Some(numpy) => numpy.version()?,
        None => format!("no NumPy ({} is not set: type `cargo xtask bench`)", kernels::PYTHON),
    };
    let ruby = c_interface::peer();
    let native = native::told();
    Ok(format!(
        "peers: {arrow}; {mimalloc}; {numpy}; {ruby}; {native}; all with the settings that their users get\n"
    ))
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

    #[test]
    fn all_that_is_recorded_can_be_read() {
        for file in fs::read_dir(record_folder()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "csv") {
                assert!(!record::read(&path).unwrap().is_empty(), "{}", path.display());
            }
        }
        assert!(GROUPS.iter().all(|group| record_of(group).exists()));
    }

    #[test]
    fn a_word_finds_all_tables_that_have_it_unless_it_is_a_name() {
        let names = |arg| choose(&[arg]).unwrap().iter().map(|measure| measure.name).collect::<Vec<_>>();
        assert_eq!(names("copy"), ["copy"]);
        assert_eq!(names("permuted").len(), 5);
        let error = choose(&["slise"]).err().unwrap().to_string();
        assert!(error.contains("`slise`") && error.contains("slice"), "{error}");
    }
}
