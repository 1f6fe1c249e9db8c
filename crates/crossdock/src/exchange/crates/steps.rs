//! Conversion of strides for crates that count them in elements, in both directions.

use crate::error::{Advice, Error, Kind, Result};
use crate::layout::FixedLayout;

/// A layout of another crate, with strides in bytes.
pub(super) fn layout_of<T, const D: usize>(shape: [usize; D], steps: [isize; D]) -> Result<FixedLayout<D>> {
    // A product that is ever multiplied by more than 0 is an extent of the crate's own memory, so
    // it does not wrap.
    let strides = steps.map(|step| step.wrapping_mul(size_of::<T>() as isize));
    FixedLayout::new(shape, strides, size_of::<T>())
}

/// The stride, in elements, of an axis with more than one element.
///
/// # Errors
///
/// `is_layout` if the stride is not a multiple of the element size.
pub(super) fn in_elements<T>(axis: usize, stride: isize, their_crate: &str) -> Result<isize> {
    let size = size_of::<T>() as isize;
    match stride.checked_rem(size) {
        Some(0) => Ok(stride / size),
        _ => Err(Error::new(
            Kind::Layout,
            format!(
                "the stride of {stride} bytes of axis {axis} is not a whole number of elements of {size} bytes, which \
                 {their_crate} counts in"
            ),
        )
        .advising(Advice::Copy)),
    }
}
