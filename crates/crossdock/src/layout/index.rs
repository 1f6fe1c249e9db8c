//! Index arithmetic: whether an index exists, its number in an order, the index of a number, and
//! iteration.

use std::iter::FusedIterator;

use crate::error::{Error, Kind, Result};
use crate::layout::rules::{self, Order};
use crate::layout::{FixedLayout, Layout};

/// The number of elements before an index, which must be inside the shape.
fn ravel(index: &[usize], shape: &[usize], order: Order) -> usize {
    let (mut number, mut inner) = (0, 1);
    for k in 0..shape.len() {
        let axis = order.nth_inner(k, shape.len());
        // No overflow: less than the number of elements.
        number += index[axis] * inner;
        inner *= shape[axis];
    }
    number
}

/// The index of element `number`, which must exist.
pub(super) fn unravel(number: usize, shape: &[usize], order: Order, index: &mut [usize]) {
    let mut left = number;
    for k in 0..shape.len() {
        let axis = order.nth_inner(k, shape.len());
        index[axis] = left % shape[axis];
        left /= shape[axis];
    }
}

fn check_number(number: usize, shape: &[usize]) -> Result<()> {
    let len = rules::len(shape);
    if number < len {
        return Ok(());
    }
    let text = format!("element {number} is out of bounds for shape {shape:?} of {len} elements");
    Err(Error::new(Kind::Bounds, text))
}

fn contains(index: &[usize], shape: &[usize]) -> bool {
    index.len() == shape.len() && index.iter().zip(shape).all(|(index, len)| index < len)
}

impl Order {
    /// Advances an index inside the shape to the next one, and from the last one to the first.
    #[inline]
    pub(crate) fn advance(self, index: &mut [usize], shape: &[usize]) {
        for k in 0..shape.len() {
            let axis = self.nth_inner(k, shape.len());
            index[axis] += 1;
            if index[axis] < shape[axis] {
                return;
            }
            index[axis] = 0;
        }
    }
}

impl<const D: usize> FixedLayout<D> {
    /// Whether an element exists at an index.
    #[inline]
    pub fn contains(&self, index: [usize; D]) -> bool {
        contains(&index, self.shape())
    }

    /// The number of an element, counted in this order from 0 (NumPy's `ravel_multi_index`). The
    /// strides do not matter.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds), naming index, axis and length, for an index outside on any
    /// axis.
    pub fn ravel_index(&self, index: [usize; D], order: Order) -> Result<usize> {
        if !self.contains(index) {
            return Err(rules::index_error(&index, self.shape()));
        }
        Ok(ravel(&index, self.shape(), order))
    }

    /// The index of the element that has a number in this order (NumPy's `unravel_index`). The
    /// strides do not matter.
    ///
    /// ```
    /// use crossdock::layout::{FixedLayout, Order};
    ///
    /// let layout = FixedLayout::contiguous([4, 5, 2], 8, Order::RowMajor)?;
    /// assert_eq!(layout.unravel_index(13, Order::RowMajor)?, [1, 1, 1]);
    /// assert_eq!(layout.unravel_index(13, Order::ColumnMajor)?, [1, 3, 0]);
    /// assert_eq!(layout.ravel_index([1, 3, 0], Order::ColumnMajor)?, 13);
    /// let refused = layout.unravel_index(40, Order::RowMajor).unwrap_err();
    /// assert_eq!(refused.to_string(), "element 40 is out of bounds for shape [4, 5, 2] of 40 elements");
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if there are fewer elements.
    pub fn unravel_index(&self, number: usize, order: Order) -> Result<[usize; D]> {
        check_number(number, self.shape())?;
        let mut index = [0; D];
        unravel(number, self.shape(), order, &mut index);
        Ok(index)
    }

    /// All indices in this order.
    ///
    /// ```
    /// use crossdock::layout::{FixedLayout, Order};
    ///
    /// let layout = FixedLayout::contiguous([2, 2], 1, Order::RowMajor)?;
    /// assert!(layout.indices(Order::ColumnMajor).eq([[0, 0], [1, 0], [0, 1], [1, 1]]));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn indices(&self, order: Order) -> Indices<D> {
        Indices { shape: *self.shape(), order, next: [0; D], left: self.len() }
    }
}

impl Layout {
    /// Whether an element exists at an index. False for an index of another rank.
    #[inline]
    pub fn contains(&self, index: &[usize]) -> bool {
        contains(index, self.shape())
    }

    /// The number of an element, counted in this order from 0 (NumPy's `ravel_multi_index`). The
    /// strides do not matter.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds), naming index, axis and length, for an index outside on any
    /// axis; [`is_shape`](Error::is_shape) if there is not one index per axis.
    pub fn ravel_index(&self, index: &[usize], order: Order) -> Result<usize> {
        if !self.contains(index) {
            return Err(rules::index_error(index, self.shape()));
        }
        Ok(ravel(index, self.shape(), order))
    }

    /// The index of the element that has a number in this order (NumPy's `unravel_index`). The
    /// strides do not matter.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds) if there are fewer elements.
    pub fn unravel_index(&self, number: usize, order: Order) -> Result<Vec<usize>> {
        check_number(number, self.shape())?;
        let mut index = vec![0; self.rank()];
        unravel(number, self.shape(), order, &mut index);
        Ok(index)
    }
}

/// The indices of an array one by one: see [`FixedLayout::indices`].
#[derive(Clone, Debug)]
pub struct Indices<const D: usize> {
    shape: [usize; D],
    order: Order,
    next: [usize; D],
    left: usize,
}

impl<const D: usize> Iterator for Indices<D> {
    type Item = [usize; D];

    #[inline]
    fn next(&mut self) -> Option<[usize; D]> {
        self.left = self.left.checked_sub(1)?;
        let index = self.next;
        self.order.advance(&mut self.next, &self.shape);
        Some(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<const D: usize> ExactSizeIterator for Indices<D> {}

impl<const D: usize> FusedIterator for Indices<D> {}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [Order; 2] = [Order::RowMajor, Order::ColumnMajor];

    fn layout<const D: usize>(shape: [usize; D]) -> FixedLayout<D> {
        FixedLayout::contiguous(shape, 1, Order::RowMajor).unwrap()
    }

    #[test]
    fn the_indices_come_in_order_and_their_numbers_lead_back() {
        for order in ORDERS {
            // Three loops, independent of the tested code.
            let mut expected = vec![];
            let (outer, inner) = if order == Order::RowMajor { (4, 2) } else { (2, 4) };
            for a in 0..outer {
                for b in 0..5 {
                    for c in 0..inner {
                        expected.push(if order == Order::RowMajor { [a, b, c] } else { [c, b, a] });
                    }
                }
            }
            let layout = layout([4, 5, 2]);
            assert!(layout.indices(order).eq(expected.iter().copied()));
            assert_eq!(layout.indices(order).len(), 40);
            let dynamic = layout.to_dynamic(1).unwrap();
            for (number, index) in expected.iter().enumerate() {
                assert_eq!(layout.ravel_index(*index, order).unwrap(), number);
                assert_eq!(layout.unravel_index(number, order).unwrap(), *index);
                assert_eq!(dynamic.ravel_index(index, order).unwrap(), number);
                assert_eq!(dynamic.unravel_index(number, order).unwrap(), index);
                assert!(layout.contains(*index) && dynamic.contains(index));
            }
        }
    }

    #[test]
    fn what_is_outside_on_any_axis_is_refused_with_the_numbers() {
        let fixed = layout([4, 5, 2]);
        let dynamic = fixed.to_dynamic(1).unwrap();
        for order in ORDERS {
            for (index, axis) in [([4, 0, 0], 0), ([0, 5, 1], 1), ([3, 4, 2], 2), ([0, usize::MAX, 0], 1)] {
                let text = format!("index {} is out of bounds for axis {axis}", index[axis]);
                for error in [
                    fixed.ravel_index(index, order).unwrap_err(),
                    dynamic.ravel_index(&index, order).unwrap_err(),
                ] {
                    assert!(error.is_bounds() && error.to_string().starts_with(&text), "{error}");
                }
                assert!(!fixed.contains(index) && !dynamic.contains(&index));
            }
            for number in [40, 41, usize::MAX] {
                assert!(fixed.unravel_index(number, order).unwrap_err().is_bounds());
                let error = dynamic.unravel_index(number, order).unwrap_err();
                assert!(error.is_bounds() && error.to_string().contains(&number.to_string()), "{error}");
            }
        }
        assert!(!dynamic.contains(&[0, 0]));
        assert!(dynamic.ravel_index(&[0, 0], Order::RowMajor).unwrap_err().is_shape());
    }

    #[test]
    fn without_axes_there_is_one_index_and_without_elements_there_is_none() {
        let (point, empty) = (layout([]), layout([2, 0, 3]));
        for order in ORDERS {
            assert!(point.indices(order).eq([[0usize; 0]]) && point.contains([]));
            assert_eq!(point.ravel_index([], order).unwrap(), 0);
            assert_eq!(point.unravel_index(0, order).unwrap(), [0usize; 0]);
            assert!(point.unravel_index(1, order).unwrap_err().is_bounds());
            assert_eq!(empty.indices(order).next(), None);
            assert!(empty.unravel_index(0, order).unwrap_err().is_bounds());
            assert!(empty.ravel_index([0, 0, 0], order).unwrap_err().is_bounds());
        }
    }
}
