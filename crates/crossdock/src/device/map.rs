//! Mappings of a buffer's bytes to another place.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::{MemoryManager, Moved, Placed, keeping};
use crate::error::{Error, Result};
use crate::memory::Birth;
use crate::memory::overlap::{Elsewhere, Extent};

impl Buffer {
    /// Maps the bytes as memory of another manager without a copy; `None` if that is not possible.
    /// It waits for in-flight work on them. If the manager is this buffer's own, the result is
    /// another handle. Otherwise it has its own leases, is aliased, and keeps this memory under
    /// Share (Pin if it is read-only). O(1), plus the device's part.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::device::fenced::FencedDevice;
    /// use crossdock::device::{self, Device};
    /// use crossdock::memory::Place;
    ///
    /// let (here, there) = (device::memory(Place::CPU)?, FencedDevice::new(0));
    /// let buffer = Buffer::from_vec(vec![1u8, 2, 3])?.copy_to(&there.memory())?;
    /// assert!(buffer.map_to(&here)?.is_none()); // fenced off, unless it is told otherwise
    /// there.set_mappable(true);
    /// assert_eq!(buffer.map_to(&here)?.unwrap().pin()?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_device` if a possible mapping, or the awaited work, failed; `is_conflict` while a lease
    /// requires the bytes to be constant, or is Write.
    #[doc(alias = "view")]
    pub fn map_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Option<Self>> {
        let own = self.memory_manager()?;
        if own.as_ref().is_some_and(|own| Arc::ptr_eq(own, memory)) {
            return Ok(Some(self.try_clone()?));
        }
        // Waits for all work, because a mapping has no events of its own.
        self.await_all()?;
        let mut mapped = memory.map(self, &**memory)?;
        if mapped.is_none()
            && let Some(own) = own
        {
            mapped = own.map(self, &**memory)?;
        }
        let Some(mapped) = mapped else { return Ok(None) };
        if mapped.place() != memory.place() || mapped.nbytes() != self.nbytes() {
            return Err(Error::device(format!(
                "mapping {} bytes to {} returned {} bytes on {}",
                self.nbytes(),
                memory.place(),
                mapped.nbytes(),
                mapped.place()
            )));
        }
        let readonly = self.is_readonly() || mapped.is_readonly();
        let mapped = self.known_elsewhere(mapped)?;
        Ok(Some(if readonly { mapped.into_readonly() } else { mapped }))
    }

    /// The mapped buffer, registered as the same bytes as this one if the addresses differ.
    fn known_elsewhere(&self, mapped: Self) -> Result<Self> {
        let extent =
            |buffer: &Self| Extent::of(buffer.handle(), buffer.start().addr().get(), buffer.nbytes());
        let (here, there) = (extent(self), extent(&mapped));
        // A manager's mapping is aliased by contract; only then do two allocations share bytes.
        let is_known = here == there || self.nbytes() == 0 || mapped.birth() != Birth::Aliased;
        if is_known { Ok(mapped) } else { keeping(mapped, Elsewhere::new(there, here)?) }
    }

    /// Maps if possible, else copies, and reports which. A mapping that is possible and fails is an
    /// error, not a copy.
    ///
    /// # Errors
    ///
    /// As [`Buffer::map_to`] and [`Buffer::copy_to`].
    #[doc(alias = "view_or_copy")]
    pub fn map_or_copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Placed> {
        if let Some(buffer) = self.map_to(memory)? {
            return Ok(Placed { buffer, moved: Moved::Mapped, event: None });
        }
        let buffer = self.copy_to(memory)?;
        Ok(Placed { buffer, moved: Moved::Copied { nbytes: self.nbytes() }, event: None })
    }
}
