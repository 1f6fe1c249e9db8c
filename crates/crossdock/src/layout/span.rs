//! The bytes that an array touches, and the only bounds check against a window of memory.
//!
//! Reasons: `DESIGN.md`, "Addresses end at `isize::MAX`".

use crate::error::{Error, Kind, Result};
use crate::layout::{MAX_RANK, rules};

/// The greatest address at which memory ends. With pointers of 64 bits, programs have the lower
/// half of the addresses, so that sums of addresses and offsets cannot wrap. With pointers of 32
/// bits, the stack and mappings lie in the upper half.
pub(crate) const END_OF_ADDRESSES: usize = if usize::BITS < 64 { usize::MAX } else { usize::MAX / 2 };

/// The bytes that an array touches, relative to its element 0: from [`low`](Self::low) up to, not
/// including, [`high`](Self::high). An array without elements touches none, and both are 0.
///
/// ```
/// use crossdock::layout::FixedLayout;
///
/// let upside_down = FixedLayout::new([3, 4], [-8, 2], 2)?;
/// let span = upside_down.span(2);
/// assert_eq!((span.low(), span.high(), span.nbytes()), (-16, 8, 24));
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
    /// The span of a valid layout; saturated for an itemsize greater than the one it was made with.
    #[inline]
    pub(super) fn of(shape: &[usize], strides: &[isize], itemsize: usize) -> Self {
        if shape.contains(&0) {
            return Self { low: 0, high: 0 };
        }
        let (mut low, mut high) = (0isize, 0isize);
        for (&len, &stride) in shape.iter().zip(strides) {
            let reach = stride * (len - 1) as isize;
            low += reach.min(0);
            high += reach.max(0);
        }
        Self { low, high: high.saturating_add_unsigned(itemsize) }
    }

    /// Checks the rules like [`Layout::new`], and returns only the bytes of all elements and the
    /// span.
    ///
    /// # Errors
    ///
    /// As [`Layout::new`].
    ///
    /// [`Layout::new`]: crate::layout::Layout::new
    #[inline]
    pub(crate) fn measure(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<(usize, Self)> {
        if let Some(measured) = Self::measure_in_one_pass(shape, strides, itemsize) {
            return Ok(measured);
        }
        rules::check(shape, strides, itemsize)?;
        Ok((rules::len(shape) * itemsize, Self::of(shape, strides, itemsize)))
    }

    /// [`measure`](Self::measure) of what has elements and bytes; `None` for other layouts, and for
    /// those that the rules refuse.
    #[inline(always)]
    fn measure_in_one_pass(shape: &[usize], strides: &[isize], itemsize: usize) -> Option<(usize, Self)> {
        let itemsize = isize::try_from(itemsize).ok().filter(|&itemsize| itemsize > 0)?;
        if shape.len() != strides.len() || shape.len() > MAX_RANK {
            return None;
        }
        let (mut nbytes, mut low, mut high) = (itemsize, 0_isize, 0_isize);
        for (&len, &stride) in shape.iter().zip(strides) {
            let len = isize::try_from(len).ok().filter(|&len| len > 0)?;
            nbytes = nbytes.checked_mul(len)?;
            let reach = stride.checked_mul(len - 1)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        let high = high.checked_add(itemsize)?;
        // Rule 3: the sum of all distances, whatever their signs.
        high.checked_sub(low)?;
        Some((nbytes.cast_unsigned(), Self { low, high }))
    }

    /// The lowest byte, relative to element 0: 0, or negative if a stride is.
    #[inline]
    pub fn low(&self) -> isize {
        self.low
    }

    /// One past the highest byte, relative to element 0.
    #[inline]
    pub fn high(&self) -> isize {
        self.high
    }

    /// The number of bytes between the two, gaps included.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.high.abs_diff(self.low)
    }

    /// Checks that every byte lies in a window of `window_nbytes` bytes, with element 0 at
    /// `offset`.
    ///
    /// This is the only bounds check: a layout that passes it stays inside through every operation.
    /// Element 0 of an empty array may be anywhere in the window or at its end, not beyond. O(1).
    ///
    /// # Errors
    ///
    /// [`is_bounds`](Error::is_bounds), with both ends and the size of the window.
    #[inline]
    #[doc(hidden)]
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
            format!("the array covers bytes {first}..{end}, but the memory has {window_nbytes} bytes"),
        )
    }

    /// Whether every byte lies in the address space if element 0 is at this address: not at null,
    /// and at most at [`END_OF_ADDRESSES`]. An empty span fits at any address. O(1).
    #[inline]
    pub(crate) fn is_addressable(&self, first: usize) -> bool {
        if END_OF_ADDRESSES == usize::MAX {
            let lowest = first.checked_add_signed(self.low);
            return self.nbytes() == 0
                || lowest.is_some_and(|lowest| lowest > 0) && first.checked_add_signed(self.high).is_some();
        }
        let signed = first.cast_signed();
        // `low` is at most 0 and `first` at least 0, so their sum cannot wrap.
        self.nbytes() == 0 || signed >= 0 && signed + self.low > 0 && signed.checked_add(self.high).is_some()
    }

    /// Checks [`Span::is_addressable`] and returns the address of the lowest byte.
    ///
    /// # Errors
    ///
    /// [`is_overflow`](Error::is_overflow), with the address and both ends.
    #[inline]
    pub(crate) fn check_address(&self, first: usize) -> Result<usize> {
        // An empty span can have a `low` other than 0: elements of size 0 have strides, too.
        match self.is_addressable(first) {
            true => Ok(self.start(first)),
            false => Err(self.unaddressable(first)),
        }
    }

    #[cold]
    #[inline(never)]
    fn unaddressable(&self, first: usize) -> Error {
        Error::new(
            Kind::Overflow,
            format!(
                "bytes {}..{} from address {first:#x} exceed the address space 0x1..={END_OF_ADDRESSES:#x}",
                self.low, self.high,
            ),
        )
    }

    /// The position of the lowest byte for a position of element 0: an address, or an offset into a
    /// window that the span was checked against.
    #[inline]
    #[doc(hidden)]
    pub fn start(&self, at: usize) -> usize {
        at.wrapping_add_signed(self.low)
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
        assert!(low.contains("-1..27") && low.contains("28 bytes"), "{low}");
        assert!(span.check_window(20, 27).unwrap_err().to_string().contains("27 bytes"));
        assert!(span.check_window(usize::MAX, usize::MAX).unwrap_err().is_bounds());
    }

    #[test]
    fn what_is_measured_are_the_bytes_of_all_elements_and_the_span() {
        let span = Span::of(&[3, 2], &[-10, 4], 4);
        assert_eq!(Span::measure(&[3, 2], &[-10, 4], 4).unwrap(), (24, span));
        assert_eq!(Span::measure(&[3, 0], &[-10, 4], 4).unwrap().0, 0);
        assert!(Span::measure(&[isize::MAX as usize / 2, 8], &[1, 1], 4).unwrap_err().is_overflow());
    }

    #[test]
    fn one_pass_measures_what_the_rules_permit_and_nothing_else() {
        const MOST: usize = isize::MAX as usize;
        let lengths = [0, 1, 2, 3, 1 << (usize::BITS / 2), MOST, usize::MAX];
        let strides = [0, 1, -1, 4, isize::MAX / 2, isize::MIN / 2, isize::MAX, isize::MIN];
        let axes: Vec<_> = lengths.iter().flat_map(|&len| strides.map(|stride| (len, stride))).collect();
        let none = ([].as_slice(), [].as_slice());
        let mut layouts = vec![none];
        let pairs: Vec<_> = axes
            .iter()
            .flat_map(|one| axes.iter().map(move |other| ([one.0, other.0], [one.1, other.1])))
            .collect();
        layouts.extend(pairs.iter().map(|(shape, strides)| (shape.as_slice(), strides.as_slice())));
        layouts.extend(pairs.iter().map(|(shape, strides)| (&shape[..1], &strides[..1])));
        for (shape, strides) in layouts {
            for itemsize in [0, 1, 8, MOST, usize::MAX] {
                let ruled = rules::check(shape, strides, itemsize)
                    .map(|()| (rules::len(shape) * itemsize, Span::of(shape, strides, itemsize)));
                let measured = Span::measure(shape, strides, itemsize);
                assert_eq!(measured.is_ok(), ruled.is_ok(), "{shape:?} {strides:?} {itemsize}");
                assert_eq!(measured.ok(), ruled.ok(), "{shape:?} {strides:?} {itemsize}");
            }
        }
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
    fn addresses_end_at_the_greatest_offset_that_a_pointer_can_have() {
        const MOST: usize = END_OF_ADDRESSES;
        let up = Span::of(&[2], &[8], 4);
        assert_eq!(up.check_address(MOST - 12).unwrap(), MOST - 12);
        assert!(up.check_address(MOST - 11).unwrap_err().is_overflow());
        assert!(up.check_address(usize::MAX - 10).unwrap_err().is_overflow());
        assert!(!up.is_addressable(0) && up.is_addressable(1));
        let down = Span::of(&[2], &[-8], 4);
        assert_eq!(down.check_address(9).unwrap(), 1);
        let text = down.check_address(8).unwrap_err().to_string();
        assert!(text.contains("0x8") && text.contains("-8..4"), "{text}");
        let far = Span::of(&[2], &[isize::MAX - 4], 4);
        let last = MOST - isize::MAX as usize;
        assert!(![last + 16, last + 1, MOST].into_iter().any(|first| far.is_addressable(first)));
        assert!(Span::of(&[2], &[-(isize::MAX - 5)], 4).check_address(MOST - 4).is_ok());
        assert!(Span::of(&[0], &[8], 4).is_addressable(usize::MAX), "nothing is touched");
    }

    #[test]
    fn a_span_begins_at_its_lowest_byte() {
        assert_eq!(Span::of(&[3, 2], &[-10, 4], 4).start(100), 80);
        assert_eq!(Span::of(&[3, 2], &[10, 4], 4).start(100), 100);
        assert_eq!(Span::of(&[0, 2], &[-10, 4], 4).start(100), 100);
    }
}
