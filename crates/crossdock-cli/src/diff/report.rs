//! What was found, as text and as JSON.

use crossdock::element::{DType, Value};
use serde_json::{Value as Json, json};

use crate::diff::columns::ColumnDiff;
use crate::diff::compare::{ArrayDiff, FieldDiff};
use crate::diff::elements::Differences;
use crate::diff::rule::{json_of, short};
use crate::diff::tiles::index_at;
use crate::failure::{Failure, Result};

/// The arrays of two files, or the columns of two tables, compared by name.
#[derive(Debug, Default)]
pub(super) struct FileDiff {
    /// The two targets, as text.
    pub(super) targets: [String; 2],
    /// Whether both targets are tables, or columns of tables.
    pub(super) is_of_tables: bool,
    /// The names of the arrays, or columns, in one file only.
    pub(super) only: [Vec<String>; 2],
    /// The arrays or columns of both files in the order of the first, with their names; one without
    /// a name.
    pub(super) common: Vec<(Option<String>, CommonDiff)>,
    /// The arrays or columns that could not be compared, and why.
    pub(super) failed: Vec<(String, Failure)>,
}

/// An array or column of both files, compared.
#[derive(Debug)]
pub(super) enum CommonDiff {
    /// Two arrays, or columns that were compared as arrays.
    Arrays(ArrayDiff),
    /// Columns that were compared element by element.
    Columns(ColumnDiff),
}

impl CommonDiff {
    fn differs(&self) -> bool {
        match self {
            Self::Arrays(diff) => diff.differs,
            Self::Columns(diff) => diff.differs,
        }
    }
}

impl FileDiff {
    pub(super) fn differs(&self) -> bool {
        self.only.iter().any(|only| !only.is_empty()) || self.differing() > 0
    }

    /// How many of the common arrays and columns differ.
    fn differing(&self) -> usize {
        self.common.iter().filter(|(_, diff)| diff.differs()).count()
    }

    /// Nothing if all is the same; otherwise the differences.
    pub(super) fn text(&self) -> Result<String> {
        let mut text = String::new();
        for (target, names) in self.targets.iter().zip(&self.only) {
            names.iter().for_each(|name| line(&mut text, &format!("only in {target}: {name}")));
        }
        let head = |text: &mut String, name: &Option<String>| {
            let [a, b] = &self.targets;
            let which = name.clone().unwrap_or_else(|| format!("{a}, {b}"));
            line(text, &format!("{which}: different"));
        };
        for (name, diff) in self.common.iter().filter(|(_, diff)| diff.differs()) {
            match diff {
                CommonDiff::Arrays(diff) => {
                    head(&mut text, name);
                    array_text(&mut text, diff)?;
                }
                CommonDiff::Columns(diff) => {
                    let numbered = |name: &String| match diff.which {
                        Some([number, count]) => format!("{name} ({number} of {count})"),
                        None => name.clone(),
                    };
                    head(&mut text, &name.as_ref().map(numbered));
                    column_text(&mut text, diff);
                }
            }
        }
        let all = self.common.len();
        if all > 1 && self.differs() {
            let what = if self.is_of_tables { "columns" } else { "arrays" };
            line(&mut text, &format!("{} of {all} common {what} differ", self.differing()));
        }
        Ok(text)
    }

    pub(super) fn json(&self) -> Result<Json> {
        let json = |(name, diff): &(Option<String>, CommonDiff)| match diff {
            CommonDiff::Arrays(diff) => array_json(name.as_deref(), diff),
            CommonDiff::Columns(diff) => Ok(column_json(name.as_deref(), diff)),
        };
        let arrays: Result<Vec<Json>> = self.common.iter().map(json).collect();
        let failed = self.failed.iter().map(|(name, why)| json!({ "name": name, "error": why.to_string() }));
        Ok(json!({
            "a": self.targets[0],
            "b": self.targets[1],
            "same": !self.differs() && self.failed.is_empty(),
            "only_in_a": self.only[0],
            "only_in_b": self.only[1],
            "arrays": arrays?,
            "failed": failed.collect::<Vec<_>>(),
        }))
    }
}

fn line(text: &mut String, shown: &str) {
    *text += &crate::terminal::shown(shown);
    text.push('\n');
}

fn pair(text: &mut String, what: &str, value: &str) {
    line(text, &format!("  {what:<15}{value}"));
}

fn array_text(text: &mut String, diff: &ArrayDiff) -> Result<()> {
    if diff.shapes_differ() {
        pair(text, "shape", &format!("{:?}, {:?}", diff.shapes[0], diff.shapes[1]));
    }
    if diff.dtypes_differ() {
        let [a, b] = diff.types();
        pair(text, "dtype", &format!("{a}, {b}"));
    }
    for (letter, fields) in ["a", "b"].iter().zip(&diff.only) {
        if !fields.is_empty() {
            pair(text, "fields", &format!("only in {letter}: {}", fields.join(" ")));
        }
    }
    for field in &diff.fields {
        if !field.path.is_empty() && field.tally.as_ref().is_none_or(|tally| tally.differing > 0) {
            line(text, &format!("  {}", field.path));
        }
        field_text(text, field)?;
    }
    Ok(())
}

fn field_text(text: &mut String, field: &FieldDiff) -> Result<()> {
    let Some(tally) = &field.tally else {
        pair(text, "elements", "not compared, since the shapes or kinds of values differ");
        return Ok(());
    };
    let Some(first) = tally.first else { return Ok(()) };
    count(text, tally, field.arrays[0].len());
    let place = field.at(first)?;
    let hint = if place.is_nan() { " (NaN differs from NaN without --equal-nan)" } else { "" };
    pair(text, "first", &format!("{}{hint}", place.text()));
    if let Some((distance, at)) = tally.greatest {
        pair(text, "max abs error", &format!("{distance} at {}", field.at(at)?.text()));
    }
    if let Some((relative, at)) = tally.greatest_relative {
        pair(text, "max rel error", &format!("{} at {}", short(relative), field.at(at)?.text()));
    }
    if tally.one_is_nan > 0 {
        pair(text, "NaN", &format!("{} of them in one of the two only", tally.one_is_nan));
    }
    Ok(())
}

/// How many of the elements differ.
fn count(text: &mut String, tally: &Differences, len: usize) {
    let percent = 100.0 * tally.differing as f64 / len as f64;
    pair(text, "elements", &format!("{} of {len} differ ({percent:.2} %)", tally.differing));
}

fn column_text(text: &mut String, diff: &ColumnDiff) {
    let ([a, b], [one, other]) = (&diff.types, diff.lens);
    if one != other {
        pair(text, "shape", &format!("[{one}], [{other}]"));
    }
    if a != b {
        pair(text, "dtype", &format!("{a}, {b}"));
    }
    let Some(tally) = diff.tally.as_ref().filter(|tally| tally.differing > 0) else { return };
    count(text, tally, one);
    let mut place = |what: &str, before: String, at: Option<usize>, cells: &Option<[String; 2]>| {
        if let Some((at, [a, b])) = at.zip(cells.as_ref()) {
            pair(text, what, &format!("{before}[{at}]: {}, {}", clipped(a), clipped(b)));
        }
    };
    let places = &diff.places;
    place("first", String::new(), tally.first, &places.first);
    let greatest = tally.greatest.as_ref();
    let before = greatest.map_or(String::new(), |(distance, _)| format!("{distance} at "));
    place("max abs error", before, greatest.map(|(_, at)| *at), &places.greatest);
    let greatest = tally.greatest_relative;
    let before = greatest.map_or(String::new(), |(relative, _)| format!("{} at ", short(relative)));
    place("max rel error", before, greatest.map(|(_, at)| at), &places.greatest_relative);
    if tally.one_is_nan > 0 {
        pair(text, "NaN", &format!("{} of them in one of the two only", tally.one_is_nan));
    }
}

/// The characters of a long text that are shown.
fn clipped(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn column_json(name: Option<&str>, diff: &ColumnDiff) -> Json {
    let side = |at: usize| json!({ "shape": [diff.lens[at]], "dtype": diff.types[at], "only": [] });
    let field = match &diff.tally {
        None => json!({ "field": "", "compared": false }),
        Some(tally) => {
            let at = |row: Option<usize>, cells: &Option<[String; 2]>, value: Option<Json>| {
                let (row, [a, b]) = row.zip(cells.as_ref())?;
                let mut json = json!({ "index": [row], "a": a, "b": b });
                if let Some(value) = value {
                    json["value"] = value;
                }
                Some(json)
            };
            let (greatest, relative) = (tally.greatest.as_ref(), tally.greatest_relative);
            let places = &diff.places;
            json!({
                "field": "",
                "compared": true,
                "len": diff.lens[0],
                "differing": tally.differing,
                "one_is_nan": tally.one_is_nan,
                "first": at(tally.first, &places.first, None),
                "max_abs_error":
                    at(greatest.map(|found| found.1), &places.greatest, greatest.map(|found| found.0.json())),
                "max_rel_error":
                    at(relative.map(|found| found.1), &places.greatest_relative, relative.map(|found| json_of(found.0))),
            })
        }
    };
    json!({ "name": name, "same": !diff.differs, "a": side(0), "b": side(1), "fields": [field] })
}

/// An index, and both elements there.
struct Place<'a> {
    index: Vec<usize>,
    elements: [(Option<Value>, &'a DType); 2],
}

impl FieldDiff {
    fn at(&self, position: usize) -> Result<Place<'_>> {
        let index = index_at(self.arrays[0].shape(), position);
        let element = |array: &'_ crossdock::DArray| match array.get(&index) {
            Ok(value) => Ok(Some(value)),
            // Invalid text has no value.
            Err(error) if error.is_value() => Ok(None),
            Err(error) => Err(Failure::from(error)),
        };
        let [a, b] = &self.arrays;
        let elements = [(element(a)?, a.dtype()), (element(b)?, b.dtype())];
        Ok(Place { index, elements })
    }
}

impl Place<'_> {
    fn text(&self) -> String {
        let shown = self.elements.each_ref().map(|(value, dtype)| match value {
            Some(value) => clipped(&value.display(dtype).to_string()),
            None => "(invalid)".to_owned(),
        });
        format!("{:?}: {}, {}", self.index, shown[0], shown[1])
    }

    fn is_nan(&self) -> bool {
        let is_nan = |value: &Option<Value>| matches!(value, Some(Value::Float(number)) if number.is_nan());
        self.elements.iter().all(|(value, _)| is_nan(value))
    }

    fn json(&self) -> Json {
        let [a, b] = self.elements.each_ref().map(|(value, dtype)| match value {
            Some(Value::Bool(truth)) => Json::from(*truth),
            Some(Value::Int(number)) => Json::from(*number),
            Some(Value::UInt(number)) => Json::from(*number),
            Some(Value::Float(number)) => json_of(*number),
            Some(other) => other.display(dtype).to_string().into(),
            None => Json::Null,
        });
        json!({ "index": self.index, "a": a, "b": b })
    }
}

fn array_json(name: Option<&str>, diff: &ArrayDiff) -> Result<Json> {
    let types = diff.types();
    let side = |at: usize| {
        json!({
            "shape": diff.shapes[at],
            "dtype": types[at],
            "only": diff.only[at],
        })
    };
    let fields: Result<Vec<Json>> = diff.fields.iter().map(field_json).collect();
    Ok(json!({
        "name": name,
        "same": !diff.differs,
        "a": side(0),
        "b": side(1),
        "fields": fields?,
    }))
}

fn field_json(field: &FieldDiff) -> Result<Json> {
    let Some(tally) = &field.tally else {
        return Ok(json!({ "field": field.path, "compared": false }));
    };
    let Differences { differing, one_is_nan, first, greatest, greatest_relative } = tally;
    let at = |position: usize, value: Option<Json>| -> Result<Json> {
        let mut json = field.at(position)?.json();
        if let Some(value) = value {
            json["value"] = value;
        }
        Ok(json)
    };
    let first = first.map(|position| at(position, None)).transpose()?;
    let greatest = greatest.map(|(distance, position)| at(position, Some(distance.json()))).transpose()?;
    let relative =
        greatest_relative.map(|(number, position)| at(position, Some(json_of(number)))).transpose()?;
    Ok(json!({
        "field": field.path,
        "compared": true,
        "len": field.arrays[0].len(),
        "differing": differing,
        "one_is_nan": one_is_nan,
        "first": first,
        "max_abs_error": greatest,
        "max_rel_error": relative,
    }))
}
