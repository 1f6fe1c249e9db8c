//! Names of other libraries' arrays that ours do not have: `x.sum()` fails with the way to NumPy's
//! method, `x.unsqueeze(0)` with the line that does the same here.
//!
//! They are attributes of a base type, which fail when they are read. A slot for missing attributes
//! would cost every call of a method, and every consumer that looks for a protocol.

use std::ffi::{CStr, c_void};
use std::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use crate::entry::{Called, fail};
use crate::object::slot;

const METHODS: &[&CStr] = &[
    c"all",
    c"any",
    c"argmax",
    c"argmin",
    c"argpartition",
    c"argsort",
    c"byteswap",
    c"choose",
    c"clip",
    c"compress",
    c"conj",
    c"conjugate",
    c"cumprod",
    c"cumsum",
    c"diagonal",
    c"dot",
    c"dump",
    c"dumps",
    c"flatten",
    c"getfield",
    c"max",
    c"mean",
    c"min",
    c"nonzero",
    c"partition",
    c"prod",
    c"put",
    c"repeat",
    c"resize",
    c"round",
    c"searchsorted",
    c"setfield",
    c"setflags",
    c"sort",
    c"std",
    c"sum",
    c"take",
    c"tofile",
    c"trace",
    c"var",
];
const ATTRIBUTES: &[&CStr] = &[c"base", c"data", c"flat", c"imag", c"real"];

/// Names of PyTorch's tensors and of pandas' and Polars' columns, and what to write in their place.
const OTHERS: &[(&CStr, &str)] = &[
    (c"clone", "x.copy() copies it"),
    (c"contiguous", "x.copy() is contiguous, and np.ascontiguousarray(x) copies only if it must"),
    (c"cpu", "x.to_device('cpu') gives it on the CPU"),
    (c"cuda", "x.to_device('cuda:0') copies it to a GPU"),
    (c"data_ptr", "x.ptr is its address"),
    (c"detach", "it has no gradient, so nothing is to be detached"),
    (c"numpy", "np.asarray(x) is NumPy's array on its memory"),
    (c"permute", "x.transpose(...) permutes axes"),
    (c"to", "x.astype(dtype) converts it, and x.to_device(device) moves it"),
    (c"to_list", "x.tolist() gives Python's objects"),
    (c"to_numpy", "np.asarray(x) is NumPy's array on its memory"),
    (c"to_pandas", "pd.Series(np.asarray(x)) is a column of pandas on its memory"),
    (c"unsqueeze", "x[None] has another axis in front, and x.expand_dims(axis) anywhere"),
    (c"values", "np.asarray(x) is NumPy's array on its memory"),
];

const DOC: &CStr =
    c"Names of other libraries' arrays that these do not have. Reading one fails with what to write.";
const DIR_DOC: &CStr = c"__dir__($self, /)\n--\n\nThe names that the array has.";

/// Every name, in the order of their indices.
fn names() -> impl Iterator<Item = &'static CStr> {
    METHODS.iter().chain(ATTRIBUTES).copied().chain(OTHERS.iter().map(|(name, _)| *name))
}

/// Makes the base type. The interpreter keeps pointers to the leaked tables.
pub(crate) fn make_base(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let attribute = |(index, name): (usize, &'static CStr)| ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(get),
        set: None,
        doc: ptr::null(),
        closure: ptr::without_provenance_mut(index),
    };
    let attributes = names().enumerate().map(attribute).chain([ffi::PyGetSetDef::default()]);
    let attributes = Vec::leak(attributes.collect()).as_mut_ptr();
    let dir = ffi::PyMethodDef {
        ml_name: c"__dir__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: dir },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: DIR_DOC.as_ptr(),
    };
    let methods = Vec::leak(vec![dir, ffi::PyMethodDef::zeroed()]).as_mut_ptr();
    let mut slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_getset, attributes.cast()),
        slot(ffi::Py_tp_methods, methods.cast()),
        slot(0, ptr::null_mut()),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = ffi::PyType_Spec {
        name: c"crossdock._OtherNames".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: flags as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: every slot has the type that its number says, and the last one is zero. The texts and
    // the tables, to which the type keeps pointers, are static or leaked.
    let made = unsafe { ffi::PyType_FromSpec(&mut spec) };
    // SAFETY: `PyType_FromSpec` returns a new reference, or null with an exception set; `py` proves
    // that the GIL is held.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    Ok(made.cast_into::<PyType>()?)
}

/// The getter of every attribute: `closure` is its index in the tables.
unsafe extern "C" fn get(_: *mut ffi::PyObject, closure: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this getter, with the GIL held until it returns.
    let called = unsafe { Called::new() };
    called.enter_fast(|_| fail(|_| missing(closure.addr())))
}

/// The error for the name of this index.
#[cold]
fn missing(index: usize) -> PyErr {
    let name = names().nth(index).unwrap_or_default().to_string_lossy();
    let numpys = |kind: &str, call: &str| {
        format!(
            "crossdock.Array has no {kind} '{name}'; use NumPy's: np.asarray(x).{name}{call}, on the same memory"
        )
    };
    PyAttributeError::new_err(if index < METHODS.len() {
        numpys("method", "()")
    } else {
        match index.checked_sub(METHODS.len() + ATTRIBUTES.len()).and_then(|index| OTHERS.get(index)) {
            Some((_, way)) => format!("crossdock.Array has no attribute '{name}': {way}"),
            None => numpys("attribute", ""),
        }
    })
}

/// `__dir__`: the names of `object.__dir__` without those of this type.
unsafe extern "C" fn dir(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this method, with the GIL held until it returns.
    let called = unsafe { Called::new() };
    called.enter(|py| {
        // SAFETY: the interpreter passes a live object, and `py` proves that the GIL is held.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        let all = py.get_type::<PyAny>().call_method1("__dir__", (object,))?;
        let kept = PyList::empty(py);
        for name in all.try_iter()? {
            let name = name?;
            let text = name.extract::<String>()?;
            if !names().any(|known| known.to_bytes() == text.as_bytes()) {
                kept.append(name)?;
            }
        }
        Ok(kept.into_any().into_ptr())
    })
}
