//! When two elements count as equal, and how far apart they are.

use std::cmp::Ordering;

use crossdock::element::{NAT, ScalarKind, Value};
use serde_json::Value as Json;

/// The tolerances of NumPy's `isclose`: `|a - b| <= atol + rtol * |b|`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rule {
    pub(super) rtol: f64,
    pub(super) atol: f64,
    pub(super) equal_nan: bool,
}

/// How the elements of two dtypes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// Booleans, which have no distance.
    Truths,
    /// Integers that fit `i64`.
    Signed,
    /// Integers that fit `u64`.
    Unsigned,
    /// Real numbers in double precision.
    Real,
    /// Complex numbers in double precision.
    Complex,
    /// One by one: text, bytes, dates, long doubles, and `uint64` beside a signed integer.
    Values,
}

/// The difference of two numbers, without its sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Distance {
    Integer(u128),
    Real(f64),
}

/// Two elements, compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Compared {
    pub(super) differs: bool,
    /// Whether one of the two, but not the other, is NaN or NaT.
    pub(super) one_is_nan: bool,
    /// Their distance, unless it is zero, or one of them is no number.
    pub(super) distance: Option<Distance>,
    /// The distance divided by `|b|`, unless `b` is zero.
    pub(super) relative: Option<f64>,
}

impl Comparison {
    /// How to compare elements of these types; `None` if they are never equal, such as text and
    /// numbers.
    pub(super) fn of(a: ScalarKind, b: ScalarKind) -> Option<Self> {
        use ScalarKind as Kind;
        let (left, right) = (Class::of(a), Class::of(b));
        Some(match (left, right) {
            (Class::Truth, Class::Truth) => Self::Truths,
            (Class::Long, other) | (other, Class::Long) if other.is_number() => Self::Values,
            (Class::Complex, other) | (other, Class::Complex) if other.is_number() => Self::Complex,
            (Class::Float, other) | (other, Class::Float) if other.is_number() => Self::Real,
            (one, other) if one.is_number() && other.is_number() => match (a, b) {
                (Kind::UInt64, _) if right == Class::Integer => Self::Values,
                (_, Kind::UInt64) if left == Class::Integer => Self::Values,
                (Kind::UInt64, _) | (_, Kind::UInt64) => Self::Unsigned,
                _ => Self::Signed,
            },
            (Class::Bytes, Class::Bytes) | (Class::Text, Class::Text) => Self::Values,
            (Class::Other, Class::Other) if a == b => Self::Values,
            _ => return None,
        })
    }
}

/// What a scalar is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Truth,
    Integer,
    Unsigned,
    Float,
    Complex,
    /// Long doubles, real or complex.
    Long,
    Bytes,
    Text,
    Other,
}

impl Class {
    fn of(kind: ScalarKind) -> Self {
        use ScalarKind as Kind;
        match kind {
            Kind::Bool => Self::Truth,
            Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64 => Self::Integer,
            Kind::UInt8 | Kind::UInt16 | Kind::UInt32 | Kind::UInt64 => Self::Unsigned,
            Kind::Complex32 | Kind::Complex64 | Kind::Complex128 => Self::Complex,
            Kind::LongDouble | Kind::ComplexLongDouble => Self::Long,
            Kind::Bytes(_) => Self::Bytes,
            Kind::Text(_) => Self::Text,
            Kind::Pointer | Kind::Void(_) | Kind::DateTime(_) | Kind::TimeDelta(_) => Self::Other,
            // All other kinds are floats of at most 64 bits.
            _ => Self::Float,
        }
    }

    fn is_number(self) -> bool {
        !matches!(self, Self::Bytes | Self::Text | Self::Other)
    }
}

impl Rule {
    /// Whether only equal elements are accepted.
    pub(super) fn is_exact(self) -> bool {
        self.rtol == 0.0 && self.atol == 0.0
    }

    fn accepts(self, distance: f64, of: f64) -> bool {
        of.is_finite() && distance <= self.atol + self.rtol * of
    }

    fn nan(self, a: bool, b: bool) -> Compared {
        Compared { differs: !(a && b && self.equal_nan), one_is_nan: a != b, ..Compared::default() }
    }

    pub(super) fn real(self, a: f64, b: f64) -> Compared {
        if a == b {
            return Compared::default();
        }
        if a.is_nan() || b.is_nan() {
            return self.nan(a.is_nan(), b.is_nan());
        }
        self.apart((a - b).abs(), b.abs())
    }

    pub(super) fn complex(self, a: (f64, f64), b: (f64, f64)) -> Compared {
        if a == b {
            return Compared::default();
        }
        let is_nan = |number: (f64, f64)| number.0.is_nan() || number.1.is_nan();
        if is_nan(a) || is_nan(b) {
            return self.nan(is_nan(a), is_nan(b));
        }
        // Equal infinite parts are no distance apart.
        let part = |a: f64, b: f64| if a == b { 0.0 } else { a - b };
        self.apart(part(a.0, b.0).hypot(part(a.1, b.1)), b.0.hypot(b.1))
    }

    /// Two different numbers at this distance, with `|b|`.
    fn apart(self, distance: f64, of: f64) -> Compared {
        let relative = distance / of;
        Compared {
            differs: !self.accepts(distance, of),
            one_is_nan: false,
            distance: Some(Distance::Real(distance)),
            relative: (of != 0.0 && !relative.is_nan()).then_some(relative),
        }
    }

    pub(super) fn integer(self, a: i128, b: i128) -> Compared {
        if a == b {
            return Compared::default();
        }
        let (distance, of) = (a.abs_diff(b), b.unsigned_abs());
        Compared {
            differs: self.is_exact() || !self.accepts(distance as f64, of as f64),
            one_is_nan: false,
            distance: Some(Distance::Integer(distance)),
            relative: (of != 0).then(|| distance as f64 / of as f64),
        }
    }

    /// Elements of any kind.
    pub(super) fn values(self, a: &Value, b: &Value) -> Compared {
        if let (Some(a), Some(b)) = (integer(a), integer(b)) {
            return self.integer(a, b);
        }
        if let (Value::LongDouble(left), Value::LongDouble(right)) = (a, b)
            && same_bits(left, right)
        {
            return Compared::default();
        }
        if let (Value::ComplexLongDouble(left), Value::ComplexLongDouble(right)) = (a, b)
            && left.iter().zip(right.iter()).all(|(left, right)| same_bits(left, right))
        {
            return Compared::default();
        }
        let number = |value: &Value| match value {
            Value::Bool(value) => Some((f64::from(u8::from(*value)), 0.0)),
            other => other.as_complex(),
        };
        if let (Some(left), Some(right)) = (number(a), number(b)) {
            let compared = match (left.1, right.1) {
                (0.0, 0.0) => self.real(left.0, right.0),
                _ => self.complex(left, right),
            };
            // Long doubles that differ by less than a double can tell.
            let is_nan = left.0.is_nan() || left.1.is_nan();
            let rounded = compared == Compared::default() && self.is_exact() && !is_nan && is_long(a, b);
            return Compared { differs: compared.differs || rounded, ..compared };
        }
        let is_nat = |value: &Value| matches!(value, Value::DateTime { count, .. } | Value::TimeDelta { count, .. } if *count == NAT);
        if is_nat(a) || is_nat(b) {
            return self.nan(is_nat(a), is_nat(b));
        }
        Compared { differs: a != b, ..Compared::default() }
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some((*number).into()),
        Value::UInt(number) => Some((*number).into()),
        Value::Bool(truth) => Some(i128::from(*truth)),
        _ => None,
    }
}

/// Whether two long doubles that are not NaN have the same bits, padding aside, or are both zero.
fn same_bits(a: &[u8; 16], b: &[u8; 16]) -> bool {
    let is_nan = |raw: &[u8; 16]| Value::LongDouble(*raw).as_f64().is_some_and(f64::is_nan);
    let is_zero = |raw: &[u8; 16]| raw[..9].iter().all(|&byte| byte == 0) && raw[9] & 0x7f == 0;
    a[..10] == b[..10] && !is_nan(a) || is_zero(a) && is_zero(b)
}

/// Whether both are long doubles. (A long double beside another number is compared in double
/// precision.)
fn is_long(a: &Value, b: &Value) -> bool {
    matches!(
        (a, b),
        (Value::LongDouble(_), Value::LongDouble(_))
            | (Value::ComplexLongDouble(_), Value::ComplexLongDouble(_))
    )
}

impl PartialOrd for Distance {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.partial_cmp(right),
            (left, right) => left.as_f64().partial_cmp(&right.as_f64()),
        }
    }
}

impl Distance {
    fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    pub(super) fn json(self) -> Json {
        match self {
            Self::Integer(number) => {
                u64::try_from(number).map_or_else(|_| number.to_string().into(), Json::from)
            }
            Self::Real(number) => json_of(number),
        }
    }
}

impl std::fmt::Display for Distance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => f.write_str(&short(*number)),
        }
    }
}

/// A number of errors with as many digits as people read.
pub(super) fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e6 => {
            let text = format!("{number:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        size if size.is_finite() => {
            let text = format!("{number:.4e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => number.to_string(),
    }
}

/// A JSON number, or text for infinities.
pub(super) fn json_of(number: f64) -> Json {
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Into::into)
}
