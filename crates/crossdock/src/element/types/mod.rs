//! Elements that Rust's own types cannot be: what memory from elsewhere may hold.

mod bool8;
#[cfg(feature = "bytemuck")]
mod bytemuck;
#[cfg(feature = "half")]
mod half;
mod marked;
#[cfg(feature = "num-complex")]
mod num_complex;

pub use self::bool8::Bool8;
#[cfg(feature = "bytemuck")]
pub use self::bytemuck::Plain;
pub use self::marked::{Be, Le, MultiByte};
