//! Writes a value to bytes.

use crate::element::float::FloatFormat;
use crate::element::units::{self, Converted};
use crate::element::value::read::check_width;
use crate::element::{
    ByteOrder, DType, DTypeKind, Record, Scalar, ScalarKind, SubArray, Value, long_double, narrowed,
};
use crate::error::{Error, Kind, Result};

impl Value {
    /// Writes one element, at any address and in either byte order. Bytes outside the dtype's parts
    /// (padding between fields) keep their values. On an error nothing is written.
    ///
    /// Conversion is checked. Integers and bools become any number type that represents them;
    /// floats round to the nearest but never to infinity; a float becomes an integer only if it is
    /// one. Fixed bytes and text are padded with NULs; opaque bytes must have exactly the width.
    /// Dates and durations are converted to another unit if the result is exact (a year or a month
    /// becomes its first day; a count without a unit is unchanged). Sub-arrays must have the same
    /// shape, records the same fields in the same order. A scalar is written in place; anything
    /// else through a copy of the element.
    ///
    /// # Errors
    ///
    /// `is_bounds` unless there are exactly `dtype.itemsize()` bytes; `is_value`, with the value,
    /// the dtype and the part, if it does not fit.
    pub fn write(&self, dtype: &DType, bytes: &mut [u8]) -> Result<()> {
        check_width(dtype, bytes.len())?;
        if let Some(scalar) = dtype.as_scalar() {
            return write_scalar(self, scalar, bytes);
        }
        let mut whole = bytes.to_vec();
        write_element(self, dtype, &mut whole)?;
        bytes.copy_from_slice(&whole);
        Ok(())
    }

    /// A short description in words, for errors.
    fn describe(&self) -> String {
        match self {
            Self::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
            Self::Void(bytes) => format!("an opaque value of {} bytes", bytes.len()),
            Self::Text(text) => format!("a text of {} characters", text.chars().count()),
            Self::Array(items) => format!("an array of {}", items.len()),
            Self::Record(fields) => format!("a record of {} fields", fields.len()),
            Self::DateTime { unit, .. } => format!("{self} (datetime64[{unit}])"),
            Self::TimeDelta { unit, .. } => format!("{self} (timedelta64[{unit}])"),
            scalar => scalar.to_string(),
        }
    }

    #[cold]
    pub(super) fn misfit(&self, dtype: impl std::fmt::Display) -> Error {
        Error::new(Kind::Value, format!("{} does not fit {dtype}", self.describe()))
    }

    /// A date or a duration converted to another unit, if the result is exact.
    fn exactly(&self, converted: Converted, dtype: Scalar) -> Result<i64> {
        let why = match converted {
            Converted::Exact(count) => return Ok(count),
            Converted::Floor(_) => "it is not a whole number of that unit",
            Converted::Above | Converted::Below => "it is out of range for that unit",
        };
        Err(Error::new(Kind::Value, format!("{} does not fit {dtype}: {why}", self.describe())))
    }

    /// The integer value, also of bools and whole floats.
    fn whole(&self) -> Option<i128> {
        match *self {
            Self::Bool(value) => Some(value.into()),
            Self::Int(value) => Some(value.into()),
            Self::UInt(value) => Some(value.into()),
            // Whole doubles are exact as integers here: 2^100 is far beyond every integer type and
            // below 2^127.
            Self::Float(value) if value.fract() == 0.0 && value.abs() < 2_f64.powi(100) => {
                Some(value as i128)
            }
            Self::LongDouble(ref raw) => long_double::NATIVE.to_int(raw),
            _ => None,
        }
    }
}

/// `bytes` has the width of `dtype`. Recurses to the depth of the dtype, which is bounded.
fn write_element(value: &Value, dtype: &DType, bytes: &mut [u8]) -> Result<()> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => write_scalar(value, scalar, bytes),
        DTypeKind::Record(record) => write_record(value, record, bytes),
        DTypeKind::SubArray(subarray) => write_axis(value, subarray, subarray.shape(), bytes),
    }
}

fn write_record(value: &Value, record: &Record, bytes: &mut [u8]) -> Result<()> {
    let fields = match value {
        Value::Record(fields) if fields.len() == record.fields().len() => fields,
        other => return Err(other.misfit(format_args!("a record of {} fields", record.fields().len()))),
    };
    for (field, (name, value)) in record.fields().iter().zip(fields) {
        if field.name() != name {
            return Err(Error::new(
                Kind::Value,
                format!("the value has field {name:?} where the record has {:?}", field.name()),
            ));
        }
        write_element(value, field.dtype(), &mut bytes[field.offset()..field.end()])
            .map_err(|error| error.within(format_args!("field {name:?}")))?;
    }
    Ok(())
}

/// The part of a sub-array with the axes `shape`, which are its last ones.
fn write_axis(value: &Value, subarray: &SubArray, shape: &[usize], bytes: &mut [u8]) -> Result<()> {
    let Some((&extent, inner)) = shape.split_first() else {
        return write_element(value, subarray.base(), bytes);
    };
    let items = match value {
        Value::Array(items) if items.len() == extent => items,
        other => return Err(other.misfit(format_args!("an axis of {extent} elements"))),
    };
    let width = bytes.len().checked_div(extent).unwrap_or(0);
    for (index, item) in items.iter().enumerate() {
        write_axis(item, subarray, inner, &mut bytes[index * width..(index + 1) * width])
            .map_err(|error| error.within(format_args!("element {index}")))?;
    }
    Ok(())
}

/// `bytes` has the width of `scalar`. Writes only after the whole value is known to fit.
fn write_scalar(value: &Value, scalar: Scalar, bytes: &mut [u8]) -> Result<()> {
    let kind = scalar.kind();
    let misfit = || value.misfit(scalar);
    let mut parts = [0; 32];
    match (kind, value) {
        (ScalarKind::Bytes(_), Value::Bytes(source)) if source.len() <= bytes.len() => {
            fill(bytes, source);
            return Ok(());
        }
        (ScalarKind::Bytes(_), Value::Text(source)) if source.is_ascii() && source.len() <= bytes.len() => {
            fill(bytes, source.as_bytes());
            return Ok(());
        }
        (ScalarKind::Void(_), Value::Void(source)) if source.len() == bytes.len() => {
            bytes.copy_from_slice(source);
            return Ok(());
        }
        (ScalarKind::Text(len), Value::Text(text)) if text.chars().count() <= len as usize => {
            let letters = text.chars().chain(std::iter::repeat('\0'));
            for (code, letter) in bytes.chunks_exact_mut(4).zip(letters) {
                let letter = u32::from(letter);
                let big = scalar.byte_order() == Some(ByteOrder::Big);
                code.copy_from_slice(&if big { letter.to_be_bytes() } else { letter.to_le_bytes() });
            }
            return Ok(());
        }
        (ScalarKind::Bytes(_) | ScalarKind::Void(_) | ScalarKind::Text(_), _) => return Err(misfit()),
        (ScalarKind::Bool, _) => match value.whole() {
            Some(bit @ (0 | 1)) => parts[0] = bit as u8,
            _ => return Err(misfit()),
        },
        (ScalarKind::Pointer, Value::Pointer(address)) => put(&mut parts, 0, *address, 8),
        (ScalarKind::DateTime(unit), Value::DateTime { count, unit: own }) => {
            put(&mut parts, 0, value.exactly(units::date(*count, *own, unit), scalar)? as u64, 8);
        }
        (ScalarKind::TimeDelta(unit), Value::TimeDelta { count, unit: own }) => {
            put(&mut parts, 0, value.exactly(units::duration(*count, *own, unit), scalar)? as u64, 8);
        }
        (ScalarKind::LongDouble, _) => parts[..16].copy_from_slice(&long_double(value).ok_or_else(misfit)?),
        (ScalarKind::ComplexLongDouble, _) => {
            let [re, im] = match value {
                Value::ComplexLongDouble(both) => **both,
                Value::Complex { re, im } => {
                    [long_double::NATIVE.encode_f64(*re), long_double::NATIVE.encode_f64(*im)]
                }
                real => [long_double(real).ok_or_else(misfit)?, [0; 16]],
            };
            parts[..16].copy_from_slice(&re);
            parts[16..].copy_from_slice(&im);
        }
        (ScalarKind::Complex32 | ScalarKind::Complex64 | ScalarKind::Complex128, _) => {
            let (part, width) = match kind {
                ScalarKind::Complex32 => (ScalarKind::Float16, 2),
                ScalarKind::Complex64 => (ScalarKind::Float32, 4),
                _ => (ScalarKind::Float64, 8),
            };
            let (re, im) = match value {
                Value::Complex { re, im } => (pattern(&(*re).into(), part), pattern(&(*im).into(), part)),
                Value::ComplexLongDouble(both) => {
                    let [re, im] = both.map(|raw| pattern(&Value::LongDouble(raw), part));
                    (re, im)
                }
                real => (pattern(real, part), Some(0)),
            };
            put(&mut parts, 0, re.ok_or_else(misfit)?, width);
            put(&mut parts, width, im.ok_or_else(misfit)?, width);
        }
        (number, _) => put(&mut parts, 0, pattern(value, number).ok_or_else(misfit)?, bytes.len()),
    }
    if scalar.byte_order().unwrap_or(ByteOrder::NATIVE) == ByteOrder::Big {
        parts.chunks_exact_mut(kind.component_size()).for_each(<[u8]>::reverse);
    }
    bytes.copy_from_slice(&parts[..bytes.len()]);
    Ok(())
}

fn fill(bytes: &mut [u8], source: &[u8]) {
    let (head, tail) = bytes.split_at_mut(source.len());
    head.copy_from_slice(source);
    tail.fill(0);
}

/// Writes the low `width` bytes of a word, the least significant first.
fn put(parts: &mut [u8; 32], at: usize, word: u64, width: usize) {
    parts[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
}

fn long_double(value: &Value) -> Option<[u8; 16]> {
    match value {
        Value::LongDouble(raw) => Some(*raw),
        Value::Float(value) => Some(long_double::NATIVE.encode_f64(*value)),
        whole => whole.whole().map(|number| long_double::NATIVE.encode_int(number)),
    }
}

/// The bits of a number in an integer or float type of at most 64; `None` if it does not fit.
pub(super) fn pattern(value: &Value, kind: ScalarKind) -> Option<u64> {
    fn int<T: TryFrom<i128>>(value: &Value, bits: fn(T) -> u64) -> Option<u64> {
        T::try_from(value.whole()?).ok().map(bits)
    }
    match kind {
        ScalarKind::Int8 => int(value, |number: i8| number as u64),
        ScalarKind::Int16 => int(value, |number: i16| number as u64),
        ScalarKind::Int32 => int(value, |number: i32| number as u64),
        ScalarKind::Int64 => int(value, |number: i64| number as u64),
        ScalarKind::UInt8 => int(value, |number: u8| number.into()),
        ScalarKind::UInt16 => int(value, |number: u16| number.into()),
        ScalarKind::UInt32 => int(value, |number: u32| number.into()),
        ScalarKind::UInt64 => int(value, |number: u64| number),
        ScalarKind::Float64 => match value {
            Value::Float(number) => Some(number.to_bits()),
            Value::LongDouble(raw) => long_double::NATIVE.fits_f64(raw).map(f64::to_bits),
            whole => Some((whole.whole()? as f64).to_bits()),
        },
        float => {
            let number = match value {
                Value::Float(number) => *number,
                Value::LongDouble(raw) => long_double::NATIVE.to_odd(raw)?,
                whole => to_odd(whole.whole()?),
            };
            match FloatFormat::of(float) {
                Some(format) => format.fits(number).then(|| format.encode(number).into()),
                None if float == ScalarKind::Float32 => {
                    let narrow = narrowed(number);
                    (narrow.is_finite() || !number.is_finite()).then(|| narrow.to_bits().into())
                }
                None => None,
            }
        }
    }
}

/// An integer as a double on the way to a narrower float: bits beyond 53 set the last bit (round to
/// odd), so the second rounding gives the result of a single one.
fn to_odd(value: i128) -> f64 {
    let near = value as f64;
    let error = near as i128 - value;
    if error == 0 {
        return near;
    }
    let outward = (error > 0) == (value > 0);
    f64::from_bits((near.to_bits() - u64::from(outward)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Field, NAT, TimeBase, TimeUnit};

    const NUMBERS: [DType; 29] = [
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::BF16,
        DType::native(ScalarKind::Complex32),
        DType::C64,
        DType::C128,
        DType::native(ScalarKind::LongDouble),
        DType::native(ScalarKind::ComplexLongDouble),
        DType::native(ScalarKind::Pointer),
        DType::native(ScalarKind::Float8E3M4),
        DType::native(ScalarKind::Float8E4M3),
        DType::native(ScalarKind::Float8E4M3B11Fnuz),
        DType::native(ScalarKind::Float8E4M3Fn),
        DType::native(ScalarKind::Float8E4M3Fnuz),
        DType::native(ScalarKind::Float8E5M2),
        DType::native(ScalarKind::Float8E5M2Fnuz),
        DType::native(ScalarKind::Float8E8M0Fnu),
        DType::native(ScalarKind::Float6E2M3Fn),
        DType::native(ScalarKind::Float6E3M2Fn),
        DType::native(ScalarKind::Float4E2M1Fn),
    ];

    fn fits(value: impl Into<Value>, dtype: &DType) -> bool {
        let mut bytes = vec![0xa5; dtype.itemsize()];
        match value.into().write(dtype, &mut bytes) {
            Ok(()) => true,
            Err(error) => {
                assert!(error.is_value(), "{error}");
                assert!(bytes.iter().all(|&byte| byte == 0xa5), "{dtype} was written in spite of: {error}");
                false
            }
        }
    }

    #[test]
    fn what_was_read_is_written_back_in_both_byte_orders() {
        let unit = TimeUnit::new(TimeBase::Minute, 15).unwrap();
        let others = [
            DType::datetime(unit),
            DType::timedelta(unit),
            DType::void(5).unwrap(),
            DType::bytes(3).unwrap(),
        ];
        let mut seed = 1_u64;
        for dtype in NUMBERS.iter().chain(&others).flat_map(|dtype| [dtype.clone(), dtype.swapped()]) {
            for _ in 0..500 {
                let mut bytes = vec![0; dtype.itemsize()];
                for byte in &mut bytes {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    *byte = (seed >> 56) as u8;
                }
                if [DType::native(ScalarKind::Float6E2M3Fn), DType::native(ScalarKind::Float6E3M2Fn)]
                    .contains(&dtype)
                {
                    bytes[0] &= 0x3f;
                } else if dtype == DType::native(ScalarKind::Float4E2M1Fn) {
                    bytes[0] &= 0x0f;
                }
                let value = Value::read(&dtype, &bytes).unwrap();
                let nan = matches!(value.as_complex(), Some((re, im)) if re.is_nan() || im.is_nan());
                if nan && !matches!(value, Value::LongDouble(_) | Value::ComplexLongDouble(_)) {
                    continue;
                }
                let mut written = vec![0; dtype.itemsize()];
                value.write(&dtype, &mut written).unwrap();
                assert_eq!(written, bytes, "{dtype}: {value}");
            }
        }
    }

    #[test]
    fn integers_fit_their_range_and_nothing_else() {
        for (dtype, low, high) in [
            (DType::I8, i128::from(i8::MIN), i128::from(i8::MAX)),
            (DType::I16, i16::MIN.into(), i16::MAX.into()),
            (DType::I32, i32::MIN.into(), i32::MAX.into()),
            (DType::I64, i64::MIN.into(), i64::MAX.into()),
            (DType::U8, 0, u8::MAX.into()),
            (DType::U16, 0, u16::MAX.into()),
            (DType::U32, 0, u32::MAX.into()),
            (DType::U64, 0, u64::MAX.into()),
            (DType::BOOL, 0, 1),
        ] {
            for edge in [low, high] {
                for number in [edge - 1, edge, edge + 1] {
                    let value = match (i64::try_from(number), u64::try_from(number)) {
                        (Ok(number), _) => Value::Int(number),
                        (_, Ok(number)) => Value::UInt(number),
                        _ => continue,
                    };
                    assert_eq!(fits(value, &dtype), (low..=high).contains(&number), "{number} in {dtype}");
                }
            }
            assert!(fits(1.0, &dtype) && fits(true, &dtype));
            assert!(
                !fits(0.5, &dtype)
                    && !fits(f64::NAN, &dtype)
                    && !fits(f64::INFINITY, &dtype)
                    && !fits("1", &dtype)
            );
            assert!(!fits(1e300, &dtype));
        }
        assert!(!fits(2_f64.powi(64), &DType::U64) && !fits(2_f64.powi(63), &DType::I64));
        assert!(fits(-(2_f64.powi(63)), &DType::I64));
    }

    #[test]
    fn floats_round_but_never_to_infinity() {
        assert!(fits(f64::from(f32::MAX), &DType::F32));
        assert!(!fits(f64::MAX, &DType::F32) && !fits(1e39, &DType::F32));
        assert!(fits(f64::INFINITY, &DType::F32) && fits(f64::NAN, &DType::F32));
        assert!(fits(65519.0, &DType::F16) && !fits(65520.0, &DType::F16));
        assert!(
            !fits(f64::INFINITY, &DType::native(ScalarKind::Float8E4M3Fn))
                && fits(f64::NAN, &DType::native(ScalarKind::Float8E4M3Fn))
        );
        assert!(
            !fits(0.0, &DType::native(ScalarKind::Float8E8M0Fnu))
                && !fits(f64::NAN, &DType::native(ScalarKind::Float4E2M1Fn))
        );
        assert!(fits(1.0, &DType::C64) && !fits(Value::Complex { re: 0.0, im: 1e300 }, &DType::C64));
        assert!(!fits(Value::Complex { re: 1.0, im: 0.0 }, &DType::F64));
    }

    #[test]
    fn integers_round_to_floats_once() {
        // Above a tie by one: rounding to a double first would make it a tie and round the wrong
        // way.
        let number = (1_i64 << 62) + (1 << 38) + 1;
        let mut bytes = [0; 4];
        for number in [number, -number, number - 2, i64::MAX, i64::MIN + 1, (1 << 53) + 1, -(1 << 54) - 1] {
            Value::Int(number).write(&DType::F32, &mut bytes).unwrap();
            // Of the digits: the emulator of POWER rounds twice where the processor does once.
            assert_eq!(Ok(f32::from_ne_bytes(bytes)), number.to_string().parse(), "{number}");
            let mut wide = [0; 8];
            Value::Int(number).write(&DType::F64, &mut wide).unwrap();
            assert_eq!(f64::from_ne_bytes(wide), number as f64, "{number}");
        }
    }

    #[test]
    fn long_doubles_become_other_numbers_where_they_fit() {
        let long = |value: f64| Value::LongDouble(long_double::NATIVE.encode_f64(value));
        for dtype in NUMBERS.iter().filter(|&dtype| {
            ![DType::native(ScalarKind::Pointer), DType::native(ScalarKind::Float8E8M0Fnu)].contains(dtype)
        }) {
            let mut bytes = vec![0xa5; dtype.itemsize()];
            for value in [0.0, 1.0] {
                long(value).write(dtype, &mut bytes).unwrap();
                assert_eq!(Value::read(dtype, &bytes).unwrap().as_complex(), Some((value, 0.0)), "{dtype}");
            }
        }
        let mut bytes = [0; 8];
        Value::LongDouble(long_double::NATIVE.encode_int((1 << 53) + 1))
            .write(&DType::I64, &mut bytes)
            .unwrap();
        assert_eq!(i64::from_ne_bytes(bytes), (1 << 53) + 1);
        long(-0.0).write(&DType::F64, &mut bytes).unwrap();
        assert_eq!(f64::from_ne_bytes(bytes).to_bits(), (-0.0_f64).to_bits());
        assert!(
            !fits(long(0.5), &DType::I64) && !fits(long(1e39), &DType::F32) && fits(long(0.1), &DType::F32)
        );
        assert!(fits(long(f64::INFINITY), &DType::F64) && fits(long(f64::NAN), &DType::F32));
        let large =
            long_double::NATIVE.encode(false, 1 << (long_double::NATIVE.precision() - 1), 16_000).unwrap();
        assert!(!fits(Value::LongDouble(large), &DType::F64) && !fits(Value::LongDouble(large), &DType::F32));
        let complex = Value::ComplexLongDouble(Box::new([
            long_double::NATIVE.encode_f64(1.5),
            long_double::NATIVE.encode_f64(-2.5),
        ]));
        let mut bytes = [0; 16];
        complex.write(&DType::C128, &mut bytes).unwrap();
        assert_eq!(Value::read(&DType::C128, &bytes).unwrap().as_complex(), Some((1.5, -2.5)));
        assert!(!fits(complex, &DType::F64));
    }

    #[test]
    fn bytes_and_text_are_filled_up_and_never_cut() {
        let mut bytes = [0xff; 4];
        Value::Bytes(b"ab".to_vec()).write(&DType::bytes(4).unwrap(), &mut bytes).unwrap();
        assert_eq!(&bytes, b"ab\0\0");
        Value::from("abcd").write(&DType::bytes(4).unwrap(), &mut bytes).unwrap();
        assert_eq!(&bytes, b"abcd");
        assert!(!fits("abcde", &DType::bytes(4).unwrap()) && !fits("é", &DType::bytes(4).unwrap()));
        let mut bytes = [0xff; 12];
        let big = DType::scalar(ScalarKind::Text(3), ByteOrder::Big).unwrap();
        Value::from("é😀").write(&big, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 0, 0, 0xe9, 0, 1, 0xf6, 0, 0, 0, 0, 0]);
        assert!(!fits("abcd", &big) && !fits(Value::Bytes(vec![]), &big));
        let void = DType::void(2).unwrap();
        assert!(fits(Value::Void(vec![1, 2]), &void) && !fits(Value::Void(vec![1]), &void));
    }

    #[test]
    fn dates_become_another_unit_where_that_says_the_same() {
        let seconds = DType::datetime(TimeUnit::SECOND);
        let moment = |count, unit| Value::DateTime { count, unit };
        let mut bytes = [0; 8];
        moment(2, TimeUnit::DAY).write(&seconds, &mut bytes).unwrap();
        assert_eq!(i64::from_ne_bytes(bytes), 172_800);
        assert!(fits(moment(3000, TimeUnit::MILLISECOND), &seconds));
        for (value, why) in [
            (
                moment(1500, TimeUnit::MILLISECOND),
                "1970-01-01T00:00:01.500 (datetime64[ms]) does not fit datetime64[s]: it is not a whole number of that unit",
            ),
            (
                moment(1 << 62, TimeUnit::DAY),
                "12626367463885247-04-15 (datetime64[D]) does not fit datetime64[s]: it is out of range for that unit",
            ),
        ] {
            let error = value.write(&seconds, &mut bytes).unwrap_err();
            assert!(error.is_value());
            assert_eq!(error.to_string(), why);
        }
        assert!(fits(moment(NAT, TimeUnit::DAY), &seconds));
        assert!(!fits(Value::TimeDelta { count: 1, unit: TimeUnit::SECOND }, &seconds));
        assert!(!fits(1, &seconds) && !fits(1, &DType::native(ScalarKind::Pointer)));
    }

    #[test]
    fn padding_of_a_record_stays() {
        let dtype = DType::record([Field::new("a", 1, DType::U8), Field::new("b", 3, DType::U8)], 5).unwrap();
        let mut bytes = [9; 5];
        let value = Value::Record(vec![("a".into(), 1u8.into()), ("b".into(), 2u8.into())]);
        value.write(&dtype, &mut bytes).unwrap();
        assert_eq!(bytes, [9, 1, 9, 2, 9]);
    }

    #[test]
    fn a_part_that_does_not_fit_is_named_and_nothing_is_written() {
        let pair = DType::subarray(&[2], DType::U8).unwrap();
        let dtype = DType::packed_record([("a", DType::U8), ("b", pair)]).unwrap();
        let value = |name: &str, items: Vec<Value>| {
            Value::Record(vec![("a".into(), 1u8.into()), (name.into(), Value::Array(items))])
        };
        assert!(fits(value("b", vec![1.into(), 2.into()]), &dtype));
        for misfit in [
            value("b", vec![1.into(), 256.into()]),
            value("b", vec![1.into()]),
            value("c", vec![1.into(), 2.into()]),
            Value::Record(vec![]),
            Value::Int(1),
        ] {
            assert!(!fits(misfit.clone(), &dtype), "{misfit}");
        }
        let mut bytes = [0; 3];
        let error = value("b", vec![1.into(), 256.into()]).write(&dtype, &mut bytes).unwrap_err().to_string();
        assert_eq!(error, "field \"b\": element 1: 256 does not fit uint8");
        assert!(Value::Int(1).write(&DType::U16, &mut bytes).unwrap_err().is_bounds());
    }
}
