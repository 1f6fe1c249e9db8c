//! The virtual memory calls: memory, addresses, mappings, access, and descriptors.

use std::ffi::{c_int, c_ulonglong};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crossdock_mock_cuda::Status;

use crate::{Use, copy_in, driver, fetch, memory, send, synchronize};

const UNIT: usize = 2 << 20;
const READ: c_int = 1;
const READ_WRITE: c_int = 3;

/// `CUmemAllocationProp`.
#[derive(Debug, Default, PartialEq)]
#[repr(C)]
struct Properties {
    allocation_type: c_int,
    handle_types: c_int,
    location_kind: c_int,
    ordinal: c_int,
    security: usize,
    flags: [u8; 8],
}

fn of_device(ordinal: c_int) -> Properties {
    Properties { allocation_type: 1, handle_types: 1, location_kind: 1, ordinal, ..Properties::default() }
}

fn create(nbytes: usize, properties: &Properties) -> Result<u64, Status> {
    let mut handle = 0;
    let properties = std::ptr::from_ref(properties);
    match cu!(cuMemCreate(&raw mut handle => *mut u64, nbytes => usize, properties => *const Properties, 0 => c_ulonglong))
    {
        Status::SUCCESS => Ok(handle),
        status => Err(status),
    }
}

fn reserve(nbytes: usize) -> u64 {
    let mut address = 0;
    let status = cu!(cuMemAddressReserve(&raw mut address => *mut u64, nbytes => usize, 0 => usize, 0 => u64, 0 => c_ulonglong));
    assert_eq!(status, Status::SUCCESS);
    address
}

fn map(address: u64, nbytes: usize, handle: u64) -> Status {
    cu!(cuMemMap(address => u64, nbytes => usize, 0 => usize, handle => u64, 0 => c_ulonglong))
}

fn set_access(address: u64, nbytes: usize, flags: c_int) -> Status {
    let access: [c_int; 3] = [1, 0, flags];
    cu!(cuMemSetAccess(address => u64, nbytes => usize, access.as_ptr() => *const c_int, 1 => usize))
}

fn unmap(address: u64, nbytes: usize) -> Status {
    cu!(cuMemUnmap(address => u64, nbytes => usize))
}

fn release(handle: u64) -> Status {
    cu!(cuMemRelease(handle => u64))
}

fn free_addresses(address: u64, nbytes: usize) -> Status {
    cu!(cuMemAddressFree(address => u64, nbytes => usize))
}

fn export(handle: u64) -> OwnedFd {
    let mut descriptor = -1;
    let status = cu!(cuMemExportToShareableHandle(&raw mut descriptor => *mut c_int, handle => u64, 1 => c_int, 0 => c_ulonglong));
    assert_eq!(status, Status::SUCCESS);
    // SAFETY: the call above created the descriptor for this caller.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn import(descriptor: c_int) -> Result<u64, Status> {
    let mut handle = 0;
    let descriptor = descriptor as usize;
    match cu!(cuMemImportFromShareableHandle(&raw mut handle => *mut u64, descriptor => usize, 1 => c_int)) {
        Status::SUCCESS => Ok(handle),
        status => Err(status),
    }
}

#[test]
fn memory_is_mapped_at_reserved_addresses_which_a_device_may_access_only_as_it_was_set() {
    let used = Use::new();
    let mut unit = 0usize;
    let properties = of_device(0);
    let asked = &raw const properties;
    assert_eq!(
        cu!(cuMemGetAllocationGranularity(&raw mut unit => *mut usize, asked => *const Properties, 0 => c_int)),
        Status::SUCCESS
    );
    assert_eq!(unit, UNIT);
    let (handle, address) = (create(UNIT, &properties).unwrap(), reserve(UNIT));
    assert_eq!(address % UNIT as u64, 0);
    assert_eq!(map(address, UNIT, handle), Status::SUCCESS);
    assert_eq!(send(address, &[7; 10]), Status::INVALID_VALUE, "no access was set");
    assert_eq!(set_access(address, UNIT, READ_WRITE), Status::SUCCESS);
    assert_eq!(send(address + 5, &[7; 10]), Status::SUCCESS);
    assert_eq!(set_access(address, UNIT, READ), Status::SUCCESS);
    assert_eq!(fetch(address + 5, 10), [7; 10]);
    assert_eq!(send(address, &[8; 10]), Status::INVALID_VALUE);
    assert_eq!(
        cu!(cuMemsetD8Async(address => u64, 1 => u8, 10 => usize, 0 => usize)),
        Status::INVALID_VALUE,
        "it is mapped for reading"
    );
    assert_eq!(used.mock.misuses().len(), 3, "{:?}", used.mock.misuses());
    used.mock.reset();
    assert_eq!(unmap(address, UNIT), Status::SUCCESS);
    assert_eq!((release(handle), free_addresses(address, UNIT)), (Status::SUCCESS, Status::SUCCESS));
    used.end();
}

#[test]
fn a_mapping_and_a_descriptor_keep_the_memory_after_its_handle_was_given_back() {
    let used = Use::new();
    let reserved = used.mock.count("reserved");
    let (handle, address) = (create(UNIT, &of_device(0)).unwrap(), reserve(2 * UNIT));
    assert_eq!(map(address, UNIT, handle), Status::SUCCESS);
    let descriptor = export(handle);
    assert_eq!(release(handle), Status::SUCCESS);
    assert_eq!(used.mock.count("reserved"), reserved + UNIT as u64);
    assert_eq!(set_access(address, UNIT, READ_WRITE), Status::SUCCESS);
    assert_eq!(send(address, &[9; 100]), Status::SUCCESS);
    // The same memory once more, with another access.
    let again = import(descriptor.as_raw_fd()).unwrap();
    let mut properties = Properties::default();
    let to = &raw mut properties;
    assert_eq!(
        cu!(cuMemGetAllocationPropertiesFromHandle(to => *mut Properties, again => u64)),
        Status::SUCCESS
    );
    assert_eq!(properties, of_device(0));
    let second = address + UNIT as u64;
    assert_eq!(
        (map(second, UNIT, again), set_access(second, UNIT, READ)),
        (Status::SUCCESS, Status::SUCCESS)
    );
    assert_eq!((unmap(address, UNIT), used.mock.count("reserved")), (Status::SUCCESS, reserved));
    drop(descriptor);
    assert_eq!(release(again), Status::SUCCESS);
    assert_eq!(fetch(second, 100), [9; 100]);
    assert_eq!(unmap(second, UNIT), Status::SUCCESS);
    assert_eq!(free_addresses(address, 2 * UNIT), Status::SUCCESS);
    used.end();
}

#[test]
fn sizes_handles_and_descriptors_that_are_wrong_are_refused() {
    let used = Use::new();
    let (handle, address) = (create(UNIT, &of_device(1)).unwrap(), reserve(2 * UNIT));
    // What comes from another process is no misuse.
    let file = File::open("/dev/null").unwrap();
    assert_eq!(import(file.as_raw_fd()), Err(Status::INVALID_VALUE));
    assert_eq!(map(address, 2 * UNIT, handle), Status::INVALID_VALUE, "it has only one unit");
    assert_eq!(create(64 << 30, &of_device(0)), Err(Status::OUT_OF_MEMORY));
    assert_eq!(used.mock.misuses(), [""; 0]);
    let plain = memory(100);
    let wrong = [
        create(UNIT + 1, &of_device(0)).unwrap_err(),
        create(UNIT, &Properties { handle_types: 2, ..of_device(0) }).unwrap_err(),
        map(address + 4096, UNIT, handle),
        map(address, UNIT, handle + 1),
        map(plain, UNIT, handle),
        set_access(address, UNIT, READ),
        unmap(address, UNIT),
        free_addresses(address, UNIT),
        crate::free(address),
    ];
    assert_eq!(wrong, [Status::INVALID_VALUE; 9]);
    assert_eq!(map(address, UNIT, handle), Status::SUCCESS);
    let mapped = [
        map(address, UNIT, handle),
        unmap(address, UNIT / 2),
        free_addresses(address, 2 * UNIT),
        copy_in(0, plain, address, 10),
    ];
    assert_eq!(mapped, [Status::INVALID_VALUE; 4]);
    used.mock.set_attribute(0, 103, 0);
    assert_eq!(create(UNIT, &of_device(0)), Err(Status::NOT_SUPPORTED));
    assert_eq!(synchronize(0), Status::SUCCESS);
    used.mock.reset();
    assert_eq!((unmap(address, UNIT), crate::free(plain)), (Status::SUCCESS, Status::SUCCESS));
    assert_eq!((release(handle), free_addresses(address, 2 * UNIT)), (Status::SUCCESS, Status::SUCCESS));
    used.end();
}
