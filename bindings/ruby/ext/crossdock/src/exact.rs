//! Ruby's exact numbers (Integer, Rational, BigDecimal) as floats, rounded once.
//!
//! Ruby's own `to_f` does not serve: it rounds large numerators and denominators before it divides
//! them, and a double rounded to a narrower float is rounded twice.

use crossdock::bindings::long_double;
use crossdock::element::{ScalarKind, Value as Element};
use magnus::rb_sys::AsRawValue;
use magnus::{Float, Integer, Ruby, Value, prelude::*};

use crate::error::{Failure, Result};

/// Beyond this decimal exponent, a number is too large or too small for every float, also for a
/// `long double`.
const MOST_DIGITS: i64 = 6000;

/// A quotient is computed with this many bits, or one more: two more than the widest significand
/// needs.
const QUOTIENT_BITS: i64 = long_double::NATIVE.precision() as i64 + 3;

/// The bytes of a `long double`.
type Wide = [u8; 16];

/// The float into which a number is rounded.
#[derive(Clone, Copy, PartialEq)]
enum Precision {
    /// A double, to the nearest.
    Double,
    /// A double on the way to a narrower float: an inexact result gets an odd last bit, so that the
    /// second rounding gives what a single one would (round to odd).
    Odd,
    /// A `long double`, to the nearest.
    LongDouble,
}

impl Precision {
    fn of(kind: ScalarKind) -> Self {
        match kind {
            ScalarKind::Float64 | ScalarKind::Complex128 => Self::Double,
            ScalarKind::LongDouble | ScalarKind::ComplexLongDouble => Self::LongDouble,
            _ => Self::Odd,
        }
    }
}

/// A real number that is no Float, as an element of a float type.
///
/// # Errors
///
/// `RangeError` for a number that is too large for the type.
pub(crate) fn real(ruby: &Ruby, value: Value, kind: ScalarKind) -> Result<Element> {
    let precision = Precision::of(kind);
    Ok(match precision {
        Precision::LongDouble => Element::LongDouble(wide(ruby, value, kind)?),
        _ => Element::Float(double(ruby, value, precision, kind)?),
    })
}

/// A complex number as an element of a complex type; of any other type, as one of doubles, which
/// does not fit.
pub(crate) fn complex(ruby: &Ruby, re: Value, im: Value, kind: ScalarKind) -> Result<Element> {
    let precision = match kind {
        ScalarKind::Complex32 | ScalarKind::Complex64 | ScalarKind::ComplexLongDouble => Precision::of(kind),
        _ => Precision::Double,
    };
    Ok(match precision {
        Precision::LongDouble => {
            Element::ComplexLongDouble(Box::new([wide(ruby, re, kind)?, wide(ruby, im, kind)?]))
        }
        _ => Element::Complex {
            re: double(ruby, re, precision, kind)?,
            im: double(ruby, im, precision, kind)?,
        },
    })
}

/// The nearest double.
///
/// # Errors
///
/// As [`real`].
pub(crate) fn nearest(ruby: &Ruby, value: Value) -> Result<f64> {
    double(ruby, value, Precision::Double, ScalarKind::Float64)
}

/// The Integer that a Rational, a BigDecimal or the like is, if it is one.
pub(crate) fn whole(ruby: &Ruby, value: Value) -> Result<Option<Integer>> {
    match Exact::of(ruby, value)? {
        Exact::Fraction(num, den) if den.to_i64().is_ok_and(|den| den == 1) => Ok(Some(num)),
        _ => Ok(None),
    }
}

fn double(ruby: &Ruby, value: Value, precision: Precision, kind: ScalarKind) -> Result<f64> {
    if let Some(float) = Float::from_value(value) {
        return Ok(float.to_f64());
    }
    match Exact::of(ruby, value)? {
        Exact::Float(float) => Ok(float),
        Exact::Beyond => Err(Failure::misfit(ruby, value, kind)),
        Exact::Fraction(num, den) => {
            let quotient = Quotient::new(num, den)?;
            quotient.to_f64(precision == Precision::Odd).ok_or_else(|| Failure::misfit(ruby, value, kind))
        }
    }
}

fn wide(ruby: &Ruby, value: Value, kind: ScalarKind) -> Result<Wide> {
    let (num, den) = match Exact::of(ruby, value)? {
        Exact::Fraction(num, den) => (num, den),
        Exact::Float(float) => return Ok(long_double::NATIVE.encode_f64(float)),
        Exact::Beyond => return Err(Failure::misfit(ruby, value, kind)),
    };
    Quotient::new(num, den)?.to_long_double().ok_or_else(|| Failure::misfit(ruby, value, kind))
}

/// What a real number says of itself.
enum Exact {
    /// A numerator, and a denominator above 0.
    Fraction(Integer, Integer),
    /// Zeros keep their sign; infinities and NaN have no fraction; other numbers know a double
    /// only.
    Float(f64),
    /// Larger than every float.
    Beyond,
}

impl Exact {
    fn of(ruby: &Ruby, value: Value) -> Result<Self> {
        if let Some(integer) = Integer::from_value(value) {
            return Ok(Self::Fraction(integer, ruby.integer_from_i64(1)));
        }
        if let Some(float) = Float::from_value(value) {
            return Ok(Self::Float(float.to_f64()));
        }
        if value.class().to_string() == "BigDecimal" {
            if !value.funcall::<_, _, bool>("finite?", ())? || value.funcall("zero?", ())? {
                return Ok(Self::Float(value.funcall("to_f", ())?));
            }
            // Its fraction may have more digits than there is memory: 1e-1000000000.
            let exponent: i64 = value.funcall("exponent", ())?;
            if exponent > MOST_DIGITS {
                return Ok(Self::Beyond);
            }
            if exponent < -MOST_DIGITS {
                let is_negative: bool = value.funcall("negative?", ())?;
                return Ok(Self::Float(if is_negative { -0.0 } else { 0.0 }));
            }
        }
        if !value.respond_to("to_r", false)? {
            return Ok(Self::Float(value.funcall("to_f", ())?));
        }
        let (num, den) = fraction(value)?;
        Ok(Self::Fraction(num, den))
    }
}

fn fraction(value: Value) -> Result<(Integer, Integer)> {
    let exact: Value = value.funcall("to_r", ())?;
    Ok((exact.funcall("numerator", ())?, exact.funcall("denominator", ())?))
}

/// The magnitude `(bits + rest) * 2^exponent`, where the rest is below 1, and 0 only if it is not
/// `inexact`.
#[derive(Clone, Copy, Debug)]
struct Quotient {
    negative: bool,
    bits: u128,
    inexact: bool,
    exponent: i64,
}

impl Quotient {
    fn new(num: Integer, den: Integer) -> Result<Self> {
        let negative: bool = num.funcall("negative?", ())?;
        let (mut num, mut den): (Integer, Integer) = (num.funcall("abs", ())?, den);
        let lengths: (i64, i64) = (num.funcall("bit_length", ())?, den.funcall("bit_length", ())?);
        let shift = QUOTIENT_BITS - (lengths.0 - lengths.1);
        if shift > 0 {
            num = num.funcall("<<", (shift,))?;
        } else {
            den = den.funcall("<<", (-shift,))?;
        }
        let (quotient, rest): (Integer, Integer) = num.funcall("divmod", (den,))?;
        let inexact = !rest.funcall::<_, _, bool>("zero?", ())?;
        Ok(Self { negative, bits: quotient.to_u128()?, inexact, exponent: -shift })
    }

    /// The number of bits of the integer part.
    fn length(self) -> i64 {
        128 - i64::from(self.bits.leading_zeros())
    }

    /// The bits without the lowest `dropped`, rounded to the nearest (ties to even), or to odd.
    fn rounded(self, dropped: i64, to_odd: bool) -> u128 {
        let Ok(dropped @ 0..=127) = u32::try_from(dropped) else {
            // All of it is below half of the lowest bit that is kept. (There are fewer than 127
            // bits, and never fewer than are kept.)
            return u128::from(to_odd);
        };
        let kept = self.bits >> dropped;
        let rest = self.bits & ((1 << dropped) - 1);
        let half = (1_u128 << dropped) >> 1;
        let is_exact = rest == 0 && !self.inexact;
        if to_odd {
            return kept | u128::from(!is_exact);
        }
        let above = rest > half || (rest == half && half > 0 && (self.inexact || kept & 1 == 1));
        kept + u128::from(above)
    }

    /// As a double; `None` for a number that is too large.
    fn to_f64(self, to_odd: bool) -> Option<f64> {
        if self.bits == 0 {
            return Some(0.0);
        }
        // The exponents of the highest bit, and of the lowest bit that a double has.
        let highest = self.length() - 1 + self.exponent;
        let lowest = highest.max(-1022) - 52;
        let kept = self.rounded(lowest - self.exponent, to_odd);
        if highest > 1023 || (highest == 1023 && kept >> 53 != 0) {
            return None;
        }
        // The leading one of a normal significand adds 1 to the exponent field, and so does a
        // carry.
        let field = (highest.max(-1022) + 1022) as u64;
        let magnitude = f64::from_bits((field << 52) + kept as u64);
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// As a `long double`; `None` for a number that is too large.
    fn to_long_double(self) -> Option<Wide> {
        if self.bits == 0 {
            return Some([0; 16]);
        }
        let format = long_double::NATIVE;
        // The exponents of the highest bit, and of the lowest bit that a long double has.
        let highest = self.length() - 1 + self.exponent;
        let lowest = (highest - i64::from(format.precision() - 1)).max(format.lowest().into());
        format.encode(self.negative, self.rounded(lowest - self.exponent, false), lowest)
    }
}

/// Whether a double represents this Integer, and every one that is nearer to 0.
pub(crate) fn is_short(integer: i64) -> bool {
    integer.unsigned_abs() <= 1 << 53
}

/// Whether the object is a Rational.
pub(crate) fn is_rational(value: Value) -> bool {
    let raw = value.as_raw();
    !rb_sys::SPECIAL_CONST_P(raw)
        // SAFETY: `raw` is no special constant (checked first), so it points to a live object on
        // the heap.
        && unsafe { rb_sys::RB_BUILTIN_TYPE(raw) } == rb_sys::ruby_value_type::RUBY_T_RATIONAL
}
