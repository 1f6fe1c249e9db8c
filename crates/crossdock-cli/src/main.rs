//! The command `crossdock`: opens arrays in files in place, and exports them.
//!
//! ```text
//!   main ── arguments ──> bench | cat | convert | diff | hold … | inspect | lend | tap | tour ── Ok(status) ──> the exit status
//!                             │                                         └─ Err(Failure) ─> one sentence on stderr, and its exit status
//!                             └── open: FILE[:NAME][VIEW] ──> DArray (a guarded map, or decoded)
//! ```
//!
//! A subcommand prints through [`out`] once, after all work is done: a failed one has printed
//! nothing. `cat` writes as it reads, and `tap` prints what it sees at once.
//!
//! `terminal.rs` escapes text from files before it reaches a terminal.

#![cfg_attr(not(unix), expect(dead_code, reason = "what serves only subcommands that need descriptors"))]

mod bench;
mod cat;
mod cell;
mod complete;
mod convert;
mod diff;
mod failure;
mod glob;
#[cfg(unix)]
mod hold;
mod inspect;
mod lend;
mod man;
mod open;
mod order;
mod order_letter;
mod out;
mod progress;
mod shards;
mod source;
mod status;
mod system;
mod table;
#[cfg(unix)]
mod tap;
mod terminal;
mod tour;
mod walk;
mod words;

use std::process::ExitCode;
use std::time::Instant;

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crossdock::memory::copied_bytes;

use crate::failure::Failure;

/// The command without arguments prints its help.
const HELP: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  crossdock tour
  crossdock inspect photo.npy
  crossdock inspect 'trades.npy[::2].price' --protocols
  crossdock lend photo.npy -- python3 report.py
  crossdock convert photo.png photo.npy
  crossdock cat trades.npy --csv | head
  crossdock diff before.npz after.npz
  crossdock hold model.safetensors --name m
  crossdock tap camera

Exit status: 0 on success, 1 on failure or refusal, 2 for wrong arguments, 74 if a mapped file \
shrank. `lend` and `connect` exit with the status of their command, \
`diff` with 0, 1 or 2 as diff does.";

/// Share arrays between programs, libraries and languages without copying them.
#[derive(Debug, Parser)]
#[command(name = "crossdock", version, styles = STYLES, after_help = EXAMPLES, max_term_width = 120)]
struct Arguments {
    /// Print no notes, no progress, and no report of what was written; only errors.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Note on stderr how long the command took, and how many bytes it copied.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// When to use colours. `auto` uses them on terminals; NO_COLOR, CLICOLOR and CLICOLOR_FORCE
    /// change that.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    Lend(lend::Args),
    #[command(alias = "info")]
    Inspect(inspect::Args),
    #[command(alias = "show")]
    Cat(cat::Args),
    Convert(convert::Args),
    Diff(diff::Args),
    Tour(tour::Args),
    Bench(bench::Args),
    #[cfg(unix)]
    Hold(hold::Args),
    #[cfg(unix)]
    Connect(hold::connect::Args),
    #[cfg(unix)]
    Who(hold::who::Args),
    #[cfg(unix)]
    Ls(hold::ls::Args),
    #[cfg(unix)]
    Drop(hold::drop::Args),
    #[cfg(unix)]
    Tap(tap::Args),
    Completions(complete::Args),
    #[command(hide = true)]
    Man(man::Args),
    /// What the scripts of `completions` call.
    #[command(hide = true)]
    Complete(complete::Words),
    /// The second process of the tour.
    #[cfg(unix)]
    #[command(name = tour::CHILD, hide = true)]
    TourChild,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) if answer.use_stderr() && answer.kind() != HELP => {
            return Failure::usage(&answer).report();
        }
        // Help, without arguments.
        Err(answer) if answer.use_stderr() => answer.exit(),
        // Help or version, on request.
        Err(answer) => {
            return out::print(&answer.render().ansi().to_string())
                .unwrap_or_else(|failure| failure.report());
        }
    };
    match arguments.color {
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
    out::set_quiet(arguments.quiet);
    let start = Instant::now();
    // This process registers no other drivers, so the kinds are free.
    for registered in [crossdock_cuda::register(), crossdock_opencl::register()] {
        registered.expect("the kinds of both are free");
    }
    let outcome = match &arguments.command {
        Command::Lend(args) => lend::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Tour(args) => tour::run(args),
        Command::Bench(args) => bench::run(args),
        #[cfg(unix)]
        Command::Hold(args) => hold::run(args),
        #[cfg(unix)]
        Command::Connect(args) => hold::connect::run(args),
        #[cfg(unix)]
        Command::Who(args) => hold::who::run(args),
        #[cfg(unix)]
        Command::Ls(args) => hold::ls::run(args),
        #[cfg(unix)]
        Command::Drop(args) => hold::drop::run(args),
        #[cfg(unix)]
        Command::Tap(args) => tap::run(args),
        Command::Completions(args) => complete::run(args),
        Command::Man(args) => man::run(args, Arguments::command()),
        Command::Complete(args) => complete::complete(args, Arguments::command()),
        #[cfg(unix)]
        Command::TourChild => tour::run_child(),
    };
    if arguments.verbose {
        out::note(&format!("took {:.3} s, {} B copied", start.elapsed().as_secs_f64(), copied_bytes()));
    }
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
