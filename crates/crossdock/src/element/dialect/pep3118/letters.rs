//! The letters of a format, and the marks that set width, alignment and byte order of the following
//! items.

use crate::element::{ByteOrder, Scalar, ScalarKind};
use crate::memory::os::LONG_DOUBLE_IS_DOUBLE;
use std::ffi::{CStr, c_int, c_long, c_longlong, c_short};

/// The meaning of a mark for the following items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `@` or no mark: C's own widths, each item aligned as in C.
    Aligned,
    /// `^`: C's own widths, no padding.
    Packed,
    /// `=`, `<`, `>`, `!`: the same widths on every machine, no padding.
    Standard(ByteOrder),
}

impl Mode {
    pub(super) fn of_mark(mark: u8) -> Option<Self> {
        Some(match mark {
            b'@' => Self::Aligned,
            b'^' => Self::Packed,
            b'=' => Self::Standard(ByteOrder::NATIVE),
            b'<' => Self::Standard(ByteOrder::Little),
            b'>' | b'!' => Self::Standard(ByteOrder::Big),
            _ => return None,
        })
    }

    pub(super) fn byte_order(self) -> ByteOrder {
        match self {
            Self::Aligned | Self::Packed => ByteOrder::NATIVE,
            Self::Standard(order) => order,
        }
    }

    fn is_standard(self) -> bool {
        matches!(self, Self::Standard(_))
    }
}

/// The kind of an integer of C's width.
const fn integer<T>(signed: bool) -> ScalarKind {
    match (size_of::<T>(), signed) {
        (2, true) => ScalarKind::Int16,
        (2, false) => ScalarKind::UInt16,
        (4, true) => ScalarKind::Int32,
        (4, false) => ScalarKind::UInt32,
        (8, true) => ScalarKind::Int64,
        (8, false) => ScalarKind::UInt64,
        _ => panic!("C has integers of 2, 4 and 8 bytes behind these letters"),
    }
}

/// What a letter means. [`complex`] handles `Z` and the letter after it.
pub(super) fn number(letter: u8, mode: Mode) -> Option<ScalarKind> {
    let width = |standard, native| Some(if mode.is_standard() { standard } else { native });
    match letter {
        b'?' => Some(ScalarKind::Bool),
        b'b' => Some(ScalarKind::Int8),
        b'B' => Some(ScalarKind::UInt8),
        b'c' => Some(ScalarKind::Bytes(1)),
        b'h' => width(ScalarKind::Int16, const { integer::<c_short>(true) }),
        b'H' => width(ScalarKind::UInt16, const { integer::<c_short>(false) }),
        b'i' => width(ScalarKind::Int32, const { integer::<c_int>(true) }),
        b'I' => width(ScalarKind::UInt32, const { integer::<c_int>(false) }),
        b'l' => width(ScalarKind::Int32, const { integer::<c_long>(true) }),
        b'L' => width(ScalarKind::UInt32, const { integer::<c_long>(false) }),
        b'q' => width(ScalarKind::Int64, const { integer::<c_longlong>(true) }),
        b'Q' => width(ScalarKind::UInt64, const { integer::<c_longlong>(false) }),
        // C's `ssize_t` and `size_t` have no standard width.
        b'n' if !mode.is_standard() => Some(const { integer::<isize>(true) }),
        b'N' if !mode.is_standard() => Some(const { integer::<usize>(false) }),
        b'e' => Some(ScalarKind::Float16),
        b'f' => Some(ScalarKind::Float32),
        b'd' => Some(ScalarKind::Float64),
        b'g' if LONG_DOUBLE_IS_DOUBLE => Some(ScalarKind::Float64),
        b'g' => Some(ScalarKind::LongDouble),
        // As CPython 3.14 and its ctypes have them.
        b'F' => complex(b'f'),
        b'D' => complex(b'd'),
        b'G' => complex(b'g'),
        // ctypes writes it with a mark; an address is always in native byte order.
        b'P' if mode.byte_order() == ByteOrder::NATIVE => Some(ScalarKind::Pointer),
        _ => None,
    }
}

/// Whether `long` is as wide as `long long`, so that two letters name the same integer.
const LONG_HAS_8_BYTES: bool = size_of::<c_long>() == 8;

/// A number in this mode. Where two C types have the same width, it remembers which of them the
/// letter names: NumPy distinguishes `long` from `long long`, and its users see the difference
/// (`np.int64` is one of them).
pub(super) fn named(scalar: Scalar, letter: u8, mode: Mode) -> Scalar {
    let is_long_long = LONG_HAS_8_BYTES && !mode.is_standard() && matches!(letter, b'q' | b'Q');
    if is_long_long { scalar.as_long_long() } else { scalar }
}

/// What `Z` and this letter mean.
pub(super) fn complex(letter: u8) -> Option<ScalarKind> {
    Some(match letter {
        b'f' => ScalarKind::Complex64,
        b'd' => ScalarKind::Complex128,
        b'g' if LONG_DOUBLE_IS_DOUBLE => ScalarKind::Complex128,
        b'g' => ScalarKind::ComplexLongDouble,
        _ => return None,
    })
}

/// The reason why a letter of other producers is not supported.
pub(super) fn refused(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'O' => "object references ('O') are not supported: they are valid in one interpreter only",
        b'u' => "text ('u') is not supported: exporters write it for characters of 2 and of 4 bytes",
        b'&' => "typed pointers ('&') are not supported: the memory they point to is not exported",
        b'X' => "pointers to functions ('X') are not supported",
        b't' => "bit fields ('t') are not supported: an element is a whole number of bytes",
        b'z' | b'Z' => {
            "pointers to strings ('z', 'Z') are not supported: the memory they point to is not exported"
        }
        _ => return None,
    })
}

/// The letter written in this mode for a scalar that needs no count: the inverse of [`number`] and
/// [`complex`]. An integer of 8 bytes is written as `long` where C's `long` has 8 bytes, as in
/// NumPy, unless it was read as `long long`.
pub(super) fn spelling(scalar: Scalar, mode: Mode) -> Option<&'static CStr> {
    use ScalarKind::*;
    let is_long = LONG_HAS_8_BYTES && !mode.is_standard() && !scalar.is_long_long();
    Some(match scalar.kind() {
        Int64 if is_long => c"l",
        UInt64 if is_long => c"L",
        Bool => c"?",
        Int8 => c"b",
        UInt8 => c"B",
        Int16 => c"h",
        UInt16 => c"H",
        Int32 => c"i",
        UInt32 => c"I",
        Int64 => c"q",
        UInt64 => c"Q",
        Float16 => c"e",
        Float32 => c"f",
        Float64 => c"d",
        LongDouble if !LONG_DOUBLE_IS_DOUBLE => c"g",
        Complex64 => c"Zf",
        Complex128 => c"Zd",
        ComplexLongDouble if !LONG_DOUBLE_IS_DOUBLE => c"Zg",
        Bytes(1) => c"c",
        Pointer => c"P",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_double_is_that_of_c_on_this_platform() {
        let expected = match LONG_DOUBLE_IS_DOUBLE {
            true => [ScalarKind::Float64, ScalarKind::Complex128],
            false => [ScalarKind::LongDouble, ScalarKind::ComplexLongDouble],
        };
        for mode in [Mode::Aligned, Mode::Packed, Mode::Standard(ByteOrder::NATIVE)] {
            assert_eq!([number(b'g', mode), complex(b'g')], expected.map(Some));
        }
        // One of 16 bytes has no letter where C's has 8.
        let wide = [ScalarKind::LongDouble, ScalarKind::ComplexLongDouble];
        let spelt = wide.map(|kind| spelling(Scalar::native(kind), Mode::Packed));
        assert_eq!(spelt, if LONG_DOUBLE_IS_DOUBLE { [None, None] } else { [Some(c"g"), Some(c"Zg")] });
    }
}
