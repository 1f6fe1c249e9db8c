//! Counts and extremes of long doubles, and sums of those that doubles can stand for.

use crossdock::bindings::long_double::ExactNumber;
use crossdock::element::Value;

use crate::inspect::statistics::floats::Floats;

#[derive(Debug)]
pub(super) struct Longs {
    /// Of the nearest doubles. Their zeros and extremes may not be those of the long doubles.
    pub(super) floats: Floats,
    pub(super) zeros: u64,
    pub(super) least: Option<Value>,
    pub(super) greatest: Option<Value>,
    /// How many finite numbers doubles cannot stand for: the nearest is infinite, zero or
    /// subnormal.
    pub(super) outside: u64,
}

impl Longs {
    pub(super) const NONE: Self =
        Self { floats: Floats::NONE, zeros: 0, least: None, greatest: None, outside: 0 };

    /// Adds one long double.
    pub(super) fn add(&mut self, value: Value) {
        let (Some(number), Some(near)) = (ExactNumber::of(&value), value.as_f64()) else { return };
        self.floats.add_one(near, 1);
        if number.is_nan() {
            return;
        }
        let is_zero = number.real().is_zero();
        let is_finite = number.size().is_some();
        self.zeros += u64::from(is_zero);
        self.outside += u64::from(is_finite && !is_zero && !near.is_normal());
        self.widen(&value, &value);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.floats.merge(other.floats);
        self.zeros += other.zeros;
        self.outside += other.outside;
        if let (Some(least), Some(greatest)) = (other.least, other.greatest) {
            self.widen(&least, &greatest);
        }
    }

    /// Includes two numbers in the range.
    fn widen(&mut self, least: &Value, greatest: &Value) {
        let real = |value: &Value| ExactNumber::of(value).map(ExactNumber::real);
        if self.least.as_ref().is_none_or(|old| real(least) < real(old)) {
            self.least = Some(least.clone());
        }
        if self.greatest.as_ref().is_none_or(|old| real(greatest) > real(old)) {
            self.greatest = Some(greatest.clone());
        }
    }
}
