//! When two elements count as equal, and how far apart they are.

use std::cmp::Ordering;

use crossdock::bindings::long_double::{ExactNumber, WideFloat};
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
    /// Of long doubles, where a double is infinite or loses digits.
    Wide(WideFloat),
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

    /// Numbers of which one is a long double.
    fn exact(self, a: ExactNumber, b: ExactNumber) -> Compared {
        if a == b {
            return Compared::default();
        }
        if a.is_nan() || b.is_nan() {
            return self.nan(a.is_nan(), b.is_nan());
        }
        let (distance, size) = (a.distance(b), b.size());
        let relative = match (distance, size) {
            (Some(distance), Some(size)) => distance.ratio(size),
            (Some(_), None) => Some(0.0),
            (None, Some(size)) => (size > WideFloat::ZERO).then_some(f64::INFINITY),
            (None, None) => None,
        };
        Compared {
            differs: !a.is_close(b, self.rtol, self.atol, self.equal_nan),
            one_is_nan: false,
            distance: Some(distance.map_or(Distance::Real(f64::INFINITY), Distance::of)),
            relative,
        }
    }

    /// Elements of any kind.
    pub(super) fn values(self, a: &Value, b: &Value) -> Compared {
        if let (Some(a), Some(b)) = (integer(a), integer(b)) {
            return self.integer(a, b);
        }
        if (is_long(a) || is_long(b))
            && let (Some(a), Some(b)) = (ExactNumber::of(a), ExactNumber::of(b))
        {
            return self.exact(a, b);
        }
        let number = |value: &Value| match value {
            Value::Bool(value) => Some((f64::from(u8::from(*value)), 0.0)),
            other => other.as_complex(),
        };
        if let (Some(left), Some(right)) = (number(a), number(b)) {
            return match (left.1, right.1) {
                (0.0, 0.0) => self.real(left.0, right.0),
                _ => self.complex(left, right),
            };
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

/// Whether it is a long double, or two.
fn is_long(value: &Value) -> bool {
    matches!(value, Value::LongDouble(_) | Value::ComplexLongDouble(_))
}

impl PartialOrd for Distance {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.partial_cmp(right),
            (Self::Wide(left), Self::Wide(right)) => left.partial_cmp(right),
            (Self::Wide(left), right) if right.as_f64().is_finite() => {
                left.partial_cmp(&WideFloat::from_f64(right.as_f64()))
            }
            (left, Self::Wide(right)) if left.as_f64().is_finite() => {
                WideFloat::from_f64(left.as_f64()).partial_cmp(right)
            }
            // A distance beyond all doubles is less than infinity.
            (Self::Wide(_), Self::Real(_)) => Some(Ordering::Less),
            (Self::Real(_), Self::Wide(_)) => Some(Ordering::Greater),
            (left, right) => left.as_f64().partial_cmp(&right.as_f64()),
        }
    }
}

impl Distance {
    fn of(distance: WideFloat) -> Self {
        let double = distance.to_f64();
        let is_double = double.is_finite() && WideFloat::from_f64(double) == distance;
        if is_double { Self::Real(double) } else { Self::Wide(distance) }
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
            Self::Wide(number) => number.to_f64(),
        }
    }

    pub(super) fn json(self) -> Json {
        match self {
            Self::Integer(number) => {
                u64::try_from(number).map_or_else(|_| number.to_string().into(), Json::from)
            }
            Self::Real(number) => json_of(number),
            Self::Wide(_) => self.to_string().into(),
        }
    }
}

impl std::fmt::Display for Distance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => f.write_str(&short(*number)),
            Self::Wide(number) => f.write_str(&without_zeros(&format!("{number:.4e}"))),
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
        size if size.is_finite() => without_zeros(&format!("{number:.4e}")),
        _ => number.to_string(),
    }
}

/// A number with an exponent, without the zeros that end its decimals.
fn without_zeros(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A JSON number, or text for infinities.
pub(super) fn json_of(number: f64) -> Json {
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Into::into)
}
