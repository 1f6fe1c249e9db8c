//! The arrays of a file, or of a checkpoint in several files: a line for each, and the totals. Only
//! headers are decoded.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use comfy_table::CellAlignment;
use crossdock::bindings::files::mapped_offset;
use crossdock::bindings::similar;
use crossdock::exchange::files::{Entry, Format};
use indicatif::BinaryBytes;
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::glob;
use crate::inspect::files::FileLine;
use crate::inspect::tree::{self, Branch};
use crate::open::Archive;
use crate::shards::Index;
use crate::table;
use crate::terminal;
use crate::terminal::shown;
use crate::words::words;

const TITLE: Style = AnsiColor::Green.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// The version of the JSON of a file; `docs/command.md` describes it.
const SCHEMA: &str = "crossdock.file/1";

/// The most arrays, and the most texts, that are listed; `--json` lists all.
const MOST: usize = 500;

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Sort {
    /// By name.
    Name,
    /// The largest first.
    Bytes,
}

/// One array.
#[derive(Debug)]
pub(super) struct ArrayRow {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) nbytes: usize,
    len: u64,
    offset: Option<u64>,
    decoded: Option<&'static str>,
    /// The file of a checkpoint in several files.
    file: Option<String>,
}

/// The contents of a file, or of a checkpoint.
#[derive(Debug)]
pub(super) struct Listing {
    path: String,
    format: Format,
    /// The number of files of a checkpoint.
    files: Option<usize>,
    rows: Vec<ArrayRow>,
    /// The number of arrays of which `rows` are those that a filter selects.
    all: usize,
    is_sorted: bool,
    refused: Vec<(String, String)>,
    ignored: Vec<(String, u64)>,
    texts: Vec<(String, String)>,
}

impl ArrayRow {
    fn of(entry: &Entry, file: Option<String>) -> Self {
        Self {
            name: entry.name().to_owned(),
            dtype: entry.dtype().to_string(),
            shape: entry.shape().to_vec(),
            nbytes: entry.nbytes(),
            len: entry.shape().iter().fold(1, |len, &axis| len.saturating_mul(axis as u64)),
            offset: offset(entry),
            decoded: entry.copied_because(),
            file,
        }
    }

    fn place(&self) -> String {
        match (&self.file, self.decoded, self.offset) {
            (Some(file), ..) => shown(file),
            (None, Some(why), _) => why.to_owned(),
            (None, None, Some(offset)) => format!("in place at byte {offset}"),
            (None, None, None) => "in place".to_owned(),
        }
    }

    fn shape(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        if shape.is_empty() { "()".to_owned() } else { shape.join(" x ") }
    }

    #[cfg(test)]
    pub(super) fn for_tests(name: &str) -> Self {
        let (dtype, shape) = ("float32".to_owned(), vec![1]);
        Self {
            name: name.to_owned(),
            dtype,
            shape,
            nbytes: 4,
            len: 1,
            offset: None,
            decoded: None,
            file: None,
        }
    }
}

impl Listing {
    pub(super) fn of_archive(archive: &Archive) -> Self {
        let contents = &archive.contents;
        let rows: Vec<ArrayRow> = contents.entries().iter().map(|entry| ArrayRow::of(entry, None)).collect();
        Self {
            path: terminal::path(&archive.path),
            format: contents.format(),
            files: None,
            all: rows.len(),
            rows,
            is_sorted: false,
            refused: contents
                .refused()
                .map(|(name, why)| (name.to_owned(), why.in_words(words).to_string()))
                .collect(),
            ignored: contents.ignored().map(|(name, nbytes)| (name.to_owned(), nbytes)).collect(),
            texts: contents.metadata().to_vec(),
        }
    }

    /// The arrays of a checkpoint that its index names, in the files that it names.
    pub(super) fn of_shards(index: &Index, archives: &[Archive]) -> Self {
        let mut rows = Vec::new();
        let (mut refused, mut texts) = (Vec::new(), Vec::new());
        for archive in archives {
            let file = archive.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_here = |name: &str| index.file_of(name) == Some(&file);
            let entries = archive.contents.entries().iter().filter(|entry| is_here(entry.name()));
            rows.extend(entries.map(|entry| ArrayRow::of(entry, Some(file.clone()))));
            refused.extend(
                archive
                    .contents
                    .refused()
                    .map(|(name, why)| (name.to_owned(), why.in_words(words).to_string())),
            );
            for text in archive.contents.metadata() {
                if !texts.contains(text) {
                    texts.push(text.clone());
                }
            }
        }
        let path = terminal::path(&index.path);
        let format = archives.first().map_or(Format::Safetensors, |archive| archive.contents.format());
        let (all, files, ignored) = (rows.len(), Some(archives.len()), Vec::new());
        Self { path, format, files, all, rows, is_sorted: false, refused, ignored, texts }
    }

    /// Keeps the arrays whose names match a pattern.
    pub(super) fn filter(&mut self, pattern: &str) -> Result<()> {
        let names: Vec<String> = self.rows.iter().map(|row| row.name.clone()).collect();
        self.rows.retain(|row| glob::matches(pattern, &row.name));
        if self.rows.is_empty() {
            let near = similar(pattern, names.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let (path, all) = (&self.path, self.all);
            let text = format!("{path}: no name of the {all} arrays matches {pattern:?}{near}");
            return Err(Failure::new(text));
        }
        Ok(())
    }

    pub(super) fn sort(&mut self, by: Sort) {
        self.is_sorted = true;
        match by {
            Sort::Name => self.rows.sort_by(|a, b| a.name.cmp(&b.name)),
            Sort::Bytes => self.rows.sort_by_key(|row| Reverse(row.nbytes)),
        }
    }

    fn nbytes(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.nbytes as u64))
    }

    fn elements(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.len))
    }

    /// The bytes of each dtype.
    fn by_dtype(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for row in &self.rows {
            let sum: &mut u64 = sums.entry(row.dtype.as_str()).or_default();
            *sum = sum.saturating_add(row.nbytes as u64);
        }
        sums
    }

    /// The line of this file in a table of files.
    pub(super) fn line(&self) -> FileLine {
        let cells = match self.rows.as_slice() {
            [row] => [self.format.to_string(), shown(&row.dtype), row.shape()],
            rows => [self.format.to_string(), String::new(), format!("{} arrays", rows.len())],
        };
        FileLine { cells, nbytes: self.nbytes(), elements: self.elements() }
    }

    /// For people.
    pub(super) fn as_text(&self) -> String {
        let nbytes = self.nbytes();
        let mut text = String::new();
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{TITLE}{}{TITLE:#}", shown(&self.path));
        let many = if self.rows.len() == 1 { "array" } else { "arrays" };
        let of = if self.rows.len() < self.all { format!(" (of {})", self.all) } else { String::new() };
        let size = if nbytes < 1024 { String::new() } else { format!(" ({})", BinaryBytes(nbytes)) };
        let place = match self.files {
            Some(1) => format!("in 1 {} file", self.format),
            Some(files) => format!("in {files} {} files", self.format),
            None => {
                let in_place = self.rows.iter().filter(|row| row.decoded.is_none()).count();
                format!("in a {} file, {in_place} of them in place", self.format)
            }
        };
        let _ = writeln!(text, "  {} {many}{of} of {nbytes} B{size} {place}", self.rows.len());
        let dtypes: Vec<String> = self
            .by_dtype()
            .into_iter()
            .map(|(dtype, nbytes)| format!("{} of {}", BinaryBytes(nbytes), shown(dtype)))
            .collect();
        if self.rows.len() > 1 {
            let _ = writeln!(text, "  {} elements: {}", self.elements(), dtypes.join(", "));
        }
        self.put_arrays(&mut text);
        if !self.refused.is_empty() {
            let _ = writeln!(text, "\n{TITLE}arrays that cannot be opened{TITLE:#}");
            for (_, why) in self.refused.iter().take(MOST) {
                let _ = writeln!(text, "  {}", shown(why));
            }
            more(&mut text, self.refused.len());
        }
        if !self.ignored.is_empty() {
            let _ = writeln!(text, "\n{TITLE}not read{TITLE:#}");
            let mut table = table::plain();
            for (name, nbytes) in self.ignored.iter().take(MOST) {
                let what = if name.is_empty() { "after the array".to_owned() } else { shown(name) };
                table.add_row([what, format!("{nbytes} B")]);
            }
            text += &table::lines(&mut table, [], "  ");
            more(&mut text, self.ignored.len());
        }
        if !self.texts.is_empty() {
            let _ = writeln!(text, "\n{TITLE}texts{TITLE:#}");
            let mut table = table::plain();
            for (name, said) in self.texts.iter().take(MOST) {
                let mut short: String = said.chars().take(60).collect();
                if short.len() < said.len() {
                    short.push_str(" …");
                }
                table.add_row([shown(name), shown(&short)]);
            }
            text += &table::lines(&mut table, [], "  ");
            more(&mut text, self.texts.len());
        }
        text
    }

    fn put_arrays(&self, text: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{TITLE}arrays{TITLE:#}");
        let branches = match self.is_sorted {
            true => {
                self.rows.iter().map(|row| Branch::Leaf { label: row.name.clone(), depth: 0, row }).collect()
            }
            false => tree::branches(&self.rows),
        };
        let mut table = table::plain();
        table.set_header(["name", "dtype", "shape", "bytes", "where"]);
        let shown = |label: &str| if label.is_empty() { "\"\"".to_owned() } else { shown(label) };
        for branch in branches.iter().take(MOST) {
            match branch {
                Branch::Leaf { label, depth, row } => table.add_row([
                    format!("{}{}", "  ".repeat(*depth), shown(label)),
                    shown(&row.dtype),
                    row.shape(),
                    row.nbytes.to_string(),
                    row.place(),
                ]),
                Branch::Group { label, depth, arrays, nbytes } => table.add_row([
                    format!("{}{}", "  ".repeat(*depth), shown(label)),
                    String::new(),
                    format!("{arrays} arrays"),
                    nbytes.to_string(),
                    String::new(),
                ]),
            };
        }
        if let Some(column) = table.column_mut(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let groups: Vec<bool> =
            branches.iter().map(|branch| matches!(branch, Branch::Group { .. })).collect();
        for (at, line) in table.lines().enumerate() {
            // The first line is the header.
            let is_group = at > 0 && groups.get(at - 1) == Some(&true);
            let style = if is_group { DIM } else { Style::new() };
            let _ = writeln!(text, " {style}{}{style:#}", line.trim_end());
        }
        more(text, branches.len());
    }

    /// For programs.
    pub(super) fn as_json(&self) -> Value {
        let array = |row: &ArrayRow| {
            let mut array = json!({
                "name": row.name,
                "dtype": row.dtype,
                "shape": row.shape,
                "nbytes": row.nbytes,
                "offset": row.offset,
                "decoded": row.decoded,
            });
            if let Some(file) = &row.file {
                array["file"] = file.as_str().into();
            }
            array
        };
        let refused = self.refused.iter().map(|(name, why)| json!({ "name": name, "why": why }));
        let ignored = self.ignored.iter().map(|(name, nbytes)| json!({ "name": name, "nbytes": nbytes }));
        let texts = self.texts.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        json!({
            "schema": SCHEMA,
            "file": self.path,
            "format": self.format.ending(),
            "files": self.files,
            "totals": {
                "arrays": self.rows.len(),
                "elements": self.elements(),
                "nbytes": self.nbytes(),
                "by_dtype": self.by_dtype(),
            },
            "metadata": Value::Object(texts.collect()),
            "arrays": self.rows.iter().map(array).collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
            "ignored": ignored.collect::<Vec<_>>(),
        })
    }
}

/// The byte of the file at which element 0 begins, if the array is in place.
fn offset(entry: &Entry) -> Option<u64> {
    if entry.copied_because().is_some() {
        return None;
    }
    // O(1), since the array is in place.
    let (buffer, within) = entry.open().ok()?.buffer().ok()?;
    mapped_offset(&buffer).map(|start| start + within as u64)
}

fn more(text: &mut String, count: usize) {
    if count > MOST {
        let _ = writeln!(text, "  … {} more (--json lists all)", count - MOST);
    }
}
