//! Copies between any two layouts of the same elements.
//!
//! ```text
//!   copy ── few: few bytes along at most two axes, without a plan
//!        └─ indirect_copy: axes up to the last dereference of either array, pointer by pointer
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
//! Each way has an implementation for every [`Level`](crate::kernel::cpu::Level). All of them
//! access memory racily. They may load the bytes between the elements of the source where that is
//! cheaper. They write only elements of the destination, some of them twice.
//!
//! Reasons: `DESIGN.md`, "Kernels take any two layouts".
//! See also: `DESIGN.md`, "A copy may load the gaps between elements".

mod direct;
mod elements;
mod few;
mod indirect_copy;
mod machine;
mod parts;
mod plan;
pub(in crate::kernel) mod run;
#[cfg_attr(
    not(any(target_arch = "aarch64", target_arch = "x86_64")),
    expect(dead_code, reason = "the portable level has no shuffles")
)]
mod shuffle;
mod square;
mod steps;
#[cfg(test)]
mod tests;
mod tile;

pub(in crate::kernel) use self::plan::{CopyAxis, CopyPlan};
pub(crate) use self::steps::StridedWalk;

use crate::kernel::copy::indirect_copy::{IndirectCopy, IndirectStrides};
use crate::kernel::copy::machine::{LARGE_NBYTES, Machine};
use crate::kernel::cpu::Level;
use crate::layout::{Layout, MAX_RANK};
use crate::memory::{count_copied, racy};

/// Copies the elements of one strided array to another of the same shape and item size; both may be
/// indirect. Copies, and counts, `to.nbytes()`.
///
/// Large copies are shared among threads.
///
/// # Safety
///
/// 1. `from`, applied at `src`, reaches only bytes that may be loaded racily, as may all bytes
///    between them (between those behind one pointer). Pointers that it follows are as for
///    [`element_at`](crate::kernel::element_at).
/// 2. `to`, applied at `dst`, reaches only bytes that may be stored racily, and none of them twice.
///    Pointers that it follows are as for [`element_at`](crate::kernel::element_at).
/// 3. The two do not overlap.
/// 4. Shapes and item sizes are equal.
pub(crate) unsafe fn copy(src: *const u8, from: &Layout, dst: *mut u8, to: &Layout) {
    debug_assert_eq!((from.shape(), from.itemsize()), (to.shape(), to.itemsize()));
    let is_direct = from.suboffsets().is_none() && to.suboffsets().is_none();
    // SAFETY: clauses 1 to 4 of `# Safety`, for direct layouts (just checked); `Level::current` is
    // a level of this CPU.
    if is_direct && unsafe { few::copy(Level::current(), src, from, dst, to) } {
        return count_copied(to.nbytes());
    }
    let job = IndirectCopy {
        machine: Machine::current(),
        shape: from.shape(),
        itemsize: from.itemsize(),
        from: IndirectStrides::of(from),
        to: IndirectStrides::of(to),
    };
    // SAFETY: clauses 1 to 4 of `# Safety`: the job has these layouts; `Machine::current` has a
    // level of this CPU.
    unsafe { job.copy(src, dst) };
    count_copied(to.nbytes());
}

/// The most bytes of a run that [`copy_small_run`] copies.
pub(crate) const SMALL_RUN: usize = LARGE_NBYTES - 1;

/// Copies `nbytes` bytes that are contiguous in source and destination, at most [`SMALL_RUN`], and
/// counts them.
///
/// # Safety
///
/// 1. `nbytes` bytes at `src` may be loaded racily.
/// 2. `nbytes` bytes at `dst` may be stored racily.
/// 3. The two do not overlap.
#[inline]
pub(crate) unsafe fn copy_small_run(src: *const u8, dst: *mut u8, nbytes: usize) {
    // SAFETY: clauses 1 and 2 of `# Safety`; `Level::current` is a level of this CPU.
    unsafe { run::run(Level::current(), false)(src, dst, nbytes) };
    count_copied(nbytes);
}

/// Copies the elements of a strided array, in row-major order of its indices, to contiguous memory.
/// Copies, and counts, `layout.nbytes()`.
///
/// # Safety
///
/// 1. Clause 1 of [`copy`], for `layout`.
/// 2. `layout.nbytes()` bytes at `dst` may be stored racily, and do not overlap the source.
pub(crate) unsafe fn gather(src: *const u8, layout: &Layout, dst: *mut u8) {
    let mut strides = [0; MAX_RANK];
    let mut stride = layout.itemsize() as isize;
    for (axis, &len) in layout.shape().iter().enumerate().rev() {
        strides[axis] = stride;
        stride *= len.max(1) as isize;
    }
    let job = IndirectCopy {
        machine: Machine::current(),
        shape: layout.shape(),
        itemsize: layout.itemsize(),
        from: IndirectStrides::of(layout),
        to: IndirectStrides { strides: &strides[..layout.rank()], suboffsets: None, indirect: 0 },
    };
    // SAFETY: clause 1 of `# Safety` covers the source. The strides are those of a contiguous array
    // at `dst` (clause 2). `Machine::current` has a level of this CPU.
    unsafe { job.copy(src, dst) };
    count_copied(layout.nbytes());
}

/// Calls `f` with the bytes of one element, loaded once. Allocates only if the element is wider
/// than a cache line.
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
    // SAFETY: `# Safety`: `nbytes` bytes at `src` may be loaded racily; `bytes` is a local of as
    // many bytes.
    unsafe { racy::copy(src, bytes.as_mut_ptr(), nbytes) };
    f(bytes)
}
