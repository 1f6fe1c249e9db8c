//! A build without CUDA.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory::Place;
use crate::memory::device::Device;

/// Says what is missing.
pub(in crate::memory::device) fn open(place: Place) -> Result<Arc<dyn Device>> {
    Err(Error::unsupported(format!(
        "{place} cannot be opened: this program was built without the feature `cuda`"
    )))
}
