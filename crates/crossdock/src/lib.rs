//! Hand n-dimensional arrays between libraries, languages and processes without copying them.

mod error;

pub mod array;
pub mod element;
pub mod exchange;
mod kernel;
#[forbid(unsafe_code)]
pub mod layout;
pub mod memory;
pub mod view;

pub use crate::array::{Array, DArray};
pub use crate::error::{Error, Rejected, Result};
pub use crate::exchange::files::open;
pub use crate::view::view;
