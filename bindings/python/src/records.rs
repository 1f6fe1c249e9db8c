//! NumPy's dtypes, read from the dtype object: names, offsets and sizes as NumPy itself uses them.
//!
//! NumPy writes formats of PEP 3118 in which fields lie at other offsets than in memory (nested
//! records with truth values, trailing padding, views of several fields), and none for fields that
//! overlap or are out of order. The dtype object is right for all of them.

use crossdock::bindings::MAX_DEPTH;
use crossdock::bindings::dialect::{pep3118, typestr};
use crossdock::element::{DType, Field, ScalarKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyString, PyTuple};
use pyo3::{ffi, intern};

use crate::errors::Raise;

/// Whether a dtype read from a buffer's format needs no second opinion: a scalar other than opaque
/// bytes.
#[inline]
pub(crate) fn is_certain(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| !matches!(scalar.kind(), ScalarKind::Void(_)))
}

/// The dtype of the records that an object exports, if NumPy is the exporter: of an array, a
/// scalar, or a view of one (`memoryview`, `pickle.PickleBuffer`). `None` for everything else.
///
/// # Errors
///
/// Those of [`of_dtype`].
#[cold]
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if is_numpy(object)? {
        return of_array(object);
    }
    let name = object.get_type().name()?;
    if !matches!(name.to_string_lossy().as_ref(), "memoryview" | "PickleBuffer") {
        return Ok(None);
    }
    let Ok(view) = PyMemoryView::from(object) else { return Ok(None) };
    let exporter = view.getattr(intern!(object.py(), "obj"))?;
    if is_numpy(&exporter)? { of_array(&exporter) } else { Ok(None) }
}

/// A class of NumPy, if NumPy has been imported.
pub(crate) fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    // SAFETY: the GIL is held, as `py` proves.
    let modules = unsafe { ffi::PyImport_GetModuleDict() };
    // SAFETY: `sys.modules` lives as long as the interpreter, whose GIL is held.
    let modules = unsafe { Bound::from_borrowed_ptr(py, modules) };
    match modules.cast::<PyDict>()?.get_item(intern!(py, "numpy"))? {
        Some(numpy) => numpy.getattr_opt(name),
        None => Ok(None),
    }
}

fn is_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    for name in ["ndarray", "void"] {
        if let Some(class) = class(object.py(), name)?
            && object.is_instance(&class)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn of_array(array: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let dtype = array.getattr(intern!(array.py(), "dtype"))?;
    if dtype.getattr(intern!(array.py(), "names"))?.is_none() {
        return Ok(None);
    }
    of_dtype(&dtype).map(Some)
}

/// Converts a NumPy dtype.
///
/// # Errors
///
/// `TypeError` for object references and other types without a fixed width.
pub(crate) fn of_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
    read(dtype, 0)
}

fn read(dtype: &Bound<'_, PyAny>, depth: usize) -> PyResult<DType> {
    let py = dtype.py();
    if depth > MAX_DEPTH {
        let text = format!("records nested more than the {MAX_DEPTH} levels deep that are supported");
        return Err(PyTypeError::new_err(text));
    }
    if let Some((base, shape)) =
        dtype.getattr(intern!(py, "subdtype"))?.extract::<Option<(Bound<'_, PyAny>, Vec<usize>)>>()?
    {
        return DType::subarray(&shape, read(&base, depth + 1)?).raise();
    }
    let names: Option<Vec<String>> = dtype.getattr(intern!(py, "names"))?.extract()?;
    let Some(names) = names else { return scalar(dtype) };
    let fields = dtype.getattr(intern!(py, "fields"))?;
    let itemsize = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
    let field = |name: String| {
        let entry = fields.get_item(&name)?.cast_into::<PyTuple>()?;
        let part = read(&entry.get_item(0)?, depth + 1)?;
        let field = Field::new(name, entry.get_item(1)?.extract()?, part);
        if entry.len() < 3 {
            return Ok(field);
        }
        // A title may be any object; only text is a field's title here.
        Ok(match entry.get_item(2)?.extract::<String>() {
            Ok(title) => field.with_title(title),
            Err(_) => field,
        })
    };
    let fields = names.into_iter().map(field).collect::<PyResult<Vec<_>>>()?;
    DType::record(fields, itemsize).raise()
}

fn scalar(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
    let py = dtype.py();
    let letter = dtype.getattr(intern!(py, "char"))?;
    let letter = letter.cast::<PyString>()?.to_str()?;
    // Most fields are native numbers, whose letters are those of PEP 3118. Type strings do not
    // distinguish two C types of the same width (`q`).
    let is_number = matches!(letter, "?" | "b" | "B" | "h" | "H" | "i" | "I" | "q" | "Q" | "e" | "f" | "d");
    if is_number && dtype.getattr(intern!(py, "isnative"))?.extract()? {
        return pep3118::parse(letter.as_bytes()).raise();
    }
    let typestr: String = dtype.getattr(intern!(py, "str"))?.extract()?;
    let plain = typestr::parse(&typestr);
    // NumPy makes the name anew for each caller, in Python.
    let by_name = || dtype.getattr(intern!(py, "name"))?.extract::<String>();
    match &plain {
        // NumPy reports opaque bytes for types that it knows by name only, such as bfloat16.
        Ok(known) if !is_certain(known) => {
            let name = by_name()?;
            if name.starts_with("void") { plain.raise() } else { name.parse().raise() }
        }
        Err(error) if error.is_malformed() => by_name()?.parse().raise(),
        _ => plain.raise(),
    }
}
