//! The two traits of a device: what it is, and what its memory can do.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::engine::Engine;
use crate::device::{Event, Stream, Transfer, Usage};
use crate::error::{Error, Result};
use crate::memory::{Backing, Place};

/// One device: where it is, its memory, and its queues of work.
///
/// Any thread may call any of this at any time.
pub trait Device: Send + Sync + fmt::Debug {
    /// The place that its memory has.
    fn place(&self) -> Place;

    /// What people call it: a model, a number.
    fn name(&self) -> String;

    /// Its usual memory; the same one each time. A device may have others (pinned, managed) with places of their own.
    fn memory(&self) -> Arc<dyn MemoryManager>;

    /// A new queue of work, or `None` where the device has none: then it works while the caller waits.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        Ok(None)
    }

    /// The driver's own stream, which somebody else made, as one of ours; `None` where the device has none. Dropping it leaves the
    /// driver's alone.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    ///
    /// # Safety
    ///
    /// `raw` is a stream of this device's driver, alive until what is returned is dropped.
    unsafe fn wrap_stream(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Stream>>> {
        let _ = raw;
        Ok(None)
    }

    /// The driver's own event, as [`Device::wrap_stream`] does for a stream.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    ///
    /// # Safety
    ///
    /// `raw` is an event of this device's driver, alive until what is returned is dropped.
    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        let _ = raw;
        Ok(None)
    }
}

/// Memory of one kind at one place: who allocates it, copies it, and makes it reachable from elsewhere.
///
/// Users call the methods of [`Buffer`] ([`Buffer::on`], [`Buffer::copy_to`], [`Buffer::map_to`] and their siblings), which take the
/// leases, wait for what has to be waited for, and find out whose work it is; these call the manager.
///
/// Any thread may call any of this at any time.
pub trait MemoryManager: Any + Send + Sync + fmt::Debug {
    /// Where the memory is.
    fn place(&self) -> Place;

    /// What stands behind it. A place can have several memories: `cpu` has the heap's, and memory shared with other processes.
    fn backing(&self) -> Backing {
        Backing::Device
    }

    /// New memory of `nbytes` bytes, which may be none. Zeroed or not is the device's matter, except that host memory is
    /// initialised.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_device` where the driver failed.
    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer>;

    /// Whether this manager copies from one place to another, one of which is its own. The answer costs nothing and does
    /// nothing; the one asked first is the destination's.
    fn can_copy(&self, from: Place, to: Place) -> bool;

    /// Copies, and returns when that is done.
    ///
    /// # Errors
    ///
    /// Whatever the device says. It is a failure, and nobody else is asked to copy.
    fn copy(&self, transfer: &Transfer) -> Result<()>;

    /// Whether this manager puts copies into such a stream.
    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        let _ = stream;
        false
    }

    /// Puts a copy into a stream for which [`MemoryManager::can_enqueue`] holds, and returns the event of its end. When the
    /// bytes have arrived, and before the event says so, the device calls [`Transfer::complete`]; if the work failed it drops the
    /// transfer instead.
    ///
    /// # Errors
    ///
    /// Where the copy could not be put into the stream: then nothing will be done, and the transfer is dropped.
    fn enqueue(&self, transfer: Transfer, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        drop(transfer);
        Err(Error::unsupported(format!("memory on {} has no copies in {stream:?}", self.place())))
    }

    /// The same bytes as memory of another manager, or `None` where that cannot be. Either `to` is this manager, or the buffer
    /// is this manager's. What is returned keeps the buffer alive under a [`Hold`](crate::device::Hold), is aliased, and is read-only where the buffer is.
    ///
    /// # Errors
    ///
    /// Where it could be, and failed.
    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        let _ = (buffer, to);
        Ok(None)
    }

    /// Who does strided work in this memory, such as transposing, casting and filling; `None` where arrays in it can only be copied
    /// as they lie. Not asked of memory that the processor addresses.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    fn engine(self: Arc<Self>) -> Result<Option<Arc<dyn Engine>>> {
        Ok(None)
    }

    /// What of this memory is in use.
    fn usage(&self) -> Usage;
}
