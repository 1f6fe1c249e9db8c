//! Strided work, against the processor's own and a naive copy.

pub mod arrays;
pub mod casts;
pub mod moves;
pub mod records;
