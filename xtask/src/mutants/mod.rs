//! `cargo xtask mutants`: tests the tests. One small mistake is made in a file at a time, and the
//! tests that judge the file must fail.
//!
//! cargo-mutants lists the mistakes. All those of a file are compiled at once, each behind its
//! number ([`switch`]), so that a mutant costs a run of the tests and no build. Only mistakes that
//! cannot be chosen while the program runs, such as those in constants, are built one by one. It
//! works in a copy of the checkout in the target folder, so the checkout is unchanged.

mod build;
mod list;
mod outcome;
mod switch;
mod table;
mod tree;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::build::{Made, Workshop};
use self::list::Mutation;
use self::outcome::{Fate, Mutant, Verdict};
use self::switch::{Blame, Switched};
use self::table::{Build, FILES, Language, Mutated, Tests};
use self::trial::Program;
use crate::provision;
use crate::run::{Door, Run, at_once};

/// The tool, in the version whose output this program parses.
const TOOL: (&str, &str) = ("cargo-mutants", "27.1.0");

/// The CUDA driver without a GPU, in the target folder.
const DRIVER: &str = "debug/libcrossdock_mock_cuda.so";

/// The mutants that behave like the original, with the reasons.
const EQUIVALENT: &str = "xtask/mutants/equivalent.json";

/// The arguments of the command.
#[derive(clap::Args)]
pub(crate) struct MutantsArgs {
    /// Ends of paths, such as `layout/span.rs`; every file of the table if there are none
    files: Vec<String>,
    /// Show the outcomes of the last runs again
    #[arg(long)]
    last: bool,
    /// List the files, and the tests that judge them
    #[arg(long, conflicts_with = "last")]
    list: bool,
    /// Try only the mutants with this text in their names, such as `Span::overlaps`
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["last", "list"])]
    only: Option<String>,
}

pub(crate) fn run(args: &MutantsArgs) -> Result<ExitCode> {
    let chosen = choose(&args.files)?;
    if args.list {
        for Mutated { file, build, tests } in chosen {
            let tests = tests.iter().map(|tests| format!("{} {}", tests.program, tests.filters.join(" ")));
            println!("{file}: {} {}", build.package, tests.collect::<Vec<_>>().join(", "));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let door = Door::new(false)?;
    let work = Work { folder: door.target.join("mutants"), door };
    let only = args.only.as_deref();
    if !args.last {
        work.provide_tool()?;
        let mut builds: Vec<&'static Build> = Vec::new();
        for mutated in &chosen {
            if !builds.contains(&mutated.build) {
                builds.push(mutated.build);
            }
        }
        for build in builds {
            let files = chosen.iter().copied().filter(|mutated| mutated.build == build).collect::<Vec<_>>();
            work.attempt(build, &files, only)?;
        }
    }
    let equivalents = outcome::equivalents(&work.door.root.join(EQUIVALENT))?;
    let verdicts = chosen.iter().map(|mutated| {
        let mutants = outcome::read(&work.outcomes(mutated))?;
        let equivalents = equivalents.iter().filter(|entry| entry.file == mutated.file).cloned().collect();
        Ok(Verdict { file: mutated.file.to_owned(), mutants, equivalents, is_whole: only.is_none() })
    });
    let is_all = only.is_none() && args.files.is_empty();
    let (text, is_ok) = outcome::summary(&verdicts.collect::<Result<Vec<_>>>()?, is_all);
    print!("\n{text}");
    Ok(if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The lines of the table whose paths end like this, in its order.
fn choose(ends: &[String]) -> Result<Vec<&'static Mutated>> {
    let is_end = |file: &str, end: &str| Path::new(file).ends_with(end);
    for end in ends {
        if !FILES.iter().any(|line| is_end(line.file, end)) {
            let files: Vec<_> = FILES.iter().map(|line| line.file).collect();
            bail!("no file of the table ends in `{end}`; it has: {}", files.join(", "));
        }
    }
    let wanted = |line: &&Mutated| ends.is_empty() || ends.iter().any(|end| is_end(line.file, end));
    Ok(FILES.iter().filter(wanted).collect())
}

/// The working folder.
struct Work {
    door: Door,
    /// In the target folder: the copies, their builds, and the outcomes.
    folder: PathBuf,
}

/// A file of the copy with its numbered mutants.
struct Subject {
    mutated: &'static Mutated,
    source: String,
    mutants: BTreeMap<usize, Mutation>,
    /// The mutants that are built one by one.
    alone: BTreeSet<usize>,
    fates: BTreeMap<usize, Fate>,
}

impl Work {
    fn provide_tool(&self) -> Result<()> {
        if self.tool().is_file() {
            return Ok(());
        }
        let (name, version) = TOOL;
        println!("installing {name} {version}");
        let tools = self.door.target.join("tools");
        let mut install = self.door.cargo(&format!("install --locked {name}@{version} --root"));
        // Built once; in the workspace's own build, the target folder would be wrong.
        install.arg(&tools).env("CARGO_TARGET_DIR", tools.join("build"));
        Run::new(&self.door, "mutants")?.exec(&mut install)?;
        fs::remove_dir_all(tools.join("build")).context("the tool's build cannot be removed")
    }

    fn tool(&self) -> PathBuf {
        self.door.target.join("tools/bin").join(TOOL.0)
    }

    fn outcomes(&self, mutated: &Mutated) -> PathBuf {
        self.folder.join("outcomes").join(mutated.slug()).with_extension("json")
    }

    /// Tries the mutants of some files that share a build.
    fn attempt(&self, build: &'static Build, files: &[&'static Mutated], only: Option<&str>) -> Result<()> {
        let tree = self.folder.join("trees").join(build.copy);
        tree::copy(&self.door, &tree)?;
        let target = self.folder.join("build").join(build.copy);
        let workshop = Workshop { door: &self.door, build, tree, target };
        if let Some(module) = &build.module {
            let mut run = Run::new(&self.door, "mutants")?;
            provision::ensure(&mut run, module.needs())?;
            run.cargo("build --locked -p crossdock-mock-cuda")?;
            if module.language == Language::Ruby {
                // The tests compile extensions against the headers.
                let mut stage = Command::new("ruby");
                stage.args(["-r", "./stage", "-e", "Stage.headers"]);
                run.exec(stage.current_dir(workshop.tree.join(module.folder)))?;
            }
        }
        let mut number = 0;
        let subjects = files.iter().map(|mutated| {
            let source = fs::read_to_string(workshop.tree.join(mutated.file))?;
            let found = list::list(&self.tool(), &workshop.tree.join(build.workspace), mutated.within())?;
            let found = found.into_iter().filter(|one| only.is_none_or(|only| one.what.contains(only)));
            let mutants = found.map(|one| ((number += 1, number).1, one)).collect();
            Ok(Subject { mutated, source, mutants, alone: BTreeSet::new(), fates: BTreeMap::new() })
        });
        let mut subjects = subjects.collect::<Result<Vec<_>>>()?;
        let programs = workshop.switched(&mut subjects)?;
        let judges = subjects.iter().map(|subject| workshop.judges(subject.mutated, &programs));
        let judges = judges.collect::<Result<Vec<_>>>()?;
        // Two passes: separate builds take longest, and the other outcomes can be read meanwhile.
        for (subject, judges) in subjects.iter_mut().zip(&judges) {
            judge(subject, judges)?;
            self.keep(subject)?;
        }
        for (subject, judges) in subjects.iter_mut().zip(&judges) {
            workshop.judge_alone(subject, judges)?;
            self.keep(subject)?;
        }
        Ok(())
    }

    fn keep(&self, subject: &Subject) -> Result<()> {
        let path = self.outcomes(subject.mutated);
        fs::create_dir_all(path.parent().context("outcomes have a folder")?)?;
        outcome::write(&path, &subject.outcomes())
    }
}

impl Subject {
    /// The mutants that the switch has.
    fn switchable(&self) -> Vec<(usize, &Mutation)> {
        let is_open = |number: &usize| !self.alone.contains(number) && !self.fates.contains_key(number);
        self.mutants
            .iter()
            .filter(|(number, _)| is_open(number))
            .map(|(number, one)| (*number, one))
            .collect()
    }

    fn outcomes(&self) -> Vec<Mutant> {
        let lines: Vec<&str> = self.source.lines().collect();
        let outcome = |(number, one): (&usize, &Mutation)| {
            let line = one.start.line;
            let text = lines.get(line.wrapping_sub(1)).map_or("", |text| text.trim()).to_owned();
            Some(Mutant { what: one.what.clone(), line, text, fate: *self.fates.get(number)? })
        };
        self.mutants.iter().filter_map(outcome).collect()
    }
}

/// Test programs by how Cargo chooses them.
type Programs = BTreeMap<String, PathBuf>;

/// A test program, and how long it may take.
type Judge = (Program, Duration);

impl Workshop<'_> {
    /// Builds the programs with all mutants behind their numbers. A mutant that does not compile is
    /// unviable; one that no switch can choose will be built alone.
    fn switched(&self, subjects: &mut [Subject]) -> Result<Programs> {
        let wanted =
            subjects.iter().flat_map(|subject| subject.mutated.tests).map(|tests| tests.program).collect();
        loop {
            let mut texts = Vec::new();
            for subject in &mut *subjects {
                let text = Switched::new(&subject.source, &subject.switchable())?;
                fs::write(self.tree.join(subject.mutated.file), &text.text)?;
                texts.push(text);
            }
            for (subject, text) in subjects.iter_mut().zip(&texts) {
                subject.alone.extend(&text.alone);
            }
            println!(
                "building {} mutants",
                subjects.iter().map(|subject| subject.switchable().len()).sum::<usize>()
            );
            let (places, shown) = match self.make(&wanted)? {
                Made::Programs(programs) => return Ok(programs),
                Made::Errors(places, shown) => (places, shown),
            };
            let mut is_better = false;
            for (subject, text) in subjects.iter_mut().zip(&texts) {
                let own = places.iter().filter(|(file, _)| file.ends_with(subject.mutated.file));
                let blames: Vec<Blame<'_>> = own.map(|(_, line)| text.to_blame(*line)).collect();
                for blame in &blames {
                    if let Blame::Mutant(number) = blame {
                        subject.fates.insert(*number, Fate::Unviable);
                        is_better = true;
                    }
                }
                // A mutant's error may appear elsewhere in its function, so the switch is only to
                // blame if no mutant is.
                if !blames.iter().any(|blame| matches!(blame, Blame::Mutant(_))) {
                    for blame in blames {
                        if let Blame::Switch(numbers) = blame {
                            subject.alone.extend(numbers);
                            is_better = true;
                        }
                    }
                }
            }
            if !is_better {
                bail!("the mutants do not compile, and none is to blame:\n{shown}");
            }
        }
    }

    /// The programs that judge a file, with how long each may take.
    fn judges(&self, mutated: &Mutated, programs: &Programs) -> Result<Vec<Judge>> {
        // Cargo runs tests in the folder of their package.
        let mut folders = Path::new(mutated.file).ancestors();
        let package = folders.find(|folder| self.tree.join(folder).join("Cargo.toml").exists());
        let package = package.with_context(|| format!("{} has no package", mutated.file))?;
        let folder = self.build.module.as_ref().map_or(package, |module| Path::new(module.folder));
        let judge = |tests: &Tests| {
            let path =
                programs.get(tests.program).with_context(|| format!("`{}` was not built", tests.program))?;
            let arguments =
                self.build.module.as_ref().map_or_else(Vec::new, |module| module.tests(tests.program));
            let (path, folder) = (path.clone(), self.tree.join(folder));
            let driver = self.build.module.as_ref().map(|_| self.door.target.join(DRIVER));
            let program = Program { path, arguments, folder, driver, filters: tests.filters };
            let patience = program.patience()?;
            Ok((program, patience))
        };
        mutated.tests.iter().map(judge).collect()
    }

    /// Builds and tries the mutants that no switch can choose.
    fn judge_alone(&self, subject: &mut Subject, judges: &[Judge]) -> Result<()> {
        let place = self.tree.join(subject.mutated.file);
        let wanted = subject.mutated.tests.iter().map(|tests| tests.program).collect();
        for number in subject.alone.clone() {
            fs::write(&place, switch::mutated(&subject.source, &subject.mutants[&number])?)?;
            let fate = match self.make(&wanted)? {
                Made::Errors(..) => Fate::Unviable,
                Made::Programs(programs) => {
                    // Cargo gives a program the same path in every build.
                    if let Some((stale, _)) =
                        judges.iter().find(|(judge, _)| !programs.values().any(|path| *path == judge.path))
                    {
                        bail!("{} was not built again", stale.path.display());
                    }
                    trial::fate(judges, 0)?
                }
            };
            println!("{}: alone: {fate:?}: {}", subject.mutated.file, subject.mutants[&number].what);
            subject.fates.insert(number, fate);
        }
        fs::write(&place, &subject.source).with_context(|| format!("{} cannot be restored", place.display()))
    }
}

/// Tries the mutants of the switch.
fn judge(subject: &mut Subject, judges: &[Judge]) -> Result<()> {
    let begun = Instant::now();
    let numbers: Vec<usize> = subject.switchable().iter().map(|(number, _)| *number).collect();
    let fates = at_once(numbers.clone(), |number| trial::fate(judges, number));
    for (number, fate) in numbers.into_iter().zip(fates) {
        subject.fates.insert(number, fate?);
    }
    println!(
        "{}: {} mutants in {:.0} s, {} to be built alone",
        subject.mutated.file,
        subject.fates.len(),
        begun.elapsed().as_secs_f64(),
        subject.alone.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_chosen_by_the_end_of_its_path() {
        let files = |ends: &[&str]| {
            let ends: Vec<_> = ends.iter().map(|&end| end.to_owned()).collect();
            choose(&ends).map(|lines| lines.iter().map(|line| line.file).collect::<Vec<_>>())
        };
        assert_eq!(files(&["layout/span.rs"]).unwrap(), ["crates/crossdock/src/layout/span.rs"]);
        assert_eq!(files(&[]).unwrap().len(), FILES.len());
        // Whole names, not parts of names.
        let error = files(&["pan.rs"]).unwrap_err().to_string();
        assert!(error.contains("`pan.rs`") && error.contains("layout/span.rs"), "{error}");
    }
}
