//! A report for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use crossdock::DArray;
use crossdock::element::{DType, DTypeKind};
use crossdock::exchange::Outcome;
use indicatif::BinaryBytes;

use crate::inspect::picture::Picture;
use crate::inspect::protocols::{ConsumerRow, ProtocolRow};
use crate::inspect::report::InspectReport;
use crate::inspect::sketch::{self, SketchGlyphs};
use crate::inspect::statistics::{Found, Statistics};
use crate::inspect::summary;
use crate::terminal::shown;

const TITLE: Style = AnsiColor::Green.on_default().bold();
const YES: Style = AnsiColor::Green.on_default();
const NO: Style = AnsiColor::Yellow.on_default();

/// The most fields that are printed; `--json` prints all.
const MOST_FIELDS: usize = 50;

/// Writes the report. The stream keeps or removes the styles. `array` is what was opened, and
/// `values` are the printed ones with the number of rows.
pub(super) fn write(
    report: &InspectReport,
    array: Option<&DArray>,
    glyphs: SketchGlyphs,
    values: Option<(usize, &str)>,
) -> String {
    let mut text = String::new();
    let name = if report.name.is_empty() { String::new() } else { format!(", array {}", report.name) };
    let view = if report.view.is_empty() { String::new() } else { format!(" at {}", report.view) };
    title(&mut text, &format!("{}{name}{view}", report.file));
    facts(&mut text, report, glyphs);
    if let Some(array) = array {
        title(&mut text, "\nin memory");
        text += &sketch::draw(array, glyphs);
    }
    if let Some(statistics) = &report.statistics {
        let told: Vec<&Statistics> =
            statistics.iter().filter(|one| !matches!(one.found, Found::Nothing)).collect();
        if !told.is_empty() && report.len > 0 {
            title(&mut text, "\nstatistics");
            summary::write(&mut text, &told, glyphs);
        }
    }
    if let Some((rows, values)) = values {
        let all = report.shape.first().copied().unwrap_or(1);
        let part =
            if all > rows { format!("the first {rows} of {all} along axis 0") } else { "all".to_owned() };
        title(&mut text, &format!("\nvalues, {part}"));
        text += values;
    }
    if let Some(exchange) = &report.exchange {
        title(&mut text, "\nprotocols that export it");
        protocols(&mut text, &exchange.protocols);
        title(&mut text, "\nwhat libraries make of it, as a crossdock.Array in Python");
        consumers(&mut text, &exchange.consumers);
    }
    text
}

/// Adds a picture below the report.
pub(super) fn add_picture(text: &mut String, picture: &Picture) {
    title(text, &format!("\n{}", picture.caption));
    *text += &picture.drawing;
}

fn title(text: &mut String, words: &str) {
    let (start, words) = words.strip_prefix('\n').map_or(("", words), |words| ("\n", words));
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{start}{TITLE}{}{TITLE:#}", shown(words));
}

fn facts(text: &mut String, report: &InspectReport, glyphs: SketchGlyphs) {
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<10} {}", shown(value));
    };
    match report.dtype.kind() {
        DTypeKind::Record(record) => {
            fact("dtype", &format!("record of {} bytes", record.itemsize()));
            let mut lines = Vec::new();
            fields(&report.dtype, 0, 0, &mut lines);
            let hidden = lines.len().saturating_sub(MOST_FIELDS);
            lines.iter().take(MOST_FIELDS).for_each(|line| fact("", line));
            if hidden > 0 {
                fact("", &format!("… {hidden} more fields (--json lists all)"));
            }
        }
        _ => fact("dtype", &report.dtype.to_string()),
    }
    let joined = |numbers: Vec<String>, by: &str| match numbers.is_empty() {
        true => "(), a single element".to_owned(),
        false => numbers.join(by),
    };
    let times = format!(" {} ", glyphs.times);
    fact("shape", &joined(report.shape.iter().map(ToString::to_string).collect(), &times));
    let many = if report.len == 1 { "element" } else { "elements" };
    let size = match report.nbytes {
        0..1024 => String::new(),
        nbytes => format!(" ({})", BinaryBytes(nbytes as u64)),
    };
    let size = format!("{} {many} of {} B: {} B{size}", report.len, report.itemsize, report.nbytes);
    let Some(opened) = &report.opened else {
        fact("size", &size);
        let how = report.decoded.unwrap_or("encoded");
        fact("stored", &format!("{how}: decoded when it is opened (--stats, --values and --picture do)"));
        return;
    };
    fact("strides", &joined(opened.strides.iter().map(|stride| format!("{stride} B")).collect(), ", "));
    fact(
        "order",
        match opened.orders.as_slice() {
            ["C", "F"] => "both C (row-major) and F (column-major), contiguous",
            ["C"] => "C (row-major), contiguous",
            ["F"] => "F (column-major), contiguous",
            _ => "neither C nor F: not contiguous",
        },
    );
    fact("size", &size);
    let place = format!(
        "{}, {}{}{}",
        opened.place,
        opened.backing,
        if opened.readonly { ", read-only" } else { "" },
        if opened.birth == "aliased" { ", aliased (other processes may write it)" } else { "" }
    );
    fact("place", &place);
    fact(
        "alignment",
        &format!(
            "{}, address a multiple of {}: {} for {} B",
            match opened.offset {
                Some(offset) => format!("byte {offset} of the file"),
                None =>
                    format!("byte 0 of new memory (decoded once: {})", report.decoded.unwrap_or("a copy")),
            },
            opened.address_alignment,
            if opened.is_aligned { "aligned" } else { "not aligned" },
            opened.dtype_alignment
        ),
    );
}

/// One line per field, with nested fields indented.
fn fields(dtype: &DType, depth: usize, base: usize, lines: &mut Vec<String>) {
    let record = match dtype.kind() {
        DTypeKind::Record(record) => record,
        DTypeKind::SubArray(subarray) => return fields(subarray.base(), depth, base, lines),
        DTypeKind::Scalar(_) => return,
    };
    for field in record.fields() {
        let what = match field.dtype().kind() {
            DTypeKind::Record(_) => "record".to_owned(),
            DTypeKind::SubArray(subarray) if subarray.base().as_record().is_some() => {
                format!("records {:?}", subarray.shape())
            }
            _ => field.dtype().to_string(),
        };
        let at = base + field.offset();
        lines.push(format!("{}{}: {what} at byte {at}", "  ".repeat(depth), field.name()));
        fields(field.dtype(), depth + 1, at, lines);
    }
}

fn consumers(text: &mut String, rows: &[ConsumerRow]) {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in rows {
        let style = if row.outcome == Outcome::InPlace.name() { YES } else { NO };
        let _ = write!(text, "  {:<width$}  {style}{}{style:#}", row.name, row.outcome);
        if !row.reason.is_empty() {
            let _ = write!(
                text,
                "{:pad$}{}",
                "",
                shown(&row.reason),
                pad = 10usize.saturating_sub(row.outcome.len())
            );
        }
        text.push('\n');
    }
}

fn protocols(text: &mut String, rows: &[ProtocolRow]) {
    let width = rows.iter().map(|row| row.protocol.len()).max().unwrap_or(0);
    for row in rows {
        let (style, word) = if row.in_place { (YES, "in place") } else { (NO, "not     ") };
        let mut why = row.reason.clone().unwrap_or_default();
        if let Some(nbytes) = row.would_copy {
            let _ = write!(why, " (a copy would take {nbytes} B)");
        }
        let line = format!("  {:<width$}  {style}{word}{style:#}  {}", row.protocol, shown(&why));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
