//! Strides of crates that count them in elements: one rule for both directions.

use crate::error::{Error, Kind, Result};
use crate::layout::FixedLayout;

/// A layout of theirs as ours, in bytes.
pub(super) fn layout_of<T, const D: usize>(shape: [usize; D], steps: [isize; D]) -> Result<FixedLayout<D>> {
    // Wherever a stride is ever multiplied by more than 0, the product is an extent of the crate's own memory.
    let strides = steps.map(|step| step.wrapping_mul(size_of::<T>() as isize));
    FixedLayout::new(shape, strides, size_of::<T>())
}

/// Our stride of an axis of more than one element, as that crate counts.
///
/// # Errors
///
/// `is_layout` where it is no whole number of elements.
pub(super) fn in_elements<T>(axis: usize, stride: isize, their_crate: &str) -> Result<isize> {
    let size = size_of::<T>() as isize;
    match stride.checked_rem(size) {
        Some(0) => Ok(stride / size),
        _ => Err(Error::new(
            Kind::Layout,
            format!(
                "the stride of {stride} bytes of axis {axis} is not a whole number of elements of {size} bytes, which \
                 `{their_crate}` counts in: copy the array"
            ),
        )),
    }
}
