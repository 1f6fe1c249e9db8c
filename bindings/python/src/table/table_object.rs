//! The class `crossdock.Table`.

use std::collections::HashMap;
use std::sync::OnceLock;

use crossdock::DArray;
use crossdock::bindings::{similar, table};
use crossdock::table::{ColumnType, Field, RecordBatch, Schema};
use pyo3::IntoPyObjectExt as _;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PySlice, PyString};

use crate::arrow::joined;
use crate::errors::{self, Raise};
use crate::object::wrap;
use crate::table::column_object::{Column, range_of};
use crate::table::pickle::{Pickled, REBUILD_TABLE};
use crate::table::values::Meaning;
use crate::table::{comparison, display, export, handed_over, html, memory, values};

/// Named columns of equal length, in batches, on the memory of their producers.
///
/// Made by :func:`table`. Any consumer of Arrow's PyCapsule interface can import it, any number of
/// times: ``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``pandas.DataFrame.from_arrow(t)``. DuckDB
/// finds it by the name of the variable.
///
/// It has ``__arrow_c_array__`` and ``__arrow_c_device_array__`` only if it has exactly one batch.
///
/// ``t['price']`` is a :class:`Column`, ``t[['price', 'name']]`` a table of some columns,
/// ``t[2:5]`` a table of some rows, all in place. Iteration gives the batches, each as a table.
#[pyclass(frozen, module = "crossdock")]
#[derive(Clone)]
pub(crate) struct Table {
    schema: Schema,
    /// Batches of this schema.
    batches: Vec<RecordBatch>,
    len: usize,
    /// Where the columns are, from the first search on.
    places: OnceLock<HashMap<String, Place>>,
    /// The columns that an import left out, and why.
    refused: Vec<(String, String)>,
}

/// Where the columns of a name are.
#[derive(Clone, Copy)]
enum Place {
    Only(usize),
    /// Several columns have the name.
    Several,
}

impl Table {
    pub(super) fn new(schema: Schema, batches: Vec<RecordBatch>) -> Self {
        let len = batches.iter().map(RecordBatch::len).sum();
        Self::with_len(schema, batches, len)
    }

    /// For its schema alone.
    pub(crate) fn without_batches(schema: Schema) -> Self {
        Self::new(schema, Vec::new())
    }

    /// The rows of a table without columns count, too.
    fn with_len(schema: Schema, batches: Vec<RecordBatch>, len: usize) -> Self {
        Self { schema, batches, len, places: OnceLock::new(), refused: Vec::new() }
    }

    /// The rows as records, in new memory.
    fn records(&self, py: Python<'_>) -> PyResult<DArray> {
        let convert = || match &self.batches[..] {
            [] => RecordBatch::empty(self.schema.clone()).and_then(|none| Ok(vec![none.to_records()?])),
            batches => batches.iter().map(RecordBatch::to_records).collect(),
        };
        let records: crossdock::Result<Vec<_>> = py.detach(convert);
        let records = records.map_err(|error| match error.is_value() {
            true => errors::refusal(&error),
            false => errors::exception(&error),
        })?;
        joined(py, &records)?
            .ok_or_else(|| PyValueError::new_err("the batches have records of several types"))
    }

    /// The same table, of an import that left these columns out.
    pub(super) fn without(self, refused: Vec<(String, String)>) -> Self {
        Self { refused, ..self }
    }

    /// For a pickle.
    pub(super) fn pickled(&self) -> PyResult<Pickled> {
        let field = Field::new("", ColumnType::Struct(self.schema.fields().into())).raise()?;
        let field = field.with_nullable(false).with_metadata(self.schema.metadata().clone());
        let group =
            |batch: &RecordBatch| Ok((batch.len(), batch.columns().collect::<crossdock::Result<_>>()?));
        let groups = self.batches.iter().map(group).collect::<crossdock::Result<_>>().raise()?;
        Pickled::new(&field, groups)
    }

    /// The only batch.
    fn only(&self) -> PyResult<&RecordBatch> {
        match &self.batches[..] {
            [only] => Ok(only),
            batches => Err(PyValueError::new_err(format!(
                "the table has {} batches; iterate over it, and export each",
                batches.len()
            ))),
        }
    }

    /// The table with each column of each batch replaced.
    fn mapped(
        &self,
        column: impl Fn(&crossdock::table::Column) -> crossdock::Result<crossdock::table::Column>,
    ) -> PyResult<Self> {
        let batches = self.batches.iter().map(|batch| memory::mapped(&self.schema, batch, &column));
        let batches = batches.collect::<crossdock::Result<_>>().raise()?;
        Ok(Self::with_len(self.schema.clone(), batches, self.len))
    }

    /// Where the columns of a name are. A map of them is made once.
    fn place_of(&self, name: &str) -> Option<Place> {
        let map = || {
            let mut places = HashMap::with_capacity(self.schema.fields().len());
            for (index, name) in self.names().enumerate() {
                let place = places.entry(name.to_owned());
                place.and_modify(|place| *place = Place::Several).or_insert(Place::Only(index));
            }
            places
        };
        self.places.get_or_init(map).get(name).copied()
    }

    /// The schema, and the batches of it.
    pub(super) fn parts(&self) -> (&Schema, &[RecordBatch]) {
        (&self.schema, &self.batches)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(Field::name)
    }

    /// The index of the only column of a name.
    fn index_of(&self, name: &str) -> PyResult<usize> {
        match self.place_of(name) {
            Some(Place::Only(index)) => Ok(index),
            Some(Place::Several) => Err(PyKeyError::new_err(format!(
                "more than one column is called {name:?}; `rename` gives them names of their own"
            ))),
            None => Err(PyKeyError::new_err(match similar(name, self.names()) {
                Some(close) => format!("there is no column {name:?}; did you mean {close:?}?"),
                None => format!(
                    "there is no column {name:?} among {:?}",
                    self.names().take(10).collect::<Vec<_>>()
                ),
            })),
        }
    }

    /// The columns at these indices.
    fn columns_at(&self, indices: &[usize]) -> PyResult<Self> {
        let fields = indices.iter().map(|&index| self.schema.fields()[index].clone());
        let schema = Schema::new(fields).with_metadata(self.schema.metadata().clone());
        let batches = self.batches.iter().map(|batch| batch.select(indices));
        let batches = batches.collect::<crossdock::Result<_>>().raise()?;
        Ok(Self::with_len(schema, batches, self.len))
    }

    fn column_at(&self, index: usize) -> PyResult<Column> {
        let chunks = self.batches.iter().map(|batch| batch.column(index));
        let chunks = chunks.collect::<crossdock::Result<_>>().raise()?;
        Ok(Column::new(self.schema.fields()[index].clone(), chunks))
    }
}

#[pymethods]
impl Table {
    /// The numbers of rows and of columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.len, self.schema.fields().len())
    }

    /// The names of the columns, in their order.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.names().collect()
    }

    /// The name and the type of each column.
    #[getter]
    fn schema(&self) -> Vec<(&str, String)> {
        self.schema.fields().iter().map(|field| (field.name(), field.column_type().to_string())).collect()
    }

    /// Why ``table(obj, skip_refused=True)`` left columns out: the reason of each, by its name.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        self.refused.iter().try_for_each(|(name, why)| all.set_item(name, why))?;
        Ok(all)
    }

    /// What happens to each column on its way to consumers of Arrow and to an array: the name, the
    /// type, outcome and reason of both. ``again`` is another import of the same object.
    fn _handed_over(&self, again: &Bound<'_, Self>) -> PyResult<Vec<handed_over::HandedOver>> {
        handed_over::columns(&self.schema, &self.batches, &again.get().batches)
    }

    /// The bytes of all buffers of the columns, each once. Slices share them, and count them whole.
    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        let columns = self.batches.iter().flat_map(RecordBatch::columns);
        let columns = columns.collect::<crossdock::Result<Vec<_>>>().raise()?;
        Ok(table::nbytes(&columns))
    }

    /// Some of the columns, in this order, in place.
    ///
    /// Parameters
    /// ----------
    /// names : list of str
    ///     The names.
    ///
    /// Returns
    /// -------
    /// Table
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> t = crossdock.table({'a': crossdock.arange(2), 'b': crossdock.ones(2)})
    /// >>> t.select(['b']).schema
    /// [('b', 'float64')]
    #[pyo3(signature = (names, /))]
    fn select(&self, names: &Bound<'_, PyAny>) -> PyResult<Self> {
        if names.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!(
                "select() takes a list of names, such as [{}]",
                names.repr()?
            )));
        }
        let of_names = |found: &Bound<'_, PyAny>| match found.repr() {
            Ok(shown) => PyTypeError::new_err(format!(
                "columns are selected by a list of names, such as ['x'], but {shown} is no {}",
                if found.is(names) { "list" } else { "name" }
            )),
            Err(error) => error,
        };
        let index = |name: PyResult<Bound<'_, PyAny>>| {
            let name = name?;
            match name.cast::<PyString>() {
                Ok(name) => self.index_of(&name.to_cow()?),
                Err(_) => Err(of_names(&name)),
            }
        };
        let all = match names.try_iter() {
            Ok(all) => all,
            Err(_) => return Err(of_names(names)),
        };
        let indices: Vec<usize> = all.map(index).collect::<PyResult<_>>()?;
        self.columns_at(&indices)
    }

    /// The same columns under other names, in place.
    ///
    /// Parameters
    /// ----------
    /// names : dict or list of str
    ///     New names by the old ones, or a name for each column.
    ///
    /// Returns
    /// -------
    /// Table
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> t = crossdock.table({'a': crossdock.arange(2), 'b': crossdock.ones(2)})
    /// >>> t.rename({'b': 'weight'}).column_names
    /// ['a', 'weight']
    #[pyo3(signature = (names, /))]
    fn rename(&self, names: &Bound<'_, PyAny>) -> PyResult<Self> {
        let no_name = |found: &Bound<'_, PyAny>| match found.repr() {
            Ok(found) => PyTypeError::new_err(format!(
                "rename() takes a dict of new names by the old ones, such as {{'x': 'y'}}, or a list with a name for \
                 each column, but {found} is neither, or no name in one"
            )),
            Err(error) => error,
        };
        let names: Vec<String> = match names.cast::<PyDict>() {
            Ok(changes) => {
                let mut all: Vec<String> = self.names().map(str::to_owned).collect();
                for (old, new) in changes.iter() {
                    let from = old.cast::<PyString>().map_err(|_| no_name(&old))?;
                    all[self.index_of(&from.to_cow()?)?] = new.extract().map_err(|_| no_name(&new))?;
                }
                all
            }
            Err(_) => names.extract().map_err(|_| no_name(names))?,
        };
        let (found, wanted) = (names.len(), self.schema.fields().len());
        if found != wanted {
            return Err(PyValueError::new_err(format!("{found} names do not fit {wanted} columns")));
        }
        let fields = self.schema.fields().iter().zip(&names);
        let fields = fields.map(|(field, name)| field.clone().with_name(name));
        let schema = Schema::new(fields).with_metadata(self.schema.metadata().clone());
        let batches = self.batches.iter().map(|batch| batch.rename(&names));
        let batches = batches.collect::<crossdock::Result<_>>().raise()?;
        Ok(Self::with_len(schema, batches, self.len))
    }

    fn __len__(&self) -> usize {
        self.len
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(name) = name.cast::<PyString>() else { return Ok(false) };
        Ok(self.place_of(&name.to_cow()?).is_some())
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let Ok(name) = key.cast::<PyString>() {
            return self.column_at(self.index_of(&name.to_cow()?)?)?.into_bound_py_any(py);
        }
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = range_of(slice, self.len)?;
            let lens = self.batches.iter().map(RecordBatch::len);
            let batches =
                table::parts(range, lens).into_iter().map(|(index, range)| self.batches[index].slice(range));
            let batches = batches.collect::<crossdock::Result<_>>().raise()?;
            return Self::new(self.schema.clone(), batches).into_bound_py_any(py);
        }
        if key.is_instance_of::<PyList>() {
            return self.select(key)?.into_bound_py_any(py);
        }
        Err(PyTypeError::new_err(format!(
            "a table has columns by name and rows by slice, as in t['name'] and t[2:5]; {} is neither",
            key.repr()?
        )))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let batches = self.batches.iter().map(|batch| Self::new(self.schema.clone(), vec![batch.clone()]));
        let batches: Vec<_> = batches.map(|batch| batch.into_bound_py_any(py)).collect::<PyResult<_>>()?;
        PyList::new(py, batches)?.try_iter()
    }

    /// All elements in new memory, which no other party writes.
    ///
    /// Returns
    /// -------
    /// Table
    ///     With the same batches. A slice has its own elements alone.
    ///
    /// Raises
    /// ------
    /// ValueError, IndexError
    ///     If elements break the rules of their type, as those of a damaged file may.
    /// OSError
    ///     If a guarded file shrank.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> t = crossdock.table({'x': crossdock.asarray(bytearray(3))})
    /// >>> t.copy().to_dict()
    /// {'x': [0, 0, 0]}
    fn copy(&self) -> PyResult<Self> {
        self.mapped(memory::copied)
    }

    /// The same table, in place, with your promise that its memory stays constant.
    ///
    /// Consumers of Arrow rely on that: without the promise, they get no memory that other parties
    /// may write, such as NumPy's.
    ///
    /// The promise covers all of the memory, for as long as there is an array, a column or an
    /// export of it. If any party writes it nevertheless, the behaviour is undefined.
    /// :meth:`Array.frozen` has more.
    ///
    /// Returns
    /// -------
    /// Table
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> t = crossdock.table({'x': crossdock.asarray(bytearray(3))})
    /// >>> t.frozen()['x'].array().readonly
    /// True
    fn frozen(&self) -> PyResult<Self> {
        // SAFETY: the documented promise of the Python caller, which cannot be checked here: no
        // party writes the memory from now on.
        self.mapped(|column| unsafe { memory::frozen(column) })
    }

    /// The columns by name, each a list of Python values, as :meth:`Column.to_list` gives them.
    ///
    /// Returns
    /// -------
    /// dict
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.table({'name': ['one', None], 'n': [1, 2]}).to_dict()
    /// {'name': ['one', None], 'n': [1, 2]}
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.names() {
            all.set_item(name, self.column_at(self.index_of(name)?)?.to_list(py)?)?;
        }
        Ok(all)
    }

    /// The rows as an array of records, by a copy.
    ///
    /// Returns
    /// -------
    /// Array
    ///     One record for each row. Lists of a fixed size and tensors become sub-arrays, and
    ///     structs records.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     If elements are null, in lists of a fixed size too.
    /// TypeError
    ///     If a column has elements without a fixed width, decimals, or a dictionary.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.table({'x': [1.5, 2.5], 'n': [1, 2]}).to_records().tolist()
    /// [(1.5, 1), (2.5, 2)]
    fn to_records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap(py, self.records(py)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let names: Vec<&str> = self.names().collect();
        display::rows(self.shape(), &names, |index, rows| {
            let column = self.column_at(index)?;
            let cell = |row: &Option<usize>| match row.and_then(|row| column.chunk_of(row)) {
                Some((chunk, row)) => values::shown(py, chunk, row, Meaning::of(column.field()), false),
                None => "...".to_owned(),
            };
            Ok(rows.iter().map(cell).collect())
        })
    }

    fn __richcmp__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        how: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let remedy = "x.to_dict() == y.to_dict() compares the values, and pyarrow.table(x) == pyarrow.table(y) does in place";
        comparison::compared(this.as_any(), other, how, remedy)
    }

    /// Raises TypeError: the columns of a table are of several types.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__(&self, dtype: Option<&Bound<'_, PyAny>>, copy: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(PyTypeError::new_err(
            "a table is no NumPy array: `to_records()` gives an array of records, np.asarray(t['name']) a column, and \
             pandas.DataFrame.from_arrow(t) a frame",
        ))
    }

    /// HTML for notebooks: the first and last rows and columns, with their types. It reads only
    /// those.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (rows, columns) = self.shape();
        let below = format!("{rows} rows × {columns} columns");
        let column =
            |index| self.column_at(index).map(|column| (column.field().clone(), column.chunks().to_vec()));
        html::table(py, self.shape(), column, &below)
    }

    /// A pickle has the buffers out of band with protocol 5. It copies elements that are less than
    /// half of those in their buffers.
    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        self.pickled()?.reduce(py, REBUILD_TABLE, protocol)
    }

    /// The same table, on the same memory.
    fn __copy__(&self) -> Self {
        self.clone()
    }

    /// As :meth:`copy`.
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let _ = memo;
        self.copy()
    }

    fn __getattr__<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        super::attribute(this.as_any(), name, this.get().batches.len())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn _arrow_c_array<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::batch(py, self.only()?, requested_schema)
    }

    /// The type of the batches, a struct, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        export::schema(py, &self.schema)
    }

    /// The batches as a stream, in a capsule. A ``requested_schema`` with other names raises
    /// BufferError; types stay those of the table.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::stream(py, &self.schema, &self.batches, requested_schema)
    }

    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn _arrow_c_device_array<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::refuse_unknown("__arrow_c_device_array__", kwargs)?;
        export::device_batch(py, self.only()?, requested_schema)
    }

    /// The batches as a stream of a device's memory, in a capsule.
    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::refuse_unknown("__arrow_c_device_stream__", kwargs)?;
        export::device_stream(py, &self.schema, &self.batches, requested_schema)
    }
}
