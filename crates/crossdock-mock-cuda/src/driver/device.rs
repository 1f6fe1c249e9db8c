//! The driver itself, and its devices.

use std::ffi::{c_char, c_int, c_uint};

use crate::abi::{Out, Room};
use crate::call::driver;
use crate::status::Status;

driver! {
    /// Initialises the driver.
    fn cuInit(flags: c_uint) needs Nothing |mut state| {
        if flags != 0 {
            return Err(state.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}")));
        }
        if state.config.device_count == 0 {
            return Err(Status::NO_DEVICE);
        }
        state.is_initialized = true;
        Ok(())
    }

    /// The newest supported version of CUDA: 1000 times the major and 10 times the minor number.
    fn cuDriverGetVersion(version: Out<c_int>) needs Nothing |state| version.set(state.config.driver_version)

    /// The name of an error.
    fn cuGetErrorName(error: Status, text: Out<*const c_char>) needs Nothing |_state| {
        text.set(error.name().ok_or(Status::INVALID_VALUE)?.as_ptr().cast())
    }

    /// The text of an error.
    fn cuGetErrorString(error: Status, text: Out<*const c_char>) needs Nothing |_state| {
        text.set(error.text().ok_or(Status::INVALID_VALUE)?.as_ptr().cast())
    }

    /// The number of devices.
    fn cuDeviceGetCount(count: Out<c_int>) needs Driver |state| count.set(state.config.device_count)

    /// The device with an ordinal; its handle is the ordinal.
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) needs Driver |mut state| {
        state.device(ordinal)?;
        device.set(ordinal)
    }

    /// The model of a device.
    fn cuDeviceGetName(name: Room, room: c_int, device: c_int) needs Driver |mut state| {
        state.device(device)?;
        name.fill(usize::try_from(room).unwrap_or(0), &format!("mock device {device}"))
    }

    /// An attribute of a device.
    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) needs Driver |mut state| {
        state.device(device)?;
        match state.config.attribute(device, attribute) {
            Some(found) => value.set(found),
            None => Err(state.misuse(Status::INVALID_VALUE, format!("there is no attribute {attribute}"))),
        }
    }

    /// The total memory of a device, in bytes.
    fn cuDeviceTotalMem_v2(nbytes: Out<usize>, device: c_int) needs Driver |mut state| {
        state.device(device)?;
        nbytes.set(usize::try_from(state.config.memory).unwrap_or(usize::MAX))
    }

    /// Whether one device can access another's memory.
    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) needs Driver |mut state| {
        state.device(device)?;
        state.device(peer)?;
        can.set(c_int::from(device != peer && state.config.reaches_peers))
    }
}
