//! What becomes of numbers that the dtype which they are converted to cannot hold.

/// How a conversion treats what does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Casting {
    /// Refused, with the index of the first element that does not fit: an integer out of range, a fraction or a NaN that would
    /// become an integer, a number that would become infinite, an imaginary part that would be dropped. Rounding to the nearest float
    /// of fewer digits is no loss in this sense.
    #[default]
    Checked,
    /// Taken as near as it goes, as Rust's `as` does: integers and floats saturate at the ends of an integer's range, fractions are
    /// dropped towards zero, NaN becomes 0; among floats the nearest is taken, ties to even, and what is too large is infinite (or
    /// the greatest number, where the format has no infinity); an imaginary part is dropped; `bool` is whether it is not 0.
    Saturating,
}
