//! The decimal digits of floats. Rust's standard library computes them, or `long_digits` those of
//! long doubles; this module rounds and formats them.

use crate::element::exact::ExactReal;
use crate::element::float::FloatFormat;
use crate::element::long_digits::{self, LongDigits};
use crate::element::{ScalarKind, Value, long_double};

/// A real number whose digits are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Real {
    /// A number of at most 64 bits.
    Double(f64),
    /// A long double of this processor.
    Long([u8; 16]),
}

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl Real {
    /// The real number, if it is one.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::LongDouble(raw) => Some(Self::Long(*raw)),
            other => other.as_f64().map(Self::Double),
        }
    }

    /// The real and the imaginary part of a number.
    pub(crate) fn parts(value: &Value) -> Option<(Self, Self)> {
        match value {
            Value::LongDouble(raw) => Some((Self::Long(*raw), Self::Double(0.0))),
            Value::ComplexLongDouble(parts) => Some((Self::Long(parts[0]), Self::Long(parts[1]))),
            other => other.as_complex().map(|(re, im)| (re.into(), im.into())),
        }
    }

    /// The number itself.
    pub(crate) fn exact(self) -> ExactReal {
        match self {
            Self::Double(value) => value.into(),
            Self::Long(raw) => long_double::NATIVE.exact(&raw),
        }
    }

    pub(crate) fn is_nan(self) -> bool {
        self.exact().is_nan()
    }

    pub(crate) fn is_finite(self) -> bool {
        matches!(self.exact(), ExactReal::Finite { .. })
    }

    fn is_zero(self) -> bool {
        self.exact().is_zero()
    }

    /// Whether the sign bit is set, also of zeros and NaN.
    pub(crate) fn is_sign_negative(self) -> bool {
        match self {
            Self::Double(value) => value.is_sign_negative(),
            Self::Long(raw) => long_double::NATIVE.to_f64(&raw).is_sign_negative(),
        }
    }

    /// The significand and the exponent of a long double that is finite and not zero.
    fn long(self) -> Option<(u128, i32)> {
        match (self, self.exact()) {
            (Self::Long(_), ExactReal::Finite { significand: significand @ 1.., exponent, .. }) => {
                Some((significand, exponent))
            }
            _ => None,
        }
    }

    /// The magnitude as a double, for those that [`long`](Self::long) has nothing for.
    fn magnitude(self) -> f64 {
        match self {
            Self::Double(value) => value.abs(),
            Self::Long(raw) => long_double::NATIVE.to_f64(&raw).abs(),
        }
    }

    /// The magnitude of a finite number with this many digits after the point.
    pub(in crate::element) fn fixed(self, decimals: usize) -> String {
        let Some((significand, exponent)) = self.long() else {
            return format!("{:.decimals$}", self.magnitude());
        };
        let found = LongDigits::of_decimals(significand, exponent, decimals);
        if found.digits.is_empty() {
            return format!("{:.decimals$}", 0.0);
        }
        let decimal = Decimal { digits: found.text(), exponent: found.exponent };
        decimal.positional()
    }

    /// The magnitude of a finite number, rounded, ties to even.
    fn exact_digits(self, precision: usize) -> (String, i32) {
        if let Some((significand, exponent)) = self.long() {
            return long_digits::rounded(significand, exponent, precision);
        }
        let text = format!("{:.precision$e}", self.magnitude());
        let (significand, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        (with_point(significand.to_owned()), exponent.parse().unwrap_or(0))
    }
}

/// The fewest digits that round-trip in the number's own format.
struct Decimal {
    /// At least one digit, and no zero at the end of several.
    digits: String,
    /// The power of ten of the first digit.
    exponent: i32,
}

impl Decimal {
    /// The digits of the magnitude of a finite value.
    fn shortest(value: Real, kind: ScalarKind) -> Self {
        if let Some((significand, exponent)) = value.long() {
            let is_uneven = long_double::NATIVE.is_lowest_of_its_exponent(significand, exponent);
            let found = LongDigits::shortest(significand, exponent, is_uneven);
            return Self { digits: found.text(), exponent: found.exponent };
        }
        let value = value.magnitude();
        let text = match FloatFormat::of(kind) {
            _ if kind == ScalarKind::Float32 => format!("{:e}", value as f32),
            Some(_) => Self::narrow(value, kind),
            None => format!("{value:e}"),
        };
        // Of two equally near and short decimals, the one with the even digit.
        let shortest = Self::parse(&text);
        let even = format!("{value:.digits$e}", digits = shortest.digits.len() - 1);
        if leads_back(&even, value, kind) { Self::parse(&even) } else { shortest }
    }

    /// As Rust writes it with an exponent: `1.25e-3`.
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = mantissa.replace('.', "");
        let significant = digits.trim_end_matches('0').len().max(1);
        Self { digits: digits[..significant].to_owned(), exponent: exponent.parse().unwrap_or(0) }
    }

    /// Five digits distinguish all values of eleven bits. The nearest decimal of that length may
    /// round to the neighbour below a power of two, while the next decimal above round-trips.
    fn narrow(value: f64, kind: ScalarKind) -> String {
        for decimals in 0..5 {
            let near = format!("{value:.decimals$e}");
            let (significand, exponent) = near.split_once('e').unwrap_or((&near, "0"));
            let significand: u64 = significand.replace('.', "").parse().unwrap_or(0);
            let exponent = exponent.parse::<i32>().unwrap_or(0) - decimals as i32;
            for candidate in [significand, significand + 1] {
                let text = format!("{candidate}e{exponent}");
                if leads_back(&text, value, kind) {
                    return format!("{:e}", text.parse().unwrap_or(value));
                }
            }
        }
        format!("{value:e}")
    }

    /// The number of digits after the point without an exponent.
    fn decimals(&self) -> usize {
        usize::try_from(self.digits.len() as i32 - 1 - self.exponent).unwrap_or(0)
    }

    /// With a point after the first digit.
    fn significand(&self) -> String {
        let (first, rest) = self.digits.split_at(1);
        format!("{first}.{rest}")
    }

    /// Without an exponent.
    fn positional(&self) -> String {
        let Ok(whole) = usize::try_from(self.exponent + 1) else {
            let zeros = self.exponent.unsigned_abs() as usize - 1;
            return format!("0.{}{}", "0".repeat(zeros), self.digits);
        };
        if whole == 0 {
            return format!("0.{}", self.digits);
        }
        match self.digits.split_at_checked(whole) {
            Some((whole, rest)) => format!("{whole}.{rest}"),
            None => format!("{:0<whole$}.", self.digits),
        }
    }
}

/// Whether a decimal is read as this value of the kind.
fn leads_back(text: &str, value: f64, kind: ScalarKind) -> bool {
    match kind {
        ScalarKind::Float32 => text.parse() == Ok(value as f32),
        kind => text.parse().is_ok_and(|decimal| rounded(decimal, kind) == value),
    }
}

fn with_sign(value: Real, plus: bool, magnitude: String) -> String {
    match (value.is_sign_negative(), plus) {
        (true, _) => format!("-{magnitude}"),
        (false, true) => format!("+{magnitude}"),
        (false, false) => magnitude,
    }
}

fn with_point(mut text: String) -> String {
    if !text.contains('.') {
        text.push('.');
    }
    text
}

/// A finite number without an exponent: the fewest digits that round-trip, at most `precision` of
/// them after the point, which is always written: `0.333`, `12.`.
pub(crate) fn positional(value: impl Into<Real>, kind: ScalarKind, precision: usize, plus: bool) -> String {
    let value = value.into();
    let shortest = Decimal::shortest(value, kind);
    let magnitude = if shortest.decimals() <= precision {
        shortest.positional()
    } else {
        let rounded = with_point(value.fixed(precision));
        rounded.trim_end_matches('0').to_owned()
    };
    with_sign(value, plus, magnitude)
}

/// A finite number's significand and exponent of ten: the fewest digits that round-trip, at most
/// `precision` of them after the point, which is always written: `1.25` and -3.
pub(crate) fn scientific(
    value: impl Into<Real>,
    kind: ScalarKind,
    precision: usize,
    plus: bool,
) -> (String, i32) {
    let value = value.into();
    let shortest = Decimal::shortest(value, kind);
    if shortest.digits.len() <= precision.saturating_add(1) {
        return (with_sign(value, plus, shortest.significand()), shortest.exponent);
    }
    let (significand, exponent) = value.exact_digits(precision);
    (with_sign(value, plus, significand.trim_end_matches('0').to_owned()), exponent)
}

/// Like [`scientific`], with exactly `precision` digits after the point: if fewer round-trip, the
/// digits of the exact value follow.
pub(crate) fn scientific_padded(
    value: impl Into<Real>,
    kind: ScalarKind,
    precision: usize,
    plus: bool,
) -> (String, i32) {
    let value = value.into();
    let shortest = Decimal::shortest(value, kind);
    let (significand, exponent) = if shortest.digits.len() == precision.saturating_add(1) {
        (shortest.significand(), shortest.exponent)
    } else {
        value.exact_digits(precision)
    };
    (with_sign(value, plus, significand), exponent)
}

/// Whether a kind is a real number with a point.
pub(crate) fn is_float(kind: ScalarKind) -> bool {
    use ScalarKind::{Float32, Float64, LongDouble};
    matches!(kind, Float32 | Float64 | LongDouble) || FloatFormat::of(kind).is_some()
}

/// The nearest number of a kind.
pub(crate) fn rounded(value: f64, kind: ScalarKind) -> f64 {
    match FloatFormat::of(kind) {
        _ if kind == ScalarKind::Float32 => f64::from(value as f32),
        Some(format) => format.decode(format.encode(value)),
        None => value,
    }
}

/// The power of ten from which NumPy writes numbers of a kind with an exponent: for single numbers,
/// and for arrays.
pub(crate) fn large(kind: ScalarKind) -> (f64, f64) {
    match kind {
        ScalarKind::Float64 | ScalarKind::LongDouble => (1e16, 1e8),
        ScalarKind::Float32 => (1e6, 1e6),
        // NumPy's limits for float16, also used for formats that NumPy lacks.
        _ => (1e3, 1e3),
    }
}

/// A single number, with the digits that round-trip: `0.1`, `1.0`, `1e+16`, `nan`, `-inf`.
pub(crate) fn float(value: impl Into<Real>, kind: ScalarKind) -> String {
    alone(value.into(), kind, false, ".0")
}

/// Like [`float`], without a trailing point: `(1-2.5j)`, `1j`.
pub(super) fn complex(re: impl Into<Real>, im: impl Into<Real>, kind: ScalarKind) -> String {
    let (re, im) = (re.into(), im.into());
    if re.is_zero() && !re.is_sign_negative() {
        return format!("{}j", alone(im, kind, false, ""));
    }
    format!("({}{}j)", alone(re, kind, false, ""), alone(im, kind, true, ""))
}

fn alone(value: Real, kind: ScalarKind, plus: bool, whole: &str) -> String {
    if value.is_nan() {
        return if plus { "+nan".into() } else { "nan".into() };
    }
    if !value.is_finite() {
        return with_sign(value, plus, "inf".into());
    }
    let is_positional = match value {
        // The shortest digits of a long double are on the same side of a power of ten.
        Real::Long(_) => (-4..16).contains(&Decimal::shortest(value, kind).exponent),
        Real::Double(value) => (1e-4..large(kind).0).contains(&value.abs()),
    };
    if value.is_zero() || is_positional {
        let text = positional(value, kind, usize::MAX, plus);
        return text.strip_suffix('.').map(|number| format!("{number}{whole}")).unwrap_or(text);
    }
    let (significand, exponent) = scientific(value, kind, usize::MAX, plus);
    format!("{}e{}", significand.trim_end_matches('.'), signed(exponent, 2))
}

/// An exponent with its sign and at least `digits` digits.
pub(crate) fn signed(exponent: i32, digits: usize) -> String {
    format!("{}{:0digits$}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarKind::{Float16, Float32, Float64};

    #[test]
    fn digits_are_cut_and_trimmed() {
        for (value, precision, text) in [
            (1.0 / 3.0, 8, "0.33333333"),
            (2.0 / 3.0, 3, "0.667"),
            (0.999_999_999_9, 8, "1."),
            (0.25, 1, "0.2"),
            (-0.0, 8, "-0."),
            (1e7, 8, "10000000."),
            (-12.5, 0, "-12."),
            (0.000_12, 8, "0.00012"),
            (0.1, 8, "0.1"),
        ] {
            assert_eq!(positional(value, Float64, precision, false), text);
        }
        assert_eq!(positional(f64::from(0.1f32), Float32, 8, true), "+0.1");
        assert_eq!(scientific(123_456.0, Float64, 3, false), ("1.235".into(), 5));
        assert_eq!(scientific(9.999_9e-5, Float64, 2, false), ("1.".into(), -4));
        assert_eq!(scientific_padded(0.0, Float64, 2, true), ("+0.00".into(), 0));
        assert_eq!(scientific_padded(-1e300, Float64, 0, false), ("-1.".into(), 300));
        assert_eq!(scientific_padded(f64::from(0.1f32), Float32, 8, false), ("1.00000001".into(), -1));
    }

    #[test]
    fn ties_and_powers_of_two_go_where_numpy_has_them_go() {
        assert_eq!(float(2_f64.powi(-12), Float32), "0.00024414062");
        assert_eq!(scientific(2_f64.powi(-6), Float16, 8, false), ("1.563".into(), -2));
        assert_eq!(scientific_padded(2_f64.powi(-6), Float16, 3, false), ("1.563".into(), -2));
        assert_eq!(scientific(2_f64.powi(-7), Float16, 8, false), ("7.812".into(), -3));
    }

    #[test]
    fn numbers_by_themselves_have_an_exponent_where_numpy_gives_them_one() {
        for (value, kind, text) in [
            (1e15, Float64, "1000000000000000.0"),
            (1e16, Float64, "1e+16"),
            (1e-4, Float64, "0.0001"),
            (1e-5, Float64, "1e-05"),
            (-1.5e300, Float64, "-1.5e+300"),
            (f64::from(1e6f32), Float32, "1e+06"),
            (f64::from(1e-4f32), Float32, "1e-04"),
            (65504.0, Float16, "6.55e+04"),
            (f64::NEG_INFINITY, Float16, "-inf"),
        ] {
            assert_eq!(float(value, kind), text);
        }
        assert_eq!(complex(0.0, -1.0, Float64), "-1j");
        assert_eq!(complex(-0.0, -0.0, Float64), "(-0-0j)");
        assert_eq!(complex(f64::NAN, f64::INFINITY, Float64), "(nan+infj)");
    }
}
