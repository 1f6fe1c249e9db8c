//! DLPack, both ways: capsules around the library's structs.

use std::ffi::CStr;

use crossdock::DArray;
use crossdock::array::CopyPolicy;
use crossdock::exchange::protocol::dlpack::abi::{DLManagedTensor, DLManagedTensorVersioned, VERSION};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::memory::{DeviceKind, Place};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{intern, sync::PyOnceLock};

use crate::arguments::Arguments;
use crate::capsule::{capsule, pointer, rename};
use crate::errors;

const LEGACY: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_LEGACY: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

// ===== ours to theirs

/// `__dlpack_device__()`.
pub(crate) fn device(array: &DArray) -> (i32, i32) {
    (array.place().kind().0, array.place().ordinal())
}

/// `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)`.
pub(crate) fn export<'py>(
    py: Python<'py>,
    array: &DArray,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let names =
        [intern!(py, "stream"), intern!(py, "max_version"), intern!(py, "dl_device"), intern!(py, "copy")];
    let [stream, max_version, wanted, copy] = arguments.all_named(names);
    arguments.finish()?;
    let max_version: Option<(u32, u32)> = max_version.map(|value| value.extract()).transpose()?;
    let wanted: Option<(i32, i32)> = wanted.map(|value| value.extract()).transpose()?;
    let copy: Option<bool> = copy.map(|value| value.extract()).transpose()?;
    if stream.is_some() && array.place().kind() == DeviceKind::CPU {
        return Err(PyBufferError::new_err("memory of the processor has no streams: stream has to be None"));
    }
    if let Some((kind, ordinal)) = wanted.filter(|&wanted| wanted != device(array)) {
        let (place, here) = (Place::new(DeviceKind(kind), ordinal), array.place());
        return Err(PyBufferError::new_err(format!(
            "the array is on {here}, and is not moved to {place} on the way"
        )));
    }
    // Without a word about copies none is made behind anybody's back.
    let policy = if copy == Some(true) { CopyPolicy::Always } else { CopyPolicy::Never };
    let options = ExportOptions::new().copy(policy);
    // SAFETY: the protocol binds consumers to the flag. Which of them write nevertheless is told in its documentation.
    let options = unsafe { options.trust_readonly() };
    if max_version.is_some_and(|(major, _)| major >= VERSION.major) {
        let exported =
            dlpack::export_versioned(array, &options).map_err(|refusal| errors::refused(&refusal))?;
        capsule(py, exported.into_raw(), Some(VERSIONED), Some(drop_versioned))
    } else {
        let exported = dlpack::export_legacy(array, &options).map_err(|refusal| errors::refused(&refusal))?;
        capsule(py, exported.into_raw(), Some(LEGACY), Some(drop_legacy))
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls, with the capsule.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensorVersioned>(capsule, Some(VERSIONED)) } {
        // SAFETY: exported by us, and taken by nobody.
        if let Some(deleter) = unsafe { (*tensor).deleter } {
            // SAFETY: as above: the one call.
            unsafe { deleter(tensor) }
        }
    }
}

unsafe extern "C" fn drop_legacy(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls, with the capsule.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensor>(capsule, Some(LEGACY)) } {
        // SAFETY: exported by us, and taken by nobody.
        if let Some(deleter) = unsafe { (*tensor).deleter } {
            // SAFETY: as above: the one call.
            unsafe { deleter(tensor) }
        }
    }
}

// ===== theirs to ours

/// Whether an object has `__dlpack__`.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(intern!(object.py(), "__dlpack__"))
}

/// An array on what an object lends by DLPack.
pub(crate) fn import(
    object: &Bound<'_, PyAny>,
    device: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<DArray> {
    let py = object.py();
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let plain = device.is_none() && copy.is_none();
    let named = if plain { usual(py)?.clone() } else { PyDict::new(py) };
    if !plain {
        named.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
        named.set_item(intern!(py, "dl_device"), device)?;
        named.set_item(intern!(py, "copy"), copy)?;
    }
    let capsule = match method.call((), Some(&named)) {
        // Those from before version 1.0 know no such arguments, and cannot be asked for a copy or another device.
        Err(error) if error.is_instance_of::<PyTypeError>(py) && plain => method.call0().map_err(|_| error),
        answer => answer,
    }
    .map_err(|error| errors::producer(py, "__dlpack__()", error))?;
    let raw = capsule.as_ptr();
    // SAFETY: an object, and the interpreter is held.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensorVersioned>(raw, Some(VERSIONED)) } {
        rename(py, &capsule, USED_VERSIONED)?;
        // SAFETY: lent to whoever takes it, which is us: the capsule says that it was taken. What it says of its memory is the
        // protocol's word.
        return unsafe { dlpack::import_versioned(tensor) }.map_err(|error| errors::refusal(&error));
    }
    // SAFETY: as above.
    if let Some(tensor) = unsafe { pointer::<DLManagedTensor>(raw, Some(LEGACY)) } {
        rename(py, &capsule, USED_LEGACY)?;
        // SAFETY: as above.
        return unsafe { dlpack::import_legacy(tensor) }.map_err(|error| errors::refusal(&error));
    }
    Err(PyValueError::new_err(
        "__dlpack__() gave neither a capsule \"dltensor_versioned\" nor \"dltensor\"; a capsule is taken once",
    ))
}

/// The arguments of every import that asks for nothing else.
fn usual<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyDict>> {
    static USUAL: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let made = USUAL.get_or_try_init(py, || {
        let named = PyDict::new(py);
        named.set_item("max_version", (VERSION.major, VERSION.minor))?;
        Ok::<_, PyErr>(named.unbind())
    })?;
    Ok(made.bind(py))
}
