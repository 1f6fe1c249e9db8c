//! `crossdock cat`: writes the elements of an array, or the rows of a table, to standard output.

mod columns;
mod rows;
mod tables;

use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::process::ExitCode;

use crossdock::exchange::files::{Format, SaveOptions};

use crate::cat::rows::{Stop, Style};
use crate::cat::tables::CatInput;
use crate::failure::{Failure, Result};
use crate::open::Opened;
use crate::source::Source;
use crate::{out, status, system};

const EXAMPLES: &str = "\
Examples:
  crossdock cat a.npy | head
  crossdock cat 'photo.npy[::2, ::2, 0]'       (a line for each row)
  crossdock cat trades.npy --csv > trades.csv  (a line for each record)
  crossdock cat trades.arrow --csv             (a line for each row)
  crossdock cat trades.arrow:name | sort | uniq -c
  crossdock cat trades.npz:prices | sort -g | tail -1
  crossdock cat photo.npy --bytes | sha256sum  (the elements alone)
  crossdock cat scan.raw --raw 'dtype=uint16; shape=480,640'";

/// Write the elements of an array, or the rows of a table, to standard output.
///
/// Writes one line for each element of an array of one axis, for each row along the last axis of an
/// array of more, for each record, and for each row of a table (an Arrow IPC file). Elements are
/// shown as in NumPy, with all their digits, and nulls as null; matrices are separated by an empty
/// line. In CSV, a null is an empty field, and `null` if its row has no other field, since readers
/// skip empty lines; times are those of ISO 8601, in UTC if they have a zone, and bytes that are no
/// text are `\x00`. FILE is mapped and read in parts, a table by batches, so one of any size can be
/// written. A reader that ends early, such as head, ends the command without an error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Write comma-separated values: the names of the fields of records and of the columns of a
    /// table first, text without quotes where it needs none, and no empty lines.
    #[arg(long)]
    csv: bool,
    /// With --csv: leave the line of names out.
    #[arg(long, requires = "csv")]
    no_header: bool,
    /// Write the bytes of the elements, contiguous in row-major order, in their byte order.
    #[arg(long, conflicts_with = "csv")]
    bytes: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let is_terminal = io::stdout().is_terminal();
    if args.bytes && is_terminal {
        let text = "standard output is a terminal, which cannot show bytes; send them to a file or a pipe";
        return Err(Failure::new(text).with_status(status::USAGE));
    }
    let style = match args.csv {
        true => Style::Csv { has_header: !args.no_header, is_shown: is_terminal },
        false => Style::Text,
    };
    let opened = match tables::find(args)? {
        CatInput::Array(opened) => opened,
        CatInput::Rows(table) => {
            let written = writing(|writer| tables::write(&table, style, writer))?;
            // If the file shrank, that is the cause of any other error.
            table.file.buffer().fault().map_or(Ok(()), |fault| Err(Failure::shrank(&table.path, fault)))?;
            return finish(written, &table.path);
        }
    };
    let written = writing(|writer| match args.bytes {
        true => write_bytes(&opened, writer),
        false => rows::write(&opened.view, style, writer, || opened.check()),
    })?;
    // If the file shrank, that is the cause of any other error.
    opened.check()?;
    finish(written, &opened.path)
}

/// Writes to standard output. The outer error says that it is closed.
fn writing(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> Result<(), Stop>,
) -> Result<Result<(), Stop>> {
    system::check_stdout().map_err(|error| out::unwritten(&error))?;
    let mut writer = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = write(&mut writer).and_then(|()| Ok(writer.flush()?));
    // Discards what is left in the buffer after an error; a drop would write it.
    let _ = writer.into_parts();
    Ok(written)
}

fn finish(written: Result<(), Stop>, path: &Path) -> Result<ExitCode> {
    match written {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Stop::Unwritten(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(Stop::Unwritten(error)) => Err(out::unwritten(&error)),
        Err(Stop::Failed(failure)) => Err(failure.within(crate::terminal::path(path))),
    }
}

fn write_bytes(opened: &Opened, out: &mut impl Write) -> Result<(), Stop> {
    let written = SaveOptions::new().format(Format::Raw).write(out, &[("", opened.view.clone())]);
    written.map_err(|error| match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(source) => Stop::Unwritten(source.kind().into()),
        None => error.into(),
    })
}
