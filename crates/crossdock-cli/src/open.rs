//! `FILE[:NAME][:EXPR]`: an array in a file, and a view of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::bindings::{Advice, system_text};
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Contents, Entry, Format, OpenOptions};

use crate::failure::Failure;
use crate::words::words;
use crate::{out, progress, terminal};

/// An opened file, its contents, and the rest of the argument after the file's name.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The file.
    pub(crate) path: PathBuf,
    /// The contents. Mapped and guarded; an array is decoded when it is opened.
    pub(crate) contents: Contents,
    rest: String,
}

/// What a target selects.
pub(crate) enum Picked<'a> {
    /// One array, and the expression for a view of it.
    One(&'a Entry, String),
    /// A file of several arrays, without a name.
    All,
}

impl Archive {
    /// Opens `FILE[:NAME][:EXPR]`. The file is guarded for any options.
    pub(crate) fn open(target: &OsStr, options: OpenOptions) -> Result<Self, Failure> {
        let (path, rest) = split(target)?;
        let contents = options.guarded(true).open_all(&path).map_err(|error| match Format::named(&path) {
            Some(Format::Raw) if error.is_unsupported() => {
                Failure::new(format_args!("{}; {}", error.fact(), words(Advice::DescribeRaw)))
            }
            _ => error.into(),
        })?;
        for note in contents.notes() {
            out::note(&format!("{}: {note}", terminal::path(&path)));
        }
        Ok(Self { path, contents, rest })
    }

    /// Splits the name of an array from the expression. The name may be omitted for a file of one
    /// array.
    pub(crate) fn pick(&self) -> Result<Picked<'_>, Failure> {
        let entries = self.contents.entries();
        let expr_of = |entry: &Entry| match self.rest.strip_prefix(entry.name())? {
            "" => Some(String::new()),
            more => more.strip_prefix(':').map(str::to_owned),
        };
        if self.contents.format().has_names() && !self.rest.is_empty() {
            // Names may contain colons: the longest matching name wins.
            let named = entries.iter().filter_map(|entry| expr_of(entry).map(|expr| (entry, expr)));
            if let Some((entry, expr)) = named.max_by_key(|(entry, _)| entry.name().len()) {
                return Ok(Picked::One(entry, expr));
            }
        }
        let of_it = |name: &str| {
            self.rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        if let Some((_, why)) = self.contents.refused().find(|(name, _)| !name.is_empty() && of_it(name)) {
            return Err(self.failure(Some(why)));
        }
        match entries {
            [] if self.contents.refused().len() == 1 => {
                Err(self.failure(self.contents.single().err().as_ref()))
            }
            [entry] if self.contents.refused().len() == 0 || !self.rest.is_empty() => {
                Ok(Picked::One(entry, self.rest.clone()))
            }
            _ if self.rest.is_empty() => Ok(Picked::All),
            _ => {
                let name = self.rest.split(':').next().unwrap_or_default();
                Err(self.failure(self.contents.get(name).err().as_ref()))
            }
        }
    }

    /// The one array of the target.
    pub(crate) fn one(&self) -> Result<Opened, Failure> {
        match self.pick()? {
            Picked::One(entry, expr) => self.view(entry, expr),
            Picked::All => {
                let said = self.failure(self.contents.single().err().as_ref());
                Err(Failure::new(format_args!("{said}; name one, as FILE:NAME")))
            }
        }
    }

    /// Whether the target names an array of the file.
    pub(crate) fn is_named(&self) -> bool {
        self.contents.format().has_names() && !self.rest.is_empty()
    }

    /// Like [`Archive::view`], after comparing all bytes of the array with the file's checksum.
    pub(crate) fn verified_view(&self, entry: &Entry, expr: String) -> Result<Opened, Failure> {
        // Decoding already compares the checksum.
        if entry.copied_because().is_none() {
            let progress = progress::verifying(entry.nbytes());
            let verified = entry.verify();
            progress.finish_and_clear();
            verified.map_err(|error| self.failure(Some(&error)))?;
        }
        self.view(entry, expr)
    }

    /// Opens one array, and a view of it.
    pub(crate) fn view(&self, entry: &Entry, expr: String) -> Result<Opened, Failure> {
        let opened = entry.open().and_then(|array| array.at(&expr));
        let view = opened.map_err(|error| self.failure(Some(&error)))?;
        let opened = Opened {
            path: self.path.clone(),
            name: entry.name().to_owned(),
            expr,
            decoded: entry.copied_because(),
            view,
        };
        opened.check()?;
        Ok(opened)
    }

    fn failure(&self, error: Option<&crossdock::Error>) -> Failure {
        match error {
            Some(error) if error.is_fault() => Failure::shrank(&self.path, error),
            Some(error) => {
                Failure::new(format_args!("{}: {}", terminal::path(&self.path), error.in_words(words)))
            }
            None => Failure::new(format_args!("{}: the file has no arrays", terminal::path(&self.path))),
        }
    }
}

/// An array of a file, and the requested view.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The file.
    pub(crate) path: PathBuf,
    /// The name of the array in the file; empty without a name.
    pub(crate) name: String,
    /// The expression that selects the view; empty for the whole array.
    pub(crate) expr: String,
    /// Why it is not in place: the encoding in the file.
    pub(crate) decoded: Option<&'static str>,
    /// The view. Its memory is a guarded map of the file, unless it was decoded.
    pub(crate) view: DArray,
}

impl Opened {
    /// Opens one array, `FILE[:NAME][:EXPR]`, also for writing if requested.
    pub(crate) fn open(target: &OsStr, writable: bool) -> Result<Self, Failure> {
        let archive = Archive::open(target, OpenOptions::new().writable(writable))?;
        archive.one()
    }

    /// Opens `FILE[:EXPR]` as described, since the file does not describe itself.
    pub(crate) fn open_raw(target: &OsStr, description: &Description) -> Result<Self, Failure> {
        let (path, expr) = split(target)?;
        let whole = OpenOptions::new().raw(description.clone()).guarded(true).open(&path)?;
        let view = whole.at(&expr).map_err(|error| {
            Failure::new(format_args!("{}: {}", terminal::path(&path), error.in_words(words)))
        })?;
        let opened = Self { path, name: String::new(), expr, decoded: None, view };
        opened.check()?;
        Ok(opened)
    }

    /// Checks by the guard that the file did not shrink during the reads so far.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.view.fault().map_or(Ok(()), |fault| Err(Failure::shrank(&self.path, fault)))
    }

    /// Checks that the file is still as large as its map, for processes whose faults the guard does
    /// not see.
    pub(crate) fn check_size(&self) -> Result<(), Failure> {
        let (buffer, _) = self.view.buffer()?;
        let mapped = buffer.retained_nbytes() as u64;
        let Some((fd, _)) = buffer.descriptor() else { return Ok(()) };
        let size = fd.try_clone_to_owned().and_then(|fd| File::from(fd).metadata()).map(|data| data.len());
        match size {
            Ok(size) if size < mapped => {
                let detail = format_args!("the mapped file shrank from {mapped} to {size} bytes");
                Err(Failure::shrank(&self.path, detail))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::new(format_args!(
                "{}: its size could not be read: {}",
                terminal::path(&self.path),
                system_text(&error)
            ))),
        }
    }
}

/// The file of a target.
pub(crate) fn path_of(target: &OsStr) -> Result<PathBuf, Failure> {
    Ok(split(target)?.0)
}

/// The options to open one of several files: described by `--raw`, unless its ending is that of a
/// format that describes itself.
pub(crate) fn options(target: &OsStr, raw: Option<&Description>) -> Result<OpenOptions, Failure> {
    Ok(match (raw, Format::named(path_of(target)?)) {
        (Some(raw), None | Some(Format::Raw)) => OpenOptions::new().raw(raw.clone()),
        _ => OpenOptions::new(),
    })
}

/// Splits a target at the first colon that follows the name of an existing file; the whole target
/// if that is a file itself. `-` is standard input, which can be mapped if it is a file.
fn split(target: &OsStr) -> Result<(PathBuf, String), Failure> {
    if Path::new(target).exists() {
        return Ok((target.into(), String::new()));
    }
    let stdin = target.as_bytes().strip_prefix(b"-").filter(|rest| rest.is_empty() || rest[0] == b':');
    if let Some(rest) = stdin {
        return split(&OsString::from_vec([&b"/dev/stdin"[..], rest].concat()));
    }
    let bytes = target.as_bytes();
    let colons = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b':').map(|(at, _)| at);
    for at in colons {
        let path = Path::new(OsStr::from_bytes(&bytes[..at]));
        if at > 0 && path.exists() {
            let expr = OsString::from_vec(bytes[at + 1..].to_vec())
                .into_string()
                .map_err(|expr| Failure::new(format_args!("the view {expr:?} is not UTF-8")))?;
            return Ok((path.to_owned(), expr));
        }
    }
    // Opening the file gives the best error.
    let end = bytes.iter().position(|&byte| byte == b':').unwrap_or(bytes.len());
    Ok((Path::new(OsStr::from_bytes(&bytes[..end])).to_owned(), String::new()))
}
