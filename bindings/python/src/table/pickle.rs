//! Pickles of tables and columns: the schema, the numbers of each column, and the buffers, out of
//! band if the protocol supports it, or as `sealed.rs` has them.
//!
//! Reasons: `DESIGN.md`, "A pickled table is its buffers".

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crossdock::DArray;
use crossdock::bindings::arrow::{field_from_bytes, field_to_bytes};
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, Field, RecordBatch, Schema};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PyTuple};

use crate::copies::bytes_of;
use crate::errors::{self, Raise};
use crate::object::{downcast, wrap};
use crate::table::column_object::Column as ColumnObject;
use crate::table::table_object::Table;
use crate::{descriptors, protocols};

/// Tables, and columns, as what a pickle stores.
pub(super) struct Pickled {
    schema: Vec<u8>,
    /// The number of groups (batches, or chunks), then the length of each and its columns: length,
    /// offset, 1 if there is a bitmap, the number of buffers, and the index of each of them;
    /// children and dictionary follow.
    numbers: Vec<u64>,
    /// Each buffer once.
    pub(super) buffers: Vec<Buffer>,
    /// The indices of the buffers, by address and size.
    known: HashMap<(usize, usize), u64>,
}

impl Pickled {
    /// # Errors
    ///
    /// `BufferError` for memory of a device, and dtypes without a name.
    pub(super) fn new(field: &Field, groups: Vec<(usize, Vec<Column>)>) -> PyResult<Self> {
        let schema = field_to_bytes(field).map_err(|error| errors::refusal(&error))?;
        let numbers = vec![groups.len() as u64];
        let mut all = Self { schema, numbers, buffers: Vec::new(), known: HashMap::new() };
        for (len, columns) in groups {
            all.numbers.push(len as u64);
            for column in columns {
                if !column.place().is_host() {
                    return Err(PyBufferError::new_err(format!(
                        "a pickle has bytes of the CPU, and this column is on {}; copy it to the CPU in the library that made it",
                        column.place()
                    )));
                }
                all.add(&if is_small_part(&column) { column.compact().raise()? } else { column })?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, column: &Column) -> PyResult<()> {
        let validity = column.validity().map(|bits| bits.buffer());
        let has_validity = u64::from(validity.is_some());
        let numbers =
            [column.len() as u64, column.offset() as u64, has_validity, column.buffers().len() as u64];
        self.numbers.extend(numbers);
        for buffer in validity.into_iter().chain(column.buffers()) {
            let index = match self.known.entry((buffer.address(), buffer.nbytes())) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => {
                    self.buffers.push(buffer.try_clone().raise()?.into_readonly());
                    *place.insert(self.buffers.len() as u64 - 1)
                }
            };
            self.numbers.push(index);
        }
        column.children().iter().chain(column.dictionary()).try_for_each(|child| self.add(child))
    }

    /// Function and arguments, as `__reduce_ex__(protocol)` returns them.
    pub(super) fn reduce<'py>(
        self,
        py: Python<'py>,
        function: &str,
        protocol: i32,
    ) -> PyResult<Bound<'py, PyAny>> {
        static PICKLE_BUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let out_of_band = PICKLE_BUFFER.import(py, "pickle", "PickleBuffer")?;
        let one = |buffer: &Buffer| {
            let bytes = bytes_in(buffer)?;
            // The pickler reads the bytes where they lie.
            buffer.fault().map_or(Ok(()), Err).raise()?;
            if protocol >= 5 { out_of_band.call1((wrap(py, bytes)?,)) } else { bytes_of(py, &bytes) }
        };
        let buffers = self.buffers.iter().map(one).collect::<PyResult<Vec<_>>>()?;
        let buffers = PyList::new(py, buffers)?.into_any();
        self.reduced(py, function, buffers)
    }

    pub(super) fn reduced<'py>(
        &self,
        py: Python<'py>,
        function: &str,
        buffers: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let numbers: Vec<u8> = self.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let (schema, numbers) =
            (PyBytes::new(py, &self.schema).into_any(), PyBytes::new(py, &numbers).into_any());
        let state = PyTuple::new(py, [schema, numbers, buffers])?.into_any();
        Ok(PyTuple::new(py, [py.import("crossdock")?.getattr(function)?, state])?.into_any())
    }
}

/// The bytes of a buffer as an array, in place.
pub(super) fn bytes_in(buffer: &Buffer) -> PyResult<DArray> {
    let layout = Layout::contiguous(&[buffer.nbytes()], 1, Order::RowMajor).raise()?;
    DArray::from_buffer(buffer.try_clone().raise()?, DType::U8, layout, 0).raise()
}

/// Whether the elements are less than half of those in the buffers, and these are not tiny: then a
/// copy of the elements takes less than the rest would.
fn is_small_part(column: &Column) -> bool {
    const TINY: usize = 4096;
    let nbytes: usize = column.buffers().iter().map(Buffer::nbytes).sum();
    (nbytes > TINY || column.buffers().is_empty()) && room(column).is_some_and(|room| room / 2 > column.len())
}

/// How many elements the buffers have room for, as far as their sizes show it.
fn room(column: &Column) -> Option<usize> {
    let first = || column.buffers().first().map(Buffer::nbytes);
    match column.column_type() {
        ColumnType::Boolean => first().map(|nbytes| nbytes * 8),
        ColumnType::Utf8(width) | ColumnType::Binary(width) | ColumnType::List { offsets: width, .. } => {
            first().map(|nbytes| nbytes / width.nbytes())
        }
        ColumnType::Map { .. } => first().map(|nbytes| nbytes / 4),
        ColumnType::Utf8View | ColumnType::BinaryView => first().map(|nbytes| nbytes / 16),
        ColumnType::Struct(_) => column.children().iter().filter_map(room).min(),
        ColumnType::FixedList { len, .. } => room(&column.children()[0])?.checked_div(*len),
        ColumnType::Union { .. } => first(),
        ty => first()?.checked_div(ty.dtype()?.itemsize()),
    }
}

/// The names of the functions below in the package.
pub(super) const REBUILD_TABLE: &str = "_rebuild_table";
pub(super) const REBUILD_COLUMN: &str = "_rebuild_column";

/// The table of a pickle, on the buffers that came with it. All arguments are checked.
#[pyfunction]
#[pyo3(signature = (schema, numbers, buffers, /))]
pub(crate) fn _rebuild_table(
    py: Python<'_>,
    schema: &[u8],
    numbers: &[u8],
    buffers: &Bound<'_, PyAny>,
) -> PyResult<Table> {
    descriptors::register(py)?;
    let field = field_from_bytes(schema).map_err(damaged)?;
    let ColumnType::Struct(fields) = field.column_type() else {
        return Err(PyValueError::new_err("the pickle of a table is damaged: its schema is of no table"));
    };
    let schema = Schema::new(fields.iter().cloned()).with_metadata(field.metadata().clone());
    let mut parts = PickledParts::new(numbers, buffers)?;
    let mut batches = Vec::new();
    for _ in 0..parts.number()? {
        let len = parts.number()?;
        let columns = fields.iter().map(|field| parts.column(field.column_type()));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        batches.push(RecordBatch::new(schema.clone(), columns, len).map_err(damaged)?);
    }
    parts.finish()?;
    Ok(Table::new(schema, batches))
}

/// The column of a pickle, as [`_rebuild_table`].
#[pyfunction]
#[pyo3(signature = (schema, numbers, buffers, /))]
pub(crate) fn _rebuild_column(
    py: Python<'_>,
    schema: &[u8],
    numbers: &[u8],
    buffers: &Bound<'_, PyAny>,
) -> PyResult<ColumnObject> {
    descriptors::register(py)?;
    let field = field_from_bytes(schema).map_err(damaged)?;
    let mut parts = PickledParts::new(numbers, buffers)?;
    let mut chunks = Vec::new();
    for _ in 0..parts.number()? {
        parts.number()?;
        chunks.push(parts.column(field.column_type())?);
    }
    parts.finish()?;
    Ok(ColumnObject::new(field, chunks))
}

/// The numbers and buffers of a pickle, one after the other.
struct PickledParts<'a> {
    numbers: std::slice::Iter<'a, [u8; 8]>,
    buffers: Vec<Buffer>,
}

impl<'a> PickledParts<'a> {
    fn new(numbers: &'a [u8], buffers: &Bound<'_, PyAny>) -> PyResult<Self> {
        let all = match buffers.cast::<PyTuple>() {
            Ok(_) => {
                let (whole, spans): (Bound<'_, PyAny>, Vec<(usize, usize)>) = buffers.extract()?;
                let whole = buffer_of(&whole)?;
                let part = |(start, nbytes): (usize, usize)| whole.slice(start..start.saturating_add(nbytes));
                spans.into_iter().map(part).collect::<crossdock::Result<Vec<_>>>().map_err(damaged)?
            }
            Err(_) => buffers.try_iter()?.map(|buffer| buffer_of(&buffer?)).collect::<PyResult<Vec<_>>>()?,
        };
        Ok(Self { numbers: numbers.as_chunks::<8>().0.iter(), buffers: all })
    }

    fn number(&mut self) -> PyResult<usize> {
        let number = self.numbers.next().map(|number| u64::from_le_bytes(*number));
        number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| wrong("a number is missing"))
    }

    fn buffer(&mut self) -> PyResult<Buffer> {
        let index = self.number()?;
        self.buffers.get(index).ok_or_else(|| wrong("a buffer is missing"))?.try_clone().raise()
    }

    fn column(&mut self, ty: &ColumnType) -> PyResult<Column> {
        let (len, offset) = (self.number()?, self.number()?);
        let (has_validity, count) = (self.number()? != 0, self.number()?);
        let validity = if has_validity { Some(self.buffer()?) } else { None };
        let buffers = (0..count).map(|_| self.buffer()).collect::<PyResult<_>>()?;
        let mut children = Vec::new();
        for field in ty.fields() {
            children.push(self.column(field.column_type())?);
        }
        let dictionary = match ty {
            ColumnType::Dictionary { .. } => children.pop(),
            _ => None,
        };
        let parts = ColumnParts { len, offset, validity, buffers, children, dictionary };
        Column::new(ty.clone(), parts, Checks::Shape).map_err(damaged)
    }

    fn finish(mut self) -> PyResult<()> {
        self.numbers.next().map_or(Ok(()), |_| Err(wrong("numbers are left over")))
    }
}

/// The bytes of an object, in place: of an array of this library, its own buffer, about which more
/// is known than a protocol tells.
fn buffer_of(object: &Bound<'_, PyAny>) -> PyResult<Buffer> {
    if let Some(own) = downcast(object) {
        return own.array.buffer().map(|(buffer, _)| buffer).raise();
    }
    let lent = protocols::lend_unmasked(object)?;
    if lent.order().is_none() {
        return Err(wrong("its bytes have gaps"));
    }
    let (buffer, _) = lent.buffer().raise()?;
    // In the process that made the pickle, out-of-band buffers are views of arrays.
    let source = PyMemoryView::from(object)?.getattr(intern!(object.py(), "obj"))?;
    let own = downcast(&source).map(|own| own.array.buffer()).transpose().raise()?;
    let is_same = |own: &Buffer| (own.address(), own.nbytes()) == (buffer.address(), buffer.nbytes());
    Ok(own.map(|(own, _)| own).filter(is_same).unwrap_or(buffer))
}

fn wrong(text: &str) -> PyErr {
    PyValueError::new_err(format!("the pickle of a table is damaged: {text}"))
}

/// The error for arguments that [`Pickled`] never writes.
fn damaged(error: crossdock::Error) -> PyErr {
    match error.is_out_of_memory() || error.is_exhausted() {
        true => errors::exception(&error),
        false => wrong(&errors::text(&error)),
    }
}
