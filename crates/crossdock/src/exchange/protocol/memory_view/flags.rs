//! What a consumer asks for, as bits.

use core::ffi::c_int;
use std::fmt;
use std::ops::BitOr;

use crate::error::{Error, Kind, Result};
use crate::layout::{Layout, Order};
use crate::view::bits;

/// What a consumer asks of a view at least. Whatever the producer thinks of it, the hub gives no view that does not keep to it.
///
/// | flag | a view has |
/// |---|---|
/// | `SIMPLE` | what every view has: shape, strides, format and item size filled in, no suboffsets |
/// | `WRITABLE` | elements that may be written |
/// | `FORMAT`, `MULTI_DIMENSIONAL`, `STRIDES` | what every view has |
/// | `ROW_MAJOR`, `COLUMN_MAJOR` | its elements in that order, without gaps |
/// | `ANY_CONTIGUOUS` | its elements in one of the two orders: the bits are those of both, and cannot be told from them |
/// | `INDIRECT` | suboffsets, where the array is indirect. Without this flag such an array is refused |
///
/// A flag of several bits is asked for by all of them, as the original tests it. Bits that mean nothing here are refused, since nobody
/// could keep what they ask for.
///
/// ```
/// use crossdock::exchange::protocol::memory_view::Flags;
///
/// let flags = Flags::WRITABLE | Flags::ROW_MAJOR;
/// assert!(flags.contains(Flags::STRIDES) && !flags.contains(Flags::COLUMN_MAJOR));
/// assert_eq!(flags.bits(), 29);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(c_int);

impl Flags {
    /// Nothing in particular.
    pub const SIMPLE: Self = Self(0);
    /// Elements that may be written.
    pub const WRITABLE: Self = Self(1);
    /// A format. Every view has one.
    pub const FORMAT: Self = Self(1 << 1);
    /// A shape. Every view has one.
    pub const MULTI_DIMENSIONAL: Self = Self(1 << 2);
    /// Strides. Every view has them.
    pub const STRIDES: Self = Self(1 << 3 | 1 << 2);
    /// Row-major order, without gaps.
    pub const ROW_MAJOR: Self = Self(1 << 4 | Self::STRIDES.0);
    /// Column-major order, without gaps.
    pub const COLUMN_MAJOR: Self = Self(1 << 5 | Self::STRIDES.0);
    /// One of the two orders.
    pub const ANY_CONTIGUOUS: Self = Self(Self::ROW_MAJOR.0 | Self::COLUMN_MAJOR.0);
    /// Suboffsets, where there are any.
    pub const INDIRECT: Self = Self(1 << 6 | Self::STRIDES.0);

    const KNOWN: c_int = Self::WRITABLE.0 | Self::FORMAT.0 | Self::ANY_CONTIGUOUS.0 | Self::INDIRECT.0;
    /// The bits that a consumer may set without asking for more than every view has.
    const FREE: c_int = Self::FORMAT.0 | Self::STRIDES.0;

    /// Flags as C has them.
    #[inline]
    pub const fn from_bits(bits: c_int) -> Self {
        Self(bits)
    }

    /// Flags as C has them.
    #[doc(hidden)]
    #[inline]
    pub const fn bits(self) -> c_int {
        self.0
    }

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the elements are to be written.
    #[inline]
    pub(super) const fn is_writable(self) -> bool {
        self.contains(Self::WRITABLE)
    }

    /// Whether every direct array keeps what is asked, but for writing.
    #[inline]
    pub(super) fn is_modest(self) -> bool {
        self.0 & !(Self::FREE | Self::WRITABLE.0) == 0
    }

    /// Checks that an array which lies so keeps what is asked, but for writing.
    ///
    /// # Errors
    ///
    /// `is_unsupported` for unknown bits, `is_layout` for another order and for suboffsets that were not asked for.
    #[inline]
    pub(super) fn check_layout(self, layout: &Layout) -> Result<()> {
        if self.is_modest() && layout.suboffsets().is_none() {
            return Ok(());
        }
        self.check_demanding(layout)
    }

    fn check_demanding(self, layout: &Layout) -> Result<()> {
        self.check_known()?;
        if let Some(suboffsets) = layout.suboffsets().filter(|_| !self.contains(Self::INDIRECT)) {
            return Err(Error::new(
                Kind::Layout,
                format!(
                    "the array follows pointers (suboffsets {suboffsets:?}), which {self} does not ask for: ask for \
                     INDIRECT, or for a copy"
                ),
            ));
        }
        let lies = |order| layout.is_contiguous(order);
        let kept = match (self.contains(Self::ROW_MAJOR), self.contains(Self::COLUMN_MAJOR)) {
            (true, true) => lies(Order::RowMajor) || lies(Order::ColumnMajor),
            (true, false) => lies(Order::RowMajor),
            (false, true) => lies(Order::ColumnMajor),
            (false, false) => true,
        };
        if kept {
            return Ok(());
        }
        Err(Error::new(
            Kind::Layout,
            format!(
                "{self} asks for elements in that order without gaps, and shape {:?} with strides {:?} and items of {} \
                 bytes does not have them so",
                layout.shape(),
                layout.strides(),
                layout.itemsize()
            ),
        ))
    }

    /// # Errors
    ///
    /// `is_unsupported` for unknown bits.
    pub(super) fn check_known(self) -> Result<()> {
        let unknown = self.0 & !Self::KNOWN;
        if unknown == 0 {
            return Ok(());
        }
        let text = format!(
            "the flags {:#x} have the bits {unknown:#x}, which ask for nothing that is known",
            self.0
        );
        Err(Error::new(Kind::Unsupported, text))
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Flags {
    /// The names of the greatest flags that are contained, and the bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(c_int, &str); 8] = [
            (Flags::ANY_CONTIGUOUS.0, "ANY_CONTIGUOUS"),
            (Flags::ROW_MAJOR.0, "ROW_MAJOR"),
            (Flags::COLUMN_MAJOR.0, "COLUMN_MAJOR"),
            (Flags::INDIRECT.0, "INDIRECT"),
            (Flags::STRIDES.0, "STRIDES"),
            (Flags::MULTI_DIMENSIONAL.0, "MULTI_DIMENSIONAL"),
            (Flags::FORMAT.0, "FORMAT"),
            (Flags::WRITABLE.0, "WRITABLE"),
        ];
        bits::show(self.0, &NAMES, f)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
