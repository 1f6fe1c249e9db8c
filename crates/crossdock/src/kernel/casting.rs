//! What becomes of numbers that the dtype which they are converted to cannot hold.

/// How a conversion treats what does not fit.
///
/// In both modes a number that fits becomes the same bytes: integers and `bool` (0 or 1) as they are, and every number that
/// becomes a float the nearest one, rounded once, ties to the even pattern. (`float8_e8m0fnu`, exponents alone, has no even ones: there
/// a tie goes up.) Negative zero stays negative where the format has one, and subnormal numbers are numbers as any other. NaN stays NaN;
/// between `float32` and `float64` with its sign and the upper end of its payload, from a narrower float with its sign alone, and to a
/// narrower one as the one pattern that the format has for it.
///
/// What else there is, by the kinds of source and target:
///
/// | from | to | [`Checked`](Self::Checked) refuses | [`Saturating`](Self::Saturating) makes of it |
/// |---|---|---|---|
/// | integer | integer | what is out of range | the end of the range that is nearer |
/// | float | integer | fractions, NaN, infinities, what is out of range | without its fraction; NaN 0; else the nearer end of the range |
/// | any number | `bool` | all but 0 and 1 | whether it is not 0 (so NaN is true), for a complex number whether either part is not |
/// | integer, `bool` | `float32`, `float64` | nothing | |
/// | any number | `float16`, `bfloat16`, `float8_e5m2`, `_e4m3`, `_e3m4`; `float64` to `float32` | finite numbers that would be infinite | infinity |
/// | any number | `float8_e4m3fn`, `…fnuz` | infinities, and what rounds beyond the greatest number | the greatest number, with its sign |
/// | any number | `float6_…`, `float4_…` | the same, and NaN | the same, and 0 for NaN |
/// | any number | `float8_e8m0fnu` | the same as for `e4m3fn`, 0 and negative numbers | the greatest power of two; the least one for 0 and negative numbers |
/// | complex | complex | as its parts | each part as such |
/// | real | complex | as for the real part | with an imaginary part of 0 |
/// | complex | real | every one | the real part alone |
/// | date, duration | another unit | counts that are not whole, or out of range | the count rounded down; the nearer end of the range |
///
/// The `fnuz` formats have no negative zero: what rounds to it becomes 0. Where a number stays what it is, and
/// only its byte order changes or an imaginary part comes or goes, its bytes are moved, and of a NaN nothing is asked.
///
/// A float is truncated towards zero to an integer, as by Rust's `as`, C's casts and NumPy's
/// `astype`: 0.841 becomes 0, and -1.5 becomes -1. Dates are converted as in NumPy: a year or a
/// month becomes its first day, a count without a unit is unchanged, and durations of years or
/// months become days by the average of 400 years, which [`Checked`](Self::Checked) refuses.
///
/// Types other than numbers of at most 64 bits (text, long doubles, …) are converted as by
/// [`Value::write`](crate::element::Value::write), in both modes; records field by field,
/// sub-arrays element by element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Casting {
    /// What cannot be said is refused, with the index of the first such element. Exactly what
    /// [`Value::write`](crate::element::Value::write) refuses, and with the same bytes: rounding to the nearest float is no loss in this
    /// sense.
    #[default]
    Checked,
    /// Values that do not fit become the value in the table: truncated, and saturated at the nearer
    /// end of the range. To round to the nearest integer, round first.
    Saturating,
}
