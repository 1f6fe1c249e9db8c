//! Copies between places, and who makes them.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::work::{in_order, settle_before};
use crate::device::{Event, MemoryManager, Moved, Placed, Stream, Transfer, adopt, registry};
use crate::error::{Error, Kind, Result};
use crate::memory::Place;

/// Who copies from one buffer to another.
enum Route {
    /// One of the two managers.
    By(Arc<dyn MemoryManager>),
    /// The source's into host memory, then the destination's.
    OverHost(Arc<dyn MemoryManager>, Arc<dyn MemoryManager>),
    /// The destination's, from the source as the host sees it.
    Mapped(Buffer, Arc<dyn MemoryManager>),
}

impl Route {
    /// The destination's manager is asked first, then the source's, then both for a way over the
    /// host.
    fn find(src: &Buffer, dst: &Buffer) -> Result<Self> {
        let (from, to) = (src.place(), dst.place());
        let (source, destination) = (src.memory_manager()?, dst.memory_manager()?);
        for manager in [&destination, &source].into_iter().flatten() {
            if manager.can_copy(from, to) {
                return Ok(Self::By(manager.clone()));
            }
        }
        let (Some(source), Some(destination)) = (source, destination) else { return Err(nobody(from, to)) };
        if from.is_host() || to.is_host() || !destination.can_copy(Place::CPU, to) {
            return Err(nobody(from, to));
        }
        if source.can_copy(from, Place::CPU) {
            return Ok(Self::OverHost(source, destination));
        }
        // Mapped only where nothing else is left: it asks for a lease that constancy excludes.
        match source.map(src, &*registry::host())? {
            Some(mapped) => Ok(Self::Mapped(mapped, destination)),
            None => Err(nobody(from, to)),
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
fn nobody(from: Place, to: Place) -> Error {
    Error::unsupported(format!("nobody copies from {from} to {to}, neither directly nor over the host"))
}

impl Buffer {
    /// New memory of `nbytes` bytes of a manager. Zeroed or not is the device's matter; host memory
    /// is zeroed.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_device` where the device failed.
    pub fn on(memory: &Arc<dyn MemoryManager>, nbytes: usize) -> Result<Self> {
        let fresh = memory.clone().allocate(nbytes)?;
        if fresh.place() == memory.place() && fresh.nbytes() == nbytes {
            return Ok(fresh);
        }
        Err(Error::device(format!(
            "memory on {} was asked for {nbytes} bytes, and gave {} on {}",
            memory.place(),
            fresh.nbytes(),
            fresh.place()
        )))
    }

    /// The manager that copies this memory: that of the device that allocated it, the host's, or
    /// that of the device registered for the place (which this call opens). `None` where no device
    /// is registered.
    ///
    /// # Errors
    ///
    /// What opening the device says.
    pub fn memory_manager(&self) -> Result<Option<Arc<dyn MemoryManager>>> {
        match self.handle().device() {
            Some(attached) => Ok(adopt::manager_of(&attached)),
            None => registry::manager_of(self.place(), self.backing()),
        }
    }

    /// Copies the bytes into new memory of another manager, waits for what is under way on them,
    /// and returns when the copy is done. Copies, and counts, [`Buffer::nbytes`]; twice that where
    /// only the way over the host is left.
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
    /// `is_unsupported` where no manager copies between the two places, which is checked before
    /// anything is done; `is_device` where the copy failed, or work that it waited for did;
    /// `is_conflict` while another lease is Write; `is_out_of_memory`.
    pub fn copy_to(&self, memory: &Arc<dyn MemoryManager>) -> Result<Self> {
        let fresh = Self::on(memory, self.nbytes())?;
        self.copy_into(&fresh)?;
        Ok(fresh)
    }

    /// As [`Buffer::copy_to`], in a stream: it returns when the copy is in the queue. Where no
    /// manager puts such copies into such a stream, it waits for the stream and copies at once, and
    /// the result has no event.
    ///
    /// # Errors
    ///
    /// As [`Buffer::copy_to`]. What fails later is told by the event, and by every lease for access
    /// to the new memory by the processor.
    pub fn copy_to_in(&self, memory: &Arc<dyn MemoryManager>, stream: &dyn Stream) -> Result<Placed> {
        let buffer = Self::on(memory, self.nbytes())?;
        let event = self.copy_into_in(&buffer, stream)?;
        Ok(Placed { buffer, moved: Moved::Copied { nbytes: self.nbytes() }, event })
    }

    /// Copies the bytes into memory that is there already, at whichever place, as
    /// [`Buffer::copy_to`] does. A range of it is a slice.
    ///
    /// # Errors
    ///
    /// As [`Buffer::copy_to`]; `is_bounds` where the sizes differ, or the two overlap;
    /// `is_read_only`; `is_conflict` while the destination has a Read lease or either has a Write
    /// lease.
    /// Nothing is copied then. After `is_device` the destination has unspecified bytes.
    pub fn copy_into(&self, destination: &Self) -> Result<()> {
        self.check_size(destination)?;
        let route = Route::find(self, destination)?;
        settle_before(Some(self), destination)?;
        route.copy(self, destination)
    }

    /// As [`Buffer::copy_into`], in a stream, as [`Buffer::copy_to_in`] does: the event is the end
    /// of the copy, `None` where that is done. Until then the copy holds a Pin lease of the source
    /// and a Share lease of the destination, so that other work in the stream can follow on both,
    /// and the event is noted on them.
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
        let enqueue = || manager.enqueue(Transfer::later(self, destination)?, stream);
        in_order(Some(self), destination, stream, enqueue).map(Some)
    }

    fn check_size(&self, destination: &Self) -> Result<()> {
        if self.nbytes() == destination.nbytes() {
            return Ok(());
        }
        Err(Error::new(
            Kind::Bounds,
            format!("{} bytes do not fit a destination of {}", self.nbytes(), destination.nbytes()),
        ))
    }
}
