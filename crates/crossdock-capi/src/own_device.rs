//! Devices of the caller, by callbacks.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::{fmt, ptr};

use crossdock::buffer::Buffer;
use crossdock::device::driver::generation;
use crossdock::device::{
    self, Device, DeviceLease, DeviceRegion, Driver, MemoryManager, Meter, Transfer, Usage,
};
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{Error, Result};

use crate::buffer::{CallerContext, Release};
use crate::error::Failure;
use crate::foreign::{given, text};
use crate::guard::{ErrorOut, fallible};

/// `int allocate(void *context, int32_t ordinal, size_t nbytes, void **object)`.
pub type DeviceAllocate = unsafe extern "C" fn(*mut c_void, i32, usize, *mut *mut c_void) -> i32;
/// `int free(void *context, int32_t ordinal, void *object, size_t nbytes)`.
pub type DeviceFree = unsafe extern "C" fn(*mut c_void, i32, *mut c_void, usize) -> i32;
/// `int copy(void *context, int32_t ordinal, const xd_device_copy *copy)`.
pub type DeviceCopy = unsafe extern "C" fn(*mut c_void, i32, *const XdDeviceCopy) -> i32;

/// `xd_device_copy`: one copy of bytes.
#[repr(C)]
pub struct XdDeviceCopy {
    /// The destination: an object of the driver, or an address of the host.
    pub to: *mut c_void,
    /// The offset of the first byte in it.
    pub to_offset: usize,
    /// The source.
    pub from: *const c_void,
    /// The offset of the first byte in it.
    pub from_offset: usize,
    /// The number of bytes.
    pub nbytes: usize,
    /// Whether the destination is an address of the host.
    pub to_host: bool,
    /// Whether the source is an address of the host.
    pub from_host: bool,
}

/// `xd_device_driver`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct XdDeviceDriver {
    /// The kind that it serves.
    pub kind: i32,
    /// The number of devices.
    pub count: i32,
    /// The most bytes in use on each; 0 for no limit.
    pub limit_nbytes: u64,
    /// A name for people.
    pub name: *const c_char,
    /// Allocates memory.
    pub allocate: Option<DeviceAllocate>,
    /// Frees it.
    pub free: Option<DeviceFree>,
    /// Copies bytes.
    pub copy: Option<DeviceCopy>,
    /// Is called when the driver and all its memory are gone.
    pub release: Option<Release>,
    /// The first argument of each.
    pub context: *mut c_void,
}

/// The functions of a driver.
struct Functions {
    kind: [DeviceKind; 1],
    count: i32,
    limit: u64,
    name: String,
    allocate: DeviceAllocate,
    free: DeviceFree,
    copy: DeviceCopy,
    context: CallerContext,
    generation: u64,
}

impl Drop for Functions {
    fn drop(&mut self) {
        // A forked child has a copy of the context, whose resources are its parent's.
        if self.generation != generation() {
            self.context.release = None;
        }
    }
}

impl Functions {
    /// The result of a function of the driver.
    fn checked(&self, place: Place, function: &str, nbytes: usize, status: i32) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        let name = &self.name;
        Err(Error::device(format!(
            "`{function}` of {name} failed with {status}, for {nbytes} bytes on {place}"
        )))
    }

    /// A forked child has the memory of its parent, but not its devices.
    fn check_generation(&self, place: Place) -> Result<()> {
        if self.generation == generation() {
            return Ok(());
        }
        Err(Error::device(format!("{} on {place} was registered by the parent of this process", self.name)))
    }

    fn release(&self, place: Place, object: *mut c_void, nbytes: usize) -> Result<()> {
        if self.generation != generation() {
            return Ok(());
        }
        // SAFETY: CallerContext 1; the object came from `allocate`, with this number of bytes, and
        // its only owner releases it once.
        let status = unsafe { (self.free)(self.context.context, place.ordinal(), object, nbytes) };
        self.checked(place, "free", nbytes, status)
    }
}

struct OwnDriver(Arc<Functions>);

impl Driver for OwnDriver {
    fn kinds(&self) -> &[DeviceKind] {
        &self.0.kind
    }

    fn open(&self, place: Place) -> Result<Arc<dyn Device>> {
        let Functions { count, limit, name, .. } = &*self.0;
        if !(0..*count).contains(&place.ordinal()) {
            return Err(Error::bounds(format!("there is no {place}: {name} has {count} devices")));
        }
        let meter = Arc::new(Meter::new(*limit));
        Ok(Arc::new(OwnDevice(Arc::new(OwnMemory { place, meter, functions: self.0.clone() }))))
    }
}

#[derive(Debug)]
struct OwnDevice(Arc<OwnMemory>);

impl Device for OwnDevice {
    fn place(&self) -> Place {
        self.0.place
    }

    fn name(&self) -> String {
        self.0.functions.name.clone()
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.0.clone()
    }
}

struct OwnMemory {
    place: Place,
    meter: Arc<Meter>,
    functions: Arc<Functions>,
}

impl fmt::Debug for OwnMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnMemory").field("place", &self.place).finish_non_exhaustive()
    }
}

impl OwnMemory {
    /// The pointer and the offset of a lease's bytes, and whether they are the host's.
    fn side(&self, lease: &DeviceLease) -> Result<(*mut c_void, usize, bool)> {
        if lease.place().is_host() {
            return Ok((lease.address().cast(), 0, true));
        }
        let is_own = lease.manager().is_some_and(|manager| ptr::addr_eq(Arc::as_ptr(&manager), self));
        match lease.object() {
            Some((object, offset)) if is_own => Ok((object.as_ptr(), offset, false)),
            _ => Err(Error::place(format!("another manager allocated the memory of a {lease:?}"))),
        }
    }
}

impl MemoryManager for OwnMemory {
    fn place(&self) -> Place {
        self.place
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        let (functions, place) = (self.functions.clone(), self.place);
        functions.check_generation(place)?;
        self.meter.check(nbytes)?;
        let (mut object, size) = (ptr::null_mut(), nbytes.max(1));
        // SAFETY: CallerContext 1; the object is written by this call only.
        let status = unsafe {
            (functions.allocate)(functions.context.context, place.ordinal(), size, &raw mut object)
        };
        functions.checked(place, "allocate", size, status)?;
        if object.is_null() {
            let text = format!("{} has no memory for {size} bytes on {place}", functions.name);
            return Err(Error::no_memory(text));
        }
        // Charged after the allocation, so that a failed one does not raise the peak. Another
        // thread may have used the rest of the limit meanwhile.
        let charge = match Meter::charge(&self.meter, nbytes) {
            Ok(charge) => charge,
            Err(error) => {
                functions.release(place, object, size)?;
                return Err(error);
            }
        };
        let region = DeviceRegion { address: None, nbytes, object, birth: Birth::Sole, aliases: &[] };
        let kept = SendObject(object);
        let release = move || functions.release(place, { kept }.0, size);
        // SAFETY: the driver's object stands for `nbytes` bytes, which only this buffer accesses,
        // until the release frees it; it has no address and no aliases.
        unsafe { device::adopt(self, region, charge, release) }
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        let is_reached = |place: Place| place == self.place || place.is_host();
        is_reached(from) && is_reached(to) && (from == self.place || to == self.place)
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        self.functions.check_generation(self.place)?;
        let (from, from_offset, from_host) = self.side(transfer.src())?;
        let (to, to_offset, to_host) = self.side(transfer.dst())?;
        let nbytes = transfer.nbytes();
        let copy = XdDeviceCopy { to, to_offset, from, from_offset, nbytes, to_host, from_host };
        // SAFETY: CallerContext 1; the transfer's leases permit to read the source and to write the
        // destination, which have as many bytes and do not overlap (Transfer 1).
        let status = unsafe {
            (self.functions.copy)(self.functions.context.context, self.place.ordinal(), &raw const copy)
        };
        self.functions.checked(self.place, "copy", nbytes, status)
    }

    fn usage(&self) -> Usage {
        self.meter.usage()
    }
}

/// An object of the driver, which its release receives on any thread.
struct SendObject(*mut c_void);

// SAFETY: CallerContext 1: the driver's functions accept the object on any thread.
unsafe impl Send for SendObject {}

/// Registers devices of the caller.
///
/// # Safety
///
/// 1. `driver->name` is null or a C string that nothing writes during the call.
/// 2. Any thread may call the functions with the context until `release`, which is called once.
///    `allocate` stores an object that stands for the bytes until `free`, and that no other live
///    object of the kind equals; `copy` accesses only the bytes that it is told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_device_register(driver: Option<&XdDeviceDriver>, error: ErrorOut<'_>) -> bool {
    // Clause 2 of `# Safety` is CallerContext 1. The owner exists before anything can fail, so that
    // `release` is called once on every path.
    let context = driver.map(|driver| CallerContext { context: driver.context, release: driver.release });
    fallible(error, || {
        let (driver, context) = (*given(driver, "driver")?, given(context, "driver")?);
        if driver.count < 0 {
            return Err(Failure::argument(format!(
                "`driver->count` is {}; it must not be negative",
                driver.count
            )));
        }
        // SAFETY: clause 1: null or a C string that nothing writes during the call.
        let name = unsafe { text(driver.name, "driver->name") }?.to_owned();
        let functions = Functions {
            kind: [DeviceKind(driver.kind)],
            count: driver.count,
            limit: if driver.limit_nbytes == 0 { u64::MAX } else { driver.limit_nbytes },
            name,
            allocate: given(driver.allocate, "driver->allocate")?,
            free: given(driver.free, "driver->free")?,
            copy: given(driver.copy, "driver->copy")?,
            context,
            generation: generation(),
        };
        device::register(Arc::new(OwnDriver(Arc::new(functions))))?;
        Ok(true)
    })
}

/// Removes a kind. Its memory stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn xd_device_unregister(kind: i32, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        device::unregister(DeviceKind(kind))?;
        Ok(true)
    })
}
