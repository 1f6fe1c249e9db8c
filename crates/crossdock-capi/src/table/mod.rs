//! Tables: columns of any type that Arrow describes, batches of them, and readers of batches.

pub mod batch;
#[cfg(unix)]
pub mod channel;
pub mod column;
pub mod device;
pub mod reader;
pub mod schema;
pub mod text;

use std::mem::MaybeUninit;

use crossdock::table::Checks;

use crate::error::{Failure, Result};
use crate::foreign::{check_both, given};

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

/// What `import` makes of both structs, with the checks of this number.
///
/// # Errors
///
/// `argument` for a struct that is null, once the other is released, and for another number, once
/// both are moved, as every other error does.
fn imported<S, A, T>(
    schema: *mut S,
    array: *mut A,
    checks: i32,
    import: impl FnOnce(Checks) -> crossdock::Result<T>,
) -> Result<T> {
    let wanted = checks_of(checks);
    let imported = import(*wanted.as_ref().unwrap_or(&Checks::Shape));
    check_both(schema, array, "array")?;
    wanted?;
    Ok(imported?)
}

/// Writes both structs of an export.
fn exported<S, A>(
    schema: Option<&mut MaybeUninit<S>>,
    array: Option<&mut MaybeUninit<A>>,
    export: impl FnOnce() -> crossdock::Result<(S, A)>,
) -> Result<bool> {
    let (schema, array) = (given(schema, "schema")?, given(array, "array")?);
    let exported = export().map_err(Failure::of_table)?;
    schema.write(exported.0);
    array.write(exported.1);
    Ok(true)
}
