//! How others spell dtypes. One parser and one printer each, of the one tree.
//!
//! What a dialect cannot say is an error that names the part, never an approximation.

pub mod arrow;
pub mod dlpack;
pub(crate) mod literal;
mod name;
pub mod pack;
#[cfg(any(feature = "safetensors", feature = "safetensors-types"))]
pub(crate) mod safetensors;
pub mod typestr;
