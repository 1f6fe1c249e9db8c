//! Two arrays of one shape in small parts, which a cache holds in both of their orders.

use std::cmp::Reverse;

use crossdock::{DArray, Result};

/// The elements of a tile, at most: as doubles, two of them take 1 MiB.
const MOST: usize = 1 << 16;

/// Equal parts of the index space of two arrays.
#[derive(Debug)]
pub(crate) struct Tiles {
    shape: Vec<usize>,
    tile: Vec<usize>,
    /// The axes, from the slowest to the fastest of the walk.
    axes: Vec<usize>,
    /// The tiles along each of these axes.
    counts: Vec<usize>,
}

impl Tiles {
    /// Chooses the tiles by the strides of both arrays, which have the same shape.
    pub(crate) fn new(a: &DArray, b: &DArray) -> Self {
        let shape = a.shape().to_vec();
        let axes = by_stride(a);
        let fastest = |axes: &[usize]| axes.iter().rev().copied().find(|&axis| shape[axis] > 1);
        let mut tile = vec![1; shape.len()];
        let mut left = MOST;
        if let (Some(one), Some(other)) = (fastest(&axes), fastest(&by_stride(b)))
            && one != other
        {
            // A square: whole cache lines in either order.
            for axis in [one, other] {
                tile[axis] = shape[axis].clamp(1, MOST.isqrt());
                left /= tile[axis];
            }
        }
        for &axis in axes.iter().rev() {
            left *= tile[axis];
            tile[axis] = shape[axis].clamp(1, left.max(1));
            left /= tile[axis];
        }
        let counts = axes.iter().map(|&axis| shape[axis].div_ceil(tile[axis])).collect();
        Self { shape, tile, axes, counts }
    }

    /// The number of tiles.
    pub(crate) fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// The index of the first element of a tile.
    pub(crate) fn origin(&self, mut number: usize) -> Vec<usize> {
        let mut origin = vec![0; self.shape.len()];
        for (&axis, &count) in self.axes.iter().zip(&self.counts).rev() {
            origin[axis] = number % count * self.tile[axis];
            number /= count;
        }
        origin
    }

    /// The part of an array.
    pub(crate) fn part(&self, array: &DArray, origin: &[usize]) -> Result<DArray> {
        let mut part = array.clone();
        for (axis, &first) in origin.iter().enumerate() {
            let end = (first + self.tile[axis]).min(self.shape[axis]);
            if (first, end) != (0, self.shape[axis]) {
                part = part.slice_axis(axis, first..end)?;
            }
        }
        Ok(part)
    }
}

/// The axes, those with the longest strides first.
fn by_stride(array: &DArray) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..array.rank()).collect();
    axes.sort_by_key(|&axis| Reverse(array.strides()[axis].unsigned_abs()));
    axes
}

/// The index of the element at this position in row-major order.
pub(crate) fn index_at(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (part, &length) in index.iter_mut().zip(shape).rev() {
        *part = position % length;
        position /= length;
    }
    index
}

#[cfg(test)]
mod tests {
    use crossdock::element::DType;
    use crossdock::layout::Order;

    use super::*;

    #[test]
    fn the_tiles_of_any_two_orders_cover_each_element_once() {
        use Order::{ColumnMajor, RowMajor};
        for (shape, one, other) in [
            (vec![700, 300], RowMajor, RowMajor),
            (vec![700, 300], RowMajor, ColumnMajor),
            (vec![3, 1, 70_001], ColumnMajor, ColumnMajor),
            (vec![2, 300, 5, 300], ColumnMajor, RowMajor),
            (vec![], RowMajor, ColumnMajor),
            (vec![0, 4], RowMajor, ColumnMajor),
        ] {
            let array = |order| DArray::zeros(DType::U8, &shape, order).unwrap();
            let (a, b) = (array(one), array(other));
            let tiles = Tiles::new(&a, &b);
            for number in 0..tiles.len() {
                let part = tiles.part(&a, &tiles.origin(number)).unwrap();
                assert!((1..=MOST).contains(&part.len()), "{shape:?}: {:?}", part.shape());
                assert!(tiles.len() < 50 || part.len() > 1000, "{shape:?}: {:?}", part.shape());
                let odd = DArray::full(DType::U8, part.shape(), 1u8, Order::RowMajor).unwrap();
                assert!(part.equals(&DArray::zeros(DType::U8, part.shape(), one).unwrap()).unwrap());
                part.assign(&odd, crossdock::Casting::Checked).unwrap();
            }
            assert!(a.equals(&DArray::full(DType::U8, &shape, 1u8, one).unwrap()).unwrap());
        }
    }

    #[test]
    fn positions_and_indices_agree() {
        assert_eq!(index_at(&[3, 4, 5], 33), [1, 2, 3]);
        assert_eq!(index_at(&[], 0), [0; 0]);
    }
}
