//! The memory of a `crossdock.Buffer`: its handle, which only a resize takes away.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::{DArray, buffer};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use pyo3::types::slice::PySliceIndices;

use crate::errors::{self, Raise, exception};

/// Bytes with an owner: new ones, or a copy of what an object has.
///
/// Slices, arrays and exported buffers are views of the same memory, and keep it alive. The buffer
/// cannot be resized while a view exists.
///
/// Parameters
/// ----------
/// source : int or object, default 0
///     The number of zero bytes; or an object that shares its memory, whose elements are copied in
///     row-major order.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> buffer = crossdock.Buffer(b'abcdef')
/// >>> part = buffer[2:4]
/// >>> part[0] = 67
/// >>> buffer.tobytes()
/// b'abCdef'
/// >>> buffer.resize(8)
/// Traceback (most recent call last):
///     ...
/// BufferError: a Buffer of 6 bytes cannot be resized to 8: exclusive access was refused: 2 handles held
/// >>> del part
/// >>> buffer.resize(8)
/// >>> buffer.tobytes()
/// b'abCdef\x00\x00'
#[pyclass(frozen, name = "Buffer", module = "crossdock")]
pub(crate) struct Bytes {
    /// Locked only briefly, while this library's code runs. `None` during a resize, which may wait
    /// for device work; the end of that work releases other memory and runs its owners' code.
    memory: Mutex<Option<buffer::Buffer>>,
}

/// The type, once the module is loaded. Imports compare each object's type with it.
static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

pub(crate) fn note_type(py: Python<'_>) {
    TYPE.store(py.get_type::<Bytes>().as_type_ptr(), Ordering::Relaxed);
}

/// An array on the memory of a buffer, if the object is one.
#[inline]
pub(crate) fn lent(object: &Bound<'_, PyAny>) -> Option<PyResult<DArray>> {
    // SAFETY: `object` is a live object, so it has a type, and its `Bound` proves that the GIL is
    // held. This type has no subtypes.
    let of = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    if !ptr::eq(of, TYPE.load(Ordering::Relaxed)) {
        return None;
    }
    Some(object.cast::<Bytes>().ok()?.get().bytes())
}

/// All bytes, as an array.
pub(super) fn as_array(memory: buffer::Buffer) -> PyResult<DArray> {
    let layout = Layout::contiguous(&[memory.nbytes()], 1, Order::RowMajor).raise()?;
    DArray::from_buffer(memory, DType::U8, layout, 0).raise()
}

impl Bytes {
    pub(super) fn of(memory: buffer::Buffer) -> Self {
        Self { memory: Mutex::new(Some(memory)) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<buffer::Buffer>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads something about the memory.
    ///
    /// # Errors
    ///
    /// `BufferError` while it is being resized.
    pub(super) fn look<R>(&self, look: impl FnOnce(&buffer::Buffer) -> R) -> PyResult<R> {
        let answer = self.lock().as_ref().map(look);
        answer.ok_or_else(being_resized)
    }

    /// Another handle on the memory.
    pub(super) fn handle(&self) -> PyResult<buffer::Buffer> {
        self.look(buffer::Buffer::try_clone)?.raise()
    }

    pub(super) fn bytes(&self) -> PyResult<DArray> {
        as_array(self.handle()?)
    }

    pub(super) fn at(&self, index: isize) -> PyResult<usize> {
        let len = self.look(buffer::Buffer::nbytes)?;
        let from_start = if index < 0 { index.saturating_add(len.cast_signed()) } else { index };
        usize::try_from(from_start).ok().filter(|&at| at < len).ok_or_else(|| {
            PyIndexError::new_err(format!("index {index} is out of bounds for a Buffer of {len} bytes"))
        })
    }

    pub(super) fn part(&self, slice: &Bound<'_, PySlice>) -> PyResult<buffer::Buffer> {
        let memory = self.handle()?;
        let PySliceIndices { start, step, slicelength, .. } = slice.indices(memory.nbytes().cast_signed())?;
        if step != 1 && slicelength > 1 {
            return Err(PyValueError::new_err(format!(
                "a Buffer is sliced without gaps, and the step is {step}: crossdock.asarray(buffer)[::{step}] is a view"
            )));
        }
        let start = start.unsigned_abs().min(memory.nbytes());
        memory.slice(start..start + slicelength).raise()
    }

    pub(super) fn resize_to(&self, nbytes: usize) -> PyResult<()> {
        let taken = self.lock().take();
        let mut taken = ResizingMemory { of: self, memory: Some(taken.ok_or_else(being_resized)?) };
        let Some(memory) = &mut taken.memory else { return Err(being_resized()) };
        let before = memory.nbytes();
        let resized = memory.resize(nbytes);
        drop(taken);
        resized.map_err(|error| match error.is_conflict() {
            true => PyBufferError::new_err(format!(
                "a Buffer of {before} bytes cannot be resized to {nbytes}: {}",
                errors::text(&error)
            )),
            false => exception(&error),
        })
    }
}

/// The memory during a resize. Dropping it puts the memory back, also when the resize panics.
struct ResizingMemory<'a> {
    of: &'a Bytes,
    memory: Option<buffer::Buffer>,
}

impl Drop for ResizingMemory<'_> {
    fn drop(&mut self) {
        *self.of.lock() = self.memory.take();
    }
}

#[cold]
fn being_resized() -> PyErr {
    PyBufferError::new_err("the Buffer is being resized: use it when resize() has returned")
}
