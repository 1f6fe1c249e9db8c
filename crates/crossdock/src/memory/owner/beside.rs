//! Memory that keeps a value alive, such as the connection by which it arrived.

use crate::error::Result;
use crate::memory::handle::Handle;
use crate::memory::header::{Descriptor, DeviceMapping, Region};
use crate::memory::owner::keep::{Keep, adopt};

/// A handle on the memory, which no other code uses any more, and the value that is dropped with
/// it.
struct BesideOwner<T> {
    memory: Handle,
    value: T,
}

impl<T: Send + 'static> Keep for BesideOwner<T> {
    unsafe fn free(self) {
        drop(self.memory);
        drop(self.value);
    }

    fn descriptor(&self) -> Option<Descriptor> {
        self.memory.descriptor()
    }

    fn device(&self) -> Option<DeviceMapping<'_>> {
        self.memory.device()
    }

    fn retained_nbytes(&self, _: usize) -> usize {
        self.memory.retained_nbytes()
    }

    fn fault(&self) -> Option<crate::error::Error> {
        self.memory.fault()
    }
}

/// The whole region of the memory under a new handle, whose last holder drops the value after the
/// memory. O(1).
///
/// # Errors
///
/// `is_conflict` if the handle is not the only one; `is_out_of_memory`.
pub(crate) fn keep_beside<T: Send + 'static>(mut memory: Handle, value: T) -> Result<Handle> {
    memory.only_handle()?;
    let header = memory.header();
    let region = Region {
        ptr: header.ptr(),
        nbytes: header.nbytes(),
        place: header.place(),
        backing: header.backing(),
    };
    let birth = header.birth();
    // SAFETY: clauses 1 and 2 of `adopt`: `BesideOwner` keeps the only handle on the region until
    // it is freed, and makes no lease of it. Clause 3: `birth` describes the accesses of all other
    // parties, and only this allocation's holders access the region beside them.
    unsafe { adopt(region, birth, BesideOwner { memory, value }) }
}
