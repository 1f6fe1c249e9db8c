//! The module's functions that create arrays.

use crossdock::DArray;
use crossdock::array::CopyPolicy;
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::{self, Birth, Place};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::convert::to_value;
use crate::copies::copied;
use crate::detach::making;
use crate::dtype::read_dtype;
use crate::errors::Raise;
use crate::new_array::{new_array, options_on_host};
use crate::object::{downcast, wrap, wrap_with};
use crate::owner::Owner;
use crate::parameters::{self, integers, policy, truth_of};
use crate::shape::{elements, extents};
use crate::{arrow, buffer, device, dlpack, import, nested, numbers, protocols};

/// An array on the memory of an object.
///
/// It is imported by the first protocol that the object supports: a buffer (PEP 3118), Arrow,
/// DLPack, NumPy's array interface, ``__array__``.
///
/// Elements that mean more than their numbers are refused: masked NumPy elements, nulls, integers
/// that pandas would round. A pandas frame is imported as its columns, without the row labels, as
/// in ``DataFrame.to_numpy``; columns of several types become records.
///
/// Parameters
/// ----------
/// obj : object
///     Any object that shares its memory. An array is returned as it is.
/// copy : bool or None, default False
///     False never copies, and fails with the reason where no memory can be shared. None copies if
///     necessary, and stores the reason in ``copied_because``. True always copies.
/// device : str, optional
///     The device for the elements (:func:`devices`). Elements on another device are mapped if
///     possible, and otherwise copied, if ``copy`` permits it. By default they stay where they are.
/// frozen : bool, default False
///     Your promise that no code writes the memory from now on. The array is then read-only, and
///     consumers that need constant memory, such as Arrow libraries, can import it. See
///     :meth:`Array.frozen`.
///
/// Returns
/// -------
/// Array
///
/// Raises
/// ------
/// BufferError
///     If the object does not share its memory. With several protocols, the message has the reason
///     of each.
/// TypeError
///     If the object supports none of these protocols.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> numbers = bytearray(b'abc')
/// >>> crossdock.asarray(numbers)[0] = 65
/// >>> numbers
/// bytearray(b'Abc')
#[pyfunction]
#[pyo3(
    signature = (obj, /, *, copy=Some(false), device=None, frozen=false),
    text_signature = "(obj, /, *, copy=False, device=None, frozen=False)"
)]
pub(crate) fn asarray<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = parameters::copy)] copy: Option<bool>,
    device: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = truth_of::frozen)] frozen: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(wanted) = device {
        return asarray_on(obj, numbers::place_of(wanted)?, policy(copy), frozen);
    }
    if let Some(own) = downcast(obj) {
        return match copy {
            Some(true) => wrap(py, promised(copied(py, &own.array)?, frozen)?),
            _ if frozen => wrap(py, promised(own.array.clone(), true)?),
            _ => Ok(obj.clone()),
        };
    }
    let at_once = copy != Some(true) && !frozen && buffer::is_offered(obj);
    let taken = match at_once.then(|| wrap_with(py, |place| buffer::lend_to(place, obj, None))) {
        Some(Ok(made)) => return Ok(made),
        Some(Err(error)) => import::take_without_buffer(obj, policy(copy), error)?,
        None => import::take(obj, policy(copy))?,
    };
    finished(py, taken, frozen)
}

/// [`asarray`] of an object whose buffer was refused with this error.
#[cold]
pub(crate) fn asarray_without_buffer<'py>(
    obj: &Bound<'py, PyAny>,
    error: PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    finished(obj.py(), import::take_without_buffer(obj, CopyPolicy::Never, error)?, false)
}

fn finished(py: Python<'_>, taken: import::ImportedArray, frozen: bool) -> PyResult<Bound<'_, PyAny>> {
    let made = wrap(py, promised(taken.array, frozen)?)?;
    if let (Some(why), Some(made)) = (taken.copied_because, downcast(&made)) {
        let _first = made.copied_because.set(why.into_boxed_str());
    }
    Ok(made)
}

/// [`asarray`] with a `device`.
fn asarray_on<'py>(
    obj: &Bound<'py, PyAny>,
    place: Place,
    policy: CopyPolicy,
    frozen: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    // The copy to the device is the only one.
    let first = if policy == CopyPolicy::Always { CopyPolicy::IfNeeded } else { policy };
    let mut taken = match downcast(obj) {
        Some(own) if own.array.place() == place && policy != CopyPolicy::Always && !frozen => {
            return Ok(obj.clone());
        }
        Some(own) => import::ImportedArray { array: own.array.clone(), copied_because: None },
        None => import::take(obj, first)?,
    };
    if policy == CopyPolicy::Always && taken.array.place() == place {
        let is_copy = taken.copied_because.take().is_some() && !taken.array.is_readonly();
        if !is_copy {
            taken.array = copied(py, &taken.array)?;
        }
    }
    finished(py, device::brought(taken, place, policy)?, frozen)
}

/// The array; if `frozen`, with the caller's promise that its memory is constant from now on.
pub(crate) fn promised(array: DArray, frozen: bool) -> PyResult<DArray> {
    if !frozen {
        return Ok(array);
    }
    let (memory, offset) = array.buffer().raise()?;
    // SAFETY: `frozen=True` is the Python caller's documented promise that no code writes the
    // memory from now on; it cannot be checked here.
    let memory = unsafe { memory.assume_constant() };
    DArray::from_buffer(memory, array.dtype().clone(), array.layout().clone(), offset).raise()
}

/// A new array with a copy of an object's elements.
///
/// Parameters
/// ----------
/// obj : object
///     Lists and tuples of values, nested to the depth of the axes; a value; or any object that
///     :func:`asarray` accepts.
/// dtype : str or dtype, optional
///     The dtype of the elements. By default numbers get the least of ``bool``, ``int64``,
///     ``uint64``, ``float64`` and ``complex128`` that holds them all.
/// device : str, default 'cpu'
///     The device of the array (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.array([[1, 2], [3, 4]]).shape
/// (2, 2)
#[pyfunction]
#[pyo3(signature = (obj, /, dtype=None, *, device=None))]
pub(crate) fn array<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype.map(read_dtype).transpose()?;
    let place = device.map_or(Ok(Place::CPU), numbers::place_of)?;
    let options = options_on_host(py, place)?;
    let array = nested::read_to(obj, dtype.as_ref(), options)?;
    let taken = import::ImportedArray { array, copied_because: None };
    wrap(py, device::brought(taken, place, CopyPolicy::Always)?.array)
}

/// A new array of zeros.
///
/// Parameters
/// ----------
/// shape : int or tuple of int
///     The lengths of the axes.
/// dtype : str or dtype, default 'float64'
///     The dtype of the elements.
/// order : {'C', 'F'}
///     Row-major or column-major.
/// device : str, default 'cpu'
///     The device of the array (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.zeros((2, 3), 'int16').tolist()
/// [[0, 0, 0], [0, 0, 0]]
#[pyfunction]
#[pyo3(
    signature = (shape, dtype=None, *, order=Order::RowMajor, device=None),
    text_signature = "(shape, dtype=None, *, order='C', device=None)"
)]
pub(crate) fn zeros<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::order)] order: Order,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype.map_or(Ok(DType::F64), read_dtype)?;
    wrap(py, new_array(py, order, device)?.zeros(dtype, &extents(shape)?).raise()?)
}

/// A new array for writing. Its elements are zeros, so that it never exposes freed memory.
///
/// Parameters
/// ----------
/// shape : int or tuple of int
///     The lengths of the axes.
/// dtype : str or dtype, default 'float64'
///     The dtype of the elements.
/// order : {'C', 'F'}
///     Row-major or column-major.
/// device : str, default 'cpu'
///     The device of the array (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.empty(2).shape
/// (2,)
#[pyfunction]
#[pyo3(
    signature = (shape, dtype=None, *, order=Order::RowMajor, device=None),
    text_signature = "(shape, dtype=None, *, order='C', device=None)"
)]
pub(crate) fn empty<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::order)] order: Order,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    zeros(py, shape, dtype, order, device)
}

/// A new array filled with one value.
///
/// Parameters
/// ----------
/// shape : int or tuple of int
///     The lengths of the axes.
/// fill_value : object
///     The value of every element.
/// dtype : str or dtype, optional
///     The dtype of the elements. By default, the dtype that :func:`array` gives the value.
/// order : {'C', 'F'}
///     Row-major or column-major.
/// device : str, default 'cpu'
///     The device of the array (:func:`devices`).
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.full(3, 1.5).tolist()
/// [1.5, 1.5, 1.5]
#[pyfunction]
#[pyo3(
    signature = (shape, fill_value, dtype=None, *, order=Order::RowMajor, device=None),
    text_signature = "(shape, fill_value, dtype=None, *, order='C', device=None)"
)]
pub(crate) fn full<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    fill_value: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::order)] order: Order,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (dtype, value): (DType, Value) = match dtype.map(read_dtype).transpose()? {
        Some(dtype) => {
            let value = to_value(fill_value, Some(&dtype))?;
            (dtype, value)
        }
        None => {
            let one = nested::read(fill_value, None)?;
            if one.rank() > 0 {
                let text = format!("a fill value is one element, not an array of shape {:?}", one.shape());
                return Err(PyValueError::new_err(text));
            }
            (one.dtype().clone(), one.get(&[]).raise()?)
        }
    };
    let (shape, new) = (extents(shape)?, new_array(py, order, device)?);
    let nbytes = shape.iter().copied().fold(dtype.itemsize(), usize::saturating_mul);
    wrap(py, making(py, nbytes, || new.full(dtype, &shape, value)).raise()?)
}

/// An array on memory at an address. The address cannot be checked.
///
/// Parameters
/// ----------
/// address : int
///     The address of the first byte.
/// nbytes : int
///     The number of bytes.
/// base : object
///     The owner of the memory. The array keeps it alive.
/// dtype : str or dtype, default 'uint8'
///     The dtype of the elements.
/// shape : int or tuple of int, optional
///     The lengths of the axes. By default one axis of as many elements as there are bytes for.
/// strides : tuple of int, optional
///     The distance between neighbours along each axis, in bytes. By default row-major, without
///     gaps.
/// offset : int, default 0
///     The offset of the first element, in bytes from ``address``.
/// readonly : bool, default False
///     Whether the array is read-only.
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock, ctypes
/// >>> numbers = (ctypes.c_int16 * 2)(1, 2)
/// >>> crossdock.from_address(ctypes.addressof(numbers), 4, numbers, dtype='int16').tolist()
/// [1, 2]
#[pyfunction]
#[pyo3(signature = (address, nbytes, base, *, dtype=None, shape=None, strides=None, offset=0, readonly=false))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn from_address<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = parameters::count)] address: usize,
    #[pyo3(from_py_with = parameters::count)] nbytes: usize,
    base: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    shape: Option<&Bound<'py, PyAny>>,
    strides: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::count)] offset: usize,
    #[pyo3(from_py_with = truth_of::readonly)] readonly: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype.map_or(Ok(DType::U8), read_dtype)?;
    let shape = match shape {
        Some(shape) => extents(shape)?,
        None => vec![elements(nbytes.saturating_sub(offset), &dtype)?],
    };
    let layout = match strides {
        Some(strides) => {
            let strides = integers(strides)?.ok_or_else(|| {
                PyTypeError::new_err(format!("strides are a sequence of integers, not {strides}"))
            })?;
            Layout::new(&shape, &strides, dtype.itemsize())
        }
        None => Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor),
    };
    let layout = layout.raise()?;
    if address.checked_add(nbytes).is_none() {
        return Err(PyValueError::new_err(format!("{nbytes} bytes at {address:#x} leave the address space")));
    }
    let owner = Owner::object(base);
    let pointer = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: the Python caller vouches that `address` starts `nbytes` bytes which live as long as
    // `base`; it cannot be checked here. The address does not wrap (checked above), and `owner`
    // keeps `base`.
    let memory =
        unsafe { Buffer::from_foreign(pointer, nbytes, Place::CPU, Birth::Aliased, move || drop(owner)) };
    let memory = if readonly { memory.raise()?.into_readonly() } else { memory.raise()? };
    wrap(py, DArray::from_buffer(memory, dtype, layout, offset).raise()?)
}

/// An array on the tensor that an object exports by DLPack.
///
/// Parameters
/// ----------
/// obj : object or int
///     Any object with ``__dlpack__``, or the address of a ``DLManagedTensorVersioned`` that a
///     function of C returned (by ``ctypes`` or ``cffi``). The address cannot be checked; the array
///     becomes the only consumer of the tensor, and calls its deleter.
/// device : str or tuple of int, optional
///     The requested device, by its name or as DLPack's pair of numbers. The producer decides
///     whether it moves the elements there.
/// copy : bool, optional
///     True asks the producer for a copy, False forbids one.
///
/// Returns
/// -------
/// Array
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> x = crossdock.zeros(3)
/// >>> crossdock.from_dlpack(x)[0] = 1
/// >>> x.tolist()
/// [1.0, 0.0, 0.0]
#[pyfunction]
#[pyo3(signature = (obj, /, *, device=None, copy=None))]
pub(crate) fn from_dlpack<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::copy)] copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    wrap(py, dlpack::import(obj, device.map(numbers::place_of).transpose()?, copy)?)
}

/// Zero-copy arrays of an object's Arrow data.
///
/// A column becomes an array; the columns of a table, a record batch or a data frame become a
/// dictionary of arrays.
///
/// Parameters
/// ----------
/// obj : object
///     Any object with ``__arrow_c_array__``, ``__arrow_c_device_array__`` or
///     ``__arrow_c_stream__``.
/// validity : bool, default False
///     True returns a pair of arrays for each column: the values, which are undefined where an
///     element is null, and booleans, which are false there (or None, if no value is null).
///     Otherwise nulls are refused, except for dates and durations that are NaT there.
/// chunks : bool, default False
///     True returns a list with an item for each chunk of a stream. Otherwise there must be one
///     chunk.
/// pairs : bool, default False
///     True returns the columns of a table as a list of pairs of name and column, so that names may
///     repeat. The name of a column in a struct is a tuple, the path of names. Otherwise the
///     columns are a dictionary, in which such a column is called ``'struct.column'``.
///
/// Returns
/// -------
/// Array, tuple, dict or list
///
/// Raises
/// ------
/// BufferError
///     For several chunks, nulls, columns of one name, and types without a dtype, such as text of
///     variable length, truth values of one bit, and timestamps with a time zone.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.from_arrow(crossdock.array([1, 2, 3])).tolist()
/// [1, 2, 3]
#[pyfunction]
#[pyo3(signature = (obj, /, *, validity=false, chunks=false, pairs=false))]
pub(crate) fn from_arrow<'py>(
    obj: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = truth_of::validity)] validity: bool,
    #[pyo3(from_py_with = truth_of::chunks)] chunks: bool,
    #[pyo3(from_py_with = truth_of::pairs)] pairs: bool,
) -> PyResult<Bound<'py, PyAny>> {
    arrow::take(obj, arrow::Wanted { validity, chunks, pairs })
}

/// An array as a column for Arrow libraries, with what the array itself cannot express.
///
/// Without these, ``pyarrow.array(x)`` and the like import the array itself. Dates and durations
/// that are NaT are null in either case.
///
/// Parameters
/// ----------
/// obj : object
///     An array, or an object that :func:`asarray` accepts.
/// validity : object, optional
///     Booleans of the same shape, false where an element is null: an array, or an object that
///     :func:`array` accepts.
/// name : str, optional
///     The name of the column.
/// whole : bool, default False
///     True exports the array as one tensor, whose axes may have any order in memory; otherwise
///     axis 0 is the rows.
/// copy : bool or None, default False
///     False refuses a layout that Arrow does not support. None copies such an array at each
///     import; records, whose fields Arrow stores separately, need it. True always copies.
///
/// Returns
/// -------
/// ArrowColumn
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> column = crossdock.to_arrow(crossdock.array([1, 2, 3]), validity=[True, False, True])
/// >>> values, valid = crossdock.from_arrow(column, validity=True)
/// >>> valid.tolist()
/// [True, False, True]
#[pyfunction]
#[pyo3(
    signature = (obj, /, *, validity=None, name=None, whole=false, copy=Some(false)),
    text_signature = "(obj, /, *, validity=None, name=None, whole=False, copy=False)"
)]
pub(crate) fn to_arrow<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    validity: Option<&Bound<'py, PyAny>>,
    name: Option<String>,
    #[pyo3(from_py_with = truth_of::whole)] whole: bool,
    #[pyo3(from_py_with = parameters::copy)] copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = match downcast(obj) {
        Some(own) => own.array.clone(),
        None => protocols::lend_unmasked(obj)?,
    };
    let mask = match validity {
        Some(mask) => match downcast(mask) {
            Some(own) => Some(own.array.clone()),
            None => Some(nested::read(mask, Some(&DType::BOOL))?),
        },
        None => None,
    };
    let column = arrow::ArrowColumn::new(&array, mask.as_ref(), name, whole, policy(copy))?;
    Ok(Bound::new(py, column)?.into_any())
}

/// The number of bytes of array data copied since the process began.
///
/// The difference of two calls is the number of bytes copied between them.
///
/// Accesses to single elements do not count, nor do copies by other libraries.
///
/// Returns
/// -------
/// int
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> x, before = crossdock.zeros((10, 10)), crossdock.copied_bytes()
/// >>> y = x[::2].T
/// >>> crossdock.copied_bytes() - before
/// 0
/// >>> z = y.copy()
/// >>> crossdock.copied_bytes() - before
/// 400
#[pyfunction]
pub(crate) fn copied_bytes() -> u64 {
    memory::copied_bytes()
}
