//! A part of a region that was divided into disjoint allocations.

use crate::error::Result;
use crate::memory::handle::Handle;
use crate::memory::header::{Descriptor, DeviceMapping, Region};
use crate::memory::owner::keep::{Keep, adopt};
use crate::memory::place::Backing;
use crate::memory::shareable;

/// A handle on the whole. Only parts own handles on it, so that no lease of the whole can be taken
/// any more; each part has a lease word for its own bytes.
struct PartOwner {
    whole: Handle,
    offset: u64,
}

impl Keep for PartOwner {
    const IS_PART: bool = true;

    unsafe fn free(self) {
        drop(self.whole);
    }

    fn descriptor(&self) -> Option<Descriptor> {
        let whole = self.whole.descriptor()?;
        Some(Descriptor { offset: whole.offset + self.offset, ..whole })
    }

    fn device(&self) -> Option<DeviceMapping<'_>> {
        self.whole.device()
    }

    fn retained_nbytes(&self, _: usize) -> usize {
        self.whole.retained_nbytes()
    }

    fn fault(&self) -> Option<crate::error::Error> {
        self.whole.fault()
    }
}

/// O(1).
///
/// # Safety
///
/// 1. `offset + nbytes` lies within the whole.
/// 2. No lease of the whole is held or will be taken.
/// 3. No other part overlaps this one.
pub(crate) unsafe fn adopt_part(whole: Handle, offset: usize, nbytes: usize) -> Result<Handle> {
    let header = whole.header();
    let region = Region {
        // SAFETY: clause 1 of `# Safety`: `offset` bytes behind the start lie within the whole's
        // region, which `whole` keeps alive.
        ptr: unsafe { header.ptr().add(offset) },
        nbytes,
        place: header.place(),
        backing: header.backing(),
    };
    // First, so that a fork of another thread either is seen in the birth, or sees the division.
    if header.backing() == Backing::Shared {
        shareable::divide(header);
    }
    let birth = header.birth();
    // SAFETY: clauses 1 and 2 of `adopt`: the bytes lie in the whole (clause 1 of `# Safety`),
    // which `PartOwner` keeps alive. Clause 3 of `adopt`: by clauses 2 and 3 of `# Safety` only
    // this part's holders access them, beside what the whole's `birth` permits.
    unsafe { adopt(region, birth, PartOwner { whole, offset: offset as u64 }) }
}
