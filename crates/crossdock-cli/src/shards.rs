//! Checkpoints in several files: `*.index.json`, which names the file of each array.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use crossdock::bindings::files::Target;
use crossdock::bindings::{similar, system_text};
use crossdock::exchange::files::Format;
use crossdock::exchange::files::raw::Description;
use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::open::{Archive, Opened, options};
use crate::terminal;

/// A larger index is not read.
const LARGEST: u64 = 64 << 20;

/// The end of an index's name.
const ENDING: &str = ".index.json";

/// An index, and the folder with the files.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) path: PathBuf,
    arrays: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Document {
    weight_map: BTreeMap<String, String>,
}

impl Index {
    /// The index at a path: the file itself, or the only one in a folder.
    pub(crate) fn find(path: &Path) -> Result<Option<Self>> {
        let is_index = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes());
        if is_index(path) && path.is_file() {
            return Self::read(path).map(Some);
        }
        let Ok(folder) = std::fs::read_dir(path) else { return Ok(None) };
        let mut found = folder.filter_map(|file| Some(file.ok()?.path())).filter(|path| is_index(path));
        match (found.next(), found.next()) {
            (Some(only), None) => Self::read(&only).map(Some),
            _ => Ok(None),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let fail =
            |why: &dyn std::fmt::Display| Failure::new(format_args!("{}: {why}", terminal::path(path)));
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| fail(&system_text(&error)))?;
        file.take(LARGEST).read_to_string(&mut text).map_err(|error| fail(&system_text(&error)))?;
        let Document { weight_map } = serde_json::from_str(&text)
            .map_err(|error| fail(&format_args!("it is not the index of a checkpoint: {error}")))?;
        // An index names files beside it, and no others.
        if let Some(name) =
            weight_map.values().find(|name| Path::new(name).file_name() != Some(name.as_ref()))
        {
            return Err(fail(&format_args!("{name:?} is not the name of a file beside the index")));
        }
        Ok(Self { path: path.to_owned(), arrays: weight_map })
    }

    /// The files, each once. All of them exist.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> =
            self.arrays.values().map(|name| self.path.with_file_name(name)).collect();
        files.sort();
        files.dedup();
        files.iter().try_for_each(|file| self.check(file))?;
        Ok(files)
    }

    /// The name of the file of an array, if the index has the array.
    pub(crate) fn file_of(&self, array: &str) -> Option<&str> {
        self.arrays.get(array).map(String::as_str)
    }

    /// The target in the file of the array that begins the text, which may go on with a view.
    pub(crate) fn target(&self, rest: &str) -> Result<Target> {
        let named = self.arrays.iter().filter(|(name, _)| rest.starts_with(name.as_str()));
        let Some((_, file)) = named.max_by_key(|(name, _)| name.len()) else {
            let name = rest.split([':', '[']).next().unwrap_or_default();
            let near = similar(name, self.arrays.keys().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let (path, count) = (terminal::path(&self.path), self.arrays.len());
            return Err(Failure::new(format_args!("{path}: no array is named {name:?} among {count}{near}")));
        };
        self.check(&self.path.with_file_name(file))?;
        let mut text: OsString = self.path.with_file_name(file).into();
        text.push(":");
        text.push(rest);
        Ok(Target::new(&text)?)
    }

    /// Refuses a file that the index names if it does not exist.
    fn check(&self, file: &Path) -> Result<()> {
        if !matches!(file.try_exists(), Ok(false)) {
            return Ok(());
        }
        let (path, name) = (terminal::path(&self.path), file.file_name().unwrap_or_default());
        let count = self.arrays.values().filter(|&other| OsStr::new(other) == name).count();
        let arrays = if count == 1 { "1 array".to_owned() } else { format!("{count} arrays") };
        Err(Failure::new(format_args!(
            "{path}: its file {name:?} with {arrays} is missing; copy it into the folder of the index"
        )))
    }

    /// The failure of a command that needs one array.
    pub(crate) fn many(&self) -> Failure {
        let (path, count) = (terminal::path(&self.path), self.arrays.len());
        Failure::new(format_args!("{path}: the checkpoint has {count} arrays; name one, as FILE:NAME"))
    }
}

/// A file, or the files of a checkpoint as one.
pub(crate) struct Archives {
    pub(crate) files: Vec<Archive>,
    pub(crate) index: Option<Index>,
}

impl Archives {
    /// Opens `FILE[:NAME][VIEW]`. A checkpoint without a name is all its files.
    pub(crate) fn open(target: &OsStr, raw: Option<&Description>) -> Result<Self> {
        let index = Index::find(Path::new(target))?;
        let open = |target: &OsStr| Archive::open(target, options(target, raw)?);
        let files = match &index {
            Some(index) => index.files()?.iter().map(|path| open(path.as_os_str())).collect::<Result<_>>()?,
            None => vec![open(target)?],
        };
        Ok(Self { files, index })
    }

    /// Whether the target stands for all arrays of a format with names.
    pub(crate) fn is_by_name(&self) -> bool {
        let is_one = |file: &Archive| !file.contents.format().has_names() || file.is_named();
        self.index.is_some() || !self.files.iter().any(is_one)
    }

    /// Whether the file of the target holds a table.
    pub(crate) fn is_table(&self) -> bool {
        self.files.iter().any(|file| file.contents.format() == Format::Arrow)
    }

    /// The names of all arrays, also of those that cannot be opened.
    pub(crate) fn names(&self) -> Vec<String> {
        if let Some(index) = &self.index {
            return index.arrays.keys().cloned().collect();
        }
        let contents = || self.files.iter().map(|file| &file.contents);
        let refused = contents().flat_map(|contents| contents.refused().map(|(name, _)| name.to_owned()));
        contents().flat_map(|contents| contents.names().map(str::to_owned)).chain(refused).collect()
    }

    /// One array of all.
    pub(crate) fn view(&self, name: &str) -> Result<Opened> {
        let file = self.files.iter().find(|file| self.is_in(name, file));
        let file = file.ok_or_else(|| Failure::new(format_args!("no array is named {name:?}")))?;
        file.view(file.contents.get(name).map_err(|error| file.failure(&error))?, String::new())
    }

    /// The one array of the target.
    pub(crate) fn one(&self) -> Result<Opened> {
        match (&self.index, self.files.first()) {
            (None, Some(file)) => file.one(),
            (Some(index), _) => Err(index.many()),
            (None, None) => Err(Failure::new("no file is given")),
        }
    }

    /// Whether the index, if there is one, says that the array is in this file.
    pub(crate) fn is_in(&self, name: &str, file: &Archive) -> bool {
        let Some(index) = &self.index else { return true };
        index.file_of(name).is_some_and(|of| file.path.file_name() == Some(of.as_ref()))
    }
}
