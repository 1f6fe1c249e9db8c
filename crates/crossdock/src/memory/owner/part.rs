//! A part of a region that was divided into disjoint allocations.

use crate::error::Result;
use crate::memory::handle::Handle;
use crate::memory::header::{Attached, Descriptor, Region};
use crate::memory::owner::keep::{Keep, adopt};

/// A handle on the whole. All handles on it are kept by parts, so nobody can take a lease of the whole any more, and each
/// part has a word of its own for its own bytes.
struct Part {
    whole: Handle,
    offset: u64,
}

impl Keep for Part {
    const IS_PART: bool = true;

    unsafe fn free(self) {
        drop(self.whole);
    }

    fn descriptor(&self) -> Option<Descriptor> {
        let whole = self.whole.descriptor()?;
        Some(Descriptor { offset: whole.offset + self.offset, ..whole })
    }

    fn device(&self) -> Option<Attached<'_>> {
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
/// `offset + nbytes` lies within the whole; no lease of the whole is held or will be taken; no other part overlaps.
pub(crate) unsafe fn adopt_part(whole: Handle, offset: usize, nbytes: usize) -> Result<Handle> {
    let header = whole.header();
    let region = Region {
        // SAFETY: within the whole: the caller's word.
        ptr: unsafe { header.ptr().add(offset) },
        nbytes,
        place: header.place(),
        backing: header.backing(),
    };
    let birth = header.birth();
    // SAFETY: the part's bytes belong to the whole, which the kept handle keeps alive and which nobody can touch but
    // through its parts; of these, only this one covers the bytes (the caller's word).
    unsafe { adopt(region, birth, Part { whole, offset: offset as u64 }) }
}
