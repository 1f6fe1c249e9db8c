//! Arrays in shared memory. `descriptors/` has the descriptors by which other processes map them.

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Backing, Place};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use crate::descriptors::register;
use crate::detach::detached;
use crate::dtype::read_dtype;
use crate::errors::Raise;
use crate::object::{downcast, wrap};
use crate::parameters::{self, truth_of};
use crate::shape::extents;
use crate::shared_device::SharedOptions;
use crate::{nested, numbers, protocols, shared_device};

/// A new array in memory that other processes can map.
///
/// Queues, pipes and pools of ``multiprocessing`` send it as a descriptor: a process that receives
/// it, or a view of it, maps the same memory, and each process sees what the other writes. The
/// system frees the memory with the last array on it, in any process.
///
/// Parameters
/// ----------
/// obj : int, tuple of int, or object
///     A shape, for an array of zeros; or what :func:`array` takes, such as an array or nested
///     lists, whose elements are copied.
/// dtype : str or dtype, optional
///     The dtype of the elements, to which a copy is converted.
/// order : {'C', 'F'}
///     Row-major or column-major.
/// sealed : bool, default False
///     Whether the copy is permanently sealed against writing by any process, which the system
///     enforces.
/// device : str, optional
///     A device of CUDA, such as ``'cuda:0'``, for memory there. Processes that receive it map it
///     read-only. It must be able to export memory as descriptors, and an array takes a multiple of
///     2 MiB, usually. By default the memory is the host's.
/// copy : bool or None, default True
///     None returns a view of an array that lies in such memory already, as all do that are made
///     under :func:`shareable`, and False refuses other arrays. The order is then the array's.
///
/// Returns
/// -------
/// Array
///
/// Raises
/// ------
/// TypeError
///     On Windows, whose memory this library does not share.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> x = crossdock.shared((2, 3), 'int16')
/// >>> x.backing
/// 'shared memory'
/// >>> crossdock.shared(crossdock.array([[0.5, 1.5]]), sealed=True).readonly
/// True
#[pyfunction]
#[pyo3(
    signature = (obj, /, dtype=None, *, order=Order::RowMajor, sealed=false, copy=Some(true), device=None),
    text_signature = "(obj, /, dtype=None, *, order='C', sealed=False, copy=True, device=None)"
)]
pub(crate) fn shared<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::order)] order: Order,
    #[pyo3(from_py_with = truth_of::sealed)] sealed: bool,
    #[pyo3(from_py_with = parameters::copy)] copy: Option<bool>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype.map(read_dtype).transpose()?;
    let place = device.map_or(Ok(Place::CPU), numbers::place_of)?;
    if place != Place::CPU {
        let wanted = SharedOptions { dtype, order, copy };
        let array = if sealed { Err(not_sealed(place)) } else { shared_device::make(py, obj, place, wanted) };
        return registered(py, array?);
    }
    let array = if is_shape(obj) {
        if sealed {
            let text = "sealed zeros could never be written; seal a copy of an array with shared(array, sealed=True)";
            return Err(PyValueError::new_err(text));
        }
        let shape = extents(obj).map_err(|error| not_a_shape(obj, error))?;
        zeros(dtype.unwrap_or(DType::F64), &shape, order).raise()?
    } else {
        let source = source(obj, dtype.as_ref())?;
        let is_same =
            source.backing() == Backing::Shared && dtype.as_ref().is_none_or(|dtype| dtype == source.dtype());
        match dtype.filter(|dtype| dtype != source.dtype()) {
            _ if copy != Some(true) && is_same => source,
            _ if copy == Some(false) => return Err(only_a_copy(&source)),
            Some(dtype) => {
                detached(py, &source, |source| source.cast_shared(&dtype, order, Casting::Checked)).raise()?
            }
            None => detached(py, &source, |source| source.to_shared(order)).raise()?,
        }
    };
    let array = if sealed { array.into_sealed().map_err(|rejected| rejected.error).raise()? } else { array };
    registered(py, array)
}

/// The array, once `multiprocessing` knows how to send it.
fn registered(py: Python<'_>, array: DArray) -> PyResult<Bound<'_, PyAny>> {
    register(py)?;
    wrap(py, array)
}

/// The array of an object: itself, or what it lends.
pub(crate) fn source(obj: &Bound<'_, PyAny>, dtype: Option<&DType>) -> PyResult<DArray> {
    Ok(match downcast(obj) {
        Some(own) => own.array.clone(),
        None if obj.is_instance_of::<PyList>() => nested::read(obj, dtype)?,
        None => protocols::lend_unmasked(obj)?,
    })
}

#[cold]
fn not_sealed(place: Place) -> PyErr {
    PyValueError::new_err(format!(
        "memory on {place} has no seal: its readers map it read-only, but this process can write it"
    ))
}

#[cold]
fn only_a_copy(source: &DArray) -> PyErr {
    let text = match source.backing() {
        Backing::Shared => format!("the elements are {}, and another dtype needs a copy", source.dtype()),
        backing => format!(
            "the array lies in {backing} memory, which other processes cannot map: make it under crossdock.shareable(), \
             or allow a copy"
        ),
    };
    PyBufferError::new_err(text)
}

pub(crate) fn is_shape(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>() || object.is_instance_of::<PyTuple>()
}

fn not_a_shape(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyTypeError>(object.py()) {
        return error;
    }
    let kind = object.get_type();
    let kind = kind.name().map_or_else(|_| "sequence".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "a {kind} is a shape here, of integers alone: crossdock.shared(crossdock.array(...)) shares what nested lists have"
    ))
}

fn zeros(dtype: DType, shape: &[usize], order: Order) -> crossdock::Result<DArray> {
    let layout = Layout::contiguous(shape, dtype.itemsize(), order)?;
    DArray::from_buffer(Buffer::shared(layout.nbytes())?, dtype, layout, 0)
}
