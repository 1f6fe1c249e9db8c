//! `FILE[:NAME][VIEW]`: an array in a file, and a view of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crossdock::DArray;
use crossdock::bindings::files::{Selected, Target, mapped_nbytes};
use crossdock::bindings::{Advice, similar, system_text};
use crossdock::exchange::files::arrow_ipc::IpcFile;
use crossdock::exchange::files::raw::Description;
use crossdock::exchange::files::{Contents, Entry, Format, OpenOptions};

use crate::failure::Failure;
use crate::shards::Index;
use crate::words::words;
use crate::{out, progress, status, terminal};

/// An opened file, its contents, and the rest of the argument after the file's name.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The file.
    pub(crate) path: PathBuf,
    /// The contents. Mapped and guarded; an array is decoded when it is opened.
    pub(crate) contents: Contents,
    target: Target,
}

impl Archive {
    /// Opens `FILE[:NAME][VIEW]`. The file is guarded for any options.
    pub(crate) fn open(target: &OsStr, options: OpenOptions) -> Result<Self, Failure> {
        let target = split(target)?;
        let path = target.path().to_owned();
        if let (true, Some(index)) = (target.rest().is_empty(), Index::find(&path)?) {
            return Err(index.many());
        }
        let contents = options.guarded(true).open_all(&path).map_err(|error| match Format::named(&path) {
            Some(Format::Raw) if error.is_unsupported() => {
                Failure::new(format_args!("{}; {}", error.fact(), words(Advice::DescribeRaw)))
            }
            _ => not_found(&path, error),
        })?;
        for note in contents.notes() {
            out::note(&format!("{}: {note}", terminal::path(&path)));
        }
        Ok(Self { path, contents, target })
    }

    /// What the target selects. The name may be omitted for a file of one array.
    pub(crate) fn pick(&self) -> Result<Selected<'_>, Failure> {
        if let Some(name) = self.unquoted() {
            let (path, rest) = (terminal::path(&self.path), self.target.rest());
            return Err(Failure::new(format_args!(
                "{path}: {rest} is not a view; write \"{path}:{name}\" or \"{path}['{name}']\""
            )));
        }
        self.target.select(&self.contents).map_err(|error| self.failure(&error))
    }

    /// The name of an array in brackets without the quotes, which a shell has removed.
    fn unquoted(&self) -> Option<&str> {
        let name = self.target.rest().strip_prefix('[')?.strip_suffix(']')?;
        let is_view = !name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        let found = self.contents.names().find(|&other| other == name).filter(|_| !is_view);
        found.filter(|_| self.contents.names().all(|other| other != self.target.rest()))
    }

    /// The one array of the target.
    pub(crate) fn one(&self) -> Result<Opened, Failure> {
        match self.pick()? {
            Selected::One(entry, expr) => self.view(entry, expr),
            Selected::All => match self.contents.single() {
                Ok(entry) => self.view(entry, String::new()),
                Err(error) => {
                    Err(Failure::new(format_args!("{}; name one, as FILE:NAME", self.failure(&error))))
                }
            },
        }
    }

    /// Whether the target is the name of a file, and nothing else.
    pub(crate) fn is_whole(&self) -> bool {
        self.target.rest().is_empty()
    }

    /// Whether the target names an array of the file.
    pub(crate) fn is_named(&self) -> bool {
        self.contents.format().has_names() && !self.target.rest().is_empty()
    }

    /// Like [`Archive::view`], after comparing all bytes of the array with the file's checksum.
    pub(crate) fn verified_view(&self, entry: &Entry, expr: String) -> Result<Opened, Failure> {
        // Decoding already compares the checksum.
        if entry.copied_because().is_none() {
            let progress = progress::verifying(entry.nbytes());
            let verified = entry.verify();
            progress.finish_and_clear();
            verified.map_err(|error| self.failure(&error))?;
        }
        self.view(entry, expr)
    }

    /// Opens one array, and a view of it.
    pub(crate) fn view(&self, entry: &Entry, expr: String) -> Result<Opened, Failure> {
        let opened = entry.open().and_then(|array| array.at(&expr));
        let view = opened.map_err(|error| self.failure(&error))?;
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

    pub(crate) fn failure(&self, error: &crossdock::Error) -> Failure {
        match error.is_fault() {
            true => Failure::shrank(&self.path, error),
            false => Failure::new(format_args!("{}: {}", terminal::path(&self.path), error.in_words(words))),
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
    /// Opens one array, `FILE[:NAME][VIEW]`, also for writing if requested.
    pub(crate) fn open(target: &OsStr, writable: bool) -> Result<Self, Failure> {
        let archive = Archive::open(target, OpenOptions::new().writable(writable))?;
        archive.one()
    }

    /// Opens `FILE[VIEW]` as described, since the file does not describe itself.
    pub(crate) fn open_raw(target: &OsStr, description: &Description) -> Result<Self, Failure> {
        let target = split(target)?;
        let (path, expr) = (target.path().to_owned(), target.rest().to_owned());
        let contents = OpenOptions::new().raw(description.clone()).guarded(true).open_all(&path);
        let whole = contents.map_err(|error| not_found(&path, error))?.single()?.open()?;
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
        match mapped_nbytes(&buffer).unwrap_or(Ok(mapped)) {
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

/// Opens a file with a table, guarded for any options. `None` for other files, and for those that
/// cannot be read, since the errors of the reader of arrays have better suggestions.
pub(crate) fn table(path: &Path, options: OpenOptions) -> Result<Option<IpcFile>, Failure> {
    if !path.is_file() {
        return Ok(None);
    }
    match options.guarded(true).try_open_table(path) {
        Ok(file) => Ok(file),
        Err(error) if error.is_io() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A table in a file, or one of its columns.
#[derive(Debug)]
pub(crate) struct TableTarget {
    /// The file.
    pub(crate) path: PathBuf,
    pub(crate) file: IpcFile,
    /// The number of the column that the target names.
    pub(crate) column: Option<usize>,
}

impl TableTarget {
    /// Opens `TABLE` or `TABLE:NAME`; `None` for other files, and for a view of a column. The size
    /// of decoded batches is not limited.
    pub(crate) fn open(target: &OsStr) -> Result<Option<Self>, Failure> {
        let target = split(target)?;
        let path = target.path().to_owned();
        let Some(file) = table(&path, OpenOptions::new().limit(u64::MAX))? else { return Ok(None) };
        let column = match target.rest() {
            "" => None,
            rest => {
                let fields = file.schema().fields();
                let mut names = names_in(rest);
                let Some((name, index)) = names.find_map(|name| Some((name, file.schema().index_of(name)?)))
                else {
                    return Ok(None);
                };
                let count = fields.iter().filter(|field| field.name() == name).count();
                if count > 1 {
                    let path = terminal::path(&path);
                    let text = format!("{path}: {count} columns are named {name:?}; rename them apart");
                    return Err(Failure::new(text));
                }
                Some(index)
            }
        };
        Ok(Some(Self { path, file, column }))
    }
}

/// The column names that a text can mean: `NAME`, `.NAME`, `."NAME"` and `['NAME']`.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let field = text.strip_prefix('.');
    let bracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    [Some(text), field, field.and_then(unquoted), bracketed.and_then(unquoted)].into_iter().flatten()
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// The error for an option that applies to arrays, given with a table.
pub(crate) fn not_of_table(path: &Path, option: &str) -> Failure {
    let path = terminal::path(path);
    Failure::new(format_args!(
        "{path}: {option} applies to arrays, but the file holds a table; leave it out, or name a column, as \
        {path}:NAME"
    ))
    .with_status(status::USAGE)
}

/// The file of a target.
pub(crate) fn path_of(target: &OsStr) -> Result<PathBuf, Failure> {
    Ok(split(target)?.path().to_owned())
}

/// The options to open one of several files: described by `--raw`, unless its ending is that of a
/// format that describes itself.
pub(crate) fn options(target: &OsStr, raw: Option<&Description>) -> Result<OpenOptions, Failure> {
    Ok(match (raw, Format::named(path_of(target)?)) {
        (Some(raw), None | Some(Format::Raw)) => OpenOptions::new().raw(raw.clone()),
        _ => OpenOptions::new(),
    })
}

/// Splits a target. `-` is standard input, which can be mapped if it is a file; of a checkpoint in
/// several files, the one that has the array.
pub(crate) fn split(target: &OsStr) -> Result<Target, Failure> {
    if target.is_empty() {
        return Err(Failure::new("the name of the file is empty"));
    }
    // A name or a view that is not UTF-8 is none.
    let rest = target.to_str().and_then(|text| text.strip_prefix('-'));
    match rest.filter(|rest| rest.is_empty() || rest.starts_with([':', '['])) {
        Some(rest) if !Path::new(target).exists() => {
            Ok(Target::new(OsStr::new(&format!("/dev/stdin{rest}")))?)
        }
        _ => {
            let target = Target::new(target)?;
            let index = if target.rest().is_empty() { None } else { Index::find(target.path())? };
            index.map_or(Ok(target.clone()), |index| index.target(target.rest()))
        }
    }
}

/// The error of opening a file; if there is no such file, with the most similar name in its folder.
fn not_found(path: &Path, error: crossdock::Error) -> Failure {
    const MOST: usize = 10_000;
    let suggestion = || {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let files = std::fs::read_dir(folder).ok()?.take(MOST);
        let names: Vec<String> = files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect();
        let found = similar(name, names.iter().map(String::as_str))?;
        Some(terminal::path(&path.with_file_name(found)))
    };
    let is_empty = std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() == 0);
    if let (true, true, Some(format)) = (error.is_malformed(), is_empty, Format::named(path)) {
        let path = terminal::path(path);
        return Failure::new(format_args!("{path}: the {format} file is empty (0 bytes); save it again"));
    }
    if let (true, Some((file, field))) = (error.is_io() && !path.exists(), field_of(path)) {
        let (path, file) = (error.fact(), terminal::path(&file));
        return Failure::new(format_args!("{path}; write {file}:{field} for a field of its records"));
    }
    let is_missing = || !path.as_os_str().is_empty() && std::fs::symlink_metadata(path).is_err();
    match error.is_io().then(is_missing).and_then(|missing| if missing { suggestion() } else { None }) {
        Some(found) => Failure::new(format_args!("{}; did you mean {found}?", error.fact())),
        None => error.into(),
    }
}

/// The file and the field of `FILE.FIELD`, which lacks the colon.
fn field_of(path: &Path) -> Option<(PathBuf, &str)> {
    let name = path.file_name()?.to_str()?;
    let ends = name.match_indices('.').map(|(at, _)| at).filter(|&at| at > 0);
    let mut found = ends.map(|at| (path.with_file_name(&name[..at]), &name[at..]));
    found.rfind(|(file, _)| Format::named(file).is_some() && file.is_file())
}
