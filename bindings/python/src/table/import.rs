//! Tables and columns on the memory of other objects.

use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ArrowArrayStream};
use crossdock::bindings::table::{batches, remaining};
use crossdock::table::{Checks, Column as Elements, ColumnType, Field, RecordBatchReader, Schema};
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::arrow::{has_python_objects, is_read_once, pair, spent};
use crate::capsule::unboxed;
use crate::errors::{self, Raise};
use crate::object::downcast;
use crate::parameters::truth_of;
use crate::table::column_object::Column;
use crate::table::table_object::Table;
use crate::table::{import_device, import_some, new_column};
use crate::{descriptors, protocols};

/// A table on the memory of another object, in place.
///
/// Parameters
/// ----------
/// obj : object
///     A table of another library, that has ``__arrow_c_stream__``, or ``__arrow_c_array__`` of a
///     struct, or their siblings for devices: of pyarrow, Polars, pandas, DuckDB or nanoarrow. Or a
///     dict of columns: names, each with a :class:`Column`, an array, or an object that
///     :func:`column` accepts.
/// skip_refused : bool, default False
///     Whether columns that cannot be imported are left out: of Python's objects, of several axes,
///     of unknown types. :attr:`Table.refused` has the name and the reason of each.
///
/// Returns
/// -------
/// Table
///     With the same batches as the other table. Producers may copy what they do not store as Arrow
///     does: :func:`explain` says which columns are copied, and why.
///
/// Raises
/// ------
/// BufferError
///     If the producer fails, or if what it exports breaks the rules of Arrow.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> prices = crossdock.array([1.5, 2.5, 4.0])
/// >>> t = crossdock.table({'price': prices, 'count': crossdock.array([1, 2, 3])})
/// >>> t.shape
/// (3, 2)
/// >>> t['price'].array().ptr == prices.ptr
/// True
/// >>> crossdock.table({'x': [1, 2], 'y': [object(), None]}, skip_refused=True).refused.keys()
/// dict_keys(['y'])
#[pyfunction]
#[pyo3(signature = (obj, /, *, skip_refused=false), text_signature = "(obj, /, *, skip_refused=False)")]
pub(crate) fn table(
    obj: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = truth_of::skip_refused)] skip_refused: bool,
) -> PyResult<Table> {
    if skip_refused { import_some::table(obj) } else { whole(obj) }
}

/// A table with all columns of an object.
pub(crate) fn whole(obj: &Bound<'_, PyAny>) -> PyResult<Table> {
    let py = obj.py();
    descriptors::register(py)?;
    if let Ok(own) = obj.cast::<Table>() {
        return Ok(own.get().clone());
    }
    if let Ok(columns) = obj.cast::<PyDict>() {
        let columns = columns.iter().map(|(name, object)| Ok((text_of(&name)?, column(&object)?)));
        return of_columns(columns.collect::<PyResult<_>>()?);
    }
    // For memory of a device, the other methods can only refuse, or copy silently.
    let on_device = import_device::table(obj)?;
    if let Some((schema, batches)) = on_device {
        return Ok(Table::new(schema, batches));
    }
    if obj.hasattr(intern!(py, "__arrow_c_stream__"))? {
        return match of_stream(obj) {
            Err(error) if is_read_once(obj)? => Err(spent(py, error)),
            made => made,
        };
    }
    if let Some(method) = obj.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let given = method.call0().map_err(|error| errors::producer(py, "__arrow_c_array__()", error))?;
        let (schema, array) = capsules(&given)?;
        // SAFETY: the structs belong to the capsules, and no other consumer has them: the import
        // marks them as moved. Their content is as the protocol requires.
        let batch = unsafe { arrow::import_batch(schema, array, Checks::Shape) };
        let batch = batch.map_err(|error| errors::refusal(&error))?;
        return Ok(Table::new(batch.schema().clone(), vec![batch]));
    }
    Err(not_a_table(obj)?)
}

/// What an object is that is no table.
pub(crate) enum NotATable {
    /// A column of elements that no array has, and a refusal that says so.
    Column(PyErr),
    /// An array, or neither. If it has a stream, why that is no table: to be raised if it is no
    /// array either.
    Other(Option<PyErr>),
}

/// The table of an object that is one, and no array.
pub(crate) fn table_in(obj: &Bound<'_, PyAny>) -> PyResult<Result<Table, NotATable>> {
    if let Ok(own) = obj.cast::<Table>() {
        return Ok(Ok(own.get().clone()));
    }
    let py = obj.py();
    let is_array = downcast(obj).is_some()
        || obj.hasattr(intern!(py, "__dlpack__"))?
        || obj.hasattr(intern!(py, "__array_interface__"))?;
    if is_array || !obj.hasattr(intern!(py, "__arrow_c_stream__"))? {
        return Ok(Err(NotATable::Other(None)));
    }
    match whole(obj) {
        Ok(table) => Ok(Ok(table)),
        // Interrupts pass unchanged.
        Err(error) if errors::is_passed_on(py, &error) => Err(error),
        Err(error) if error.is_instance_of::<PyMemoryError>(py) => Err(error),
        // A column of another library has the method, too.
        Err(error) => Ok(Err(match column(obj) {
            Ok(column) if !may_be_array(column.field().column_type()) => {
                NotATable::Column(no_array(obj, &column)?)
            }
            Ok(_) => NotATable::Other(None),
            Err(_) => NotATable::Other(Some(error)),
        })),
    }
}

/// Whether arrays have elements of this type: in place, or as bytes for booleans.
fn may_be_array(ty: &ColumnType) -> bool {
    fn is_in_place(ty: &ColumnType) -> bool {
        match ty {
            ColumnType::FixedList { item, .. } => is_in_place(item.column_type()),
            _ => ty.dtype().is_some(),
        }
    }
    *ty == ColumnType::Boolean || is_in_place(ty)
}

#[cold]
fn no_array(obj: &Bound<'_, PyAny>, column: &Column) -> PyResult<PyErr> {
    Ok(PyTypeError::new_err(format!(
        "{} is a column of type {}, which no array has; put it into a table: crossdock.table({{'x': x}})",
        obj.get_type().qualname()?,
        column.field().column_type()
    )))
}

/// Why an object is no table, with the method of its own that gives one: of a query, for example.
#[cold]
fn not_a_table(obj: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let name = obj.get_type().qualname()?;
    let mut remedy = String::new();
    for method in ["collect", "to_arrow_table", "fetch_arrow_table", "to_arrow"] {
        if remedy.is_empty() && obj.hasattr(method)? {
            remedy = format!("; its {method}() gives a table");
        }
    }
    Ok(PyTypeError::new_err(format!(
        "{name} has neither __arrow_c_stream__ nor __arrow_c_array__, and is no dict of columns{remedy}"
    )))
}

/// A column on the memory of another object, in place.
///
/// Parameters
/// ----------
/// obj : object
///     A column of another library, with ``__arrow_c_array__`` or ``__arrow_c_stream__``; an array
///     or an object that :func:`asarray` accepts, with one axis; or a list, whose values are
///     copied: text, bytes, numbers, dates or ``uuid.UUID``. None, ``pandas.NA`` and NaT are null.
///     Days of NumPy (``datetime64[D]``) have 64 bits, and are copied to the 32 bits of Arrow's.
///
/// Returns
/// -------
/// Column
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> x = crossdock.column(crossdock.array([1.5, 2.5]))
/// >>> x.type, len(x)
/// ('float64', 2)
#[pyfunction]
#[pyo3(signature = (obj, /), text_signature = "(obj, /)")]
pub(crate) fn column(obj: &Bound<'_, PyAny>) -> PyResult<Column> {
    let py = obj.py();
    descriptors::register(py)?;
    if let Ok(own) = obj.cast::<Column>() {
        return Ok(own.get().clone());
    }
    if let Some(own) = downcast(obj) {
        return of_column(new_column::with_days(Elements::from_array(own.array.clone()).raise()?)?);
    }
    if let Some((field, chunks)) = import_device::column(obj)? {
        return Ok(Column::new(field, chunks));
    }
    if let Some(method) = obj.getattr_opt(intern!(py, "__arrow_c_array__"))? {
        let given = method.call0().map_err(|error| errors::producer(py, "__arrow_c_array__()", error))?;
        let (schema, array) = capsules(&given)?;
        // SAFETY: the structs belong to the capsules, and no other consumer has them: the import
        // marks them as moved. Their content is as the protocol requires.
        let imported = unsafe { arrow::import_column(schema, array, Checks::Shape) };
        let (field, column) = imported.map_err(|error| errors::refusal(&error))?;
        return Ok(Column::new(field, vec![column]));
    }
    if obj.hasattr(intern!(py, "__arrow_c_stream__"))? {
        return match of_chunks(obj) {
            Err(error) if is_read_once(obj)? => Err(spent(py, error)),
            made => made,
        };
    }
    if obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>() {
        let (field, column) = new_column::of_values(obj)?;
        return Ok(Column::new(field, vec![column]));
    }
    of_column(new_column::with_days(Elements::from_array(protocols::lend(obj)?).raise()?)?)
}

fn of_column(column: Elements) -> PyResult<Column> {
    let (field, column) = new_column::with_field(column)?;
    Ok(Column::new(field, vec![column]))
}

/// The name of a column.
pub(super) fn text_of(name: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = name
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err(format!("columns are called by texts, not by {name}")))?;
    Ok(name.to_cow()?.into_owned())
}

/// A table of these columns, which have one length.
pub(super) fn of_columns(columns: Vec<(String, Column)>) -> PyResult<Table> {
    let (mut fields, mut parts): (Vec<Field>, Vec<Column>) = (Vec::new(), Vec::new());
    for (name, column) in columns {
        let (len, first) = (column.rows(), parts.first().map_or(column.rows(), Column::rows));
        if len != first {
            let text = format!(
                "column {name:?} has {len} elements, but the columns before it have {first} elements"
            );
            return Err(PyValueError::new_err(text));
        }
        fields.push(column.field().clone().with_name(&name));
        parts.push(column);
    }
    let schema = Schema::new(fields);
    let chunks: Vec<_> = parts.iter().map(Column::chunks).collect();
    let batches = batches(&schema, &chunks).raise()?;
    Ok(Table::new(schema, batches))
}

/// All batches of a stream. The GIL is released meanwhile: the producer may compute them.
fn of_stream(object: &Bound<'_, PyAny>) -> PyResult<Table> {
    let given = stream_of(object)?;
    let stream = unboxed::<ArrowArrayStream>(&given, "__arrow_c_stream__")?;
    // SAFETY: the struct belongs to the capsule, and no other consumer has it: the import marks it
    // as moved. Its content is as the protocol requires.
    let stream = unsafe { arrow::import_stream(stream, Checks::Shape) };
    let mut stream = stream.map_err(|error| errors::refusal(&error))?;
    let read = move || crossdock::Result::Ok((stream.schema().clone(), remaining(&mut stream)?));
    let (schema, batches) = object.py().detach(read).map_err(|error| errors::refusal(&error))?;
    Ok(Table::new(schema, batches))
}

/// All chunks of a column.
fn of_chunks(object: &Bound<'_, PyAny>) -> PyResult<Column> {
    let given = stream_of(object)?;
    let stream = unboxed::<ArrowArrayStream>(&given, "__arrow_c_stream__")?;
    // SAFETY: the struct belongs to the capsule, and no other consumer has it: the import marks it
    // as moved. Its content is as the protocol requires.
    let imported = unsafe { arrow::import_chunks(stream, Checks::Shape) };
    let (field, chunks) = imported.map_err(|error| errors::refusal(&error))?;
    Ok(Column::new(field, chunks))
}

/// The capsule of a stream.
pub(super) fn stream_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if has_python_objects(object) {
        return Err(PyBufferError::new_err(
            "columns of Python's objects are addresses of them in Polars, which it lends as bytes: cast them to what they stand for",
        ));
    }
    let given = object.call_method0(intern!(py, "__arrow_c_stream__"));
    given.map_err(|error| errors::producer(py, "__arrow_c_stream__()", error))
}

/// The addresses of the structs in the two capsules of `__arrow_c_array__`.
pub(super) fn capsules(given: &Bound<'_, PyAny>) -> PyResult<(*mut ArrowSchema, *mut ArrowArray)> {
    let (schema, array) = pair(given)?;
    Ok((unboxed(&schema, "__arrow_c_array__")?, unboxed(&array, "__arrow_c_array__")?))
}
