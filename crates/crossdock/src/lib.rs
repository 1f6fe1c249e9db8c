//! Crossdock.

mod error;

pub mod element;
#[forbid(unsafe_code)]
pub mod layout;
pub mod memory;

pub use crate::error::{Error, Rejected, Result};
