//! Elements without parts: their kinds, widths and byte orders.

use crate::element::TimeUnit;
use crate::error::{Error, Kind, Result};
use std::fmt;
use std::hash::{Hash, Hasher};

/// The byte order of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };

    /// The other order.
    #[must_use]
    pub const fn swapped(self) -> Self {
        match self {
            Self::Little => Self::Big,
            Self::Big => Self::Little,
        }
    }

    /// `<` or `>`, the mark that NumPy, PEP 3118 and Ruby share.
    pub const fn symbol(self) -> char {
        match self {
            Self::Little => '<',
            Self::Big => '>',
        }
    }
}

/// The kind of a scalar, without its byte order.
///
/// Floats of 6 and 4 bits are held one to a byte, in its low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScalarKind {
    /// One byte: zero is false, anything else is true.
    Bool,
    /// Signed, 1 byte.
    Int8,
    /// Signed, 2 bytes.
    Int16,
    /// Signed, 4 bytes.
    Int32,
    /// Signed, 8 bytes.
    Int64,
    /// Unsigned, 1 byte.
    UInt8,
    /// Unsigned, 2 bytes.
    UInt16,
    /// Unsigned, 4 bytes.
    UInt32,
    /// Unsigned, 8 bytes.
    UInt64,
    /// IEEE binary16.
    Float16,
    /// IEEE binary32.
    Float32,
    /// IEEE binary64.
    Float64,
    /// The upper half of a binary32.
    BFloat16,
    /// C's `long double` of 16 bytes: on x86 the 80-bit extended format and 6 bytes of padding, on
    /// other processors IEEE binary128.
    LongDouble,
    /// 3 exponent and 4 mantissa bits, IEEE style.
    Float8E3M4,
    /// 4 exponent and 3 mantissa bits, IEEE style.
    Float8E4M3,
    /// 4 exponent and 3 mantissa bits, bias 11; finite, one NaN, no negative zero.
    Float8E4M3B11Fnuz,
    /// 4 exponent and 3 mantissa bits; finite, two NaNs.
    Float8E4M3Fn,
    /// 4 exponent and 3 mantissa bits, bias 8; finite, one NaN, no negative zero.
    Float8E4M3Fnuz,
    /// 5 exponent and 2 mantissa bits, IEEE style.
    Float8E5M2,
    /// 5 exponent and 2 mantissa bits, bias 16; finite, one NaN, no negative zero.
    Float8E5M2Fnuz,
    /// 8 exponent bits alone: a power of two, or NaN.
    Float8E8M0Fnu,
    /// 2 exponent and 3 mantissa bits; neither infinity nor NaN. One per byte.
    Float6E2M3Fn,
    /// 3 exponent and 2 mantissa bits; neither infinity nor NaN. One per byte.
    Float6E3M2Fn,
    /// 2 exponent and 1 mantissa bit; neither infinity nor NaN. One per byte.
    Float4E2M1Fn,
    /// Two binary16.
    Complex32,
    /// Two binary32.
    Complex64,
    /// Two binary64.
    Complex128,
    /// Two `long double`.
    ComplexLongDouble,
    /// An address of 8 bytes. Opaque: it is shown, never followed.
    Pointer,
    /// Fixed-width bytes, shorter values padded with NUL (NumPy's `S`).
    Bytes(u32),
    /// Fixed-width text of 4-byte code points, shorter values padded with NUL (NumPy's `U`).
    Text(u32),
    /// Opaque bytes (NumPy's `V`).
    Void(u32),
    /// Signed 8-byte count of a unit since 1970-01-01T00:00.
    DateTime(TimeUnit),
    /// Signed 8-byte count of a unit.
    TimeDelta(TimeUnit),
}

impl ScalarKind {
    /// The maximum number of bytes of a scalar, NumPy's limit.
    #[doc(hidden)]
    pub const MAX_NBYTES: usize = i32::MAX as usize;

    /// Whether elements are integers: of 8 to 64 bits, without a unit.
    #[doc(hidden)]
    pub const fn is_integer(self) -> bool {
        use ScalarKind::*;
        matches!(self, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
    }

    /// Whether elements are floats of any width, or consist of them: what NumPy calls inexact.
    #[doc(hidden)]
    pub const fn is_inexact(self) -> bool {
        use ScalarKind::*;
        !self.is_integer()
            && !matches!(self, Bool | Pointer | Bytes(_) | Text(_) | Void(_) | DateTime(_) | TimeDelta(_))
    }

    /// Width in bytes. O(1).
    pub const fn itemsize(self) -> usize {
        use ScalarKind::*;
        match self {
            Bytes(len) | Void(len) => len as usize,
            // With pointers of 32 bits, too; `Scalar::new` refuses what is too wide.
            Text(len) => (len as usize).saturating_mul(4),
            Complex32 | Complex64 | Complex128 | ComplexLongDouble => 2 * self.component_size(),
            _ => self.component_size(),
        }
    }

    /// The number of bytes in one byte swap: half of a complex number, one code point of a text, 1
    /// if there is nothing to swap.
    #[doc(hidden)]
    pub const fn component_size(self) -> usize {
        use ScalarKind::*;
        match self {
            Bool | Int8 | UInt8 | Bytes(_) | Void(_) => 1,
            Float8E3M4 | Float8E4M3 | Float8E4M3B11Fnuz | Float8E4M3Fn | Float8E4M3Fnuz => 1,
            Float8E5M2 | Float8E5M2Fnuz | Float8E8M0Fnu | Float6E2M3Fn | Float6E3M2Fn | Float4E2M1Fn => 1,
            Int16 | UInt16 | Float16 | BFloat16 | Complex32 => 2,
            Int32 | UInt32 | Float32 | Complex64 | Text(_) => 4,
            Int64 | UInt64 | Float64 | Complex128 | DateTime(_) | TimeDelta(_) | Pointer => 8,
            LongDouble | ComplexLongDouble => 16,
        }
    }

    /// Whether it has a byte order. A pointer is always in native order.
    #[doc(hidden)]
    pub const fn has_byte_order(self) -> bool {
        self.component_size() > 1 && !matches!(self, Self::Pointer)
    }
}

impl ScalarKind {
    /// The name, of a kind whose name has no parts.
    pub(crate) fn name(self) -> Option<&'static str> {
        use ScalarKind::*;
        Some(match self {
            Bool => "bool",
            Int8 => "int8",
            Int16 => "int16",
            Int32 => "int32",
            Int64 => "int64",
            UInt8 => "uint8",
            UInt16 => "uint16",
            UInt32 => "uint32",
            UInt64 => "uint64",
            Float16 => "float16",
            Float32 => "float32",
            Float64 => "float64",
            BFloat16 => "bfloat16",
            LongDouble => "longdouble",
            Float8E3M4 => "float8_e3m4",
            Float8E4M3 => "float8_e4m3",
            Float8E4M3B11Fnuz => "float8_e4m3b11fnuz",
            Float8E4M3Fn => "float8_e4m3fn",
            Float8E4M3Fnuz => "float8_e4m3fnuz",
            Float8E5M2 => "float8_e5m2",
            Float8E5M2Fnuz => "float8_e5m2fnuz",
            Float8E8M0Fnu => "float8_e8m0fnu",
            Float6E2M3Fn => "float6_e2m3fn",
            Float6E3M2Fn => "float6_e3m2fn",
            Float4E2M1Fn => "float4_e2m1fn",
            Complex32 => "complex32",
            Complex64 => "complex64",
            Complex128 => "complex128",
            ComplexLongDouble => "clongdouble",
            Pointer => "pointer",
            Bytes(_) | Text(_) | Void(_) | DateTime(_) | TimeDelta(_) => return None,
        })
    }
}

/// NumPy's names, `longdouble` and `clongdouble` for C's long double, and `complex32`, `bfloat16`,
/// `float8_e4m3fn`, … where NumPy has none.
impl fmt::Display for ScalarKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ScalarKind::*;
        match self {
            Bytes(len) => write!(f, "S{len}"),
            Text(len) => write!(f, "U{len}"),
            Void(len) => write!(f, "V{len}"),
            DateTime(unit) => write!(f, "datetime64[{unit}]"),
            TimeDelta(unit) => write!(f, "timedelta64[{unit}]"),
            _ => f.write_str(self.name().unwrap_or_default()),
        }
    }
}

/// A kind with its byte order: an element that has no parts.
///
/// ```
/// use crossdock::element::{ByteOrder, Scalar, ScalarKind};
///
/// let big = Scalar::new(ScalarKind::Float64, ByteOrder::Big)?;
/// assert_eq!(big.itemsize(), 8);
/// // What has no byte order is equal whichever was given.
/// let byte = Scalar::new(ScalarKind::UInt8, ByteOrder::Big)?;
/// assert_eq!(byte, Scalar::new(ScalarKind::UInt8, ByteOrder::Little)?);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Scalar {
    /// 1. `kind.itemsize() <= ScalarKind::MAX_NBYTES`.
    kind: ScalarKind,
    /// 2. `ByteOrder::NATIVE` if the kind has no byte order, so that equality is equality of
    ///    meaning.
    order: ByteOrder,
    /// 3. Set only for integers of 8 bytes: the C type is `long long`, on a platform where `long`
    ///    has 8 bytes, too. It does not change the meaning, so equality and hashes ignore it; the
    ///    dialects that name C types (PEP 3118) write the type that was read.
    long_long: bool,
}

impl PartialEq for Scalar {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.order == other.order
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.order.hash(state);
    }
}

impl Scalar {
    /// A scalar of a kind in a byte order; the order is ignored if the kind has none.
    ///
    /// # Errors
    ///
    /// `is_overflow` for more than [`ScalarKind::MAX_NBYTES`] bytes.
    pub fn new(kind: ScalarKind, order: ByteOrder) -> Result<Self> {
        if kind.itemsize() > ScalarKind::MAX_NBYTES {
            return Err(Error::new(
                Kind::Overflow,
                format!(
                    "an element of {kind} has {} bytes; one scalar has at most {}",
                    kind.itemsize(),
                    ScalarKind::MAX_NBYTES
                ),
            ));
        }
        let order = if kind.has_byte_order() { order } else { ByteOrder::NATIVE };
        Ok(Self { kind, order, long_long: false })
    }

    /// A kind of fixed and small width in the machine's order.
    pub(super) const fn native(kind: ScalarKind) -> Self {
        Self { kind, order: ByteOrder::NATIVE, long_long: false }
    }

    /// The same integer as C's `long long`; unchanged if it is not an integer of 8 bytes.
    pub(in crate::element) const fn as_long_long(self) -> Self {
        Self { long_long: matches!(self.kind, ScalarKind::Int64 | ScalarKind::UInt64), ..self }
    }

    /// Whether it was read as C's `long long`, not as `long`.
    pub(in crate::element) const fn is_long_long(self) -> bool {
        self.long_long
    }

    /// The kind.
    pub const fn kind(self) -> ScalarKind {
        self.kind
    }

    /// The byte order; `None` if the kind has none.
    pub const fn byte_order(self) -> Option<ByteOrder> {
        if self.kind.has_byte_order() { Some(self.order) } else { None }
    }

    /// Width in bytes.
    pub const fn itemsize(self) -> usize {
        self.kind.itemsize()
    }

    /// The natural alignment in bytes: that of one component.
    pub const fn alignment(self) -> usize {
        self.kind.component_size()
    }

    /// Whether this machine reads it without swapping bytes.
    pub const fn is_native(self) -> bool {
        matches!(
            (self.order, ByteOrder::NATIVE),
            (ByteOrder::Little, ByteOrder::Little) | (ByteOrder::Big, ByteOrder::Big)
        )
    }

    /// The same kind in a byte order; unchanged if it has none.
    #[must_use]
    pub const fn with_byte_order(self, order: ByteOrder) -> Self {
        if self.kind.has_byte_order() { Self { order, ..self } } else { self }
    }

    /// The same kind byte-swapped; unchanged if it has no byte order.
    #[must_use]
    pub const fn swapped(self) -> Self {
        if self.kind.has_byte_order() { Self { order: self.order.swapped(), ..self } } else { self }
    }
}

/// The kind, prefixed with `<` or `>` if the byte order is not native.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_native() {
            write!(f, "{}", self.order.symbol())?;
        }
        fmt::Display::fmt(&self.kind, f)
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scalar({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_only_where_there_is_one() {
        for kind in [
            ScalarKind::Bool,
            ScalarKind::UInt8,
            ScalarKind::Float8E5M2,
            ScalarKind::Bytes(7),
            ScalarKind::Void(16),
            ScalarKind::Pointer,
        ] {
            let scalar = Scalar::new(kind, ByteOrder::NATIVE.swapped()).unwrap();
            assert_eq!(scalar, Scalar::native(kind));
            assert_eq!(scalar.byte_order(), None);
            assert_eq!(scalar.swapped(), scalar);
            assert!(scalar.is_native());
        }
        let text = Scalar::new(ScalarKind::Text(5), ByteOrder::NATIVE.swapped()).unwrap();
        assert!(!text.is_native());
        assert_eq!(text.swapped(), Scalar::native(ScalarKind::Text(5)));
    }

    #[test]
    fn widths_and_alignments() {
        for (kind, itemsize, alignment) in [
            (ScalarKind::Bool, 1, 1),
            (ScalarKind::BFloat16, 2, 2),
            (ScalarKind::Complex32, 4, 2),
            (ScalarKind::Complex128, 16, 8),
            (ScalarKind::LongDouble, 16, 16),
            (ScalarKind::ComplexLongDouble, 32, 16),
            (ScalarKind::Float4E2M1Fn, 1, 1),
            (ScalarKind::Text(5), 20, 4),
            (ScalarKind::Bytes(0), 0, 1),
            (ScalarKind::DateTime(TimeUnit::GENERIC), 8, 8),
        ] {
            let scalar = Scalar::new(kind, ByteOrder::Little).unwrap();
            assert_eq!((scalar.itemsize(), scalar.alignment()), (itemsize, alignment), "{kind}");
        }
    }

    #[test]
    fn widths_are_bounded() {
        assert!(Scalar::new(ScalarKind::Text(u32::MAX), ByteOrder::Little).unwrap_err().is_overflow());
        assert!(Scalar::new(ScalarKind::Bytes(1 << 31), ByteOrder::Little).unwrap_err().is_overflow());
        assert!(Scalar::new(ScalarKind::Bytes((1 << 31) - 1), ByteOrder::Little).is_ok());
    }
}
