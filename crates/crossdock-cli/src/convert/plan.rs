//! The arrays to write, after conversion.

use std::path::Path;

use crossdock::bindings::files::Selected;
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Format, OpenOptions, SaveOptions};
use crossdock::layout::Order;
use crossdock::{Casting, DArray};

use crate::convert::Args;
use crate::failure::{Failure, Result};
use crate::open::{Archive, Opened};
use crate::words::words;
use crate::{out, progress, terminal};

/// The converted arrays, and how they are written.
pub(super) struct Plan {
    format: Format,
    /// The source files, kept to check that they did not shrink.
    opened: Vec<Opened>,
    arrays: Vec<(String, DArray)>,
    /// The texts of a `.safetensors` file, for another such file.
    metadata: Vec<(String, String)>,
    order: Order,
    deflate: bool,
    quality: Option<u8>,
}

impl Plan {
    /// Opens the arrays, decodes them if necessary, and converts them as requested.
    pub(super) fn make(args: &Args, format: Format) -> Result<Self> {
        let mut metadata = Vec::new();
        let opened = match &args.raw {
            Some(description) => vec![Opened::open_raw(&args.target, description)?],
            None => {
                let archive = Archive::open(&args.target, OpenOptions::new())?;
                metadata = archive.contents.metadata().to_vec();
                let opened = open(&archive, args, format)?;
                note_losses(&archive, &opened, format);
                opened
            }
        };
        let mut plan = Self {
            format,
            arrays: Vec::with_capacity(opened.len()),
            opened,
            metadata,
            order: args.order.map_or(Order::RowMajor, Order::from),
            deflate: args.deflate,
            quality: args.quality,
        };
        for opened in &plan.opened {
            let array = convert(opened, args, plan.order).map_err(|error| {
                let may_fit = error.is_value() && args.dtype.is_some() && !args.saturate;
                let more = if may_fit { "; use --saturate to truncate and clamp such values" } else { "" };
                Failure::new(format_args!("{}: {}{more}", named(opened), error.in_words(words)))
            })?;
            plan.arrays.push((name(opened), array));
        }
        Ok(plan)
    }

    pub(super) fn arrays(&self) -> &[(String, DArray)] {
        &self.arrays
    }

    /// The format with the given options. (The arguments were checked for consistency before.)
    pub(super) fn options(&self) -> SaveOptions {
        let mut options = SaveOptions::new().format(self.format).deflated(self.deflate);
        if self.format == Format::Raw {
            options = options.order(self.order);
        }
        if let Some(quality) = self.quality {
            options = options.quality(quality);
        }
        if self.format == Format::Safetensors {
            for (key, text) in &self.metadata {
                options = options.metadata(key, text);
            }
        }
        options
    }

    /// The bytes of all elements.
    pub(super) fn nbytes(&self) -> u64 {
        self.arrays.iter().map(|(_, array)| array.nbytes() as u64).sum()
    }

    /// Whether the file is smaller than the elements.
    pub(super) fn shrinks(&self) -> bool {
        self.deflate || matches!(self.format, Format::Png | Format::Jpeg)
    }

    /// The description with which a raw file can be opened again.
    pub(super) fn description(&self) -> Option<Description> {
        let (_, array) = self.arrays.first().filter(|_| self.format == Format::Raw)?;
        Some(Description::new(array.dtype().clone(), array.shape()).order(self.order))
    }

    /// The source files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.opened.iter().map(|opened| opened.path.as_path())
    }

    /// Checks that the source files did not shrink.
    pub(super) fn check(&self) -> Result<()> {
        self.opened.iter().try_for_each(Opened::check)
    }
}

fn open(archive: &Archive, args: &Args, format: Format) -> Result<Vec<Opened>> {
    match archive.pick()? {
        Selected::One(entry, expr) => {
            let progress = progress::copying(entry.copied_because().map_or(0, |_| entry.nbytes()));
            let opened = archive.verified_view(entry, expr);
            progress.finish_and_clear();
            Ok(vec![opened?])
        }
        Selected::All if format.has_names() && args.at.is_none() => {
            for (_, why) in archive.contents.refused() {
                let text = format!("{}: {why}", terminal::path(&archive.path));
                if !args.skip_refused {
                    let more = "use --skip-refused to convert the other arrays, or name one, as FILE:NAME";
                    return Err(Failure::new(format_args!("{text}; {more}")));
                }
                out::note(&format!("not converted from {text}"));
            }
            let entries = archive.contents.entries().iter();
            entries.map(|entry| archive.verified_view(entry, String::new())).collect()
        }
        Selected::All => {
            let count = archive.contents.entries().len() + archive.contents.refused().len();
            let why = match args.at {
                Some(_) => "--at selects a view of one array".to_owned(),
                None => format!("a {format} file holds one array"),
            };
            Err(Failure::new(format_args!(
                "{}: the file has {count} arrays, but {why}; name one, as FILE:NAME (`crossdock inspect` \
                lists them)",
                terminal::path(&archive.path)
            )))
        }
    }
}

/// Notes which parts of the file the new one does not hold. If the user named one array, the rest
/// of an archive is left out on purpose.
fn note_losses(archive: &Archive, opened: &[Opened], format: Format) {
    let contents = &archive.contents;
    let mut lost = Vec::new();
    match opened {
        [one] if !format.has_names() && !archive.is_named() && !one.name.is_empty() => {
            lost.push(format!("the name {:?}", one.name));
        }
        _ => {}
    }
    if format != Format::Safetensors && !contents.metadata().is_empty() {
        let names = contents.metadata().iter().map(|(name, _)| format!("{name:?}"));
        lost.push(counted("text", contents.metadata().len(), names));
    }
    let is_meant = |name: &str| {
        !archive.is_named() || opened.iter().any(|one| name.strip_suffix(".npy") == Some(&*one.name))
    };
    let ignored: Vec<_> = contents.ignored().filter(|(name, _)| is_meant(name)).collect();
    let is_array =
        |name: &str| contents.entries().iter().any(|e| name.strip_suffix(".npy") == Some(e.name()));
    let (behind, files): (Vec<_>, Vec<_>) =
        ignored.into_iter().partition(|(name, _)| name.is_empty() || is_array(name));
    for (name, nbytes) in behind {
        let of = if name.is_empty() { String::new() } else { format!(" in {name:?}") };
        lost.push(format!("{nbytes} B after the last element{of}"));
    }
    if !files.is_empty() {
        let names = files.iter().map(|(name, _)| format!("{name:?}"));
        lost.push(counted("file", files.len(), names));
    }
    if !lost.is_empty() {
        out::note(&format!("not converted from {}: {}", terminal::path(&archive.path), lost.join("; ")));
    }
}

/// For example `2 texts ("a", "b")`.
fn counted(what: &str, count: usize, names: impl Iterator<Item = String>) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = names.take(MOST).collect();
    let more = if count > MOST { format!(", … {} more", count - MOST) } else { String::new() };
    format!("{count} {what}{} ({}{more})", if count == 1 { "" } else { "s" }, names.join(", "))
}

/// The view, with the requested type and order: in place if the array has them already.
fn convert(opened: &Opened, args: &Args, order: Order) -> crossdock::Result<DArray> {
    let mut array = opened.view.at(args.at.as_deref().unwrap_or(""))?;
    if let Some(dtype) = args.dtype.as_ref().filter(|dtype| *dtype != array.dtype()) {
        let casting = if args.saturate { Casting::Saturating } else { Casting::Checked };
        let order = if args.order.is_some() { order } else { array.layout().order().unwrap_or(order) };
        let progress = progress::copying(array.nbytes());
        array = array.cast(dtype, order, casting)?;
        progress.finish_and_clear();
    }
    if args.order.is_some() && !array.layout().is_contiguous(order) {
        array = array.to_order(order)?;
    }
    Ok(array)
}

/// The name of an array in a format that requires one: its own, or that of its file without the
/// ending.
fn name(opened: &Opened) -> String {
    if !opened.name.is_empty() {
        return opened.name.clone();
    }
    let stem = opened.path.file_stem().and_then(|stem| stem.to_str());
    stem.unwrap_or("array").to_owned()
}

fn named(opened: &Opened) -> String {
    match opened.name.as_str() {
        "" => terminal::path(&opened.path),
        name => format!("{}: array {:?}", terminal::path(&opened.path), name),
    }
}
