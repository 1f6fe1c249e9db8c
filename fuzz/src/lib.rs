//! Checks that several targets run on what they have read: [`spellings`] of a dtype, and [`onward`]
//! for an array.

mod dtypes;
mod roads;

pub use dtypes::spellings;
pub use roads::{bytes_of, onward};
