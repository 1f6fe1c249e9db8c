//! The statistics of an array, for people: lines for one field, a table for several.

use std::fmt::Write;

use crossdock::element::Value;

use crate::inspect::sketch::SketchGlyphs;
use crate::inspect::statistics::sample::{Distribution, counts_time};
use crate::inspect::statistics::{Found, Numbers, Statistics};
use crate::table;
use crate::terminal::shown;

/// The most fields that are printed; `--json` prints all.
const MOST_FIELDS: usize = 50;

/// Adds lines, each indented by two spaces.
pub(super) fn write(text: &mut String, told: &[&Statistics], glyphs: SketchGlyphs) {
    match told {
        [one] => match &one.found {
            Found::Numbers(numbers) => lines(text, one, numbers, glyphs),
            Found::Truths { no, yes } => {
                // Writing to a string cannot fail, here and below.
                let _ = writeln!(text, "  {yes} True, {no} False");
            }
            Found::Nothing => {}
        },
        _ => table(text, told, glyphs),
    }
}

fn lines(text: &mut String, one: &Statistics, numbers: &Numbers, glyphs: SketchGlyphs) {
    let field = if one.path.is_empty() { String::new() } else { format!("{}: ", shown(&one.path)) };
    let mut range = vec![format!("min {}", spelt(&numbers.least, one))];
    if let Some(found) = &numbers.distribution {
        let [low, middle, high] = found.quantiles.map(|quantile| quantile_text(found, quantile, one));
        range.extend([format!("25 % {low}"), format!("median {middle}"), format!("75 % {high}")]);
    }
    range.push(format!("max {}", spelt(&numbers.greatest, one)));
    let _ = writeln!(text, "  {field}{}", range.join(", "));
    let mut rest = Vec::new();
    rest.extend(numbers.mean.map(|mean| format!("mean {}", short(mean))));
    rest.extend(numbers.std.map(|std| format!("standard deviation {}", short(std))));
    rest.extend(counts(one, numbers));
    if !rest.is_empty() {
        let _ = writeln!(text, "  {}", rest.join(", "));
    }
    if numbers.outside > 0 {
        let _ = writeln!(text, "  {}", outside(numbers));
    }
    if let Some(found) = &numbers.distribution {
        let of = match found.sampled {
            Some(count) => format!(" quartiles and histogram of a sample of {count} elements"),
            None => String::new(),
        };
        let line = format!("  {0}{1}{0}{of}", glyphs.end(), glyphs.spark(&found.histogram));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Why there is no mean.
fn outside(numbers: &Numbers) -> String {
    let (count, are) = (numbers.outside, if numbers.outside == 1 { "number is" } else { "numbers are" });
    format!("no mean and no quartiles: {count} {are} outside the range of float64")
}

/// How many are NaN or zero.
fn counts(one: &Statistics, numbers: &Numbers) -> Vec<String> {
    let is_time = one.dtype.as_scalar().is_some_and(|scalar| counts_time(scalar.kind()));
    let missing = if is_time { "NaT" } else { "NaN" };
    let mut counts = Vec::new();
    if numbers.nan > 0 {
        counts.push(format!("{} {missing}", numbers.nan));
    }
    if numbers.zeros > 0 && !is_time {
        counts.push(format!("{} {}", numbers.zeros, if numbers.zeros == 1 { "zero" } else { "zeros" }));
    }
    counts
}

fn table(text: &mut String, told: &[&Statistics], glyphs: SketchGlyphs) {
    let mut table = table::plain();
    table.set_header(["field", "min", "median", "max", "mean", "std", "histogram", ""]);
    for one in told.iter().take(MOST_FIELDS) {
        let name = if one.path.is_empty() { "all".to_owned() } else { shown(&one.path) };
        let or_dash = |number: Option<f64>| number.map_or("-".to_owned(), short);
        let cells = match &one.found {
            Found::Numbers(numbers) => {
                let found = numbers.distribution.as_ref();
                [
                    spelt(&numbers.least, one),
                    found.map_or("-".to_owned(), |found| quantile_text(found, found.quantiles[1], one)),
                    spelt(&numbers.greatest, one),
                    or_dash(numbers.mean),
                    or_dash(numbers.std),
                    found.map_or(String::new(), |found| glyphs.spark(&found.halved())),
                    counts(one, numbers)
                        .into_iter()
                        .chain((numbers.outside > 0).then(|| outside(numbers)))
                        .collect::<Vec<_>>()
                        .join(", "),
                ]
            }
            Found::Truths { no, yes } => {
                let share = *yes as f64 / (no + yes).max(1) as f64;
                let extremes = [*no == 0, *yes > 0].map(|value| if value { "True" } else { "False" });
                let [least, greatest] = extremes.map(str::to_owned);
                let dash = || "-".to_owned();
                let counts = format!("{yes} True, {no} False");
                [least, dash(), greatest, short(share), dash(), String::new(), counts]
            }
            Found::Nothing => continue,
        };
        table.add_row([name].into_iter().chain(cells));
    }
    *text += &table::lines(&mut table, 1..6, "  ");
    if told.len() > MOST_FIELDS {
        let _ = writeln!(text, "  … {} more (--json lists all)", told.len() - MOST_FIELDS);
    }
}

fn spelt(value: &Option<Value>, one: &Statistics) -> String {
    match value {
        Some(Value::DateTime { .. } | Value::TimeDelta { .. }) => value
            .as_ref()
            .map_or(String::new(), |value| without_zeros(&value.display(&one.dtype).to_string())),
        Some(Value::Float(number)) if one.dtype.itemsize() > 4 => short_or_exact(*number),
        Some(value @ Value::LongDouble(_)) => {
            let text = value.display(&one.dtype).to_string();
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
        Some(value) => value.display(&one.dtype).to_string(),
        None => "-".to_owned(),
    }
}

/// Extremes have all their digits, unless those are too many to read.
fn short_or_exact(number: f64) -> String {
    let exact = number.to_string();
    if exact.len() <= 12 { exact } else { short(number) }
}

fn quantile_text(found: &Distribution, quantile: f64, one: &Statistics) -> String {
    match one.dtype.as_scalar().map(|scalar| scalar.kind()) {
        Some(kind) if counts_time(kind) => {
            let (low, high) = found.range;
            // Six digits of the range: more would be those of the interpolation.
            let step = 10f64.powf(((high - low) / 1e6).log10().floor()).max(1.0);
            without_zeros(&found.time(kind, (quantile / step).round() * step, &one.dtype))
        }
        _ => short(quantile),
    }
}

/// A date without the zeros that end its fraction of a second.
fn without_zeros(text: &str) -> String {
    match text.split_once('.') {
        Some((_, digits)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => text.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_digits_that_mean_something() {
        assert_eq!(without_zeros("2020-01-01T18:00:00.000000000"), "2020-01-01T18:00:00");
        assert_eq!(without_zeros("2020-01-01T18:00:00.500000010"), "2020-01-01T18:00:00.50000001");
        assert_eq!(without_zeros("2020-01-01"), "2020-01-01");
    }

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
