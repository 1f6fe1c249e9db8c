//! Pickles of tables and columns: the schema, the numbers of each column, and the buffers, out of
//! band if the protocol supports it, or in one sealed memory for processes of `multiprocessing`.
//!
//! Reasons: `DESIGN.md`, "A pickled table is its buffers".

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::AsRawFd;

use crossdock::bindings::arrow::{field_from_bytes, field_to_bytes};
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{AxisSlice, Layout, Order};
use crossdock::memory::{Backing, Birth};
use crossdock::table::{Checks, Column, ColumnParts, ColumnType, Field, RecordBatch, Schema};
use crossdock::{Casting, DArray};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PyTuple};

use crate::copies::bytes_of;
use crate::detach::both_detached;
use crate::errors::{self, Raise};
use crate::object::{downcast, wrap};
use crate::table::column_object::Column as ColumnObject;
use crate::table::table_object::Table;
use crate::{protocols, shared};

/// Buffers in one sealed memory begin at multiples of this, as Arrow recommends.
const ALIGNMENT: usize = 64;
/// Smaller tables go through the pipe, which takes less time than a descriptor.
const LEAST_SHARED: usize = 1 << 16;

/// Tables, and columns, as what a pickle stores.
pub(super) struct Pickled {
    schema: Vec<u8>,
    /// The number of groups (batches, or chunks), then the length of each and its columns: length,
    /// offset, 1 if there is a bitmap, the number of buffers, and the index of each of them;
    /// children and dictionary follow.
    numbers: Vec<u64>,
    /// Each buffer once.
    buffers: Vec<Buffer>,
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

    /// The memory in which all buffers lie, if no process can write it, and where each begins: that
    /// of a held set, or of a table that was received.
    fn in_one_memory(&self) -> Option<(Buffer, Vec<(usize, usize)>)> {
        let mut memory = None;
        let mut places = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            if buffer.nbytes() == 0 {
                places.push((None, 0));
                continue;
            }
            if buffer.backing() != Backing::Shared || buffer.birth() != Birth::Constant {
                return None;
            }
            let (fd, start) = buffer.descriptor()?;
            let known = memory.get_or_insert(fd);
            if known.as_raw_fd() != fd.as_raw_fd() {
                return None;
            }
            places.push((Some(start), buffer.nbytes()));
        }
        let first = places.iter().filter_map(|(start, _)| *start).min()?;
        let within = |start: Option<u64>| usize::try_from(start.map_or(0, |start| start - first)).ok();
        let spans = places.into_iter().map(|(start, nbytes)| Some((within(start)?, nbytes)));
        let spans = spans.collect::<Option<Vec<_>>>()?;
        let end = spans.iter().map(|(start, nbytes)| start + nbytes).max()?;
        let whole = Buffer::map_shared(memory?.try_clone_to_owned().ok()?, first, end, false).ok()?;
        Some((whole, spans))
    }

    /// As [`Pickled::reduce`], with the buffers in one sealed memory: where they lie, or copied.
    /// `None` for few bytes.
    fn reduce_shared<'py>(self, py: Python<'py>, function: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (mut spans, mut end) = (Vec::with_capacity(self.buffers.len()), 0usize);
        for buffer in &self.buffers {
            spans.push((end, buffer.nbytes()));
            end = (end + buffer.nbytes()).next_multiple_of(ALIGNMENT);
        }
        if end < LEAST_SHARED {
            return Ok(None);
        }
        if let Some((whole, spans)) = self.in_one_memory() {
            let whole = wrap(py, bytes_in(&whole)?)?;
            let buffers = PyTuple::new(py, [whole, PyList::new(py, spans)?.into_any()])?.into_any();
            return self.reduced(py, function, buffers).map(Some);
        }
        let whole = bytes_in(&Buffer::shared(end).raise()?)?;
        for (buffer, &(start, nbytes)) in self.buffers.iter().zip(&spans) {
            let (start, stop) = (Some(start as isize), Some((start + nbytes) as isize));
            let part = whole.slice([AxisSlice::Range { start, stop, step: 1 }]).raise()?;
            let assign = |part: &DArray, bytes: &DArray| part.assign(bytes, Casting::Checked);
            both_detached(py, [&part, &bytes_in(buffer)?], assign).raise()?;
        }
        let sealed = whole.into_sealed().map_err(|rejected| rejected.error).raise()?;
        let buffers = PyTuple::new(py, [wrap(py, sealed)?, PyList::new(py, spans)?.into_any()])?.into_any();
        self.reduced(py, function, buffers).map(Some)
    }

    fn reduced<'py>(
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
fn bytes_in(buffer: &Buffer) -> PyResult<DArray> {
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

/// Function and arguments for `multiprocessing`: large buffers in sealed memory, which the receiver
/// maps. `None` for few bytes.
#[pyfunction]
pub(crate) fn _reduce_shared<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    match object.cast::<Table>() {
        Ok(table) => table.get().pickled()?.reduce_shared(py, REBUILD_TABLE),
        Err(_) => object.cast::<ColumnObject>()?.get().pickled()?.reduce_shared(py, REBUILD_COLUMN),
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
    shared::register(py)?;
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
    shared::register(py)?;
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
