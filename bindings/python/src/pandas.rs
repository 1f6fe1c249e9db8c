//! pandas objects: what their conversions to NumPy and Arrow omit or round.
//!
//! Reasons: `DESIGN.md`, "A pandas frame loses its row labels in `asarray`".

use crossdock::DArray;
use crossdock::element::ScalarKind;
use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyTypeMethods};

use crate::errors;

/// Whether an object's class, or one of its bases, belongs to pandas.
fn is_pandas(object: &Bound<'_, PyAny>) -> bool {
    let module =
        |class: Bound<'_, PyAny>| class.getattr(intern!(object.py(), "__module__"))?.extract::<String>();
    let is_theirs = |class| module(class).is_ok_and(|name| name == "pandas" || name.starts_with("pandas."));
    object.get_type().mro().iter().any(is_theirs)
}

/// The same data without labels of rows, if an object is a frame whose labels would be a column in
/// Arrow: a shallow copy with the default labels. `None` for every other object.
pub(crate) fn without_labels<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !is_pandas(object) {
        return Ok(None);
    }
    let pandas = py.import("pandas")?;
    if !object.is_instance(&pandas.getattr("DataFrame")?)? {
        return Ok(None);
    }
    let index = object.getattr(intern!(py, "index"))?;
    let range = pandas.getattr("RangeIndex")?;
    if index.is_instance(&range)? {
        return Ok(None);
    }
    let named = [("deep", false)].into_py_dict(py)?;
    let frame = object.call_method(intern!(py, "copy"), (), Some(&named))?;
    frame.setattr(intern!(py, "index"), range.call1((index.len()?,))?)?;
    Ok(Some(frame))
}

/// Refuses a copy in which an object of pandas made floats or complex numbers of integers or truth
/// values.
///
/// # Errors
///
/// `BufferError`.
pub(crate) fn check_copy(object: &Bound<'_, PyAny>, made: &DArray) -> PyResult<()> {
    use ScalarKind::{Complex64, Complex128, Float16, Float32, Float64};
    let kind = made.dtype().as_scalar().map(|scalar| scalar.kind());
    if !matches!(kind, Some(Float64 | Float32 | Float16 | Complex64 | Complex128)) || !is_pandas(object) {
        return Ok(());
    }
    let dtypes: Vec<Bound<'_, PyAny>> =
        match object.getattr("dtypes").and_then(|all| all.try_iter()?.collect()) {
            Ok(all) => all,
            Err(_) => object.getattr("dtype").into_iter().collect(),
        };
    let Some(dtype) = dtypes.iter().find(|dtype| is_whole(dtype)) else { return Ok(()) };
    Err(PyBufferError::new_err(format!(
        "pandas makes {} of elements of {dtype}, in which large integers are rounded and missing values become NaN: fill what is \
         missing (x.fillna(0)), or name the type (x.to_numpy('float64')); columns go one by one",
        made.dtype()
    )))
}

/// Whether the elements of a pandas dtype are integers or booleans; for categories, the dtype of
/// the categories decides.
fn is_whole(dtype: &Bound<'_, PyAny>) -> bool {
    let categories = dtype.getattr("categories").and_then(|categories| categories.getattr("dtype"));
    let kind = categories.as_ref().unwrap_or(dtype).getattr("kind").and_then(|kind| kind.extract::<String>());
    kind.is_ok_and(|kind| matches!(kind.as_str(), "i" | "u" | "b"))
}

/// An error from the copy that an object of pandas made of its elements, with the way out.
#[cold]
pub(crate) fn explained(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if !is_pandas(object) || errors::is_passed_on(py, &error) {
        return error;
    }
    let dtype = object.getattr("dtype").and_then(|dtype| dtype.str()).map(|text| text.to_string());
    let name = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
    let explained = PyBufferError::new_err(format!(
        "{name} of {} has elements that NumPy has as Python's objects: name a type that holds them (x.to_numpy(dtype=...), with \
         na_value=... where some are missing), or take what they are made of (x.codes of categories, x.asi8 of periods, x.left and \
         x.right of intervals, x.dt.tz_convert(None) of times with a zone)",
        dtype.unwrap_or_else(|_| "several dtypes".to_owned())
    ));
    explained.set_cause(py, Some(error));
    explained
}
