//! NumPy's array interface, both ways: dictionaries, and capsules with a C struct.

mod export;
mod import;

pub(crate) use export::{cuda_dictionary, dictionary, structure};
pub(crate) use import::{
    copied, is_offered, is_offered_cuda, is_offered_struct, lend, lend_cuda, lend_struct,
};
