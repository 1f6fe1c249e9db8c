//! Tables of the known consumers: what each requests, and how it handles the answers.

mod arrow;
mod compiled;
mod frames;
mod frameworks;
mod images;
mod inputs;
mod numpy;
mod python;
mod tensors;

use crate::exchange::explain::rule::Is::{Class, Not};
use crate::exchange::explain::rule::ProfileRule::If;
use crate::exchange::explain::rule::{Outcome, Profile, ProfileRule};

/// The first rule of profiles that cover arrays of NumPy and of this library alone.
const ARRAYS: ProfileRule = If(
    &[Not(&Class(&["numpy.ndarray", "crossdock.Array"]))],
    Outcome::Unknown,
    "measured with arrays of NumPy and Crossdock only",
);

/// All profiles, in display order.
pub fn all() -> impl Iterator<Item = &'static Profile> {
    [
        numpy::PROFILES,
        python::PROFILES,
        arrow::PROFILES,
        images::PROFILES,
        tensors::PROFILES,
        frameworks::PROFILES,
        frames::PROFILES,
        inputs::PROFILES,
        compiled::PROFILES,
    ]
    .into_iter()
    .flatten()
}
