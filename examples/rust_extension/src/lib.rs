//! A Python extension in Rust: a moving average over arrays of any library.
//!
//! `docs/extensions.md` compares it with the same function for arrays of NumPy alone.

use crossdock::Array;
use crossdock_pyo3::{AnyArray, Readonly, Writable, to_py_err};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The means of `width` neighbours, as a new array.
#[pyfunction]
fn moving_average(py: Python<'_>, x: Readonly<'_, f64, 1>, width: usize) -> PyResult<AnyArray> {
    if width == 0 || width > x.len() {
        return Err(PyValueError::new_err(format!(
            "the width is {width}, and there are {} elements",
            x.len()
        )));
    }
    let x = x.access();
    // Other Python threads run meanwhile. They may write the array, so elements are loaded by value.
    let means: Vec<f64> = py.detach(|| {
        let values = x.to_vec();
        values.windows(width).map(|window| window.iter().sum::<f64>() / width as f64).collect()
    });
    let shape = [means.len()];
    Array::from_vec(means, shape).map(AnyArray::from).map_err(to_py_err)
}

/// Multiplies an array by a factor, in place.
#[pyfunction]
fn scale(x: Writable<'_, f64, 1>, factor: f64) -> PyResult<()> {
    for index in 0..x.len() {
        let value = x.get([index]).map_err(to_py_err)?;
        x.set([index], value * factor).map_err(to_py_err)?;
    }
    Ok(())
}

/// Arrays of any library, in Rust.
#[pymodule]
mod rust_extension {
    #[pymodule_export]
    use super::{moving_average, scale};
}
