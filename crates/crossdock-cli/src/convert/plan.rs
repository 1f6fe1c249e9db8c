//! The arrays to write, after conversion.

use std::io::Write;
use std::path::Path;

use crossdock::Casting;
use crossdock::bindings::files::{NewFile, OutgoingArray, Selected};
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Format, OpenOptions, SaveOptions};
use crossdock::layout::Order;
use indicatif::ProgressBar;

use crate::convert::args::Args;
use crate::convert::select::{is_float, is_integer, matches};
use crate::convert::target::Output;
use crate::convert::verify;
use crate::failure::{Failure, Result};
use crate::open::{Archive, Opened};
use crate::shards::Archives;
use crate::words::words;
use crate::{out, progress, terminal};

/// The converted arrays, and how they are written.
pub(super) struct Plan {
    format: Format,
    /// The source files, kept to check that they did not shrink.
    opened: Vec<Opened>,
    arrays: Vec<(String, OutgoingArray)>,
    /// The arrays that `--dtype` did not apply to.
    kept: Vec<String>,
    /// What would make all values fit.
    remedy: &'static str,
    is_verified: bool,
    /// The texts of a `.safetensors` file, for another such file.
    metadata: Vec<(String, String)>,
    order: Order,
    deflate: bool,
    quality: Option<u8>,
}

impl Plan {
    /// Opens the arrays, decodes them if necessary, and plans their conversion.
    pub(super) fn make(args: &Args, format: Format) -> Result<Self> {
        let (mut metadata, mut opened) = (Vec::new(), Vec::new());
        for target in args.targets() {
            let archives = Archives::open(target, args.raw.as_ref())?;
            if let Some(index) = archives.index.as_ref().filter(|_| !format.has_names() || args.at.is_some())
            {
                return Err(index.many());
            }
            let mut found = Vec::new();
            for archive in &archives.files {
                let mut here = open(archive, args, format)?;
                here.retain(|one| archives.is_in(&one.name, archive));
                note_losses(archive, &here, format);
                for text in archive.contents.metadata().iter().filter(|_| args.targets().len() == 1) {
                    if !metadata.contains(text) {
                        metadata.push(text.clone());
                    }
                }
                found.extend(here);
            }
            check_complete(&archives, &found)?;
            opened.extend(found);
        }
        let mut plan = Self {
            format,
            arrays: Vec::with_capacity(opened.len()),
            kept: Vec::new(),
            remedy: remedy(args, opened.iter().any(|one| is_float(one.view.dtype()))),
            is_verified: args.verify,
            metadata,
            order: args.order.map_or(Order::RowMajor, Order::from),
            deflate: args.deflate,
            quality: args.quality,
            opened,
        };
        for opened in &plan.opened {
            let (name, is_one) = (name(opened), plan.opened.len() == 1);
            if let Some((_, other)) = plan.arrays.iter().zip(&plan.opened).find(|((one, _), _)| *one == name)
            {
                let [one, other] = [&other.path, &opened.path].map(|path| terminal::path(path));
                return Err(Failure::new(format_args!(
                    "{one} and {other} both have an array {name:?}; rename one, or write two files"
                )));
            }
            let view = opened.view.at(args.at.as_deref().unwrap_or(""));
            let view = view.map_err(|error| {
                Failure::new(format_args!("{}: {}", named(opened), error.in_words(words)))
            })?;
            let mut outgoing = OutgoingArray::new(view);
            if let Some(dtype) = &args.dtype {
                let applies = match &args.only {
                    Some(pattern) => matches(pattern, &name),
                    None => is_one || !is_float(dtype) || is_float(outgoing.dtype()),
                };
                let casting = if args.saturate { Casting::Saturating } else { Casting::Checked };
                match applies {
                    true => {
                        outgoing = outgoing.cast(dtype.clone(), casting);
                        if let Some(round) = args.round {
                            outgoing = outgoing.rounded(round.into());
                        }
                    }
                    false => plan.kept.push(name.clone()),
                }
            }
            if let Some(order) = args.order {
                outgoing = outgoing.order(order.into());
            }
            plan.arrays.push((name, outgoing));
        }
        if let (Some(pattern), true) = (&args.only, plan.kept.len() == plan.arrays.len()) {
            let names = plan.kept.iter().map(|name| format!("{name:?}"));
            let all = counted("array", plan.kept.len(), names);
            return Err(Failure::new(format_args!("--only {pattern:?} matches none of {all}")));
        }
        Ok(plan)
    }

    /// Converts in this much memory, and moves the bar.
    pub(super) fn streamed(mut self, memory: usize, bar: &ProgressBar) -> Self {
        let arrays = std::mem::take(&mut self.arrays).into_iter();
        self.arrays = arrays
            .map(|(name, outgoing)| {
                let (bar, moves) = (bar.clone(), !self.is_image());
                let progress = move |nbytes| {
                    if moves {
                        bar.inc(nbytes as u64)
                    }
                };
                (name, outgoing.streamed(memory, progress))
            })
            .collect();
        self
    }

    /// The failure of an element that does not fit the dtype.
    fn unfit(&self, error: &crossdock::Error) -> Failure {
        let more = self.remedy;
        let text = error.in_words(words).to_string();
        match &self.opened[..] {
            // A format with names has told the name.
            [one] if !text.starts_with("array ") => {
                Failure::new(format_args!("{}: {text}{more}", named(one)))
            }
            [first, others @ ..] if others.iter().all(|other| other.path == first.path) => {
                Failure::new(format_args!("{}: {text}{more}", terminal::path(&first.path)))
            }
            _ => Failure::new(format_args!("{text}{more}")),
        }
    }

    /// The arrays that were not cast.
    pub(super) fn kept(&self) -> Option<String> {
        let names = self.kept.iter().map(|name| format!("{name:?}"));
        let is_any = !self.kept.is_empty();
        is_any.then(|| format!("not cast: {}", counted("array", self.kept.len(), names)))
    }

    /// How the complete output is opened again.
    fn reading(&self) -> OpenOptions {
        let options = OpenOptions::new().format(self.format);
        self.description().map_or(options.clone(), |description| options.raw(description))
    }

    pub(super) fn arrays(&self) -> &[(String, OutgoingArray)] {
        &self.arrays
    }

    /// The format with the given options. (The arguments were checked for consistency before.)
    fn options(&self) -> SaveOptions {
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
        self.arrays.iter().map(|(_, outgoing)| outgoing.nbytes().unwrap_or(0) as u64).sum()
    }

    /// Whether the file is an image, which is encoded as a whole.
    pub(super) fn is_image(&self) -> bool {
        matches!(self.format, Format::Png | Format::Jpeg)
    }

    /// The description with which a raw file can be opened again.
    pub(super) fn description(&self) -> Option<Description> {
        let (_, outgoing) = self.arrays.first().filter(|_| self.format == Format::Raw)?;
        let shape = outgoing.array().shape();
        Some(Description::new(outgoing.dtype().clone(), shape).order(self.order))
    }

    /// The source files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.opened.iter().map(|opened| opened.path.as_path())
    }
}

impl Output for Plan {
    fn write(&self, writer: &mut dyn Write) -> crossdock::Result<()> {
        self.options().write_outgoing(writer, self.arrays())
    }

    fn check(&self) -> Result<()> {
        self.opened.iter().try_for_each(Opened::check)
    }

    fn refused(&self, error: &crossdock::Error) -> Option<Failure> {
        error.is_value().then(|| self.unfit(error))
    }

    fn verify(&self, file: &NewFile) -> Result<()> {
        if self.is_verified { verify::compare(file, self.reading(), self.arrays()) } else { Ok(()) }
    }
}

/// What would make values fit that `--dtype` refuses.
fn remedy(args: &Args, from_floats: bool) -> &'static str {
    let are_rounded = from_floats && args.dtype.as_ref().is_some_and(is_integer);
    match (args.dtype.is_some() && !args.saturate, args.round.is_some()) {
        (false, _) => "",
        (true, true) => "; use --saturate to clamp such values",
        (true, false) if are_rounded => {
            "; use --saturate to truncate and clamp such values, or --round rint to round fractions"
        }
        (true, false) => "; use --saturate to truncate and clamp such values",
    }
}

/// Refuses a checkpoint whose index names an array that its files do not have.
fn check_complete(archives: &Archives, found: &[Opened]) -> Result<()> {
    let Some(index) = &archives.index else { return Ok(()) };
    let has = |name: &str| {
        let mut refused = archives.files.iter().flat_map(|file| file.contents.refused());
        found.iter().any(|one| one.name == name) || refused.any(|(other, _)| other == name)
    };
    match archives.names().into_iter().find(|name| !has(name)) {
        None => Ok(()),
        Some(name) => {
            let (path, file) = (terminal::path(&index.path), index.file_of(&name).unwrap_or_default());
            Err(Failure::new(format_args!(
                "{path}: it says that array {name:?} is in {file:?}, which has none"
            )))
        }
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
                let text = format!("{}: {}", terminal::path(&archive.path), why.in_words(words));
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
