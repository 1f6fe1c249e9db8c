//! Tables: columns of any type that Arrow describes, batches of them, and readers of batches.

pub mod batch;
pub mod column;
pub mod device;
pub mod reader;
pub mod schema;
pub mod text;

use std::ptr::NonNull;

use crossdock::table::Checks;

use crate::error::{Failure, Result};
use crate::foreign::given;

/// `XD_CHECKS_SHAPE` of the header.
pub const XD_CHECKS_SHAPE: i32 = 1;
/// `XD_CHECKS_FULL` of the header.
pub const XD_CHECKS_FULL: i32 = 2;

fn checks_of(number: i32) -> Result<Checks> {
    match number {
        XD_CHECKS_SHAPE => Ok(Checks::Shape),
        XD_CHECKS_FULL => Ok(Checks::Full),
        other => Err(Failure::argument(format!(
            "the argument `checks` is {other}; it must be {XD_CHECKS_SHAPE} (shape) or {XD_CHECKS_FULL} (full)"
        ))),
    }
}

/// Fails if one struct is null, once the other is released.
fn check_both<S, A>(schema: *mut S, array: *mut A) -> Result<()> {
    given(NonNull::new(schema), "schema")?;
    given(NonNull::new(array), "array")?;
    Ok(())
}

/// Fails if both structs are null, so that there is nothing to release.
fn check_any<S, A>(schema: *mut S, array: *mut A) -> Result<()> {
    if schema.is_null() && array.is_null() { Err(Failure::null("schema")) } else { Ok(()) }
}
