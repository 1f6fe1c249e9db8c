//! Iteration over elements with their indices.

use std::iter::FusedIterator;
use std::ops::Range;

use crate::layout::index::unravel;
use crate::layout::{FixedLayout, Order};

/// The indices of all elements in row-major order, with their offsets from element 0 in bytes. A
/// step from the front is usually one addition; steps from the back, and over many elements, take
/// O(`D`) divisions.
#[derive(Clone, Debug)]
pub(crate) struct IndexedOffsets<const D: usize> {
    layout: FixedLayout<D>,
    /// The index of the next element from the front, and its offset.
    index: [usize; D],
    offset: isize,
    left: Range<usize>,
}

impl<const D: usize> FixedLayout<D> {
    /// The indices of all elements in row-major order, with their offsets from element 0 in bytes.
    #[inline]
    pub(crate) fn indexed_offsets(&self) -> IndexedOffsets<D> {
        IndexedOffsets { layout: *self, index: [0; D], offset: 0, left: 0..self.len() }
    }
}

impl<const D: usize> IndexedOffsets<D> {
    /// The element at `position`, counted from the front of all.
    fn nth_of_all(&self, position: usize) -> ([usize; D], isize) {
        let mut index = [0; D];
        unravel(position, self.layout.shape(), Order::RowMajor, &mut index);
        (index, self.layout.offset_at(index))
    }

    #[inline]
    fn advance(&mut self) {
        let axes = self.layout.shape().iter().zip(self.layout.strides());
        for (index, (&len, &stride)) in self.index.iter_mut().zip(axes).rev() {
            *index += 1;
            if *index < len {
                self.offset += stride;
                return;
            }
            *index = 0;
            // The stride of an axis of length 1 is free, and multiplied by 0.
            self.offset -= stride.wrapping_mul((len - 1) as isize);
        }
    }
}

impl<const D: usize> Iterator for IndexedOffsets<D> {
    type Item = ([usize; D], isize);

    #[inline]
    fn next(&mut self) -> Option<([usize; D], isize)> {
        self.left.next()?;
        let item = (self.index, self.offset);
        if !self.left.is_empty() {
            self.advance();
        }
        Some(item)
    }

    fn nth(&mut self, n: usize) -> Option<([usize; D], isize)> {
        let position = self.left.nth(n)?;
        let item = self.nth_of_all(position);
        (self.index, self.offset) = item;
        if !self.left.is_empty() {
            self.advance();
        }
        Some(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<const D: usize> DoubleEndedIterator for IndexedOffsets<D> {
    fn next_back(&mut self) -> Option<([usize; D], isize)> {
        let position = self.left.next_back()?;
        Some(self.nth_of_all(position))
    }
}

impl<const D: usize> ExactSizeIterator for IndexedOffsets<D> {}
impl<const D: usize> FusedIterator for IndexedOffsets<D> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_leaps_meet() {
        let layout = FixedLayout::new([2, 1, 3], [-7, isize::MIN, 2], 1).unwrap();
        let all: Vec<_> = layout.indexed_offsets().collect();
        assert_eq!(all.len(), 6);
        assert_eq!(all[4], ([1, 0, 1], -5));
        let mut back: Vec<_> = layout.indexed_offsets().rev().collect();
        back.reverse();
        assert_eq!(back, all);
        for n in 0..7 {
            let mut leap = layout.indexed_offsets();
            assert_eq!(leap.nth(n), all.get(n).copied());
            assert!(leap.eq(all.get(n + 1..).unwrap_or(&[]).iter().copied()));
        }
        let mut both = layout.indexed_offsets();
        assert_eq!((both.next(), both.next_back(), both.len()), (Some(all[0]), Some(all[5]), 4));
        assert!(both.eq(all[1..5].iter().copied()));
        assert_eq!(FixedLayout::new([], [], 1).unwrap().indexed_offsets().collect::<Vec<_>>(), [([], 0)]);
        assert_eq!(FixedLayout::new([2, 0], [1, 1], 1).unwrap().indexed_offsets().next(), None);
    }
}
