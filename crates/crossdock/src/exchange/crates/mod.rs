//! Arrays of other Rust crates, in both directions: by `From` and `TryFrom`, each behind the feature named like the crate.

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "candle")]
mod candle;
#[cfg(feature = "image")]
mod image;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "safetensors-types")]
mod safetensors;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
mod steps;

#[cfg(feature = "safetensors-types")]
pub use safetensors::LeasedTensor;
