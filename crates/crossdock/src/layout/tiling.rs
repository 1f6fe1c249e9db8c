//! Windows and blocks: an array as an array of smaller ones. Also bytes as elements of another
//! size.

use crate::error::{Advice, Error, Kind, Result};
use crate::layout::rules;
use crate::layout::{FixedLayout, Layout, MAX_RANK};

impl<const D: usize> FixedLayout<D> {
    /// All windows of a shape: the first `D` axes select where a window begins, the others are the
    /// axes of the window. Windows overlap, and each lies entirely inside the array. An `OUT` other
    /// than `2 * D` does not compile.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) for a window that is empty or longer than its axis;
    /// [`is_overflow`](Error::is_overflow) if the elements of all windows would count as more than
    /// `isize::MAX` bytes.
    pub(crate) fn windows<const OUT: usize>(
        &self,
        window: [usize; D],
        itemsize: usize,
    ) -> Result<FixedLayout<OUT>> {
        const { assert!(OUT == 2 * D && OUT <= MAX_RANK, "windows double the number of axes") };
        let (mut shape, mut strides) = ([0; OUT], [0; OUT]);
        windows((self.shape(), self.strides()), &window, itemsize, (&mut shape, &mut strides))?;
        Ok(FixedLayout::trusted(shape, strides))
    }

    /// The array as blocks of a shape, without remainder: the first `D` axes select a block, the
    /// others are the axes of the block. An `OUT` other than `2 * D` does not compile.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) for a block that is empty or does not divide its axis;
    /// [`is_overflow`](Error::is_overflow) if an axis is empty and the block too long.
    pub(crate) fn blocks<const OUT: usize>(
        &self,
        block: [usize; D],
        itemsize: usize,
    ) -> Result<FixedLayout<OUT>> {
        const { assert!(OUT == 2 * D && OUT <= MAX_RANK, "blocks double the number of axes") };
        let (mut shape, mut strides) = ([0; OUT], [0; OUT]);
        blocks((self.shape(), self.strides()), &block, itemsize, (&mut shape, &mut strides))?;
        Ok(FixedLayout::trusted(shape, strides))
    }

    /// The same bytes as elements of another size: the length of the last axis changes with the
    /// size. `itemsize` is the one with which the layout was made.
    ///
    /// # Errors
    ///
    /// [`is_layout`](Error::is_layout) if the sizes differ and the last axis has gaps;
    /// [`is_shape`](Error::is_shape) if its bytes are not a whole number of new elements.
    pub(crate) fn with_itemsize(&self, itemsize: usize, new: usize) -> Result<Self> {
        let (mut shape, mut strides) = (*self.shape(), *self.strides());
        resize(&mut shape, &mut strides, itemsize, new)?;
        Ok(Self::trusted(shape, strides))
    }
}

impl Layout {
    /// All windows of a shape: the first axes, as many as this layout has, select where a window
    /// begins, the others are the axes of the window. Windows overlap, and each lies entirely
    /// inside the array.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) for a window of another rank, or one that is empty or longer
    /// than its axis; [`is_overflow`](Error::is_overflow) if the elements of all windows would
    /// count as more than `isize::MAX` bytes; [`is_unsupported`](Error::is_unsupported) for too
    /// many axes; [`is_layout`](Error::is_layout) for an indirect array.
    pub(crate) fn windows(&self, window: &[usize]) -> Result<Self> {
        self.check_tile(window, "windows")?;
        let mut result = self.blank_like(2 * self.rank())?;
        windows((self.shape(), self.strides()), window, self.itemsize(), result.dims_mut())?;
        Ok(result)
    }

    /// The array as blocks of a shape, without remainder: the first axes, as many as this layout
    /// has, select a block, the others are the axes of the block.
    ///
    /// # Errors
    ///
    /// [`is_shape`](Error::is_shape) for a block of another rank, or one that is empty or does not
    /// divide its axis; [`is_overflow`](Error::is_overflow) if an axis is empty and the block too
    /// long; [`is_unsupported`](Error::is_unsupported) for too many axes;
    /// [`is_layout`](Error::is_layout) for an indirect array.
    pub(crate) fn blocks(&self, block: &[usize]) -> Result<Self> {
        self.check_tile(block, "blocks")?;
        let mut result = self.blank_like(2 * self.rank())?;
        blocks((self.shape(), self.strides()), block, self.itemsize(), result.dims_mut())?;
        Ok(result)
    }

    fn check_tile(&self, tile: &[usize], what: &str) -> Result<()> {
        self.direct(what)?;
        if tile.len() == self.rank() {
            return Ok(());
        }
        Err(Error::new(
            Kind::Shape,
            format!(
                "{what} of shape {tile:?} do not match an array of rank {}; give one length per axis",
                self.rank()
            ),
        ))
    }

    /// The same bytes as elements of another size: the length of the last axis changes with the
    /// size.
    ///
    /// # Errors
    ///
    /// [`is_layout`](Error::is_layout) if the sizes differ and the last axis has gaps, or the array
    /// is indirect; [`is_shape`](Error::is_shape) if its bytes are not a whole number of new
    /// elements.
    pub(crate) fn with_itemsize(&self, new: usize) -> Result<Self> {
        if new == self.itemsize() {
            return Ok(self.clone());
        }
        self.direct("elements of another size")?;
        let mut result = Self::blank(self.rank(), new, false)?;
        let (shape, strides) = result.dims_mut();
        shape.copy_from_slice(self.shape());
        strides.copy_from_slice(self.strides());
        resize(shape, strides, self.itemsize(), new)?;
        Ok(result)
    }
}

/// Rule 3 needs no check: the start of a window and its extent together reach exactly as far as the
/// axis.
fn windows(
    (from_shape, from_strides): (&[usize], &[isize]),
    window: &[usize],
    itemsize: usize,
    (shape, strides): (&mut [usize], &mut [isize]),
) -> Result<()> {
    let rank = window.len();
    for (axis, (&len, &wide)) in from_shape.iter().zip(window).enumerate() {
        if wide == 0 || wide > len {
            return Err(Error::new(
                Kind::Shape,
                format!(
                    "a window of {wide} elements does not fit axis {axis} of length {len}; take 1 to {len}"
                ),
            ));
        }
        (shape[axis], shape[rank + axis]) = (len - wide + 1, wide);
    }
    strides[..rank].copy_from_slice(from_strides);
    strides[rank..].copy_from_slice(from_strides);
    rules::check_shape(shape, itemsize)
}

fn blocks(
    (from_shape, from_strides): (&[usize], &[isize]),
    block: &[usize],
    itemsize: usize,
    (shape, strides): (&mut [usize], &mut [isize]),
) -> Result<()> {
    let rank = block.len();
    for (axis, (&len, &wide)) in from_shape.iter().zip(block).enumerate() {
        if wide == 0 || len % wide != 0 {
            return Err(Error::new(
                Kind::Shape,
                format!("the length of axis {axis}, {len}, is not a multiple of the block length {wide}"),
            ));
        }
        (shape[axis], shape[rank + axis]) = (len / wide, wide);
        // The stride of an empty axis is free, but its blocks are not empty. With two or more
        // blocks, a block is shorter than the reach of the axis (rule 3); with fewer, the product
        // may wrap, and the resulting stride is free as well.
        let stride = if len == 0 { 0 } else { from_strides[axis] };
        (strides[axis], strides[rank + axis]) = (stride.wrapping_mul(wide as isize), stride);
    }
    rules::check_shape(shape, itemsize)
}

fn resize(shape: &mut [usize], strides: &mut [isize], itemsize: usize, new: usize) -> Result<()> {
    if new == itemsize {
        return Ok(());
    }
    let (Some(len), Some(stride)) = (shape.last_mut(), strides.last_mut()) else {
        return Err(Error::new(
            Kind::Shape,
            format!("an array of rank 0 has one element of {itemsize} bytes, not of {new}"),
        )
        .advising(Advice::InsertAxis));
    };
    if *len > 1 && *stride != itemsize as isize {
        return Err(Error::new(
            Kind::Layout,
            format!(
                "elements of {itemsize} bytes that are {stride} bytes apart along the last axis cannot be \
                viewed as elements of {new} bytes"
            ),
        )
        .advising(Advice::Copy));
    }
    let nbytes = len.saturating_mul(itemsize);
    if new == 0 || !nbytes.is_multiple_of(new) {
        return Err(Error::new(
            Kind::Shape,
            format!(
                "the last axis has {nbytes} bytes, which is not a multiple of the new element size, {new} \
                bytes"
            ),
        ));
    }
    (*len, *stride) = (nbytes / new, new as isize);
    // Checked again, because elements of size 0, or an empty axis, may count for less than the
    // result.
    rules::check(shape, strides, new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    #[test]
    fn windows_lie_inside_and_blocks_leave_no_rest() {
        let layout = Layout::contiguous(&[5, 6], 2, Order::RowMajor).unwrap();
        let windows = layout.windows(&[2, 3]).unwrap();
        assert_eq!((windows.shape(), windows.strides()), (&[4, 4, 2, 3][..], &[12, 2, 12, 2][..]));
        let blocks = layout.blocks(&[5, 3]).unwrap();
        assert_eq!((blocks.shape(), blocks.strides()), (&[1, 2, 5, 3][..], &[60, 6, 12, 2][..]));
        assert_eq!(layout.windows(&[5, 6]).unwrap().len(), 30);
        for wrong in [&[0, 1][..], &[6, 1], &[5, 7], &[1], &[1, 1, 1]] {
            assert!(layout.windows(wrong).unwrap_err().is_shape(), "{wrong:?}");
        }
        for wrong in [&[0, 1][..], &[2, 1], &[5, 4], &[5, 12], &[5], &[5, 6, 1]] {
            assert!(layout.blocks(wrong).unwrap_err().is_shape(), "{wrong:?}");
        }
    }

    #[test]
    fn too_many_windows_to_count_and_too_many_axes_are_refused() {
        let long = usize::MAX / 4;
        let far = Layout::new(&[long, 2], &[0, 0], 1).unwrap();
        assert!(far.windows(&[long / 2, 1]).unwrap_err().is_overflow());
        let empty = Layout::new(&[0, 2], &[isize::MIN, 0], 8).unwrap();
        assert!(empty.blocks(&[usize::MAX, 2]).unwrap_err().is_overflow());
        assert!(empty.blocks(&[7, 2]).unwrap().is_empty());
        let deep = Layout::contiguous(&[1; 33], 1, Order::RowMajor).unwrap();
        assert!(deep.windows(&[1; 33]).unwrap_err().is_unsupported());
        assert_eq!(Layout::contiguous(&[], 1, Order::RowMajor).unwrap().windows(&[]).unwrap().rank(), 0);
    }

    #[test]
    fn elements_of_another_size_want_a_last_axis_without_gaps() {
        let layout = Layout::contiguous(&[3, 8], 2, Order::RowMajor).unwrap();
        let wide = layout.with_itemsize(8).unwrap();
        assert_eq!((wide.shape(), wide.strides()), (&[3, 2][..], &[16, 8][..]));
        assert_eq!(wide.with_itemsize(2).unwrap(), layout);
        assert!(layout.with_itemsize(3).unwrap_err().is_shape());
        assert!(layout.with_itemsize(0).unwrap_err().is_shape());
        assert!(layout.transpose().unwrap().with_itemsize(1).unwrap_err().is_layout());
        assert!(
            Layout::contiguous(&[], 2, Order::RowMajor).unwrap().with_itemsize(1).unwrap_err().is_shape()
        );
        let nothing = Layout::contiguous(&[4], 0, Order::RowMajor).unwrap();
        assert!(nothing.with_itemsize(4).unwrap().is_empty());
        let many = Layout::new(&[usize::MAX / 4 + 1, 0], &[0, 0], 1).unwrap();
        assert!(many.with_itemsize(8).unwrap_err().is_overflow());
    }
}
