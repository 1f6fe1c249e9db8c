//! The methods of `crossdock.Buffer`.

use std::ffi::c_int;

use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::{Casting, DArray, buffer};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PySlice};

use super::bytes::{Bytes, as_array};
use crate::copies;
use crate::detach::both_detached;
use crate::device_object::device_object;
use crate::dtype::read_dtype;
use crate::entry::fetch;
use crate::errors::{Raise, exception};
use crate::object::{downcast, wrap};
use crate::parameters::{integer, refuse};
use crate::protocols;
use crate::shape::{elements, extents};

fn size(nbytes: isize) -> PyResult<usize> {
    usize::try_from(nbytes)
        .map_err(|_| PyValueError::new_err(format!("a Buffer has at least 0 bytes, not {nbytes}")))
}

/// A copy of an object's elements as a new block of bytes.
fn copied(object: &Bound<'_, PyAny>) -> PyResult<buffer::Buffer> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return buffer::Buffer::copy_from_slice(bytes.as_bytes()).raise();
    }
    let array = taken(object)?;
    let copy = copies::copied(object.py(), &array)?;
    let (memory, _) = copy.buffer().raise()?;
    drop(copy);
    Ok(memory)
}

/// Copies the elements of `source` to `target`, which has the same number of bytes.
fn fill_from(py: Python<'_>, target: buffer::Buffer, source: &DArray) -> PyResult<()> {
    let (given, wanted) = (source.nbytes(), target.nbytes());
    if given != wanted {
        return Err(PyValueError::new_err(format!(
            "{given} bytes for a slice of {wanted}: a slice keeps its size, and resize() changes that of a Buffer"
        )));
    }
    let assign = |target: &DArray, source: &DArray| target.assign(source, Casting::Checked);
    both_detached(py, [&as_array(target)?, source], assign).raise()
}

fn taken(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    match downcast(object) {
        Some(own) => Ok(own.array.clone()),
        None => protocols::lend_unmasked(object),
    }
}

#[pymethods]
impl Bytes {
    #[new]
    #[pyo3(signature = (source=None, /))]
    fn new(py: Python<'_>, source: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(source) = source else { return buffer::Buffer::zeroed(0).raise().map(Self::of) };
        // NumPy arrays implement `__index__`, which succeeds only without axes.
        match integer(source) {
            Ok(nbytes) => buffer::Buffer::zeroed(size(nbytes)?).raise().map(Self::of),
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => Err(error),
            Err(_) => copied(source).map(Self::of),
        }
    }

    /// The number of bytes.
    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        self.look(buffer::Buffer::nbytes)
    }

    /// Whether the bytes may not be written.
    #[getter]
    fn readonly(&self) -> PyResult<bool> {
        self.look(buffer::Buffer::is_readonly)
    }

    /// The device that the memory is on.
    #[getter]
    fn place<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        device_object(py, self.look(buffer::Buffer::place)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.nbytes()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = key.cast::<PySlice>() {
            return Ok(Bound::new(py, Self::of(self.part(slice)?))?.into_any());
        }
        let at = self.at(key.extract()?)?;
        Ok(self
            .handle()?
            .pin()
            .map_err(|error| exception(&error))?
            .load::<u8>(at)
            .raise()?
            .into_pyobject(py)?
            .into_any())
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(slice) = key.cast::<PySlice>() {
            let mut source = taken(value)?;
            if source.dtype() != &DType::U8 || source.rank() != 1 {
                source = as_array(copied(value)?)?;
            }
            return fill_from(py, self.part(slice)?, &source);
        }
        let at = self.at(key.extract()?)?;
        let byte: i64 = value.extract()?;
        let byte = u8::try_from(byte)
            .map_err(|_| PyValueError::new_err(format!("a byte is from 0 to 255, not {byte}")))?;
        let target = self.handle()?.share().map_err(|error| exception(&error))?;
        target.store(at, byte).raise()
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(other) = taken(other) else { return Ok(py.NotImplemented().into_bound(py)) };
        let equal = both_detached(py, [&self.bytes()?, &other], DArray::equals).raise()?;
        Ok(PyBool::new(py, equal).to_owned().into_any())
    }

    // A buffer compares by its bytes, which may change, so it has no hash.
    #[classattr]
    const __hash__: Option<Py<PyAny>> = None;

    fn __repr__(&self) -> PyResult<String> {
        self.look(|memory| {
            let readonly = if memory.is_readonly() { ", read-only" } else { "" };
            format!(
                "<crossdock.Buffer of {} bytes at {:p} on {}{readonly}>",
                memory.nbytes(),
                memory.as_ptr(),
                memory.place()
            )
        })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.tobytes(py)
    }

    /// A copy of the bytes.
    ///
    /// Returns
    /// -------
    /// bytes
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.Buffer(2).tobytes()
    /// b'\x00\x00'
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let memory = self.handle()?;
        let pin = memory.pin().map_err(|error| exception(&error))?;
        PyBytes::new_with(py, memory.nbytes(), |bytes| pin.copy_to_slice(bytes).raise())
    }

    /// Resizes the buffer: zeros are appended, or its end is cut off.
    ///
    /// Parameters
    /// ----------
    /// nbytes : int
    ///     The new size in bytes.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     While slices, arrays or exported buffers share the memory. The message has their number
    ///     and the protocols that exported the memory; with the ledger on
    ///     (:func:`crossdock.ledger`), each holder.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> buffer = crossdock.Buffer(4)
    /// >>> buffer.resize(6)
    /// >>> len(buffer)
    /// 6
    #[pyo3(signature = (nbytes, /))]
    fn resize(&self, #[pyo3(from_py_with = integer)] nbytes: isize) -> PyResult<()> {
        self.resize_to(size(nbytes)?)
    }

    /// Appends bytes. The capacity grows in steps, so that many short pieces cause few moves.
    ///
    /// Parameters
    /// ----------
    /// source : object
    ///     Something that shares its memory. Its elements are copied in row-major order.
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     As for :meth:`resize`.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> buffer = crossdock.Buffer(b'ab')
    /// >>> buffer.extend(b'cd')
    /// >>> buffer.tobytes()
    /// b'abcd'
    #[pyo3(signature = (source, /))]
    fn extend(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        // A copy, since `source` may be this buffer or a view of it.
        let source = copied(source)?;
        let before = self.nbytes()?;
        self.resize_to(before.saturating_add(source.nbytes()))?;
        fill_from(py, self.handle()?.slice(before..).raise()?, &as_array(source)?)
    }

    /// An array on the bytes.
    ///
    /// Parameters
    /// ----------
    /// dtype : str or dtype, default 'uint8'
    ///     The dtype of the elements.
    /// shape : int or tuple of int, optional
    ///     The lengths of the axes, of row-major elements from the first byte on. By default one
    ///     axis with all elements.
    ///
    /// Returns
    /// -------
    /// Array
    ///     A view, which keeps the memory alive.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.Buffer(8).array('int16', (2, 2)).tolist()
    /// [[0, 0], [0, 0]]
    #[pyo3(signature = (dtype=None, shape=None, **unknown), text_signature = "($self, dtype=None, shape=None)")]
    fn array<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        shape: Option<&Bound<'py, PyAny>>,
        unknown: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        refuse(unknown, "array", "dtype, shape")?;
        let memory = self.handle()?;
        let dtype = dtype.map_or(Ok(DType::U8), read_dtype)?;
        let shape = match shape {
            Some(shape) => extents(shape)?,
            None => vec![elements(memory.nbytes(), &dtype)?],
        };
        let layout = Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor).raise()?;
        wrap(py, DArray::from_buffer(memory, dtype, layout, 0).raise()?)
    }

    /// Exports the buffer of an array on the memory; consumers hold a reference to that array
    /// object.
    unsafe fn __getbuffer__(&self, py: Python<'_>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = wrap(py, self.bytes()?)?;
        // SAFETY: `array` is a live object, `view` is the interpreter's writable `Py_buffer`, and
        // `py` proves that the GIL is held.
        if unsafe { ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) } != 0 {
            return Err(fetch(py));
        }
        Ok(())
    }
}
