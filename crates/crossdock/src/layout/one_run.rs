//! Whether the elements of two layouts are one run of bytes, or of one of them, found in one pass
//! over both.

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

    /// The number of elements, if both layouts have the same shape and are C-contiguous
    /// (row-major), with at most `INLINE_RANK` axes and with item sizes of their own. `None` in all
    /// other cases.
    #[inline]
    pub(crate) fn same_run_as(&self, other: &Self) -> Option<usize> {
        let (own, others) = (self.inline_axes()?, other.inline_axes()?);
        if own.rank() != others.rank() {
            return None;
        }
        // Layout 2: the product of the lengths that are not 0 fits, in bytes of either.
        let (mut nbytes, mut other_nbytes, mut count) = (self.itemsize(), other.itemsize(), 1_usize);
        let mut is_one_run = true;
        for axis in (0..own.rank()).rev() {
            let ((len, stride), (other_len, other_stride)) = (own.axis(axis), others.axis(axis));
            let chains = stride == nbytes as isize && other_stride == other_nbytes as isize;
            is_one_run &= len == other_len && (chains || len == 1);
            nbytes = nbytes.wrapping_mul(len);
            other_nbytes = other_nbytes.wrapping_mul(len);
            count = count.wrapping_mul(len);
        }
        is_one_run.then_some(count)
    }

    /// The bytes of this layout and those that the other one spans, both from element 0 on: if both
    /// have the same shape, of at most `INLINE_RANK` axes and without a 0, and the same item size,
    /// if this one is C-contiguous (row-major), and if no stride of the other one is negative.
    /// `None` in all other cases.
    #[inline]
    pub(crate) fn run_over(&self, other: &Self) -> Option<[usize; 2]> {
        let (own, others) = (self.inline_axes()?, other.inline_axes()?);
        if own.rank() != others.rank() || self.itemsize() != other.itemsize() {
            return None;
        }
        // Layout 2: the product of the lengths fits, and so does the sum of the strides.
        let (mut nbytes, mut span, mut is_run) = (self.itemsize(), self.itemsize(), true);
        for axis in (0..own.rank()).rev() {
            let ((len, stride), (other_len, other_stride)) = (own.axis(axis), others.axis(axis));
            let chains = stride == nbytes as isize || len == 1;
            is_run &= len == other_len && len != 0 && chains && other_stride >= 0;
            nbytes = nbytes.wrapping_mul(len);
            span = span.wrapping_add(len.wrapping_sub(1).wrapping_mul(other_stride as usize));
        }
        is_run.then_some([nbytes, span])
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
    fn runs_of_two_item_sizes_have_as_many_elements() {
        let layout =
            |shape: &[usize], strides: &[isize], itemsize| Layout::new(shape, strides, itemsize).unwrap();
        let floats = layout(&[2, 3], &[12, 4], 4);
        assert_eq!(floats.same_run_as(&layout(&[2, 3], &[3, 1], 1)), Some(6));
        assert_eq!(layout(&[2, 3], &[3, 1], 1).same_run_as(&floats), Some(6));
        assert_eq!(floats.same_run_as(&floats), Some(6));
        assert_eq!(layout(&[], &[], 8).same_run_as(&layout(&[], &[], 2)), Some(1));
        assert_eq!(layout(&[1, 3], &[99, 4], 4).same_run_as(&layout(&[1, 3], &[-7, 8], 8)), Some(3));
        assert_eq!(layout(&[0, 3], &[12, 4], 4).same_run_as(&layout(&[0, 3], &[3, 1], 1)), Some(0));
        for other in [
            layout(&[2, 3], &[4, 1], 1),
            layout(&[2, 3], &[1, 2], 1),
            layout(&[2, 3], &[3, 0], 1),
            layout(&[2, 3], &[-3, 1], 1),
            layout(&[3, 2], &[2, 1], 1),
            layout(&[6], &[1], 1),
        ] {
            assert_eq!(floats.same_run_as(&other), None, "{other:?}");
            assert_eq!(other.same_run_as(&floats), None, "{other:?}");
        }
    }

    #[test]
    fn a_run_goes_over_any_layout_of_its_shape_whose_strides_are_not_negative() {
        let layout = |shape: &[usize], strides: &[isize]| Layout::new(shape, strides, 4).unwrap();
        let rows = layout(&[2, 3], &[12, 4]);
        assert_eq!(rows.run_over(&rows), Some([24, 24]));
        assert_eq!(rows.run_over(&layout(&[2, 3], &[4, 8])), Some([24, 24]));
        assert_eq!(rows.run_over(&layout(&[2, 3], &[100, 0])), Some([24, 104]));
        assert_eq!(layout(&[1, 3], &[99, 4]).run_over(&layout(&[1, 3], &[7, 8])), Some([12, 20]));
        assert_eq!(layout(&[], &[]).run_over(&layout(&[], &[])), Some([4, 4]));
        for (own, other) in [
            (&rows, &layout(&[2, 3], &[12, -4])),
            (&rows, &layout(&[3, 2], &[8, 4])),
            (&rows, &layout(&[6], &[4])),
            (&rows, &Layout::new(&[2, 3], &[24, 8], 8).unwrap()),
            (&layout(&[2, 3], &[4, 8]), &rows),
            (&layout(&[2, 3], &[16, 4]), &rows),
            (&layout(&[0, 3], &[12, 4]), &layout(&[0, 3], &[12, 4])),
        ] {
            assert_eq!(own.run_over(other), None, "{own:?} {other:?}");
        }
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
