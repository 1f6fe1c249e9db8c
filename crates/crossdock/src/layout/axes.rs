//! Operations that move, cut, join or remove a few axes and keep the others.

use std::ops::{Bound, RangeBounds};

use crate::error::{Error, Kind, Result};
use crate::layout::cut::Cut;
use crate::layout::rules;
use crate::layout::slice::Picked;
use crate::layout::{FixedLayout, Layout, MAX_RANK};

impl<const D: usize> FixedLayout<D> {
    /// Swaps two axes.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist.
    pub(crate) fn swap_axes(&self, a: usize, b: usize) -> Result<Self> {
        let mut axes = std::array::from_fn(|axis| axis);
        swap(&mut axes, a, b)?;
        self.permute(axes)
    }

    /// Axis `from` becomes axis `to` of the result; the others stay in their order.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist.
    pub(crate) fn move_axis(&self, from: usize, to: usize) -> Result<Self> {
        let mut axes = std::array::from_fn(|axis| axis);
        shift(&mut axes, from, to)?;
        self.permute(axes)
    }

    /// Some indices of one axis, and the distance to the new element 0. (With an axis known to the
    /// compiler, [`slice`](Self::slice) is shorter.)
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, or the range leaves it.
    pub(crate) fn slice_axis(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<(Self, isize)> {
        rules::check_axis(axis, D)?;
        let picked = pick(range, axis, self.shape()[axis])?;
        let mut shape = *self.shape();
        shape[axis] = picked.len;
        let part = Self::trusted(shape, *self.strides());
        let offset = if part.is_empty() { 0 } else { picked.first * self.strides()[axis] };
        Ok((part, offset))
    }

    /// The indices of an axis before `index`, those from it on, and the distance to the element 0
    /// of the latter.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, or its length is less than
    /// `index`.
    pub(crate) fn split_at(&self, axis: usize, index: usize) -> Result<(Self, Self, isize)> {
        check_split(self.shape(), axis, index)?;
        let (before, _) = self.slice_axis(axis, ..index)?;
        let (behind, offset) = self.slice_axis(axis, index..)?;
        Ok((before, behind, offset))
    }

    /// The elements whose indices of two axes are equal, or differ by `offset` (that of the second
    /// axis is greater by it). The two axes are removed, and an axis along the diagonal is appended
    /// (as in NumPy). Also returns the distance to the new element 0. A diagonal outside the array
    /// has no elements. An `OUT` other than `D - 1` does not compile.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, [`is_shape`](Error::is_shape) if
    /// both are the same.
    pub(crate) fn diagonal<const OUT: usize>(
        &self,
        first: usize,
        second: usize,
        offset: isize,
    ) -> Result<(FixedLayout<OUT>, isize)> {
        const { assert!(OUT + 1 == D, "a diagonal makes one axis of two") };
        let (mut shape, mut strides) = ([0; OUT], [0; OUT]);
        let start =
            diagonal((self.shape(), self.strides()), (first, second), offset, (&mut shape, &mut strides))?;
        Ok((FixedLayout::trusted(shape, strides), start))
    }

    /// Removes the axes of length 1, of which there must be exactly `D - OUT`.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) if there are more or fewer.
    pub(crate) fn squeeze<const OUT: usize>(&self) -> Result<FixedLayout<OUT>> {
        const { assert!(OUT <= D, "squeezing adds no axes") };
        let left = self.shape().iter().filter(|&&len| len != 1).count();
        if left != OUT {
            return Err(Error::new(
                Kind::Shape,
                format!(
                    "shape {:?} has {left} axes whose length is not 1, so it cannot be squeezed to {OUT} \
                    axes",
                    self.shape()
                ),
            ));
        }
        let (mut shape, mut strides) = ([0; OUT], [0; OUT]);
        let kept = self.shape().iter().zip(self.strides()).filter(|&(&len, _)| len != 1);
        for (axis, (&len, &stride)) in kept.enumerate() {
            (shape[axis], strides[axis]) = (len, stride);
        }
        Ok(FixedLayout::trusted(shape, strides))
    }
}

impl Layout {
    /// Swaps two axes.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist; [`is_layout`](Error::is_layout)
    /// as for [`permute`](Self::permute).
    pub(crate) fn swap_axes(&self, a: usize, b: usize) -> Result<Self> {
        let mut axes: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        let axes = &mut axes[..self.rank()];
        swap(axes, a, b)?;
        self.permute(axes)
    }

    /// Axis `from` becomes axis `to` of the result; the others stay in their order.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist; [`is_layout`](Error::is_layout)
    /// as for [`permute`](Self::permute).
    pub(crate) fn move_axis(&self, from: usize, to: usize) -> Result<Self> {
        let mut axes: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        let axes = &mut axes[..self.rank()];
        shift(axes, from, to)?;
        self.permute(axes)
    }

    /// Some indices of one axis, and the distance to the new element 0.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, or the range leaves it.
    pub(crate) fn slice_axis(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<(Self, isize)> {
        rules::check_axis(axis, self.rank())?;
        let picked = pick(range, axis, self.shape()[axis])?;
        let mut result = self.blank_like(self.rank())?;
        let mut cut = Cut::new(self, &mut result);
        for k in 0..self.rank() {
            if k == axis { cut.range(picked, 1) } else { cut.whole() }
        }
        let offset = cut.finish();
        Ok((result, offset))
    }

    /// The indices of an axis before `index`, those from it on, and the distance to the element 0
    /// of the latter.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, or its length is less than
    /// `index`.
    pub(crate) fn split_at(&self, axis: usize, index: usize) -> Result<(Self, Self, isize)> {
        check_split(self.shape(), axis, index)?;
        let (before, _) = self.slice_axis(axis, ..index)?;
        let (behind, offset) = self.slice_axis(axis, index..)?;
        Ok((before, behind, offset))
    }

    /// The elements whose indices of two axes are equal, or differ by `offset` (that of the second
    /// axis is greater by it). The two axes are removed, and an axis along the diagonal is appended
    /// (as in NumPy). Also returns the distance to the new element 0. A diagonal outside the array
    /// has no elements.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, [`is_shape`](Error::is_shape) if
    /// both are the same; [`is_layout`](Error::is_layout) for an indirect array.
    pub(crate) fn diagonal(&self, first: usize, second: usize, offset: isize) -> Result<(Self, isize)> {
        check_pair(self.rank(), first, second)?;
        self.direct("diagonal")?;
        let mut result = self.blank_like(self.rank() - 1)?;
        let start = diagonal((self.shape(), self.strides()), (first, second), offset, result.dims_mut())?;
        Ok((result, start))
    }
}

fn swap(axes: &mut [usize], a: usize, b: usize) -> Result<()> {
    rules::check_axis(a, axes.len())?;
    rules::check_axis(b, axes.len())?;
    axes.swap(a, b);
    Ok(())
}

fn shift(axes: &mut [usize], from: usize, to: usize) -> Result<()> {
    rules::check_axis(from, axes.len())?;
    rules::check_axis(to, axes.len())?;
    if from < to {
        axes[from..=to].rotate_left(1);
    } else {
        axes[to..=from].rotate_right(1);
    }
    Ok(())
}

/// The indices of an axis in a range. A range whose end is before its start is empty, as for
/// slices.
fn pick(range: impl RangeBounds<usize>, axis: usize, len: usize) -> Result<Picked> {
    let start = match range.start_bound() {
        Bound::Unbounded => Some(0),
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
    };
    let end = match range.end_bound() {
        Bound::Unbounded => Some(len),
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
    };
    match start.zip(end) {
        Some((start, end)) if start <= len && end <= len => {
            Ok(Picked { first: start as isize, len: end.saturating_sub(start) })
        }
        _ => Err(Error::new(
            Kind::Bounds,
            format!(
                "range {:?} to {:?} is out of bounds for axis {axis} of length {len}",
                range.start_bound(),
                range.end_bound()
            ),
        )),
    }
}

fn check_split(shape: &[usize], axis: usize, index: usize) -> Result<()> {
    rules::check_axis(axis, shape.len())?;
    if index > shape[axis] {
        let text = format!("axis {axis} of length {} cannot be split at {index}", shape[axis]);
        return Err(Error::new(Kind::Bounds, text));
    }
    Ok(())
}

fn check_pair(rank: usize, first: usize, second: usize) -> Result<()> {
    rules::check_axis(first, rank)?;
    rules::check_axis(second, rank)?;
    if first == second {
        return Err(Error::new(
            Kind::Shape,
            format!("axis {first} is given twice; a diagonal needs two different axes"),
        ));
    }
    Ok(())
}

/// Writes shape and strides of the result, which has one axis less, and returns the distance to its
/// element 0.
///
/// The axis along the diagonal has the sum of the two strides. If it has at least two elements,
/// that sum is within the reach of the two axes (rule 3); otherwise the stride is free.
fn diagonal(
    (from_shape, from_strides): (&[usize], &[isize]),
    (first, second): (usize, usize),
    offset: isize,
    (shape, strides): (&mut [usize], &mut [isize]),
) -> Result<isize> {
    check_pair(from_shape.len(), first, second)?;
    let skipped = if offset < 0 { (offset.unsigned_abs(), 0) } else { (0, offset.unsigned_abs()) };
    let len = from_shape[first].saturating_sub(skipped.0).min(from_shape[second].saturating_sub(skipped.1));
    let others = (0..from_shape.len()).filter(|&axis| axis != first && axis != second);
    let mut count = 0;
    for axis in others {
        (shape[count], strides[count]) = (from_shape[axis], from_strides[axis]);
        count += 1;
    }
    let (down, along) = (from_strides[first], from_strides[second]);
    (shape[count], strides[count]) = (len, if len > 1 { down + along } else { 0 });
    if shape.contains(&0) {
        return Ok(0);
    }
    Ok(skipped.0 as isize * down + skipped.1 as isize * along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    #[test]
    fn ranges_of_an_axis_may_have_any_bounds_that_exist() {
        let picked = |range: (Bound<usize>, Bound<usize>)| pick(range, 0, 5).map(|p| (p.first, p.len));
        assert_eq!(picked((Bound::Unbounded, Bound::Unbounded)).unwrap(), (0, 5));
        assert_eq!(picked((Bound::Excluded(1), Bound::Included(3))).unwrap(), (2, 2));
        assert_eq!(picked((Bound::Included(5), Bound::Excluded(5))).unwrap(), (5, 0));
        assert_eq!(picked((Bound::Included(4), Bound::Excluded(2))).unwrap().1, 0);
        for (start, end) in [
            (Bound::Included(6), Bound::Unbounded),
            (Bound::Unbounded, Bound::Included(5)),
            (Bound::Unbounded, Bound::Included(usize::MAX)),
            (Bound::Excluded(usize::MAX), Bound::Unbounded),
        ] {
            assert!(picked((start, end)).unwrap_err().is_bounds(), "{start:?} {end:?}");
        }
    }

    #[test]
    fn an_axis_moves_and_the_others_close_the_gap() {
        let layout = Layout::contiguous(&[2, 3, 4, 5], 1, Order::RowMajor).unwrap();
        assert_eq!(layout.move_axis(0, 2).unwrap().shape(), [3, 4, 2, 5]);
        assert_eq!(layout.move_axis(3, 1).unwrap().shape(), [2, 5, 3, 4]);
        assert_eq!(layout.swap_axes(3, 1).unwrap().shape(), [2, 5, 4, 3]);
        assert!(layout.move_axis(4, 0).unwrap_err().is_bounds());
        assert!(layout.swap_axes(0, 4).unwrap_err().is_bounds());
    }

    #[test]
    fn a_diagonal_outside_of_the_array_is_empty() {
        let layout = FixedLayout::contiguous([3, 4], 1, Order::RowMajor).unwrap();
        let diagonal = |offset| layout.diagonal::<1>(0, 1, offset).unwrap();
        let shapes = [-3, -2, 0, 1, 3, 4, isize::MIN, isize::MAX].map(|k| diagonal(k).0.shape()[0]);
        assert_eq!(shapes, [0, 1, 3, 3, 1, 0, 0, 0]);
        assert_eq!((diagonal(1).1, diagonal(-2).1, diagonal(4).1), (1, 8, 0));
        assert_eq!(diagonal(1).0.strides(), &[5]);
        assert!(layout.diagonal::<1>(1, 1, 0).unwrap_err().is_shape());
    }
}
