//! Reads a value from bytes.

use crate::element::float::FloatFormat;
use crate::element::{ByteOrder, DType, DTypeKind, Scalar, ScalarKind, SubArray, Value, widened};
use crate::error::{Advice, Error, Kind, Result, try_copied, try_with_capacity};
use crate::memory::racy;

/// A malicious dtype of a few bytes can describe any number of values: sub-arrays of zero-width
/// elements, or many fields over the same bytes. A plausible one needs at most one per byte and
/// level, and a few for parts of zero width.
const SPARE_VALUES: usize = 1 << 16;

/// Checks that there are exactly the bytes of one element.
pub(super) fn check_width(dtype: &DType, nbytes: usize) -> Result<()> {
    if nbytes == dtype.itemsize() {
        return Ok(());
    }
    Err(Error::new(
        Kind::Bounds,
        format!("an element of {} has {} bytes, but {nbytes} were given", dtype.brief(), dtype.itemsize()),
    ))
}

impl Value {
    /// Reads one element, at any address and in either byte order. A bool is true if its byte is
    /// not zero; fixed bytes and text end before the NULs that pad them. Copies the element.
    ///
    /// # Errors
    ///
    /// `is_bounds` unless there are exactly `dtype.itemsize()` bytes; `is_value` for an invalid
    /// Unicode code point; `is_unsupported` for a dtype with disproportionately many values for its
    /// bytes; `is_out_of_memory`.
    pub fn read(dtype: &DType, bytes: &[u8]) -> Result<Self> {
        check_width(dtype, bytes.len())?;
        let allowed = bytes.len().saturating_mul(64).saturating_add(SPARE_VALUES);
        ValueReader { allowed }.element(dtype, bytes)
    }
}

impl Value {
    /// Loads a [machine word](DType::as_machine_word) racily; `None` for other kinds. Loads of
    /// single elements use it, because the value stays in registers.
    ///
    /// # Safety
    ///
    /// The bytes of one element of `kind` at `ptr` satisfy the contract of [`racy::load`].
    #[inline(always)]
    pub(crate) unsafe fn load_word(kind: ScalarKind, ptr: *const u8) -> Option<Self> {
        macro_rules! load {
            ($ty:ty) => {{
                // SAFETY: the `match` below pairs each kind with a type of its size, and its bytes
                // at `ptr` may be loaded racily (`# Safety`).
                unsafe { racy::load(ptr.cast::<$ty>()) }
            }};
        }
        Some(match kind {
            ScalarKind::Bool => Self::Bool(load!(u8) != 0),
            ScalarKind::Int8 => Self::Int(load!(i8).into()),
            ScalarKind::Int16 => Self::Int(load!(i16).into()),
            ScalarKind::Int32 => Self::Int(load!(i32).into()),
            ScalarKind::Int64 => Self::Int(load!(i64)),
            ScalarKind::UInt8 => Self::UInt(load!(u8).into()),
            ScalarKind::UInt16 => Self::UInt(load!(u16).into()),
            ScalarKind::UInt32 => Self::UInt(load!(u32).into()),
            ScalarKind::UInt64 => Self::UInt(load!(u64)),
            ScalarKind::Float32 => Self::Float(load!(f32).into()),
            ScalarKind::Float64 => Self::Float(load!(f64)),
            _ => return None,
        })
    }
}

struct ValueReader {
    /// The number of values that may still be made.
    allowed: usize,
}

impl ValueReader {
    /// `bytes` has the width of `dtype`. Recurses to the depth of the dtype, which is bounded.
    fn element(&mut self, dtype: &DType, bytes: &[u8]) -> Result<Value> {
        self.count(1)?;
        match dtype.kind() {
            DTypeKind::Scalar(scalar) => read_scalar(scalar, bytes),
            DTypeKind::Record(record) => {
                let mut fields = Vec::with_capacity(record.fields().len());
                for field in record.fields() {
                    let value = self
                        .element(field.dtype(), &bytes[field.offset()..field.end()])
                        .map_err(|error| error.within(format_args!("field {:?}", field.name())))?;
                    fields.push((field.name().to_owned(), value));
                }
                Ok(Value::Record(fields))
            }
            DTypeKind::SubArray(subarray) => self.axis(subarray, subarray.shape(), bytes),
        }
    }

    /// The part of a sub-array with the axes `shape`, which are its last ones.
    fn axis(&mut self, subarray: &SubArray, shape: &[usize], bytes: &[u8]) -> Result<Value> {
        let Some((&extent, inner)) = shape.split_first() else {
            return self.element(subarray.base(), bytes);
        };
        let width = bytes.len().checked_div(extent).unwrap_or(0);
        self.count(extent)?;
        let mut items = try_with_capacity(extent)?;
        for index in 0..extent {
            items.push(self.axis(subarray, inner, &bytes[index * width..(index + 1) * width])?);
        }
        Ok(Value::Array(items))
    }

    fn count(&mut self, values: usize) -> Result<()> {
        self.allowed = self.allowed.checked_sub(values).ok_or_else(|| {
            Error::new(Kind::Unsupported, "the dtype has many more values than bytes")
                .advising(Advice::OneField)
        })?;
        Ok(())
    }
}

/// `bytes` has the width of `scalar`.
fn read_scalar(scalar: Scalar, bytes: &[u8]) -> Result<Value> {
    let kind = scalar.kind();
    match kind {
        ScalarKind::Bytes(_) => return try_copied(without_nuls(bytes)).map(Value::Bytes),
        ScalarKind::Void(_) => return try_copied(bytes).map(Value::Void),
        ScalarKind::Text(_) => return read_text(scalar, bytes),
        _ => {}
    }
    let parts = ScalarBytes::new(scalar, bytes);
    Ok(match kind {
        ScalarKind::Bool => Value::Bool(parts.unsigned() != 0),
        ScalarKind::Int8 | ScalarKind::Int16 | ScalarKind::Int32 | ScalarKind::Int64 => {
            Value::Int(parts.signed())
        }
        ScalarKind::UInt8 | ScalarKind::UInt16 | ScalarKind::UInt32 | ScalarKind::UInt64 => {
            Value::UInt(parts.unsigned())
        }
        ScalarKind::Pointer => Value::Pointer(parts.unsigned()),
        ScalarKind::DateTime(unit) => Value::DateTime { count: parts.signed(), unit },
        ScalarKind::TimeDelta(unit) => Value::TimeDelta { count: parts.signed(), unit },
        ScalarKind::LongDouble => Value::LongDouble(parts.wide(0)),
        ScalarKind::ComplexLongDouble => Value::ComplexLongDouble(Box::new([parts.wide(0), parts.wide(1)])),
        ScalarKind::Complex32 => parts.complex(ScalarKind::Float16),
        ScalarKind::Complex64 => parts.complex(ScalarKind::Float32),
        ScalarKind::Complex128 => parts.complex(ScalarKind::Float64),
        float => Value::Float(parts.float(float, 0)),
    })
}

/// The bytes of a scalar of at most 32, each component with the least significant byte first.
struct ScalarBytes {
    bytes: [u8; 32],
    component: usize,
}

impl ScalarBytes {
    fn new(scalar: Scalar, source: &[u8]) -> Self {
        let component = scalar.kind().component_size();
        let mut bytes = [0; 32];
        bytes[..source.len()].copy_from_slice(source);
        if scalar.byte_order().unwrap_or(ByteOrder::NATIVE) == ByteOrder::Big {
            bytes.chunks_exact_mut(component).for_each(<[u8]>::reverse);
        }
        Self { bytes, component }
    }

    fn word(&self, index: usize) -> u64 {
        let mut word = [0; 8];
        word[..self.component].copy_from_slice(&self.bytes[index * self.component..][..self.component]);
        u64::from_le_bytes(word)
    }

    fn unsigned(&self) -> u64 {
        self.word(0)
    }

    fn signed(&self) -> i64 {
        let unused = 64 - 8 * self.component;
        (self.word(0) << unused) as i64 >> unused
    }

    fn wide(&self, index: usize) -> [u8; 16] {
        let mut wide = [0; 16];
        wide.copy_from_slice(&self.bytes[16 * index..][..16]);
        wide
    }

    fn float(&self, kind: ScalarKind, index: usize) -> f64 {
        let word = self.word(index);
        match FloatFormat::of(kind) {
            Some(format) => format.decode(word as u16),
            None if self.component == 4 => widened(f32::from_bits(word as u32)),
            None => f64::from_bits(word),
        }
    }

    fn complex(&self, part: ScalarKind) -> Value {
        Value::Complex { re: self.float(part, 0), im: self.float(part, 1) }
    }
}

fn without_nuls(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

fn read_text(scalar: Scalar, bytes: &[u8]) -> Result<Value> {
    let big = scalar.byte_order() == Some(ByteOrder::Big);
    let mut text = String::new();
    for (index, code) in bytes.chunks_exact(4).enumerate() {
        let code = [code[0], code[1], code[2], code[3]];
        let code = if big { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) };
        let letter = char::from_u32(code).ok_or_else(|| {
            Error::new(
                Kind::Value,
                format!("code point {index} of the text is {code:#x}, which is not a Unicode character"),
            )
        })?;
        let nbytes = letter.len_utf8();
        text.try_reserve(nbytes).map_err(|_| Error::out_of_memory(text.len() + nbytes, 1))?;
        text.push(letter);
    }
    text.truncate(text.trim_end_matches('\0').len());
    Ok(Value::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::record::MAX_PARTS;
    use crate::element::{Field, TimeUnit};

    fn little(kind: ScalarKind) -> DType {
        DType::scalar(kind, ByteOrder::Little).unwrap()
    }

    #[test]
    fn scalars_are_read_in_both_byte_orders() {
        let unit = TimeUnit::NANOSECOND;
        for (kind, bytes, value) in [
            (ScalarKind::Int16, &[0xfe, 0xff][..], Value::Int(-2)),
            (ScalarKind::UInt16, &[0xfe, 0xff], Value::UInt(65534)),
            (ScalarKind::Int32, &[1, 2, 3, 4], Value::Int(0x0403_0201)),
            (ScalarKind::UInt64, &[1, 0, 0, 0, 0, 0, 0, 0x80], Value::UInt(0x8000_0000_0000_0001)),
            (ScalarKind::Float16, &[0x00, 0x3c], Value::Float(1.0)),
            (ScalarKind::BFloat16, &[0xc0, 0x3f], Value::Float(1.5)),
            (ScalarKind::Float32, &[0, 0, 0x20, 0xc0], Value::Float(-2.5)),
            (ScalarKind::Float64, &[0, 0, 0, 0, 0, 0, 0xf0, 0x7f], Value::Float(f64::INFINITY)),
            (ScalarKind::Complex32, &[0x00, 0x3c, 0x00, 0xc0], Value::Complex { re: 1.0, im: -2.0 }),
            (ScalarKind::Complex64, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], Value::Complex { re: 1.0, im: -2.0 }),
            (ScalarKind::DateTime(unit), &[1, 0, 0, 0, 0, 0, 0, 0], Value::DateTime { count: 1, unit }),
            (ScalarKind::TimeDelta(unit), &[0xff; 8], Value::TimeDelta { count: -1, unit }),
            (ScalarKind::Text(2), &[0xe9, 0, 0, 0, 0x00, 0xf6, 0x01, 0], Value::Text("é😀".into())),
        ] {
            let dtype = little(kind);
            assert_eq!(Value::read(&dtype, bytes).unwrap(), value, "{kind}");
            let mut turned = bytes.to_vec();
            turned.chunks_exact_mut(kind.component_size()).for_each(<[u8]>::reverse);
            let big = DType::scalar(kind, ByteOrder::Big).unwrap();
            assert_eq!(Value::read(&big, &turned).unwrap(), value, "big-endian {kind}");
        }
    }

    #[test]
    fn long_doubles_keep_their_bytes() {
        let mut raw: [u8; 16] = std::array::from_fn(|index| index as u8);
        assert_eq!(Value::read(&little(ScalarKind::LongDouble), &raw).unwrap(), Value::LongDouble(raw));
        let expected = Value::LongDouble(raw);
        raw.reverse();
        let big = DType::scalar(ScalarKind::LongDouble, ByteOrder::Big).unwrap();
        assert_eq!(Value::read(&big, &raw).unwrap(), expected);
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        for byte in 0..=255 {
            assert_eq!(Value::read(&DType::BOOL, &[byte]).unwrap(), Value::Bool(byte != 0));
        }
    }

    #[test]
    fn nuls_at_the_end_fill_up_and_inside_belong_to_the_value() {
        let dtype = DType::bytes(4).unwrap();
        assert_eq!(Value::read(&dtype, b"a\0b\0").unwrap(), Value::Bytes(b"a\0b".to_vec()));
        assert_eq!(Value::read(&dtype, b"\0\0\0\0").unwrap(), Value::Bytes(vec![]));
        let dtype = DType::void(2).unwrap();
        assert_eq!(Value::read(&dtype, b"a\0").unwrap(), Value::Void(b"a\0".to_vec()));
        let text = Value::read(&little(ScalarKind::Text(3)), b"a\0\0\0\0\0\0\0b\0\0\0").unwrap();
        assert_eq!(text, Value::Text("a\0b".into()));
    }

    #[test]
    fn code_points_that_are_no_characters_are_refused() {
        for code in [0xd800_u32, 0xdfff, 0x11_0000, u32::MAX] {
            let error = Value::read(&little(ScalarKind::Text(1)), &code.to_le_bytes()).unwrap_err();
            assert!(error.is_value() && error.to_string().contains(&format!("{code:#x}")), "{error}");
        }
    }

    #[test]
    fn records_and_subarrays_are_read_at_odd_offsets() {
        let dtype = DType::record(
            [
                Field::new("pair", 1, DType::subarray(&[2, 2], DType::U8).unwrap()),
                Field::new("whole", 1, little(ScalarKind::UInt32)),
                Field::new("none", 7, DType::subarray(&[0, 3], DType::U8).unwrap()),
            ],
            7,
        )
        .unwrap();
        let row = |a: u8, b: u8| Value::Array(vec![a.into(), b.into()]);
        let value = Value::read(&dtype, &[9, 1, 2, 3, 4, 9, 9]).unwrap();
        assert_eq!(value.field("pair"), Some(&Value::Array(vec![row(1, 2), row(3, 4)])));
        assert_eq!(value.field("whole"), Some(&Value::UInt(0x0403_0201)));
        assert_eq!(value.field("none"), Some(&Value::Array(vec![])));
        assert_eq!(value.field("missing"), None);
    }

    #[test]
    fn a_wrong_number_of_bytes_is_refused() {
        for nbytes in [0, 7, 9] {
            let error = Value::read(&DType::F64, &vec![0; nbytes]).unwrap_err();
            assert!(error.is_bounds() && error.to_string().contains(&nbytes.to_string()), "{error}");
        }
    }

    #[test]
    fn a_dtype_out_of_proportion_to_its_bytes_is_refused() {
        let nothing = DType::bytes(0).unwrap();
        for dtype in [
            DType::subarray(&[usize::MAX >> 10], nothing.clone()).unwrap(),
            DType::subarray(&[usize::MAX >> 10, 0], DType::F64).unwrap(),
            DType::subarray(&[1, 1 << 12, 1 << 12], nothing.clone()).unwrap(),
        ] {
            assert!(Value::read(&dtype, &[]).unwrap_err().is_unsupported(), "{dtype}");
        }
        let all = DType::subarray(&[1000], DType::U8).unwrap();
        let over = DType::record((0..1000).map(|index| Field::new(index.to_string(), 0, all.clone())), 1000)
            .unwrap();
        assert!(Value::read(&over, &[0; 1000]).unwrap_err().is_unsupported());
        let wide =
            DType::packed_record((0..MAX_PARTS - 1).map(|index| (index.to_string(), DType::U8))).unwrap();
        assert!(Value::read(&wide, &vec![0; MAX_PARTS - 1]).is_ok());
    }
}
