//! Checks that several targets run on what they have read: [`spellings`] of a dtype, [`onward`] for
//! an array, and [`mapped`] for the arrays of a file.

mod dtypes;
mod roads;

pub use dtypes::spellings;
pub use roads::{bytes_of, mapped, onward};
