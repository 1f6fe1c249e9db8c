//! Imports Arrow: objects with `__arrow_c_array__`, `__arrow_c_device_array__` or
//! `__arrow_c_stream__`.

use std::collections::{HashMap, HashSet};

use crossdock::bindings::arrow::ArrowArrayStream;
use crossdock::bindings::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ArrowStream, Imported};
use crossdock::element::DType;
use crossdock::layout::{AxisSlice, Order};
use crossdock::table::{ColumnType, Field, RecordBatch, Schema};
use crossdock::{Casting, DArray};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{IntoPyObjectExt, intern};

use crate::capsule::{Boxed, unboxed};
use crate::copies::copied as copied_of;
use crate::detach::both_detached;
use crate::errors::{self, Raise};
use crate::object::wrap;
use crate::{pandas, words};

/// What [`take`] returns.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Adds boolean arrays beside the elements, which are false where an element is null.
    pub(crate) validity: bool,
    /// A list with an item for each chunk.
    pub(crate) chunks: bool,
    /// Returns the columns of a struct as a list of pairs, each with its name or the path of names
    /// in front, instead of a dictionary.
    pub(crate) pairs: bool,
}

/// Whether an object has one of the methods.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__arrow_c_array__"))?
        || object.hasattr(intern!(py, "__arrow_c_device_array__"))?
        || object.hasattr(intern!(py, "__arrow_c_stream__"))?)
}

/// Why an object exports no column.
pub(crate) enum Failure {
    /// An exception of the producer, or another Python exception.
    Python(PyErr),
    /// Its elements mean more than their numbers: another protocol would export them without that
    /// meaning.
    Meaning(crossdock::Error),
    /// The exported column cannot be imported.
    Ours(crossdock::Error),
}

impl Failure {
    pub(crate) fn raise(self) -> PyErr {
        match self {
            Self::Python(error) => error,
            Self::Ours(error) if error.is_unsupported() && error.advice().is_none() => {
                PyBufferError::new_err(format!("{}; {}", errors::text(&error), words::AS_TABLE))
            }
            Self::Meaning(error) | Self::Ours(error) => errors::refusal(&error),
        }
    }

    /// The failure for an error in a schema.
    fn of_type(error: crossdock::Error) -> Self {
        if error.is_value() { Self::Meaning(error) } else { Self::Ours(error) }
    }

    /// Whether a copy by another protocol would lose what elements mean: a time zone, a decimal
    /// point, nulls.
    fn loses(&self) -> bool {
        match self {
            Self::Python(_) => false,
            Self::Meaning(_) => true,
            Self::Ours(error) => error.is_value(),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<crossdock::Error> for Failure {
    fn from(error: crossdock::Error) -> Self {
        Self::Ours(error)
    }
}

/// The chunks that an object exports, at most `most`: one, unless it is a stream.
///
/// The device method is tried first: for memory on a device, the other method can only refuse, or
/// copy silently.
fn ask(object: &Bound<'_, PyAny>, most: usize) -> Result<Vec<Imported>, Failure> {
    Ok(asked(object, most)?.0)
}

/// As [`ask`], with the type of a stream without chunks.
fn asked(object: &Bound<'_, PyAny>, most: usize) -> Result<(Vec<Imported>, Option<Field>), Failure> {
    let py = object.py();
    let mut refused = None;
    if let Some(method) = object.getattr_opt(intern!(py, "__arrow_c_device_array__"))? {
        match method.call0() {
            Ok(given) => return Ok((vec![on_device(&given)?], None)),
            Err(error) if errors::is_passed_on(py, &error) => return Err(error.into()),
            Err(error) => refused = Some(errors::producer(py, "__arrow_c_device_array__()", error)),
        }
    }
    if let Some(method) = object.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let given = method.call0().map_err(|error| errors::producer(py, "__arrow_c_array__()", error))?;
        return Ok((vec![on_host(&given)?], None));
    }
    let Some(method) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? else {
        return Err(refused.unwrap_or_else(|| not_arrow(object)).into());
    };
    if has_python_objects(object) {
        return Err(PyBufferError::new_err(
            "columns of Python's objects are addresses of them in Polars, which it lends as bytes: cast them to what they stand for",
        )
        .into());
    }
    let capsule = method.call0().map_err(|error| errors::producer(py, "__arrow_c_stream__()", error))?;
    let stream = unboxed::<ArrowArrayStream>(&capsule, "__arrow_c_stream__")?;
    // SAFETY: the struct belongs to the capsule, and no other consumer has it: the import marks it
    // as moved. Its content is as the protocol requires.
    let mut stream = unsafe { ArrowStream::take_over(stream) }.map_err(Failure::of_type)?;
    let chunks = stream.by_ref().take(most).collect::<crossdock::Result<Vec<_>>>()?;
    let field = if chunks.is_empty() { stream.field().ok() } else { None };
    Ok((chunks, field))
}

/// Whether a series or frame of Polars has columns of Python objects, which its schema declares as
/// eight bytes each.
pub(crate) fn has_python_objects(object: &Bound<'_, PyAny>) -> bool {
    let module = || object.get_type().getattr("__module__").ok()?.extract::<String>().ok();
    if !module().is_some_and(|module| module.starts_with("polars.")) {
        return false;
    }
    let is_object =
        |dtype: Bound<'_, PyAny>| dtype.str().is_ok_and(|name| name.to_string().contains("Object"));
    match object.getattr("dtypes") {
        Ok(all) => all.try_iter().is_ok_and(|mut all| all.any(|dtype| dtype.is_ok_and(is_object))),
        Err(_) => object.getattr("dtype").is_ok_and(is_object),
    }
}

/// The column in the two capsules of `__arrow_c_array__`.
pub(crate) fn on_host(given: &Bound<'_, PyAny>) -> Result<Imported, Failure> {
    let (schema, array) = pair(given)?;
    let schema = unboxed::<ArrowSchema>(&schema, "__arrow_c_array__")?;
    let array = unboxed::<ArrowArray>(&array, "__arrow_c_array__")?;
    // SAFETY: the structs belong to the capsules, and no other consumer has them: the import marks
    // them as moved. Their content is as the protocol requires.
    unsafe { arrow::take_over(schema, array) }.map_err(Failure::of_type)
}

/// The column in the two capsules of `__arrow_c_device_array__`.
fn on_device(given: &Bound<'_, PyAny>) -> Result<Imported, Failure> {
    let (schema, array) = pair(given)?;
    let schema = unboxed::<ArrowSchema>(&schema, "__arrow_c_device_array__")?;
    let array = unboxed::<ArrowDeviceArray>(&array, "__arrow_c_device_array__")?;
    // SAFETY: the structs belong to the capsules, and no other consumer has them: the import marks
    // them as moved. Their content is as the protocol requires.
    unsafe { arrow::take_over_device(schema, array) }.map_err(Failure::of_type)
}

pub(crate) fn pair<'py>(given: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    given.extract().map_err(|_| {
        let names = (ArrowSchema::NAME.to_string_lossy(), ArrowArray::NAME.to_string_lossy());
        PyTypeError::new_err(format!("a column comes as two capsules, {:?} and {:?}", names.0, names.1))
    })
}

#[cold]
fn not_arrow(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!(
        "{name} has none of __arrow_c_array__, __arrow_c_device_array__ and __arrow_c_stream__"
    ))
}

/// Whether an object is a stream that can be read once, such as a reader of record batches. Tables
/// and columns in chunks, which open a new stream each time, have a length.
pub(crate) fn is_read_once(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.hasattr(intern!(py, "__arrow_c_stream__"))?
        && !object.hasattr(intern!(py, "__len__"))?
        && !object.hasattr(intern!(py, "__arrow_c_array__"))?
        && !object.hasattr(intern!(py, "__arrow_c_device_array__"))?)
}

/// The only chunk that an object exports.
fn only(object: &Bound<'_, PyAny>) -> Result<Imported, Failure> {
    let mut chunks = ask(object, 2)?;
    let error = match (chunks.pop(), chunks.is_empty()) {
        (Some(chunk), true) => return Ok(chunk),
        (Some(_), false) => PyBufferError::new_err(format!(
            "the elements come in more than one chunk, and chunks lie apart: {}; or let their library make one of \
             them (combine_chunks(), rechunk()), by a copy",
            words::EACH_CHUNK
        )),
        (None, _) => PyBufferError::new_err(format!(
            "the stream has no chunk (left), and so there is no array: {}",
            words::NO_CHUNK
        )),
    };
    Err(error.into())
}

/// A zero-copy array on the single column that an object exports.
///
/// Labels of rows of a pandas frame are left out, as in its `to_numpy`.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> Result<DArray, Failure> {
    let bare = pandas::without_labels(object)?;
    let chunk = only(bare.as_ref().unwrap_or(object));
    match chunk.and_then(|chunk| Ok(chunk.into_array()?)) {
        Err(failure) if !failure.loses() && is_read_once(object)? => {
            Err(Failure::Python(spent(object.py(), failure.raise())))
        }
        lent => lent,
    }
}

/// The error of an attempt that has read a stream, with a note that says so: a second attempt would
/// find no chunks.
#[cold]
pub(crate) fn spent(py: Python<'_>, error: PyErr) -> PyErr {
    let note = "The stream has been read by this attempt: open it again for another one.";
    // A failure to add a note is no reason to hide the error.
    let _added = error.value(py).call_method1(intern!(py, "add_note"), (note,));
    error
}

/// What Arrow knows about an object's elements, for a caller that copies them.
pub(crate) enum Elements {
    /// The copy: columns of a struct as records, chunks concatenated.
    Copied(DArray),
    /// Some elements are null. A copy made by another protocol has all elements only if it has this
    /// type; with any other type the nulls have changed the numbers.
    Nulls(DType, PyErr),
    /// Nothing that this library supports; with the reason, if it is the type.
    Unknown(Option<PyErr>),
}

/// Copies the elements that an object exports: the columns of a frame as a matrix if they have one
/// type, else as records. Labels of rows of a pandas frame are left out, as in
/// its `to_numpy`.
///
/// # Errors
///
/// If elements mean more than their numbers, by whichever protocol they would be copied.
pub(crate) fn copied(object: &Bound<'_, PyAny>) -> PyResult<Elements> {
    let bare = pandas::without_labels(object)?;
    let (chunks, field) = match asked(bare.as_ref().unwrap_or(object), usize::MAX) {
        Ok(asked) => asked,
        Err(failure) if failure.loses() => return Err(failure.raise()),
        Err(Failure::Python(error)) if errors::is_passed_on(object.py(), &error) => {
            return Err(error);
        }
        Err(Failure::Python(_)) => return Ok(Elements::Unknown(None)),
        Err(failure) => return Ok(Elements::Unknown(Some(failure.raise()))),
    };
    if let Some(field) = field {
        return of_no_rows(bare.as_ref().unwrap_or(object), &field);
    }
    let (mut arrays, mut nulls) = (Vec::new(), None);
    for chunk in chunks {
        if let Some(name) = repeated_name(&chunk) {
            // Records have one field for each name, and a copy by another protocol has one type for
            // all.
            let columns = chunk.into_columns().map_err(Failure::from);
            let first = match &columns {
                Ok(columns) => columns.first().map(|(_, first)| first.dtype()),
                Err(failure) if failure.loses() => return Err(columns.unwrap_err().raise()),
                Err(_) => None,
            };
            let is_one_type = matches!((&columns, first), (Ok(columns), Some(first)) if columns.iter().all(|(_, column)| column.dtype() == first));
            return match is_one_type {
                true => Ok(Elements::Unknown(None)),
                false => Err(repeated(&name)),
            };
        }
        let array = if chunk.child_names().is_some() {
            // Records cannot represent nulls, and no other protocol could copy them.
            chunk.into_records().map_err(Failure::from)
        } else {
            chunk.into_array_with_validity().map_err(Failure::from).map(|(array, valid)| {
                nulls = nulls.take().or(valid);
                array
            })
        };
        match array {
            Ok(array) => arrays.push(array),
            Err(failure) if failure.loses() => return Err(failure.raise()),
            Err(_) => return Ok(Elements::Unknown(None)),
        }
    }
    Ok(match (arrays.first(), nulls) {
        (Some(first), Some(_)) => {
            let text = "elements are null, which no dtype says: fill them, leave them out, or take the truth values beside them \
                        (crossdock.from_arrow(obj, validity=True))";
            Elements::Nulls(first.dtype().clone(), PyBufferError::new_err(text))
        }
        (Some(_), None) => match joined(object.py(), &arrays)? {
            Some(rows) if is_frame(object)? => Elements::Copied(matrix(&rows).unwrap_or(rows)),
            Some(rows) => Elements::Copied(rows),
            None => Elements::Unknown(None),
        },
        (None, _) => Elements::Unknown(None),
    })
}

/// What a table without chunks, of this type, has as elements: its types are those that the chunks
/// would have, and a copy by another protocol may have one type for all columns.
fn of_no_rows(object: &Bound<'_, PyAny>, field: &Field) -> PyResult<Elements> {
    // Other types are those of a column.
    let ColumnType::Struct(fields) = field.column_type() else { return Ok(Elements::Unknown(None)) };
    let rows = RecordBatch::empty(Schema::new(fields.iter().cloned())).and_then(|none| none.to_records());
    Ok(match rows {
        Ok(rows) if is_frame(object)? => Elements::Copied(matrix(&rows).unwrap_or(rows)),
        Ok(rows) => Elements::Copied(rows),
        // Columns that are no records.
        Err(_) => Elements::Unknown(None),
    })
}

/// Whether an object is a table of columns, and not one column of structs.
fn is_frame(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr(intern!(object.py(), "columns"))? || is_read_once(object)?)
}

/// Records of columns that all have one type, as the rows of an array with two axes, as NumPy has
/// a frame. `None` for other records.
fn matrix(rows: &DArray) -> Option<DArray> {
    let fields = rows.dtype().as_record()?.fields();
    let one = fields.first()?.dtype();
    let is_packed = rows.dtype().itemsize() == fields.len() * one.itemsize();
    if one.as_scalar().is_none() || !is_packed || fields.iter().any(|field| field.dtype() != one) {
        return None;
    }
    rows.view_as(one).and_then(|all| all.reshape(&[rows.len(), fields.len()])).ok()
}

/// A name that two columns of a struct have.
fn repeated_name(chunk: &Imported) -> Option<String> {
    let mut seen = HashSet::new();
    let mut names = chunk.child_names()?.into_iter();
    names.find(|&name| !seen.insert(name)).map(str::to_owned)
}

#[cold]
fn repeated(name: &str) -> PyErr {
    PyBufferError::new_err(format!(
        "two columns are called {name:?}, and records have one field for each name: rename one of them, or take the columns one by \
         one (crossdock.from_arrow(obj, pairs=True))"
    ))
}

/// Concatenates chunks into one array. `None` if they are not rows of the same kind.
pub(crate) fn joined(py: Python<'_>, chunks: &[DArray]) -> PyResult<Option<DArray>> {
    let Some(first) = chunks.first() else { return Ok(None) };
    let rows = |array: &DArray| array.shape().split_first().map(|(len, row)| (*len, row.to_vec()));
    let Some((_, row)) = rows(first) else { return Ok(None) };
    let lengths: Option<Vec<usize>> = chunks
        .iter()
        .map(|chunk| rows(chunk).filter(|(_, other)| *other == row && chunk.dtype() == first.dtype()))
        .map(|found| found.map(|(len, _)| len))
        .collect();
    let Some(lengths) = lengths.filter(|_| chunks.iter().all(|chunk| chunk.place().is_host())) else {
        return Ok(None);
    };
    if let [only] = chunks {
        // A single chunk that is not a copy yet; records already are.
        return match only.dtype().as_record() {
            Some(_) => Ok(Some(only.clone())),
            None => copied_of(py, only).map(Some),
        };
    }
    let shape = [&[lengths.iter().sum()], &row[..]].concat();
    let all = DArray::zeros(first.dtype().clone(), &shape, Order::RowMajor).raise()?;
    let mut end = 0;
    for (chunk, len) in chunks.iter().zip(lengths) {
        let (start, stop) = (Some(end as isize), Some((end + len) as isize));
        end += len;
        let part = all.slice([AxisSlice::Range { start, stop, step: 1 }, AxisSlice::Ellipsis]).raise()?;
        let assign = |part: &DArray, chunk: &DArray| part.assign(chunk, Casting::Checked);
        both_detached(py, [&part, chunk], assign).raise()?;
    }
    Ok(Some(all))
}

/// What an object exports: a column as an array, or the columns of a struct by name; one such item
/// per chunk if `wanted.chunks` is set.
pub(crate) fn take<'py>(object: &Bound<'py, PyAny>, wanted: Wanted) -> PyResult<Bound<'py, PyAny>> {
    match taken(object, wanted) {
        Err(error) if is_read_once(object)? => Err(spent(object.py(), error)),
        taken => taken,
    }
}

fn taken<'py>(object: &Bound<'py, PyAny>, wanted: Wanted) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if wanted.chunks {
        let items: Vec<_> = ask(object, usize::MAX)
            .map_err(Failure::raise)?
            .into_iter()
            .map(|chunk| arrays(py, chunk, wanted))
            .collect::<PyResult<_>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    arrays(py, only(object).map_err(Failure::raise)?, wanted)
}

fn arrays(py: Python<'_>, chunk: Imported, wanted: Wanted) -> PyResult<Bound<'_, PyAny>> {
    let raise = |error| errors::refusal(&error);
    if chunk.child_names().is_none() {
        return if wanted.validity {
            let (values, valid) = chunk.into_array_with_validity().map_err(raise)?;
            with_validity(py, values, valid)
        } else {
            wrap(py, chunk.into_array().map_err(raise)?)
        };
    }
    let paths: Vec<Vec<String>> =
        chunk.column_paths().iter().map(|path| path.iter().map(|&name| name.to_owned()).collect()).collect();
    if !wanted.pairs {
        names_differ(&paths)?;
    }
    let columns: Vec<(String, Bound<'_, PyAny>)> = if wanted.validity {
        let columns = chunk.into_columns_with_validity().map_err(raise)?;
        let column = |(name, values, valid)| Ok((name, with_validity(py, values, valid)?));
        columns.into_iter().map(column).collect::<PyResult<_>>()?
    } else {
        let columns = chunk.into_columns().map_err(raise)?;
        columns.into_iter().map(|(name, values)| Ok((name, wrap(py, values)?))).collect::<PyResult<_>>()?
    };
    if wanted.pairs {
        let pair = |(path, (_, column)): (&Vec<String>, _)| match path.as_slice() {
            [name] => (name, column).into_bound_py_any(py),
            path => (PyTuple::new(py, path)?, column).into_bound_py_any(py),
        };
        let pairs: Vec<_> = paths.iter().zip(columns).map(pair).collect::<PyResult<_>>()?;
        return Ok(PyList::new(py, pairs)?.into_any());
    }
    let named = PyDict::new(py);
    for (name, column) in columns {
        named.set_item(name, column)?;
    }
    Ok(named.into_any())
}

/// A dictionary has one column for each name.
fn names_differ(paths: &[Vec<String>]) -> PyResult<()> {
    let mut seen = HashMap::new();
    for path in paths {
        let name = path.join(".");
        if let Some(first) = seen.insert(name.clone(), path) {
            let words = match first == path {
                true => String::new(),
                false => format!(", from {first:?} and {path:?}"),
            };
            return Err(PyBufferError::new_err(format!(
                "two columns are called {name:?}{words}, and a dictionary has room for one: crossdock.from_arrow(obj, pairs=True) \
                 gives a list of pairs"
            )));
        }
    }
    Ok(())
}

fn with_validity(py: Python<'_>, values: DArray, valid: Option<DArray>) -> PyResult<Bound<'_, PyAny>> {
    let valid = match valid {
        Some(valid) => wrap(py, valid)?,
        None => py.None().into_bound(py),
    };
    Ok(PyTuple::new(py, [wrap(py, values)?, valid])?.into_any())
}
