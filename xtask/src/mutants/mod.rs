//! `cargo xtask mutants`: tests the tests. cargo-mutants makes one small mistake in a file at a
//! time, and the tests that judge the file must fail.
//!
//! It works in a copy of the checkout in the target folder, whose build is kept: a mutant costs an
//! incremental build of one crate and a few test programs, and the checkout is unchanged.

mod outcome;
mod table;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use self::outcome::{Equivalent, Verdict};
use self::table::{FILES, Judge, Mutated};
use crate::run::{Door, Run, start};

/// The tool, in the version whose output this program parses.
const TOOL: (&str, &str) = ("cargo-mutants", "27.1.0");

/// The mutants that behave like the original, with the reasons.
const EQUIVALENT: &str = "xtask/mutants/equivalent.json";

/// What the command is told.
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
    /// For cargo-mutants, such as `-- --re overlaps`; then an entry of the list without a mutant is no error
    #[arg(last = true)]
    more: Vec<String>,
}

pub(crate) fn run(args: &MutantsArgs) -> Result<ExitCode> {
    let chosen = choose(&args.files)?;
    if args.list {
        for Mutated { file, judge } in chosen {
            println!("{file}: {} {} {}", judge.package, judge.programs, judge.filters.join(" "));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let door = Door::new(false)?;
    let work = Work { folder: door.target.join("mutants"), door };
    if !args.last {
        work.prepare(&chosen)?;
        for mutated in &chosen {
            work.mutate(mutated, &args.more)?;
        }
    }
    let equivalents = outcome::equivalents(&work.door.root.join(EQUIVALENT))?;
    let is_whole = args.more.is_empty();
    let verdicts = chosen.iter().map(|mutated| work.verdict(mutated, &equivalents, is_whole));
    let (text, is_ok) =
        outcome::summary(&verdicts.collect::<Result<Vec<_>>>()?, is_whole && args.files.is_empty());
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
    /// In the target folder: the copy, its build, and the outcomes.
    folder: PathBuf,
}

impl Work {
    /// The tool, and the copies.
    fn prepare(&self, chosen: &[&Mutated]) -> Result<()> {
        let mut run = Run::new(&self.door, "mutants")?;
        if !self.tool().is_file() {
            let (name, version) = TOOL;
            println!("installing {name} {version}");
            let mut install = self.door.cargo(&format!("install --locked {name}@{version} --root"));
            // Built once; in the workspace's own build, its target folder would be in the way.
            install.arg(self.tools()).env("CARGO_TARGET_DIR", self.tools().join("build"));
            run.exec(&mut install)?;
            fs::remove_dir_all(self.tools().join("build")).context("the tool's build cannot be removed")?;
        }
        for mutated in chosen {
            tree::copy(&self.door, &self.tree(mutated.judge), mutated.judge.replaced)?;
        }
        Ok(())
    }

    /// Runs the tool over one file.
    fn mutate(&self, mutated: &Mutated, more: &[String]) -> Result<()> {
        let start_of_run = Instant::now();
        println!("{}", mutated.file);
        let output = self.folder.join("outcomes").join(mutated.slug());
        if output.exists() {
            fs::remove_dir_all(&output).with_context(|| format!("{} cannot be removed", output.display()))?;
        }
        fs::create_dir_all(&output).with_context(|| format!("{} cannot be made", output.display()))?;
        let mut command = self.command(mutated, &output);
        command.args(more).args(["--", "--"]).args(mutated.judge.filters);
        let status = start(&mut command)?.wait()?;
        // 0: all caught; 2 and 3: some survived or timed out, which is judged below.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            bail!("cargo-mutants ended with {status} for {}", mutated.file);
        }
        println!("{}: {:.0} s", mutated.file, start_of_run.elapsed().as_secs_f64());
        Ok(())
    }

    fn command(&self, mutated: &Mutated, output: &Path) -> Command {
        let judge = mutated.judge;
        let options = "mutants --in-place --no-shuffle --colors never --minimum-test-timeout 60 --package";
        let mut command = self.door.command(self.tool(), options);
        command.arg(judge.package);
        // Also when building: otherwise every test program would be built.
        let words = [judge.features, judge.programs].into_iter().flat_map(str::split_whitespace);
        command.args(words.map(|word| format!("--cargo-arg={word}")));
        command.arg("--dir").arg(self.tree(judge).join(judge.workspace));
        command.arg("--output").arg(output).arg("--file").arg(mutated.within());
        command.current_dir(self.tree(judge)).env("CARGO_TERM_COLOR", "never");
        command.env("CARGO_TARGET_DIR", self.folder.join("build").join(judge.copy));
        // Hundreds of builds: compile as fast as possible, and keep the debug assertions.
        command.env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
        command.env("CARGO_PROFILE_TEST_DEBUG", "false");
        command.env("CROSSDOCK_CASES", "300");
        command
    }

    fn verdict(&self, mutated: &Mutated, equivalents: &[Equivalent], is_whole: bool) -> Result<Verdict> {
        let file = self.folder.join("outcomes").join(mutated.slug()).join("mutants.out/outcomes.json");
        let outcomes = fs::read_to_string(&file)
            .with_context(|| format!("{} has not been judged yet: {}", mutated.file, file.display()))?;
        let source = fs::read_to_string(self.tree(mutated.judge).join(mutated.file))?;
        Ok(Verdict {
            file: mutated.file.to_owned(),
            mutants: outcome::read(&outcomes, &source)?,
            equivalents: equivalents.iter().filter(|entry| entry.file == mutated.file).cloned().collect(),
            is_whole,
        })
    }

    fn tree(&self, judge: &Judge) -> PathBuf {
        self.folder.join("trees").join(judge.copy)
    }

    fn tools(&self) -> PathBuf {
        self.door.target.join("tools")
    }

    fn tool(&self) -> PathBuf {
        self.tools().join("bin").join(TOOL.0)
    }
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
