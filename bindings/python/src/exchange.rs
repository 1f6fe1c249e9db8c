//! DLPack's C exchange API: a table of functions on the type, by which arrays change hands without a call of Python's.
//!
//! Nobody waits on the host where a device can. What is lent comes after the work on it in the stream that is usual for its device, and that
//! is the one which the table gives: on CUDA the legacy default stream, for which null stands.

use std::ffi::{CString, c_int, c_void};
use std::ptr;

use crossdock::DArray;
use crossdock::bindings::dialect::dlpack::from_dlpack;
use crossdock::bindings::dlpack::abi::{DLManagedTensorVersioned, DLTensor};
use crossdock::bindings::dlpack::{
    self, DLPackExchangeAPI, DLPackExchangeAPIHeader, ExportOptions, SetError,
};
use crossdock::layout::MAX_RANK;
use crossdock::memory::{LeaseKind, Place};
use crossdock::view::Synchronization;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::capsule::capsule;
use crate::entry::{Called, fail, guarded};
use crate::errors;
use crate::object::{allocate, is_ours, this};

static TABLE: DLPackExchangeAPI = DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader::new(),
    managed_tensor_allocator: Some(allocate_tensor),
    managed_tensor_from_py_object_no_sync: Some(lend),
    managed_tensor_to_py_object_no_sync: Some(take),
    dltensor_from_py_object_no_sync: Some(describe),
    current_work_stream: Some(current_work_stream),
};

/// Puts the table where consumers look for it.
pub(crate) fn offer(of: &Bound<'_, PyType>) -> PyResult<()> {
    let table = ptr::from_ref(&TABLE).cast_mut();
    let table = capsule(of.py(), table, Some(c"dlpack_exchange_api"), None)?;
    of.setattr("__dlpack_c_exchange_api__", table)
}

#[cold]
fn not_ours() -> PyErr {
    PyTypeError::new_err("the table of crossdock.Array is for objects of that type alone")
}

/// Lets the stream that is usual on the array's device come after the work that is under way on it; the host, where there is none.
#[inline(always)]
fn in_usual_order(array: &DArray) -> crossdock::Result<()> {
    let access = if array.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share };
    let usual = Synchronization::asked(array.place().kind(), None)?;
    // SAFETY: a stream that is always there.
    unsafe { usual.order(array, access) }
}

/// Lends an object: `managed_tensor_from_py_object_no_sync`.
unsafe extern "C" fn lend(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    // SAFETY: the consumer holds the interpreter (the protocol's word).
    let called = unsafe { Called::new() };
    let object: *mut ffi::PyObject = object.cast();
    called.enter_fast(|_| {
        // SAFETY: an object (the protocol's word).
        if !unsafe { is_ours(object) } {
            return fail(|_| not_ours());
        }
        // SAFETY: of the type, as just checked; the consumer holds a reference.
        let this = unsafe { this(object) };
        if let Err(error) = in_usual_order(&this.array) {
            return fail(|_| errors::refusal(&error));
        }
        // SAFETY: the protocol binds consumers to the flag. Which of them write nevertheless is told in its documentation.
        let options = unsafe { ExportOptions::new().ordered().trust_readonly() };
        match this.kept.lend(&this.array, &options) {
            Ok(exported) => {
                // SAFETY: where the consumer wants the pointer (the protocol's word).
                unsafe { out.write(exported.into_raw()) };
                0
            }
            Err(refusal) => fail(|_| errors::refused(&refusal)),
        }
    })
}

/// Describes an object to a consumer that is done with it before it returns: `dltensor_from_py_object_no_sync`.
unsafe extern "C" fn describe(object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: as in `lend`.
    let called = unsafe { Called::new() };
    let object: *mut ffi::PyObject = object.cast();
    called.enter_fast(|_| {
        // SAFETY: an object (the protocol's word).
        if !unsafe { is_ours(object) } {
            return fail(|_| not_ours());
        }
        // SAFETY: of the type, as just checked; the consumer holds a reference.
        let this = unsafe { this(object) };
        if let Err(error) = in_usual_order(&this.array) {
            return fail(|_| errors::refusal(&error));
        }
        // SAFETY: the consumer is done with it before control returns (the protocol's word).
        match unsafe { this.kept.describe(&this.array) } {
            Ok(tensor) => {
                // SAFETY: where the consumer wants the struct (the protocol's word).
                unsafe { out.write(tensor) };
                0
            }
            Err(error) => fail(|_| error),
        }
    })
}

/// Makes an object of a tensor, which is consumed in any case: `managed_tensor_to_py_object_no_sync`.
unsafe extern "C" fn take(tensor: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    // SAFETY: as in `lend`.
    let called = unsafe { Called::new() };
    called.enter(|py| {
        // SAFETY: the tensor is ours from now on, and what it says of its memory is the protocol's word.
        let array = unsafe { dlpack::import_versioned(tensor) }.map_err(|error| errors::refusal(&error))?;
        crate::dlpack::came_in_order(&array, Synchronization::to_ask(array.place().kind()))?;
        let object = allocate(array);
        if object.is_null() {
            return Err(crate::entry::fetch(py));
        }
        // SAFETY: where the consumer wants the object (the protocol's word).
        unsafe { out.write(object.cast()) };
        Ok(0)
    })
}

/// A new tensor of zeros, of a prototype's type, shape and device: `managed_tensor_allocator`. The interpreter need not be held.
unsafe extern "C" fn allocate_tensor(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: Option<SetError>,
) -> c_int {
    let made = guarded(|| {
        // SAFETY: null, or to a struct whose type, device, and `ndim` lengths are filled in (the protocol's word).
        let array = unsafe { prototype.as_ref() }.ok_or("the prototype is null".to_owned()).and_then(
            |prototype| {
                // SAFETY: clause 1 of `zeros_like`: the protocol requires a prototype's shape to be
                // null or to have `ndim` lengths.
                unsafe { zeros_like(prototype) }
            },
        )?;
        let exported =
            dlpack::export_versioned(&array, &ExportOptions::new()).map_err(|refusal| refusal.to_string())?;
        Ok(exported.into_raw())
    });
    match made {
        Ok(tensor) => {
            // SAFETY: where the caller wants the pointer (the protocol's word).
            unsafe { out.write(tensor) };
            0
        }
        Err(text) => {
            let text = CString::new(text).unwrap_or_default();
            if let Some(set_error) = set_error {
                // SAFETY: the caller's function, with the caller's context, and two texts.
                unsafe { set_error(context, c"BufferError".as_ptr(), text.as_ptr()) };
            }
            -1
        }
    }
}

/// # Safety
///
/// 1. The shape of the prototype is null, or points to `ndim` lengths.
unsafe fn zeros_like(prototype: &DLTensor) -> Result<DArray, String> {
    let (device, dtype) = (prototype.device, prototype.dtype);
    let place = Place::from(device);
    let dtype = from_dlpack(dtype.code, dtype.bits, dtype.lanes, true).map_err(|error| error.to_string())?;
    let ndim = prototype.ndim;
    let rank = usize::try_from(ndim).ok().filter(|&rank| rank <= MAX_RANK);
    let rank = rank.ok_or_else(|| format!("the prototype has {ndim} axes, and not 0 to {MAX_RANK}"))?;
    if rank > 0 && prototype.shape.is_null() {
        return Err(format!("the prototype has {ndim} axes, and the pointer to their lengths is null"));
    }
    let length = |axis| {
        // SAFETY: clause 1: `shape` has `ndim` lengths and is not null if there is an axis, and
        // `axis < ndim`.
        let len = unsafe { prototype.shape.wrapping_add(axis).read_unaligned() };
        usize::try_from(len).map_err(|_| format!("axis {axis} of the prototype has a length of {len}"))
    };
    let shape: Vec<usize> = (0..rank).map(length).collect::<Result<_, _>>()?;
    DArray::zeros(dtype, &shape, place).map_err(|error| error.to_string())
}

/// The stream on which work on a device is put: `current_work_stream`. Null is none, and on CUDA the legacy default stream.
unsafe extern "C" fn current_work_stream(_: i32, _: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: where the caller wants the pointer (the protocol's word).
    unsafe { out.write(ptr::null_mut()) };
    0
}
