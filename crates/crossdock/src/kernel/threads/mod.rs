//! Work in parts, on the threads of `rayon` if that feature is enabled.

#[cfg(not(feature = "rayon"))]
mod disabled;
#[cfg(feature = "rayon")]
mod enabled;

#[cfg(not(feature = "rayon"))]
pub(crate) use disabled::{count, each};
#[cfg(feature = "rayon")]
pub(crate) use enabled::{count, each};
