//! The words for single values: those of NumPy, or those of Ruby's `inspect`.

use std::fmt::Write;

use crate::element::digits::{self, Real};
use crate::element::{DType, NAT, ScalarKind, Value};

/// Whose words elements have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Notation {
    /// `True`, `1.`, `1.+2.j`, `'text'`, `b'ab'`, `NaT`, `(1, 2)`.
    NumPy,
    /// `true`, `1.0`, `(1.0+2.0i)`, `"text"`, `"ab"`, `nil`, `{x: 1, y: 2}`.
    Ruby,
}

impl Notation {
    /// The digits after the point of a whole number.
    pub(super) fn decimals(self, decimals: &str) -> &str {
        if self == Self::Ruby && decimals.is_empty() { "0" } else { decimals }
    }

    /// A float that is not finite, without its sign.
    pub(super) fn special(self, value: Real) -> &'static str {
        match (self, value.is_nan()) {
            (Self::NumPy, true) => "nan",
            (Self::NumPy, false) => "inf",
            (Self::Ruby, true) => "NaN",
            (Self::Ruby, false) => "Infinity",
        }
    }

    pub(super) fn truth(self, value: bool) -> &'static str {
        match (self, value) {
            (Self::NumPy, true) => "True",
            (Self::NumPy, false) => "False",
            (Self::Ruby, true) => "true",
            (Self::Ruby, false) => "false",
        }
    }

    /// A complex number of two formatted parts; the imaginary one has its sign.
    pub(super) fn complex(self, re: &str, im: &str) -> String {
        let number = im.trim_end();
        let padding = &im[number.len()..];
        match self {
            Self::NumPy => format!("{re}{number}j{padding}"),
            Self::Ruby => {
                // A bracket belongs to the first digit.
                let real = re.trim_start();
                // Ruby has no literal of an imaginary NaN or infinity: `inspect` writes a product.
                let product = if number.ends_with(char::is_alphabetic) { "*" } else { "" };
                format!("{}({real}{number}{product}i){padding}", &re[..re.len() - real.len()])
            }
        }
    }

    /// What stands for a date or a duration that is none.
    pub(super) fn not_a_time(self) -> &'static str {
        match self {
            Self::NumPy => "'NaT'",
            Self::Ruby => "nil",
        }
    }

    /// A record with its fields, which are formatted.
    pub(super) fn record<'a>(self, parts: impl ExactSizeIterator<Item = (&'a str, String)>) -> String {
        let is_single = parts.len() == 1;
        match self {
            Self::NumPy => {
                let parts: Vec<_> = parts.map(|(_, word)| word).collect();
                format!("({}{})", parts.join(", "), if is_single { "," } else { "" })
            }
            Self::Ruby => {
                let parts: Vec<_> = parts.map(|(name, word)| format!("{}: {word}", key(name))).collect();
                format!("{{{}}}", parts.join(", "))
            }
        }
    }

    /// A value by itself.
    pub(super) fn value(self, value: &Value, dtype: &DType) -> String {
        if self == Self::NumPy {
            return value.display(dtype).to_string();
        }
        match value {
            Value::Bool(truth) => self.truth(*truth).into(),
            Value::Text(text) => quoted(text.chars()),
            Value::Bytes(bytes) | Value::Void(bytes) => quoted_bytes(bytes),
            Value::Complex { .. } | Value::ComplexLongDouble(_) => {
                let (re, im) = Real::parts(value).unwrap_or((0.0.into(), 0.0.into()));
                let part = |number: Real| self.float(number, dtype);
                // A NaN is written without its sign.
                let sign = if im.is_sign_negative() && !im.is_nan() { "" } else { "+" };
                self.complex(&part(re), &format!("{sign}{}", part(im)))
            }
            Value::Float(number) => self.float((*number).into(), dtype),
            Value::LongDouble(raw) => self.float(Real::Long(*raw), dtype),
            Value::DateTime { count: NAT, .. } | Value::TimeDelta { count: NAT, .. } => {
                self.not_a_time().into()
            }
            Value::TimeDelta { count, .. } => count.to_string(),
            Value::DateTime { .. } => format!("'{value}'"),
            Value::Array(items) => {
                let inner = dtype.as_subarray().map_or(dtype, |subarray| subarray.base());
                let parts: Vec<_> = items.iter().map(|item| self.value(item, inner)).collect();
                format!("[{}]", parts.join(", "))
            }
            Value::Record(fields) => self.record(fields.iter().map(|(name, value)| {
                let dtype = dtype.field(name).map_or(dtype, |field| field.dtype());
                (name.as_str(), self.value(value, dtype))
            })),
            other => other.display(dtype).to_string(),
        }
    }

    fn float(self, number: Real, dtype: &DType) -> String {
        if number.is_finite() {
            return digits::float(number, part_kind(dtype));
        }
        // A NaN is written without its sign.
        let is_minus = number.is_sign_negative() && !number.is_nan();
        format!("{}{}", if is_minus { "-" } else { "" }, self.special(number))
    }
}

/// The float kind of one real part.
fn part_kind(dtype: &DType) -> ScalarKind {
    match dtype.as_scalar().map(|scalar| scalar.kind()) {
        Some(ScalarKind::Complex32) => ScalarKind::Float16,
        Some(ScalarKind::Complex64) => ScalarKind::Float32,
        Some(kind) if digits::is_float(kind) => kind,
        _ => ScalarKind::Float64,
    }
}

/// The key of a Hash: a word, or a text in quotes.
fn key(name: &str) -> String {
    let is_word = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if is_word { name.into() } else { quoted(name.chars()) }
}

/// A String as Ruby inspects it.
fn quoted(text: impl Iterator<Item = char>) -> String {
    let mut shown = String::from('"');
    let mut text = text.peekable();
    while let Some(letter) = text.next() {
        let is_seen = matches!(letter, ' '..='~')
            || letter > '~' && ['a', letter].iter().collect::<String>().escape_debug().count() == 2;
        // An interpolation is escaped, too.
        let is_hash = letter == '#' && matches!(text.peek(), Some('{' | '$' | '@'));
        let _written = match (escape(letter), u32::from(letter)) {
            (Some(escape), _) => write!(shown, "\\{escape}"),
            _ if is_hash => write!(shown, "\\#"),
            _ if is_seen => write!(shown, "{letter}"),
            (None, code @ ..0x1_0000) => write!(shown, "\\u{code:04X}"),
            (None, code) => write!(shown, "\\u{{{code:X}}}"),
        };
    }
    shown.push('"');
    shown
}

/// A binary String as Ruby inspects it.
fn quoted_bytes(bytes: &[u8]) -> String {
    let mut shown = String::from('"');
    for (index, &byte) in bytes.iter().enumerate() {
        let is_hash = byte == b'#' && matches!(bytes.get(index + 1), Some(b'{' | b'$' | b'@'));
        let _written = match (escape(byte.into()), byte) {
            (Some(escape), _) => write!(shown, "\\{escape}"),
            _ if is_hash => write!(shown, "\\#"),
            (None, b' '..=b'~') => write!(shown, "{}", char::from(byte)),
            (None, byte) => write!(shown, "\\x{byte:02X}"),
        };
    }
    shown.push('"');
    shown
}

/// The letter of Ruby's short escapes.
fn escape(letter: char) -> Option<char> {
    match letter {
        '"' | '\\' => Some(letter),
        '\n' => Some('n'),
        '\t' => Some('t'),
        '\r' => Some('r'),
        '\u{1b}' => Some('e'),
        '\u{7}' => Some('a'),
        '\u{8}' => Some('b'),
        '\u{b}' => Some('v'),
        '\u{c}' => Some('f'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DArray;
    use crate::array::Array;
    use crate::element::Bool8;

    fn text(array: impl Into<DArray>) -> String {
        array.into().display().ruby().to_string()
    }

    #[test]
    fn elements_are_written_as_ruby_inspects_them() {
        let bools = Array::from_vec(vec![Bool8::from(true), Bool8::from(false)], [2]).unwrap();
        assert_eq!(text(bools), "[ true false]");
        let floats = Array::from_vec(vec![1.0, 2.5, f64::NAN, f64::NEG_INFINITY], [4]).unwrap();
        assert_eq!(text(floats), "[      1.0       2.5       NaN -Infinity]");
        assert_eq!(text(Array::from_vec(vec![1e-10, 1.0], [2]).unwrap()), "[1.0e-10 1.0e+00]");
        assert_eq!(text(Array::from_vec(vec![0.1_f32], []).unwrap()), "0.1");
        assert_eq!(text(Array::from_vec(vec![3.0_f64], []).unwrap()), "3.0");
        assert_eq!(text(Array::from_vec(vec![Bool8::from(true)], []).unwrap()), "true");
    }

    #[test]
    fn values_by_themselves_are_written_as_ruby_inspects_them() {
        let pair = DType::packed_record([("x", DType::I8), ("a b", DType::BOOL)]).unwrap();
        let unit = crate::element::TimeUnit::DAY;
        for (value, dtype, text) in [
            (Value::Complex { re: 1.0, im: -2.5 }, DType::C128, "(1.0-2.5i)"),
            (Value::Complex { re: 0.1_f32.into(), im: f64::NAN }, DType::C64, "(0.1+NaN*i)"),
            (Value::Complex { re: -f64::NAN, im: -f64::NAN }, DType::C128, "(NaN+NaN*i)"),
            (Value::Complex { re: -0.0, im: -0.0 }, DType::C128, "(-0.0-0.0i)"),
            (
                Value::Text("a\"\n#{ü}\u{1b}\u{200b}😀".into()),
                DType::text(9).unwrap(),
                "\"a\\\"\\n\\#{ü}\\e\\u200B😀\"",
            ),
            (Value::Bytes(b"a\xff#1".to_vec()), DType::bytes(4).unwrap(), "\"a\\xFF#1\""),
            (Value::DateTime { count: NAT, unit }, DType::datetime(unit), "nil"),
            (
                Value::Record(vec![("x".into(), 1.into()), ("a b".into(), true.into())]),
                pair,
                "{x: 1, \"a b\": true}",
            ),
        ] {
            assert_eq!(Notation::Ruby.value(&value, &dtype), text);
        }
    }
}
