//! The flags of a consumer's request, and the parts of the description that answer it.

use crate::error::{Advice, Error, Kind, Result};
use crate::layout::{Layout, Order};
use crate::view::flags::{Needs, flags, lies_otherwise, suboffsets_in_c};

flags! {
    /// A consumer's request for a buffer: which parts of the description it reads, and which memory
    /// order it needs.
    ///
    /// A flag of several bits is set if all of them are. Unknown bits are ignored, as CPython's own
    /// exporters do.
    ///
    /// ```
    /// use crossdock::bindings::pep3118::Flags;
    /// use crossdock::layout::{Layout, Order};
    ///
    /// let columns = Layout::contiguous(&[2, 3], 8, Order::ColumnMajor)?;
    /// let given = Flags::FULL_RO.given(&columns, true)?;
    /// assert!(given.shape && given.strides && given.format && !given.suboffsets);
    /// let error = Flags::ND.given(&columns, true).unwrap_err();
    /// assert!(error.is_layout() && error.to_string().contains("[8, 16]"));
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    {
        /// Everything, writable.
        FULL = Self::FULL_RO.0 | Self::WRITABLE.0;
        /// Everything, for reading.
        FULL_RO = Self::INDIRECT.0 | Self::FORMAT.0;
        /// Suboffsets, where there are any.
        INDIRECT = 1 << 8 | Self::STRIDES.0;
        /// C-contiguous (row-major).
        C_CONTIGUOUS = 1 << 5 | Self::STRIDES.0;
        /// Fortran-contiguous (column-major).
        F_CONTIGUOUS = 1 << 6 | Self::STRIDES.0;
        /// Contiguous in either order.
        ANY_CONTIGUOUS = 1 << 7 | Self::STRIDES.0;
        /// Strides and a shape.
        STRIDES = 1 << 4 | Self::ND.0;
        /// A shape.
        ND = 1 << 3;
        /// A format.
        FORMAT = 1 << 2;
        /// Writable elements.
        WRITABLE = 1;
        /// The bytes, in row-major order.
        SIMPLE = 0;
    }
}

impl Flags {
    /// The parts of the description that a consumer with these flags gets for this layout. At most
    /// O(rank); O(1) for consumers that read strides.
    ///
    /// The rule is that of CPython's own exporters, checked in their order.
    ///
    /// # Errors
    ///
    /// `is_read_only`; `is_layout` for an order that the elements do not have, and for strides or
    /// suboffsets that the consumer would have to read, or that a buffer cannot express;
    /// `is_unsupported` for a format without a shape.
    #[inline]
    pub fn given(self, layout: &Layout, readonly: bool) -> Result<Given> {
        const SEES_ALL: Flags = Flags::INDIRECT;
        const ORDERS: Flags = Flags(
            (Flags::C_CONTIGUOUS.0 | Flags::F_CONTIGUOUS.0 | Flags::ANY_CONTIGUOUS.0) & !Flags::STRIDES.0,
        );
        let asks_for_no_more = self.contains(SEES_ALL) && self.0 & ORDERS.0 == 0;
        if asks_for_no_more && !(readonly && self.contains(Self::WRITABLE)) {
            let suboffsets = suboffsets_in_c(layout)?.is_some();
            return Ok(Given { format: self.contains(Self::FORMAT), shape: true, strides: true, suboffsets });
        }
        self.given_less(layout, readonly)
    }

    fn given_less(self, layout: &Layout, readonly: bool) -> Result<Given> {
        if readonly && self.contains(Self::WRITABLE) {
            return Err(Error::new(
                Kind::ReadOnly,
                format!("{self} requests writable elements, but the array is read-only"),
            )
            .advising(Advice::CopyToWrite));
        }
        let needs = Needs {
            indirect: self.contains(Self::INDIRECT),
            row_major: self.contains(Self::C_CONTIGUOUS),
            column_major: self.contains(Self::F_CONTIGUOUS),
            any_order: self.contains(Self::ANY_CONTIGUOUS),
        };
        needs.check(layout, &self)?;
        let strides = self.contains(Self::STRIDES);
        if !strides && !layout.is_contiguous(Order::RowMajor) {
            return Err(lies_otherwise(layout, &self, "row-major order (no strides were requested)"));
        }
        let (shape, format) = (self.contains(Self::ND), self.contains(Self::FORMAT));
        if format && !shape {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "{self} requests both plain bytes (no shape) and the format of elements; request one of \
                    them"
                ),
            ));
        }
        Ok(Given { format, shape, strides, suboffsets: suboffsets_in_c(layout)?.is_some() })
    }
}

/// The parts of the description that a buffer has. The others are null; the item size is always
/// present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The format.
    pub format: bool,
    /// The shape. Without it the buffer has one axis, of as many bytes as there are, and `ndim` is
    /// 1.
    pub shape: bool,
    /// The strides.
    pub strides: bool,
    /// The suboffsets.
    pub suboffsets: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_cpythons() {
        for (flag, bits) in [
            (Flags::SIMPLE, 0),
            (Flags::WRITABLE, 1),
            (Flags::FORMAT, 4),
            (Flags::ND, 8),
            (Flags::STRIDES, 0x18),
            (Flags::C_CONTIGUOUS, 0x38),
            (Flags::F_CONTIGUOUS, 0x58),
            (Flags::ANY_CONTIGUOUS, 0x98),
            (Flags::INDIRECT, 0x118),
            (Flags::FULL_RO, 0x11c),
            (Flags::FULL, 0x11d),
        ] {
            assert_eq!(flag.bits(), bits);
        }
    }

    #[test]
    fn suboffsets_that_c_would_not_follow_are_refused() {
        let rows = |suboffset| Layout::with_suboffsets(&[2], &[8], &[Some(suboffset)], 4).unwrap();
        for flags in [Flags::FULL_RO, Flags::INDIRECT, Flags::INDIRECT | Flags::WRITABLE] {
            assert!(flags.given(&rows(0), false).unwrap().suboffsets);
            let error = flags.given(&rows(-4), false).unwrap_err();
            assert!(error.is_layout() && error.to_string().contains("-4"), "{error}");
        }
    }

    #[test]
    fn flags_are_shown_by_name() {
        for (bits, text) in [
            (0, "SIMPLE"),
            (0x11d, "FULL"),
            (0x3d, "C_CONTIGUOUS | FORMAT | WRITABLE"),
            (0x10, "0x10"),
            (0x1c | 0x400, "STRIDES | FORMAT | 0x400"),
        ] {
            assert_eq!(Flags::from_bits(bits).to_string(), text);
        }
    }
}
