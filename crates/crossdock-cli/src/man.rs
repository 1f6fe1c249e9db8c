//! `crossdock man`: the man pages, made of what the parser knows.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_mangen::Man;
use crossdock::bindings::system_text;
use roff::{Roff, roman};

use crate::failure::{Failure, Result};
use crate::terminal;

/// Write the man pages of the command and of its subcommands.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write them to, such as ~/.local/share/man/man1. Older pages are replaced.
    folder: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args, command: clap::Command) -> Result<ExitCode> {
    let source = format!("crossdock {}", command.get_version().unwrap_or_default());
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let written = fs::create_dir_all(&args.folder).and_then(|()| write(&command, &source, &args.folder));
    written.map_err(|error| {
        Failure::new(format_args!("{}: {}", terminal::path(&args.folder), system_text(&error)))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command, and those of its subcommands.
fn write(command: &clap::Command, source: &str, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write(subcommand, source, folder)?;
    }
    let man = Man::new(command.clone()).source(source).manual("Crossdock");
    let mut page = BufWriter::new(File::create(folder.join(man.get_filename()))?);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_long_help().or(command.get_after_help()) {
        examples(&text.to_string()).to_writer(&mut page)?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    page.flush()
}

/// The most bytes of a line of a program or a list.
const LONGEST_LINE: usize = 100;

/// The section below the options. Its lines stay as they are, since programs are among them; only
/// longer ones, which are sentences, are broken anew.
fn examples(text: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["EXAMPLES"]);
    let mut is_filled = true;
    for line in text.strip_prefix("Examples:\n").unwrap_or(text).lines() {
        let is_long = line.len() > LONGEST_LINE;
        if is_long != is_filled {
            section.control(if is_long { "fi" } else { "nf" }, []);
            is_filled = is_long;
        }
        section.text([roman(line)]);
    }
    if !is_filled {
        section.control("fi", []);
    }
    section
}
