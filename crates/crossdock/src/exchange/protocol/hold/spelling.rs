//! A dtype as a text, in the spelling of [`Description`](crate::exchange::protocol::shm).

use crate::element::dialect::typestr;
use crate::element::{DType, DTypeKind};
use crate::error::Result;

/// The text from which `DType`'s `from_str` makes the same dtype.
///
/// # Errors
///
/// `is_unsupported` for a record with a field that has no text, such as `bfloat16`.
pub(super) fn print(dtype: &DType) -> Result<String> {
    match dtype.kind() {
        DTypeKind::Scalar(scalar) => Ok(scalar.to_string()),
        _ => typestr::print(dtype),
    }
}
