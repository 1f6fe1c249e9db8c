//! Copies between places, and the choice of the manager.
//!
//! Reasons: `DESIGN.md`, "A manager is asked before it copies".

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::work::{in_order, settle_before};
use crate::device::{Event, MemoryManager, Moved, Placed, Stream, Transfer, adopt, registry};
use crate::error::{Error, Kind, Result};
use crate::memory::Place;

/// The route of a copy from one buffer to another.
enum CopyRoute {
    /// One of the two managers copies.
    By(Arc<dyn MemoryManager>),
    /// The source's manager copies to host memory, then the destination's from there.
    OverHost(Arc<dyn MemoryManager>, Arc<dyn MemoryManager>),
    /// The destination's manager copies from the source mapped to the host.
    Mapped(Buffer, Arc<dyn MemoryManager>),
}

impl CopyRoute {
    /// Tries the destination's manager first, then the source's, then both over the host.
    fn find(src: &Buffer, dst: &Buffer) -> Result<Self> {
        let (from, to) = (src.place(), dst.place());
        let (source, destination) = (src.memory_manager()?, dst.memory_manager()?);
        for manager in [&destination, &source].into_iter().flatten() {
            if manager.can_copy(from, to) {
                return Ok(Self::By(manager.clone()));
            }
        }
        let (Some(source), Some(destination)) = (source, destination) else {
            return Err(no_manager(from, to));
        };
        if from.is_host() || to.is_host() || !destination.can_copy(Place::CPU, to) {
            return Err(no_manager(from, to));
        }
        if source.can_copy(from, Place::CPU) {
            return Ok(Self::OverHost(source, destination));
        }
        // The last resort: a mapping needs a lease that conflicts with Read leases.
        match source.map(src, &*registry::host())? {
            Some(mapped) => Ok(Self::Mapped(mapped, destination)),
            None => Err(no_manager(from, to)),
        }
    }

    fn copy(self, src: &Buffer, dst: &Buffer) -> Result<()> {
        match self {
            Self::By(manager) => {
                let transfer = Transfer::now(src, dst)?;
                manager.copy(&transfer)?;
                transfer.complete();
                Ok(())
            }
            Self::OverHost(source, destination) => {
                let staged = Buffer::on(&registry::host(), src.nbytes())?;
                Self::By(source).copy(src, &staged)?;
                Self::By(destination).copy(&staged, dst)
            }
            Self::Mapped(mapped, destination) => Self::By(destination).copy(&mapped, dst),
        }
    }
}

#[cold]
fn no_manager(from: Place, to: Place) -> Error {
    Error::unsupported(format!(
        "no device copies from {from} to {to}, neither directly nor through host memory"
    ))
}

impl Buffer {
    /// Allocates `nbytes` bytes from a manager. Host memory is zeroed; device memory need not be.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_device` if the device failed.
    pub fn on(memory: &Arc<dyn MemoryManager>, nbytes: usize) -> Result<Self> {
        let fresh = memory.clone().allocate(nbytes)?;
        if fresh.place() == memory.place() && fresh.nbytes() == nbytes {
            return Ok(fresh);
        }
        Err(Error::device(format!(
            "the memory manager of {} was asked for {nbytes} bytes, but allocated {} on {}",
            memory.place(),
            fresh.nbytes(),
            fresh.place()
        )))
    }

    /// The manager that copies this memory: that of the device that allocated it, the host's, or
    /// that of the device registered for the place (which this call opens). `None` if no device is
    /// registered.
    ///
    /// # Errors
    ///
    /// The errors of opening the device.
    pub fn memory_manager(&self) -> Result<Option<Arc<dyn MemoryManager>>> {
        match self.handle().device() {
            Some(attached) => Ok(adopt::manager_of(&attached)),
            None => registry::manager_of(self.place(), self.backing()),
        }
    }

    /// Copies the bytes to new memory of another manager, after waiting for in-flight work on them,
    /// and returns when the copy is done. Copies, and counts, [`Buffer::nbytes`], twice that if it
    /// must copy over the host.
    ///
    /// ```
    /// use crossdock::buffer::Buffer;
    /// use crossdock::device;
    /// use crossdock::memory::Backing;
    ///
    /// let shared = Buffer::from_vec(vec![1u8, 2, 3])?.copy_to(&device::shared_memory())?;
    /// assert_eq!(shared.backing(), Backing::Shared);
    /// assert!(shared.descriptor().is_some());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_unsupported` if no manager copies between the two places, which is checked first;
    /// `is_device` if the copy, or the awaited work, failed; `is_conflict` while another lease is
    /// Write; `is_out_of_memory`.
    pub fn copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Self> {
        let fresh = Self::on(memory, self.nbytes())?;
        self.copy_into(&fresh)?;
        Ok(fresh)
    }

    /// Like [`Buffer::copy_to`], in a stream: it returns when the copy is queued. If no manager can
    /// enqueue the copy in the stream, it waits for the stream and copies synchronously, and the
    /// result has no event.
    ///
    /// # Errors
    ///
    /// As [`Buffer::copy_to`]. The event, and every lease for CPU access to the new memory, reports
    /// a later failure.
    pub fn copy_to_in(&self, memory: &Arc<dyn MemoryManager>, stream: &dyn Stream) -> Result<Placed> {
        let buffer = Self::on(memory, self.nbytes())?;
        let event = self.copy_into_in(&buffer, stream)?;
        Ok(Placed { buffer, moved: Moved::Copied { nbytes: self.nbytes() }, event })
    }

    /// Copies the bytes to existing memory at any place, like [`Buffer::copy_to`]. Use slices for
    /// ranges.
    ///
    /// # Errors
    ///
    /// As [`Buffer::copy_to`]; `is_bounds` if the sizes differ, or the two overlap; `is_read_only`;
    /// `is_conflict` while the destination has a Read lease or either has a Write lease. Nothing is
    /// copied then. After `is_device` the destination has unspecified bytes.
    pub fn copy_into(&self, destination: &Self) -> Result<()> {
        self.check_size(destination)?;
        let route = CopyRoute::find(self, destination)?;
        settle_before(Some(self), destination)?;
        route.copy(self, destination)?;
        self.check_fault()
    }

    /// Fails if a guarded file map shrank: it reads as zeros, which are not its bytes.
    pub(crate) fn check_fault(&self) -> Result<()> {
        self.fault().map_or(Ok(()), Err)
    }

    /// Like [`Buffer::copy_into`], in a stream, like [`Buffer::copy_to_in`]. The event signals the
    /// end of the copy, and is `None` if the copy is done. Until then the copy holds a Pin lease of
    /// the source and a Share lease of the destination, so that later work in the stream can use
    /// both, and the event is recorded on them.
    ///
    /// # Errors
    ///
    /// As [`Buffer::copy_into`] and [`Buffer::copy_to_in`].
    pub fn copy_into_in(&self, destination: &Self, stream: &dyn Stream) -> Result<Option<Arc<dyn Event>>> {
        self.check_size(destination)?;
        let (from, to) = (self.place(), destination.place());
        let managers = [destination.memory_manager()?, self.memory_manager()?];
        let manager = managers.into_iter().flatten().find(|m| m.can_copy(from, to) && m.can_enqueue(stream));
        let Some(manager) = manager else {
            stream.synchronize()?;
            self.copy_into(destination)?;
            return Ok(None);
        };
        self.check_fault()?;
        let enqueue = || manager.enqueue(Transfer::later(self, destination)?, stream);
        in_order(Some(self), destination, stream, enqueue).map(Some)
    }

    fn check_size(&self, destination: &Self) -> Result<()> {
        if self.nbytes() == destination.nbytes() {
            return Ok(());
        }
        Err(Error::new(
            Kind::Bounds,
            format!(
                "the source has {} bytes, but the destination has {}",
                self.nbytes(),
                destination.nbytes()
            ),
        ))
    }
}
