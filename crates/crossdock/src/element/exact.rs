//! Real numbers of any type without rounding.

use std::cmp::Ordering;

use crate::element::big::BigNatural;
use crate::element::wide_float::WideFloat;

/// A real number of any type.
#[derive(Clone, Copy, Debug)]
pub enum ExactReal {
    /// Not a number.
    Nan,
    /// An infinity.
    Infinite {
        /// Whether it is the negative one.
        negative: bool,
    },
    /// `±significand * 2^exponent`, with a significand below 2^126.
    Finite {
        /// Its sign, also of zero.
        negative: bool,
        /// The significand.
        significand: u128,
        /// The exponent.
        exponent: i32,
    },
}

impl From<f64> for ExactReal {
    fn from(value: f64) -> Self {
        let negative = value.is_sign_negative();
        if value.is_nan() {
            return Self::Nan;
        }
        if value.is_infinite() {
            return Self::Infinite { negative };
        }
        let bits = value.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let significand = if field == 0 { fraction } else { fraction | 1 << 52 };
        Self::Finite { negative, significand: significand.into(), exponent: field.max(1) - 1075 }
    }
}

impl PartialEq for ExactReal {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

/// As numbers: a NaN has no order, and both zeros are equal.
impl PartialOrd for ExactReal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (one, two) = (self.sign()?, other.sign()?);
        if one != two {
            return Some(one.cmp(&two));
        }
        let by_size = self.cmp_size(other);
        Some(if one < 0 { by_size.reverse() } else { by_size })
    }
}

impl ExactReal {
    pub(super) const ZERO: Self = Self::Finite { negative: false, significand: 0, exponent: 0 };

    pub(super) fn integer(value: i128) -> Self {
        Self::Finite { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 }
    }

    /// Whether it is not a number.
    pub fn is_nan(self) -> bool {
        matches!(self, Self::Nan)
    }

    pub(super) fn is_infinite(self) -> bool {
        matches!(self, Self::Infinite { .. })
    }

    /// Whether it is 0.0 or -0.0.
    pub fn is_zero(self) -> bool {
        matches!(self, Self::Finite { significand: 0, .. })
    }

    /// -1, 0 or 1; `None` for NaN.
    fn sign(self) -> Option<i8> {
        let of = |negative| if negative { -1 } else { 1 };
        match self {
            Self::Nan => None,
            Self::Infinite { negative } => Some(of(negative)),
            Self::Finite { significand: 0, .. } => Some(0),
            Self::Finite { negative, .. } => Some(of(negative)),
        }
    }

    /// The order of the absolute values of two numbers that are not NaN.
    pub(crate) fn cmp_size(&self, other: &Self) -> Ordering {
        // The place above the highest bit, and the significand with its highest bit at the top.
        let key = |number: Self| match number {
            Self::Finite { significand: 0, .. } | Self::Nan => (i32::MIN, 0),
            Self::Finite { significand, exponent, .. } => {
                let unused = significand.leading_zeros();
                (exponent + 128 - unused as i32, significand << unused)
            }
            Self::Infinite { .. } => (i32::MAX, 0),
        };
        key(*self).cmp(&key(*other))
    }

    /// The absolute value, rounded to 53 bits; `None` if it is not finite.
    pub fn size(self) -> Option<WideFloat> {
        match self {
            Self::Finite { significand, exponent, .. } => Some(WideFloat::new(significand, exponent)),
            _ => None,
        }
    }

    /// The absolute value of the difference, rounded once to 53 bits. Equal infinities are no
    /// distance apart; `None` for other numbers that are not finite.
    pub(super) fn distance(self, other: Self) -> Option<WideFloat> {
        if self == other {
            return Some(WideFloat::ZERO);
        }
        // The one with the higher bits first.
        let (large, small) = if self.cmp_size(&other).is_lt() { (other, self) } else { (self, other) };
        let Self::Finite { negative, significand: mut high, exponent: mut at } = large else { return None };
        let Self::Finite { negative: other_sign, significand: low, exponent } = small else { return None };
        // With all bits from the 126th down. Bits of the small number below them only decide how
        // the result is rounded, so that one bit stands for all of them.
        let room = high.leading_zeros() - 2;
        (high, at) = (high << room, at - room as i32);
        let low = match exponent - at {
            _ if low == 0 => 0,
            up @ 0.. => low << up,
            down if down > -128 => {
                let kept = low >> -down;
                kept | u128::from(kept << -down != low)
            }
            _ => u128::from(low != 0),
        };
        Some(WideFloat::new(if negative == other_sign { high - low } else { high + low }, at))
    }

    /// Whether `|self - other| <= atol + rtol * |other|`, of finite numbers, without any rounding.
    pub(super) fn is_within(self, other: Self, rtol: f64, atol: f64) -> bool {
        let exact = |number: Self| match number {
            Self::Finite { negative, significand, exponent } => (negative, significand, exponent),
            _ => (false, 0, 0),
        };
        let (sign, high, at) = exact(self);
        let (other_sign, low, other_at) = exact(other);
        let ((_, absolute, absolute_at), (_, relative, relative_at)) =
            (exact(atol.into()), exact(rtol.into()));
        // As integers that all count the lowest of the bits.
        let lowest = at.min(other_at).min(absolute_at).min(other_at + relative_at);
        let integer =
            |significand, exponent: i32| BigNatural::shifted(significand, exponent.abs_diff(lowest));
        let (one, two) = (integer(high, at), integer(low, other_at));
        let distance = if sign == other_sign {
            let (mut greater, less) = if one < two { (two, one) } else { (one, two) };
            greater.subtract(&less);
            greater
        } else {
            one.add(&two)
        };
        let mut share = integer(low, other_at + relative_at);
        match u64::try_from(relative) {
            Ok(factor @ 1..) => share.multiply(factor),
            _ => share = BigNatural::shifted(0, 0),
        }
        distance <= integer(absolute, absolute_at).add(&share)
    }
}
