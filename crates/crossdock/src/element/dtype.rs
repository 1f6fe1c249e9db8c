//! The type of one element: a tree of scalars, records and sub-arrays.

use crate::element::record::TreeProperties;
use crate::element::{ByteOrder, Field, Record, Scalar, ScalarKind, SubArray, TimeUnit};
use crate::error::{Error, Kind, Result};
use std::fmt;
use std::sync::Arc;

/// The type of one element: a scalar, a record with named fields, or a sub-array.
///
/// Two dtypes are equal when they describe the same bytes with the same names. A clone costs a few
/// instructions: scalars lie inline, records and sub-arrays are shared. Trees are bounded
/// (`MAX_DEPTH`, `MAX_PARTS`), so walking one cannot exhaust the stack.
///
/// [`Display`](fmt::Display) writes NumPy's names, prefixed with a non-native byte order
/// (`float64`, `>float64`, `S10`, `datetime64[ns]`), `(2, 3)float64` for a sub-array, and `{x:
/// float32 @0, y: float64 @8; 16}` for a record: fields with their offsets, then the size in bytes.
///
/// ```
/// use crossdock::element::DType;
///
/// let trade = DType::packed_record([
///     ("price", DType::F64),
///     ("volume", DType::U32),
///     ("codes", DType::subarray(&[2], DType::bytes(4)?)?),
/// ])?;
/// assert_eq!(trade.itemsize(), 20);
/// assert_eq!(trade.field("volume").unwrap().offset(), 8);
/// assert_eq!(trade.to_string(), "{price: float64 @0, volume: uint32 @8, codes: (2,)S4 @12; 20}");
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(PartialEq, Eq, Hash)]
pub struct DType(DTypeRepr);

#[derive(PartialEq, Eq, Hash)]
enum DTypeRepr {
    Scalar(Scalar),
    Record(Arc<Record>),
    SubArray(Arc<SubArray>),
}

// Every array and every view contains a dtype, so it must not be larger than a fat pointer.
const _: () = assert!(size_of::<DType>() <= 16);

impl Clone for DType {
    // Not derived: a copy field by field is next read as a whole, and the CPU cannot forward many
    // narrow stores to one wide load. That alone was a fifth of the cost of an export.
    #[inline]
    fn clone(&self) -> Self {
        match &self.0 {
            DTypeRepr::Scalar(_) => {}
            // The count of the clone, which is read as bits below.
            DTypeRepr::Record(record) => std::mem::forget(Arc::clone(record)),
            DTypeRepr::SubArray(subarray) => std::mem::forget(Arc::clone(subarray)),
        }
        // SAFETY: `self` is a valid `DType`. A scalar is `Copy` data without a destructor; of the
        // other variants, the count that the arm above added belongs to these bits.
        unsafe { std::ptr::read(self) }
    }
}

/// The kind of a [`DType`], for matching.
#[derive(Clone, Copy, Debug)]
pub enum DTypeKind<'a> {
    /// No parts.
    Scalar(Scalar),
    /// Named fields.
    Record(&'a Record),
    /// A fixed shape of equal elements.
    SubArray(&'a SubArray),
}

macro_rules! native_scalars {
    ($($name:ident = $kind:ident, $doc:literal;)*) => {
        /// Scalars in the machine's byte order.
        impl DType {
            $(
                #[doc = $doc]
                pub const $name: Self = Self(DTypeRepr::Scalar(Scalar::native(ScalarKind::$kind)));
            )*
        }
    };
}

native_scalars! {
    BOOL = Bool, "One byte: zero is false, anything else is true.";
    I8 = Int8, "Signed, 1 byte.";
    I16 = Int16, "Signed, 2 bytes.";
    I32 = Int32, "Signed, 4 bytes.";
    I64 = Int64, "Signed, 8 bytes.";
    U8 = UInt8, "Unsigned, 1 byte.";
    U16 = UInt16, "Unsigned, 2 bytes.";
    U32 = UInt32, "Unsigned, 4 bytes.";
    U64 = UInt64, "Unsigned, 8 bytes.";
    F16 = Float16, "IEEE binary16.";
    F32 = Float32, "IEEE binary32.";
    F64 = Float64, "IEEE binary64.";
    BF16 = BFloat16, "The upper half of a binary32.";
    C64 = Complex64, "Two binary32.";
    C128 = Complex128, "Two binary64.";
}

impl DType {
    /// A scalar of any kind in the machine's byte order, such as
    /// `native(ScalarKind::Float8E4M3Fn)`.
    pub const fn native(kind: ScalarKind) -> Self {
        Self(DTypeRepr::Scalar(Scalar::native(kind)))
    }

    /// A scalar of any kind and byte order.
    ///
    /// # Errors
    ///
    /// As [`Scalar::new`].
    pub fn scalar(kind: ScalarKind, order: ByteOrder) -> Result<Self> {
        Ok(Scalar::new(kind, order)?.into())
    }

    /// `len` bytes, shorter values padded with NUL (NumPy's `S`).
    ///
    /// # Errors
    ///
    /// `is_overflow` for more than [`ScalarKind::MAX_NBYTES`] bytes.
    pub fn bytes(len: usize) -> Result<Self> {
        Self::sized("S", ScalarKind::Bytes, len)
    }

    /// `len` code points of 4 bytes in the machine's order, shorter values padded with NUL (NumPy's
    /// `U`).
    ///
    /// # Errors
    ///
    /// `is_overflow` for more than [`ScalarKind::MAX_NBYTES`] bytes.
    pub fn text(len: usize) -> Result<Self> {
        Self::sized("U", ScalarKind::Text, len)
    }

    /// `len` opaque bytes (NumPy's `V`).
    ///
    /// # Errors
    ///
    /// `is_overflow` for more than [`ScalarKind::MAX_NBYTES`] bytes.
    pub fn void(len: usize) -> Result<Self> {
        Self::sized("V", ScalarKind::Void, len)
    }

    fn sized(letter: &str, kind: fn(u32) -> ScalarKind, len: usize) -> Result<Self> {
        let len = u32::try_from(len).map_err(|_| {
            Error::new(
                Kind::Overflow,
                format!(
                    "{letter}{len} is wider than {} bytes, the most for one scalar",
                    ScalarKind::MAX_NBYTES
                ),
            )
        })?;
        Self::scalar(kind(len), ByteOrder::NATIVE)
    }

    /// A moment, counted in `unit` since 1970-01-01T00:00.
    pub const fn datetime(unit: TimeUnit) -> Self {
        Self(DTypeRepr::Scalar(Scalar::native(ScalarKind::DateTime(unit))))
    }

    /// A duration, counted in `unit`.
    pub const fn timedelta(unit: TimeUnit) -> Self {
        Self(DTypeRepr::Scalar(Scalar::native(ScalarKind::TimeDelta(unit))))
    }

    /// A record of `itemsize` bytes. Fields may leave gaps, overlap, and stand in any order.
    ///
    /// # Errors
    ///
    /// `is_dtype` for an empty or repeated name (titles count as names here), or a field that
    /// reaches beyond `itemsize`; `is_overflow` for an `itemsize` above `isize::MAX`;
    /// `is_unsupported` beyond `MAX_DEPTH` or `MAX_PARTS`.
    ///
    /// ```
    /// use crossdock::element::{DType, Field};
    ///
    /// // A C struct { uint8_t kind; double value; }, with seven bytes of padding.
    /// let dtype = DType::record([Field::new("kind", 0, DType::U8), Field::new("value", 8, DType::F64)], 16)?;
    /// assert_eq!(dtype.itemsize(), 16);
    /// assert!(!dtype.as_record().unwrap().is_packed());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn record(fields: impl IntoIterator<Item = Field>, itemsize: usize) -> Result<Self> {
        Ok(Self(DTypeRepr::Record(Arc::new(Record::new(fields.into_iter().collect(), itemsize)?))))
    }

    /// A record whose fields follow one another without gaps.
    ///
    /// # Errors
    ///
    /// As [`DType::record`].
    pub fn packed_record<N: Into<String>>(fields: impl IntoIterator<Item = (N, DType)>) -> Result<Self> {
        let mut end = 0_usize;
        let mut placed = Vec::new();
        for (name, dtype) in fields {
            let itemsize = dtype.itemsize();
            placed.push(Field::new(name, end, dtype));
            // At most twice `isize::MAX`, which fits; `record` refuses it below.
            end = end.saturating_add(itemsize);
        }
        Self::record(placed, end)
    }

    /// An element that is a row-major array of `base`. An empty shape returns `base` itself, and a
    /// sub-array of sub-arrays becomes one sub-array with the axes of both.
    ///
    /// # Errors
    ///
    /// `is_overflow` if the shape (without zero extents) times the width of `base` exceeds
    /// `isize::MAX` bytes; `is_unsupported` beyond `MAX_DEPTH`.
    pub fn subarray(shape: &[usize], base: DType) -> Result<Self> {
        if shape.is_empty() {
            return Ok(base);
        }
        Ok(Self(DTypeRepr::SubArray(Arc::new(SubArray::new(shape, base)?))))
    }

    /// The kind, for matching. O(1).
    pub fn kind(&self) -> DTypeKind<'_> {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => DTypeKind::Scalar(*scalar),
            DTypeRepr::Record(record) => DTypeKind::Record(record),
            DTypeRepr::SubArray(subarray) => DTypeKind::SubArray(subarray),
        }
    }

    /// The scalar, if it is one.
    #[inline]
    pub fn as_scalar(&self) -> Option<Scalar> {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// The kind, if it is a number or truth value of a machine type in native byte order.
    #[inline(always)]
    pub(crate) fn as_machine_word(&self) -> Option<ScalarKind> {
        use ScalarKind::*;
        match &self.0 {
            DTypeRepr::Scalar(scalar) if scalar.is_native() => match scalar.kind() {
                kind @ (Bool | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Float32
                | Float64) => Some(kind),
                _ => None,
            },
            _ => None,
        }
    }

    /// The record, if it is one.
    pub fn as_record(&self) -> Option<&Record> {
        match &self.0 {
            DTypeRepr::Record(record) => Some(record),
            _ => None,
        }
    }

    /// The sub-array, if it is one.
    pub fn as_subarray(&self) -> Option<&SubArray> {
        match &self.0 {
            DTypeRepr::SubArray(subarray) => Some(subarray),
            _ => None,
        }
    }

    /// The field of this name, if it is a record that has one. Searches linearly.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.as_record()?.field(name)
    }

    /// Size in bytes: the distance between elements of a contiguous array. At most `isize::MAX`.
    pub fn itemsize(&self) -> usize {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => scalar.itemsize(),
            DTypeRepr::Record(record) => record.itemsize(),
            DTypeRepr::SubArray(subarray) => subarray.itemsize(),
        }
    }

    /// The preferred alignment in bytes: that of a scalar's component, of a sub-array's base, and 1
    /// for a record, whose fields may have any offset. A Rust type may require more: its own is
    /// [`align_of`](std::mem::align_of).
    pub fn alignment(&self) -> usize {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => scalar.alignment(),
            DTypeRepr::Record(_) => 1,
            DTypeRepr::SubArray(subarray) => subarray.base().alignment(),
        }
    }

    /// The byte order of a scalar or of a sub-array's scalars. `None` for single-byte and opaque
    /// scalars, and for records, whose fields have their own.
    pub fn byte_order(&self) -> Option<ByteOrder> {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => scalar.byte_order(),
            DTypeRepr::Record(_) => None,
            DTypeRepr::SubArray(subarray) => subarray.base().byte_order(),
        }
    }

    /// Whether this machine reads every part without swapping bytes. O(1).
    pub fn is_native(&self) -> bool {
        self.parts().is_native()
    }

    /// The same tree with every scalar byte-swapped. O(1) for scalars, otherwise a new tree.
    #[must_use]
    pub fn swapped(&self) -> Self {
        Self(match &self.0 {
            DTypeRepr::Scalar(scalar) => DTypeRepr::Scalar(scalar.swapped()),
            DTypeRepr::Record(record) => DTypeRepr::Record(Arc::new(record.swapped())),
            DTypeRepr::SubArray(subarray) => DTypeRepr::SubArray(Arc::new(subarray.swapped())),
        })
    }

    /// The same tree with every scalar in one byte order. O(1) for scalars, otherwise a new tree.
    ///
    /// ```
    /// use crossdock::element::{ByteOrder, DType};
    ///
    /// let mixed = DType::packed_record([("a", DType::I32), ("b", DType::F64.swapped())])?;
    /// assert!(mixed.with_byte_order(ByteOrder::NATIVE).is_native());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    #[must_use]
    pub fn with_byte_order(&self, order: ByteOrder) -> Self {
        Self(match &self.0 {
            DTypeRepr::Scalar(scalar) => DTypeRepr::Scalar(scalar.with_byte_order(order)),
            DTypeRepr::Record(record) => DTypeRepr::Record(Arc::new(record.with_byte_order(order))),
            DTypeRepr::SubArray(subarray) => DTypeRepr::SubArray(Arc::new(subarray.with_byte_order(order))),
        })
    }

    /// The dtype as text for an error, shortened if it is long. A record may have a million fields.
    #[cold]
    pub(crate) fn brief(&self) -> String {
        const MOST: usize = 160;
        let mut text = self.to_string();
        if let Some((end, _)) = text.char_indices().nth(MOST) {
            text.truncate(end);
            text.push('…');
        }
        text
    }

    pub(super) fn parts(&self) -> TreeProperties {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => TreeProperties::scalar(scalar.is_native()),
            DTypeRepr::Record(record) => record.parts(),
            DTypeRepr::SubArray(subarray) => subarray.parts(),
        }
    }
}

impl From<Scalar> for DType {
    fn from(scalar: Scalar) -> Self {
        Self(DTypeRepr::Scalar(scalar))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            DTypeRepr::Scalar(scalar) => scalar.fmt(f),
            DTypeRepr::Record(record) => record.fmt(f),
            DTypeRepr::SubArray(subarray) => subarray.fmt(f),
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DType({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::MAX_DEPTH;
    use crate::element::record::MAX_PARTS;

    fn swapped(dtype: DType) -> DType {
        dtype.swapped()
    }

    #[test]
    fn a_record_finds_its_fields() {
        let dtype = DType::record(
            [Field::new("x", 0, DType::F32).with_title("easting"), Field::new("y", 8, DType::F64)],
            16,
        )
        .unwrap();
        assert_eq!(dtype.field("y").unwrap().offset(), 8);
        assert_eq!(dtype.field("x").unwrap().title(), Some("easting"));
        assert!(dtype.field("easting").is_none());
        assert!(DType::F64.field("x").is_none());
        assert_eq!(dtype.to_string(), "{x (\"easting\"): float32 @0, y: float64 @8; 16}");
        assert_eq!(dtype.alignment(), 1);
    }

    #[test]
    fn names_in_the_text_are_unambiguous() {
        let dtype = DType::packed_record([("a: int8 @0", DType::U8), ("größe", DType::U8), ("1", DType::U8)])
            .unwrap();
        assert_eq!(dtype.to_string(), "{\"a: int8 @0\": uint8 @0, größe: uint8 @1, \"1\": uint8 @2; 3}");
    }

    #[test]
    fn a_dtype_in_an_error_is_not_longer_than_a_sentence() {
        let long = DType::packed_record((0..5000).map(|index| (format!("ä{index}"), DType::U8))).unwrap();
        assert!(long.brief().starts_with("{ä0: uint8 @0, ä1: uint8 @1") && long.brief().ends_with('…'));
        assert_eq!(long.brief().chars().count(), 161);
        assert_eq!(DType::F64.brief(), "float64");
    }

    #[test]
    fn records_that_lie_are_refused() {
        let field = |name: &str, offset| Field::new(name, offset, DType::F64);
        for fields in [
            vec![field("", 0)],
            vec![field("a", 0), field("a", 8)],
            vec![field("a", 0), field("b", 8).with_title("a")],
            vec![field("a", 0).with_title("a")],
            vec![field("a", 0).with_title("")],
            vec![field("a", 9)],
            vec![field("a", usize::MAX - 3)],
        ] {
            assert!(DType::record(fields.clone(), 16).unwrap_err().is_dtype(), "{fields:?}");
        }
        assert!(DType::record([], usize::MAX).unwrap_err().is_overflow());
        // Overlapping fields are a union, and an empty record is valid.
        assert_eq!(DType::record([field("a", 0), field("b", 4), field("c", 8)], 16).unwrap().itemsize(), 16);
        assert_eq!(DType::record([], 0).unwrap().itemsize(), 0);
    }

    #[test]
    fn a_packed_record_is_packed_and_a_padded_one_is_not() {
        let packed = DType::packed_record([("a", DType::U8), ("b", DType::F64)]).unwrap();
        assert_eq!(packed.itemsize(), 9);
        assert!(packed.as_record().unwrap().is_packed());
        let tail = DType::record([Field::new("a", 0, DType::U8)], 2).unwrap();
        assert!(!tail.as_record().unwrap().is_packed());
        let turned =
            DType::record([Field::new("a", 1, DType::U8), Field::new("b", 0, DType::U8)], 2).unwrap();
        assert!(!turned.as_record().unwrap().is_packed());
    }

    #[test]
    fn a_subarray_of_subarrays_is_one() {
        let inner = DType::subarray(&[3], DType::F32).unwrap();
        let outer = DType::subarray(&[2], inner).unwrap();
        assert_eq!(outer, DType::subarray(&[2, 3], DType::F32).unwrap());
        assert_eq!(outer.to_string(), "(2, 3)float32");
        assert_eq!((outer.itemsize(), outer.alignment()), (24, 4));
        assert_eq!(DType::subarray(&[], DType::F32).unwrap(), DType::F32);
        assert_eq!(DType::subarray(&[0, 5], DType::F32).unwrap().itemsize(), 0);
    }

    #[test]
    fn shapes_that_overflow_are_refused() {
        let (half, eighth) = (usize::BITS / 2, usize::MAX / 8 + 1);
        for shape in [&[usize::MAX][..], &[1 << half, 1 << half], &[0, usize::MAX], &[eighth, 8]] {
            assert!(DType::subarray(shape, DType::U8).unwrap_err().is_overflow(), "{shape:?}");
        }
        let part = DType::subarray(&[eighth], DType::U8).unwrap();
        let fields: Vec<_> = (0..9).map(|index| (index.to_string(), part.clone())).collect();
        assert!(DType::packed_record(fields).unwrap_err().is_overflow());
    }

    #[test]
    fn depth_and_number_of_parts_are_bounded() {
        let mut dtype = DType::U8;
        for _ in 0..MAX_DEPTH {
            dtype = DType::packed_record([("inner", dtype)]).unwrap();
        }
        assert!(DType::packed_record([("inner", dtype.clone())]).unwrap_err().is_unsupported());
        assert!(DType::subarray(&[1], dtype).unwrap_err().is_unsupported());
        assert!(DType::subarray(&[1; MAX_DEPTH + 1], DType::U8).unwrap_err().is_unsupported());

        // Shared halves: small in memory, exponential for a walk.
        let mut dtype = DType::bytes(0).unwrap();
        for _ in 0..MAX_PARTS.ilog2() - 1 {
            dtype = DType::packed_record([("a", dtype.clone()), ("b", dtype)]).unwrap();
        }
        let doubled = DType::packed_record([("a", dtype.clone()), ("b", dtype)]);
        assert!(doubled.and_then(|dtype| DType::packed_record([("a", dtype)])).unwrap_err().is_unsupported());
    }

    #[test]
    fn byte_order_turns_around_everywhere_and_back() {
        let dtype = DType::packed_record([
            ("a", DType::subarray(&[2], DType::I16).unwrap()),
            ("b", DType::U8),
            ("c", swapped(DType::text(3).unwrap())),
        ])
        .unwrap();
        assert!(!dtype.is_native());
        let turned = dtype.swapped();
        assert!(!turned.field("a").unwrap().dtype().is_native());
        assert!(turned.field("c").unwrap().dtype().is_native());
        assert_ne!(turned, dtype);
        assert_eq!(turned.swapped(), dtype);
        assert_eq!(DType::U8.swapped(), DType::U8);
        assert_eq!(DType::F64.swapped().byte_order(), Some(ByteOrder::NATIVE.swapped()));
        let native = DType::packed_record([("a", DType::F64)]).unwrap();
        assert!(
            native.is_native() && !native.swapped().is_native() && native.swapped().swapped().is_native()
        );
    }

    #[test]
    fn display_names_every_kind() {
        for (dtype, text) in [
            (DType::U8, "uint8"),
            (DType::BF16, "bfloat16"),
            (DType::native(ScalarKind::Float8E4M3Fn), "float8_e4m3fn"),
            (DType::datetime(TimeUnit::NANOSECOND), "datetime64[ns]"),
            (DType::bytes(10).unwrap(), "S10"),
            (DType::text(5).unwrap(), "U5"),
            (DType::void(8).unwrap(), "V8"),
            (DType::native(ScalarKind::LongDouble), "longdouble"),
        ] {
            assert_eq!(dtype.to_string(), text);
        }
        let mark = ByteOrder::NATIVE.swapped().symbol();
        assert_eq!(swapped(DType::F64).to_string(), format!("{mark}float64"));
    }
}
