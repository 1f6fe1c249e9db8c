//! Chooses the way to copy between two direct layouts.
//!
//! Reasons: `DESIGN.md`, "Streaming copies read in order, and write pairs of lines".

use crate::kernel::copy::elements;
use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::plan::{CopyAxis, CopyPlan};
use crate::kernel::copy::run::{self, CopyRun};
use crate::kernel::copy::shuffle::AxisShuffle;
use crate::kernel::copy::square::Square;
use crate::kernel::copy::tile::ROW;

/// At most this many neighbouring elements count as few.
const FEW: usize = 16;

/// A copy: loops, and the work of each step.
pub(super) struct Direct {
    outer: CopyPlan,
    inner: InnerLoop,
    run: CopyRun,
    /// Whether each run follows the one before in the source.
    adjacent: bool,
    stream: bool,
}

enum InnerLoop {
    /// A contiguous run of bytes.
    Run(usize),
    /// Element by element, along two axes.
    Elements {
        width: usize,
        outer: CopyAxis,
        inner: CopyAxis,
    },
    /// One element, repeated.
    Repeated {
        width: usize,
        axis: CopyAxis,
    },
    Shuffle(Box<AxisShuffle>),
    Square(Square),
}

impl Direct {
    /// The copy of a plan, which may be a part of a copy of `nbytes` bytes.
    pub(super) fn new(machine: Machine, plan: &CopyPlan, nbytes: usize) -> Self {
        let stream = nbytes >= machine.stream_nbytes;
        let tables = plan.len() >= machine.shuffle_len;
        let question = Question { machine, width: plan.width, axes: plan.axes(), stream, tables };
        let (inner, taken) = question.choose();
        let (mut outer, mut run) = (plan.without(taken), run::run(machine.level, stream));
        let mut adjacent = false;
        if let (InnerLoop::Run(nbytes), true) = (&inner, stream)
            && are_whole_lines(*nbytes, outer.axes())
        {
            outer = outer.in_source_order();
            let follows = outer.axes().last().is_some_and(|axis| axis.from == *nbytes as isize);
            if let (true, Some(reads_on)) = (follows, run::adjacent(machine.level)) {
                (run, adjacent) = (reads_on, true);
            }
        }
        Self { outer, inner, run, adjacent, stream }
    }

    /// # Safety
    ///
    /// 1. The plan's elements, and the bytes between them in the source, may be loaded from `src`
    ///    racily.
    /// 2. The plan's elements may be stored to `dst` racily.
    /// 3. The CPU has the machine's level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8) {
        if let (InnerLoop::Run(nbytes), true) = (&self.inner, self.stream && !self.adjacent) {
            // SAFETY: clauses 1 to 3 of `# Safety`: `stream_runs` has the same contract, and
            // `nbytes` is the width of the run.
            return unsafe { self.stream_runs(src, dst, *nbytes) };
        }
        let mut stage = None;
        self.outer.for_each(|from, to| {
            let (src, dst) = (src.wrapping_offset(from), dst.wrapping_offset(to));
            match self.inner {
                InnerLoop::Run(nbytes) => {
                    // SAFETY: clauses 1 and 2 of `# Safety`: no axis was taken, so the offsets and
                    // `nbytes` are those of one element of the plan (CopyPlan 1).
                    unsafe { (self.run)(src, dst, nbytes) };
                }
                InnerLoop::Elements { width, outer, inner } => {
                    // SAFETY: clauses 1 and 2 of `# Safety`: the offsets, with the two axes that
                    // were taken, give elements of the plan (CopyPlan 1).
                    unsafe { elements::table(src, dst, width, outer, inner, self.run) };
                }
                InnerLoop::Repeated { width, axis } => {
                    // SAFETY: clauses 1 and 2 of `# Safety`: the offsets and the axis that was
                    // taken give elements of the plan (CopyPlan 1). `Question::repeated` checked
                    // the strides and the width.
                    unsafe { elements::repeat(src, dst, width, axis, self.run) };
                }
                InnerLoop::Shuffle(ref shuffle) => {
                    // SAFETY: clauses 1 to 3 of `# Safety`: the offsets and the axes that were
                    // taken give elements of the plan (CopyPlan 1), and the bytes between them may
                    // be loaded.
                    unsafe { shuffle.copy(src, dst) };
                }
                InnerLoop::Square(ref square) => {
                    // SAFETY: clauses 1 to 3 of `# Safety`: the offsets, with the two axes that
                    // were taken, give elements of the plan (CopyPlan 1).
                    unsafe { square.copy(src, dst, &mut stage) };
                }
            }
        });
        if self.stream {
            run::fence();
        }
    }
}

impl Direct {
    /// Copies runs past the caches. It prefetches the beginning of each run before it copies the
    /// one before.
    ///
    /// # Safety
    ///
    /// Clauses 1 to 3 of [`Direct::copy`], for a plan whose elements are runs of `nbytes` bytes.
    unsafe fn stream_runs(&self, src: *const u8, dst: *mut u8, nbytes: usize) {
        let mut waiting = None;
        self.outer.for_each(|from, to| {
            let next = (src.wrapping_offset(from), dst.wrapping_offset(to));
            for line in (0..nbytes.min(run::AHEAD)).step_by(run::LINE) {
                run::prefetch_to_second(next.0.wrapping_add(line));
            }
            if let Some((src, dst)) = waiting.replace(next) {
                // SAFETY: clauses 1 and 2 of `Direct::copy`: `waiting` holds the place of one run
                // of the plan (CopyPlan 1), of `nbytes` bytes.
                unsafe { (self.run)(src, dst, nbytes) };
            }
        });
        if let Some((src, dst)) = waiting {
            // SAFETY: clauses 1 and 2 of `Direct::copy`: `waiting` holds the place of the last run
            // of the plan (CopyPlan 1), of `nbytes` bytes.
            unsafe { (self.run)(src, dst, nbytes) };
        }
        run::fence();
    }
}

/// Whether runs of the destination share no cache line, if the first one begins a line. Streamed in
/// any order, they cost the same, and in the order of the source the hardware prefetches them.
/// Those that share lines are stored next to each other, before the line leaves the cache.
fn are_whole_lines(nbytes: usize, axes: &[CopyAxis]) -> bool {
    let is_streamed = nbytes >= run::STREAMED_RUN && nbytes.is_multiple_of(run::LINE);
    is_streamed && axes.iter().all(|axis| axis.to % run::LINE as isize == 0)
}

/// A way, and the indices of the plan's axes that it takes over.
type Choice = (InnerLoop, [Option<usize>; 2]);

/// What the choice depends on.
struct Question<'a> {
    machine: Machine,
    width: usize,
    axes: &'a [CopyAxis],
    stream: bool,
    /// Whether there are enough elements to build a table.
    tables: bool,
}

impl Question<'_> {
    /// The first of the ways that fits. Ways that move most bytes at once come first.
    fn choose(&self) -> Choice {
        let Some(last) = self.axes.len().checked_sub(1).filter(|_| self.width <= 2 * ROW) else {
            return (InnerLoop::Run(self.width), [None; 2]);
        };
        // The axis along which the source has the smallest steps, if that is not the destination's.
        let smaller = |&axis: &usize| self.from(axis) != 0 && self.from(axis) < self.from(last);
        let near = (0..last).filter(smaller).min_by_key(|&axis| self.from(axis));
        self.repeated(last)
            .or_else(|| self.interleaved(last))
            .or_else(|| near.and_then(|near| self.deinterleaved(near, last)))
            .or_else(|| near.and_then(|near| self.square(near, last)))
            .or_else(|| self.shuffle(last, None).filter(|_| near.is_none()))
            .unwrap_or_else(|| {
                let outer = near.or(last.checked_sub(1));
                let table = outer.map_or(CopyAxis::SINGLE, |outer| self.axes[outer]);
                (
                    InnerLoop::Elements { width: self.width, outer: table, inner: self.axes[last] },
                    [outer, Some(last)],
                )
            })
    }

    fn from(&self, axis: usize) -> usize {
        self.axes[axis].from.unsigned_abs()
    }

    fn repeated(&self, last: usize) -> Option<Choice> {
        let (width, axis) = (self.width, self.axes[last]);
        let fits = width <= ROW && axis.from == 0 && axis.to == width as isize && axis.len >= 8;
        fits.then_some((InnerLoop::Repeated { width, axis }, [Some(last), None]))
    }

    /// Few neighbouring elements in the destination, from planes of the source.
    fn interleaved(&self, last: usize) -> Option<Choice> {
        let along = last.checked_sub(1)?;
        if self.axes[last].len <= FEW { self.shuffle(along, Some(last)) } else { None }
    }

    /// Few neighbouring elements in the source, to planes of the destination.
    fn deinterleaved(&self, near: usize, last: usize) -> Option<Choice> {
        let few = self.axes[near].len;
        let together = few <= FEW && (few - 1) * self.from(near) < self.from(last);
        if together { self.shuffle(last, Some(near)) } else { None }
    }

    fn shuffle(&self, along: usize, beside: Option<usize>) -> Option<Choice> {
        let few = beside.map_or(CopyAxis::SINGLE, |beside| self.axes[beside]);
        let shuffle = if self.tables {
            AxisShuffle::new(self.machine.level, self.width, self.axes[along], few, self.stream)?
        } else {
            return None;
        };
        Some((InnerLoop::Shuffle(Box::new(shuffle)), [Some(along), beside]))
    }

    fn square(&self, near: usize, last: usize) -> Option<Choice> {
        let (columns, rows) = (self.axes[near], self.axes[last]);
        let square = Square::worthwhile(self.machine.level, self.width, columns, rows, self.stream)?;
        Some((InnerLoop::Square(square), [Some(near), Some(last)]))
    }
}

#[cfg(test)]
impl Direct {
    /// The name of the chosen way.
    pub(super) fn way(&self) -> &'static str {
        match self.inner {
            InnerLoop::Run(_) => "run",
            InnerLoop::Elements { .. } => "elements",
            InnerLoop::Repeated { .. } => "repeated",
            InnerLoop::Shuffle(_) => "shuffle",
            InnerLoop::Square(_) => "square",
        }
    }
}
