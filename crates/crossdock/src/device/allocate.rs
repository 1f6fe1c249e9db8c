//! New allocations on any place.

use crate::buffer::Buffer;
use crate::device::registry;
use crate::error::Result;
use crate::memory::{Allocation, Place};

impl Allocation {
    /// Allocates `nbytes` bytes on a place: zeroed, from the default pool on the host; from the
    /// registered device's memory elsewhere.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; as [`memory`](crate::device::memory) if no such device is registered;
    /// the device's errors.
    pub fn new(nbytes: usize, place: Place) -> Result<Self> {
        let buffer = if place == Place::CPU {
            Buffer::zeroed(nbytes)?
        } else {
            registry::memory(place)?.allocate(nbytes)?
        };
        Ok(Self::try_from(buffer)?)
    }
}
