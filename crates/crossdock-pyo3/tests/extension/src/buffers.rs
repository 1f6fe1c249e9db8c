//! Buffers as PyO3's own type takes them, for the profile of `crossdock.explain`.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Address, shape and strides.
type Parts = (usize, Vec<usize>, Vec<isize>);

/// The buffer of an object as `PyBuffer<T>`, for the type of this name.
#[pyfunction]
pub(crate) fn pybuffer(object: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Parts> {
    match dtype {
        "i1" => parts::<i8>(object),
        "i2" => parts::<i16>(object),
        "i4" => parts::<i32>(object),
        "i8" => parts::<i64>(object),
        "u1" => parts::<u8>(object),
        "u2" => parts::<u16>(object),
        "u4" => parts::<u32>(object),
        "u8" => parts::<u64>(object),
        "f4" => parts::<f32>(object),
        "f8" => parts::<f64>(object),
        other => Err(PyTypeError::new_err(format!("no type of PyO3 for elements of {other}"))),
    }
}

fn parts<T: Element>(object: &Bound<'_, PyAny>) -> PyResult<Parts> {
    let buffer = PyBuffer::<T>::get(object)?;
    Ok((buffer.buf_ptr().addr(), buffer.shape().to_vec(), buffer.strides().to_vec()))
}
