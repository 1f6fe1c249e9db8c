//! `cargo xtask`: the single command for building, testing and measuring Crossdock.
//!
//! One table lists the suites ([`suite::SUITES`]). Each writes its output to a separate log. The
//! counts at the end come from the closing lines of the test runners in these logs.

mod bench;
mod border;
mod checks;
mod dist;
mod filter;
mod fuzz;
mod gpu_check;
mod install;
mod instruments;
mod interpreters;
mod lanes;
mod mutants;
mod newest;
mod platforms;
mod processes;
mod provision;
mod ptx;
mod report;
mod ruby;
mod run;
mod site;
mod skips;
mod suite;
mod surface;
mod wheel;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};

use crate::report::Report;
use crate::run::{Door, Run};
use crate::suite::{SUITES, Suite, Tier};

/// The one door to building, testing and measuring Crossdock.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the test suites, installing what they need and is missing
    #[command(after_help = "Examples:\n  \
        cargo xtask test               the usual suites, as CI runs them\n  \
        cargo xtask test --fast        for daily work\n  \
        cargo xtask test --long        what the usual run omits, too, before a big merge\n  \
        cargo xtask test loom clippy   these suites only")]
    Test(TestArgs),
    /// Measure: Crossdock beside its peers, in one run
    #[command(after_help = "Examples:\n  \
        cargo xtask bench                    every table\n  \
        cargo xtask bench memory             one group of tables\n  \
        cargo xtask bench hex slice          these tables only\n  \
        cargo xtask bench permuted           the tables that have this word in their names\n  \
        cargo xtask bench tour --record      the tour of the photograph, for the README\n  \
        cargo xtask bench memory --record    kept in bench/record/, with the date and the machine")]
    Bench {
        /// Groups or tables, and `--record`; all tables if there are none
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build the library for C and C++, and install it with its headers, for pkg-config and CMake
    #[command(after_help = "Examples:\n  \
        cargo xtask install --prefix /usr/local\n  \
        cargo xtask install --prefix target/prefix && PKG_CONFIG_PATH=target/prefix/lib/pkgconfig pkg-config --libs crossdock")]
    Install {
        /// Below which `lib/` and `include/` are made; a relative one begins at the root of the
        /// checkout
        #[arg(long)]
        prefix: PathBuf,
    },
    /// Make everything that a release consists of, in the folder `dist` of the target folder
    #[command(after_help = "Examples:\n  \
        cargo xtask dist                    all artefacts, with checksums and a manifest\n  \
        cargo xtask dist wheel c            these only\n  \
        cargo xtask dist --again wheel c    makes these again in another folder, and compares\n  \
        cargo xtask dist --installed deb    installs one where nothing of this project is\n  \
        cargo xtask test dist               makes all twice, compares them, and installs them")]
    Dist {
        /// Artefacts; all if there are none
        names: Vec<String>,
        /// Install and use those that were made before, in environments without them
        #[arg(long)]
        installed: bool,
        /// Make them in another folder, and compare them with those that were made before
        #[arg(long, conflicts_with = "installed")]
        again: bool,
        /// Build in less time, not optimised: not for a release
        #[arg(long)]
        quick: bool,
    },
    /// Check and measure what needs a GPU, in at most five minutes; without one, say so
    #[command(after_help = "Examples:\n  \
        cargo xtask gpu-check                           on this machine\n  \
        cargo xtask gpu-check --record bench/record/gpu.csv\n  \
        cargo xtask gpu-check --bundle target/gpu       a folder for a machine with nothing but the driver: ./run")]
    GpuCheck {
        /// Make this folder in place of checking
        #[arg(long)]
        bundle: Option<PathBuf>,
        /// For the program that checks; its `--help` says them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Fuzz, keep what was found, and measure what the corpora cover
    #[command(after_help = "Examples:\n  \
        cargo xtask fuzz run                         every target for ten minutes, two at a time on two processors\n  \
        cargo xtask fuzz run --seconds 60 npy npz    these only\n  \
        cargo xtask fuzz merge                       what was found, into fuzz/corpus\n  \
        cargo xtask fuzz record                      coverage and speed, into fuzz/README.md")]
    Fuzz {
        #[command(subcommand)]
        action: fuzz::Action,
    },
    /// Write the figures of bench/record/ into COMPARE.md, README.md and docs/command.md
    Compare,
    /// Compile the kernels for CUDA anew, after their source has changed
    Ptx,
    /// Test the tests: put one mistake after the other into the files that matter most, and see
    /// that each is noticed
    #[command(after_help = "Examples:\n  \
        cargo xtask mutants                                   every file of the table\n  \
        cargo xtask mutants layout/span.rs layout/rules.rs    these files\n  \
        cargo xtask mutants layout/span.rs --only Span::of    these mutants only\n  \
        cargo xtask mutants --last                            the outcomes again")]
    Mutants(mutants::MutantsArgs),
    /// List the public names of the library, each in its module, with their count
    #[command(after_help = "Examples:\n  \
        cargo xtask surface            what a program can name today\n  \
        cargo xtask surface --bless    kept in docs/surface.txt, which the suite `surface` compares")]
    Surface {
        /// Keep the listing
        #[arg(long)]
        bless: bool,
    },
    /// List the suites
    Suites,
}

#[derive(Args)]
struct TestArgs {
    /// Only the suites for daily work
    #[arg(long, conflicts_with = "long")]
    fast: bool,
    /// All suites, with more random cases, and fuzzing
    #[arg(long)]
    long: bool,
    /// Only these suites, whatever their tier
    #[arg(conflicts_with = "fast")]
    suites: Vec<String>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Task::Test(args) => test(&args),
        Task::Bench { args } => bench::run(&args),
        Task::Fuzz { action } => fuzz::command(&action),
        Task::Compare => bench::compare(),
        Task::Dist { names, installed, again, quick } => {
            let task = match (installed, again) {
                (true, _) => dist::Task::Try,
                (_, true) => dist::Task::MakeAgain,
                _ => dist::Task::Make,
            };
            dist::run(&names, &task, quick)
        }
        Task::GpuCheck { bundle, args } => gpu_check::run(bundle.as_deref(), &args),
        Task::Install { prefix } => install::run(&prefix),
        Task::Ptx => ptx::run(),
        Task::Mutants(args) => mutants::run(&args),
        Task::Surface { bless } => surface::run(bless),
        Task::Suites => {
            print!("{}", suite::list());
            Ok(ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn test(args: &TestArgs) -> Result<ExitCode> {
    let chosen = choose(args)?;
    // The whole set is for a finished state of the sources; daily work builds again and again.
    let whole = args.suites.is_empty() && !args.fast;
    let door = Door { incremental: !whole, fast: args.fast, ..Door::new(args.long)? };
    let width = chosen.iter().map(|suite| suite.name.len()).max().unwrap_or(0);
    let start = Instant::now();
    let run = |suite: &'static Suite| {
        println!("{:width$}  {}", suite.name, suite.what);
        let report = Run::suite(&door, suite)?;
        println!("{:width$}  {} in {:.1} s", suite.name, report.outcome(), report.took.as_secs_f64());
        Ok(report)
    };
    let mut reports = lanes::run(&chosen, run).into_iter().collect::<Result<Vec<_>>>()?;
    reports.sort_by_key(|report| suite::place(report.name));
    print!("\n{}", report::summary(&reports, start.elapsed()));
    Ok(if reports.iter().all(Report::is_ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The suites that the arguments select, in the order of the table.
fn choose(args: &TestArgs) -> Result<Vec<&'static Suite>> {
    for name in &args.suites {
        if !SUITES.iter().any(|suite| suite.name == name) {
            let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
            bail!("there is no suite `{name}`; the suites are: {}", names.join(", "));
        }
    }
    let wanted = |suite: &&Suite| {
        if args.suites.is_empty() {
            match suite.tier {
                Tier::Fast => true,
                Tier::Full => !args.fast,
                Tier::Long => args.long,
                Tier::Named => false,
            }
        } else {
            args.suites.iter().any(|name| name == suite.name)
        }
    };
    Ok(SUITES.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(args: &TestArgs) -> Vec<&'static str> {
        choose(args).unwrap().iter().map(|suite| suite.name).collect()
    }

    #[test]
    fn a_wrong_suite_name_is_answered_with_the_right_ones() {
        let args = TestArgs { fast: false, long: false, suites: vec!["lom".into()] };
        let error = choose(&args).err().unwrap().to_string();
        assert!(error.contains("`lom`") && error.contains("loom"), "{error}");
    }

    #[test]
    fn named_suites_run_alone_and_in_the_order_of_the_table() {
        let args = TestArgs { fast: false, long: false, suites: vec!["fuzz".into(), "fmt".into()] };
        assert_eq!(names(&args), ["fmt", "fuzz"]);
    }

    #[test]
    fn each_tier_is_a_proper_part_of_the_next() {
        let of = |fast, long| names(&TestArgs { fast, long, suites: vec![] });
        let (fast, usual, long) = (of(true, false), of(false, false), of(false, true));
        let is_part = |part: &[&str], whole: &[&str]| part.iter().all(|name| whole.contains(name));
        assert!(is_part(&fast, &usual) && fast.contains(&"test") && !fast.contains(&"valgrind"));
        assert!(is_part(&usual, &long) && usual.contains(&"valgrind") && !usual.contains(&"fuzz"));
        let named = SUITES.iter().filter(|suite| suite.tier == Tier::Named).map(|suite| suite.name);
        assert!(named.clone().all(|name| !long.contains(&name)) && named.clone().count() > 0);
        assert_eq!(long.len() + named.count(), SUITES.len());
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
