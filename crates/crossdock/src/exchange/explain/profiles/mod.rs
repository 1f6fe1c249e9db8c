//! Tables of the known consumers: what each requests, and how it handles the answers.

mod arrow;
mod compiled;
mod images;
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
        compiled::PROFILES,
    ]
    .into_iter()
    .flatten()
}
