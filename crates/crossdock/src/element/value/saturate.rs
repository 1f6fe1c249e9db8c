//! Values that a dtype cannot hold, made to fit it.

use crate::element::exact::ExactReal;
use crate::element::float::{Flavour, FloatFormat};
use crate::element::units;
use crate::element::{DType, Scalar, ScalarKind, Value, long_double};

impl Value {
    /// What [`write`](Self::write) accepts for a saturating conversion: a date or a duration in the
    /// unit of the dtype, rounded down and clamped; a long double as a number that the dtype can
    /// hold; of a complex number for a long double, the real part. Other values are unchanged.
    pub(crate) fn saturated(self, dtype: &DType) -> Self {
        match (self, dtype.as_scalar().map(Scalar::kind)) {
            (Self::DateTime { count, unit: own }, Some(ScalarKind::DateTime(unit))) => {
                Self::DateTime { count: units::date(count, own, unit).saturated(), unit }
            }
            (Self::TimeDelta { count, unit: own }, Some(ScalarKind::TimeDelta(unit))) => {
                Self::TimeDelta { count: units::duration(count, own, unit).saturated(), unit }
            }
            (Self::Complex { re, .. }, Some(ScalarKind::LongDouble)) => Self::Float(re),
            (Self::LongDouble(raw), Some(kind)) => {
                narrowed(&raw, None, kind).unwrap_or(Self::LongDouble(raw))
            }
            (Self::ComplexLongDouble(parts), Some(kind)) => {
                narrowed(&parts[0], Some(&parts[1]), kind).unwrap_or(Self::ComplexLongDouble(parts))
            }
            (other, _) => other,
        }
    }
}

/// A long double, or two, as a number of this kind; `None` for kinds that hold all of them or no
/// numbers.
fn narrowed(re: &[u8; 16], im: Option<&[u8; 16]>, kind: ScalarKind) -> Option<Value> {
    let both = |part| {
        let (re, im) = (float(re, part), im.map_or(0.0, |im| float(im, part)));
        Some(Value::Complex { re, im })
    };
    let exact = |raw| long_double::NATIVE.exact(raw);
    match kind {
        ScalarKind::LongDouble => Some(Value::LongDouble(*re)),
        ScalarKind::Bool => {
            Some(Value::Bool(!exact(re).is_zero() || im.is_some_and(|im| !exact(im).is_zero())))
        }
        ScalarKind::Int8 | ScalarKind::Int16 | ScalarKind::Int32 | ScalarKind::Int64 => {
            let unused = 64 - 8 * kind.itemsize() as u32;
            let (least, greatest) = (i64::MIN >> unused, i64::MAX >> unused);
            let whole = truncated(exact(re)).clamp(least.into(), greatest.into());
            i64::try_from(whole).ok().map(Value::Int)
        }
        ScalarKind::UInt8 | ScalarKind::UInt16 | ScalarKind::UInt32 | ScalarKind::UInt64 => {
            let greatest = u64::MAX >> (64 - 8 * kind.itemsize() as u32);
            u64::try_from(truncated(exact(re)).clamp(0, greatest.into())).ok().map(Value::UInt)
        }
        ScalarKind::Complex32 => both(ScalarKind::Float16),
        ScalarKind::Complex64 => both(ScalarKind::Float32),
        ScalarKind::Complex128 => both(ScalarKind::Float64),
        ScalarKind::Float32 | ScalarKind::Float64 => Some(Value::Float(float(re, kind))),
        narrow => FloatFormat::of(narrow).map(|_| Value::Float(float(re, narrow))),
    }
}

/// The whole part, clamped to 65 bits; 0 for NaN.
fn truncated(number: ExactReal) -> i128 {
    const BEYOND: u128 = 1 << 64;
    let (negative, whole) = match number {
        ExactReal::Nan => return 0,
        ExactReal::Infinite { negative } => (negative, BEYOND),
        ExactReal::Finite { negative, significand, exponent: up @ 0.. } => {
            let whole = significand.min(BEYOND) << up.min(63);
            (negative, if up > 63 && significand > 0 { BEYOND } else { whole.min(BEYOND) })
        }
        ExactReal::Finite { negative, significand, exponent } => {
            (negative, significand.checked_shr(exponent.unsigned_abs()).unwrap_or(0).min(BEYOND))
        }
    };
    if negative { -(whole as i128) } else { whole as i128 }
}

/// The number that a float kind of at most 64 bits has for a long double, or one that is rounded to
/// it when it is written.
fn float(raw: &[u8; 16], kind: ScalarKind) -> f64 {
    let format = long_double::NATIVE;
    if kind == ScalarKind::Float64 {
        return format.to_f64(raw);
    }
    // What overflows a double is infinite here.
    let number = format.to_odd(raw).unwrap_or_else(|| format.to_f64(raw));
    let Some(narrow) = FloatFormat::of(kind) else { return f64::from(number as f32) };
    if narrow.fits(number) {
        return number;
    }
    let greatest = narrow.decode(narrow.max_finite());
    match narrow.flavour() {
        // The format has no NaN.
        _ if number.is_nan() => 0.0,
        Flavour::Ieee => f64::INFINITY.copysign(number),
        Flavour::PowerOfTwo if number <= 0.0 => narrow.decode(0),
        Flavour::PowerOfTwo => greatest,
        _ => greatest.copysign(number),
    }
}
