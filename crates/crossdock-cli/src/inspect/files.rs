//! Many files at once: those of folders and patterns, and a line for each.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crossdock::exchange::files::Format;
use indicatif::BinaryBytes;

use crate::failure::{Failure, Result};
use crate::glob;
use crate::shards::Index;
use crate::table;
use crate::terminal;
use crate::terminal::shown;

/// The most folders within each other, and the most files, that are searched.
const DEEPEST: usize = 16;
const MOST: usize = 100_000;

/// The files that an argument stands for: itself, those of a folder, or those that match a pattern
/// in its last part.
pub(super) fn expand(target: &OsStr) -> Result<Vec<OsString>> {
    let path = Path::new(target);
    let mut files = Vec::new();
    if Index::find(path)?.is_some() {
        return Ok(vec![target.to_owned()]);
    }
    if path.is_dir() {
        search(path, 0, &mut files);
        if files.is_empty() {
            let path = terminal::path(path);
            return Err(Failure::new(format_args!("{path}: it is a directory without files of arrays")));
        }
    } else if let Some(pattern) = path.file_name().and_then(OsStr::to_str)
        && glob::is_pattern(pattern)
        && !path.exists()
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let names = std::fs::read_dir(folder).into_iter().flatten().take(MOST);
        let names = names.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let matching = names.filter(|name| glob::matches(pattern, name) && !name.starts_with('.'));
        files.extend(matching.map(|name| path.with_file_name(name)));
        if files.is_empty() {
            return Err(Failure::new(format_args!("{}: no file matches", terminal::path(path))));
        }
    } else {
        return Ok(vec![target.to_owned()]);
    }
    files.sort();
    Ok(files.into_iter().map(PathBuf::into_os_string).collect())
}

/// Adds the files whose endings name a format. Links to folders are not followed.
fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for found in std::fs::read_dir(folder).into_iter().flatten().filter_map(std::result::Result::ok) {
        let (path, is_folder) = (found.path(), found.file_type().is_ok_and(|kind| kind.is_dir()));
        if found.file_name().as_encoded_bytes().starts_with(b".") || files.len() >= MOST {
            continue;
        }
        if is_folder && depth < DEEPEST {
            search(&path, depth + 1, files);
        } else if !is_folder
            && Format::named(&path).is_some_and(|format| format != Format::Raw)
            && path.is_file()
        {
            files.push(path);
        }
    }
}

/// The line of one file in a table of files.
pub(super) struct FileLine {
    /// The format, the dtype and the shape.
    pub(super) cells: [String; 3],
    pub(super) nbytes: u64,
    pub(super) elements: u64,
}

/// A line for each file, and the totals.
pub(super) fn as_text(files: &[(String, FileLine)]) -> String {
    let mut table = table::plain();
    table.set_header(["file", "format", "dtype", "shape", "bytes"]);
    let mut all = (0u64, 0u64);
    for (name, line) in files {
        all = (all.0.saturating_add(line.nbytes), all.1.saturating_add(line.elements));
        let [format, dtype, shape] = line.cells.clone();
        table.add_row([shown(name), format, dtype, shape, line.nbytes.to_string()]);
    }
    let mut text = table::lines(&mut table, [4], "");
    let size = if all.0 < 1024 { String::new() } else { format!(" ({})", BinaryBytes(all.0)) };
    let (files, elements) = (table::counted(files.len() as u64, "file"), table::counted(all.1, "element"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{files}, {elements}, {} B{size}", all.0);
    text
}
