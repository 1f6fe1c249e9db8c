//! Work in parts, on the threads of `rayon` where that feature is on.

#[cfg(not(feature = "rayon"))]
mod disabled;
#[cfg(feature = "rayon")]
mod enabled;

#[cfg(not(feature = "rayon"))]
pub(crate) use disabled::{count, each};
#[cfg(feature = "rayon")]
pub(crate) use enabled::{count, each};
