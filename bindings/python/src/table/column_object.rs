//! The class `crossdock.Column`.

use std::ops::Range;

use crossdock::DArray;
use crossdock::bindings::table::{chunk_of, parts};
use crossdock::element::{DType, Value};
use crossdock::layout::Order;
use crossdock::table::{self, ColumnType, Field};
use pyo3::IntoPyObjectExt as _;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyBufferError, PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyIterator, PyList, PyRange, PySlice, PyTuple};
use pyo3::{ffi, intern};

use crate::arrow::joined;
use crate::errors::{self, Raise};
use crate::object::wrap;
use crate::table::pickle::{Pickled, REBUILD_COLUMN};
use crate::table::values::{Meaning, identifier};
use crate::table::{as_numpy, comparison, display, export, html, memory, values};
use crate::{convert, parameters, words};

/// How many elements an iteration converts at a time.
const BLOCK: usize = 1024;

/// Elements of one type, some of them null, on the memory of their producer.
///
/// Made by ``table['name']`` and :func:`column`. Slices share the memory. A column of a table has a
/// chunk for each batch.
#[pyclass(frozen, module = "crossdock")]
#[derive(Clone)]
pub(crate) struct Column {
    field: Field,
    /// Columns of the field's type.
    chunks: Vec<table::Column>,
    len: usize,
}

impl Column {
    pub(super) fn new(field: Field, chunks: Vec<table::Column>) -> Self {
        let len = chunks.iter().map(table::Column::len).sum();
        Self { field, chunks, len }
    }

    pub(super) fn field(&self) -> &Field {
        &self.field
    }

    pub(super) fn chunks(&self) -> &[table::Column] {
        &self.chunks
    }

    pub(super) fn rows(&self) -> usize {
        self.len
    }

    /// For a pickle.
    pub(super) fn pickled(&self) -> PyResult<Pickled> {
        let groups = self.chunks.iter().map(|chunk| (chunk.len(), vec![chunk.clone()]));
        Pickled::new(&self.field, groups.collect())
    }

    /// The chunk of an element, and the element's index in it.
    pub(super) fn chunk_of(&self, index: usize) -> Option<(&table::Column, usize)> {
        chunk_of(&self.chunks, index)
    }

    fn element<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        match self.chunk_of(index) {
            Some((chunk, index)) => values::element(py, chunk, index, Meaning::of(&self.field)),
            None => Ok(py.None().into_bound(py)),
        }
    }

    /// A part, in place.
    fn slice(&self, range: Range<usize>) -> PyResult<Self> {
        let lens = self.chunks.iter().map(table::Column::len);
        let chunks = parts(range, lens).into_iter().map(|(index, range)| self.chunks[index].slice(range));
        Ok(Self::new(self.field.clone(), chunks.collect::<crossdock::Result<_>>().raise()?))
    }

    /// The only chunk.
    fn only(&self) -> PyResult<&table::Column> {
        match &self.chunks[..] {
            [only] => Ok(only),
            chunks => Err(PyBufferError::new_err(format!(
                "the column has {} chunks, which lie apart; `chunks()` gives each as a column",
                chunks.len()
            ))),
        }
    }
}

#[pymethods]
impl Column {
    /// The name, which may be empty.
    #[getter]
    fn name(&self) -> &str {
        self.field.name()
    }

    /// The type, as pyarrow names it.
    #[getter]
    fn r#type(&self) -> String {
        self.field.column_type().to_string()
    }

    /// How many elements are null by the column's own bitmap, as Arrow counts them.
    ///
    /// Values of dictionaries, of runs and of unions may be null nevertheless: :meth:`mask` has
    /// those too.
    #[getter]
    fn null_count(&self) -> PyResult<usize> {
        self.chunks.iter().map(table::Column::null_count).sum::<crossdock::Result<_>>().raise()
    }

    /// The elements as an array, in place.
    ///
    /// Dates of 32 bits and times are integers, a dictionary gives its indices, and moments with a
    /// time zone are in UTC, without their zone. Tensors of a fixed shape have their axes.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     If elements are null, in lists of a fixed size and values of dictionaries too, or if the
    ///     column has several chunks.
    /// TypeError
    ///     If the elements have no fixed width of whole bytes, or are decimals, whose scale no
    ///     array expresses: :meth:`to_list` has their values, and PyArrow casts decimals.
    ///     ``np.asarray(x)`` has booleans of a bit each as bytes, by a copy.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.column(crossdock.array([1.5, 2.5])).array().tolist()
    /// [1.5, 2.5]
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let column = self.only()?;
        let array = column.complete_array().map_err(|error| match error.is_value() {
            true => PyBufferError::new_err(format!("{error}; {}", words::OF_NULLS)),
            false if error.is_unsupported() => {
                let also = match self.field.column_type() {
                    ColumnType::Boolean => ", and np.asarray(x) has a byte for each bit, by a copy",
                    _ => "",
                };
                PyTypeError::new_err(format!("{error}; `to_list()` has the values{also}"))
            }
            false => errors::exception(&error),
        })?;
        let array = match self.field.extension() {
            Some(_) => self.field.array_of(column).raise()?,
            None => array,
        };
        wrap(py, array)
    }

    /// A boolean for each element: true where it is valid, false where it is null. Copies.
    ///
    /// It is false wherever :meth:`to_list` has None for a null, values of dictionaries, of runs
    /// and of unions included. Validity alone decides, as in Arrow: NaT that another library
    /// exports as a valid element is valid, though :meth:`to_list` has None for it, as pandas does.
    /// NaT of NumPy's arrays, and of lists, is null.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.column(['a', None]).mask().tolist()
    /// [True, False]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let [only] = &self.chunks[..] {
            return wrap(py, only.mask().raise()?);
        }
        let parts =
            self.chunks.iter().map(table::Column::mask).collect::<crossdock::Result<Vec<_>>>().raise()?;
        let all = joined(py, &parts)?
            .map_or_else(|| DArray::zeros(DType::BOOL, &[0], Order::RowMajor).raise(), Ok)?;
        wrap(py, all)
    }

    /// The elements with a value in place of each null. Copies.
    ///
    /// Parameters
    /// ----------
    /// value : bool, number, str, bytes, datetime, timedelta or uuid.UUID
    ///     One that an element can have.
    ///
    /// Returns
    /// -------
    /// Column
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.column([1.5, None]).fill_nulls(0).array().tolist()
    /// [1.5, 0.0]
    #[pyo3(signature = (value, /))]
    fn fill_nulls(&self, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let ColumnType::Decimal { .. } = self.field.column_type() {
            let text = format!(
                "nulls of type {} cannot be filled; fill them in the library that made the column",
                self.field.column_type()
            );
            return Err(PyTypeError::new_err(text));
        }
        let value = match identifier(value)?.filter(|_| Meaning::of(&self.field) == Meaning::Uuid) {
            Some(bytes) => Value::Void(bytes),
            None => convert::to_value(value, self.field.column_type().dtype().as_ref())?,
        };
        let chunks = self.chunks.iter().map(|chunk| chunk.fill_nulls(&value));
        Ok(Self::new(self.field.clone(), chunks.collect::<crossdock::Result<_>>().raise()?))
    }

    /// The elements as Python values.
    ///
    /// Nulls are None, structs are dicts, maps are lists of pairs, and tensors of any shape are
    /// arrays in place. Times that Python's ``datetime`` lacks, which are nanoseconds that are no
    /// whole number of microseconds and those out of its range, are ``numpy.datetime64`` (of
    /// moments with a time zone, in UTC) or ``numpy.timedelta64``.
    ///
    /// Returns
    /// -------
    /// list
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.column(['one', None, 'three'])[1:].to_list()
    /// [None, 'three']
    pub(super) fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let [first, rest @ ..] = &self.chunks[..] else { return Ok(PyList::empty(py)) };
        let meaning = Meaning::of(&self.field);
        let all = values::elements(py, first, meaning)?;
        for chunk in rest {
            all.call_method1(intern!(py, "extend"), (values::elements(py, chunk, meaning)?,))?;
        }
        Ok(all)
    }

    /// The elements in new memory, which no other party writes.
    ///
    /// Returns
    /// -------
    /// Column
    ///     With the same chunks. A slice has its own elements alone.
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
    /// >>> crossdock.column(['one', None, 'three'])[1:].copy().to_list()
    /// [None, 'three']
    fn copy(&self) -> PyResult<Self> {
        let chunks = self.chunks.iter().map(memory::copied);
        Ok(Self::new(self.field.clone(), chunks.collect::<crossdock::Result<_>>().raise()?))
    }

    /// The same column, in place, with your promise that its memory stays constant.
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
    /// Column
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> x = crossdock.column(bytearray(b'abc'))
    /// >>> x.frozen().array().readonly
    /// True
    fn frozen(&self) -> PyResult<Self> {
        // SAFETY: the documented promise of the Python caller, which cannot be checked here: no
        // party writes the memory from now on.
        let chunks = self.chunks.iter().map(|chunk| unsafe { memory::frozen(chunk) });
        Ok(Self::new(self.field.clone(), chunks.collect::<crossdock::Result<_>>().raise()?))
    }

    /// A column for each chunk, in place.
    ///
    /// Returns
    /// -------
    /// list of Column
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> len(crossdock.column(crossdock.ones(3)).chunks())
    /// 1
    #[pyo3(name = "chunks")]
    fn chunk_list(&self) -> Vec<Self> {
        self.chunks.iter().map(|chunk| Self::new(self.field.clone(), vec![chunk.clone()])).collect()
    }

    fn __len__(&self) -> usize {
        self.len
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            return self.slice(range_of(slice, self.len)?)?.into_bound_py_any(key.py());
        }
        // SAFETY: `key` is a live object, and its `Bound` proves that this thread holds the GIL.
        if unsafe { ffi::PyIndex_Check(key.as_ptr()) } == 0 {
            let text = format!("elements of a column are at integers and slices, not at {}", key.repr()?);
            return Err(PyTypeError::new_err(text));
        }
        let wanted: isize = key.extract()?;
        let index = if wanted < 0 { wanted + self.len.cast_signed() } else { wanted };
        match usize::try_from(index) {
            Ok(index) if index < self.len => self.element(key.py(), index),
            _ => {
                let text = format!("index {wanted} is out of bounds for a column of {} elements", self.len);
                Err(PyIndexError::new_err(text))
            }
        }
    }

    /// The elements as :meth:`to_list` gives them, of which a block is converted at a time.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let (all, len) = (self.clone(), self.len);
        let block = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let start: usize = arguments.get_item(0)?.extract()?;
            let end = len.min(start + BLOCK);
            all.slice(start..end)?.to_list(arguments.py()).map(Bound::unbind)
        };
        let block = PyCFunction::new_closure(py, None, None, block)?;
        let starts = PyRange::new_with_step(py, 0, len.cast_signed(), BLOCK.cast_signed())?;
        let builtins = py.import(intern!(py, "builtins"))?;
        let blocks = builtins.call_method1(intern!(py, "map"), (block, starts))?;
        let chain = py.import(intern!(py, "itertools"))?.getattr(intern!(py, "chain"))?;
        chain.call_method1(intern!(py, "from_iterable"), (blocks,))?.try_iter()
    }

    fn __richcmp__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        how: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let remedy = "np.asarray(x) == y compares each element, and x.to_list() == y compares with a list";
        comparison::compared(this.as_any(), other, how, remedy)
    }

    /// A NumPy array on the same memory, unless there are several chunks, another dtype or a copy
    /// is requested, or NumPy has the elements in another form: dates of 32 bits and times with
    /// nulls as ``datetime64``, booleans as bytes, dictionaries decoded, and text, lists and the
    /// like as Python's values, with None. Those are copies, and ``copy=False`` raises ValueError.
    /// Raises TypeError for nulls among numbers, unless ``dtype=object`` is requested.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = copy.map_or(Ok(None), parameters::copy)?;
        as_numpy::array(py, &self.field, &self.chunks, dtype, copy)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shown = display::list(self.len, |index| match self.chunk_of(index) {
            Some((chunk, index)) => values::shown(py, chunk, index, Meaning::of(&self.field), true),
            None => String::new(),
        });
        let name = if self.name().is_empty() { String::new() } else { format!("{:?}, ", self.name()) };
        format!("Column({name}{}, {} elements)\n{shown}", self.field.column_type(), self.len)
    }

    /// HTML for notebooks: the first and last elements. It reads only those.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let below = format!("Column, {} elements", self.len);
        html::table(py, (self.len, 1), |_| Ok((self.field.clone(), self.chunks.clone())), &below)
    }

    /// A pickle has the buffers out of band with protocol 5. It copies elements that are less than
    /// half of those in their buffers.
    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        self.pickled()?.reduce(py, REBUILD_COLUMN, protocol)
    }

    /// The same column, on the same memory.
    fn __copy__(&self) -> Self {
        self.clone()
    }

    /// As :meth:`copy`.
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let _ = memo;
        self.copy()
    }

    /// The type of the column, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        export::field(py, &self.field)
    }

    fn __getattr__<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        super::attribute(this.as_any(), name, this.get().chunks.len())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn _arrow_c_array<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::column(py, &self.field, self.only()?, requested_schema)
    }

    /// The chunks as a stream, in a capsule.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::chunks(py, &self.field, &self.chunks, requested_schema)
    }

    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn _arrow_c_device_array<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::refuse_unknown("__arrow_c_device_array__", kwargs)?;
        export::device_column(py, &self.field, self.only()?, requested_schema)
    }

    /// The chunks as a stream of a device's memory, in a capsule.
    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::refuse_unknown("__arrow_c_device_stream__", kwargs)?;
        export::device_chunks(py, &self.field, &self.chunks, requested_schema)
    }
}

/// The range of a slice with steps of one.
pub(super) fn range_of(slice: &Bound<'_, PySlice>, len: usize) -> PyResult<Range<usize>> {
    let found = slice.indices(len.cast_signed())?;
    if found.step != 1 {
        return Err(PyValueError::new_err(format!(
            "slices of tables and columns have steps of 1, not {}",
            found.step
        )));
    }
    let start = found.start.cast_unsigned();
    Ok(start..start + found.slicelength)
}
