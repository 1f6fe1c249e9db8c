//! Work on strided elements in memory of a device, by the device.
//!
//! ```text
//!   operands: a buffer, where element 0 lies in it, a layout, a dtype
//!       │
//!   convert · fill      which parts of elements are moved, turned around, cast
//!       │
//!   steps               the processor's plan (sorted, merged) cut into launches of kernels and copies of bytes
//!       │
//!   Engine              of a driver: puts the steps into a queue, and gives the event of their end
//! ```
//!
//! There is one source of kernels (`source/`), in a dialect that OpenCL's compilers, CUDA's and the host's take. Between two places nothing
//! strided is moved: whoever has the elements packs them, and whoever gets them unpacks them.

#![cfg_attr(
    not(any(feature = "cuda", feature = "opencl")),
    expect(dead_code, reason = "what is planned is done by the engines of drivers")
)]

mod cast;
mod convert;
mod cuda;
mod ends;
mod job;
mod leaves;
mod opencl;
mod steps;

use std::fmt;
use std::sync::Arc;

pub(crate) use self::convert::{convert, fill};
use self::ends::Start;
use self::steps::Step;
use crate::buffer::Buffer;
use crate::device::pending::{Held, Leases};
use crate::device::{Event, Hold, MemoryManager, Orphans, Stream};
use crate::element::DType;
use crate::error::Result;
use crate::layout::Layout;
use crate::memory::count_copied;

/// Elements in memory of a device: element 0 lies `offset` bytes into the buffer, which has all bytes that the layout reaches from there.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) offset: usize,
    pub(crate) dtype: &'a DType,
    pub(crate) layout: &'a Layout,
}

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
    fn complete(self) {
        drop(self.give_back(true));
    }

    /// Releases the leases, and counts the copied bytes if the work is done. Dropping the result
    /// releases memory that has no holder left.
    fn give_back(self, is_done: bool) -> Orphans {
        if is_done {
            count_copied(self.nbytes);
        }
        [self.to.give_back(), self.from.and_then(Hold::give_back), self.refused.and_then(Hold::give_back)]
    }

    /// For a queue: what it holds until the work is over, and the part that enqueues the work. The
    /// second must be dropped before another thread can see that the work is over.
    fn shared(self) -> (impl Held, Arc<Self>) {
        let work = Arc::new(self);
        let give_back = |work, is_done| {
            Arc::into_inner(work).map_or_else(Orphans::default, |work: Self| work.give_back(is_done))
        };
        (Leases::new(work.clone(), give_back, ()), work)
    }
}

/// Who does strided work in memory of this manager; `None` where nobody does.
///
/// # Errors
///
/// What the device says.
pub(crate) fn engine_of(manager: &Arc<dyn MemoryManager>) -> Result<Option<Arc<dyn Engine>>> {
    match opencl::engine_of(manager)? {
        Some(engine) => Ok(Some(engine)),
        None => cuda::engine_of(manager),
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::device::job::Program;

    #[test]
    fn what_cuda_is_given_is_made_of_the_source_as_it_is_and_unchanged_since() {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let made =
            [(Program::Copy, include_str!("cuda/copy.ptx")), (Program::Cast, include_str!("cuda/cast.ptx"))];
        for (program, ptx) in made {
            let (first, body) = ptx.split_once('\n').unwrap();
            let bytes = program.source().concat() + body;
            let hash = format!("{:016x}", bytes.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv));
            assert!(first.contains(&hash), "{first:?} is not of {hash}: run `cargo xtask ptx`");
        }
    }
}
