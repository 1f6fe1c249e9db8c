//! Tables of the known consumers: what each requests, and how it handles the answers.

mod arrays;
mod arrow;
mod compiled;
mod frames;
mod frameworks;
mod images;
mod inputs;
mod numpy;
mod python;
mod tensors;

use crate::exchange::explain::rule::Profile;

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
