//! Iteration over the offsets of an array's elements in row-major order of their indices.

use std::iter::FusedIterator;

use crate::layout::{FEW_AXES, rules};

#[derive(Clone, Copy, Debug, Default)]
struct AxisPosition {
    len: usize,
    stride: isize,
    index: usize,
}

/// The offsets of runs, which have `len` elements each, `stride` bytes apart.
///
/// Mergeable neighbouring axes are merged first, so a contiguous array is one run. Allocates only
/// if more than `N` axes remain: never for layouts of static rank, which is their `N`.
#[derive(Clone, Debug)]
pub(crate) struct Runs<const N: usize = FEW_AXES> {
    /// The axes outside the run, innermost first: in `few` or, if there are more, all in `many`.
    few: [AxisPosition; N],
    many: Vec<AxisPosition>,
    outer: usize,
    next: isize,
    left: usize,
    run_len: usize,
    run_stride: isize,
}

impl<const N: usize> Runs<N> {
    #[inline]
    pub(super) fn new(shape: &[usize], strides: &[isize]) -> Self {
        let mut runs = Self {
            few: [AxisPosition::default(); N],
            many: Vec::new(),
            outer: 0,
            next: 0,
            left: 1,
            run_len: 1,
            run_stride: 0,
        };
        if shape.contains(&0) {
            (runs.left, runs.run_len) = (0, 0);
            return runs;
        }
        let mut inner: Option<AxisPosition> = None;
        for (&len, &stride) in shape.iter().zip(strides).rev().filter(|&(&len, _)| len != 1) {
            match &mut inner {
                Some(axis) if rules::chains(stride, axis.len, axis.stride) => axis.len *= len,
                axis => {
                    if let Some(axis) = axis.replace(AxisPosition { len, stride, index: 0 }) {
                        runs.push(axis);
                    }
                }
            }
        }
        if let Some(axis) = inner {
            runs.push(axis);
        }
        runs
    }

    /// The first axis becomes the run, the others surround it.
    #[inline]
    fn push(&mut self, axis: AxisPosition) {
        if self.run_len == 1 {
            (self.run_len, self.run_stride) = (axis.len, axis.stride);
            return;
        }
        self.left *= axis.len;
        if self.outer < N {
            self.few[self.outer] = axis;
        } else {
            if self.outer == N {
                self.many.extend(self.few);
            }
            self.many.push(axis);
        }
        self.outer += 1;
    }

    /// The number of elements of each run.
    #[inline]
    pub(crate) fn run_len(&self) -> usize {
        self.run_len
    }

    /// The distance between elements of a run, in bytes.
    #[inline]
    pub(crate) fn run_stride(&self) -> isize {
        self.run_stride
    }

    #[inline]
    fn advance(&mut self) {
        let axes = if self.many.is_empty() { &mut self.few[..self.outer] } else { &mut self.many[..] };
        for axis in axes {
            axis.index += 1;
            if axis.index < axis.len {
                self.next += axis.stride;
                return;
            }
            axis.index = 0;
            self.next -= axis.stride * (axis.len - 1) as isize;
        }
    }
}

impl<const N: usize> Iterator for Runs<N> {
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        if self.left == 0 {
            return None;
        }
        let offset = self.next;
        self.left -= 1;
        if self.left != 0 {
            self.advance();
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<const N: usize> ExactSizeIterator for Runs<N> {}
impl<const N: usize> FusedIterator for Runs<N> {}

/// The offsets of all elements, in bytes from element 0. `for_each` and similar methods run as
/// plain nested loops.
#[derive(Clone, Debug)]
pub struct Offsets<const N: usize = FEW_AXES> {
    runs: Runs<N>,
    next: isize,
    left: usize,
}

impl<const N: usize> Offsets<N> {
    #[inline]
    pub(super) fn new(runs: Runs<N>) -> Self {
        Self { runs, next: 0, left: 0 }
    }

    /// The distance between elements of a run.
    #[inline]
    pub(crate) fn run_stride(&self) -> isize {
        self.runs.run_stride
    }

    /// Calls `f` with the offset of the first element and the number of elements of each remaining
    /// run.
    #[inline]
    pub(crate) fn fold_runs<B>(self, init: B, mut f: impl FnMut(B, isize, usize) -> B) -> B {
        let result = if self.left == 0 { init } else { f(init, self.next, self.left) };
        let len = self.runs.run_len;
        self.runs.fold(result, |result, offset| f(result, offset, len))
    }
}

impl<const N: usize> Iterator for Offsets<N> {
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        if self.left == 0 {
            self.next = self.runs.next()?;
            self.left = self.runs.run_len;
        }
        let offset = self.next;
        self.left -= 1;
        // After the last element of a run this may wrap; the next run overwrites it.
        self.next = offset.wrapping_add(self.runs.run_stride);
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left + self.runs.left * self.runs.run_len;
        (left, Some(left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, isize) -> B>(self, init: B, mut f: F) -> B {
        let stride = self.runs.run_stride;
        self.fold_runs(init, |mut result, mut offset, len| {
            for _ in 0..len {
                result = f(result, offset);
                offset = offset.wrapping_add(stride);
            }
            result
        })
    }
}

impl<const N: usize> ExactSizeIterator for Offsets<N> {}
impl<const N: usize> FusedIterator for Offsets<N> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(shape: &[usize], strides: &[isize]) -> Vec<isize> {
        let all = Offsets::<FEW_AXES>::new(Runs::new(shape, strides));
        let by_next: Vec<isize> = {
            let mut all = all.clone();
            std::iter::from_fn(|| all.next()).collect()
        };
        assert_eq!(all.len(), by_next.len());
        let mut half = all.clone();
        half.by_ref().take(by_next.len() / 2).for_each(drop);
        assert_eq!(half.len() + by_next.len() / 2, by_next.len());
        let mut rest = Vec::new();
        half.for_each(|offset| rest.push(offset));
        assert_eq!(rest, by_next[by_next.len() / 2..]);
        by_next
    }

    #[test]
    fn elements_come_in_row_major_order() {
        assert_eq!(offsets(&[], &[]), [0]);
        assert_eq!(offsets(&[1, 1], &[5, 7]), [0]);
        assert!(offsets(&[2, 0], &[5, 7]).is_empty());
        assert_eq!(offsets(&[2, 3], &[1, 10]), [0, 10, 20, 1, 11, 21]);
        assert_eq!(offsets(&[2, 1, 2], &[-8, 99, 3]), [0, 3, -8, -5]);
        assert_eq!(offsets(&[3], &[0]), [0, 0, 0]);
    }

    #[test]
    fn axes_that_lie_as_one_are_one_run() {
        assert_eq!(Runs::<FEW_AXES>::new(&[2, 3, 4], &[12, 4, 1]).run_len(), 24);
        assert_eq!(Runs::<FEW_AXES>::new(&[2, 3, 4], &[24, 8, 1]).run_len(), 4);
        assert_eq!(Runs::<FEW_AXES>::new(&[2, 3, 4], &[24, 8, 1]).len(), 6);
        assert_eq!(Runs::<FEW_AXES>::new(&[2, 2], &[isize::MAX - 2, 1]).last(), Some(isize::MAX - 2));
    }

    #[test]
    fn more_axes_than_fit_inline_are_walked_too() {
        let strides: Vec<isize> = (0..11).collect::<Vec<_>>().iter().map(|k| 3isize.pow(*k)).collect();
        let all = offsets(&[2; 11], &strides);
        assert_eq!(all.len(), 2048);
        assert_eq!(all.last(), Some(&strides.iter().sum()));
    }
}
