//! `crossdock inspect`: shows the contents of an array file, and their layout in memory.

mod listing;
mod picture;
mod protocols;
mod report;
mod sketch;
mod statistics;
mod text;

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
  crossdock inspect trades.npy --protocols
  crossdock inspect model.safetensors              (all tensors)
  crossdock inspect trades.npz --verify            (all arrays, compared with their checksums)
  crossdock inspect 'trades.npz:prices[::10]'      (every tenth of one array of several)
  crossdock inspect scan.raw --raw 'dtype=uint16; shape=480,640; order=F; offset=512'
  crossdock inspect trades.npy --json | jq .statistics";

/// Show an array's dtype, its layout in memory, and the range of its values.
///
/// FILE is mapped and its elements are read once; nothing is copied, unless FILE is compressed. For
/// a file of several arrays without a NAME, prints a list.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file (.npy, .npz, .safetensors, .gguf, PNG, JPEG, TIFF, NIfTI), the name of an array in it
    /// after a colon, and a view of it as in Python: 'a.npy[::2, 0]', 'a.npz:name[::2].field'.
    #[arg(value_name = "FILE[:NAME][VIEW]")]
    target: OsString,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// For a file of several arrays, compare each with its checksum, which reads the whole file.
    /// Damaged arrays are listed, and the exit status is 1. A single array is always compared.
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
    /// How to draw an array of two or three dimensions.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = picture::How::Auto)]
    picture: picture::How,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(description) = &args.raw {
        return inspect(args, &Opened::open_raw(&args.target, description)?);
    }
    let archive = Archive::open(&args.target, OpenOptions::new())?;
    match archive.pick()? {
        Selected::One(entry, expr) => inspect(args, &archive.verified_view(entry, expr)?),
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
    let progress = progress::reading(opened.view.nbytes());
    let read = statistics::gather(&opened.view, |nbytes| {
        progress.inc(nbytes as u64);
        opened.check()
    });
    progress.finish_and_clear();
    // If the file shrank, no other result is valid.
    opened.check()?;
    let exchange = args.protocols.then(|| protocols::ask(&opened.view));
    let report = InspectReport::new(opened, read?, exchange)?;
    if args.json {
        return out::print_json(&report);
    }
    let glyphs = if std::io::stdout().is_terminal() { SketchGlyphs::UNICODE } else { SketchGlyphs::ASCII };
    let picture = match Canvas::of_stdout(args.picture) {
        Some(canvas) => picture::draw(&opened.view, &canvas)?,
        None => None,
    };
    // Drawing also read the map.
    opened.check()?;
    out::print(&text::write(&report, &opened.view, glyphs, picture.as_ref()))
}
