//! The three traits of a device: who opens it, what it is, and what its memory can do.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::engine::Engine;
use crate::device::{Event, Stream, Transfer, Usage};
use crate::error::{Error, Result};
use crate::memory::{Backing, Birth, DeviceKind, Place};

/// Opens the devices of some kinds. [`register`](crate::device::register) takes one.
///
/// Any thread may call any of this at any time. A pair of a kind and a closure is a driver, too.
pub trait Driver: Send + Sync {
    /// The kinds whose devices it opens; the same ones each time.
    fn kinds(&self) -> &[DeviceKind];

    /// Opens the device at a place of one of its kinds, when it is first asked for. Threads that
    /// ask at the same time may call this at the same time: the first result is kept, and the
    /// others are dropped. It must not ask for its own place.
    ///
    /// # Errors
    ///
    /// Whatever the driver says; `is_bounds` where there is no device of the number.
    fn open(&self, place: Place) -> Result<Arc<dyn Device>>;

    /// Where the memory at an address is, for protocols that do not carry a place; `None` for
    /// memory that the driver does not know, and for drivers that look nothing up.
    ///
    /// # Errors
    ///
    /// Whatever the driver says.
    fn place_of(&self, address: *const u8) -> Result<Option<Place>> {
        let _ = address;
        Ok(None)
    }
}

impl<F: Fn(Place) -> Result<Arc<dyn Device>> + Send + Sync> Driver for (DeviceKind, F) {
    fn kinds(&self) -> &[DeviceKind] {
        std::slice::from_ref(&self.0)
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        (self.1)(place)
    }
}

/// One device: where it is, its memory, and its queues of work.
///
/// Any thread may call any of this at any time.
pub trait Device: Send + Sync + fmt::Debug {
    /// The place that its memory has.
    fn place(&self) -> Place;

    /// What people call it: a model, a number.
    fn name(&self) -> String;

    /// Its usual memory; the same one each time. A device may have others (pinned, managed) with
    /// places of their own.
    fn memory(&self) -> Arc<dyn MemoryManager>;

    /// A new queue of work, or `None` where the device has none: then it works while the caller
    /// waits.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        Ok(None)
    }

    /// Wraps a stream of the driver that another library made as a [`Stream`]; `None` where the
    /// device has no streams. Dropping the result does not destroy the driver's stream.
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

    /// Borrows the driver's own memory object, for protocols that carry one in place of an address;
    /// `None` where the device has none. The object is retained until the last holder of the buffer
    /// goes.
    ///
    /// # Errors
    ///
    /// `is_malformed` for what is no object of memory; whatever the device says.
    ///
    /// # Safety
    ///
    /// `raw` is a memory object of this device's driver, alive for this call. If `birth` is `Sole`,
    /// nothing else touches its bytes until the release; if `Constant`, nothing writes them.
    unsafe fn wrap_object(&self, raw: *mut c_void, birth: Birth) -> Result<Option<Buffer>> {
        let _ = (raw, birth);
        Ok(None)
    }
}

/// Memory of one kind at one place: who allocates it, copies it, and makes it reachable from
/// elsewhere.
///
/// Users call the methods of [`Buffer`] ([`Buffer::on`], [`Buffer::copy_to`], [`Buffer::map_to`]
/// and their siblings), which take the leases, wait for what has to be waited for, and find out
/// whose work it is; these call the manager.
///
/// Any thread may call any of this at any time.
pub trait MemoryManager: Any + Send + Sync + fmt::Debug {
    /// Where the memory is.
    fn place(&self) -> Place;

    /// What stands behind it. A place can have several memories: `cpu` has the heap's, and memory
    /// shared with other processes.
    fn backing(&self) -> Backing {
        Backing::Device
    }

    /// New memory of `nbytes` bytes, which may be none. Zeroed or not is the device's matter,
    /// except that host memory is initialised.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_device` where the driver failed.
    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer>;

    /// Whether this manager copies from one place to another, one of which is its own. The answer
    /// costs nothing and does nothing; the one asked first is the destination's.
    fn can_copy(&self, from: Place, to: Place) -> bool;

    /// Copies, and returns when that is done.
    ///
    /// # Errors
    ///
    /// The device's error. The copy fails then; no other manager is asked to copy.
    fn copy(&self, transfer: &Transfer) -> Result<()>;

    /// Whether this manager puts copies into such a stream.
    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        let _ = stream;
        false
    }

    /// Puts a copy into a stream for which [`MemoryManager::can_enqueue`] holds, and returns the
    /// event of its end. When the bytes have arrived, and before the event says so, the device
    /// calls [`Transfer::complete`]; if the work failed it drops the transfer instead.
    ///
    /// # Errors
    ///
    /// Where the copy could not be put into the stream: then nothing will be done, and the transfer
    /// is dropped.
    fn enqueue(&self, transfer: Transfer, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        drop(transfer);
        Err(Error::unsupported(format!("memory on {} has no copies in {stream:?}", self.place())))
    }

    /// The same bytes as memory of another manager, or `None` where that cannot be. Either `to` is
    /// this manager, or the buffer is this manager's. What is returned keeps the buffer alive under
    /// a [`Hold`](crate::device::Hold), is aliased, and is read-only where the buffer is.
    ///
    /// # Errors
    ///
    /// Where it could be, and failed.
    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        let _ = (buffer, to);
        Ok(None)
    }

    /// Who does strided work in this memory, such as transposing, casting and filling; `None` where
    /// arrays in it can only be copied as they lie. Not asked of memory that the processor
    /// addresses.
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
