//! Conversions between arrays and nested lists.

use crossdock::array::ArrayOptions;
use crossdock::element::{DType, ScalarKind, Value};
use crossdock::layout::MAX_RANK;
use crossdock::view::Request;
use crossdock::{Casting, DArray};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};

use crate::convert::{is_value, to_python, to_value};
use crate::detach::{both_detached, detached};
use crate::errors::{self, Raise, refused};
use crate::{arrow, masked, moment, protocols};

/// The elements as Python values, in lists nested to the depth of the axes.
pub(crate) fn write<'py>(py: Python<'py>, array: &DArray) -> PyResult<Bound<'py, PyAny>> {
    let view = array.export(&Request::pin().indirect()).map_err(|refusal| refused(&refusal))?;
    let bytes = view.to_bytes().raise()?;
    list(py, array.dtype(), array.shape(), &bytes)
}

/// `bytes` are the elements in row-major order.
fn list<'py>(py: Python<'py>, dtype: &DType, shape: &[usize], bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match shape {
        [] => to_python(py, &Value::read(dtype, bytes).raise()?),
        [len] => row(py, dtype, *len, bytes),
        [len, rest @ ..] => {
            let nbytes = bytes.len().checked_div(*len).unwrap_or(0);
            let part = |index: usize| list(py, dtype, rest, &bytes[index * nbytes..(index + 1) * nbytes]);
            let parts: Vec<_> = (0..*len).map(part).collect::<PyResult<_>>()?;
            Ok(PyList::new(py, parts)?.into_any())
        }
    }
}

macro_rules! rows {
    ($py:ident, $dtype:ident, $bytes:ident: $($kind:ident => $ty:ty),*) => {
        match $dtype.as_scalar().filter(|scalar| scalar.is_native()).map(|scalar| scalar.kind()) {
            $(Some(ScalarKind::$kind) => {
                let (numbers, _) = $bytes.as_chunks::<{ size_of::<$ty>() }>();
                return Ok(PyList::new($py, numbers.iter().map(|&number| <$ty>::from_ne_bytes(number)))?.into_any());
            })*
            _ => {}
        }
    };
}

fn row<'py>(py: Python<'py>, dtype: &DType, len: usize, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    rows!(py, dtype, bytes:
        Float64 => f64, Float32 => f32, Int64 => i64, Int32 => i32, Int16 => i16, Int8 => i8,
        UInt64 => u64, UInt32 => u32, UInt16 => u16);
    if *dtype == DType::U8 {
        return Ok(PyList::new(py, bytes.iter().map(|&byte| u32::from(byte)))?.into_any());
    }
    let size = dtype.itemsize();
    let item = |index: usize| {
        let value = Value::read(dtype, &bytes[index * size..(index + 1) * size]).raise()?;
        to_python(py, &value)
    };
    let items: Vec<_> = (0..len).map(item).collect::<PyResult<_>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

/// A new array of an object's elements: nested lists, tuples and values, or anything that shares
/// memory. Without a dtype, the smallest of `bool`, `int64`, `uint64`, `float64` and `complex128`
/// that represents all numbers (for long doubles, `longdouble` or `clongdouble`); bytes and text as
/// long as the longest.
pub(crate) fn read(object: &Bound<'_, PyAny>, dtype: Option<&DType>) -> PyResult<DArray> {
    read_to(object, dtype, ArrayOptions::new())
}

/// Like [`read`], with the options of the new array.
pub(crate) fn read_to(
    object: &Bound<'_, PyAny>,
    dtype: Option<&DType>,
    options: ArrayOptions<'static>,
) -> PyResult<DArray> {
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    let mut refusal = None;
    if !is_list && !is_value(object) && !moment::is_scalar(object)? {
        match lent_or_copied(object)? {
            Ok(array) => {
                let copy = |array: &DArray| match dtype {
                    Some(dtype) => array.cast(dtype, options, Casting::Checked),
                    None => array.to_order(options),
                };
                return detached(object.py(), &array, copy).raise();
            }
            Err(refused) => refusal = refused,
        }
    }
    if let Some(stacked) = stacked(object, dtype, options)? {
        return Ok(stacked);
    }
    let mut found = Found { shape: Vec::new(), values: Vec::new(), dtype };
    let read = found.read(object, 0, &mut true);
    read.map_err(|error| refusal.filter(|_| !errors::is_passed_on(object.py(), &error)).unwrap_or(error))?;
    let own = match dtype {
        Some(dtype) => dtype.clone(),
        None => {
            moment::adopt_units(&mut found.values);
            let own = least(&found.values).raise()?;
            of_one_kind(&own, &found.values)?;
            own
        }
    };
    let mut values = found.values.into_iter();
    // `values` has one value for each element of the shape.
    let next = |_: &[usize]| values.next().unwrap_or(Value::Bool(false));
    DArray::from_fn(own, &found.shape, options, next).raise()
}

/// The array of an object that shares its memory, or that copies it on request. For other objects,
/// why those refused that have a protocol.
fn lent_or_copied(object: &Bound<'_, PyAny>) -> PyResult<Result<DArray, Option<PyErr>>> {
    if arrow::is_read_once(object)? {
        return Ok(protocols::copied(object)?.ok_or(None));
    }
    match protocols::lend_unmasked(object) {
        Ok(array) => Ok(Ok(array)),
        Err(error) => {
            masked::check(object)?;
            let has_protocol = error.is_instance_of::<PyBufferError>(object.py());
            Ok(protocols::copied(object)?.ok_or(has_protocol.then_some(error)))
        }
    }
}

/// A list of arrays of one shape and one dtype, copied array by array, without a Python value for
/// each element. `None` for everything else.
fn stacked(
    object: &Bound<'_, PyAny>,
    dtype: Option<&DType>,
    options: ArrayOptions<'static>,
) -> PyResult<Option<DArray>> {
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if !is_list || object.len()? == 0 {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for item in object.try_iter()? {
        let item = item?;
        let is_list = item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>();
        if is_list || is_value(&item) || moment::is_scalar(&item)? {
            return Ok(None);
        }
        match protocols::lend_unmasked(&item) {
            // Scalars of numbers have values in Python; records have none that keeps the dtype.
            Ok(array) if array.rank() > 0 || array.dtype().as_scalar().is_none() => parts.push(array),
            _ => return Ok(None),
        }
    }
    let (shape, common) = (parts[0].shape(), parts[0].dtype());
    let is_alike = |part: &DArray| part.shape() == shape && (dtype.is_some() || part.dtype() == common);
    if !parts.iter().all(is_alike) {
        return Ok(None);
    }
    let whole: Vec<usize> = [parts.len()].into_iter().chain(shape.iter().copied()).collect();
    let made = DArray::zeros(dtype.unwrap_or(common).clone(), &whole, options).raise()?;
    for (index, part) in parts.iter().enumerate() {
        let place = made.drop_axis(0, index).raise()?;
        both_detached(object.py(), [&place, part], |place, part| place.assign(part, Casting::Checked))
            .raise()?;
    }
    Ok(Some(made))
}

/// The items of a sequence: of a list, a tuple, a range, a deque and what else Python counts as
/// one, or of an array with axes. `None` for everything else: what only has a length and items may
/// mean something else by them, as a data frame does.
fn items_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(Some(object.clone()));
    }
    if is_value(object) || moment::is_scalar(object)? {
        return Ok(None);
    }
    static SEQUENCE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let sequence = SEQUENCE.import(object.py(), "_collections_abc", "Sequence")?;
    if object.is_instance(sequence)? {
        return Ok(Some(object.clone()));
    }
    match protocols::lend_unmasked(object) {
        Ok(array) if array.rank() > 0 => write(object.py(), &array).map(Some),
        _ => Ok(None),
    }
}

struct Found<'a> {
    shape: Vec<usize>,
    values: Vec<Value>,
    dtype: Option<&'a DType>,
}

impl Found<'_> {
    fn ragged(&self, found: &str, depth: usize) -> PyErr {
        let shape = &self.shape;
        PyValueError::new_err(format!(
            "{found} at depth {depth}, where shape {shape:?} was found first: the lists are ragged"
        ))
    }

    /// `first` is whether this is the first item of its depth, whose kind and length the others
    /// must match.
    fn read(&mut self, object: &Bound<'_, PyAny>, depth: usize, first: &mut bool) -> PyResult<()> {
        let is_record = self.dtype.is_some_and(|dtype| dtype.as_record().is_some());
        // A tuple, or a record of NumPy's, is one element of an array of records.
        let is_element = is_record && !object.is_instance_of::<PyList>();
        let items = if is_element { None } else { items_of(object)? };
        let Some(items) = items else {
            if depth != self.shape.len() {
                return Err(self.ragged("a value", depth));
            }
            *first = false;
            self.values.push(to_value(object, self.dtype)?);
            return Ok(());
        };
        let len = items.len()?;
        if *first && depth == self.shape.len() {
            if depth == MAX_RANK {
                return Err(PyValueError::new_err(format!("lists more than {MAX_RANK} deep")));
            }
            self.shape.push(len);
        }
        if self.shape.get(depth) != Some(&len) {
            return Err(self.ragged(&format!("{len} items"), depth));
        }
        if len == 0 {
            *first = false;
        }
        let mut count = 0;
        for item in items.try_iter()? {
            self.read(&item?, depth + 1, first)?;
            count += 1;
        }
        match count == len {
            true => Ok(()),
            false => Err(self.ragged(&format!("{count} items, and a length of {len},"), depth)),
        }
    }
}

/// Refuses values without a common dtype: only numbers and booleans of several types have one.
fn of_one_kind(own: &DType, values: &[Value]) -> PyResult<()> {
    let kind = own.as_scalar().map(|scalar| scalar.kind());
    let is_number = !matches!(
        kind,
        Some(ScalarKind::Bytes(_) | ScalarKind::Text(_) | ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_))
    );
    let (Some(first), true) = (values.first().map(kind_of), is_number) else { return Ok(()) };
    let Some(other) = values.iter().map(kind_of).find(|kind| *kind != first) else { return Ok(()) };
    let are_both = |name: &str| first.starts_with(name) && other.starts_with(name);
    let advice = match are_both("datetime64") || are_both("timedelta64") {
        true => format!(" (dtype={:?})", if other.ends_with("[D]") { &first } else { &other }),
        false => String::new(),
    };
    Err(PyValueError::new_err(format!(
        "the values are of several types, {first} and {other}: name the dtype that all are to have{advice}, or convert them"
    )))
}

/// The kind of a value; values of one kind have a common dtype.
fn kind_of(value: &Value) -> String {
    match value {
        Value::DateTime { unit, .. } => DType::datetime(*unit).to_string(),
        Value::TimeDelta { unit, .. } => DType::timedelta(*unit).to_string(),
        Value::Bytes(_) => "bytes".to_owned(),
        Value::Text(_) => "text".to_owned(),
        Value::Void(_) => "opaque bytes".to_owned(),
        Value::Record(_) => "records".to_owned(),
        Value::Array(_) => "arrays".to_owned(),
        _ => "numbers".to_owned(),
    }
}

/// The least dtype that holds all of the values.
fn least(values: &[Value]) -> crossdock::Result<DType> {
    let longest = |len: fn(&Value) -> Option<usize>| values.iter().map(len).collect::<Option<Vec<_>>>();
    if let Some(all) = longest(|value| value.as_bytes().map(<[u8]>::len)).filter(|all| !all.is_empty()) {
        return DType::bytes(all.into_iter().max().unwrap_or(0));
    }
    if let Some(all) =
        longest(|value| value.as_str().map(|text| text.chars().count())).filter(|all| !all.is_empty())
    {
        return DType::text(all.into_iter().max().unwrap_or(0));
    }
    if let Some(dtype) = moment::common(values) {
        return dtype;
    }
    let any = |is: fn(&Value) -> bool| values.iter().any(is);
    let is_complex = any(|value| matches!(value, Value::Complex { .. } | Value::ComplexLongDouble(_)));
    if any(|value| matches!(value, Value::LongDouble(_) | Value::ComplexLongDouble(_))) {
        return Ok(if is_complex {
            DType::native(ScalarKind::ComplexLongDouble)
        } else {
            DType::native(ScalarKind::LongDouble)
        });
    }
    Ok(if is_complex {
        DType::C128
    } else if any(|value| matches!(value, Value::Float(_))) || values.is_empty() {
        DType::F64
    } else if any(|value| matches!(value, Value::UInt(_))) {
        DType::U64
    } else if any(|value| matches!(value, Value::Int(_))) {
        DType::I64
    } else {
        DType::BOOL
    })
}
