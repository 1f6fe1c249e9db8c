//! DLPack's numbers of dtypes and devices, as other libraries' objects return them.

use crossdock::exchange::protocol::dlpack::abi::DLDevice;
use crossdock::memory::{DeviceKind, Place};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::Raise;

/// A place as DLPack's pair of numbers.
pub(crate) fn of_place(place: Place) -> (i32, i32) {
    let DLDevice { device_type, device_id } = place.into();
    (device_type, device_id)
}

/// A place from its name, from DLPack's pair of numbers, from another library's device with
/// `__dlpack_device__`, or from an object whose `str()` is such a name, as with PyTorch devices.
pub(crate) fn place_of(object: &Bound<'_, PyAny>) -> PyResult<Place> {
    let py = object.py();
    if let Ok((kind, ordinal)) = object.extract::<(i32, i32)>() {
        return Ok(Place::new(DeviceKind(kind), ordinal));
    }
    let is_name = object.is_exact_instance_of::<PyString>();
    if !is_name && has_method(object, intern!(py, "__dlpack_device__"))? {
        if has_method(object, intern!(py, "__dlpack__"))? {
            let of = object.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!(
                "{of} is an array; a device is needed, as in `x.device`"
            )));
        }
        let (kind, ordinal) = returned(object, intern!(py, "__dlpack_device__"), "(device_type, device_id)")?;
        return Ok(Place::new(DeviceKind(kind), ordinal));
    }
    object.str()?.to_cow()?.parse().raise()
}

/// The numbers that a method of DLPack's protocols returns, which are described by `expected`.
pub(crate) fn returned<'py, T: FromPyObjectOwned<'py>>(
    object: &Bound<'py, PyAny>,
    method: &Bound<'py, PyString>,
    expected: &str,
) -> PyResult<T> {
    let numbers = object.call_method0(method)?;
    numbers.extract::<T>().map_err(|_| {
        let of = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("{of}.{method}() returned {numbers}; {expected} was expected"))
    })
}

/// Whether the object's type has a method of this name, as opposed to an attribute of the object.
pub(crate) fn has_method(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    object.get_type().hasattr(name)
}
