//! `crossdock completions`: scripts that complete the command's words in a shell; and the hidden
//! subcommand that they call, which knows the names of arrays in files.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ValueEnum};
use crossdock::bindings::files::Target;
use crossdock::exchange::files::{Entry, OpenOptions};

use crate::failure::Result;
use crate::{out, status, terminal};

/// The most names that are suggested.
const MOST: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  source <(crossdock completions bash)
  crossdock completions zsh > ~/.zfunc/_crossdock
  crossdock completions fish > ~/.config/fish/completions/crossdock.fish";

/// Print a script that completes subcommands, options and names of arrays in files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    out::print(match args.shell {
        Shell::Bash => include_str!("crossdock.bash"),
        Shell::Zsh => include_str!("crossdock.zsh"),
        Shell::Fish => include_str!("crossdock.fish"),
    })
}

/// The words that were typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    /// Those after the command's name; the last one, which can be empty, is to be completed.
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Prints the possible last words, a line for each. Status 1 if there are none: then the shell
/// completes names of files.
pub(crate) fn complete(args: &Words, mut command: clap::Command) -> Result<ExitCode> {
    command.build();
    let (last, before) = match args.words.split_last() {
        Some((last, before)) => (last.as_os_str(), before),
        None => (OsStr::new(""), &[][..]),
    };
    let found = possible(last, before, &command);
    // A terminal acts on other letters, and a shell ends a suggestion at a line break.
    let lines: Vec<String> = found.into_iter().filter(|text| terminal::shown(text) == *text).collect();
    if lines.is_empty() {
        return Ok(ExitCode::from(status::FAILED));
    }
    out::print(&(lines.join("\n") + "\n"))
}

fn possible(last: &OsStr, before: &[OsString], command: &clap::Command) -> Vec<String> {
    // What follows `--` are words of another command.
    if before.iter().any(|word| word == "--") {
        return Vec::new();
    }
    let Some(text) = last.to_str() else { return Vec::new() };
    let starting = |words: Vec<String>| -> Vec<String> {
        words.into_iter().filter(|word| word.starts_with(text)).collect()
    };
    let mut subcommand = command;
    for word in before {
        subcommand = subcommand.find_subcommand(word).unwrap_or(subcommand);
    }
    let options = || subcommand.get_arguments().filter(|arg| !arg.is_hide_set());
    let values = |arg: &Arg| -> Vec<String> {
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
    };
    // The value of an option: `--color WHEN` or `--color=WHEN`.
    if let Some((name, _)) = text.strip_prefix("--").and_then(|option| option.split_once('=')) {
        let arg = options().find(|arg| arg.get_long() == Some(name));
        let values = arg.map(values).unwrap_or_default();
        return starting(values.into_iter().map(|value| format!("--{name}={value}")).collect());
    }
    let option = before.last().and_then(|word| word.to_str()?.strip_prefix("--"));
    let takes = |arg: &&Arg| arg.get_long() == option && arg.get_action().takes_values();
    if let Some(arg) = option.and_then(|_| options().find(takes)).filter(|arg| !arg.is_require_equals_set()) {
        return starting(values(arg));
    }
    if text.starts_with('-') {
        return starting(options().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect());
    }
    if subcommand.has_subcommands() {
        let visible = subcommand.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        return starting(visible.map(|subcommand| subcommand.get_name().to_owned()).collect());
    }
    let positional = options().filter(|arg| arg.is_positional());
    let choices: Vec<String> = positional.flat_map(values).collect();
    if choices.is_empty() { names(last, text) } else { starting(choices) }
}

/// The names of the arrays in a file, the columns of a table, or the fields of records, behind the
/// file's name and a colon.
fn names(last: &OsStr, text: &str) -> Vec<String> {
    let Ok(target) = Target::new(last) else { return Vec::new() };
    let path = target.path();
    if path == Path::new(last) || !path.is_file() {
        return Vec::new();
    }
    let start = format!("{}:", path.display());
    // Completes also the columns that no array can hold.
    if let Ok(Some(table)) = crate::open::table(path, OpenOptions::new()) {
        let columns = table.schema().fields().iter().map(|field| format!("{start}{}", field.name()));
        return columns.filter(|name| name.starts_with(text)).take(MOST).collect();
    }
    let Ok(contents) = OpenOptions::new().guarded(true).open_all(path) else { return Vec::new() };
    let names: Vec<String> = match contents.entries() {
        [entry] if entry.name().is_empty() => fields(entry).map(|field| format!("{start}.{field}")).collect(),
        entries => entries.iter().map(|entry| format!("{start}{}", entry.name())).collect(),
    };
    names.into_iter().filter(|name| name.starts_with(text)).take(MOST).collect()
}

fn fields(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.dtype().as_record().into_iter().flat_map(|record| record.fields().iter().map(|field| field.name()))
}
