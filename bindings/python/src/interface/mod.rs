//! NumPy's array interface, both ways: dictionaries, and capsules with a C struct.
//!
//! Reasons: `DESIGN.md`, "The array interface lends until the object dies".

mod export;
mod import;

pub(crate) use export::{cuda_dictionary, dictionary, structure};
pub(crate) use import::{
    copied, is_offered, is_offered_cuda, is_offered_struct, lend, lend_cuda, lend_struct,
};
