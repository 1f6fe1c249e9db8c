//! Copies between any two layouts of the same elements.
//!
//! ```text
//!   copy ── follow: axes up to the last dereference of either side, pointer by pointer
//!             │
//!           plan: axes sorted as the destination lies, merged, none of them backwards for the destination
//!             │
//!           parts: for as many threads as share the work
//!             │
//!           direct: one way for the innermost axes, loops around it
//!             ├── run        bytes without gaps; past the caches where there are many
//!             ├── square     two axes that change places, tile by tile
//!             ├── shuffle    elements a few bytes apart, by a table of bytes
//!             └── elements   one at a time: any strides, any width
//! ```
//!
//! Each way has an implementation for every [`Level`](crate::kernel::cpu::Level); all of them touch memory racily, load what lies between the elements of the
//! source where that is cheaper, and write nothing but elements of the destination (some of them twice).

mod direct;
mod elements;
mod follow;
mod machine;
mod parts;
mod plan;
mod run;
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "the portable level has no shuffles"))]
mod shuffle;
mod square;
mod steps;
#[cfg(test)]
mod tests;
mod tile;

pub(in crate::kernel) use self::plan::{Axis, Plan};
pub(crate) use self::steps::Steps;

use crate::kernel::copy::follow::{Job, Side};
use crate::kernel::copy::machine::Machine;
use crate::layout::{Layout, MAX_RANK};
use crate::memory::{count_copied, racy};

/// Copies the elements of one strided array to another of the same shape and itemsize, both of which may be indirect. Copies, and
/// counts, `to.nbytes()`.
///
/// Large copies are shared among threads.
///
/// # Safety
///
/// `from`, applied at `src`, reaches only bytes that may be loaded racily, and so may all that lie between them (between those behind
/// one pointer); `to`, applied at `dst`, only bytes that may be stored racily, none of them twice; the two do not overlap. Shapes and
/// item sizes are equal.
pub(crate) unsafe fn copy(src: *const u8, from: &Layout, dst: *mut u8, to: &Layout) {
    debug_assert_eq!((from.shape(), from.itemsize()), (to.shape(), to.itemsize()));
    let job = Job {
        machine: Machine::current(),
        shape: from.shape(),
        itemsize: from.itemsize(),
        from: Side::of(from),
        to: Side::of(to),
    };
    // SAFETY: the caller's word; the machine is this one.
    unsafe { job.copy(src, dst) };
    count_copied(to.nbytes());
}

/// Copies the elements of a strided array, in row-major order of its indices, to contiguous memory. Copies, and counts,
/// `layout.nbytes()`.
///
/// # Safety
///
/// As for [`copy`], with `layout.nbytes()` bytes at `dst`.
pub(crate) unsafe fn gather(src: *const u8, layout: &Layout, dst: *mut u8) {
    let mut strides = [0; MAX_RANK];
    let mut stride = layout.itemsize() as isize;
    for (axis, &len) in layout.shape().iter().enumerate().rev() {
        strides[axis] = stride;
        stride *= len.max(1) as isize;
    }
    let job = Job {
        machine: Machine::current(),
        shape: layout.shape(),
        itemsize: layout.itemsize(),
        from: Side::of(layout),
        to: Side { strides: &strides[..layout.rank()], suboffsets: None, indirect: 0 },
    };
    // SAFETY: the caller's word; the machine is this one.
    unsafe { job.copy(src, dst) };
    count_copied(layout.nbytes());
}

/// Calls `f` with the bytes of one element, loaded once. On the heap only if it is wider than a cache line.
///
/// # Safety
///
/// `nbytes` bytes at `src` may be loaded racily.
pub(crate) unsafe fn load_bytes<R>(src: *const u8, nbytes: usize, f: impl FnOnce(&[u8]) -> R) -> R {
    let mut few = [0u8; 64];
    let mut many = Vec::new();
    let bytes = if nbytes <= few.len() {
        &mut few[..nbytes]
    } else {
        many.resize(nbytes, 0);
        &mut many[..]
    };
    // SAFETY: the caller's word; the local has as many bytes.
    unsafe { racy::copy(src, bytes.as_mut_ptr(), nbytes) };
    f(bytes)
}
