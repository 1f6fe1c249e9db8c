//! The rules that both layout types share, as pure functions of shape, strides and itemsize.
//!
//! A layout with lengths `n`, strides `s` and itemsize `w` is valid if:
//!
//! 1. at most [`MAX_RANK`] axes;
//! 2. `max(w, 1)` times the product of the non-zero `n` is at most `isize::MAX`;
//! 3. `w` plus the sum of `(n - 1) * |s|` over the axes longer than 1 is at most `isize::MAX`.
//!
//! Rule 2 omits zero lengths, and rule 3 holds despite them. So both still hold for any subset of
//! the axes, any shorter lengths and any signs of the strides, and slicing, permuting, reversing
//! and dropping axes need no new check. The stride of an axis of length 0 or 1 is only multiplied
//! by 0, and may be any number.

use std::fmt;

use crate::error::{Error, Kind, Result};
use crate::layout::{MAX_RANK, in_order};

/// The order of the elements of a contiguous array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last index runs fastest: C, NumPy's `'C'`.
    RowMajor,
    /// The first index runs fastest: Fortran, NumPy's `'F'`.
    ColumnMajor,
}

impl fmt::Display for Order {
    /// `row-major`, `column-major`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RowMajor => "row-major",
            Self::ColumnMajor => "column-major",
        })
    }
}

impl Order {
    /// The axis that is the `k`-th from the innermost one.
    #[inline]
    pub(super) fn nth_inner(self, k: usize, rank: usize) -> usize {
        match self {
            Order::RowMajor => rank - 1 - k,
            Order::ColumnMajor => k,
        }
    }
}

#[inline]
pub(super) fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK { Err(too_many_axes(rank)) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn too_many_axes(rank: usize) -> Error {
    Error::new(Kind::Unsupported, format!("rank {rank} exceeds {MAX_RANK}, the most axes that are supported"))
}

pub(crate) fn check_axis(axis: usize, rank: usize) -> Result<()> {
    if axis >= rank {
        return Err(Error::new(
            Kind::Bounds,
            format!("axis {axis} is out of bounds for an array of rank {rank}"),
        ));
    }
    Ok(())
}

/// The number of elements; does not overflow if rule 2 holds.
#[inline]
pub(super) fn len(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Checks rules 1 and 2.
#[inline]
pub(super) fn check_shape(shape: &[usize], itemsize: usize) -> Result<()> {
    check_rank(shape.len())?;
    let mut nbytes = itemsize.max(1);
    for &len in shape.iter().filter(|&&len| len != 0) {
        nbytes = nbytes.saturating_mul(len);
    }
    if nbytes > isize::MAX as usize { Err(too_large(shape, itemsize)) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn too_large(shape: &[usize], itemsize: usize) -> Error {
    Error::new(
        Kind::Overflow,
        format!("shape {shape:?} of {itemsize}-byte elements takes more than {} bytes", isize::MAX),
    )
}

/// Checks rule 3 for these axes, and returns the number of bytes from the lowest to the highest.
#[inline]
pub(super) fn extent(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<usize> {
    let mut extent = Some(itemsize);
    for (&len, &stride) in shape.iter().zip(strides) {
        let reach = len.saturating_sub(1).checked_mul(stride.unsigned_abs());
        extent = extent.zip(reach).and_then(|(extent, reach)| extent.checked_add(reach));
    }
    match extent {
        Some(extent) if extent <= isize::MAX as usize => Ok(extent),
        _ => Err(too_long(shape, strides, itemsize)),
    }
}

#[cold]
#[inline(never)]
fn too_long(shape: &[usize], strides: &[isize], itemsize: usize) -> Error {
    Error::new(
        Kind::Overflow,
        format!(
            "shape {shape:?} with strides {strides:?} and {itemsize}-byte elements spans more than {} bytes",
            isize::MAX
        ),
    )
}

/// Checks all three rules.
#[inline]
pub(super) fn check(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<()> {
    if shape.len() != strides.len() {
        return Err(Error::new(
            Kind::Shape,
            format!("{} strides were given for the {} axes of shape {shape:?}", strides.len(), shape.len()),
        ));
    }
    check_shape(shape, itemsize)?;
    extent(shape, strides, itemsize).map(drop)
}

/// Writes the strides of a contiguous array without making a layout. `strides` has the length of
/// `shape`.
///
/// # Errors
///
/// As [`Layout::contiguous`](crate::layout::Layout::contiguous).
pub(crate) fn fill_contiguous(
    shape: &[usize],
    itemsize: usize,
    order: Order,
    strides: &mut [isize],
) -> Result<()> {
    check_shape(shape, itemsize)?;
    contiguous_strides(shape, itemsize, order, strides);
    Ok(())
}

/// The strides of a contiguous array. Axes of length 0 count as 1, as in NumPy, so no stride is 0
/// unnecessarily.
pub(super) fn contiguous_strides(shape: &[usize], itemsize: usize, order: Order, strides: &mut [isize]) {
    let mut stride = itemsize as isize;
    for k in 0..shape.len() {
        let axis = order.nth_inner(k, shape.len());
        strides[axis] = stride;
        // No overflow by rule 2, which `check_shape` checked.
        stride *= shape[axis].max(1) as isize;
    }
}

/// NumPy's relaxed rule: axes of length 1 do not matter, and an empty array is contiguous in both
/// orders.
#[inline]
pub(super) fn is_contiguous(shape: &[usize], strides: &[isize], itemsize: usize, order: Order) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = itemsize as isize;
    for k in 0..shape.len() {
        let axis = order.nth_inner(k, shape.len());
        if shape[axis] != 1 {
            if strides[axis] != expected {
                return false;
            }
            expected = expected.wrapping_mul(shape[axis] as isize);
        }
    }
    true
}

pub(super) fn order(shape: &[usize], strides: &[isize], itemsize: usize) -> Option<Order> {
    [Order::RowMajor, Order::ColumnMajor]
        .into_iter()
        .find(|&order| is_contiguous(shape, strides, itemsize, order))
}

/// Whether no two elements share a byte: sufficient, not necessary.
///
/// Sorted by magnitude, each stride must step over everything that the smaller ones reach. The
/// exact question is a search over all index differences, exponential in the rank; this rule misses
/// interleavings such as lengths (2, 2) with strides (2, 3) and 1-byte elements, which no slicing
/// of a contiguous array produces.
pub(super) fn is_injective(shape: &[usize], strides: &[isize], itemsize: usize) -> bool {
    if itemsize == 0 || shape.contains(&0) || in_order::steps_over_inner_axes(shape, strides, itemsize) {
        return true;
    }
    let mut axes = [(0, 0); MAX_RANK];
    let mut count = 0;
    for (&len, &stride) in shape.iter().zip(strides).filter(|&(&len, _)| len > 1) {
        axes[count] = (stride.unsigned_abs(), len);
        count += 1;
    }
    let axes = &mut axes[..count];
    sort_few(axes, |&axis| axis);
    let mut extent = itemsize;
    axes.iter().all(|&(stride, len)| {
        let clear = stride >= extent;
        extent = extent.saturating_add(stride.saturating_mul(len - 1));
        clear
    })
}

/// Sorts a few items, such as the axes of an array, by a key. Items of equal keys keep their order.
///
/// O(n²), so only for lists with a bound such as [`MAX_RANK`]. Up to 20 items, std sorts by
/// insertion, too; its code for longer lists is 10 KB for each type.
pub(crate) fn sort_few<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && key(&items[place]) < key(&items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// Whether every stride that can be multiplied by more than 0 is a multiple of `align`.
///
/// This includes empty arrays, because their rows have addresses too.
pub(super) fn is_aligned(shape: &[usize], strides: &[isize], align: usize) -> bool {
    shape
        .iter()
        .zip(strides)
        .all(|(&len, &stride)| len <= 1 || stride.unsigned_abs().is_multiple_of(align.max(1)))
}

/// Sets the stride of every axis of length 0 or 1, which is free, to that of a contiguous array.
pub(super) fn normalize(shape: &[usize], strides: &mut [isize], itemsize: usize) {
    let order = order(shape, strides, itemsize).unwrap_or(Order::RowMajor);
    let mut inner = itemsize as isize;
    for k in 0..shape.len() {
        let axis = order.nth_inner(k, shape.len());
        if shape[axis] <= 1 {
            strides[axis] = inner;
        } else {
            inner = strides[axis].saturating_abs().saturating_mul(shape[axis] as isize);
        }
    }
}

/// Checks that `axes` names each axis once.
pub(super) fn check_permutation(axes: &[usize], rank: usize) -> Result<()> {
    let mut seen = 0u64;
    for &axis in axes.iter().filter(|&&axis| axis < rank.min(MAX_RANK)) {
        seen |= 1 << axis;
    }
    if axes.len() != rank || seen.count_ones() as usize != rank {
        return Err(Error::new(
            Kind::Shape,
            format!(
                "axes {axes:?} are not a permutation of the {rank} axes of the array; name each axis once"
            ),
        ));
    }
    Ok(())
}

/// Whether the outer stride equals the extent of the inner axis, so that both merge into one axis.
#[inline]
pub(super) fn chains(outer_stride: isize, inner_len: usize, inner_stride: isize) -> bool {
    inner_stride.checked_mul(inner_len as isize) == Some(outer_stride)
}

#[cold]
#[inline(never)]
pub(super) fn index_error(index: &[usize], shape: &[usize]) -> Error {
    if index.len() != shape.len() {
        return Error::new(
            Kind::Shape,
            format!(
                "{} indices were given for an array of rank {}; give one per axis",
                index.len(),
                shape.len()
            ),
        );
    }
    let axis = index.iter().zip(shape).position(|(i, len)| i >= len).unwrap_or(0);
    Error::new(
        Kind::Bounds,
        format!("index {} is out of bounds for axis {axis} of length {}", index[axis], shape[axis]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contiguous_strides_of_empty_and_single_axes_are_the_ordinary_ones() {
        let mut strides = [0; 3];
        contiguous_strides(&[2, 0, 3], 8, Order::RowMajor, &mut strides);
        assert_eq!(strides, [24, 24, 8]);
        contiguous_strides(&[4, 1, 5], 2, Order::RowMajor, &mut strides);
        assert_eq!(strides, [10, 10, 2]);
        contiguous_strides(&[4, 1, 5], 2, Order::ColumnMajor, &mut strides);
        assert_eq!(strides, [2, 8, 8]);
    }

    #[test]
    fn contiguous_strides_are_filled_in_or_refused() {
        let mut strides = [0; 2];
        fill_contiguous(&[2, 3], 8, Order::RowMajor, &mut strides).unwrap();
        assert_eq!(strides, [24, 8]);
        let error = fill_contiguous(&[usize::MAX, 3], 8, Order::RowMajor, &mut strides).unwrap_err();
        assert!(error.is_overflow() && strides == [24, 8], "{error}");
    }

    #[test]
    fn the_stride_of_a_single_element_axis_does_not_count() {
        let single = isize::MIN;
        assert!(check(&[1, 3], &[single, 4], 4).is_ok());
        assert!(is_contiguous(&[1, 3], &[single, 4], 4, Order::RowMajor));
        assert!(is_injective(&[1, 3], &[single, 4], 4));
        assert!(is_aligned(&[1, 3], &[3, 4], 4));
        assert!(!is_aligned(&[2, 3], &[3, 4], 4));
    }

    #[test]
    fn extents_are_refused_from_the_first_byte_that_does_not_fit() {
        let max = isize::MAX;
        assert!(check(&[2], &[max - 1], 1).is_ok());
        assert!(check(&[2], &[max], 1).unwrap_err().is_overflow());
        assert!(check(&[2], &[-(max - 1)], 1).is_ok());
        assert!(check(&[2], &[isize::MIN], 0).unwrap_err().is_overflow());
        assert!(check(&[2, 2], &[max / 2, -(max / 2)], 1).is_ok());
        assert!(check(&[2, 2], &[max / 2, -(max / 2)], 2).unwrap_err().is_overflow());
        // An empty axis elsewhere does not relax the rule.
        assert!(check(&[0, 2], &[0, max], 1).unwrap_err().is_overflow());
        assert!(check(&[0, usize::MAX / 2, 4], &[0, 0, 0], 1).unwrap_err().is_overflow());
    }

    #[test]
    fn shapes_are_refused_from_the_first_byte_that_does_not_fit() {
        let max = isize::MAX as usize;
        assert!(check_shape(&[max], 1).is_ok() && check_shape(&[max], 0).is_ok());
        let error = check_shape(&[max / 2 + 1, 2], 1).unwrap_err();
        assert!(error.is_overflow() && error.to_string().contains(&format!("{}", max / 2 + 1)), "{error}");
        // Elements of size 0 are counted, too.
        assert!(check_shape(&[max / 2 + 1, 2], 0).unwrap_err().is_overflow());
    }

    #[test]
    fn refusals_name_the_axis_and_its_length() {
        assert!(check_axis(1, 2).is_ok());
        assert_eq!(
            check_axis(2, 2).unwrap_err().to_string(),
            "axis 2 is out of bounds for an array of rank 2"
        );
        assert!(index_error(&[1], &[2, 3]).is_shape());
        let said = |index: &[usize]| index_error(index, &[2, 3]).to_string();
        assert_eq!(said(&[2, 0]), "index 2 is out of bounds for axis 0 of length 2");
        assert_eq!(said(&[1, 4]), "index 4 is out of bounds for axis 1 of length 3");
        assert_eq!(
            [Order::RowMajor, Order::ColumnMajor].map(|order| order.to_string()),
            ["row-major", "column-major"]
        );
    }

    #[test]
    fn the_greatest_rank_is_64() {
        assert!(check(&[1; 64], &[0; 64], 1).is_ok());
        assert!(check(&[1; 65], &[0; 65], 1).unwrap_err().is_unsupported());
        assert!(check(&[1; 3], &[0; 2], 1).unwrap_err().is_shape());
    }

    #[test]
    fn sharing_bytes_is_found() {
        assert!(is_injective(&[2, 3], &[-12, 4], 4));
        assert!(!is_injective(&[2, 3], &[11, 4], 4));
        assert!(!is_injective(&[2], &[0], 4));
        assert!(is_injective(&[2], &[0], 0));
        assert!(is_injective(&[0, 2], &[0, 0], 4));
    }

    #[test]
    fn a_permutation_names_each_axis_once() {
        assert!(check_permutation(&[1, 0], 2).is_ok());
        for bad in [&[0, 0][..], &[0], &[0, 2], &[0, 1, 1], &[0, usize::MAX]] {
            assert!(check_permutation(bad, 2).unwrap_err().is_shape(), "{bad:?}");
        }
    }

    #[test]
    fn normal_strides_replace_only_the_open_ones() {
        let mut strides = [0, 40, 7];
        normalize(&[1, 2, 1], &mut strides, 8);
        assert_eq!(strides, [80, 40, 8]);
        let mut strides = [4, 0, 8];
        normalize(&[2, 1, 3], &mut strides, 4);
        assert_eq!(strides, [4, 8, 8]);
    }
}
