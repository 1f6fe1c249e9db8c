//! The trait of what does strided work in memory of a device, and that work.

use std::fmt;
use std::sync::Arc;

use crate::device::pending::{Held, Leases};
use crate::device::{Event, Hold, MemoryManager, Orphans, Stream};
use crate::error::Result;
use crate::kernel::device::ends::Start;
use crate::kernel::device::steps::Step;
use crate::memory::count_copied;

/// Who does strided work in memory of a device.
pub(crate) trait Engine: Send + Sync + fmt::Debug {
    /// Where a kernel that is given this memory finds its first byte.
    ///
    /// # Errors
    ///
    /// `is_place` for memory that this engine does not reach.
    fn start(&self, hold: &Hold) -> Result<Start>;

    /// Does work, and returns when it is done.
    ///
    /// # Errors
    ///
    /// Whatever the device says.
    fn run(&self, work: Work) -> Result<()>;

    /// Whether it puts work into such a stream.
    fn can_enqueue(&self, stream: &dyn Stream) -> bool;

    /// Puts work into a stream for which [`Engine::can_enqueue`] holds, and gives the event of its end. Before that says so, the leases
    /// are given back, and if all went well the bytes are counted.
    ///
    /// # Errors
    ///
    /// Whatever the device says. Then nothing is under way.
    fn enqueue(&self, work: Work, stream: &dyn Stream) -> Result<Arc<dyn Event>>;

    /// Whether it reaches memory of a manager as well as its own.
    fn reaches(&self, manager: &Arc<dyn MemoryManager>) -> bool;
}

/// Steps that are done one after the other, and what they touch.
pub(crate) struct Work {
    pub(crate) steps: Vec<Step>,
    pub(crate) to: Hold,
    pub(crate) from: Option<Hold>,
    /// Where a cast says which elements it refused.
    pub(crate) refused: Option<Hold>,
    /// How many bytes are copied.
    pub(crate) nbytes: usize,
}

impl Work {
    /// Says that it is done: counts what was copied, and gives the leases back.
    pub(super) fn complete(self) {
        drop(self.give_back(true));
    }

    /// Releases the leases, and counts the copied bytes if the work is done. Dropping the result
    /// releases memory that has no holder left.
    pub(super) fn give_back(self, is_done: bool) -> Orphans {
        if is_done {
            count_copied(self.nbytes);
        }
        [self.to.give_back(), self.from.and_then(Hold::give_back), self.refused.and_then(Hold::give_back)]
    }

    /// For a queue: what it holds until the work is over, and the part that enqueues the work. The
    /// second must be dropped before another thread can see that the work is over.
    pub(super) fn shared(self) -> (impl Held, Arc<Self>) {
        let work = Arc::new(self);
        let give_back = |work, is_done| {
            Arc::into_inner(work).map_or_else(Orphans::default, |work: Self| work.give_back(is_done))
        };
        (Leases::new(work.clone(), give_back, ()), work)
    }
}
