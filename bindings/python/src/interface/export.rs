//! Exports `__array_interface__`, `__array_struct__` and `__cuda_array_interface__`.
//!
//! These protocols have no release: a consumer keeps the object, so the memory stays leased until
//! the object goes.

use std::ffi::{c_int, c_void};

use crossdock::DArray;
use crossdock::bindings::Advice;
use crossdock::bindings::array_interface::abi::{self, PyArrayInterface};
use crossdock::bindings::array_interface::{ExportLease, InterfaceType, cuda, lease_kind, lend};
use crossdock::bindings::explain::misread_interface;
use crossdock::element::ScalarKind;
use crossdock::layout::Order;
use crossdock::view::Synchronization;
use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::capsule::{capsule, pointer};
use crate::errors;
use crate::object::Own;
use crate::words::words;

/// An array that an interface cannot describe looks as if the attribute were missing, so that
/// consumers try the next protocol.
#[cold]
fn absent(error: impl std::fmt::Display) -> PyErr {
    PyAttributeError::new_err(error.to_string())
}

/// Like [`absent`], for an array that is not accessible from the CPU.
#[cold]
fn elsewhere(array: &DArray) -> PyErr {
    let place = array.place();
    absent(format!(
        "the array interface says no place, and this array is on {place}; {}",
        words(Advice::CopyToCpu)
    ))
}

/// `__array_interface__`.
pub(crate) fn dictionary<'py>(py: Python<'py>, this: &Own) -> PyResult<Bound<'py, PyAny>> {
    if !this.array.place().is_host() {
        return Err(elsewhere(&this.array));
    }
    if misread_interface(this.array.dtype()) {
        return Err(absent(format!(
            "consumers of the array interface make fields of the padding in {}: numpy.asarray(x) gives it in place",
            this.array.dtype()
        )));
    }
    settle(&this.array)?;
    described(py, this)
}

/// Waits for in-flight device work: consumers of a CPU address know no streams.
fn settle(array: &DArray) -> PyResult<()> {
    // SAFETY: `Synchronization::Host` contains no stream handle, so none can be invalid; the host
    // itself waits.
    let settled = unsafe { Synchronization::Host.order(array, lease_kind(array)) };
    settled.map_err(|error| errors::refusal(&error))
}

/// `__cuda_array_interface__`: the same keys, for memory that CUDA can address.
pub(crate) fn cuda_dictionary<'py>(py: Python<'py>, this: &Own) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    let place = array.place();
    if !cuda::is_for(place) {
        return Err(absent(format!("the array is on {place}, and not on a device of CUDA")));
    }
    let described = described(py, this)?;
    described.set_item("stream", cuda::stream(array).map_err(|error| errors::refusal(&error))?)?;
    Ok(described)
}

fn described<'py>(py: Python<'py>, this: &Own) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    let words = InterfaceType::of(array.dtype()).map_err(absent)?;
    if let Some(suboffsets) = array.layout().suboffsets() {
        return Err(absent(format!("the array follows pointers (suboffsets {suboffsets:?})")));
    }
    let readonly = this.kept.tell(array).map_err(|error| errors::refusal(&error))?;
    let described = PyDict::new(py);
    described.set_item("shape", PyTuple::new(py, array.shape())?)?;
    described.set_item("typestr", words.typestr())?;
    match words.descr() {
        Some(literal) => {
            let read = py.import("ast")?.getattr("literal_eval")?;
            described.set_item("descr", read.call1((literal,))?)?;
        }
        None => described.set_item("descr", [("", words.typestr())])?,
    }
    let address = if array.is_empty() { 0 } else { array.as_ptr().expose_provenance() };
    described.set_item("data", (address, readonly))?;
    match array.is_contiguous(Order::RowMajor) {
        true => described.set_item("strides", py.None())?,
        false => described.set_item("strides", PyTuple::new(py, array.layout().normalized().strides())?)?,
    }
    described.set_item("version", 3)?;
    Ok(described.into_any())
}

/// The struct of a capsule, with the data that it points to.
///
/// # Invariants
///
/// 1. The struct is the first field, since the capsule points to it; its shape and strides point
///    into `_numbers`, which never changes.
#[repr(C)]
struct Described {
    _interface: PyArrayInterface,
    _numbers: Box<[isize]>,
    // The array and its lease, for consumers that keep the capsule and not the object.
    _lease: ExportLease,
    _array: DArray,
}

/// `__array_struct__`.
pub(crate) fn structure<'py>(py: Python<'py>, this: &Own) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    let dtype = array.dtype();
    if !array.place().is_host() {
        return Err(elsewhere(array));
    }
    let Some(scalar) = dtype.as_scalar() else {
        return Err(absent(format!("the struct of the array interface is not made of {}", dtype)));
    };
    if matches!(scalar.kind(), ScalarKind::Text(_)) {
        // NumPy up to 2.4 takes the bytes for letters, for example, and reads four times as many.
        return Err(absent(format!(
            "consumers differ on what the struct of the array interface says of {dtype}"
        )));
    }
    if matches!(scalar.kind(), ScalarKind::DateTime(_) | ScalarKind::TimeDelta(_)) {
        return Err(absent(format!("the struct of the array interface cannot say the unit of {}", dtype)));
    }
    let words = InterfaceType::of(dtype).map_err(absent)?;
    if array.layout().suboffsets().is_some() {
        return Err(absent("the array follows pointers"));
    }
    settle(array)?;
    let readonly = this.kept.tell(array).map_err(|error| errors::refusal(&error))?;
    let normal = array.layout().normalized();
    let length = |&len: &usize| len.cast_signed();
    let numbers: Box<[isize]> =
        normal.shape().iter().map(length).chain(normal.strides().iter().copied()).collect();
    let shape = numbers.as_ptr().cast_mut();
    let alignment = dtype.alignment();
    let aligned = array.as_ptr().addr().is_multiple_of(alignment) && array.layout().is_aligned(alignment);
    let flag = |is: bool, flag: c_int| if is { flag } else { 0 };
    let flags = flag(array.is_contiguous(Order::RowMajor), abi::C_CONTIGUOUS)
        | flag(array.is_contiguous(Order::ColumnMajor), abi::F_CONTIGUOUS)
        | flag(aligned, abi::ALIGNED)
        | flag(scalar.is_native(), abi::NOTSWAPPED)
        | flag(!readonly, abi::WRITEABLE);
    let kind = words.typestr().bytes().find(u8::is_ascii_alphabetic).unwrap_or(b'V');
    let interface = PyArrayInterface {
        two: 2,
        nd: array.rank() as c_int,
        typekind: kind.cast_signed() as _,
        itemsize: c_int::try_from(dtype.itemsize()).map_err(absent)?,
        flags,
        shape,
        strides: shape.wrapping_add(array.rank()),
        data: array.as_ptr().cast_mut().cast(),
        descr: std::ptr::null_mut(),
    };
    let lease = lend(array).map_err(|error| errors::refusal(&error))?;
    let described =
        Described { _interface: interface, _numbers: numbers, _lease: lease, _array: array.clone() };
    let described: *mut c_void = Box::into_raw(Box::new(described)).cast();
    capsule(py, described, None, Some(drop_described))
}

unsafe extern "C" fn drop_described(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes the capsule that it destroys, which is live during this call,
    // and holds the GIL.
    if let Some(described) = unsafe { pointer::<Described>(capsule, None) } {
        // SAFETY: the pointer came from `Box::into_raw` in `structure`, and a capsule's destructor
        // runs once.
        drop(unsafe { Box::from_raw(described) });
    }
}
