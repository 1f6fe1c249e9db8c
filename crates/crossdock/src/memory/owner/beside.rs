//! A mapping that keeps a value alive, such as the connection by which its memory arrived.

use crate::error::Error;
use crate::memory::header::Descriptor;
use crate::memory::owner::file::Mapped;
use crate::memory::owner::keep::Keep;

/// A mapping, and the value that is dropped after it.
pub(super) struct BesideOwner<T> {
    pub(super) mapped: Mapped,
    pub(super) value: T,
}

impl<T: Send + 'static> Keep for BesideOwner<T> {
    unsafe fn free(self) {
        drop(self.mapped);
        drop(self.value);
    }

    fn descriptor(&self) -> Option<Descriptor> {
        self.mapped.descriptor()
    }

    fn fault(&self) -> Option<Error> {
        self.mapped.fault()
    }
}
