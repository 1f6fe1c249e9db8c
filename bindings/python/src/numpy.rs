//! NumPy itself: `__array__`, the dtypes that `ml_dtypes` adds, and NumPy's registry of DLPack
//! dtypes. NumPy is imported at the first use.

use crossdock::DArray;
use crossdock::bindings::dialect::{dlpack, pep3118};
use crossdock::bindings::explain::misread_format;
use crossdock::element::DType;
use pyo3::exceptions::{PyBufferError, PyNotImplementedError, PyOSError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};

use crate::arguments::Arguments;
use crate::errors::{self, Raise};
use crate::numpy_dtype::{self, EXTENDED};
use crate::object::wrap;
use crate::parameters::copy;
use crate::{buffer, pandas};

// ===== exports

/// `__array__(dtype=None, *, copy=None)`, by NumPy 2's rules.
pub(crate) fn array<'py>(
    py: Python<'py>,
    array: &DArray,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let wanted = arguments.take("dtype").filter(|dtype| !dtype.is_none());
    let copy = arguments.named("copy").map_or(Ok(None), |value| copy(&value))?;
    arguments.finish()?;
    converted(view(py, array)?, wanted, copy)
}

/// A NumPy array of another dtype, or a copy of it, by the arguments of `__array__`.
pub(crate) fn converted<'py>(
    view: Bound<'py, PyAny>,
    wanted: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = view.py();
    if let Some(wanted) = wanted {
        let wanted = py.import("numpy")?.call_method1("dtype", (wanted,))?;
        let own = view.getattr("dtype")?;
        if !own.eq(&wanted)? {
            if copy == Some(false) {
                let text = format!("elements of {own} become {wanted} by a copy, and copy=False forbids one");
                return Err(PyValueError::new_err(text));
            }
            return view.call_method1("astype", (wanted,));
        }
    }
    if copy == Some(true) { view.call_method0("copy") } else { Ok(view) }
}

/// A zero-copy NumPy array.
pub(crate) fn view<'py>(py: Python<'py>, array: &DArray) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let dtype = array.dtype();
    let buffer = |array: DArray| {
        let view = PyMemoryView::from(&wrap(py, array)?)?;
        numpy.call_method1("asarray", (view,))
    };
    // NumPy misreads some formats of records and opaque bytes.
    let is_plain = dtype.as_record().is_none() && misread_format(dtype).is_none();
    if is_plain && pep3118::print(dtype).is_ok() {
        return buffer(array.clone());
    }
    let theirs = numpy_dtype::for_export(py, dtype)?;
    // An element of the same size that buffers can describe.
    let carrier = match dtype.itemsize() {
        // Such elements have no memory.
        0 => {
            let shape = PyTuple::new(py, array.shape())?;
            let empty = numpy.call_method1("zeros", (shape, theirs))?;
            empty.getattr("flags")?.setattr("writeable", !array.is_readonly())?;
            return Ok(empty);
        }
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        8 => DType::U64,
        nbytes => DType::bytes(nbytes).raise()?,
    };
    buffer(array.view_as(&carrier).raise()?)?.call_method1("view", (theirs,))
}

/// Registers the dtypes of ``ml_dtypes`` with NumPy for DLPack.
///
/// From then on ``np.from_dlpack`` and ``ndarray.__dlpack__`` support bfloat16 and the floats of 8,
/// 6 and 4 bits. Existing registrations are kept.
///
/// Returns
/// -------
/// tuple of str
///     The names of the registered dtypes.
///
/// Raises
/// ------
/// NotImplementedError
///     If NumPy has no registry; it came with 2.5.
/// ImportError
///     If NumPy or ``ml_dtypes`` is not installed.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.register_numpy_dtypes()  # doctest: +SKIP
/// ('bfloat16', 'complex32', ...)
#[pyfunction]
pub(crate) fn register_numpy_dtypes(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let numpy = py.import("numpy")?;
    let types = py.import("ml_dtypes")?;
    let Some(register) = numpy.getattr("dtypes")?.getattr_opt(intern!(py, "register_dlpack_dtype"))? else {
        let version = numpy.getattr("__version__")?;
        return Err(PyNotImplementedError::new_err(format!(
            "NumPy {version} has no registry of types for DLPack, which came with 2.5: np.asarray(x) gives such arrays in place"
        )));
    };
    let mut names = Vec::new();
    for dtype in &EXTENDED {
        let name = dtype.to_string();
        let Some(class) = types.getattr_opt(name.as_str())? else { continue };
        let (code, bits, _) = dlpack::to_dlpack(dtype).raise()?;
        let theirs = numpy.call_method1("dtype", (class,))?;
        match register.call1(((code, bits), theirs)) {
            Ok(_) => names.push(name),
            Err(error) if error.is_instance_of::<PyValueError>(py) => {}
            Err(error) => return Err(error),
        }
    }
    PyTuple::new(py, names)
}

// ===== imports

/// An import by the first protocol that gives an array, NumPy's dates included, which have no
/// buffer. The table of protocols passes it, since it is above this file.
type Lend = fn(&Bound<'_, PyAny>) -> PyResult<DArray>;

/// Whether an object has `__array__` and no buffer: a buffer takes precedence.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr(intern!(object.py(), "__array__"))? && !buffer::is_offered(object))
}

/// A zero-copy array on the result of `__array__`, which `lend_by_any` imports.
pub(crate) fn lend(object: &Bound<'_, PyAny>, lend_by_any: Lend) -> PyResult<DArray> {
    let py = object.py();
    let method = object.getattr(intern!(py, "__array__"))?;
    let named = PyDict::new(py);
    named.set_item(intern!(py, "copy"), false)?;
    let ask = || match method.call((), Some(&named)) {
        // Implementations older than NumPy 2 have no argument `copy`.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call0(),
        given => given,
    };
    let refused = |error| errors::producer(py, "__array__(copy=False)", error);
    let first = taken_of(object, &ask().map_err(refused)?, lend_by_any)?;
    // No elements are shared by any type, and a frame would give the one to which it converts.
    if first.is_empty() && has_several_types(object) {
        return Err(PyBufferError::new_err("its columns are of several types, and lie apart"));
    }
    // Some producers copy nevertheless. If two results that are alive at once share their memory,
    // neither is a copy.
    let second = taken(&ask().map_err(refused)?, lend_by_any)?;
    if !first.is_empty() && first.as_ptr() != second.as_ptr() {
        return Err(PyBufferError::new_err(
            "its __array__() makes a new copy each time that it is called, and shares no memory",
        ));
    }
    Ok(first)
}

/// Whether an object is a frame, of pandas or Polars, whose columns are of several types.
fn has_several_types(object: &Bound<'_, PyAny>) -> bool {
    let dtypes = || object.getattr("dtypes")?.try_iter()?.collect::<PyResult<Vec<_>>>();
    dtypes().is_ok_and(|all| all.iter().any(|dtype| !dtype.eq(&all[0]).unwrap_or(false)))
}

/// An array on the copy that `__array__` returns, which `lend_by_any` imports.
pub(crate) fn copied(object: &Bound<'_, PyAny>, lend_by_any: Lend) -> PyResult<DArray> {
    let py = object.py();
    let made = object.call_method0(intern!(py, "__array__"));
    let refused = |error: PyErr| match error.is_instance_of::<PyOSError>(py) {
        // The memory cannot be read: a guarded file shrank.
        true => error,
        false => errors::producer(py, "__array__()", error),
    };
    taken_of(object, &made.map_err(refused)?, lend_by_any)
}

fn taken_of(object: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>, lend_by_any: Lend) -> PyResult<DArray> {
    taken(given, lend_by_any).map_err(|error| pandas::explained(object, error))
}

/// `__array__` returns a NumPy array, which describes more than the object did.
fn taken(given: &Bound<'_, PyAny>, lend_by_any: Lend) -> PyResult<DArray> {
    if !buffer::is_offered(given) {
        let name = given.get_type().qualname()?;
        return Err(PyBufferError::new_err(format!("its __array__() gives {name}, and no array of NumPy's")));
    }
    lend_by_any(given)
}
