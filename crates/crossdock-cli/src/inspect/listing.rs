//! A file of several arrays: a line for each. Only headers are decoded.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use crossdock::exchange::files::Entry;
use indicatif::BinaryBytes;
use serde_json::{Value, json};

use crate::open::Archive;
use crate::terminal;
use crate::terminal::shown;

const TITLE: Style = AnsiColor::Green.on_default().bold();

/// The most arrays, and the most texts, that are listed; `--json` lists all.
const MOST: usize = 500;

/// For people.
pub(super) fn as_text(archive: &Archive) -> String {
    let contents = &archive.contents;
    let entries = contents.entries();
    let nbytes: usize = entries.iter().map(Entry::nbytes).fold(0, usize::saturating_add);
    let in_place = entries.iter().filter(|entry| entry.copied_because().is_none()).count();
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{TITLE}{}{TITLE:#}", shown(&terminal::path(&archive.path)));
    let many = if entries.len() == 1 { "array" } else { "arrays" };
    let _ = writeln!(
        text,
        "  {} {many} of {nbytes} B{} in a {} file, {in_place} of them in place",
        entries.len(),
        if nbytes < 1024 { String::new() } else { format!(" ({})", BinaryBytes(nbytes as u64)) },
        contents.format()
    );
    if !entries.is_empty() {
        let _ = writeln!(text, "\n{TITLE}arrays{TITLE:#}");
        let mut table = table();
        table.set_header(["name", "dtype", "shape", "bytes", "where"]);
        for entry in entries.iter().take(MOST) {
            let shape: Vec<String> = entry.shape().iter().map(ToString::to_string).collect();
            let place = match (entry.copied_because(), offset(entry)) {
                (Some(why), _) => why.to_owned(),
                (None, Some(offset)) => format!("in place at byte {offset}"),
                (None, None) => "in place".to_owned(),
            };
            let shape = if shape.is_empty() { "()".to_owned() } else { shape.join(" x ") };
            table.add_row([
                shown(entry.name()),
                shown(&entry.dtype().to_string()),
                shape,
                entry.nbytes().to_string(),
                place,
            ]);
        }
        if let Some(column) = table.column_mut(3) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        put(&mut text, &table, entries.len());
    }
    if contents.refused().len() > 0 {
        let _ = writeln!(text, "\n{TITLE}arrays that cannot be opened{TITLE:#}");
        for (_, why) in contents.refused().take(MOST) {
            let _ = writeln!(text, "  {}", shown(&why.to_string()));
        }
        if contents.refused().len() > MOST {
            let _ = writeln!(text, "  … {} more (--json lists all)", contents.refused().len() - MOST);
        }
    }
    if contents.ignored().len() > 0 {
        let _ = writeln!(text, "\n{TITLE}not read{TITLE:#}");
        let mut table = table();
        for (name, nbytes) in contents.ignored().take(MOST) {
            let what = if name.is_empty() { "after the array".to_owned() } else { shown(name) };
            table.add_row([what, format!("{nbytes} B")]);
        }
        put(&mut text, &table, contents.ignored().len());
    }
    if !contents.metadata().is_empty() {
        let _ = writeln!(text, "\n{TITLE}texts{TITLE:#}");
        let mut table = table();
        for (name, said) in contents.metadata().iter().take(MOST) {
            let mut short: String = said.chars().take(60).collect();
            if short.len() < said.len() {
                short.push_str(" …");
            }
            table.add_row([shown(name), shown(&short)]);
        }
        put(&mut text, &table, contents.metadata().len());
    }
    text
}

/// For programs.
pub(super) fn as_json(archive: &Archive) -> Value {
    let contents = &archive.contents;
    let array = |entry: &Entry| {
        json!({
            "name": entry.name(),
            "dtype": entry.dtype().to_string(),
            "shape": entry.shape(),
            "nbytes": entry.nbytes(),
            "offset": offset(entry),
            "decoded": entry.copied_because(),
        })
    };
    let refused = contents.refused().map(|(name, why)| json!({ "name": name, "why": why.to_string() }));
    let ignored = contents.ignored().map(|(name, nbytes)| json!({ "name": name, "nbytes": nbytes }));
    let texts = contents.metadata().iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
    json!({
        "file": terminal::path(&archive.path),
        "format": contents.format().ending(),
        "metadata": Value::Object(texts.collect()),
        "arrays": contents.entries().iter().map(array).collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "ignored": ignored.collect::<Vec<_>>(),
    })
}

/// The byte of the file at which element 0 begins, if the array is in place.
fn offset(entry: &Entry) -> Option<u64> {
    if entry.copied_because().is_some() {
        return None;
    }
    // O(1), since the array is in place.
    let (buffer, within) = entry.open().ok()?.buffer().ok()?;
    buffer.descriptor().map(|(_, start)| start + within as u64)
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn put(text: &mut String, table: &Table, count: usize) {
    for line in table.lines() {
        let _ = writeln!(text, " {}", line.trim_end());
    }
    if count > MOST {
        let _ = writeln!(text, "  … {} more (--json lists all)", count - MOST);
    }
}
