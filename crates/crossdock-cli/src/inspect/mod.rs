//! `crossdock inspect`: shows the contents of an array file, and their layout in memory.
//!
//! Only headers are read, unless an option asks for elements.

mod listing;
mod picture;
mod protocols;
mod report;
mod sketch;
mod statistics;
mod summary;
mod text;
mod values;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use crossdock::bindings::files::Selected;
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Entry, OpenOptions};

use crate::failure::Failure;
use crate::inspect::picture::Canvas;
use crate::inspect::report::InspectReport;
use crate::inspect::sketch::SketchGlyphs;
use crate::open::{Archive, Opened};
use crate::{out, progress, status};

const EXAMPLES: &str = "\
Examples:
  crossdock inspect photo.npy
  crossdock inspect 'photo.npy[::2, ..., 0]'       (every second row, the first channel)
  crossdock inspect trades.npy --stats             (range, mean, quartiles and histogram of each field)
  crossdock inspect trades.npy --values=20         (the first 20 records, as a table)
  crossdock inspect trades.npy --protocols
  crossdock inspect model.safetensors              (all tensors)
  crossdock inspect trades.npz --verify            (all arrays, compared with their checksums)
  crossdock inspect 'trades.npz:prices[::10]'      (every tenth of one array of several)
  crossdock inspect scan.raw --raw 'dtype=uint16; shape=480,640; order=F; offset=512'
  crossdock inspect trades.npy --stats --json | jq .statistics";

/// The rows that `--values` prints.
const ROWS: &str = "10";

/// Larger arrays are drawn only if --picture asks for it: each sample can read a page of the file.
const DRAWN_UNASKED: usize = 16 << 20;

/// A picture of fewer rows is not drawn unasked.
const LEAST_ROWS: usize = 6;

/// Show an array's dtype and its layout in memory.
///
/// Only the header of FILE is read, whatever its size; --stats and --values read elements. FILE is
/// mapped and nothing is copied, unless it is compressed. For a file of several arrays without a
/// NAME, prints a list.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file (.npy, .npz, .safetensors, .gguf, PNG, JPEG, TIFF, NIfTI), the name of an array in it
    /// after a colon, and a view of it as in Python: 'a.npy[::2, 0]', 'a.npz:name[::2].field'.
    #[arg(value_name = "FILE[:NAME][VIEW]")]
    target: OsString,
    /// Read all elements: minimum, quartiles, maximum, mean, standard deviation, and how many are
    /// NaN or zero; of each field. Quartiles and histogram of a large array are those of a sample.
    #[arg(long)]
    stats: bool,
    /// Print the first N entries along the first axis; records as rows of a table.
    #[arg(
        long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = ROWS
    )]
    values: Option<usize>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Compare each array with its checksum, which reads the whole file. Damaged arrays are listed,
    /// and the exit status is 1.
    #[arg(long)]
    verify: bool,
    /// Show which protocols can export the array in place, what functions of other libraries do
    /// with it, and why.
    #[arg(long)]
    protocols: bool,
    /// The description of a raw FILE: dtype and shape, and order, strides or offset if they are not
    /// the defaults.
    #[arg(long, value_name = "DESCRIPTION")]
    raw: Option<Description>,
    /// Draw an array of two or three dimensions. Without this option, a small one is drawn if it
    /// fits on the terminal below the rest.
    #[arg(
        long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "auto"
    )]
    picture: Option<picture::How>,
}

impl Args {
    /// Whether the elements of an array are needed, beyond its header.
    fn needs_elements(&self, entry: &Entry) -> bool {
        self.stats || self.values.is_some() || self.protocols || self.verify || self.draws(entry.nbytes())
    }

    /// Whether an array of this size is drawn, if it is a picture at all.
    fn draws(&self, nbytes: usize) -> bool {
        match self.picture {
            Some(how) => how != picture::How::Never && !self.json,
            None => !self.json && nbytes <= DRAWN_UNASKED && std::io::stdout().is_terminal(),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(description) = &args.raw {
        return inspect(args, &Opened::open_raw(&args.target, description)?);
    }
    let archive = Archive::open(&args.target, OpenOptions::new())?;
    match archive.pick()? {
        Selected::One(entry, view) if entry.copied_because().is_some() && !args.needs_elements(entry) => {
            let report = InspectReport::of_header(&archive, entry, &view)?;
            if args.json {
                out::print_json(&report)
            } else {
                out::print(&text::write(&report, None, glyphs(), None))
            }
        }
        Selected::One(entry, view) if args.verify => inspect(args, &archive.verified_view(entry, view)?),
        Selected::One(entry, view) => inspect(args, &archive.view(entry, view)?),
        Selected::All if args.verify => {
            let nbytes = archive.contents.entries().iter().map(Entry::nbytes).fold(0, usize::saturating_add);
            let progress = progress::verifying(nbytes);
            let verified = Archive::open(&args.target, OpenOptions::new().verified(true));
            progress.finish_and_clear();
            let verified = verified?;
            list(args, &verified)?;
            // Arrays that could not be opened before are listed too, but they are not damaged.
            let is_whole = verified.contents.refused().len() == archive.contents.refused().len();
            Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(status::FAILED) })
        }
        Selected::All => list(args, &archive),
    }
}

fn list(args: &Args, archive: &Archive) -> Result<ExitCode, Failure> {
    if args.json {
        out::print_json(&listing::as_json(archive))
    } else {
        out::print(&listing::as_text(archive))
    }
}

fn inspect(args: &Args, opened: &Opened) -> Result<ExitCode, Failure> {
    let array = &opened.view;
    let mut report = InspectReport::new(opened)?;
    if args.stats {
        let progress = progress::reading(array.nbytes());
        let read = statistics::gather(array, |nbytes| {
            progress.inc(nbytes as u64);
            opened.check()
        });
        progress.finish_and_clear();
        // If the file shrank, no other result is valid.
        opened.check()?;
        report.statistics = Some(read?);
    }
    report.exchange = args.protocols.then(|| protocols::ask(array));
    if args.json {
        report.values = args.values.map(|rows| values::as_json(array, rows)).transpose()?;
        opened.check()?;
        return out::print_json(&report);
    }
    let columns = Canvas::columns_of_stdout();
    let values = args.values.map(|rows| Ok::<_, Failure>((rows, values::as_text(array, rows, columns)?)));
    let values = values.transpose()?;
    let values = values.as_ref().map(|(rows, text)| (*rows, text.as_str()));
    let mut text = text::write(&report, Some(array), glyphs(), values);
    if args.draws(array.nbytes()) {
        let canvas = match args.picture {
            Some(how) => Canvas::of_stdout(how, 0),
            None => Canvas::of_stdout(picture::How::Auto, text.lines().count()),
        };
        if let Some(canvas) = canvas.filter(|canvas| args.picture.is_some() || canvas.rows() >= LEAST_ROWS)
            && let Some(picture) = picture::draw(array, &canvas)?
        {
            text::add_picture(&mut text, &picture);
        }
    }
    // Printing values and drawing also read the map.
    opened.check()?;
    out::print(&text)
}

fn glyphs() -> SketchGlyphs {
    if std::io::stdout().is_terminal() { SketchGlyphs::UNICODE } else { SketchGlyphs::ASCII }
}
