//! The devices of all platforms.

use std::ffi::c_void;

use opencl_sys::*;

use crate::description::Description;
use crate::driver::Driver;
use crate::error::{failed, name};
use crate::query::{Answer, Subject, one, text};
use crossdock::device::driver::ForkLock;
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// A device, by the driver's handles, which are valid as long as the process lives.
///
/// # Invariants
///
/// 1. The driver returned both, as a platform and a device of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    platform: cl_platform_id,
    device: cl_device_id,
}

// SAFETY: the handles are only passed to the driver, which permits that on any thread, and never
// dereferenced here.
unsafe impl Send for Identity {}
// SAFETY: a shared reference only copies the handles, and the driver accepts them from any thread.
unsafe impl Sync for Identity {}

/// Held while devices are listed: drivers initialise themselves at the first listing, and PoCL
/// exposes half-initialised state to other threads. A fork on another thread waits for the lock.
static LISTING: ForkLock<()> = ForkLock::new(());

/// All devices, in the loader's order. A platform that fails is skipped if another one has devices.
///
/// # Errors
///
/// `is_unsupported` where there is no platform, or none has a device; the error of the first failed
/// platform, where no other has a device.
pub(crate) fn all(driver: &Driver) -> Result<Vec<Identity>> {
    let listing = LISTING.lock();
    let calls_out = LISTING.calls_out();
    let mut found = Vec::new();
    let mut first_error = None;
    for platform in platforms(driver)? {
        match devices_of(driver, platform) {
            Ok(devices) => found.extend(devices.into_iter().map(|device| Identity { platform, device })),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    drop(calls_out);
    drop(listing);
    match first_error {
        _ if !found.is_empty() => Ok(found),
        Some(error) => Err(error),
        None => Err(Error::unsupported("no OpenCL device: no platform has one")),
    }
}

fn platforms(driver: &Driver) -> Result<Vec<cl_platform_id>> {
    let ask = |room, list, count| {
        // SAFETY: `list` passes room for as many handles as it states, or null for none, and a
        // count that is null or a local variable (Driver 1).
        unsafe { (driver.get_platform_ids)(room, list, count) }
    };
    match list(ask) {
        Ok(platforms) if !platforms.is_empty() => Ok(platforms),
        Ok(_) => Err(no_platform(CL_PLATFORM_NOT_FOUND_KHR)),
        Err(status @ CL_PLATFORM_NOT_FOUND_KHR) => Err(no_platform(status)),
        Err(status) => Err(failed(status, "clGetPlatformIDs")),
    }
}

#[cold]
fn no_platform(status: cl_int) -> Error {
    Error::unsupported(format!(
        "no OpenCL platform, error {status} ({}): the loader is installed, but no driver; install one \
        (Debian: pocl-opencl-icd)",
        name(status)
    ))
}

fn devices_of(driver: &Driver, platform: cl_platform_id) -> Result<Vec<cl_device_id>> {
    let ask = |room, list, count| {
        // SAFETY: the driver returned the platform; `list` passes room for as many handles as it
        // states, or null for none, and a count that is null or a local variable (Driver 1).
        unsafe { (driver.get_device_ids)(platform, CL_DEVICE_TYPE_ALL, room, list, count) }
    };
    match list(ask) {
        Err(CL_DEVICE_NOT_FOUND) => Ok(Vec::new()),
        listed => listed.map_err(|status| failed(status, "clGetDeviceIDs")),
    }
}

/// A list whose length the driver reports first.
fn list(
    ask: impl Fn(cl_uint, *mut *mut c_void, *mut cl_uint) -> cl_int,
) -> std::result::Result<Vec<*mut c_void>, cl_int> {
    let told = |status| if status == CL_SUCCESS { Ok(()) } else { Err(status) };
    let mut count = 0;
    told(ask(0, std::ptr::null_mut(), &raw mut count))?;
    let mut list = vec![std::ptr::null_mut(); count as usize];
    if count > 0 {
        told(ask(count, list.as_mut_ptr(), std::ptr::null_mut()))?;
    }
    Ok(list)
}

/// The device with an ordinal.
///
/// # Errors
///
/// `is_bounds` where no device has the ordinal; as [`all`].
pub(crate) fn find(driver: &Driver, place: Place) -> Result<Identity> {
    let devices = all(driver)?;
    let number = usize::try_from(place.ordinal()).ok();
    number.and_then(|number| devices.get(number)).copied().ok_or_else(|| {
        Error::bounds(format!(
            "there is no {place}; OpenCL has devices 0 to {}",
            devices.len().saturating_sub(1)
        ))
    })
}

impl Identity {
    pub(crate) fn device(self) -> cl_device_id {
        self.device
    }

    pub(crate) fn platform(self) -> cl_platform_id {
        self.platform
    }

    /// The properties of the device.
    pub(crate) fn description(self, driver: &Driver, place: Place) -> Result<Description> {
        let bits: cl_uint = self.ask(driver, CL_DEVICE_MEM_BASE_ADDR_ALIGN)?;
        let is_unified = self.ask::<cl_uint>(driver, CL_DEVICE_HOST_UNIFIED_MEMORY)? != CL_FALSE;
        let kind: cl_device_type = self.ask(driver, CL_DEVICE_TYPE)?;
        // An error on devices of OpenCL 1, which do not know the query.
        let shares: cl_device_svm_capabilities = self.ask(driver, CL_DEVICE_SVM_CAPABILITIES).unwrap_or(0);
        // Consistent whether mapped or not: the device is the CPU, or shares its memory with fine
        // granularity.
        let is_fine = kind & CL_DEVICE_TYPE_CPU != 0 || shares & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0;
        Ok(Description {
            place,
            name: self.ask_text(driver, CL_DEVICE_NAME)?,
            // SAFETY: the driver returned this platform, which is valid as long as the process
            // lives (Identity 1).
            platform: unsafe { text(driver, Subject::Platform(self.platform), CL_PLATFORM_NAME) }?,
            version: self.ask_text(driver, CL_DEVICE_VERSION)?,
            nbytes: self.ask(driver, CL_DEVICE_GLOBAL_MEM_SIZE)?,
            largest_nbytes: self.ask(driver, CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
            is_unified,
            is_mappable: is_unified && is_fine,
            alignment: (bits as usize / 8).max(1),
        })
    }

    fn ask<A: Answer>(self, driver: &Driver, what: cl_uint) -> Result<A> {
        // SAFETY: the driver returned this device, which is valid as long as the process lives
        // (Identity 1).
        unsafe { one(driver, Subject::Device(self.device), what) }
    }

    fn ask_text(self, driver: &Driver, what: cl_uint) -> Result<String> {
        // SAFETY: the driver returned this device, which is valid as long as the process lives
        // (Identity 1).
        unsafe { text(driver, Subject::Device(self.device), what) }
    }
}

/// The properties of all devices.
pub(crate) fn describe(driver: &Driver) -> Result<Vec<Description>> {
    let numbered = (0..).zip(all(driver)?);
    numbered
        .map(|(number, device)| device.description(driver, Place::new(DeviceKind::OPENCL, number)))
        .collect()
}
