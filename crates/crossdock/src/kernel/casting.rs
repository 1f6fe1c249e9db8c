//! How a conversion treats numbers that the target dtype cannot represent.

/// How a conversion treats values that do not fit.
///
/// Numbers that fit become the same bytes in both modes. Integers and `bool` (0 or 1) keep their
/// value. A number that becomes a float becomes the nearest one, rounded once, ties to the even
/// pattern. (In `float8_e8m0fnu`, which has exponents alone, a tie goes up.) Negative zero stays
/// negative where the format has one, and subnormal numbers are kept. NaN stays NaN: between
/// `float32` and `float64` with its sign and the upper end of its payload, from a narrower float
/// with its sign alone, and to a narrower float as the one NaN of that format.
///
/// Other values, by the kinds of source and target (*clamped*: the nearer end of the range):
///
/// | from | to | [`Checked`] refuses | [`Saturating`] gives |
/// |---|---|---|---|
/// | integer | integer | what is out of range | clamped |
/// | float | integer | fractions, NaN, infinities, out of range | truncated, clamped; NaN 0 |
/// | any number | `bool` | all but 0 and 1 | whether it, or a part of it, is not 0; NaN is true |
/// | integer, `bool` | `float32`, `float64` | nothing | |
/// | any number | `float16`, `bfloat16` | finite numbers that overflow | infinity |
/// | any number | `float8_e5m2`, `_e4m3`, `_e3m4` | finite numbers that overflow | infinity |
/// | `float64`, long double | `float32` | finite numbers that overflow | infinity |
/// | long double | `float64` | finite numbers that overflow | infinity |
/// | any number | `float8_e4m3fn`, `…fnuz` | infinities, what overflows | ± the greatest number |
/// | any number | `float6_…`, `float4_…` | the same, and NaN | the same, and 0 for NaN |
/// | positive number | `float8_e8m0fnu` | as for `e4m3fn` | the greatest power of two |
/// | 0, negative number | `float8_e8m0fnu` | every one | the least power of two |
/// | complex | complex | as its parts | each part as such |
/// | real | complex | as for the real part | as for the real part; imaginary part 0 |
/// | complex | real | every one | the real part alone |
/// | date, duration | another unit | fractional counts, out of range | rounded down, clamped |
///
/// A finite number overflows where it rounds beyond the greatest number of the format. The `fnuz`
/// formats have no negative zero: what rounds to it becomes 0. If a number keeps its value and only
/// its byte order changes, or an imaginary part is added or dropped, its bytes are moved unchecked,
/// NaN included.
///
/// A float is truncated towards zero to an integer, as by Rust's `as`, C's casts and NumPy's
/// `astype`: 0.841 becomes 0, and -1.5 becomes -1. Dates are converted as in NumPy: a year or a
/// month becomes its first day, a count without a unit is unchanged, and durations of years or
/// months become days by the average of 400 years, which [`Checked`] refuses.
///
/// Types other than numbers (text, opaque bytes, …) are converted as by
/// [`Value::write`](crate::element::Value::write) in both modes. Long doubles are converted one by
/// one, more slowly than other numbers; every number becomes a long double. Records are
/// converted field by field, sub-arrays element by element.
///
/// [`Checked`]: Self::Checked
/// [`Saturating`]: Self::Saturating
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Casting {
    /// Refuses values that do not fit, with the index of the first such element. It refuses exactly
    /// what [`Value::write`](crate::element::Value::write) refuses, and writes the same bytes:
    /// rounding to the nearest float is no loss here.
    #[default]
    Checked,
    /// Values that do not fit become the value in the table: truncated, and clamped to the nearer
    /// end of the range. To round to the nearest integer, round first.
    Saturating,
}
