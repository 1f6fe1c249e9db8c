//! Whether the elements of two layouts are one run of bytes, found in one pass over both.

use crate::layout::Layout;

impl Layout {
    /// The number of bytes, if both layouts have the same shape and item size and are C-contiguous
    /// (row-major), with at most `INLINE_RANK` axes. `None` in all other cases.
    #[inline]
    pub(crate) fn one_run_with(&self, other: &Self) -> Option<usize> {
        let (own, others) = (self.inline_axes()?, other.inline_axes()?);
        let itemsize = self.itemsize();
        if own.rank() != others.rank() || itemsize != other.itemsize() {
            return None;
        }
        // Layout 2: the product of the lengths that are not 0 fits.
        let mut nbytes = itemsize;
        let mut is_one_run = true;
        for axis in (0..own.rank()).rev() {
            let ((len, stride), (other_len, other_stride)) = (own.axis(axis), others.axis(axis));
            let chains = stride == nbytes as isize && other_stride == nbytes as isize;
            is_one_run &= len == other_len && (chains || len == 1);
            nbytes = nbytes.wrapping_mul(len);
        }
        is_one_run.then_some(nbytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::layout::{Layout, Order};

    fn run(one: (&[usize], &[isize]), other: (&[usize], &[isize]), itemsizes: [usize; 2]) -> Option<usize> {
        let one = Layout::new(one.0, one.1, itemsizes[0]).unwrap();
        let other = Layout::new(other.0, other.1, itemsizes[1]).unwrap();
        assert_eq!(one.one_run_with(&other), other.one_run_with(&one));
        one.one_run_with(&other)
    }

    #[test]
    fn two_contiguous_layouts_of_one_shape_are_one_run() {
        let rows = (&[2, 3][..], &[12, 4][..]);
        assert_eq!(run(rows, rows, [4, 4]), Some(24));
        assert_eq!(run((&[], &[]), (&[], &[]), [8, 8]), Some(8));
        // The stride of an axis of length 1 does not count.
        assert_eq!(run((&[1, 3], &[99, 4]), (&[1, 3], &[-7, 4]), [4, 4]), Some(12));
        assert_eq!(run((&[0, 3], &[12, 4]), (&[0, 3], &[12, 4]), [4, 4]), Some(0));
    }

    #[test]
    fn gaps_other_orders_shapes_and_item_sizes_are_no_run() {
        let rows = (&[2, 3][..], &[12, 4][..]);
        for other in [
            (&[2, 3][..], &[16, 4][..]),
            (&[2, 3], &[4, 8]),
            (&[2, 3], &[-12, 4]),
            (&[2, 3], &[0, 4]),
            (&[3, 2], &[8, 4]),
            (&[6], &[4]),
            (&[1, 2, 3], &[24, 12, 4]),
        ] {
            assert_eq!(run(rows, other, [4, 4]), None, "{other:?}");
        }
        assert_eq!(run((&[2], &[4]), (&[2], &[4]), [4, 2]), None);
        assert_eq!(run((&[2], &[4]), (&[2], &[4]), [2, 2]), None);
        // More axes than lie in place are left to the general way.
        let many = Layout::contiguous(&[2; 5], 4, Order::RowMajor).unwrap();
        assert_eq!(many.one_run_with(&many), None);
    }
}
