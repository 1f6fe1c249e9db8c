//! DLPack's C exchange API: a table of functions on the type, by which consumers exchange arrays
//! without a Python call.
//!
//! Where the device has streams, no call waits on the host. An exported tensor is ordered before
//! later work in the device's default stream, which is the stream that the table returns: on CUDA
//! the legacy default stream, written as null.

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
use crate::overlap;
use crate::words::words;

static TABLE: DLPackExchangeAPI = DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader::new(),
    managed_tensor_allocator: Some(allocate_tensor),
    managed_tensor_from_py_object_no_sync: Some(lend),
    managed_tensor_to_py_object_no_sync: Some(take),
    dltensor_from_py_object_no_sync: Some(describe),
    current_work_stream: Some(current_work_stream),
};

/// Sets the attribute in which consumers find the table.
pub(crate) fn offer(of: &Bound<'_, PyType>) -> PyResult<()> {
    let table = ptr::from_ref(&TABLE).cast_mut();
    let table = capsule(of.py(), table, Some(c"dlpack_exchange_api"), None)?;
    of.setattr("__dlpack_c_exchange_api__", table)
}

#[cold]
fn not_ours() -> PyErr {
    PyTypeError::new_err("the table of crossdock.Array is for objects of that type alone")
}

/// Orders later work in the default stream of the array's device after the in-flight work on its
/// memory. The host waits if the device has no streams.
#[inline(always)]
fn in_usual_order(array: &DArray) -> crossdock::Result<()> {
    let access = if array.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share };
    let usual = Synchronization::asked(array.place().kind(), None)?;
    // SAFETY: `usual` is the driver's default stream or the host; a default stream exists while its
    // device does.
    unsafe { usual.order(array, access) }
}

/// Exports an object: `managed_tensor_from_py_object_no_sync`.
unsafe extern "C" fn lend(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    // SAFETY: the exchange API requires callers of this function to hold the GIL, and `called` ends
    // with the call.
    let called = unsafe { Called::new() };
    let object: *mut ffi::PyObject = object.cast();
    called.enter_fast(|_| {
        // SAFETY: the exchange API requires `object` to be a live Python object, and the GIL is
        // held.
        if !unsafe { is_ours(object) } {
            return fail(|_| not_ours());
        }
        // SAFETY: `is_ours` just checked the type, and the consumer holds a reference during the
        // call.
        let this = unsafe { this(object) };
        if let Err(error) = in_usual_order(&this.array) {
            return fail(|_| errors::refusal(&error));
        }
        // SAFETY: DLPack 1.0 binds consumers to the read-only flag. `trust_readonly` documents
        // which consumers write nevertheless.
        let options = unsafe { ExportOptions::new().ordered().trust_readonly() };
        match this.kept.lend(&this.array, &options) {
            Ok(exported) => {
                // SAFETY: the exchange API requires `out` to be valid for a write of one pointer.
                unsafe { out.write(exported.into_raw()) };
                0
            }
            Err(refusal) => fail(|_| errors::refused(&refusal)),
        }
    })
}

/// Describes an object to a consumer that uses the description only until control returns to
/// Python: `dltensor_from_py_object_no_sync`.
unsafe extern "C" fn describe(object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: the exchange API requires callers of this function to hold the GIL, and `called` ends
    // with the call.
    let called = unsafe { Called::new() };
    let object: *mut ffi::PyObject = object.cast();
    called.enter_fast(|_| {
        // SAFETY: the exchange API requires `object` to be a live Python object, and the GIL is
        // held.
        if !unsafe { is_ours(object) } {
            return fail(|_| not_ours());
        }
        // SAFETY: `is_ours` just checked the type, and the consumer holds a reference during the
        // call.
        let this = unsafe { this(object) };
        if let Err(error) = in_usual_order(&this.array) {
            return fail(|_| errors::refusal(&error));
        }
        // SAFETY: clauses 1 and 2 of `ConsumerState::describe`: the exchange API lets foreign code
        // use this tensor only until control returns to Python, with the GIL held.
        match unsafe { this.kept.describe(&this.array) } {
            Ok(tensor) => {
                // SAFETY: the exchange API requires `out` to be valid for a write of one
                // `DLTensor`.
                unsafe { out.write(tensor) };
                0
            }
            Err(error) => fail(|_| error),
        }
    })
}

/// Creates an object from a tensor, and consumes the tensor even if it fails:
/// `managed_tensor_to_py_object_no_sync`.
unsafe extern "C" fn take(tensor: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    // SAFETY: the exchange API requires callers of this function to hold the GIL, and `called` ends
    // with the call.
    let called = unsafe { Called::new() };
    called.enter(|py| {
        // SAFETY: the exchange API passes ownership of the tensor to this function and requires its
        // content to be valid.
        let array = unsafe { dlpack::import_versioned(tensor) }.map_err(|error| errors::refusal(&error))?;
        crate::dlpack::came_in_order(&array, Synchronization::to_ask(array.place().kind()))?;
        let object = allocate(py, overlap::protected(array));
        if object.is_null() {
            return Err(crate::entry::fetch(py));
        }
        // SAFETY: the exchange API requires `out` to be valid for a write of one object pointer.
        unsafe { out.write(object.cast()) };
        Ok(0)
    })
}

/// A new tensor of zeros with the dtype, shape and device of a prototype:
/// `managed_tensor_allocator`. The caller need not hold the GIL.
unsafe extern "C" fn allocate_tensor(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: Option<SetError>,
) -> c_int {
    let made = guarded(|| {
        // SAFETY: the exchange API requires the prototype to be a valid `DLTensor` for the duration
        // of the call; null becomes an error.
        let array = unsafe { prototype.as_ref() }.ok_or("the prototype is null".to_owned()).and_then(
            |prototype| {
                // SAFETY: clause 1 of `zeros_like`: the protocol requires a prototype's shape to be
                // null or to have `ndim` lengths.
                unsafe { zeros_like(prototype) }
            },
        )?;
        let exported = dlpack::export_versioned(&array, &ExportOptions::new())
            .map_err(|refusal| refusal.in_words(words).to_string())?;
        Ok(exported.into_raw())
    });
    match made {
        Ok(tensor) => {
            // SAFETY: the exchange API requires `out` to be valid for a write of one pointer.
            unsafe { out.write(tensor) };
            0
        }
        Err(text) => {
            let text = CString::new(text).unwrap_or_default();
            if let Some(set_error) = set_error {
                // SAFETY: the caller passed `set_error` for use with this `context`, and both texts
                // are C strings that outlive the call.
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
    let dtype =
        from_dlpack(dtype.code, dtype.bits, dtype.lanes, true).map_err(|error| errors::text(&error))?;
    let ndim = prototype.ndim;
    let rank = usize::try_from(ndim).ok().filter(|&rank| rank <= MAX_RANK);
    let rank = rank.ok_or_else(|| format!("the prototype has {ndim} axes, and not 0 to {MAX_RANK}"))?;
    if rank > 0 && prototype.shape.is_null() {
        return Err(format!("the prototype has {ndim} axes, and the pointer to their lengths is null"));
    }
    let length = |axis| {
        // SAFETY: clause 1: `shape` has `ndim` lengths. It is not null if there is an axis
        // (checked above), and `axis < ndim`.
        let len = unsafe { prototype.shape.wrapping_add(axis).read_unaligned() };
        usize::try_from(len).map_err(|_| format!("axis {axis} of the prototype has a length of {len}"))
    };
    let shape: Vec<usize> = (0..rank).map(length).collect::<Result<_, _>>()?;
    DArray::zeros(dtype, &shape, place).map_err(|error| errors::text(&error))
}

/// The stream for work on a device: `current_work_stream`. Null means none, and on CUDA the legacy
/// default stream.
unsafe extern "C" fn current_work_stream(_: i32, _: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: the exchange API requires `out` to be valid for a write of one pointer.
    unsafe { out.write(ptr::null_mut()) };
    0
}
