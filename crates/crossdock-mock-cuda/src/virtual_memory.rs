//! Memory of the virtual memory calls: memory without an address, addresses without memory, and
//! mappings of the one at the other.
//!
//! The bytes of one allocation are a file of memory, so an exported descriptor is a real one: other
//! processes import it, and it keeps the memory. The name of the file has the number of the device.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

use crate::memory::Kind;
use crate::pages::Pages;
use crate::state::State;
use crate::status::{Result, Status};

/// The unit of sizes and addresses, both the least and the recommended one.
pub(crate) const GRANULARITY: usize = 2 << 20;

/// The bits of an access.
pub(crate) const READ: i32 = 1;
pub(crate) const READ_WRITE: i32 = 3;

const NAME: &str = "crossdock-mock-cuda:";

/// Memory without an address.
#[derive(Debug)]
pub(crate) struct Physical {
    pub(crate) device: i32,
    pub(crate) nbytes: usize,
    /// The kinds of handles that it can be exported as.
    pub(crate) handle_types: i32,
    file: File,
    /// Whether it uses memory of the device: not if another process did allocate it.
    is_charged: bool,
    mappings: u64,
    /// Whether the program has given its handle back; mappings keep the memory.
    is_released: bool,
}

/// Reserved addresses.
#[derive(Debug)]
pub(crate) struct Range {
    nbytes: usize,
    fence: Pages,
}

/// The part of an allocation that only mappings have.
#[derive(Debug)]
pub(crate) struct Mapping {
    physical: usize,
    /// The access of each device; none at first.
    pub(crate) access: BTreeMap<i32, i32>,
}

impl Mapping {
    /// Whether a device has all of these bits.
    pub(crate) fn permits(&self, device: i32, bits: i32) -> bool {
        self.access.get(&device).is_some_and(|access| access & bits == bits)
    }

    /// Whether any device has all of these bits.
    pub(crate) fn is_permitted(&self, bits: i32) -> bool {
        self.access.values().any(|access| access & bits == bits)
    }
}

impl State {
    /// Allocates memory; returns its handle.
    pub(crate) fn create(&mut self, device: i32, nbytes: usize, handle_types: i32) -> Result<usize> {
        let total = self.config.memory;
        let of = self.device(device)?;
        if of.used.saturating_add(nbytes as u64) > total {
            return Err(Status::OUT_OF_MEMORY);
        }
        of.used += nbytes as u64;
        let Some(file) = file(device, nbytes) else {
            self.device(device)?.used -= nbytes as u64;
            return Err(Status::OUT_OF_MEMORY);
        };
        Ok(self.add(Physical {
            device,
            nbytes,
            handle_types,
            file,
            is_charged: true,
            mappings: 0,
            is_released: false,
        }))
    }

    fn add(&mut self, physical: Physical) -> usize {
        let handle = self.handle();
        self.physical.insert(handle, physical);
        handle
    }

    /// Memory by its handle, which the program has not given back.
    pub(crate) fn physical(&mut self, handle: usize) -> Result<&mut Physical> {
        if self.physical.get(&handle).is_none_or(|physical| physical.is_released) {
            return Err(self.misuse(Status::INVALID_VALUE, format!("{handle:#x} is no memory")));
        }
        self.physical.get_mut(&handle).ok_or(Status::INVALID_VALUE)
    }

    /// Gives a handle back.
    pub(crate) fn release_physical(&mut self, handle: usize) -> Result {
        self.physical(handle)?.is_released = true;
        self.free_if_unused(handle);
        Ok(())
    }

    fn free_if_unused(&mut self, handle: usize) {
        if self.physical.get(&handle).is_some_and(|found| !found.is_released || found.mappings > 0) {
            return;
        }
        if let Some(gone) = self.physical.remove(&handle)
            && gone.is_charged
            && let Ok(device) = self.device(gone.device)
        {
            device.used -= gone.nbytes as u64;
        }
    }

    /// A new descriptor of the memory. As the real driver, it opens none of memory that was
    /// imported.
    pub(crate) fn export(&mut self, handle: usize) -> Result<i32> {
        let physical = self.physical(handle)?;
        if !physical.is_charged {
            return Err(Status::INVALID_VALUE);
        }
        let file = physical.file.as_raw_fd();
        // SAFETY: the memory owns the descriptor, which is open, and the call creates another one
        // without any other effect.
        let descriptor = unsafe { libc::dup(file) };
        if descriptor < 0 { Err(Status::OUT_OF_MEMORY) } else { Ok(descriptor) }
    }

    /// Memory of a descriptor, which stays the caller's.
    pub(crate) fn import_descriptor(&mut self, descriptor: i32) -> Result<usize> {
        // What is behind the descriptor is the peer's, and no misuse by this program.
        let path = format!("/proc/self/fd/{descriptor}");
        let target = std::fs::read_link(&path).map_err(|_| Status::INVALID_VALUE)?;
        let target = target.to_string_lossy();
        let device = target.strip_prefix("/memfd:").and_then(|name| name.strip_prefix(NAME));
        let device = device.and_then(|rest| rest.split(' ').next()?.parse().ok());
        let device = device.ok_or(Status::INVALID_VALUE)?;
        self.device(device).map_err(|_| Status::NOT_SUPPORTED)?;
        let file = File::options().read(true).write(true).open(&path).map_err(|_| Status::INVALID_VALUE)?;
        let nbytes = file.metadata().map_err(|_| Status::INVALID_VALUE)?.len() as usize;
        let (is_charged, mappings, is_released) = (false, 0, false);
        let handle_types = super::driver::POSIX_DESCRIPTOR;
        Ok(self.add(Physical { device, nbytes, handle_types, file, is_charged, mappings, is_released }))
    }

    /// Reserves addresses.
    pub(crate) fn reserve(&mut self, nbytes: usize, alignment: usize) -> Result<usize> {
        let fence = Pages::aligned_fence(nbytes, alignment.max(GRANULARITY)).ok_or(Status::OUT_OF_MEMORY)?;
        let address = fence.base().addr();
        self.ranges.insert(address, Range { nbytes, fence });
        Ok(address)
    }

    /// Gives reserved addresses back, in which nothing is mapped.
    pub(crate) fn unreserve(&mut self, address: usize, nbytes: usize) -> Result {
        let is_range = self.ranges.get(&address).is_some_and(|range| range.nbytes == nbytes);
        if !is_range || self.allocations.range(address..address + nbytes).next().is_some() {
            let what = format!("{nbytes} bytes at {address:#x} are not reserved, or are mapped");
            return Err(self.misuse(Status::INVALID_VALUE, what));
        }
        if let Some(range) = self.ranges.remove(&address) {
            self.keep_reserved(range.fence);
        }
        Ok(())
    }

    /// Maps memory at reserved addresses, which no device can access yet.
    pub(crate) fn map(&mut self, address: usize, nbytes: usize, handle: usize) -> Result {
        let physical = self.physical(handle)?;
        let (device, has) = (physical.device, physical.nbytes);
        if nbytes > has {
            // The size can come from another process.
            return Err(Status::INVALID_VALUE);
        }
        let file = physical.file.try_clone().map_err(|_| Status::OUT_OF_MEMORY)?;
        let end = address.saturating_add(nbytes);
        let range = self.ranges.range(..=address).next_back();
        let is_within = range.is_some_and(|(&start, range)| end <= start + range.nbytes);
        let is_mapped =
            self.allocations.range(address..end).next().is_some() || self.around(address).is_some();
        if !is_within || is_mapped {
            let what = format!("{nbytes} bytes at {address:#x} are not reserved, or are mapped already");
            return Err(self.misuse(Status::INVALID_VALUE, what));
        }
        let room = Pages::of(file, nbytes).ok_or(Status::OUT_OF_MEMORY)?;
        self.physical(handle)?.mappings += 1;
        let mapping = Mapping { physical: handle, access: BTreeMap::new() };
        self.note_mapping(device, address, nbytes, room, mapping);
        Ok(())
    }

    /// Unmaps what one call has mapped.
    pub(crate) fn unmap(&mut self, address: usize, nbytes: usize) -> Result {
        let found = self.allocations.get(&address).filter(|found| found.nbytes == nbytes);
        let Some(handle) = found.and_then(|found| Some(found.mapping.as_ref()?.physical)) else {
            let what = format!("{nbytes} bytes at {address:#x} are no whole mapping");
            return Err(self.misuse(Status::INVALID_VALUE, what));
        };
        self.release(address);
        if let Some(physical) = self.physical.get_mut(&handle) {
            physical.mappings -= 1;
        }
        self.free_if_unused(handle);
        Ok(())
    }

    /// Sets the access of a device to whole mappings.
    pub(crate) fn set_access(&mut self, address: usize, nbytes: usize, device: i32, access: i32) -> Result {
        let (mut at, end) = (address, address.saturating_add(nbytes));
        self.device(device)?;
        while at < end {
            let found = self.allocations.get_mut(&at).filter(|found| found.kind == Kind::Mapped);
            let found = found.and_then(|found| Some((found.nbytes, found.device, found.mapping.as_mut()?)));
            let Some((mapped, of, mapping)) = found else {
                let what = format!("{nbytes} bytes at {address:#x} are not mapped as a whole");
                return Err(self.misuse(Status::INVALID_VALUE, what));
            };
            if of != device && !self.config.reaches_peers {
                let what = format!("device {device} cannot reach memory of device {of}");
                return Err(self.misuse(Status::INVALID_DEVICE, what));
            }
            mapping.access.insert(device, access);
            at += mapped;
        }
        Ok(())
    }
}

/// A file of memory of a device. Its first bytes are not zero: the content of new memory is
/// unspecified.
fn file(device: i32, nbytes: usize) -> Option<File> {
    let name = CString::new(format!("{NAME}{device}")).ok()?;
    // SAFETY: the name is a C string, and the call creates a descriptor without any other effect.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the call above created the descriptor, which no other value owns.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(nbytes as u64).ok()?;
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xA5; 4096], 0).ok()?;
    Some(file)
}
