//! Dtypes in Python: parsed from text or from objects such as NumPy's dtypes, and printed as text.

use crossdock::bindings::dialect::{pep3118, typestr};
use crossdock::element::{DType, ScalarKind, TimeUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::records;

/// The name of a dtype, or NumPy's type string where the name alone is ambiguous.
pub(crate) fn dtype_text(dtype: &DType) -> String {
    match dtype.as_scalar() {
        Some(scalar) if scalar.is_native() => match scalar.kind() {
            // NumPy shows the type string of types with a length, and omits the unit of a generic
            // time.
            ScalarKind::Bytes(_) | ScalarKind::Text(_) | ScalarKind::Void(_) => {
                typestr::print(dtype).unwrap_or_else(|_| scalar.to_string())
            }
            ScalarKind::DateTime(TimeUnit::GENERIC) => "datetime64".into(),
            ScalarKind::TimeDelta(TimeUnit::GENERIC) => "timedelta64".into(),
            _ => scalar.to_string(),
        },
        _ => typestr::print(dtype).unwrap_or_else(|_| dtype.to_string()),
    }
}

/// The single letters that are formats of PEP 3118.
const LETTERS: &str = "?bBhHiIlLqQefdgFDG";

/// A dtype from its text, or from an object that has NumPy's `str` or `descr`, or is named as the
/// type of a value.
pub(crate) fn read_dtype(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(text) = object.extract::<String>() {
        // NumPy's letters are those of buffers.
        return match text.as_str() {
            letter if letter.len() == 1 && LETTERS.contains(letter) => {
                pep3118::parse(letter.as_bytes()).raise()
            }
            text => text.parse().raise(),
        };
    }
    // NumPy's dtypes of records and sub-arrays, and those that are described by a type string.
    let says = |name: &str| object.getattr_opt(name).map(|part| part.is_some_and(|part| !part.is_none()));
    if says("names")? && says("fields")? || says("subdtype")? {
        return records::of_dtype(object);
    }
    let text = match object.getattr_opt("str")? {
        Some(text) => text.extract::<String>().ok(),
        None => object.getattr_opt("__name__")?.and_then(|name| name.extract().ok()),
    };
    let text = text.ok_or_else(|| {
        let of = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!(
            "{object} ({of}) is no dtype: give a name ('float64'), a type string ('<f8'), a literal of fields as text \
             (\"[('x', '<f8')]\"), or an object such as numpy.dtype([('x', '<f8')])"
        ))
    })?;
    match text.as_str() {
        "float" => Ok(DType::F64),
        "int" => Ok(DType::I64),
        "complex" => Ok(DType::C128),
        text => text.parse().raise(),
    }
}
