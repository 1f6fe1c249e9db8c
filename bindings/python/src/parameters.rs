//! Arguments with errors that name what is allowed, or that have the number that does not fit.

use crossdock::array::CopyPolicy;
use crossdock::layout::Order;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::signature::Signature;

/// The argument `order`: one of NumPy's letters for row-major and column-major.
pub(crate) fn order(object: &Bound<'_, PyAny>) -> PyResult<Order> {
    order_or(object, &[]).map(|order| order.unwrap_or(Order::RowMajor))
}

/// The argument `order`; `None` for one of `others`, which are allowed as well.
pub(crate) fn order_or(object: &Bound<'_, PyAny>, others: &[&str]) -> PyResult<Option<Order>> {
    let letter = object.cast::<PyString>().ok().map(|text| text.to_string_lossy().into_owned());
    match letter.as_deref() {
        Some("C") => return Ok(Some(Order::RowMajor)),
        Some("F") => return Ok(Some(Order::ColumnMajor)),
        Some(letter) if others.contains(&letter) => return Ok(None),
        _ => {}
    }
    let allowed = match others {
        [] => "'C' (row-major) or 'F' (column-major)".to_owned(),
        _ => format!("'C' (row-major), 'F' (column-major), '{}'", others.join("' or '")),
    };
    let text = format!("order must be {allowed}, not {}", shown(object));
    // As for other wrong values and wrong types.
    Err(if letter.is_some() { PyValueError::new_err(text) } else { PyTypeError::new_err(text) })
}

/// The argument `copy`.
pub(crate) fn copy(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if object.is_none() {
        return Ok(None);
    }
    let allowed = "True (always), None (if necessary) or False (never)";
    object.extract().map(Some).map_err(|_| wrong("copy", allowed, object))
}

/// The policy that the argument `copy` selects.
pub(crate) fn policy(copy: Option<bool>) -> CopyPolicy {
    match copy {
        Some(false) => CopyPolicy::Never,
        None => CopyPolicy::IfNeeded,
        Some(true) => CopyPolicy::Always,
    }
}

/// An argument that is true or false.
pub(crate) fn truth(name: &str, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.extract().map_err(|_| wrong(name, "True or False", object))
}

macro_rules! truths {
    ($($name:ident),*) => {
        /// Arguments of functions that are true or false, by their names.
        pub(crate) mod truth_of {
            use super::*;

            $(pub(crate) fn $name(object: &Bound<'_, PyAny>) -> PyResult<bool> {
                truth(stringify!($name), object)
            })*
        }
    };
}
truths!(chunks, compress, frozen, guarded, pairs, readonly, sealed, skip_refused, validity, whole);

/// An argument that is a text.
pub(crate) fn text(name: &str, object: &Bound<'_, PyAny>) -> PyResult<String> {
    object.extract().map_err(|_| wrong(name, "a str", object))
}

/// A number of bytes, or an address.
pub(crate) fn count(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    object.extract().map_err(|error| out_of_range(error, object, "uint64"))
}

/// An integer: a length, an axis, a stride.
pub(crate) fn integer(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    object.extract().map_err(|error| out_of_range(error, object, "int64"))
}

/// An integer or a sequence of integers. `None` for other objects.
pub(crate) fn integers(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<isize>>> {
    // A tuple first: the error that it is no integer would take longer than the rest.
    if let Ok(tuple) = object.cast::<PyTuple>()
        && let Ok(numbers) = tuple.iter().map(|item| item.extract()).collect()
    {
        return Ok(Some(numbers));
    }
    match integer(object) {
        Ok(number) => return Ok(Some(vec![number])),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => return Err(error),
        Err(_) => {}
    }
    if let Ok(numbers) = object.extract() {
        return Ok(Some(numbers));
    }
    // Item by item, for the error.
    let Ok(items) = object.extract::<Vec<Bound<'_, PyAny>>>() else { return Ok(None) };
    let mut numbers = Vec::with_capacity(items.len());
    for item in items {
        match integer(&item) {
            Ok(number) => numbers.push(number),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => return Err(error),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(numbers))
}

/// The error of an integer that does not fit, with the integer. Other errors stay.
#[cold]
pub(crate) fn out_of_range(error: PyErr, object: &Bound<'_, PyAny>, dtype: &str) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(object.py()) {
        return error;
    }
    PyOverflowError::new_err(format!("{} does not fit {dtype}", digits(object)))
}

/// An integer as text. CPython refuses to write very long ones.
fn digits(object: &Bound<'_, PyAny>) -> String {
    const MOST: u64 = 256;
    let bits = object.call_method0("bit_length").and_then(|bits| bits.extract());
    match (object.str(), bits) {
        (Ok(text), Ok(0..=MOST) | Err(_)) => text.to_string_lossy().into_owned(),
        (_, Ok(bits)) => format!("an integer of {bits} bits"),
        (Err(_), Err(_)) => "an integer".to_owned(),
    }
}

/// Fails for names that a method of a class of PyO3 does not have: see [`crate::keywords`].
pub(crate) fn refuse(unknown: Option<&Bound<'_, PyDict>>, method: &str, parameters: &str) -> PyResult<()> {
    match unknown.and_then(|unknown| unknown.keys().iter().next()) {
        Some(name) => Err(Signature::parse(method, parameters).unexpected(&name.to_string())),
        None => Ok(()),
    }
}

fn wrong(name: &str, allowed: &str, object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("{name} must be {allowed}, not {}", shown(object)))
}

/// The `repr` of a wrong argument, at most one line long.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 60;
    let Ok(text) = object.repr() else { return object.get_type().to_string() };
    let text = text.to_string_lossy();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
