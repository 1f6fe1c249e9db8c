//! Formats a value like NumPy.

use std::fmt::{self, Write};

use crate::element::value::digits::{self, Real};
use crate::element::{DType, DTypeKind, ScalarKind, Value, time};

impl Value {
    /// The value as text for its dtype: narrow floats have the fewest digits that round-trip in
    /// their own format. A `float32` is `0.1`, not `0.10000000149011612`.
    ///
    /// ```
    /// use crossdock::element::{DType, Value};
    ///
    /// let value = Value::from(0.1f32);
    /// assert_eq!(value.display(&DType::F32).to_string(), "0.1");
    /// assert_eq!(value.to_string(), "0.10000000149011612");
    /// ```
    pub fn display<'a>(&'a self, dtype: &'a DType) -> impl fmt::Display + 'a {
        Shown { value: self, dtype: Some(dtype) }
    }
}

/// As NumPy writes elements: `True`, `1.5`, `1e+16`, `(1+2j)`, `b'ab'`, `'text'`,
/// `2026-11-21T04:30:00.000000001`, `5 nanoseconds`, `NaT`, `[1, 2]`, `(7, 0.5)`. Floats have the
/// fewest digits that round-trip as a double, and long doubles those that round-trip as a long
/// double.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown { value: self, dtype: None }.fmt(f)
    }
}

struct Shown<'a> {
    value: &'a Value,
    /// The dtype that the value was read with. It is ignored if it does not match the value.
    dtype: Option<&'a DType>,
}

impl Shown<'_> {
    /// The float kind of one real part.
    fn float_kind(&self) -> ScalarKind {
        match self.dtype.and_then(DType::as_scalar).map(|scalar| scalar.kind()) {
            Some(ScalarKind::Complex32) => ScalarKind::Float16,
            Some(ScalarKind::Complex64) => ScalarKind::Float32,
            Some(kind) if digits::is_float(kind) => kind,
            _ => ScalarKind::Float64,
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Int(value) => write!(f, "{value}"),
            Value::UInt(value) => write!(f, "{value}"),
            Value::Float(value) => f.write_str(&digits::float(*value, self.float_kind())),
            Value::Complex { re, im } => f.write_str(&digits::complex(*re, *im, self.float_kind())),
            Value::LongDouble(raw) => f.write_str(&digits::float(Real::Long(*raw), ScalarKind::LongDouble)),
            Value::ComplexLongDouble(parts) => {
                let [re, im] = parts.map(Real::Long);
                f.write_str(&digits::complex(re, im, ScalarKind::LongDouble))
            }
            Value::Bytes(bytes) => write_bytes(f, bytes),
            Value::Void(bytes) => {
                f.write_str("b'")?;
                bytes.iter().try_for_each(|byte| write!(f, "\\x{byte:02X}"))?;
                f.write_str("'")
            }
            Value::Text(text) => write_text(f, text),
            Value::DateTime { count, unit } => time::write_date(f, *count, *unit),
            Value::TimeDelta { count, unit } => time::write_duration(f, *count, *unit),
            Value::Pointer(address) => write!(f, "{address:#x}"),
            Value::Array(items) => {
                // The axes of a sub-array are nested arrays, each shown with the same dtype down to
                // its elements.
                let inner = match self.dtype.map(DType::kind) {
                    Some(DTypeKind::SubArray(subarray))
                        if !matches!(items.first(), Some(Value::Array(_))) =>
                    {
                        Some(subarray.base())
                    }
                    _ => self.dtype,
                };
                f.write_str("[")?;
                for (index, value) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    Shown { value, dtype: inner }.fmt(f)?;
                }
                f.write_str("]")
            }
            Value::Record(fields) => {
                f.write_str("(")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    let dtype = self.dtype.and_then(|dtype| Some(dtype.field(name)?.dtype()));
                    Shown { value, dtype }.fmt(f)?;
                }
                f.write_str(if fields.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

/// Python quotes with `"` only text that contains `'` and no `"`.
fn quote_for(text: impl Iterator<Item = char>) -> char {
    let (mut single, mut double) = (false, false);
    for letter in text {
        single |= letter == '\'';
        double |= letter == '"';
    }
    if single && !double { '"' } else { '\'' }
}

/// The escapes common to bytes and text.
fn escaped(letter: char, quote: char) -> Option<char> {
    match letter {
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\\' => Some('\\'),
        _ => (letter == quote).then_some(quote),
    }
}

fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let letters = || bytes.iter().copied().map(char::from);
    let quote = quote_for(letters());
    write!(f, "b{quote}")?;
    for letter in letters() {
        match (escaped(letter, quote), letter) {
            (Some(escape), _) => write!(f, "\\{escape}")?,
            (None, ' '..='~') => f.write_char(letter)?,
            (None, byte) => write!(f, "\\x{:02x}", u32::from(byte))?,
        }
    }
    f.write_char(quote)
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = quote_for(text.chars());
    f.write_char(quote)?;
    for letter in text.chars() {
        match (escaped(letter, quote), u32::from(letter)) {
            (Some(escape), _) => write!(f, "\\{escape}")?,
            _ if is_printable(letter) => f.write_char(letter)?,
            (None, code @ ..0x100) => write!(f, "\\x{code:02x}")?,
            (None, code @ ..0x1_0000) => write!(f, "\\u{code:04x}")?,
            (None, code) => write!(f, "\\U{code:08x}")?,
        }
    }
    f.write_char(quote)
}

/// Whether a character is printable: not a control or format character, and no space but the usual
/// one. Rust's debug escapes use the same categories, except that they keep combining characters.
fn is_printable(letter: char) -> bool {
    matches!(letter, ' '..='~')
        || letter > '~' && ['a', letter].iter().collect::<String>().escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::float::FloatFormat;
    use crate::element::{NAT, TimeBase, TimeUnit, long_double};

    #[test]
    fn values_are_written_as_numpy_writes_them() {
        let unit = TimeUnit::new(TimeBase::Microsecond, 25).unwrap();
        for (value, text) in [
            (Value::from(true), "True"),
            (Value::from(-3), "-3"),
            (Value::from(u64::MAX), "18446744073709551615"),
            (Value::from(1.0), "1.0"),
            (Value::from(0.1), "0.1"),
            (Value::from(f64::NAN), "nan"),
            (Value::from(f64::NEG_INFINITY), "-inf"),
            (Value::Complex { re: 1.0, im: -2.5 }, "(1-2.5j)"),
            (Value::Complex { re: f64::NAN, im: 2.0 }, "(nan+2j)"),
            (Value::Bytes(b"it's\n\xff".to_vec()), r#"b"it's\n\xff""#),
            (Value::Bytes(b"'\"".to_vec()), r#"b'\'"'"#),
            (Value::Void(b"ab".to_vec()), r"b'\x61\x62'"),
            (Value::from("größe"), "'größe'"),
            (Value::from("it's\t\u{a0}\u{200b}e\u{301}😀"), "\"it's\\t\\xa0\\u200be\u{301}😀\""),
            (Value::from(1e16), "1e+16"),
            (Value::Complex { re: 0.0, im: 1.0 }, "1j"),
            (
                Value::DateTime { count: 1_795_235_400_000_000_001, unit: TimeUnit::NANOSECOND },
                "2026-11-21T04:30:00.000000001",
            ),
            (Value::DateTime { count: NAT, unit }, "NaT"),
            (Value::TimeDelta { count: 3, unit }, "75 microseconds"),
            (Value::LongDouble(long_double::NATIVE.encode_f64(1.5)), "1.5"),
            (Value::Pointer(4096), "0x1000"),
            (Value::Array(vec![1.into(), 2.into()]), "[1, 2]"),
            (Value::Record(vec![("a".into(), 1.into())]), "(1,)"),
            (Value::Record(vec![("a".into(), 1.into()), ("b".into(), "x".into())]), "(1, 'x')"),
        ] {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn narrow_floats_take_the_digits_that_their_format_needs() {
        let read = |dtype: &DType, value: f64| {
            let mut bytes = vec![0; dtype.itemsize()];
            Value::from(value).write(dtype, &mut bytes).unwrap();
            Value::read(dtype, &bytes).unwrap().display(dtype).to_string()
        };
        assert_eq!(read(&DType::F32, 0.1), "0.1");
        assert_eq!(read(&DType::F16, 0.1), "0.1");
        assert_eq!(read(&DType::F16, 65504.0), "6.55e+04");
        assert_eq!(read(&DType::F16, 0.333), "0.333");
        assert_eq!(read(&DType::BF16, 2.53), "2.53");
        assert_eq!(read(&DType::native(ScalarKind::Float8E4M3Fn), 0.1), "0.1");
        assert_eq!(read(&DType::C64, 0.1), "(0.1+0j)");
        let pair = DType::packed_record([("x", DType::subarray(&[1, 2], DType::F32).unwrap())]).unwrap();
        let value = Value::read(&pair, [0.1f32.to_ne_bytes(), 0.2f32.to_ne_bytes()].as_flattened()).unwrap();
        assert_eq!(value.display(&pair).to_string(), "([[0.1, 0.2]],)");
        // A dtype that does not match the value is ignored.
        assert_eq!(value.display(&DType::U8).to_string(), value.to_string());
    }

    #[test]
    fn every_narrow_float_is_told_apart() {
        for (kind, patterns) in [
            (ScalarKind::Float16, 0..0x7c00),
            (ScalarKind::BFloat16, 0..0x7f80),
            (ScalarKind::Float8E5M2, 0..0x7c),
        ] {
            let format = FloatFormat::of(kind).unwrap();
            for bits in patterns {
                let text = digits::float(format.decode(bits), kind);
                assert_eq!(format.encode(text.parse().unwrap()), bits, "{kind} {bits:#x}: {text}");
            }
        }
    }
}
