//! Other shapes for the same elements, as views: broadcasting and reshaping. Both write the new
//! strides or return an error.

use crate::error::{Advice, Error, Kind, Result};
use crate::layout::MAX_RANK;
use crate::layout::rules::{self, Order};

/// Repeats axes of length 1 and missing leading axes with stride 0. `strides` has the length of
/// `shape`.
pub(super) fn broadcast(
    from_shape: &[usize],
    from_strides: &[isize],
    shape: &[usize],
    itemsize: usize,
    strides: &mut [isize],
) -> Result<()> {
    rules::check_shape(shape, itemsize)?;
    let added = shape.len().wrapping_sub(from_shape.len());
    let fits = from_shape.len() <= shape.len()
        && from_shape.iter().zip(&shape[added..]).all(|(&from, &to)| from == to || from == 1);
    if !fits {
        return Err(Error::new(
            Kind::Shape,
            format!(
                "shape {from_shape:?} does not broadcast to {shape:?}; only axes of length 1 can be \
                repeated"
            ),
        ));
    }
    strides[..added].fill(0);
    for (axis, stride) in strides[added..].iter_mut().enumerate() {
        *stride = if from_shape[axis] == shape[added + axis] { from_strides[axis] } else { 0 };
    }
    Ok(())
}

/// Writes the strides with which the elements, in `order`, have another shape. `strides` has the
/// length of `shape`.
///
/// Mergeable neighbouring axes are merged into the longest possible chains; the new axes must then
/// divide each chain exactly. This is sufficient and necessary: the distance between elements
/// changes at a border between two chains, and a new axis has only one distance.
pub(super) fn reshape(
    from_shape: &[usize],
    from_strides: &[isize],
    shape: &[usize],
    itemsize: usize,
    order: Order,
    strides: &mut [isize],
) -> Result<()> {
    if from_shape == shape {
        strides.copy_from_slice(from_strides);
        return Ok(());
    }
    rules::check_shape(shape, itemsize)?;
    if rules::len(from_shape) != rules::len(shape) {
        return Err(Error::new(
            Kind::Shape,
            format!(
                "shape {from_shape:?} has {} elements, so it cannot be reshaped to {shape:?}, which has {}",
                rules::len(from_shape),
                rules::len(shape)
            ),
        ));
    }
    // Correct for an empty array and for axes of length 1; the others are set below.
    rules::contiguous_strides(shape, itemsize, order, strides);
    if shape.contains(&0) {
        return Ok(());
    }
    let mut chains = [(0usize, 0isize); MAX_RANK];
    let mut count = 0;
    for k in 0..from_shape.len() {
        let axis = order.nth_inner(k, from_shape.len());
        let (len, stride) = (from_shape[axis], from_strides[axis]);
        match chains[..count].last_mut() {
            _ if len == 1 => {}
            Some(chain) if rules::chains(stride, chain.0, chain.1) => chain.0 *= len,
            _ => {
                chains[count] = (len, stride);
                count += 1;
            }
        }
    }
    let mut chains = chains[..count].iter();
    let (mut left, mut stride) = (1, 0isize);
    for k in 0..shape.len() {
        let axis = order.nth_inner(k, shape.len());
        let len = shape[axis];
        if len == 1 {
            continue;
        }
        if left == 1 {
            // Both shapes have the same number of elements, so while an axis is left, another chain
            // exists.
            (left, stride) = chains.next().copied().unwrap_or((1, 0));
        }
        if left % len != 0 {
            return Err(Error::new(
                Kind::Layout,
                format!(
                    "shape {from_shape:?} with strides {from_strides:?} cannot be reshaped to {shape:?} in \
                    {order} order without a copy"
                ),
            )
            .advising(Advice::Copy));
        }
        strides[axis] = stride;
        left /= len;
        // It can wrap only after the last axis of a chain, when it is no longer used.
        stride = stride.wrapping_mul(len as isize);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(shape: &[usize], strides: &[isize], to: &[usize], order: Order) -> Result<Vec<isize>> {
        let mut new = vec![0; to.len()];
        reshape(shape, strides, to, 1, order, &mut new).map(|()| new)
    }

    #[test]
    fn axes_split_and_merge_where_they_lie_as_one() {
        let rows = Order::RowMajor;
        assert_eq!(view(&[4, 6], &[6, 1], &[2, 12], rows).unwrap(), [12, 1]);
        assert_eq!(view(&[4, 6], &[10, 1], &[2, 2, 3, 2], rows).unwrap(), [20, 10, 2, 1]);
        assert!(view(&[4, 6], &[10, 1], &[24], rows).unwrap_err().is_layout());
        assert!(view(&[4, 6], &[10, 1], &[3, 8], rows).unwrap_err().is_layout());
        assert_eq!(view(&[4, 6], &[1, 4], &[24], Order::ColumnMajor).unwrap(), [1]);
        assert_eq!(view(&[2, 3], &[0, 0], &[6], rows).unwrap(), [0]);
        assert_eq!(view(&[3, 2], &[-2, -1], &[6], rows).unwrap(), [-1]);
    }

    #[test]
    fn single_axes_come_and_go() {
        let rows = Order::RowMajor;
        assert_eq!(view(&[], &[], &[1, 1], rows).unwrap(), [1, 1]);
        assert!(view(&[1, 1], &[7, 9], &[], rows).unwrap().is_empty());
        assert_eq!(view(&[2, 1, 3], &[30, 99, 10], &[1, 6, 1], rows).unwrap(), [6, 10, 1]);
    }

    #[test]
    fn empty_arrays_take_any_empty_shape() {
        assert_eq!(view(&[0, 3], &[77, 5], &[2, 0, 2], Order::RowMajor).unwrap(), [2, 2, 1]);
        assert!(view(&[0], &[1], &[1], Order::RowMajor).unwrap_err().is_shape());
    }

    #[test]
    fn broadcasting_repeats_single_axes_only() {
        let mut strides = [9; 3];
        broadcast(&[1, 3], &[40, 8], &[2, 5, 3], 8, &mut strides).unwrap();
        assert_eq!(strides, [0, 0, 8]);
        let refused = broadcast(&[2, 3], &[24, 8], &[5, 2, 4], 8, &mut strides).unwrap_err();
        assert!(refused.is_shape() && refused.to_string().contains("[5, 2, 4]"), "{refused}");
        assert!(broadcast(&[2, 3], &[24, 8], &[3], 8, &mut strides[..1]).unwrap_err().is_shape());
        assert!(
            broadcast(&[], &[], &[isize::MAX as usize, 4, 1], 8, &mut strides).unwrap_err().is_overflow()
        );
    }
}
