//! The text that names an array in a file and a view of it: `trades.npz:prices[::2, 0].bid`.
//!
//! ```text
//!   FILE            its only array, or all of its arrays
//!   FILE[VIEW]      a view of its only array; also FILE:VIEW
//!   FILE:NAME       one of its arrays; also FILE['NAME']
//!   FILE:NAME[VIEW] a view of that array; also FILE:NAME:VIEW and FILE:NAME.FIELD
//!   TABLE:.NAME     a column of a table, as a field of records; also TABLE:.NAME[VIEW]
//! ```
//!
//! Names of files and of arrays may contain every character of this syntax: the longest name that
//! exists wins.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::array::expr::is_view;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::contents::{Contents, Entry};
use crate::exchange::files::format::Format;

/// No path of the system is longer.
const LONGEST_PATH: usize = 4096;

/// A path, and the name and the view behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    path: PathBuf,
    rest: String,
}

/// What a [`Target`] selects.
#[derive(Debug)]
pub enum Selected<'a> {
    /// One array, and the text of a view of it, for [`DArray::at`](crate::DArray::at).
    One(&'a Entry, String),
    /// The text names a file of several arrays, and none of them.
    All,
}

impl Target {
    /// Splits a text where the longest name of an existing file ends. O(1) without a colon or a
    /// bracket in it, and one call of the system for each of them otherwise.
    ///
    /// # Errors
    ///
    /// `is_value` if what follows the path is not UTF-8.
    pub fn new(text: &OsStr) -> Result<Self> {
        Self::split(text, &Path::exists)
    }

    /// As [`Target::new`], for the files of which `exists` returns true.
    pub fn split(text: &OsStr, exists: &dyn Fn(&Path) -> bool) -> Result<Self> {
        let bytes = text.as_encoded_bytes();
        let separators = bytes.iter().enumerate().filter(|(_, byte)| b":[".contains(byte)).map(|(at, _)| at);
        let drive = drive_nbytes(text);
        let separators: Vec<usize> = separators.filter(|&at| at > drive && at < LONGEST_PATH).collect();
        // SAFETY: the bytes are of an `OsStr`, cut before a colon or a bracket, or not at all.
        let prefix = |end: usize| Path::new(unsafe { OsStr::from_encoded_bytes_unchecked(&bytes[..end]) });
        if separators.is_empty() || exists(Path::new(text)) {
            return Ok(Self { path: text.into(), rest: String::new() });
        }
        let end = separators.iter().copied().rev().find(|&at| exists(prefix(at)));
        // Without such a file, opening a path gives the error: the shortest one with the ending of
        // a format, or else the shortest one.
        let end = end.unwrap_or_else(|| {
            let is_folder = |path: &&Path| !path.as_os_str().is_empty() && exists(path);
            let folder = Path::new(text).ancestors().skip(1).find(is_folder);
            let start = folder.map_or(0, |folder| folder.as_os_str().len());
            let closing = bytes.iter().rposition(|&byte| byte == b']').unwrap_or(0);
            let is_separator = |&at: &usize| at > start && (bytes[at] == b':' || at < closing);
            let mut ends = separators.iter().copied().filter(is_separator).chain([bytes.len()]);
            let first = ends.clone().next();
            let named = ends.find(|&end| Format::named(prefix(end)).is_some());
            named.or(first).unwrap_or(bytes.len())
        });
        let rest = bytes[end..].strip_prefix(b":").unwrap_or(&bytes[end..]);
        let rest = std::str::from_utf8(rest).map_err(|_| {
            Error::new(Kind::Value, format!("the view {:?} is not UTF-8", String::from_utf8_lossy(rest)))
        })?;
        Ok(Self { path: prefix(end).to_owned(), rest: rest.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name and the view; empty if the text is the name of a file.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// What follows the point of `TABLE:.NAME`.
    fn column(&self, format: Format) -> Option<&str> {
        let column = self.rest.strip_prefix('.').filter(|_| format == Format::Arrow)?;
        column.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_').then_some(column)
    }

    /// The array of the file that the text names, and the text of a view of it.
    ///
    /// # Errors
    ///
    /// `is_bounds` for a name that is not in the file, with the nearest one; `is_unsupported` for a
    /// view of a file of several arrays, for a name of several arrays, and if the file has no
    /// arrays; if the array cannot be opened, the reason.
    pub fn select<'a>(&self, contents: &'a Contents) -> Result<Selected<'a>> {
        if let Some(column) = self.column(contents.format())
            && contents.names().all(|name| after(&self.rest, name).is_none())
        {
            return Self { path: self.path.clone(), rest: column.to_owned() }.select(contents);
        }
        let entries = contents.entries();
        if self.rest.is_empty() {
            return match entries {
                [entry] if contents.refused().len() == 0 => Ok(Selected::One(entry, String::new())),
                [] if contents.refused().len() <= 1 => {
                    contents.single().map(|entry| Selected::One(entry, String::new()))
                }
                _ => Ok(Selected::All),
            };
        }
        if contents.format().has_names() {
            let named = entries.iter().filter_map(|entry| Some((entry, after(&self.rest, entry.name())?)));
            if let Some((entry, view)) = named.max_by_key(|(entry, _)| entry.name().len()) {
                contents.check_unique(entry.name())?;
                return Ok(Selected::One(entry, view.to_owned()));
            }
            if let Some((name, view)) = in_brackets(&self.rest)
                && (entries.len() != 1 || entries[0].name() == name)
            {
                return Ok(Selected::One(contents.get(name)?, view.to_owned()));
            }
            let mut refused = contents.refused().filter(|(name, _)| !name.is_empty());
            if let Some((_, why)) = refused.find(|(name, _)| after(&self.rest, name).is_some()) {
                return Err(why.again());
            }
        }
        let is_view = is_view(&self.rest);
        let is_name = self.rest.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        match entries {
            [entry] if is_view || !is_name || !contents.format().has_names() => {
                Ok(Selected::One(entry, self.rest.clone()))
            }
            [] => contents.single().map(|entry| Selected::One(entry, self.rest.clone())),
            [first, ..] if is_view => {
                let view = self.rest.trim();
                let view = if view.starts_with(['[', '.']) { view.to_owned() } else { format!("[{view}]") };
                let text = format!(
                    "{} is a view of one array, but {}; name one before the view, as {}{view}",
                    short(&self.rest),
                    contents.listed(),
                    first.name()
                );
                Err(Error::new(Kind::Unsupported, text))
            }
            _ => {
                let end = self.rest.find([':', '[']).unwrap_or(self.rest.len());
                contents.get(&self.rest[..end]).map(|entry| Selected::One(entry, self.rest[end..].to_owned()))
            }
        }
    }
}

/// The length of the name of a drive that the path begins with, which ends in a colon: Windows has
/// such.
fn drive_nbytes(path: &OsStr) -> usize {
    match Path::new(path).components().next() {
        Some(Component::Prefix(drive)) => drive.as_os_str().len(),
        _ => 0,
    }
}

/// What follows a name: a view after a colon, a subscript in brackets, or a field.
fn after<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let rest = rest.strip_prefix(name)?;
    match rest.chars().next() {
        None | Some('[' | '.') => Some(rest),
        Some(':') => Some(&rest[1..]),
        Some(_) => None,
    }
}

/// The name in `['name']`, and what follows it.
fn in_brackets(rest: &str) -> Option<(&str, &str)> {
    let quoted = rest.strip_prefix('[')?;
    let quote = quoted.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let (name, rest) = quoted[1..].split_once(quote)?;
    Some((name, after(rest.strip_prefix(']')?, "")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn split(text: &str, files: &[&str]) -> (String, String) {
        let exists = |path: &Path| files.contains(&path.to_str().unwrap());
        let target = Target::split(OsStr::new(text), &exists).unwrap();
        (target.path.to_str().unwrap().to_owned(), target.rest)
    }

    #[test]
    fn the_longest_file_that_exists_wins() {
        for (text, files, path, rest) in [
            ("a.npy", &["a.npy"][..], "a.npy", ""),
            ("a.npy:", &["a.npy"], "a.npy", ""),
            ("a.npy:::2", &["a.npy"], "a.npy", "::2"),
            ("a.npy[::2]", &["a.npy"], "a.npy", "[::2]"),
            ("a.npz:x[0].f", &["a.npz"], "a.npz", "x[0].f"),
            ("a.npz['x'][0]", &["a.npz"], "a.npz", "['x'][0]"),
            ("a[0].npy", &["a[0].npy", "a"], "a[0].npy", ""),
            ("a[0].npy[1]", &["a[0].npy", "a"], "a[0].npy", "[1]"),
            ("a:b.npy:::2", &["a:b.npy"], "a:b.npy", "::2"),
            ("b/a:c/x.npy:0", &["b", "b/a:c"], "b/a:c/x.npy", "0"),
            ("missing.npz:x[0]", &[], "missing.npz", "x[0]"),
            ("/a:c/missing.npz:x", &["/", "/a:c"], "/a:c/missing.npz", "x"),
            ("a/missing[0]", &["a"], "a/missing", "[0]"),
            ("missing-12:00.npy", &[], "missing-12:00.npy", ""),
            ("missing-12:00.npz:x[0].npy", &[], "missing-12:00.npz", "x[0].npy"),
            ("missing:x", &[], "missing", "x"),
            (":x", &[], ":x", ""),
            ("a\u{1b}[31m.npy", &[], "a\u{1b}[31m.npy", ""),
        ] {
            assert_eq!(split(text, files), (path.to_owned(), rest.to_owned()), "{text:?}");
        }
        // Quadratic work would take minutes.
        let long = ":".repeat(1 << 20);
        assert_eq!(split(&long, &[]).0.len(), 1);
    }
}
