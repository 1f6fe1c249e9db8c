//! `==`, `repr`, `float(x)` and the like; arithmetic is refused, with NumPy's expression.
//!
//! Reasons: `DESIGN.md`, "`==` compares whole arrays, and nothing else".

use std::ffi::{c_int, c_void};

use crossdock::element::{ScalarKind, Value};
use crossdock::layout::Order;
use crossdock::{Casting, DArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};

use crate::convert::{is_value, to_python};
use crate::detach::both_detached;
use crate::entry::{Called, Failed};
use crate::errors::Raise;
use crate::object::{Own, downcast, slot, this};
use crate::{nested, protocols, text};

/// Runs a slot on the array behind `object`.
///
/// # Safety
///
/// 1. The interpreter called a slot, with the GIL held until the slot returns.
/// 2. `object` is an object of the type, which the interpreter keeps alive until then.
unsafe fn enter<R: Failed>(
    object: *mut ffi::PyObject,
    body: impl FnOnce(Python<'_>, &Own) -> PyResult<R>,
) -> R {
    // SAFETY: clause 1 of `# Safety`: the interpreter called the slot that creates `called`, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type, and the interpreter keeps it
    // alive until the slot returns.
    let this = unsafe { this(object) };
    called.enter(|py| body(py, this))
}

unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this slot (`tp_repr`) with an object of the type, with the GIL
    // held.
    unsafe { enter(object, |py, this| Ok(PyString::new(py, &text::repr(&this.array)).into_ptr())) }
}

unsafe extern "C" fn str(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this slot (`tp_str`) with an object of the type, with the GIL
    // held.
    unsafe { enter(object, |py, this| Ok(PyString::new(py, &text::str(&this.array)).into_ptr())) }
}

/// `==` and `!=` of whole arrays, with NumPy's rules for elements. Other libraries' arrays compare
/// by their own rules, and everything that NumPy would compare with each element is refused.
unsafe extern "C" fn compare(
    object: *mut ffi::PyObject,
    other: *mut ffi::PyObject,
    how: c_int,
) -> *mut ffi::PyObject {
    let body = |py: Python<'_>, this: &Own| {
        // SAFETY: the interpreter passes a live object as `other`, and `py` proves that the GIL is
        // held.
        let other = unsafe { Bound::from_borrowed_ptr(py, other) };
        let equal = match how {
            ffi::Py_EQ | ffi::Py_NE => equals(this, &other)?,
            _ => return Err(no_arithmetic(sign(how))),
        };
        Ok(match equal {
            Equality::Known(equal) => {
                PyBool::new(py, equal == (how == ffi::Py_EQ)).to_owned().into_any().into_ptr()
            }
            Equality::Theirs => py.NotImplemented().into_ptr(),
            Equality::OfElements => return Err(no_elementwise(sign(how))),
        })
    };
    // SAFETY: the interpreter calls this slot (`tp_richcompare`) with an object of the type, with
    // the GIL held.
    unsafe { enter(object, body) }
}

fn sign(how: c_int) -> &'static str {
    match how {
        ffi::Py_LT => "<",
        ffi::Py_LE => "<=",
        ffi::Py_GT => ">",
        ffi::Py_GE => ">=",
        ffi::Py_NE => "!=",
        _ => "==",
    }
}

#[cold]
fn no_elementwise(sign: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "a crossdock.Array is compared as a whole, with another one: np.asarray(x) {sign} y compares each element, on the same \
         memory, and x.tolist() {sign} y compares with a list"
    ))
}

/// What an array's `==` knows about another object.
enum Equality {
    Known(bool),
    /// The other object decides.
    Theirs,
    /// NumPy would compare with each element.
    OfElements,
}

fn equals(this: &Own, other: &Bound<'_, PyAny>) -> PyResult<Equality> {
    let py = other.py();
    let equal =
        |other: &DArray| both_detached(py, [&this.array, other], are_equal).raise().map(Equality::Known);
    if let Some(other) = downcast(other) {
        return equal(&other.array);
    }
    // NumPy's attributes of objects that compare arrays element by element.
    for name in [intern!(py, "__array_ufunc__"), intern!(py, "__array_priority__")] {
        if other.hasattr(name)? {
            return Ok(Equality::Theirs);
        }
    }
    let is_list = other.is_instance_of::<PyList>() || other.is_instance_of::<PyTuple>();
    match protocols::lend_unmasked(other) {
        Ok(other) => equal(&other),
        Err(_) if is_list || is_value(other) => match this.array.rank() {
            // The one element compares with a value.
            0 if !is_list => Ok(Equality::Known(to_python(py, &only(this, "a value")?)?.eq(other)?)),
            _ => Ok(Equality::OfElements),
        },
        Err(_) => Ok(Equality::Theirs),
    }
}

/// Whether two arrays have the same shape and equal elements. Numbers compare across dtypes, as in
/// NumPy.
fn are_equal(one: &DArray, other: &DArray) -> crossdock::Result<bool> {
    let refused = match one.equals(other) {
        Err(error) if error.is_dtype() || error.is_value() => error,
        answer => return answer,
    };
    let kinds = [one, other].map(|array| array.dtype().as_scalar().map(|scalar| scalar.kind()));
    let compared = match kinds {
        // Doubles would round these. A value that the other type cannot hold is equal to none of
        // it.
        [Some(ScalarKind::Int64), Some(ScalarKind::UInt64)] => cast_to(other, one),
        [Some(ScalarKind::UInt64), Some(ScalarKind::Int64)] => cast_to(one, other),
        _ if refused.is_dtype() => one.all_close(other, 0.0, 0.0, false),
        _ => return Ok(false),
    };
    match compared {
        Err(error) if error.is_dtype() || error.is_value() => Ok(false),
        answer => answer,
    }
}

fn cast_to(one: &DArray, other: &DArray) -> crossdock::Result<bool> {
    one.cast(other.dtype(), Order::RowMajor, Casting::Checked)?.equals(other)
}

/// The one element of an array.
pub(crate) fn only(this: &Own, what: &str) -> PyResult<Value> {
    let array = &this.array;
    if array.len() != 1 {
        let text = format!("{what} is made of an array of one element, and this has {}", array.len());
        return Err(PyTypeError::new_err(text));
    }
    array.get(&vec![0; array.rank()]).raise()
}

unsafe extern "C" fn float(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let body = |py: Python<'_>, this: &Own| {
        let value = to_python(py, &only(this, "a float")?)?;
        // SAFETY: `value` is a live object and the GIL is held; the result is a new reference, or
        // null with an exception.
        Ok(unsafe { ffi::PyNumber_Float(value.as_ptr()) })
    };
    // SAFETY: the interpreter calls this slot (`nb_float`) with an object of the type, with the GIL
    // held.
    unsafe { enter(object, body) }
}

unsafe extern "C" fn int(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let body = |py: Python<'_>, this: &Own| {
        let value = to_python(py, &only(this, "an integer")?)?;
        // SAFETY: `value` is a live object and the GIL is held; the result is a new reference, or
        // null with an exception.
        Ok(unsafe { ffi::PyNumber_Long(value.as_ptr()) })
    };
    // SAFETY: the interpreter calls this slot (`nb_int`) with an object of the type, with the GIL
    // held.
    unsafe { enter(object, body) }
}

/// `operator.index(x)`: only for integer arrays without axes, as in NumPy.
unsafe extern "C" fn index(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let body = |py: Python<'_>, this: &Own| {
        let array = &this.array;
        match array.rank() {
            0 => match array.get(&[]).raise()? {
                value @ (Value::Int(_) | Value::UInt(_)) => Ok(to_python(py, &value)?.into_ptr()),
                _ => Err(no_index(array)),
            },
            _ => Err(no_index(array)),
        }
    };
    // SAFETY: the interpreter calls this slot (`nb_index`) with an object of the type, with the GIL
    // held.
    unsafe { enter(object, body) }
}

#[cold]
fn no_index(array: &DArray) -> PyErr {
    PyTypeError::new_err(format!(
        "an index is made of an integer in an array without axes, and this is of {} and shape {:?}",
        array.dtype(),
        array.shape()
    ))
}

unsafe extern "C" fn truth(object: *mut ffi::PyObject) -> c_int {
    let body = |py: Python<'_>, this: &Own| {
        if this.array.len() != 1 {
            let text = format!(
                "the truth of an array of {} elements is ambiguous: np.asarray(x).any() or np.asarray(x).all()",
                this.array.len()
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(c_int::from(to_python(py, &only(this, "a truth value")?)?.is_truthy()?))
    };
    // SAFETY: the interpreter calls this slot (`nb_bool`) with an object of the type, with the GIL
    // held.
    unsafe { enter(object, body) }
}

#[cold]
fn no_arithmetic(sign: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "a crossdock.Array does not compute: np.asarray(x) {sign} y does, on the same memory"
    ))
}

#[cold]
fn refuse(error: impl FnOnce() -> PyErr) -> *mut ffi::PyObject {
    // SAFETY: only the slots below call this function, which the interpreter calls with the GIL
    // held.
    let called = unsafe { Called::new() };
    called.enter(|_| Err(error()))
}

/// The slot of an operator before its operand.
macro_rules! unary {
    ($sign:literal) => {{
        unsafe extern "C" fn refused(_: *mut ffi::PyObject) -> *mut ffi::PyObject {
            refuse(|| {
                PyTypeError::new_err(concat!(
                    "a crossdock.Array does not compute: ",
                    $sign,
                    "np.asarray(x) does, on the same memory"
                ))
            })
        }
        refused as *mut c_void
    }};
}

/// The slot of an operator between two operands.
macro_rules! binary {
    ($sign:literal) => {{
        unsafe extern "C" fn refused(_: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
            refuse(|| no_arithmetic($sign))
        }
        refused as *mut c_void
    }};
}

/// `**`, and `pow` with three arguments.
unsafe extern "C" fn power(
    _: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    refuse(|| no_arithmetic("**"))
}

/// `value in x`: whether any element equals a value.
unsafe extern "C" fn contains(object: *mut ffi::PyObject, value: *mut ffi::PyObject) -> c_int {
    let body = |py: Python<'_>, this: &Own| {
        // SAFETY: the interpreter passes a live object as `value`, and `py` proves that the GIL is
        // held.
        let value = unsafe { Bound::from_borrowed_ptr(py, value) };
        Ok(c_int::from(is_in(&nested::write(py, &this.array)?, &value)?))
    };
    // SAFETY: the interpreter calls this slot (`sq_contains`) with an object of the type, with the
    // GIL held.
    unsafe { enter(object, body) }
}

/// Whether nested lists contain a value at the innermost level.
fn is_in(items: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(list) = items.cast::<PyList>() else { return items.eq(value) };
    for item in list {
        if is_in(&item, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All slots of this file.
pub(crate) fn slots() -> Vec<ffi::PyType_Slot> {
    let mut slots = vec![
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_str, str as *mut c_void),
        slot(ffi::Py_tp_richcompare, compare as *mut c_void),
        // An array compares by its elements, which may change, so it has no hash.
        slot(ffi::Py_tp_hash, ffi::PyObject_HashNotImplemented as *mut c_void),
        slot(ffi::Py_sq_contains, contains as *mut c_void),
        slot(ffi::Py_nb_float, float as *mut c_void),
        slot(ffi::Py_nb_int, int as *mut c_void),
        slot(ffi::Py_nb_index, index as *mut c_void),
        slot(ffi::Py_nb_bool, truth as *mut c_void),
        slot(ffi::Py_nb_power, power as *mut c_void),
    ];
    slots.extend([
        slot(ffi::Py_nb_negative, unary!("-")),
        slot(ffi::Py_nb_positive, unary!("+")),
        slot(ffi::Py_nb_absolute, unary!("abs of ")),
        slot(ffi::Py_nb_invert, unary!("~")),
        slot(ffi::Py_nb_add, binary!("+")),
        slot(ffi::Py_nb_subtract, binary!("-")),
        slot(ffi::Py_nb_multiply, binary!("*")),
        slot(ffi::Py_nb_true_divide, binary!("/")),
        slot(ffi::Py_nb_floor_divide, binary!("//")),
        slot(ffi::Py_nb_remainder, binary!("%")),
        slot(ffi::Py_nb_divmod, binary!("// and %")),
        slot(ffi::Py_nb_matrix_multiply, binary!("@")),
        slot(ffi::Py_nb_and, binary!("&")),
        slot(ffi::Py_nb_or, binary!("|")),
        slot(ffi::Py_nb_xor, binary!("^")),
        slot(ffi::Py_nb_lshift, binary!("<<")),
        slot(ffi::Py_nb_rshift, binary!(">>")),
    ]);
    slots
}
