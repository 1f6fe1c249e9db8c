//! Images of Pillow's. What they lend by Arrow is a row of pixels without width and height, of which some have bytes that mean nothing.

use crossdock::array::CopyPolicy;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{DArray, s};
use pyo3::prelude::*;

use crate::arrow;
use crate::errors::Raise;

/// An image's mode, width and height, if it is one.
fn image(object: &Bound<'_, PyAny>) -> Option<(String, usize, usize)> {
    let module: String = object.get_type().getattr("__module__").ok()?.extract().ok()?;
    if !module.starts_with("PIL.") || !object.hasattr("__arrow_c_array__").ok()? {
        return None;
    }
    let (width, height) = object.getattr("size").ok()?.extract().ok()?;
    Some((object.getattr("mode").ok()?.extract().ok()?, width, height))
}

/// Whether an object is an image.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(image(object).is_some())
}

/// An array on an image, in place: rows, columns, and bands where there are several.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let flat = arrow::lend(object).map_err(arrow::Failure::raise)?;
    let Some((mode, width, height)) = image(object) else { return Ok(flat) };
    let mut shape = vec![height, width];
    shape.extend(flat.shape().get(1));
    let pixels = flat.reshape_with(&shape, Order::RowMajor, CopyPolicy::Never).raise()?;
    // In LAB, a and b are as `getpixel` gives them; the bytes that Pillow makes have 128 added.
    // Arrow is told of signed numbers, and they have no sign.
    let pixels = if mode.starts_with("I;16") { pixels.view_as(&DType::U16).raise()? } else { pixels };
    // Pixels have four bytes if they have more than one; of two bands, the other one is the last byte.
    match object.call_method0("getbands")?.len()? {
        2 => pixels.slice(s![.., .., ..;3]).raise(),
        3 => pixels.slice(s![.., .., ..3]).raise(),
        _ => Ok(pixels),
    }
}
