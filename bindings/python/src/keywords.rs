//! Functions of the module whose errors name the keyword argument that was probably meant.
//!
//! PyO3 refuses an unknown name without a suggestion. Each function is replaced by one that calls
//! it, and that looks at the names only after the call has failed: successful calls cost one jump.

use std::ffi::CString;
use std::sync::OnceLock;
use std::{mem, ptr};

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyString, PyTuple};

use crate::asarray_call;
use crate::entry::{Called, fetch};
use crate::signature::Signature;

type Function = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Answers the calls of a function that take nanoseconds; `None` leaves a call to the function.
type Quick =
    unsafe fn(*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject) -> Option<*mut ffi::PyObject>;

const QUICK: &[(&str, Quick)] = &[("asarray", asarray_call::call)];

/// A function of PyO3.
struct Replaced {
    function: Function,
    quick: Option<Quick>,
    name: String,
    /// The list of parameters, as `inspect` reads it.
    parameters: String,
}

/// The functions that are replaced, at the indices of the entries of [`CALLS`] that call them.
static FUNCTIONS: [OnceLock<Replaced>; CALLS.len()] = [const { OnceLock::new() }; CALLS.len()];

/// Replaces the functions of a module that accept names.
pub(crate) fn replace(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let mut calls = CALLS.iter().zip(&FUNCTIONS);
    for (name, object) in module.dict().iter() {
        let Ok(function) = object.cast_into::<PyCFunction>() else { continue };
        // SAFETY: `function` is a live builtin function, and its `Bound` proves that this thread
        // holds the GIL.
        let flags = unsafe { ffi::PyCFunction_GetFlags(function.as_ptr()) };
        if flags != ffi::METH_FASTCALL | ffi::METH_KEYWORDS {
            continue;
        }
        let Some((&call, place)) = calls.next() else {
            return Err(PyImportError::new_err(format!("more than {} functions", CALLS.len())));
        };
        let name: Bound<'_, PyString> = name.cast_into()?;
        module.setattr(&name, replacement(module, &name, &function, call, place)?)?;
    }
    Ok(())
}

/// The function that calls `function` through `call`, with the same name and documentation.
fn replacement<'py>(
    module: &Bound<'py, PyModule>,
    name: &Bound<'py, PyString>,
    function: &Bound<'py, PyCFunction>,
    call: Function,
    place: &OnceLock<Replaced>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = module.py();
    let name: String = name.extract()?;
    let parameters: String = function.getattr("__text_signature__")?.extract()?;
    let text = format!("{name}{parameters}\n--\n\n{}", function.getattr("__doc__")?.extract::<String>()?);
    // SAFETY: `function` is a live builtin function, and its `Bound` proves that this thread holds
    // the GIL.
    let pointer = unsafe { ffi::PyCFunction_GetFunction(function.as_ptr()) };
    let Some(pointer) = pointer else { return Err(fetch(py)) };
    // SAFETY: the caller found the flags `METH_FASTCALL | METH_KEYWORDS`, for which the function
    // has this type.
    let pointer = unsafe { mem::transmute::<ffi::PyCFunction, Function>(pointer) };
    // Of a second import, the functions are the same.
    let quick = QUICK.iter().find(|(of, _)| *of == name).map(|&(_, quick)| quick);
    let _first = place.set(Replaced { function: pointer, quick, name: name.clone(), parameters });
    // The interpreter keeps the definition for the life of the process.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: CString::new(name)?.into_raw(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: CString::new(text)?.into_raw(),
    }));
    let of = PyString::new(py, "crossdock");
    // SAFETY: `definition` lives forever; `module` and `of` are live objects, and `py` proves that
    // this thread holds the GIL.
    let made = unsafe { ffi::PyCFunction_NewEx(definition, module.as_ptr(), of.as_ptr()) };
    // SAFETY: `PyCFunction_NewEx` returns a new reference, or null with an exception; `py` proves
    // that the GIL is held.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// Calls a replaced function by its index, since the interpreter passes only the arguments.
unsafe extern "C" fn call<const INDEX: usize>(
    module: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let Some(replaced) = FUNCTIONS[INDEX].get() else { return ptr::null_mut() };
    if let Some(quick) = replaced.quick
        // SAFETY: clause 1 of `quick`: only the interpreter calls this function, with the flags
        // of the replaced one (`replace`) and the GIL held.
        && let Some(answer) = unsafe { quick(args, count, names) }
    {
        return answer;
    }
    // SAFETY: the interpreter calls this function with arguments for the flags of the replaced one,
    // which are the same (`replace`).
    let result = unsafe { (replaced.function)(module, args, count, names) };
    if !result.is_null() || names.is_null() {
        return result;
    }
    // SAFETY: 1. only the interpreter calls this function, with the GIL held; 2. the value is used
    // in this call alone.
    let called = unsafe { Called::new() };
    called.enter(|py| {
        let failed = fetch(py);
        // SAFETY: `names` is not null (checked above): a live tuple of the interpreter; `py`
        // proves that the GIL is held.
        let names = unsafe { Bound::from_borrowed_ptr(py, names) };
        let signature = Signature::parse(&replaced.name, &replaced.parameters);
        for name in names.cast_into::<PyTuple>()?.iter() {
            let name: String = name.extract()?;
            if !signature.has(&name) {
                return Err(signature.unexpected(&name));
            }
        }
        Err(failed)
    })
}

const CALLS: [Function; 48] = [
    call::<0>, call::<1>, call::<2>, call::<3>, call::<4>, call::<5>, call::<6>, call::<7>, call::<8>,
    call::<9>, call::<10>, call::<11>, call::<12>, call::<13>, call::<14>, call::<15>, call::<16>,
    call::<17>, call::<18>, call::<19>, call::<20>, call::<21>, call::<22>, call::<23>, call::<24>,
    call::<25>, call::<26>, call::<27>, call::<28>, call::<29>, call::<30>, call::<31>, call::<32>,
    call::<33>, call::<34>, call::<35>, call::<36>, call::<37>, call::<38>, call::<39>, call::<40>,
    call::<41>, call::<42>, call::<43>, call::<44>, call::<45>, call::<46>, call::<47>,
];
