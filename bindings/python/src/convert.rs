//! Conversions between elements and Python values.

use crossdock::element::{DType, ScalarKind, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::parameters::out_of_range;
use crate::{errors, masked, moment, protocols};

/// A number or boolean as a new reference, or null with an exception. `None` for other values.
#[inline]
pub(crate) fn number(_: Python<'_>, value: &Value) -> Option<*mut ffi::PyObject> {
    Some(match *value {
        // SAFETY: the token proves that the GIL is held; `PyFloat_FromDouble` accepts every float.
        Value::Float(value) => unsafe { ffi::PyFloat_FromDouble(value) },
        // SAFETY: the token proves that the GIL is held; `PyLong_FromLongLong` accepts every `i64`.
        Value::Int(value) => unsafe { ffi::PyLong_FromLongLong(value) },
        // SAFETY: the token proves that the GIL is held; `PyLong_FromUnsignedLongLong` accepts
        // every `u64`.
        Value::UInt(value) => unsafe { ffi::PyLong_FromUnsignedLongLong(value) },
        // SAFETY: the token proves that the GIL is held; `PyBool_FromLong` accepts every integer.
        Value::Bool(value) => unsafe { ffi::PyBool_FromLong(value.into()) },
        _ => return None,
    })
}

/// A value as Python has it: records as tuples, sub-arrays as lists.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    if let Some(number) = number(py, value) {
        // SAFETY: `number` returns a new reference, or null with an exception; `py` proves that the
        // GIL is held.
        return unsafe { Bound::from_owned_ptr_or_err(py, number) };
    }
    Ok(match value {
        Value::Complex { re, im } => PyComplex::from_doubles(py, *re, *im).into_any(),
        Value::Bytes(bytes) | Value::Void(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Pointer(address) => address.into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| to_python(py, item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Record(fields) => {
            let parts: Vec<_> =
                fields.iter().map(|(_, part)| to_python(py, part)).collect::<PyResult<_>>()?;
            PyTuple::new(py, parts)?.into_any()
        }
        Value::DateTime { count, unit } => moment::date(py, *count, *unit)?,
        Value::TimeDelta { count, unit } => moment::duration(py, *count, *unit)?,
        other => {
            let text = format!(
                "{other} is a long double, for which plain Python has no type: numpy.asarray(x) has it, and \
                 x.astype(\"float64\") rounds it"
            );
            return Err(PyTypeError::new_err(text));
        }
    })
}

/// Whether an object is a single value, rather than a sequence of values.
pub(crate) fn is_value(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
}

/// The value of a Python object for an element of this type. Writing the element checks whether it
/// fits.
pub(crate) fn to_value(object: &Bound<'_, PyAny>, dtype: Option<&DType>) -> PyResult<Value> {
    if let Some(dtype) = dtype
        && let Some(value) = moment::for_element(object, dtype)?
    {
        return Ok(value);
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        // A pointer element accepts an integer as an address.
        let is_address = dtype == Some(&DType::native(ScalarKind::Pointer));
        return if is_address { Ok(Value::Pointer(object.extract()?)) } else { integer(object) };
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if let Ok(number) = object.cast::<PyComplex>() {
        return Ok(Value::Complex { re: number.real(), im: number.imag() });
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Text(text.extract()?));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let kind = dtype.and_then(DType::as_scalar).map(|scalar| scalar.kind());
        if matches!(kind, Some(ScalarKind::Void(_))) {
            return Ok(Value::Void(bytes.as_bytes().to_vec()));
        }
        return Ok(Value::Bytes(bytes.as_bytes().to_vec()));
    }
    masked::check(object)?;
    if let Some(record) = dtype.and_then(DType::as_record) {
        let parts = object.cast::<PyTuple>()?;
        let fields = record.fields();
        if parts.len() != fields.len() {
            let text = format!("a tuple of {} for a record of {} fields", parts.len(), fields.len());
            return Err(pyo3::exceptions::PyValueError::new_err(text));
        }
        let named = fields.iter().zip(parts.iter());
        let part = |(field, part): (&crossdock::element::Field, Bound<'_, PyAny>)| {
            Ok((field.name().to_owned(), to_value(&part, Some(field.dtype()))?))
        };
        return Ok(Value::Record(named.map(part).collect::<PyResult<_>>()?));
    }
    if let Some(subarray) = dtype.and_then(DType::as_subarray) {
        return items(object, subarray.shape(), subarray.base());
    }
    if let Some(value) = moment::from_python(object, None)? {
        return Ok(value);
    }
    if let Some(value) = shared(object, dtype)? {
        return Ok(value);
    }
    // SAFETY: `object` is a live object, and its `Bound` proves that this thread holds the GIL.
    if unsafe { ffi::PyIndex_Check(object.as_ptr()) } != 0 {
        match object.call_method0("__index__") {
            // Arrays of other libraries have `__float__`, whatever their elements are.
            Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {}
            number => return integer(&number?),
        }
    }
    let is_real = object.hasattr("__float__")?;
    if object.hasattr("__complex__")? {
        // Complex numbers may have `__float__`, too; it fails or drops the imaginary part.
        match object.call_method0("__complex__")?.cast::<PyComplex>() {
            Ok(number) if !is_real || number.imag() != 0.0 => {
                return Ok(Value::Complex { re: number.real(), im: number.imag() });
            }
            _ => {}
        }
    }
    if is_real {
        return real(object, dtype);
    }
    Err(PyTypeError::new_err(format!("{} is no value of an element", object.get_type().qualname()?)))
}

/// The element of an array without axes, read from its memory: methods such as `__float__` round
/// it, or drop the imaginary part.
fn shared(object: &Bound<'_, PyAny>, dtype: Option<&DType>) -> PyResult<Option<Value>> {
    let array = match protocols::lend(object) {
        Ok(array) => array,
        Err(error) if errors::is_passed_on(object.py(), &error) => return Err(error),
        Err(_) => return Ok(None),
    };
    if array.rank() != 0 {
        return Ok(None);
    }
    Ok(match array.get(&[]) {
        // A compound element is read as a value of its dtype.
        Ok(Value::Void(_) | Value::Record(_) | Value::Array(_)) if dtype != Some(array.dtype()) => None,
        value => value.ok(),
    })
}

/// The value of a number that shares no memory, such as `Decimal` and `Fraction`. It is rounded
/// only if the target is a float.
fn real(object: &Bound<'_, PyAny>, dtype: Option<&DType>) -> PyResult<Value> {
    let py = object.py();
    let float = object.call_method0("__float__")?;
    let number: f64 = float.extract()?;
    // If the class does not compare with floats, only the float is known.
    let says = |other: &Bound<'_, PyAny>| -> PyResult<bool> {
        let equal = object.call_method1("__eq__", (other,))?;
        Ok(equal.is(py.NotImplemented()) || equal.is_truthy()?)
    };
    if number.is_nan() || says(&float)? {
        return Ok(Value::Float(number));
    }
    let kind = dtype.and_then(|dtype| dtype.as_scalar()).map(|scalar| scalar.kind());
    if kind.is_some_and(ScalarKind::is_inexact) {
        return Ok(Value::Float(number));
    }
    if kind.is_some()
        && let Ok(whole) = object.call_method0("__int__")
        && says(&whole)?
    {
        return integer(&whole);
    }
    Err(PyValueError::new_err(match dtype {
        None => format!("{object} is no float64 exactly: name a dtype (dtype='float64' rounds it)"),
        Some(dtype) => format!("{object} does not fit {dtype}"),
    }))
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match object.extract::<i64>() {
        Ok(number) => Ok(Value::Int(number)),
        Err(error) => object.extract().map(Value::UInt).map_err(|_| out_of_range(error, object, "64 bits")),
    }
}

/// The nested lists of a sub-array.
fn items(object: &Bound<'_, PyAny>, shape: &[usize], base: &DType) -> PyResult<Value> {
    let Some((&len, rest)) = shape.split_first() else { return to_value(object, Some(base)) };
    let found = object.len()?;
    if found != len {
        let text = format!("{found} items for an axis of length {len} of a sub-array");
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    let items: PyResult<Vec<_>> = object.try_iter()?.map(|item| items(&item?, rest, base)).collect();
    Ok(Value::Array(items?))
}
