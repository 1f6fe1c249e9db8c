//! Steps, and the leases of the memory that they access.

use crate::device::engine::Step;
use crate::device::{DeviceLease, Orphans};
use crate::memory::count_copied;

/// Steps that run in order, and the memory that they access. Only the library makes it.
///
/// # Invariants
///
/// 1. If every [`Start`](crate::device::engine::Start) that the engine returned is true, the steps
///    access only bytes of the leases: they read `from`, write `to`, and lower the 32-bit word of
///    `refused`.
/// 2. The leases permit that: Pin or Read of `from`, Share or Write of the others.
#[derive(Debug)]
pub struct Work {
    steps: Vec<Step>,
    to: DeviceLease,
    from: Option<DeviceLease>,
    refused: Option<DeviceLease>,
    /// The number of bytes that count as copied.
    nbytes: usize,
}

impl Work {
    /// # Safety
    ///
    /// 1. The steps and the leases satisfy Work 1 and 2.
    pub(crate) unsafe fn new(
        steps: Vec<Step>,
        to: DeviceLease,
        from: Option<DeviceLease>,
        refused: Option<DeviceLease>,
        nbytes: usize,
    ) -> Self {
        Self { steps, to, from, refused, nbytes }
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The destination: the kernels' first parameter.
    pub fn to(&self) -> &DeviceLease {
        &self.to
    }

    /// The source: the kernels' second parameter. Work without a source reads nothing, and passes
    /// `to` again.
    pub fn from(&self) -> &DeviceLease {
        self.from.as_ref().unwrap_or(&self.to)
    }

    /// A word of 32 bits for the number of the first element that a checked cast refuses: the
    /// kernels' third parameter, or null if nothing is checked.
    pub fn refused(&self) -> Option<&DeviceLease> {
        self.refused.as_ref()
    }

    /// Reports that the steps are done: counts the bytes and releases the leases. If one of them
    /// was the last holder, the owner's release runs here and may run foreign code: do not hold a
    /// lock.
    pub fn complete(self) {
        drop(self.give_back(true));
    }

    /// Releases the leases, and counts the copied bytes if the work is done. Dropping the result
    /// releases memory that has no holder left.
    pub(crate) fn give_back(self, is_done: bool) -> Orphans {
        if is_done {
            count_copied(self.nbytes);
        }
        [
            self.to.give_back(),
            self.from.and_then(DeviceLease::give_back),
            self.refused.and_then(DeviceLease::give_back),
        ]
    }
}
