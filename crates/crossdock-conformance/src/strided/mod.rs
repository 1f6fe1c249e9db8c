//! Strided work, compared with the CPU's and with a naive copy.

pub mod arrays;
pub mod casts;
pub mod moves;
pub mod records;
