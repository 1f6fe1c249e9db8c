//! Bytes with an owner and a place.

mod pod;

pub use pod::Pod;
