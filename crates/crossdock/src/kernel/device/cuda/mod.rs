//! Strided work on devices of CUDA.

#[cfg(not(feature = "cuda"))]
mod disabled;
#[cfg(feature = "cuda")]
mod enabled;

#[cfg(not(feature = "cuda"))]
pub(super) use disabled::engine_of;
#[cfg(feature = "cuda")]
pub(super) use enabled::engine_of;
