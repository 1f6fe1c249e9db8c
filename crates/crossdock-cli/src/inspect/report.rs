//! The properties of an array, to be written as text or as JSON.

use std::path::Path;

use crossdock::DArray;
use crossdock::bindings::files::mapped_offset;
use crossdock::bindings::long_double::ExactNumber;
use crossdock::element::{DType, DTypeKind, Value};
use crossdock::exchange::files::Entry;
use crossdock::layout::Order;
use crossdock::memory::Birth;
use serde::{Serialize, Serializer};
use serde_json::{Map, json};

use crate::failure::Failure;
use crate::inspect::protocols::Exchange;
use crate::inspect::sketch::{self, Step};
use crate::inspect::statistics::sample::counts_time;
use crate::inspect::statistics::{Found, Numbers, Statistics};
use crate::open::{Archive, Opened};
use crate::order_letter::order_letter;
use crate::terminal;

/// The version of the JSON of one array; `docs/command.md` describes it.
const SCHEMA: &str = "crossdock.array/1";

/// All properties that `inspect` prints.
#[derive(Debug, Serialize)]
pub(super) struct InspectReport {
    schema: &'static str,
    pub(super) file: String,
    /// The name of the array in the file; empty without a name.
    pub(super) name: String,
    pub(super) view: String,
    /// Why it is not in place: the encoding in the file.
    pub(super) decoded: Option<&'static str>,
    #[serde(serialize_with = "write_dtype")]
    pub(super) dtype: DType,
    pub(super) itemsize: usize,
    pub(super) shape: Vec<usize>,
    pub(super) len: usize,
    pub(super) nbytes: usize,
    /// Of an array that was opened: in place, or decoded for what was asked.
    #[serde(flatten)]
    pub(super) opened: Option<OpenedArray>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_statistics")]
    pub(super) statistics: Option<Vec<Statistics>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) values: Option<serde_json::Value>,
    #[serde(flatten)]
    pub(super) exchange: Option<Exchange>,
}

/// The properties of an array in memory.
#[derive(Debug, Serialize)]
pub(super) struct OpenedArray {
    pub(super) strides: Vec<isize>,
    /// C, F, both or neither.
    pub(super) orders: Vec<&'static str>,
    /// The byte of the file at which element 0 begins, if the array is in place.
    pub(super) offset: Option<u64>,
    /// The largest power of two, up to a page, that divides the address of element 0; and the
    /// alignment that every element requires.
    pub(super) address_alignment: usize,
    pub(super) dtype_alignment: usize,
    pub(super) is_aligned: bool,
    pub(super) place: String,
    pub(super) backing: String,
    pub(super) birth: &'static str,
    pub(super) readonly: bool,
    /// From the longest stride to the shortest.
    pub(super) memory: Vec<Step>,
}

impl InspectReport {
    /// Of an array that was opened.
    pub(super) fn new(opened: &Opened) -> Result<Self, Failure> {
        let array = &opened.view;
        let report = Self::of(opened.path.as_path(), &opened.name, &opened.expr, opened.decoded, array);
        Ok(Self { opened: Some(OpenedArray::new(array)?), ..report })
    }

    /// Of an array that needs to be decoded, from the header. A single element stands for all.
    pub(super) fn of_header(archive: &Archive, entry: &Entry, expr: &str) -> Result<Self, Failure> {
        let element = DArray::zeros(entry.dtype().clone(), &[], Order::RowMajor)?;
        let array = element.broadcast_to(entry.shape()).and_then(|array| array.at(expr));
        let array = array.map_err(|error| archive.failure(&error))?;
        Ok(Self::of(&archive.path, entry.name(), expr, entry.copied_because(), &array))
    }

    fn of(path: &Path, name: &str, view: &str, decoded: Option<&'static str>, array: &DArray) -> Self {
        Self {
            schema: SCHEMA,
            file: terminal::path(path),
            name: name.to_owned(),
            view: view.to_owned(),
            decoded,
            dtype: array.dtype().clone(),
            itemsize: array.dtype().itemsize(),
            shape: array.shape().to_vec(),
            len: array.len(),
            nbytes: array.nbytes(),
            opened: None,
            statistics: None,
            values: None,
            exchange: None,
        }
    }
}

impl OpenedArray {
    fn new(array: &DArray) -> Result<Self, Failure> {
        let (buffer, within) = array.buffer()?;
        let alignment = array.dtype().alignment();
        let orders = [Order::RowMajor, Order::ColumnMajor];
        Ok(Self {
            strides: array.strides().to_vec(),
            orders: orders
                .into_iter()
                .filter(|&order| array.layout().is_contiguous(order))
                .map(order_letter)
                .collect(),
            offset: mapped_offset(&buffer).map(|start| start + within as u64),
            address_alignment: 1 << array.as_ptr().addr().trailing_zeros().min(12),
            dtype_alignment: alignment,
            is_aligned: array.as_ptr().addr().is_multiple_of(alignment)
                && array.layout().is_aligned(alignment),
            place: array.place().to_string(),
            backing: array.backing().to_string(),
            birth: birth(array),
            readonly: array.is_readonly(),
            memory: sketch::steps(array),
        })
    }
}

fn birth(array: &DArray) -> &'static str {
    match array.birth() {
        Birth::Sole => "sole",
        Birth::Constant => "constant",
        Birth::Aliased => "aliased",
    }
}

/// A string for a scalar, a tree for other types.
fn write_dtype<S: Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
    tree(dtype).serialize(serializer)
}

fn tree(dtype: &DType) -> serde_json::Value {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => scalar.to_string().into(),
        DTypeKind::SubArray(subarray) => json!({ "shape": subarray.shape(), "dtype": tree(subarray.base()) }),
        DTypeKind::Record(record) => {
            let field = |field: &crossdock::element::Field| json!({ "name": field.name(), "title": field.title(), "offset": field.offset(), "dtype": tree(field.dtype()) });
            let fields: Vec<_> = record.fields().iter().map(field).collect();
            json!({ "itemsize": record.itemsize(), "fields": fields })
        }
    }
}

fn write_statistics<S: Serializer>(all: &Option<Vec<Statistics>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().flatten().map(|one| {
        let mut map = Map::new();
        map.insert("field".into(), one.path.clone().into());
        map.insert("dtype".into(), one.dtype.to_string().into());
        match &one.found {
            Found::Numbers(Numbers { least, greatest, mean, std, nan, zeros, distribution, outside }) => {
                let number = |value: &Option<Value>| match value {
                    Some(value) => extreme(value, &one.dtype),
                    None => serde_json::Value::Null,
                };
                map.insert("min".into(), number(least));
                map.insert("max".into(), number(greatest));
                map.insert("mean".into(), mean.map_or(serde_json::Value::Null, float));
                map.insert("std".into(), std.map_or(serde_json::Value::Null, float));
                map.insert("nan".into(), (*nan).into());
                map.insert("zeros".into(), (*zeros).into());
                if *outside > 0 {
                    map.insert("outside_float64".into(), (*outside).into());
                }
                if let Some(found) = distribution {
                    let quantile = |number: &f64| match one.dtype.as_scalar().map(|scalar| scalar.kind()) {
                        Some(kind) if counts_time(kind) => found.time(kind, *number, &one.dtype).into(),
                        _ => float(*number),
                    };
                    map.insert("quartiles".into(), found.quantiles.iter().map(quantile).collect());
                    let (low, high) = found.range;
                    map.insert(
                        "histogram".into(),
                        json!({ "from": float(low), "to": float(high), "counts": found.histogram }),
                    );
                    map.insert("sampled".into(), found.sampled.into());
                }
            }
            Found::Truths { no, yes } => {
                map.insert("false".into(), (*no).into());
                map.insert("true".into(), (*yes).into());
            }
            Found::Nothing => {}
        }
        map
    }))
}

/// A JSON number if possible, otherwise text: infinities, dates, durations.
pub(super) fn number(value: &Value, dtype: &DType) -> serde_json::Value {
    match value {
        Value::Int(number) => (*number).into(),
        Value::UInt(number) => (*number).into(),
        Value::Float(number) => float(*number),
        other => other.display(dtype).to_string().into(),
    }
}

/// As [`number`], and a JSON number for a long double that is a double, too.
fn extreme(value: &Value, dtype: &DType) -> serde_json::Value {
    match (value, value.as_f64()) {
        (Value::LongDouble(_), Some(near))
            if ExactNumber::of(value) == ExactNumber::of(&Value::Float(near)) =>
        {
            float(near)
        }
        _ => number(value, dtype),
    }
}

fn float(number: f64) -> serde_json::Value {
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Into::into)
}
