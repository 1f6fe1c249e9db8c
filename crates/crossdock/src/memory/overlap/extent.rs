//! The bytes that an operand may access, as a range of a space in which they can be compared.

use crate::memory::handle::Handle;
use crate::memory::header::DeviceMapping;
use crate::memory::lease::Lease;
use crate::memory::place::{DeviceKind, Place};

/// The unit and origin of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
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
    pub(super) fn of(place: Place) -> Self {
        match place.kind() {
            DeviceKind::CUDA | DeviceKind::ROCM | DeviceKind::ROCM_HOST | DeviceKind::ONEAPI => Self::Unified,
            _ if place.is_host() => Self::Unified,
            _ => Self::Of(place),
        }
    }
}

/// The bytes that an operand may access, gaps included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(super) space: Space,
    pub(super) start: u64,
    pub(super) nbytes: u64,
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
    pub(crate) fn of_object(kind: DeviceKind, object: usize, offset: usize, nbytes: usize) -> Self {
        Self { space: Space::Object(kind, object), start: offset as u64, nbytes: nbytes as u64 }
    }

    /// Addresses of the host.
    #[inline]
    pub(crate) fn of_host(address: usize, nbytes: usize) -> Self {
        Self { space: Space::Unified, start: address as u64, nbytes: nbytes as u64 }
    }

    /// Bytes of a file or of shared memory, by the numbers of its device and inode.
    pub(crate) fn of_file((device, inode): (u64, u64), offset: u64, nbytes: usize) -> Self {
        Self { space: Space::File(device, inode), start: offset, nbytes: nbytes as u64 }
    }

    pub(super) fn at<'a>(
        place: Place,
        device: impl FnOnce() -> Option<DeviceMapping<'a>>,
        address: usize,
        nbytes: usize,
    ) -> Self {
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

    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.nbytes)
    }

    /// The bytes in common, if there are any.
    pub(super) fn common(&self, other: &Self) -> Option<Self> {
        let (start, end) = (self.start.max(other.start), self.end().min(other.end()));
        let is_some = self.space == other.space && start < end;
        is_some.then(|| Self { space: self.space, start, nbytes: end - start })
    }
}
