//! Conversions to and from arrays of other Rust crates, by `From` and `TryFrom`. Each crate has a
//! feature of its name.
//!
//! Reasons: `DESIGN.md`, "A feature names the version of its crate".

#[cfg(feature = "arrow-60")]
mod arrow;
#[cfg(feature = "candle-0_11")]
mod candle;
#[cfg(feature = "image-0_25")]
mod image;
#[cfg(feature = "nalgebra-0_35")]
mod nalgebra;
#[cfg(feature = "ndarray-0_17")]
mod ndarray;
#[cfg(feature = "safetensors-types-0_8")]
mod safetensors;
#[cfg(any(feature = "nalgebra-0_35", feature = "ndarray-0_17"))]
mod steps;

#[cfg(feature = "safetensors-types-0_8")]
pub use safetensors::LeasedTensor;
