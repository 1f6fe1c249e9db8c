//! How others spell dtypes. One parser and one printer each, of the one tree.
//!
//! | dialect | whose | one double | a record |
//! |---|---|---|---|
//! | [`typestr`] | NumPy's | `<f8` | `[('a', '<i4'), ('b', '<f8')]` |
//! | [`pack`] | Ruby's | `d` | `ld`; names are lost |
//! | [`pep3118`] | Python's buffers' | `d` | `T{i:a:4xd:b:}` |
//! | [`dlpack`] | DLPack's | code 2, 64 bits, 1 lane | none |
//!
//! What a dialect cannot say is an error that names the part, never an approximation, unless a
//! function has that in its name. (The names that [`DType`](crate::element::DType) displays,
//! `float64`, it reads by [`FromStr`](std::str::FromStr).)

pub mod arrow;
pub mod dlpack;
pub(crate) mod literal;
mod name;
pub mod pack;
pub mod pep3118;
#[cfg(any(feature = "safetensors", feature = "safetensors-types-0_8"))]
pub(crate) mod safetensors;
pub mod typestr;
