//! Elements in the gaps of another array.

use crate::layout::Layout;

impl Layout {
    /// Whether it is certain that no element shares a byte with an element of the other layout,
    /// given the addresses of both elements 0. That holds if both lie on one grid and use different
    /// bytes of its cells, like the columns of a table. `false` means that it is not certain, and
    /// is also possible for layouts whose spans do not overlap. For layouts without suboffsets.
    /// O(rank).
    pub(crate) fn interleaves(&self, at: usize, other: &Self, other_at: usize) -> bool {
        let grid = [self, other].into_iter().flat_map(|layout| layout.shape().iter().zip(layout.strides()));
        let grid =
            grid.filter(|&(&len, _)| len > 1).fold(0, |grid, (_, &stride)| gcd(grid, stride.unsigned_abs()));
        if grid == 0 {
            return false;
        }
        // Where the other layout's element begins in a grid cell that begins with an element of
        // this layout.
        let begins = (other_at as isize - at as isize).rem_euclid(grid as isize) as usize;
        self.itemsize() <= begins && begins + other.itemsize() <= grid
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[usize], strides: &[isize], itemsize: usize) -> Layout {
        Layout::new(shape, strides, itemsize).unwrap()
    }

    #[test]
    fn columns_of_one_table_lie_between_each_other() {
        let (price, kind) = (layout(&[100], &[12], 8), layout(&[100], &[12], 4));
        assert!(price.interleaves(1000, &kind, 1008));
        assert!(kind.interleaves(1008, &price, 1000));
        assert!(price.interleaves(1012, &kind, 1008), "of the record before");
        assert!(!price.interleaves(1000, &kind, 1007) && !price.interleaves(1000, &kind, 1009));
        assert!(!price.interleaves(1000, &price, 1004) && !price.interleaves(1000, &price, 1000));
        let backwards = layout(&[100], &[-12], 4);
        assert!(price.interleaves(1000, &backwards, 1008 + 99 * 12));
        assert!(layout(&[50], &[24], 8).interleaves(1000, &kind, 1008));
        assert!(!layout(&[50], &[20], 8).interleaves(1000, &kind, 1008), "on a grid of 4 bytes");
        let one = layout(&[1], &[3], 4);
        assert!(price.interleaves(1000, &one, 1020) && !price.interleaves(1000, &one, 1024));
        assert!(!one.interleaves(1000, &one, 1000), "no grid");
    }

    #[test]
    fn what_interleaves_shares_no_byte() {
        let (mut state, mut certain, mut shared) = (1u64, 0, 0);
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % bound) as usize
        };
        for _ in 0..20_000 {
            let mut side = || {
                let (itemsize, unit) = (1 + below(4), 1 + below(4));
                let shape: Vec<usize> = (0..1 + below(2)).map(|_| 1 + below(4)).collect();
                let strides: Vec<isize> =
                    shape.iter().map(|_| (below(9) as isize - 4) * unit as isize).collect();
                (layout(&shape, &strides, itemsize), 100 + below(12))
            };
            let ((one, at), (other, other_at)) = (side(), side());
            let bytes = |layout: &Layout, at: usize| -> Vec<usize> {
                let (shape, strides) = (layout.shape(), layout.strides());
                let inner = |i: usize| {
                    let rest = shape
                        .get(1)
                        .map_or(vec![0], |&len| (0..len as isize).map(|j| j * strides[1]).collect());
                    rest.into_iter().map(move |rest| at as isize + i as isize * strides[0] + rest)
                };
                let starts = (0..shape[0]).flat_map(inner);
                starts.flat_map(|start| (0..layout.itemsize()).map(move |k| start as usize + k)).collect()
            };
            let (its, others) = (bytes(&one, at), bytes(&other, other_at));
            let meet = its.iter().any(|byte| others.contains(byte));
            let interleaves = one.interleaves(at, &other, other_at);
            assert!(!(interleaves && meet), "{one:?} at {at}, {other:?} at {other_at}");
            certain += usize::from(interleaves);
            shared += usize::from(meet);
        }
        assert!(certain > 500 && shared > 2000, "{certain} certain, {shared} shared");
    }
}
