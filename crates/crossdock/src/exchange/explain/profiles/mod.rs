//! The consumers that are known, as tables: what each asks for, and what it makes of what it is
//! given.

mod arrow;
mod compiled;
mod images;
mod numpy;
mod python;
mod tensors;

use crate::exchange::explain::rule::Profile;

/// All profiles, in the order in which they are shown.
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
