//! Layouts divided into numbered parts of equal rank, for iteration over rows, axes and chunks, in
//! either direction and by several threads.

use crate::error::{Error, Kind, Result};
use crate::layout::rules;
use crate::layout::{FixedLayout, MAX_RANK};

/// The parts of a layout, each a layout of rank `E` and the distance from the layout's element 0 to
/// the part's. Every index of the layout belongs to at most one part. Sealed.
pub trait Parts<const E: usize>: sealed::Sealed + Clone + Send + Sync {
    /// The number of parts.
    fn count(&self) -> usize;

    /// Part number `k`, which must be less than [`count`](Self::count); for other numbers the
    /// result is meaningless, or a panic.
    fn part(&self, k: usize) -> (FixedLayout<E>, isize);
}

mod sealed {
    pub trait Sealed {}
    impl<const D: usize> Sealed for super::Lanes<D> {}
    impl<const E: usize> Sealed for super::AxisParts<E> {}
    impl<const D: usize> Sealed for super::AxisChunks<D> {}
}

/// The lanes along one axis, in row-major order of their indices on the others: see
/// [`FixedLayout::lanes`].
#[derive(Clone, Debug)]
pub struct Lanes<const D: usize> {
    lane: FixedLayout<1>,
    count: usize,
    /// The other axes, innermost first, with mergeable axes merged.
    outer: [(usize, isize); D],
    rank: usize,
}

impl<const D: usize> Parts<1> for Lanes<D> {
    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn part(&self, k: usize) -> (FixedLayout<1>, isize) {
        let Some((&(_, outermost), inner)) = self.outer[..self.rank].split_last() else {
            return (self.lane, 0);
        };
        let (mut rest, mut offset) = (k, 0);
        for &(len, stride) in inner {
            offset += (rest % len) as isize * stride;
            rest /= len;
        }
        (self.lane, offset + rest as isize * outermost)
    }
}

/// The indices of one axis in order: see [`FixedLayout::axis_parts`].
#[derive(Clone, Debug)]
pub struct AxisParts<const E: usize> {
    part: FixedLayout<E>,
    count: usize,
    stride: isize,
}

impl<const E: usize> Parts<E> for AxisParts<E> {
    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn part(&self, k: usize) -> (FixedLayout<E>, isize) {
        (self.part, k as isize * self.stride)
    }
}

/// Ranges of one axis in order: see [`FixedLayout::axis_chunks`].
#[derive(Clone, Debug)]
pub struct AxisChunks<const D: usize> {
    layout: FixedLayout<D>,
    axis: usize,
    chunk: usize,
    stride: isize,
}

impl<const D: usize> Parts<D> for AxisChunks<D> {
    #[inline]
    fn count(&self) -> usize {
        self.layout.shape()[self.axis].div_ceil(self.chunk)
    }

    #[inline]
    fn part(&self, k: usize) -> (FixedLayout<D>, isize) {
        let start = k * self.chunk;
        let mut shape = *self.layout.shape();
        shape[self.axis] = self.chunk.min(shape[self.axis] - start);
        (FixedLayout::trusted(shape, *self.layout.strides()), start as isize * self.stride)
    }
}

impl<const D: usize> FixedLayout<D> {
    /// The lanes along one axis, in row-major order of their indices on the others. A part is
    /// computed in O(`D`), and in O(1) if the other axes merge into one.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist.
    pub(crate) fn lanes(&self, axis: usize) -> Result<Lanes<D>> {
        rules::check_axis(axis, D)?;
        Ok(self.lanes_along(axis))
    }

    /// The [`lanes`](Self::lanes) along the last axis. Rank 0 does not compile.
    #[inline]
    pub(crate) fn rows(&self) -> Lanes<D> {
        const { assert!(D > 0, "an array of rank 0 has no rows") };
        self.lanes_along(D - 1)
    }

    fn lanes_along(&self, axis: usize) -> Lanes<D> {
        let lane = FixedLayout::trusted([self.shape()[axis]], [self.strides()[axis]]);
        let (mut outer, mut rank, mut count) = ([(1, 0); D], 0, 1);
        for k in (0..D).rev().filter(|&k| k != axis) {
            let (len, stride) = (self.shape()[k], self.strides()[k]);
            count *= len;
            match outer[..rank].last_mut() {
                _ if len == 1 => {}
                Some((inner, step)) if rules::chains(stride, *inner, *step) => *inner *= len,
                _ => {
                    outer[rank] = (len, stride);
                    rank += 1;
                }
            }
        }
        // Empty lanes all begin at element 0, because the array may have no byte at another offset.
        Lanes { lane, count, outer, rank: if lane.is_empty() { 0 } else { rank } }
    }

    /// The parts at each index of an axis, without that axis. An `OUT` other than `D - 1` does not
    /// compile. A part is computed in O(`D`).
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist.
    pub(crate) fn axis_parts<const OUT: usize>(&self, axis: usize) -> Result<AxisParts<OUT>> {
        const { assert!(OUT + 1 == D && D <= MAX_RANK, "an index of an axis leaves one axis less") };
        rules::check_axis(axis, D)?;
        let source = |k: usize| k + usize::from(k >= axis);
        let part = FixedLayout::trusted(
            std::array::from_fn(|k| self.shape()[source(k)]),
            std::array::from_fn(|k| self.strides()[source(k)]),
        );
        let stride = if part.is_empty() { 0 } else { self.strides()[axis] };
        Ok(AxisParts { part, count: self.shape()[axis], stride })
    }

    /// Ranges of `chunk` indices of an axis each; the last may be shorter. A part is computed in
    /// O(`D`).
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if the axis does not exist, [`is_shape`](Error::is_shape)
    /// for chunks of 0.
    pub(crate) fn axis_chunks(&self, axis: usize, chunk: usize) -> Result<AxisChunks<D>> {
        rules::check_axis(axis, D)?;
        check_chunk(chunk, axis)?;
        let stride = if self.is_empty() { 0 } else { self.strides()[axis] };
        Ok(AxisChunks { layout: *self, axis, chunk, stride })
    }
}

/// Checks that chunks have at least one index.
pub(crate) fn check_chunk(chunk: usize, axis: usize) -> Result<()> {
    if chunk == 0 {
        return Err(Error::new(
            Kind::Shape,
            format!("chunks of axis {axis} have a length of 0; take 1 or more"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    #[test]
    fn lanes_step_over_axes_that_do_not_lie_as_one() {
        let layout = FixedLayout::new([2, 3, 4, 5], [600, 100, 24, 4], 4).unwrap();
        let rows = layout.lanes(3).unwrap();
        assert_eq!((rows.count(), rows.rank), (24, 3));
        let by_index: Vec<isize> = (0..24).map(|k| rows.part(k).1).collect();
        let expected: Vec<isize> = (0..2)
            .flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| a * 600 + b * 100 + c * 24)))
            .collect();
        assert_eq!(by_index, expected);
        let dense = FixedLayout::contiguous([2, 3, 4, 5], 4, Order::RowMajor).unwrap();
        assert_eq!(dense.lanes(3).unwrap().rank, 1);
    }

    #[test]
    fn parts_without_elements_stay_where_the_array_is() {
        let flat = FixedLayout::contiguous([3, 0], 8, Order::RowMajor).unwrap();
        let rows = flat.lanes(1).unwrap();
        assert_eq!((rows.count(), rows.part(2).1), (3, 0));
        let parts = flat.axis_parts::<1>(0).unwrap();
        assert_eq!((parts.count(), parts.part(2).1), (3, 0));
        let chunks = flat.axis_chunks(0, 2).unwrap();
        assert_eq!((chunks.count(), chunks.part(1).0.shape(), chunks.part(1).1), (2, &[1, 0], 0));
        assert_eq!(flat.lanes(0).unwrap().count(), 0);
        assert!(flat.axis_chunks(1, 0).unwrap_err().is_shape());
        assert!(flat.axis_chunks(2, 1).unwrap_err().is_bounds());
    }
}
