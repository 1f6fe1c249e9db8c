//! Divides one copy among threads.

use crate::kernel::copy::direct::Direct;
use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::plan::{CopyAxis, CopyPlan};
use crate::kernel::copy::run;
use crate::kernel::threads;

/// Where the source and the destination of a copy begin.
#[derive(Clone, Copy)]
pub(super) struct CopyEndpoints {
    pub(super) src: *const u8,
    pub(super) dst: *mut u8,
}

impl CopyEndpoints {
    /// The places at these distances, in bytes.
    pub(super) fn at(&self, from: isize, to: isize) -> (*const u8, *mut u8) {
        (self.src.wrapping_offset(from), self.dst.wrapping_offset(to))
    }
}

// SAFETY: `CopyEndpoints` holds two addresses and accesses nothing; `copy` requires of its caller
// that any thread may access the memory behind them.
unsafe impl Sync for CopyEndpoints {}

/// The number of parts for a copy of `nbytes` bytes.
pub(super) fn count(machine: Machine, nbytes: usize) -> usize {
    threads::parts(nbytes, machine.share_nbytes, machine.part_nbytes)
}

/// Copies what a plan describes, in `parts` parts.
///
/// # Safety
///
/// Clauses 1 to 3 of [`Direct::copy`], on any thread.
pub(super) unsafe fn copy(machine: Machine, plan: &CopyPlan, endpoints: CopyEndpoints, parts: usize) {
    let nbytes = plan.nbytes();
    let axes = plan.axes();
    match to_share(axes, parts) {
        None if parts <= 1 && nbytes < machine.stream_nbytes => {
            let (src, dst) = endpoints.at(plan.from_start, plan.to_start);
            // SAFETY: clauses 1 to 3 of `Direct::copy`: there are no axes, so the plan is one run
            // of `nbytes` bytes at its starts (CopyPlan 1).
            unsafe { run::run(machine.level, false)(src, dst, nbytes) };
        }
        _ if parts <= 1 => {
            // SAFETY: clauses 1 to 3 of `Direct::copy`: the plan, the machine and the pointers are
            // passed on unchanged.
            unsafe { Direct::new(machine, plan, nbytes).copy(endpoints.src, endpoints.dst) };
        }
        None => {
            let run = run::run(machine.level, nbytes >= machine.stream_nbytes);
            let chunk = nbytes.div_ceil(parts).next_multiple_of(4096);
            let (from, to) = (plan.from_start, plan.to_start);
            threads::each(nbytes.div_ceil(chunk), |part| {
                let start = (part * chunk) as isize;
                let (src, dst) = endpoints.at(from + start, to + start);
                // SAFETY: clauses 1 to 3 of `Direct::copy`: the plan is one run of `nbytes` bytes
                // (CopyPlan 1), of which this part begins at `start` and ends within.
                unsafe { run(src, dst, chunk.min(nbytes - part * chunk)) };
                run::fence();
            });
        }
        Some(axis) => {
            let len = axes[axis].len;
            let mut chunk = len.div_ceil(parts);
            // Whole cache lines of neighbouring elements.
            let near = axes[axis].from.unsigned_abs().min(axes[axis].to.unsigned_abs());
            if near < run::LINE {
                chunk = chunk.next_multiple_of(run::LINE);
            }
            threads::each(len.div_ceil(chunk), |part| {
                let (src, dst) = endpoints.at(0, 0);
                let plan = plan.with_part(axis, part * chunk, chunk);
                // SAFETY: clauses 1 to 3 of `Direct::copy`: the elements of `with_part` are
                // elements of the plan, and no other part has them.
                unsafe { Direct::new(machine, &plan, nbytes).copy(src, dst) };
            });
        }
    }
}

/// The axis to share. Of the axes that are long enough, it is the one with the largest steps in
/// both arrays, so that no two threads work on one line or page; of several such axes the longest.
/// If no axis is long enough, it is the longest of all.
fn to_share(axes: &[CopyAxis], parts: usize) -> Option<usize> {
    let apart = |&axis: &usize| axes[axis].from.unsigned_abs().min(axes[axis].to.unsigned_abs());
    let long = (0..axes.len()).rev().filter(|&axis| axes[axis].len >= 4 * parts);
    let longest = (0..axes.len()).rev().max_by_key(|&axis| axes[axis].len);
    long.max_by_key(|axis| (apart(axis), axes[*axis].len)).or(longest)
}
