//! Copies of an array's elements: as a new array, and as Python's `bytes`.

use std::mem::MaybeUninit;
use std::{ptr, slice};

use crossdock::DArray;
use crossdock::layout::Order;
use crossdock::view::Request;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::detach::{detached, making};
use crate::errors::{Raise, refused};

/// A copy in row-major order.
pub(crate) fn copied(py: Python<'_>, array: &DArray) -> PyResult<DArray> {
    detached(py, array, |array| array.to_order(Order::RowMajor)).raise()
}

/// A copy of the elements' bytes, in row-major order.
pub(crate) fn bytes_of<'py>(py: Python<'py>, array: &DArray) -> PyResult<Bound<'py, PyAny>> {
    let view = array.export(&Request::pin().indirect()).map_err(|refusal| refused(&refusal))?;
    new_bytes(py, view.nbytes(), |room| making(py, room.len(), || view.copy_to_uninit(room)).raise())
}

/// New `bytes`, which `fill` writes to the end.
fn new_bytes<'py>(
    py: Python<'py>,
    nbytes: usize,
    fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: `py` proves that the GIL is held; for a null text the bytes are left uninitialised.
    let made = unsafe { ffi::PyBytes_FromStringAndSize(ptr::null(), nbytes.cast_signed()) };
    // SAFETY: `PyBytes_FromStringAndSize` returns a new reference, or null with an exception; `py`
    // proves that the GIL is held.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    // SAFETY: `made` is an exact `bytes` object, created two statements above, and the GIL is held
    // (`py`).
    let first = unsafe { ffi::PyBytes_AsString(made.as_ptr()) };
    // SAFETY: `first` points to the `nbytes` bytes of the new object, to which only this function
    // refers; `MaybeUninit` permits uninitialised bytes.
    fill(unsafe { slice::from_raw_parts_mut(first.cast(), nbytes) })?;
    Ok(made)
}
