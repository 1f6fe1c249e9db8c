//! What was found, as text and as JSON.

use crossdock::element::{DType, Value};
use serde_json::{Value as Json, json};

use crate::diff::compare::{ArrayDiff, FieldDiff};
use crate::diff::elements::Differences;
use crate::diff::rule::{json_of, short};
use crate::diff::tiles::index_at;
use crate::failure::{Failure, Result};

/// The arrays of two files, compared by name.
#[derive(Debug, Default)]
pub(super) struct FileDiff {
    /// The two targets, as text.
    pub(super) targets: [String; 2],
    /// The names of arrays in one file only.
    pub(super) only: [Vec<String>; 2],
    /// The arrays of both files, with their names; one without a name.
    pub(super) arrays: Vec<(Option<String>, ArrayDiff)>,
    /// The arrays that could not be compared, and why.
    pub(super) failed: Vec<(String, Failure)>,
}

impl FileDiff {
    pub(super) fn differs(&self) -> bool {
        self.only.iter().any(|only| !only.is_empty()) || self.arrays.iter().any(|(_, diff)| diff.differs)
    }

    /// Nothing if all is the same; otherwise the differences.
    pub(super) fn text(&self) -> Result<String> {
        let mut text = String::new();
        for (target, names) in self.targets.iter().zip(&self.only) {
            names.iter().for_each(|name| line(&mut text, &format!("only in {target}: {name}")));
        }
        for (name, diff) in self.arrays.iter().filter(|(_, diff)| diff.differs) {
            let [a, b] = &self.targets;
            let which = name.clone().unwrap_or_else(|| format!("{a}, {b}"));
            line(&mut text, &format!("{which}: different"));
            array_text(&mut text, diff)?;
        }
        if self.arrays.len() > 1 && self.differs() {
            let count = self.arrays.iter().filter(|(_, diff)| diff.differs).count();
            line(&mut text, &format!("{count} of {} common arrays differ", self.arrays.len()));
        }
        Ok(text)
    }

    pub(super) fn json(&self) -> Result<Json> {
        let arrays: Result<Vec<Json>> =
            self.arrays.iter().map(|(name, diff)| array_json(name.as_deref(), diff)).collect();
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
        pair(text, "dtype", &format!("{}, {}", diff.dtypes[0], diff.dtypes[1]));
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
    let len = field.arrays[0].len();
    let percent = 100.0 * tally.differing as f64 / len as f64;
    pair(text, "elements", &format!("{} of {len} differ ({percent:.2} %)", tally.differing));
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
        /// The characters of a long text that are shown.
        const MOST: usize = 60;
        let shown = self.elements.each_ref().map(|(value, dtype)| {
            let text =
                value.as_ref().map_or("(invalid)".to_owned(), |value| value.display(dtype).to_string());
            match text.char_indices().nth(MOST) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
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
    let side = |at: usize| {
        json!({
            "shape": diff.shapes[at],
            "dtype": diff.dtypes[at].to_string(),
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
