//! Decides whether two operands may have bytes in common.
//!
//! This is a question of addresses, not of allocations: the same memory can be imported several
//! ways, and each import has a header of its own. Operands are compared as ranges of one [`Space`]:
//! the addresses that the CPU and the drivers of one address space share, the bytes of a driver's
//! object, the bytes of a file. Memory that is reachable in a second space (a mapped file by its
//! device and inode, host memory that a device sees under another address) has a row in the table
//! of [`elsewhere`], and is compared there, too.
//!
//! Memory that another library mapped has no row. Where its addresses meet no others, [`maps`] asks
//! the system what they show, unless the memory is known to be private: see [`meet_by_mapping`].
//! Rows behind pointers that lie among the other operand's addresses are compared by address only.
//!
//! Reasons: `DESIGN.md`, "Overlap is decided by address".

mod apart;
mod elsewhere;
mod extent;
mod maps;

pub(crate) use apart::are_apart;
pub(crate) use elsewhere::Elsewhere;
pub(crate) use extent::Extent;

use crate::memory::header::Header;
use crate::memory::os::process::TELLS_MAPPINGS;
use crate::memory::overlap::extent::Space;
use crate::memory::place::Backing;

/// Whether two extents may have a byte in common. `false` is certain; `true` may be due to gaps.
/// O(1); where memory is mapped twice in this process, O(log of the mappings) plus the mappings
/// that the extents cover.
pub(crate) fn meet(one: Extent, other: Extent) -> bool {
    one.common(&other).is_some() || (elsewhere::is_any() && elsewhere::meet([one], [other]))
}

/// Whether some bytes of the extent are reachable in a second space. O(1), or O(log of the
/// mappings).
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

/// The origin of an operand's memory, as far as it is known without a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// No second mapping in this process shows it, or its rows are in the table.
    Private,
    /// One of this library's own mappings.
    Mapped,
    /// Imported: it may be a mapping of a file.
    Foreign,
}

/// One of two operands: its bytes, and the allocation through which they are reached.
#[derive(Clone, Copy)]
pub(crate) struct OverlapOperand<'a> {
    pub(crate) header: &'a Header,
    pub(crate) extent: Extent,
}

impl OverlapOperand<'_> {
    /// Whether the extent lies within the allocation. Rows behind pointers do not.
    #[inline]
    fn is_within(&self) -> bool {
        let region = Extent::of_host(self.header.ptr().addr().get(), self.header.nbytes());
        self.extent.start >= region.start && self.extent.end() <= region.end()
    }

    #[inline]
    fn origin(&self) -> Origin {
        if self.extent.space != Space::Unified || !self.header.place().is_host() || self.extent.nbytes == 0 {
            return Origin::Private;
        }
        if !self.is_within() {
            return Origin::Foreign;
        }
        match self.header.backing() {
            Backing::Foreign if self.header.is_known_private() => Origin::Private,
            Backing::Foreign => Origin::Foreign,
            Backing::File | Backing::Shared => Origin::Mapped,
            Backing::Heap | Backing::Static | Backing::Device => Origin::Private,
        }
    }

    /// The addresses to look up: the whole allocation, so that the answer holds for each part of
    /// it.
    fn asked(&self) -> std::ops::Range<u64> {
        match self.is_within() {
            true => {
                let start = self.header.ptr().addr().get() as u64;
                start..start + self.header.nbytes() as u64
            }
            false => self.extent.start..self.extent.end(),
        }
    }

    fn remember_private(&self) {
        // Memory behind pointers does not belong to this header's allocation.
        if self.is_within() {
            self.header.mark_private();
        }
    }
}

/// Whether two operands that do not [`meet`] show bytes of one file or of shared memory, because
/// another library mapped one of them. `false` if the system does not report it.
///
/// O(1) and no system call if either operand is not imported memory, or is known to be private.
/// Otherwise it reads a word per page of each allocation (up to 16 MiB), which takes about 2 µs for
/// a small one and recognises ordinary memory; the allocation remembers that. For memory that may
/// be a mapping it reads `/proc/self/maps`, each time: 10 µs for 40 mappings.
pub(crate) fn meet_by_mapping(one: OverlapOperand<'_>, other: OverlapOperand<'_>) -> bool {
    let origins = [one.origin(), other.origin()];
    if origins.contains(&Origin::Private) || !origins.contains(&Origin::Foreign) || !TELLS_MAPPINGS {
        return false;
    }
    for (operand, origin) in [one, other].iter().zip(origins) {
        if origin == Origin::Foreign && maps::is_private(operand.asked()) {
            operand.remember_private();
            return false;
        }
    }
    let asked = [one, other].map(|operand| maps::Asked::new(operand.asked(), operand.extent));
    let Some(found) = maps::find(asked) else { return false };
    for (operand, found) in [one, other].iter().zip(&found) {
        if found.is_private {
            operand.remember_private();
        }
    }
    maps::meet(&found)
}

#[cfg(all(test, not(loom)))]
mod tests;
