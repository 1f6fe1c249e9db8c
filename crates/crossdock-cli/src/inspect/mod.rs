//! `crossdock inspect`: shows the contents of an array file, and their layout in memory.
//!
//! Only headers are read, unless an option asks for elements.

mod columns;
mod files;
mod listing;
mod picture;
mod protocols;
mod report;
mod sketch;
mod statistics;
mod summary;
mod text;
mod tree;
mod values;

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crossdock::bindings::files::Selected;
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Entry, OpenOptions};

use crate::failure::Failure;
use crate::inspect::files::FileLine;
use crate::inspect::listing::{Listing, Sort};
use crate::inspect::picture::Canvas;
use crate::inspect::report::InspectReport;
use crate::inspect::sketch::SketchGlyphs;
use crate::open::{Archive, Opened};
use crate::shards::Index;
use crate::{out, progress, status, terminal};

const EXAMPLES: &str = "\
Examples:
  crossdock inspect photo.npy
  crossdock inspect 'photo.npy[::2, ..., 0]'   (every second row)
  crossdock inspect trades.npy --stats         (of each field)
  crossdock inspect trades.npy --values=20     (the first 20 records)
  crossdock inspect trades.npy --protocols
  crossdock inspect trades.arrow --stats       (columns, nulls, extremes)
  crossdock inspect model.safetensors --filter '*.layers.3.*' --sort bytes
  crossdock inspect checkpoint/                (a folder, or a model in shards)
  crossdock inspect trades.npz --verify        (compares checksums)
  crossdock inspect 'trades.npz:prices[::10]'  (one array of several)
  crossdock inspect scan.raw --raw 'dtype=uint16; shape=480,640'
  crossdock inspect trades.npy --stats --json | jq .statistics";

/// The version of the JSON of several files; `docs/command.md` describes it.
const SCHEMA: &str = "crossdock.files/1";

/// The rows that `--values` prints.
const ROWS: &str = "10";

/// Larger arrays are drawn only if --picture asks for it: each sample can read a page of the file.
const DRAWN_UNASKED: usize = 16 << 20;

/// A picture of fewer rows is not drawn unasked.
const LEAST_ROWS: usize = 6;

/// Show the arrays of files: dtype, shape, and layout in memory.
///
/// Only headers are read, whatever the size of the files; --stats and --values read elements. Files
/// are mapped and nothing is copied, unless they are compressed. A file of several arrays without a
/// NAME is printed as a list, and several files, or those of a folder, as a table. `-` is standard
/// input, which must be a file and not a pipe.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file (.npy, .npz, .arrow, .safetensors, .gguf, .pt, .mat, PNG, JPEG, TIFF, NIfTI), the
    /// name of an array in it after a colon, and a view of it as in Python: 'a.npy[::2, 0]',
    /// 'a.npz:name[::2].field'. An Arrow IPC file without a NAME is shown as a table.
    ///
    /// Also a folder, a pattern with `*`, or the index of a model in several files
    /// (*.index.json).
    #[arg(value_name = "FILE[:NAME][VIEW]", required = true)]
    targets: Vec<OsString>,
    /// List only the arrays, or the columns of a table, whose names match a pattern: `*` stands for
    /// any letters, `?` for one.
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,
    /// List the arrays or the columns in this order; by default in that of the file, and arrays as
    /// a tree.
    #[arg(long, value_enum, value_name = "ORDER")]
    sort: Option<Sort>,
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
    fn options(&self) -> OpenOptions {
        OpenOptions::new().verified(self.verify)
    }

    /// Refuses `--values 3 FILE`, where 3 would be a file.
    fn check_values(&self) -> Result<(), Failure> {
        let is_number =
            |target: &&OsString| target.to_str().is_some_and(|text| text.parse::<usize>().is_ok());
        let mut numbers = self.targets.iter().filter(is_number);
        match numbers.find(|target| self.values.is_some() && !Path::new(target).exists()) {
            None => Ok(()),
            Some(number) => {
                let number = terminal::path(Path::new(number));
                let text =
                    format!("{number} is not a file; write --values={number} to print as many entries");
                Err(Failure::new(text).with_status(status::USAGE))
            }
        }
    }

    /// Whether an option asks for a list, also of a single array.
    fn is_listing(&self) -> bool {
        self.filter.is_some() || self.sort.is_some()
    }

    /// Whether an option asks for more than a header.
    fn needs_details(&self) -> bool {
        self.stats || self.values.is_some() || self.protocols || self.picture.is_some() || self.verify
    }

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

/// What is printed about one file.
enum Answer {
    Array {
        json: serde_json::Value,
        text: String,
    },
    /// The line is `None` if an option requests details.
    Table {
        json: serde_json::Value,
        text: String,
        line: Option<FileLine>,
    },
    Listing(Listing),
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.check_values()?;
    if let [only] = args.targets.as_slice()
        && let targets = files::expand(only)?
        && targets == [only.as_os_str()]
    {
        let (answer, is_whole) = answer(args, only)?;
        match answer {
            Answer::Array { json, .. } | Answer::Table { json, .. } if args.json => out::print_json(&json),
            Answer::Array { text, .. } | Answer::Table { text, .. } => out::print(&text),
            Answer::Listing(listing) if args.json => out::print_json(&listing.as_json()),
            Answer::Listing(listing) => out::print(&listing.as_text()),
        }?;
        return Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(status::FAILED) });
    }
    if args.raw.is_some() {
        return Err(Failure::new("--raw describes one file").with_status(status::USAGE));
    }
    several(args)
}

/// Prints a table of files, or the answers for all of them. Prints the failures on stderr, and goes
/// on.
fn several(args: &Args) -> Result<ExitCode, Failure> {
    let (mut answers, mut is_whole) = (Vec::new(), true);
    for target in &args.targets {
        let each = |target: OsString| answer(args, &target).map(|(answer, whole)| (target, answer, whole));
        let done = match files::expand(target) {
            Ok(targets) => targets.into_iter().map(each).collect(),
            Err(failure) => vec![Err(failure)],
        };
        for one in done {
            match one {
                Ok((target, answer, whole)) => {
                    is_whole &= whole;
                    answers.push((terminal::path(Path::new(&target)), answer));
                }
                Err(failure) => {
                    is_whole = false;
                    out::error(&failure.to_string());
                }
            }
        }
    }
    let has_line =
        |answer: &Answer| matches!(answer, Answer::Listing(_) | Answer::Table { line: Some(_), .. });
    let is_table = answers.iter().all(|(_, answer)| has_line(answer));
    if args.json {
        let files = answers.into_iter().map(|(_, answer)| match answer {
            Answer::Array { json, .. } | Answer::Table { json, .. } => json,
            Answer::Listing(listing) => listing.as_json(),
        });
        out::print_json(&serde_json::json!({ "schema": SCHEMA, "files": files.collect::<Vec<_>>() }))?;
    } else if is_table && !answers.is_empty() && args.filter.is_none() && args.sort.is_none() {
        let listed = answers.into_iter().filter_map(|(name, answer)| match answer {
            Answer::Listing(listing) => Some((name, listing.line())),
            Answer::Table { line, .. } => Some((name, line?)),
            Answer::Array { .. } => None,
        });
        out::print(&files::as_text(&listed.collect::<Vec<_>>()))?;
    } else {
        let texts = answers.into_iter().map(|(_, answer)| match answer {
            Answer::Array { text, .. } | Answer::Table { text, .. } => text,
            Answer::Listing(listing) => listing.as_text(),
        });
        out::print(&texts.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(status::FAILED) })
}

/// What is printed about one file, and whether it is not damaged.
fn answer(args: &Args, target: &OsStr) -> Result<(Answer, bool), Failure> {
    if let Some(description) = &args.raw {
        return Ok((inspect(args, &Opened::open_raw(target, description)?)?, true));
    }
    if let Some(index) = Index::find(Path::new(target))? {
        let open = |path: &PathBuf| Archive::open(path.as_os_str(), args.options());
        let archives = index.files()?.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let is_whole = !args.verify || archives.iter().all(|archive| !is_damaged(archive));
        return Ok((list(args, Listing::of_shards(&index, &archives))?, is_whole));
    }
    if let Some(answer) = columns::answer(args, target)? {
        return Ok((answer, true));
    }
    let archive = Archive::open(target, OpenOptions::new())?;
    if archive.is_whole() && archive.contents.entries().is_empty() && archive.contents.refused().len() == 0 {
        return Ok((Answer::Listing(Listing::of_archive(&archive)), true));
    }
    // Of several files, a line for each says enough, unless an option asks for more.
    let in_short =
        args.is_listing() || args.targets.len() > 1 || Path::new(&args.targets[0]) != Path::new(target);
    let is_plain = archive.is_whole() && !args.json && !args.needs_details();
    match archive.pick()? {
        Selected::One(..) if args.is_listing() || in_short && is_plain => {
            Ok((list(args, Listing::of_archive(&archive))?, true))
        }
        Selected::One(entry, view) if entry.copied_because().is_some() && !args.needs_elements(entry) => {
            let report = InspectReport::of_header(&archive, entry, &view)?;
            let text = text::write(&report, None, glyphs(), None);
            Ok((Answer::Array { json: as_json(&report)?, text }, true))
        }
        Selected::One(entry, view) if args.verify => {
            Ok((inspect(args, &archive.verified_view(entry, view)?)?, true))
        }
        Selected::One(entry, view) => Ok((inspect(args, &archive.view(entry, view)?)?, true)),
        Selected::All if args.verify => {
            let nbytes = archive.contents.entries().iter().map(Entry::nbytes).fold(0, usize::saturating_add);
            let progress = progress::verifying(nbytes);
            let verified = Archive::open(target, args.options());
            progress.finish_and_clear();
            let verified = verified?;
            Ok((list(args, Listing::of_archive(&verified))?, !is_damaged(&verified)))
        }
        Selected::All => Ok((list(args, Listing::of_archive(&archive))?, true)),
    }
}

/// Whether an array is damaged. Arrays that are not supported are listed too, but not damaged.
fn is_damaged(archive: &Archive) -> bool {
    archive.contents.refused().any(|(_, why)| why.is_malformed())
}

fn list(args: &Args, mut listing: Listing) -> Result<Answer, Failure> {
    if let Some(pattern) = &args.filter {
        listing.filter(pattern)?;
    }
    if let Some(order) = args.sort {
        listing.sort(order);
    }
    Ok(Answer::Listing(listing))
}

fn as_json(report: &InspectReport) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(report)
        .map_err(|error| Failure::new(format_args!("the result could not be written as JSON: {error}")))
}

fn inspect(args: &Args, opened: &Opened) -> Result<Answer, Failure> {
    let array = &opened.view;
    let mut report = InspectReport::new(opened)?;
    // Before this command exports the array itself.
    report.exchange = args.protocols.then(|| protocols::ask(array));
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
    if args.json {
        report.values = args.values.map(|rows| values::as_json(array, rows)).transpose()?;
        opened.check()?;
        return Ok(Answer::Array { json: as_json(&report)?, text: String::new() });
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
    Ok(Answer::Array { json: serde_json::Value::Null, text })
}

fn glyphs() -> SketchGlyphs {
    if std::io::stdout().is_terminal() { SketchGlyphs::UNICODE } else { SketchGlyphs::ASCII }
}
