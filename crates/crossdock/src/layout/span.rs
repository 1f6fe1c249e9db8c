//! Which bytes an array touches, and the one checker that compares them with a window of memory.

use crate::error::{Error, Kind, Result};
use crate::layout::rules;

/// The bytes that an array touches, relative to its element 0: from [`low`](Self::low) up to, not including,
/// [`high`](Self::high). An array without elements touches none, and both are 0.
///
/// ```
/// use crossdock::layout::{FixedLayout, Order};
///
/// let rows = FixedLayout::contiguous([3, 4], 2, Order::RowMajor)?;
/// let (upside_down, offset) = rows.reverse(0)?;
/// let span = upside_down.span(2);
/// assert_eq!((span.low(), span.high(), offset), (-16, 8, 16));
/// assert!(span.check_window(16, 24).is_ok());
/// assert!(span.check_window(15, 24).unwrap_err().is_bounds());
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Invariant 1: at most 0.
    low: isize,
    /// Invariant 2: at least 0, and `high - low` is at most `isize::MAX`.
    high: isize,
}

impl Span {
    /// The span of a layout that obeys the rules; with a greater itemsize than it was made with, saturated.
    #[inline]
    pub(super) fn of(shape: &[usize], strides: &[isize], itemsize: usize) -> Self {
        if shape.contains(&0) {
            return Self { low: 0, high: 0 };
        }
        let (mut low, mut high) = (0isize, 0isize);
        for (&len, &stride) in shape.iter().zip(strides).filter(|&(&len, _)| len > 1) {
            let reach = stride * (len - 1) as isize;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        Self { low, high: high.saturating_add_unsigned(itemsize) }
    }

    /// The bytes of all elements without gaps, and the span, of numbers that obey the rules. That is what [`Layout::new`] checks, for who
    /// needs no more than these two.
    ///
    /// # Errors
    ///
    /// As [`Layout::new`].
    ///
    /// [`Layout::new`]: crate::layout::Layout::new
    #[inline]
    pub(crate) fn measure(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<(usize, Self)> {
        rules::check(shape, strides, itemsize)?;
        Ok((rules::len(shape) * itemsize, Self::of(shape, strides, itemsize)))
    }

    /// The lowest byte, relative to element 0: 0, or negative where a stride is.
    #[inline]
    pub fn low(&self) -> isize {
        self.low
    }

    /// One past the highest byte, relative to element 0.
    #[inline]
    pub fn high(&self) -> isize {
        self.high
    }

    /// How many bytes lie between the two, gaps included.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.high.abs_diff(self.low)
    }

    /// Checks that every byte lies in a window of `window_nbytes` bytes whose byte number `offset` is element 0.
    ///
    /// This is the one bounds checker: what passes it once stays inside through every operation on the layout. Element 0
    /// of an array without elements may stand anywhere in the window or at its end, no farther. O(1).
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds), with both ends and the size of the window.
    #[inline]
    pub fn check_window(&self, offset: usize, window_nbytes: usize) -> Result<()> {
        let starts = offset.checked_add_signed(self.low).is_some();
        let ends = offset.checked_add_signed(self.high).is_some_and(|end| end <= window_nbytes);
        if starts && ends { Ok(()) } else { Err(self.outside(offset, window_nbytes)) }
    }

    #[cold]
    #[inline(never)]
    fn outside(&self, offset: usize, window_nbytes: usize) -> Error {
        let (first, end) = (offset as i128 + self.low as i128, offset as i128 + self.high as i128);
        Error::new(
            Kind::Bounds,
            format!("the array covers bytes {first}..{end}, of which only 0..{window_nbytes} exist"),
        )
    }

    /// Whether the bytes of two arrays can meet, given the addresses (or the offsets into the same window) of their
    /// elements 0.
    ///
    /// Gaps count as touched: `false` is certain, `true` is not. O(1).
    pub fn overlaps(&self, at: usize, other: &Span, other_at: usize) -> bool {
        let range = |span: &Span, at: usize| (at as i128 + span.low as i128, at as i128 + span.high as i128);
        let ((low, high), (other_low, other_high)) = (range(self, at), range(other, other_at));
        low.max(other_low) < high.min(other_high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_exact_at_both_ends() {
        let span = Span::of(&[3, 2], &[-10, 4], 4);
        assert_eq!((span.low(), span.high(), span.nbytes()), (-20, 8, 28));
        assert!(span.check_window(20, 28).is_ok());
        let low = span.check_window(19, 28).unwrap_err().to_string();
        assert!(low.contains("-1..27") && low.contains("0..28"), "{low}");
        assert!(span.check_window(20, 27).unwrap_err().to_string().contains("0..28"));
        assert!(span.check_window(usize::MAX, usize::MAX).unwrap_err().is_bounds());
    }

    #[test]
    fn an_empty_array_needs_no_bytes_but_stays_in_the_window() {
        let span = Span::of(&[3, 0], &[-10, 4], 4);
        assert_eq!(span.nbytes(), 0);
        assert!(span.check_window(0, 0).is_ok());
        assert!(span.check_window(7, 7).is_ok());
        assert!(span.check_window(8, 7).is_err());
    }

    #[test]
    fn overlap_is_by_bytes() {
        let span = Span::of(&[2], &[4], 4);
        assert!(!span.overlaps(100, &span, 108));
        assert!(span.overlaps(100, &span, 107));
        assert!(!span.overlaps(108, &span, 100));
        let empty = Span::of(&[0], &[4], 4);
        assert!(!empty.overlaps(100, &span, 100));
    }
}
