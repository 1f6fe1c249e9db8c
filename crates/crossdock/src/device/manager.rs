//! The three traits of a device: its driver, the device itself, and its memory.
//!
//! Reasons: `DESIGN.md`, "No driver is built into the library".

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::engine::Engine;
use crate::device::{Event, Stream, Transfer, Usage};
use crate::error::{Error, Result};
use crate::memory::{Backing, Birth, DeviceKind, Place};

/// Opens the devices of some kinds. Pass it to [`register`](crate::device::register).
///
/// Any thread may call any method at any time. A pair of a kind and a closure is a driver, too.
pub trait Driver: Send + Sync {
    /// The kinds whose devices it opens; the same at each call.
    fn kinds(&self) -> &[DeviceKind];

    /// Opens the device at a place of one of its kinds, on first use. Concurrent first uses may
    /// call this concurrently: the first result is kept, and the others are dropped. It must not
    /// request its own place.
    ///
    /// # Errors
    ///
    /// The driver's errors; `is_bounds` if no device has the number.
    fn open(&self, place: Place) -> Result<Arc<dyn Device>>;

    /// Looks up the place of the memory at an address, for protocols that do not carry a place;
    /// `None` for memory that the driver does not know, and for drivers without a lookup.
    ///
    /// # Errors
    ///
    /// The driver's errors.
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

/// One device: its place, its memory, and its queues of work.
///
/// Any thread may call any of this at any time.
pub trait Device: Send + Sync + fmt::Debug {
    /// The place of its memory.
    fn place(&self) -> Place;

    /// A name for users: a model, a number.
    fn name(&self) -> String;

    /// Its usual memory; the same at each call. Other memories of a device (pinned, managed) have
    /// their own places.
    fn memory(&self) -> Arc<dyn MemoryManager>;

    /// A new queue of work, or `None` if the device works synchronously.
    ///
    /// # Errors
    ///
    /// The device's errors.
    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        Ok(None)
    }

    /// Wraps a stream of the driver that another library made as a [`Stream`]; `None` if the device
    /// has no streams. Dropping the result does not destroy the driver's stream.
    ///
    /// # Errors
    ///
    /// The device's errors.
    ///
    /// # Safety
    ///
    /// `raw` is a stream of this device's driver, alive until the result is dropped.
    unsafe fn wrap_stream(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Stream>>> {
        let _ = raw;
        Ok(None)
    }

    /// Wraps an event of the driver, as [`Device::wrap_stream`] wraps a stream.
    ///
    /// # Errors
    ///
    /// The device's errors.
    ///
    /// # Safety
    ///
    /// `raw` is an event of this device's driver, alive until the result is dropped.
    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        let _ = raw;
        Ok(None)
    }

    /// Wraps a memory object of the driver, for protocols that carry one instead of an address;
    /// `None` if the device has no objects. The object is retained until the last holder of the
    /// buffer is dropped.
    ///
    /// # Errors
    ///
    /// `is_malformed` if it is not a memory object; the device's errors.
    ///
    /// # Safety
    ///
    /// 1. `raw` is a memory object of this device's driver, alive for this call.
    /// 2. Until the release, no other code accesses its bytes if `birth` is `Sole`, and no code
    ///    writes them if it is `Constant`.
    unsafe fn wrap_object(&self, raw: *mut c_void, birth: Birth) -> Result<Option<Buffer>> {
        let _ = (raw, birth);
        Ok(None)
    }
}

/// Memory of one kind at one place: allocates, copies and maps it.
///
/// Users call the methods of [`Buffer`] ([`Buffer::on`], [`Buffer::copy_to`], [`Buffer::map_to`]
/// and their siblings), which take the leases, wait for in-flight work, choose the manager, and
/// call it.
///
/// Any thread may call any of this at any time.
pub trait MemoryManager: Any + Send + Sync + fmt::Debug {
    /// The place of the memory.
    fn place(&self) -> Place;

    /// The kind of memory. A place can have several: `cpu` has the heap, and memory shared with
    /// other processes.
    fn backing(&self) -> Backing {
        Backing::Device
    }

    /// Allocates `nbytes` bytes, possibly 0. Host memory is initialised; device memory need not be.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory`; `is_device` if the driver failed.
    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer>;

    /// Whether this manager copies between two places, one of which is its own. It must be cheap
    /// and free of side effects. The destination's manager is asked first.
    fn can_copy(&self, from: Place, to: Place) -> bool;

    /// Copies synchronously.
    ///
    /// # Errors
    ///
    /// The device's error. The copy then fails; no other manager is tried.
    fn copy(&self, transfer: &Transfer) -> Result<()>;

    /// Whether this manager can enqueue copies in the stream.
    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        let _ = stream;
        false
    }

    /// Enqueues a copy in a stream for which [`MemoryManager::can_enqueue`] is true, and returns
    /// the event of its end. When the copy is done, and before the event reports that, the device
    /// calls [`Transfer::complete`]; if the copy failed, it drops the transfer instead.
    ///
    /// # Errors
    ///
    /// If the copy could not be enqueued: then nothing is copied, and the transfer is dropped.
    fn enqueue(&self, transfer: Transfer, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        drop(transfer);
        Err(Error::unsupported(format!("the memory manager of {} cannot copy in {stream:?}", self.place())))
    }

    /// Maps the bytes as memory of another manager; `None` if that is not possible. Either `to` is
    /// this manager, or the buffer is this manager's. The result keeps the buffer alive under a
    /// [`DeviceLease`](crate::device::DeviceLease), is aliased, and is read-only if the buffer is.
    ///
    /// # Errors
    ///
    /// If a possible mapping failed.
    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        let _ = (buffer, to);
        Ok(None)
    }

    /// The engine for strided work in this memory, such as transposing, casting and filling; `None`
    /// if arrays in it can only be copied with their layout. Not called for memory that the CPU
    /// addresses.
    ///
    /// # Errors
    ///
    /// The device's errors.
    fn engine(self: Arc<Self>) -> Result<Option<Arc<dyn Engine>>> {
        Ok(None)
    }

    /// The memory in use.
    fn usage(&self) -> Usage;
}
