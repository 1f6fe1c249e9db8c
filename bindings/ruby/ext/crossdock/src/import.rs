//! Memory of whichever object exports a MemoryView, as an array.

use crossdock::DArray;
use magnus::{RModule, Ruby, Value};

use crate::error::{Failure, Result};

/// Whether an object exports a MemoryView.
pub(crate) fn is_exporter(_: Value) -> bool {
    false
}

/// The memory of an object, in place.
pub(crate) fn array(ruby: &Ruby, _: Value, _: bool) -> Result<DArray> {
    Err(Failure::ours(ruby, "not yet"))
}

pub(crate) fn init(_: &Ruby, _: RModule) -> std::result::Result<(), magnus::Error> {
    Ok(())
}
