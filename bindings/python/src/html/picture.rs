//! A small PNG of images and of matrices of numbers.

use std::fmt::Write as _;

use crossdock::DArray;
use crossdock::array::Array;
use crossdock::element::{DType, Value};
use crossdock::exchange::files::png;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Raise;
use crate::html::escaped;
use crate::text;

/// The largest number of pixels along a side; of longer axes, every n-th element is read.
const SIDE: usize = 256;
/// Elements of small arrays are magnified to squares of at most this many pixels of the screen.
const MAGNIFIED: usize = 16;
/// Thin pictures are at least this wide and high on the screen.
const THINNEST: usize = 8;

/// The pixels of an array: height × width × channels, and how values became brightness.
struct Pixels {
    samples: Vec<u8>,
    shape: [usize; 3],
    scale: String,
}

/// The indices of an axis that become pixels.
#[derive(Clone, Copy)]
struct Sampling {
    step: usize,
    count: usize,
}

impl Sampling {
    fn of(len: usize) -> Self {
        let step = len.div_ceil(SIDE).max(1);
        Self { step, count: len.div_ceil(step) }
    }
}

/// An image or matrix as `<figure>` with its PNG; empty for other arrays, for memory that the CPU
/// cannot access, and while another holder writes the memory.
pub(super) fn figure(py: Python<'_>, array: &DArray) -> PyResult<String> {
    let shape = array.shape();
    if !array.place().is_host() || array.is_empty() {
        return Ok(String::new());
    }
    let pixels = match (shape, array.dtype() == &DType::U8) {
        (&[height, width], true) => image(array, height, width, 1),
        (&[height, width, channels @ (1 | 3 | 4)], true) => image(array, height, width, channels),
        (&[height, width], false) => matrix(array, height, width),
        _ => None,
    };
    let Some(pixels) = pixels else { return Ok(String::new()) };
    let mut file = Vec::new();
    png::write(&mut file, &Array::from_vec(pixels.samples, pixels.shape).raise()?.into()).raise()?;
    let encoded = py.import("binascii")?.call_method1("b2a_base64", (PyBytes::new(py, &file),))?;
    let encoded: String = encoded.call_method1("decode", ("ascii",))?.extract()?;
    let [width, height] = on_screen(shape[0], shape[1]);
    let mut caption = pixels.scale;
    let [down, across] = [shape[0], shape[1]].map(|len| Sampling::of(len).step);
    if down.max(across) > 1 {
        let _ = write!(caption, "; every {down} × {across} elements are one pixel");
    }
    Ok(format!(
        "<figure style=\"margin:0\"><img src=\"data:image/png;base64,{}\" width=\"{width}\" height=\"{height}\" \
         alt=\"the values of shape {}\" style=\"image-rendering:pixelated\">\
         <figcaption><small>{}</small></figcaption></figure>",
        encoded.trim_end(),
        text::shape(shape),
        escaped(&caption)
    ))
}

/// Width and height on the screen: those of the array, scaled to fit.
fn on_screen(height: usize, width: usize) -> [usize; 2] {
    let longest = height.max(width);
    let magnified = (SIDE / longest).min(MAGNIFIED);
    [width, height].map(|len| match magnified {
        // Through 128 bits, which hold the product of any lengths.
        0 => usize::try_from(len as u128 * SIDE as u128 / longest as u128).unwrap_or(SIDE).max(THINNEST),
        times => (len * times).max(THINNEST),
    })
}

/// The bytes of an image, as they are.
fn image(array: &DArray, height: usize, width: usize, channels: usize) -> Option<Pixels> {
    let (down, across) = (Sampling::of(height), Sampling::of(width));
    let mut samples = Vec::with_capacity(down.count * across.count * channels);
    let mut index = vec![0; array.rank()];
    for row in 0..down.count {
        for column in 0..across.count {
            (index[0], index[1]) = (row * down.step, column * across.step);
            for channel in 0..channels {
                if let Some(last) = index.get_mut(2) {
                    *last = channel;
                }
                samples.push(array.get_as::<u8>(&index).ok()?);
            }
        }
    }
    let scale = if channels == 1 { "0 is black, 255 is white" } else { "red, green, blue" };
    let scale = if channels == 4 { "red, green, blue, opacity" } else { scale };
    Some(Pixels { samples, shape: [down.count, across.count, channels], scale: scale.to_owned() })
}

/// Numbers from the least (black) to the greatest (white). NaN is transparent, and infinities are
/// black or white.
fn matrix(array: &DArray, height: usize, width: usize) -> Option<Pixels> {
    let (down, across) = (Sampling::of(height), Sampling::of(width));
    let mut numbers = Vec::with_capacity(down.count * across.count);
    for row in 0..down.count {
        for column in 0..across.count {
            numbers.push(number(&array.get(&[row * down.step, column * across.step]).ok()?)?);
        }
    }
    let finite = || numbers.iter().copied().filter(|number| number.is_finite());
    let least = finite().reduce(f64::min);
    let greatest = finite().reduce(f64::max);
    let has_nan = numbers.iter().any(|number| number.is_nan());
    let (low, high) = (least.unwrap_or(0.0), greatest.unwrap_or(0.0));
    let mut samples = Vec::with_capacity(numbers.len() * 2);
    for number in &numbers {
        samples.push(brightness(*number, low, high));
        if has_nan {
            samples.push(if number.is_nan() { 0 } else { u8::MAX });
        }
    }
    let mut scale = match (least, greatest) {
        (Some(least), Some(greatest)) if least == greatest => format!("all values are {}", short(least)),
        (Some(least), Some(greatest)) => {
            format!("{} is black, {} is white", short(least), short(greatest))
        }
        _ => "no value is finite".to_owned(),
    };
    if has_nan {
        scale += "; NaN is transparent";
    }
    Some(Pixels { samples, shape: [down.count, across.count, 1 + usize::from(has_nan)], scale })
}

/// A number of any real dtype.
fn number(value: &Value) -> Option<f64> {
    match *value {
        Value::Bool(truth) => Some(f64::from(u8::from(truth))),
        Value::Int(number) => Some(number as f64),
        Value::UInt(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

/// A number with five significant digits.
fn short(number: f64) -> String {
    let number = format!("{number:.4e}");
    let exact: f64 = number.parse().unwrap_or(f64::NAN);
    if exact == 0.0 || (1e-4..1e9).contains(&exact.abs()) { exact.to_string() } else { number }
}

fn brightness(number: f64, low: f64, high: f64) -> u8 {
    if number == f64::INFINITY {
        return u8::MAX;
    }
    if low == high {
        // NaN and negative infinity become 0.
        return if number.is_finite() { 128 } else { 0 };
    }
    // Halved, since the range of doubles may exceed the greatest double. Casts of floats saturate,
    // and NaN becomes 0.
    ((number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) * 255.0).round() as u8
}
