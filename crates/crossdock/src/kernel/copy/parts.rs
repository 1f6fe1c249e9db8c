//! One copy, shared among threads.

use crate::kernel::copy::direct::Direct;
use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::plan::Plan;
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
    // The outermost axis that is long enough or, if none is, the longest.
    let axes = plan.axes();
    let long = (0..axes.len()).find(|&axis| axes[axis].len >= 4 * parts);
    let longest = || (0..axes.len()).max_by_key(|&axis| axes[axis].len);
    match long.or_else(longest) {
        None if parts <= 1 && nbytes < machine.stream_nbytes => {
            let (src, dst) =
                (ends.src.wrapping_offset(plan.from_start), ends.dst.wrapping_offset(plan.to_start));
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
                // All of it, not its fields one by one.
                let Ends { src, dst } = *&ends;
                let start = (part * chunk) as isize;
                let (src, dst) = (src.wrapping_offset(from + start), dst.wrapping_offset(to + start));
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
                let ends = &ends;
                let plan = plan.with_part(axis, part * chunk, chunk);
                // SAFETY: a part of the plan (the caller's word), the elements of which are in no other.
                unsafe { Direct::new(machine, &plan, nbytes).copy(ends.src, ends.dst) };
            });
        }
    }
}
