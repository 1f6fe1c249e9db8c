//! The flags of a consumer's request.

use core::ffi::c_int;

use crate::error::{Error, Kind, Result};
use crate::layout::Layout;
use crate::view::flags::{Needs, flags};

flags! {
    /// A consumer's minimum requirements of a view. The hub returns only views that meet them,
    /// whatever the producer answers.
    ///
    /// | flag | a view has |
    /// |---|---|
    /// | `SIMPLE` | what every view has: shape, strides, format and item size, no suboffsets |
    /// | `WRITABLE` | writable elements |
    /// | `FORMAT`, `MULTI_DIMENSIONAL`, `STRIDES` | what every view has |
    /// | `ROW_MAJOR`, `COLUMN_MAJOR` | contiguous elements in that order |
    /// | `ANY_CONTIGUOUS` | contiguous elements in either order; its bits are those of both flags |
    /// | `INDIRECT` | suboffsets, if the array is indirect, which is refused otherwise |
    ///
    /// A flag of several bits is requested by all of them, as Ruby tests it. Unknown bits are
    /// refused, because no producer can meet them.
    ///
    /// ```
    /// use crossdock::exchange::protocol::memory_view::Flags;
    ///
    /// let flags = Flags::WRITABLE | Flags::ROW_MAJOR;
    /// assert!(flags.contains(Flags::STRIDES) && !flags.contains(Flags::COLUMN_MAJOR));
    /// assert_eq!(flags.bits(), 29);
    /// ```
    {
        /// One of the two orders.
        ANY_CONTIGUOUS = Self::ROW_MAJOR.0 | Self::COLUMN_MAJOR.0;
        /// C-contiguous (row-major).
        ROW_MAJOR = 1 << 4 | Self::STRIDES.0;
        /// Fortran-contiguous (column-major).
        COLUMN_MAJOR = 1 << 5 | Self::STRIDES.0;
        /// Suboffsets, where there are any.
        INDIRECT = 1 << 6 | Self::STRIDES.0;
        /// Strides. Every view has them.
        STRIDES = 1 << 3 | Self::MULTI_DIMENSIONAL.0;
        /// A shape. Every view has one.
        MULTI_DIMENSIONAL = 1 << 2;
        /// A format. Every view has one.
        FORMAT = 1 << 1;
        /// Writable elements.
        WRITABLE = 1;
        /// No requirement.
        SIMPLE = 0;
    }
}

impl Flags {
    const KNOWN: c_int = Self::WRITABLE.0 | Self::FORMAT.0 | Self::ANY_CONTIGUOUS.0 | Self::INDIRECT.0;
    /// The bits that request no more than every view has.
    const FREE: c_int = Self::FORMAT.0 | Self::STRIDES.0;

    /// Whether the consumer wants to write.
    #[inline]
    pub(super) const fn is_writable(self) -> bool {
        self.contains(Self::WRITABLE)
    }

    /// Whether every direct array meets the flags, apart from `WRITABLE`.
    #[inline]
    pub(super) fn is_modest(self) -> bool {
        self.0 & !(Self::FREE | Self::WRITABLE.0) == 0
    }

    /// Checks that an array of this layout meets the flags, apart from `WRITABLE`.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for unknown bits, `is_layout` for another order and for suboffsets without
    /// `INDIRECT`.
    #[inline]
    pub(super) fn check_layout(self, layout: &Layout) -> Result<()> {
        if self.is_modest() && layout.suboffsets().is_none() {
            return Ok(());
        }
        self.check_demanding(layout)
    }

    fn check_demanding(self, layout: &Layout) -> Result<()> {
        self.check_known()?;
        let (row_major, column_major) = (self.contains(Self::ROW_MAJOR), self.contains(Self::COLUMN_MAJOR));
        let any_order = row_major && column_major;
        let needs = Needs {
            indirect: self.contains(Self::INDIRECT),
            row_major: row_major && !any_order,
            column_major: column_major && !any_order,
            any_order,
        };
        needs.check(layout, &self)
    }

    /// # Errors
    ///
    /// `is_unsupported` for unknown bits.
    pub(super) fn check_known(self) -> Result<()> {
        let unknown = self.0 & !Self::KNOWN;
        if unknown == 0 {
            return Ok(());
        }
        let text = format!("the flags {:#x} have unknown bits {unknown:#x}", self.0);
        Err(Error::new(Kind::Unsupported, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Order;

    #[test]
    fn the_bits_are_the_originals() {
        let bits = [
            (Flags::SIMPLE, 0),
            (Flags::WRITABLE, 1),
            (Flags::FORMAT, 2),
            (Flags::MULTI_DIMENSIONAL, 4),
            (Flags::STRIDES, 12),
            (Flags::ROW_MAJOR, 28),
            (Flags::COLUMN_MAJOR, 44),
            (Flags::ANY_CONTIGUOUS, 60),
            (Flags::INDIRECT, 76),
        ];
        for (flag, bits) in bits {
            assert_eq!(flag.bits(), bits);
        }
    }

    #[test]
    fn flags_are_shown_by_name() {
        assert_eq!(Flags::SIMPLE.to_string(), "SIMPLE");
        assert_eq!((Flags::WRITABLE | Flags::ANY_CONTIGUOUS).to_string(), "ANY_CONTIGUOUS | WRITABLE");
        assert_eq!((Flags::ROW_MAJOR | Flags::INDIRECT).to_string(), "ROW_MAJOR | INDIRECT");
        assert_eq!(Flags::from_bits(0x81).to_string(), "WRITABLE | 0x80");
    }

    #[test]
    fn bits_that_mean_nothing_are_refused() {
        let layout = Layout::contiguous(&[2, 3], 4, Order::RowMajor).unwrap();
        for bits in [0x80, -1, c_int::MIN, 0x100 | 28] {
            let error = Flags::from_bits(bits).check_layout(&layout).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains("bits"), "{error}");
        }
        for bits in 0..0x80 {
            // A lone bit of a flag of several is not that flag.
            let column_major_only = bits & 44 == 44 && bits & 28 != 28;
            assert_eq!(Flags::from_bits(bits).check_layout(&layout).is_err(), column_major_only, "{bits}");
        }
    }
}
