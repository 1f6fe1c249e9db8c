//! A build with CUDA.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory::Place;
use crate::memory::device::Device;

/// Opens a device.
pub(in crate::memory::device) fn open(place: Place) -> Result<Arc<dyn Device>> {
    Err(Error::unsupported(format!("{place} cannot be opened")))
}
