//! A report for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use crossdock::DArray;
use crossdock::element::{DType, DTypeKind};
use crossdock::exchange::Outcome;
use indicatif::BinaryBytes;

use crate::inspect::picture::Picture;
use crate::inspect::protocols::{ConsumerRow, ProtocolRow};
use crate::inspect::report::InspectReport;
use crate::inspect::sketch::{self, SketchGlyphs};
use crate::inspect::statistics::{Found, Statistics};
use crate::terminal::shown;

const TITLE: Style = AnsiColor::Green.on_default().bold();
const YES: Style = AnsiColor::Green.on_default();
const NO: Style = AnsiColor::Yellow.on_default();

/// The most fields that are printed; `--json` prints all.
const MOST_FIELDS: usize = 50;

/// Writes the report. The stream keeps or removes the styles.
pub(super) fn write(
    report: &InspectReport,
    array: &DArray,
    glyphs: SketchGlyphs,
    picture: Option<&Picture>,
) -> String {
    let mut text = String::new();
    let name = if report.name.is_empty() { String::new() } else { format!(", array {}", report.name) };
    let view = if report.view.is_empty() { String::new() } else { format!(" at {}", report.view) };
    title(&mut text, &format!("{}{name}{view}", report.file));
    facts(&mut text, report, glyphs);
    title(&mut text, "\nin memory");
    text += &sketch::draw(array, glyphs);
    let told: Vec<&Statistics> =
        report.statistics.iter().filter(|one| !matches!(one.found, Found::Nothing)).collect();
    if !told.is_empty() && report.len > 0 {
        title(&mut text, "\nvalues");
        values(&mut text, &told);
    }
    if let Some(picture) = picture {
        title(&mut text, &format!("\n{}", picture.caption));
        text += &picture.drawing;
    }
    if let Some(exchange) = &report.exchange {
        title(&mut text, "\nprotocols that export it");
        protocols(&mut text, &exchange.protocols);
        title(&mut text, "\nwhat libraries make of it, as a crossdock.Array in Python");
        consumers(&mut text, &exchange.consumers);
    }
    text
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
    fact("strides", &joined(report.strides.iter().map(|stride| format!("{stride} B")).collect(), ", "));
    fact(
        "order",
        match report.orders.as_slice() {
            ["C", "F"] => "both C (row-major) and F (column-major), contiguous",
            ["C"] => "C (row-major), contiguous",
            ["F"] => "F (column-major), contiguous",
            _ => "neither C nor F: not contiguous",
        },
    );
    let many = if report.len == 1 { "element" } else { "elements" };
    let size = match report.nbytes {
        0..1024 => String::new(),
        nbytes => format!(" ({})", BinaryBytes(nbytes as u64)),
    };
    fact("size", &format!("{} {many} of {} B: {} B{size}", report.len, report.itemsize, report.nbytes));
    let place = format!(
        "{}, {}{}{}",
        report.place,
        report.backing,
        if report.readonly { ", read-only" } else { "" },
        if report.birth == "aliased" { ", aliased (other processes may write it)" } else { "" }
    );
    fact("place", &place);
    fact(
        "alignment",
        &format!(
            "element 0 at {}, a multiple of {} in memory; {} for {} B",
            match report.offset {
                Some(offset) => format!("byte {offset} of the file"),
                None =>
                    format!("byte 0 of new memory (decoded once: {})", report.decoded.unwrap_or("a copy")),
            },
            report.address_alignment,
            if report.is_aligned { "aligned" } else { "not aligned" },
            report.dtype_alignment
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

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn put(text: &mut String, table: &Table) {
    for line in table.lines() {
        let _ = writeln!(text, " {}", line.trim_end());
    }
}

fn values(text: &mut String, told: &[&Statistics]) {
    let mut table = table();
    table.set_header(["field", "min", "max", "mean", ""]);
    for one in told.iter().take(MOST_FIELDS) {
        let name = if one.path.is_empty() { "all".to_owned() } else { shown(&one.path) };
        let cells = match &one.found {
            Found::Numbers { least, greatest, mean, nan } => {
                let spelt = |value: &Option<crossdock::element::Value>| match value {
                    Some(value) => value.display(&one.dtype).to_string(),
                    None => "-".to_owned(),
                };
                let missing = if mean.is_some() || least.is_none() { "NaN" } else { "NaT" };
                let nan = if *nan > 0 { format!("{nan} {missing}") } else { String::new() };
                [spelt(least), spelt(greatest), mean.map_or("-".to_owned(), short), nan]
            }
            Found::Truths { no, yes } => {
                let share = *yes as f64 / (no + yes).max(1) as f64;
                let extremes = [*no == 0, *yes > 0].map(|value| if value { "True" } else { "False" });
                let [least, greatest] = extremes.map(str::to_owned);
                [least, greatest, short(share), format!("{yes} True, {no} False")]
            }
            Found::Nothing => continue,
        };
        table.add_row([name].into_iter().chain(cells));
    }
    for column in 1..4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    put(text, &table);
    if told.len() > MOST_FIELDS {
        let _ = writeln!(text, "  … {} more (--json lists all)", told.len() - MOST_FIELDS);
    }
}

/// About six digits, for display.
fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || !number.is_finite() {
        number.to_string()
    } else if (1e-4..1e9).contains(&size) {
        let decimals = (5 - size.log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{number:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    } else {
        format!("{number:.5e}")
    }
}

fn consumers(text: &mut String, rows: &[ConsumerRow]) {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in rows {
        let style = if row.outcome == Outcome::InPlace.name() { YES } else { NO };
        let line =
            format!("  {:<width$}  {style}{:<8}{style:#}  {}", row.name, row.outcome, shown(&row.reason));
        let _ = writeln!(text, "{}", line.trim_end());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_shown_with_some_six_digits() {
        for (number, text) in [
            (0.0, "0"),
            (65.276_08, "65.2761"),
            (-0.5, "-0.5"),
            (531_000.0, "531000"),
            (123_456_789.4, "123456789"),
            (1e12, "1.00000e12"),
            (0.000_012_345_6, "1.23456e-5"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
