//! Memory that is allocated and freed synchronously, and attributes of addresses.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::{In, Out};
use crate::call::driver;
use crate::config::MANAGED_MEMORY;
use crate::current;
use crate::memory::{Allocation, Kind};
use crate::state::State;
use crate::status::{Result, Status};

impl State {
    /// The current context and its device.
    pub(crate) fn here(&mut self) -> Result<(usize, i32)> {
        let context = current::context(self)?;
        Ok((context, self.context(context)?.device))
    }
}

/// An attribute of an address, which may be in no allocation.
fn attribute(found: Option<&Allocation>, number: c_int, address: usize, data: Out<c_void>) -> Result {
    const HOST: u32 = 1;
    const DEVICE: u32 = 2;
    let offset = |from: usize| address - found.map_or(address, |found| found.address) + from;
    let seen_by_host = |found: &Allocation| if found.kind.is_fenced() { 0 } else { offset(found.address) };
    match number {
        1 => data.of::<usize>().set(found.map_or(0, |found| found.context)),
        2 => {
            let is_host = |found: &Allocation| matches!(found.kind, Kind::Pinned | Kind::Registered);
            data.of::<u32>().set(found.map_or(0, |found| if is_host(found) { HOST } else { DEVICE }))
        }
        3 => data.of::<usize>().set(found.map_or(0, |_| address)),
        4 => data.of::<usize>().set(found.map_or(0, seen_by_host)),
        7 => data.of::<u64>().set(found.map_or(0, |found| found.number)),
        8 => data.of::<u32>().set(u32::from(found.is_some_and(|found| found.kind == Kind::Managed))),
        9 => data.of::<c_int>().set(found.map_or(-2, |found| found.device)),
        10 => data.of::<u32>().set(u32::from(found.is_some_and(|found| found.kind == Kind::Device))),
        11 => data.of::<usize>().set(found.map_or(0, |found| found.address)),
        12 => data.of::<usize>().set(found.map_or(0, |found| found.nbytes)),
        13 => data.of::<u32>().set(u32::from(found.is_some())),
        _ => Err(Status::INVALID_VALUE),
    }
}

driver! {
    /// The free and the total memory of the current device, in bytes.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) needs Context |mut state| {
        let (_, device) = state.here()?;
        let has = state.config.memory;
        let left = has - state.device(device)?.used;
        free.set(usize::try_from(left).unwrap_or(usize::MAX))?;
        total.set(usize::try_from(has).unwrap_or(usize::MAX))
    }

    /// Memory of the current device.
    fn cuMemAlloc_v2(address: Out<u64>, nbytes: usize) needs Context |mut state| {
        let (context, device) = state.here()?;
        address.set(state.allocate(Kind::Device, context, device, nbytes)? as u64)
    }

    /// Frees memory of a device.
    fn cuMemFree_v2(address: u64) needs ContextToDestroy |mut state| {
        if address == 0 {
            return Ok(());
        }
        let kinds = |kind| matches!(kind, Kind::Device | Kind::Pool(_) | Kind::Managed);
        let address = state.freeable(address as usize, kinds)?.address;
        state.release(address);
        Ok(())
    }

    /// Pinned memory of the host.
    fn cuMemHostAlloc(address: Out<usize>, nbytes: usize, flags: c_uint) needs Context |mut state| {
        if flags & !7 != 0 {
            return Err(state.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}")));
        }
        let (context, device) = state.here()?;
        address.set(state.allocate(Kind::Pinned, context, device, nbytes)?)
    }

    /// Frees pinned memory.
    fn cuMemFreeHost(address: usize) needs ContextToDestroy |mut state| {
        let address = state.freeable(address, |kind| kind == Kind::Pinned)?.address;
        state.release(address);
        Ok(())
    }

    /// Pins memory of the program.
    fn cuMemHostRegister_v2(address: usize, nbytes: usize, flags: c_uint) needs Context |mut state| {
        let (context, device) = state.here()?;
        if flags & !15 != 0 || address == 0 || nbytes == 0 {
            let what = format!("{nbytes} bytes at {address:#x} with flags {flags:#x}");
            return Err(state.misuse(Status::INVALID_VALUE, what));
        }
        if state.around(address).is_some() || state.allocations.range(address..address + nbytes).next().is_some() {
            return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        state.register(context, device, address, nbytes);
        Ok(())
    }

    /// Unpins memory of the program.
    fn cuMemHostUnregister(address: usize) needs ContextToDestroy |mut state| {
        match state.allocations.get(&address) {
            Some(found) if found.kind == Kind::Registered => {
                state.release(address);
                Ok(())
            }
            _ => Err(state.misuse(Status::HOST_MEMORY_NOT_REGISTERED, format!("{address:#x} was not registered"))),
        }
    }

    /// The device address of pinned memory, which is the host address.
    fn cuMemHostGetDevicePointer_v2(device: Out<u64>, host: usize, flags: c_uint) needs Context |mut state| {
        let is_pinned = |found: &Allocation| matches!(found.kind, Kind::Pinned | Kind::Registered);
        if flags != 0 || !state.around(host).is_some_and(is_pinned) {
            return Err(state.misuse(Status::INVALID_VALUE, format!("{host:#x} is not pinned")));
        }
        device.set(host as u64)
    }

    /// Managed memory, which the driver migrates between devices and host.
    fn cuMemAllocManaged(address: Out<u64>, nbytes: usize, flags: c_uint) needs Context |mut state| {
        let (context, device) = state.here()?;
        if !matches!(flags, 1 | 2) {
            return Err(state.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}")));
        }
        if state.config.attribute(device, MANAGED_MEMORY) != Some(1) {
            return Err(state.misuse(Status::NOT_SUPPORTED, "the device has no managed memory"));
        }
        address.set(state.allocate(Kind::Managed, context, device, nbytes)? as u64)
    }

    /// Several attributes of an address; those of an unknown one are 0.
    fn cuPointerGetAttributes(count: c_uint, numbers: In<c_int>, data: In<*mut c_void>, address: u64) needs Context |state| {
        let address = address as usize;
        for index in 0..count as usize {
            let out = Out::at(data.get(index)?);
            attribute(state.around(address), numbers.get(index)?, address, out)?;
        }
        Ok(())
    }

    /// One attribute of an address.
    fn cuPointerGetAttribute(data: Out<c_void>, number: c_int, address: u64) needs Context |state| {
        match state.around(address as usize) {
            None => Err(Status::INVALID_VALUE),
            found => attribute(found, number, address as usize, data),
        }
    }

    /// The allocation that contains an address.
    fn cuMemGetAddressRange_v2(base: Out<u64>, nbytes: Out<usize>, address: u64) needs Context |state| {
        let found = state.around(address as usize).ok_or(Status::NOT_FOUND)?;
        base.set_if_wanted(found.address as u64)?;
        nbytes.set_if_wanted(found.nbytes)
    }
}
