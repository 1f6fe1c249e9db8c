//! One copy, shared among threads.

use crate::kernel::copy::direct::Direct;
use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::plan::{Axis, Plan};
use crate::kernel::copy::run;
use crate::kernel::threads;

/// Parts for each thread, so that one which is late does not hold up all.
const EACH: usize = 4;

/// Where a copy begins on both sides.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) src: *const u8,
    pub(super) dst: *mut u8,
}

impl Ends {
    /// So many bytes farther on.
    pub(super) fn at(&self, from: isize, to: isize) -> (*const u8, *mut u8) {
        (self.src.wrapping_offset(from), self.dst.wrapping_offset(to))
    }
}

// SAFETY: whoever made a copy's promises about these pointers made them for all threads that it uses.
unsafe impl Sync for Ends {}

/// In how many parts so many bytes are copied.
pub(super) fn count(machine: Machine, nbytes: usize) -> usize {
    let threads = if nbytes < machine.share_nbytes { 1 } else { threads::count() };
    if threads == 1 { 1 } else { (threads * EACH).min(nbytes / machine.part_nbytes) }
}

/// Copies what a plan says, in `parts` parts.
///
/// # Safety
///
/// As for [`Direct::copy`], on any thread.
pub(super) unsafe fn copy(machine: Machine, plan: &Plan, ends: Ends, parts: usize) {
    let nbytes = plan.nbytes();
    let axes = plan.axes();
    match to_share(axes, parts) {
        None if parts <= 1 && nbytes < machine.stream_nbytes => {
            let (src, dst) = ends.at(plan.from_start, plan.to_start);
            // SAFETY: the one run that the plan is (Plan 1 and the caller's word).
            unsafe { run::run(machine.level, false)(src, dst, nbytes) };
        }
        _ if parts <= 1 => {
            // SAFETY: the caller's word.
            unsafe { Direct::new(machine, plan, nbytes).copy(ends.src, ends.dst) };
        }
        None => {
            let run = run::run(machine.level, nbytes >= machine.stream_nbytes);
            let chunk = nbytes.div_ceil(parts).next_multiple_of(4096);
            let (from, to) = (plan.from_start, plan.to_start);
            threads::each(nbytes.div_ceil(chunk), |part| {
                let start = (part * chunk) as isize;
                let (src, dst) = ends.at(from + start, to + start);
                // SAFETY: a part of the one run (the caller's word).
                unsafe { run(src, dst, chunk.min(nbytes - part * chunk)) };
                run::fence();
            });
        }
        Some(axis) => {
            let len = axes[axis].len;
            let mut chunk = len.div_ceil(parts);
            // Whole lines of elements that lie side by side.
            let near = axes[axis].from.unsigned_abs().min(axes[axis].to.unsigned_abs());
            if near < run::LINE {
                chunk = chunk.next_multiple_of(run::LINE);
            }
            threads::each(len.div_ceil(chunk), |part| {
                let (src, dst) = ends.at(0, 0);
                let plan = plan.with_part(axis, part * chunk, chunk);
                // SAFETY: a part of the plan (the caller's word), the elements of which are in no other.
                unsafe { Direct::new(machine, &plan, nbytes).copy(src, dst) };
            });
        }
    }
}

/// The axis to share: of those that are long enough the one along which both sides go farthest, so that no two threads work on one
/// line or page; of those the longest. Where none is long enough, the longest of all.
fn to_share(axes: &[Axis], parts: usize) -> Option<usize> {
    let apart = |&axis: &usize| axes[axis].from.unsigned_abs().min(axes[axis].to.unsigned_abs());
    let long = (0..axes.len()).rev().filter(|&axis| axes[axis].len >= 4 * parts);
    let longest = (0..axes.len()).rev().max_by_key(|&axis| axes[axis].len);
    long.max_by_key(|axis| (apart(axis), axes[*axis].len)).or(longest)
}
