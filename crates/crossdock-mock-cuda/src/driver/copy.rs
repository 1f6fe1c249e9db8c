//! Copies and fills.

use std::ffi::{c_uchar, c_uint, c_ushort};

use crate::abi::In;
use crate::call::driver;
use crate::memory::Side;
use crate::state::State;
use crate::status::{Result, Status};
use crate::transfer::{Box3, Side3, at_once, enqueue, fill};

/// The source or destination of a rectangle.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RectangleSide {
    x: usize,
    y: usize,
    memory: c_uint,
    host: usize,
    device: u64,
    array: usize,
    pitch: usize,
}

/// Rows of bytes to copy.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Rectangle {
    from: RectangleSide,
    to: RectangleSide,
    width: usize,
    rows: usize,
}

/// The source or destination of a box.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BoxSide {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory: c_uint,
    host: usize,
    device: u64,
    array: usize,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// Planes of rows of bytes to copy.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Planes {
    from: BoxSide,
    to: BoxSide,
    width: usize,
    rows: usize,
    planes: usize,
}

impl From<RectangleSide> for BoxSide {
    fn from(side: RectangleSide) -> Self {
        let RectangleSide { x, y, memory, host, device, array, pitch } = side;
        Self { x, y, z: 0, level: 0, memory, host, device, array, reserved: 0, pitch, height: 0 }
    }
}

impl Planes {
    /// A pitch or height of 0 means contiguous rows or planes.
    fn checked(&self, state: &mut State) -> Result<Box3> {
        let mut side = |of: &BoxSide| {
            let (address, side) = match of.memory {
                1 => (of.host, Side::Host),
                2 => (of.device as usize, Side::Device),
                4 => (of.device as usize, Side::Either),
                other => {
                    return Err(state.misuse(Status::INVALID_VALUE, format!("memory of the type {other}")));
                }
            };
            if of.array != 0 || of.reserved != 0 || of.level != 0 {
                return Err(
                    state.misuse(Status::INVALID_VALUE, "arrays and their levels are not for this driver")
                );
            }
            let pitch = if of.pitch == 0 { self.width } else { of.pitch };
            let height = if of.height == 0 { self.rows } else { of.height };
            let offset = (of.z * height + of.y) * pitch + of.x;
            Ok(Side3 { side, address: address + offset, pitch, height })
        };
        let (from, to) = (side(&self.from)?, side(&self.to)?);
        Ok(Box3 { from, to, width: self.width, rows: self.rows, planes: self.planes })
    }
}

fn to_device(to: u64, from: usize, nbytes: usize) -> Box3 {
    Box3::bytes((to as usize, Side::Device), (from, Side::Host), nbytes)
}

fn to_host(to: usize, from: u64, nbytes: usize) -> Box3 {
    Box3::bytes((to, Side::Host), (from as usize, Side::Device), nbytes)
}

fn on_devices(to: u64, from: u64, nbytes: usize) -> Box3 {
    Box3::bytes((to as usize, Side::Device), (from as usize, Side::Device), nbytes)
}

driver! {
    /// From the host to a device.
    fn cuMemcpyHtoD_v2(to: u64, from: usize, nbytes: usize) needs Context |state| at_once(state, to_device(to, from, nbytes))

    /// From a device to the host.
    fn cuMemcpyDtoH_v2(to: usize, from: u64, nbytes: usize) needs Context |state| at_once(state, to_host(to, from, nbytes))

    /// Between devices.
    fn cuMemcpyDtoD_v2(to: u64, from: u64, nbytes: usize) needs Context |state| at_once(state, on_devices(to, from, nbytes))

    /// From the host to a device, in a stream.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, nbytes: usize, stream: usize) needs Context |state| {
        enqueue(state, stream, to_device(to, from, nbytes))
    }

    /// From a device to the host, in a stream.
    fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, nbytes: usize, stream: usize) needs Context |state| {
        enqueue(state, stream, to_host(to, from, nbytes))
    }

    /// Between devices, in a stream.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, nbytes: usize, stream: usize) needs Context |state| {
        enqueue(state, stream, on_devices(to, from, nbytes))
    }

    /// Between any two addresses, in a stream.
    fn cuMemcpyAsync(to: u64, from: u64, nbytes: usize, stream: usize) needs Context |state| {
        enqueue(state, stream, Box3::bytes((to as usize, Side::Either), (from as usize, Side::Either), nbytes))
    }

    /// Between devices given by their contexts, in a stream.
    fn cuMemcpyPeerAsync(to: u64, to_context: usize, from: u64, from_context: usize, nbytes: usize, stream: usize) needs Context |mut state| {
        for (address, context) in [(to, to_context), (from, from_context)] {
            let device = state.context(context)?.device;
            let of = state.around(address as usize).map(|found| found.device);
            if nbytes > 0 && of != Some(device) {
                return Err(state.misuse(Status::INVALID_VALUE, format!("{address:#x} is of {of:?}, not of {device}")));
            }
        }
        enqueue(state, stream, on_devices(to, from, nbytes))
    }

    /// Rows of bytes, in a stream.
    fn cuMemcpy2DAsync_v2(copied: In<Rectangle>, stream: usize) needs Context |mut state| {
        let Rectangle { from, to, width, rows } = copied.get(0)?;
        let copied = Planes { from: from.into(), to: to.into(), width, rows, planes: 1 }.checked(&mut state)?;
        enqueue(state, stream, copied)
    }

    /// Planes of rows of bytes, in a stream.
    fn cuMemcpy3DAsync_v2(copied: In<Planes>, stream: usize) needs Context |mut state| {
        let copied = copied.get(0)?.checked(&mut state)?;
        enqueue(state, stream, copied)
    }

    /// One byte everywhere, in a stream.
    fn cuMemsetD8Async(address: u64, value: c_uchar, count: usize, stream: usize) needs Context |state| {
        fill(state, stream, address as usize, &value.to_ne_bytes(), count)
    }

    /// Two bytes everywhere, in a stream.
    fn cuMemsetD16Async(address: u64, value: c_ushort, count: usize, stream: usize) needs Context |state| {
        fill(state, stream, address as usize, &value.to_ne_bytes(), count)
    }

    /// Four bytes everywhere, in a stream.
    fn cuMemsetD32Async(address: u64, value: c_uint, count: usize, stream: usize) needs Context |state| {
        fill(state, stream, address as usize, &value.to_ne_bytes(), count)
    }
}
