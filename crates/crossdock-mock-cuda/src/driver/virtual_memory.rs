//! The virtual memory calls.

use std::ffi::{c_int, c_ulonglong, c_void};

use crate::abi::{In, Out};
use crate::call::driver;
use crate::driver::pool::{Access, Location, ON_A_DEVICE};
use crate::state::State;
use crate::status::{Result, Status};
use crate::virtual_memory::{GRANULARITY, READ, READ_WRITE};

/// The kind of handle that is a file descriptor.
pub(crate) const POSIX_DESCRIPTOR: c_int = 1;

/// The attribute of devices whose memory can be exported as descriptors.
const EXPORTS_DESCRIPTORS: i32 = 103;
const VIRTUAL_MEMORY: i32 = 102;

const PINNED: c_int = 1;

/// The properties of memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Properties {
    allocation_type: c_int,
    handle_types: c_int,
    location: Location,
    security: usize,
    flags: [u8; 8],
}

impl State {
    /// The device and the kinds of handles of valid properties.
    fn read(&mut self, properties: &In<Properties>) -> Result<(i32, i32)> {
        let properties = properties.get(0)?;
        let Properties { allocation_type, handle_types, location, .. } = properties;
        let is_valid =
            allocation_type == PINNED && location.kind == ON_A_DEVICE && properties.flags == [0; 8];
        if !is_valid || !matches!(handle_types, 0 | POSIX_DESCRIPTOR) {
            return Err(self.misuse(Status::INVALID_VALUE, format!("memory with {properties:?}")));
        }
        let device = location.ordinal;
        self.device(device)?;
        let has = |attribute| self.config.attribute(device, attribute) == Some(1);
        if !has(VIRTUAL_MEMORY) || (handle_types != 0 && !has(EXPORTS_DESCRIPTORS)) {
            return Err(
                self.misuse(Status::NOT_SUPPORTED, format!("device {device} has none of {properties:?}"))
            );
        }
        Ok((device, handle_types))
    }

    /// Refuses numbers that are not multiples of the granularity.
    fn granular(&mut self, numbers: &[usize]) -> Result {
        if numbers.iter().all(|number| number.is_multiple_of(GRANULARITY)) && numbers.last() != Some(&0) {
            return Ok(());
        }
        let what = format!("{numbers:?} are not multiples of {GRANULARITY}, or the size is 0");
        Err(self.misuse(Status::INVALID_VALUE, what))
    }

    fn no_flags(&mut self, flags: c_ulonglong) -> Result {
        if flags == 0 { Ok(()) } else { Err(self.misuse(Status::INVALID_VALUE, format!("flags {flags:#x}"))) }
    }
}

driver! {
    /// The unit of sizes and addresses.
    fn cuMemGetAllocationGranularity(unit: Out<usize>, properties: In<Properties>, option: c_int) needs Driver |mut state| {
        state.read(&properties)?;
        if !matches!(option, 0 | 1) {
            return Err(state.misuse(Status::INVALID_VALUE, format!("option {option}")));
        }
        unit.set(GRANULARITY)
    }

    /// Memory of a device, without an address.
    fn cuMemCreate(handle: Out<u64>, nbytes: usize, properties: In<Properties>, flags: c_ulonglong) needs Driver |mut state| {
        state.no_flags(flags)?;
        let (device, handle_types) = state.read(&properties)?;
        state.granular(&[nbytes])?;
        handle.set(state.create(device, nbytes, handle_types)? as u64)
    }

    /// Gives a handle back; mappings and descriptors keep the memory.
    fn cuMemRelease(handle: u64) needs DriverToDestroy |mut state| state.release_physical(handle as usize)

    /// Addresses without memory.
    fn cuMemAddressReserve(address: Out<u64>, nbytes: usize, alignment: usize, hint: u64, flags: c_ulonglong) needs Driver |mut state| {
        let _any = hint;
        state.no_flags(flags)?;
        state.granular(&[nbytes])?;
        if alignment != 0 && !alignment.is_power_of_two() {
            return Err(state.misuse(Status::INVALID_VALUE, format!("alignment {alignment}")));
        }
        address.set(state.reserve(nbytes, alignment)? as u64)
    }

    /// Gives addresses back.
    fn cuMemAddressFree(address: u64, nbytes: usize) needs DriverToDestroy |mut state| {
        state.unreserve(address as usize, nbytes)
    }

    /// Maps memory at reserved addresses.
    fn cuMemMap(address: u64, nbytes: usize, offset: usize, handle: u64, flags: c_ulonglong) needs Driver |mut state| {
        state.no_flags(flags)?;
        state.granular(&[address as usize, nbytes])?;
        if offset != 0 {
            return Err(state.misuse(Status::INVALID_VALUE, format!("offset {offset}")));
        }
        state.map(address as usize, nbytes, handle as usize)
    }

    /// Unmaps a whole mapping.
    fn cuMemUnmap(address: u64, nbytes: usize) needs DriverToDestroy |mut state| {
        state.unmap(address as usize, nbytes)
    }

    /// Lets devices access whole mappings.
    fn cuMemSetAccess(address: u64, nbytes: usize, access: In<Access>, count: usize) needs Driver |mut state| {
        state.granular(&[address as usize, nbytes])?;
        for index in 0..count {
            let Access { location, flags } = access.get(index)?;
            if location.kind != ON_A_DEVICE || !matches!(flags, 0 | READ | READ_WRITE) {
                return Err(state.misuse(Status::INVALID_VALUE, format!("access {flags} of {location:?}")));
            }
            state.set_access(address as usize, nbytes, location.ordinal, flags)?;
        }
        Ok(())
    }

    /// A descriptor of memory, which belongs to the caller.
    fn cuMemExportToShareableHandle(descriptor: Out<c_void>, handle: u64, kind: c_int, flags: c_ulonglong) needs Driver |mut state| {
        state.no_flags(flags)?;
        if kind != POSIX_DESCRIPTOR || state.physical(handle as usize)?.handle_types & kind == 0 {
            return Err(state.misuse(Status::INVALID_VALUE, format!("{handle:#x} has no handle of kind {kind}")));
        }
        let made = state.export(handle as usize)?;
        descriptor.of::<c_int>().set(made)
    }

    /// Memory of a descriptor, which stays the caller's.
    fn cuMemImportFromShareableHandle(handle: Out<u64>, descriptor: usize, kind: c_int) needs Driver |mut state| {
        let descriptor = c_int::try_from(descriptor).ok().filter(|_| kind == POSIX_DESCRIPTOR);
        let Some(descriptor) = descriptor else {
            return Err(state.misuse(Status::INVALID_VALUE, format!("a handle of kind {kind}")));
        };
        handle.set(state.import_descriptor(descriptor)? as u64)
    }

    /// The properties of memory.
    fn cuMemGetAllocationPropertiesFromHandle(properties: Out<Properties>, handle: u64) needs Driver |mut state| {
        let found = state.physical(handle as usize)?;
        let (handle_types, location) = (found.handle_types, Location { kind: ON_A_DEVICE, ordinal: found.device });
        properties.set(Properties { allocation_type: PINNED, handle_types, location, security: 0, flags: [0; 8] })
    }
}
