//! Devices of CUDA, by its driver, which is loaded when the first of them is asked for.

#[cfg(not(feature = "cuda"))]
mod disabled;
#[cfg(feature = "cuda")]
mod enabled;

#[cfg(not(feature = "cuda"))]
pub(super) use disabled::open;
#[cfg(feature = "cuda")]
pub(super) use enabled::open;
