//! Pillow images. Pillow exports a flat column of pixels by Arrow, without width and height, and
//! some pixels have padding bytes.

use crossdock::array::CopyPolicy;
use crossdock::element::{ByteOrder, DType};
use crossdock::layout::Order;
use crossdock::{DArray, s};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::{arrow, modules, words};

/// An image's mode, width and height, if it is one.
fn image(object: &Bound<'_, PyAny>) -> Option<(String, usize, usize)> {
    if !modules::of_class(object).starts_with("PIL.") || !object.hasattr("__arrow_c_array__").ok()? {
        return None;
    }
    let (width, height) = object.getattr("size").ok()?.extract().ok()?;
    Some((object.getattr("mode").ok()?.extract().ok()?, width, height))
}

/// Whether an object is a Pillow image.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(image(object).is_some())
}

/// A zero-copy array on an image: rows, columns, and bands if there are several.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let image = image(object);
    if let Some((mode, ..)) = &image
        && let Some(why) = differ(mode)
    {
        return Err(PyBufferError::new_err(format!(
            "Pillow's pixels of mode {mode:?} lie in memory as {why}; {}",
            words::COPY_OF_PIXELS
        )));
    }
    let flat = arrow::lend(object).map_err(arrow::Failure::raise)?;
    let Some((mode, width, height)) = image else { return Ok(flat) };
    let mut shape = vec![height, width];
    shape.extend(flat.shape().get(1));
    let pixels = flat.reshape_with(&shape, Order::RowMajor, CopyPolicy::Never).raise()?;
    // Pillow declares all numbers to Arrow as signed and native-endian.
    let pixels = match mode.as_str() {
        "I;16B" => pixels.view_as(&DType::U16.with_byte_order(ByteOrder::Big)).raise()?,
        mode if mode.starts_with("I;16") => pixels.view_as(&DType::U16).raise()?,
        _ => pixels,
    };
    // Pixels with several bands have four bytes; with two bands, the second one is the last byte.
    match object.call_method0("getbands")?.len()? {
        2 => pixels.slice(s![.., .., ..;3]).raise(),
        3 => pixels.slice(s![.., .., ..3]).raise(),
        _ => Ok(pixels),
    }
}

/// How pixels of a mode lie in memory, if NumPy has other values of them. Large images are always
/// copied as NumPy has them, so small ones in place would have other values than large ones.
fn differ(mode: &str) -> Option<&'static str> {
    match mode {
        "1" => Some("bytes of 0 and 255, and NumPy has truth values"),
        "LAB" => Some("signed a and b, to which NumPy has 128 added"),
        _ => None,
    }
}
