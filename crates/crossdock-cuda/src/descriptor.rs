//! Memory of a device that leaves the process as a file descriptor, and the text that describes it.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::str::FromStr;

use crate::core::Core;
use crate::info::{memory_at, not_ours};
use crate::load;
use crate::memory::CudaMemory;
use crate::sys::Address;
use crate::virtual_memory::{self, Mapping};
use crossdock::buffer::Buffer;
use crossdock::device::DeviceLease;
use crossdock::exchange::protocol::shm;
use crossdock::memory::{DeviceKind, LeaseKind};
use crossdock::{Error, Result};

/// The part of an allocation that a descriptor is of: plain data, which `Display` writes as text
/// and `parse` reads.
///
/// # Invariants
///
/// 1. `offset + nbytes` is at most `extent`, the size of the allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DescriptorRange {
    ordinal: i32,
    extent: u64,
    offset: u64,
    nbytes: u64,
}

/// The first word of the text.
const TAG: &str = "cuda-descriptor";

impl DescriptorRange {
    /// The offset of the memory in the allocation, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }
}

/// `cuda-descriptor`, the ordinal of the device in the exporting process, the size of the
/// allocation, the offset in it, and the number of bytes, with a space between.
impl fmt::Display for DescriptorRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ordinal, extent, offset, nbytes } = self;
        write!(f, "{TAG} {ordinal} {extent} {offset} {nbytes}")
    }
}

impl FromStr for DescriptorRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let shown: String = text.chars().take(80).collect();
            Error::malformed(format!("{shown:?} does not describe CUDA memory: \"{TAG}\" and 4 numbers do"))
        };
        let mut words = text.split(' ');
        let is_tagged = words.next() == Some(TAG);
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).ok_or_else(wrong);
        let (ordinal, extent, offset, nbytes) = (number()?, number()?, number()?, number()?);
        let ordinal = i32::try_from(ordinal).map_err(|_| wrong())?;
        if !is_tagged || words.next().is_some() {
            return Err(wrong());
        }
        if offset.checked_add(nbytes).is_none_or(|end| end > extent) {
            return Err(Error::bounds(format!(
                "{nbytes} bytes from byte {offset} on were described, but the allocation has {extent}"
            )));
        }
        Ok(Self { ordinal, extent, offset, nbytes })
    }
}

/// Memory exported as a descriptor. It is kept under a Pin lease as long as this lives; the memory
/// itself lives as long as any process has the descriptor, or the memory mapped.
#[derive(Debug)]
pub struct DescriptorExport {
    fd: OwnedFd,
    range: DescriptorRange,
    _lease: DeviceLease,
}

impl DescriptorExport {
    /// The descriptor of the whole allocation, which programs that this one executes do not
    /// inherit.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The part of the allocation.
    pub fn range(&self) -> DescriptorRange {
        self.range
    }

    /// Sends the memory to another process, which calls [`receive`](crate::receive).
    ///
    /// # Errors
    ///
    /// `is_io` if the socket fails, which must then be closed.
    pub fn send(&self, socket: &UnixStream) -> Result<()> {
        shm::send_text(socket, &self.range.to_string(), self.fd())
    }
}

pub(crate) fn has_descriptor(buffer: &Buffer) -> bool {
    let is_on_device = buffer.place().kind() == DeviceKind::CUDA && buffer.nbytes() > 0;
    // A forked child takes no lock that its parent may have held.
    is_on_device
        && load::loaded().is_ok()
        && virtual_memory::is_mapped(buffer.as_ptr().expose_provenance() as Address)
}

pub(crate) fn export_descriptor(buffer: &Buffer) -> Result<DescriptorExport> {
    let place = buffer.place();
    let refused = || {
        Error::place(format!(
            "memory on {place} has no descriptor; only memory of shareable_memory has one, and what it was sent as"
        ))
    };
    if !has_descriptor(buffer) {
        return Err(refused());
    }
    for (event, _) in buffer.events()? {
        event.wait()?;
    }
    let lease = buffer.device_lease(LeaseKind::Pin)?;
    let core = Core::of(place.ordinal())?;
    let address = lease.address().expose_provenance() as Address;
    let (fd, offset, extent) = virtual_memory::export(&core, address)?.ok_or_else(refused)?;
    let (extent, nbytes) = (extent as u64, lease.nbytes() as u64);
    let range = DescriptorRange { ordinal: place.ordinal(), extent, offset, nbytes };
    Ok(DescriptorExport { fd, range, _lease: lease })
}

pub(crate) fn import_descriptor(fd: BorrowedFd<'_>, range: &DescriptorRange) -> Result<Buffer> {
    // Processes can number devices differently (`CUDA_VISIBLE_DEVICES`), so the driver is asked for
    // the device. Any open one can ask.
    let hint = match Core::of(range.ordinal) {
        Err(error) if error.is_bounds() => Core::of(0),
        core => core,
    }?;
    let extent = usize::try_from(range.extent).unwrap_or(usize::MAX);
    let mapping = Mapping::import(&hint, fd, extent)?;
    let memory = memory_at(DeviceKind::CUDA, mapping.core().context().ordinal())?;
    let memory = CudaMemory::of(&*memory).ok_or_else(|| not_ours(&*memory))?;
    let address = mapping.address() + range.offset;
    // SAFETY: the range is within the allocation (DescriptorRange 1), which the mapping keeps until
    // the release, whatever the other process does. That process may write, so the memory is
    // aliased, and `into_readonly` lets this one only read it.
    let buffer = unsafe { memory.lend(address, range.nbytes as usize, move || mapping.end()) }?;
    Ok(buffer.into_readonly())
}

pub(crate) fn receive(socket: &UnixStream) -> Result<Option<Buffer>> {
    let Some((text, fd)) = shm::receive_text(socket)? else { return Ok(None) };
    import_descriptor(fd.as_fd(), &text.parse()?).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_the_same_after_it_was_sent_and_a_wrong_one_is_refused() {
        let range = DescriptorRange { ordinal: 3, extent: 1 << 40, offset: 17, nbytes: 12_345 };
        assert_eq!(range.to_string().parse::<DescriptorRange>().unwrap(), range);
        for wrong in [
            "",
            "cuda-descriptor 0 1 0",
            "cuda-descriptor 0 1 0 1 1",
            "cuda 0 1 0 1",
            "cuda-descriptor -1 1 0 1",
        ] {
            assert!(wrong.parse::<DescriptorRange>().unwrap_err().is_malformed(), "{wrong}");
        }
        for beyond in ["cuda-descriptor 0 10 5 6", "cuda-descriptor 0 10 18446744073709551615 2"] {
            assert!(beyond.parse::<DescriptorRange>().unwrap_err().is_bounds(), "{beyond}");
        }
    }
}
