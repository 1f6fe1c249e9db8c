//! The spellings of dtypes in other systems, with one parser and one printer each.
//!
//! | dialect | whose | one double | a record |
//! |---|---|---|---|
//! | [`typestr`] | NumPy's | `<f8` | `[('a', '<i4'), ('b', '<f8')]` |
//! | [`pack`] | Ruby's | `d` | `ld`; names are lost |
//! | [`pep3118`] | Python's buffers' | `d` | `T{i:a:4xd:b:}` |
//! | [`dlpack`] | DLPack's | code 2, 64 bits, 1 lane | none |
//!
//! A part that a dialect cannot express is an error that names the part, never an approximation,
//! unless the function's name says so. ([`FromStr`](std::str::FromStr) reads the names that
//! [`DType`](crate::element::DType) displays, such as `float64`.)

pub mod arrow;
pub mod dlpack;
pub(crate) mod literal;
mod name;
pub mod pack;
pub mod pep3118;
#[cfg(any(feature = "safetensors", feature = "safetensors-types-0_8"))]
pub(crate) mod safetensors;
pub mod typestr;
