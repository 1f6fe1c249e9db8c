//! Whether two operands may have bytes in common: the only place that decides it.
//!
//! This is a question of addresses, not of allocations: the same memory can be imported several
//! ways, and each import has a header of its own. Operands are compared as ranges of one [`Space`]:
//! the addresses that the CPU and the drivers of one address space share, the bytes of a driver's
//! object, the bytes of a file. Memory that is reachable in a second space (a mapped file by its
//! device and inode, host memory that a device sees under another address) has a row in the table
//! of [`elsewhere`], and is compared there, too.
//!
//! A foreign mapping of a file (`mmap` by another library) is known by its addresses only: beside
//! another mapping of the same file it counts as other memory.

mod elsewhere;

pub(crate) use elsewhere::Elsewhere;

use crate::memory::device::Attached;
use crate::memory::{DeviceKind, Handle, Lease, Place};

/// What a position counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Space {
    /// Addresses of the CPU. CUDA, ROCm and oneAPI allocate in the same address space.
    Unified,
    /// Addresses of another device, which mean nothing elsewhere.
    Of(Place),
    /// Bytes of a driver's object.
    Object(DeviceKind, usize),
    /// Bytes of a file or of shared memory, by device and inode.
    File(u64, u64),
}

impl Space {
    fn of(place: Place) -> Self {
        match place.kind() {
            DeviceKind::CUDA | DeviceKind::ROCM | DeviceKind::ROCM_HOST | DeviceKind::ONEAPI => Self::Unified,
            _ if place.is_host() => Self::Unified,
            _ => Self::Of(place),
        }
    }
}

/// The bytes that an operand may touch, gaps included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    space: Space,
    start: u64,
    nbytes: u64,
}

impl Extent {
    /// `nbytes` bytes at an address of the handle's memory.
    pub(crate) fn of(handle: &Handle, address: usize, nbytes: usize) -> Self {
        Self::at(handle.header().place(), || handle.device(), address, nbytes)
    }

    /// Like [`Extent::of`], for memory under a lease.
    pub(crate) fn of_lease(lease: &Lease, address: usize, nbytes: usize) -> Self {
        Self::at(lease.header().place(), || lease.device(), address, nbytes)
    }

    /// Bytes of a driver's object, for devices of this kind.
    #[cfg(feature = "opencl")]
    pub(crate) fn of_object(kind: DeviceKind, object: usize, offset: usize, nbytes: usize) -> Self {
        Self { space: Space::Object(kind, object), start: offset as u64, nbytes: nbytes as u64 }
    }

    /// Addresses of the host.
    pub(crate) fn of_host(address: usize, nbytes: usize) -> Self {
        Self { space: Space::Unified, start: address as u64, nbytes: nbytes as u64 }
    }

    /// Bytes of a file or of shared memory, by the numbers of its device and inode.
    pub(crate) fn of_file((device, inode): (u64, u64), offset: u64, nbytes: usize) -> Self {
        Self { space: Space::File(device, inode), start: offset, nbytes: nbytes as u64 }
    }

    fn at(place: Place, device: impl FnOnce() -> Option<Attached>, address: usize, nbytes: usize) -> Self {
        let space = Space::of(place);
        if space != Space::Unified
            && let Some(attached) = device()
            && !attached.object.is_null()
        {
            let space = Space::Object(place.kind(), attached.object.addr());
            let start = address.wrapping_sub(attached.base.addr().get());
            return Self { space, start: start as u64, nbytes: nbytes as u64 };
        }
        Self { space, start: address as u64, nbytes: nbytes as u64 }
    }

    fn end(&self) -> u64 {
        self.start.saturating_add(self.nbytes)
    }

    /// The bytes in common, if there are any.
    fn common(&self, other: &Self) -> Option<Self> {
        let (start, end) = (self.start.max(other.start), self.end().min(other.end()));
        let is_some = self.space == other.space && start < end;
        is_some.then(|| Self { space: self.space, start, nbytes: end - start })
    }
}

/// Whether two extents may have a byte in common. `false` is certain; `true` may be due to gaps.
/// O(1); where memory is mapped twice in this process, O(log of the mappings) plus the mappings
/// that the extents cover.
pub(crate) fn meet(one: Extent, other: Extent) -> bool {
    one.common(&other).is_some() || (elsewhere::is_any() && elsewhere::meet([one], [other]))
}

/// Whether some bytes of the extent are known to be reachable in a second space. O(1), or O(log of
/// the mappings).
pub(crate) fn is_elsewhere(extent: Extent) -> bool {
    elsewhere::is_any() && elsewhere::leads_on(extent)
}

/// Whether an extent of one list and an extent of the other [`meet`]. O(n log n) in their lengths.
pub(crate) fn any_meet(
    one: impl IntoIterator<Item = Extent>,
    other: impl IntoIterator<Item = Extent>,
) -> bool {
    elsewhere::meet(one, other)
}

#[cfg(all(test, not(loom)))]
mod tests;
