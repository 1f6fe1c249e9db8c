//! Element types that Rust lacks, for memory of other origin.

mod bool8;
#[cfg(feature = "bytemuck-1")]
mod bytemuck;
#[cfg(feature = "half-2")]
mod half;
mod marked;
#[cfg(feature = "num-complex-0_4")]
mod num_complex;

pub use self::bool8::Bool8;
#[cfg(feature = "bytemuck-1")]
pub use self::bytemuck::Plain;
pub use self::marked::{Be, Le, MultiByte};
