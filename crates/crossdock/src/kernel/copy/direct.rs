//! The choice of a way to copy between two direct layouts.

use crate::kernel::copy::elements;
use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::plan::{Axis, Plan};
use crate::kernel::copy::run::{self, Run};
use crate::kernel::copy::shuffle::Shuffle;
use crate::kernel::copy::square::Square;
use crate::kernel::copy::tile::ROW;

/// A copy: loops, and what is done in each step of them.
pub(super) struct Direct {
    outer: Plan,
    inner: Inner,
    run: Run,
    stream: bool,
}

enum Inner {
    /// One run.
    Run(usize),
    /// Element by element, along two axes.
    Elements {
        width: usize,
        outer: Axis,
        inner: Axis,
    },
    /// One element, again and again.
    Repeated {
        width: usize,
        axis: Axis,
    },
    Shuffle(Box<Shuffle>),
    Square(Square),
}

impl Direct {
    /// The copy of a plan that is perhaps a part of one which copies `nbytes` bytes in all.
    pub(super) fn new(machine: Machine, plan: &Plan, nbytes: usize) -> Self {
        let stream = nbytes >= machine.stream_nbytes;
        let (inner, taken) = Inner::choose(machine, plan, stream);
        let taken = [taken.0, taken.1].map(|axis| axis.unwrap_or(usize::MAX));
        Self { outer: plan.without(&taken), inner, run: run::run(machine.level, stream), stream }
    }

    /// # Safety
    ///
    /// The plan's elements, and what lies between them in the source, may be loaded from `src`, and the elements stored to `dst`,
    /// racily; the processor has the level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8) {
        if let (Inner::Run(nbytes), true) = (&self.inner, self.stream) {
            // SAFETY: the caller's word.
            return unsafe { self.stream_runs(src, dst, *nbytes) };
        }
        let mut stage = None;
        self.outer.for_each(|from, to| {
            let (src, dst) = (src.wrapping_offset(from), dst.wrapping_offset(to));
            match self.inner {
                Inner::Run(nbytes) => {
                    // SAFETY: a run of the plan (Plan 1 and the caller's word).
                    unsafe { (self.run)(src, dst, nbytes) };
                }
                Inner::Elements { width, outer, inner } => {
                    // SAFETY: two axes of the plan (as above).
                    unsafe { elements::table(src, dst, width, outer, inner, self.run) };
                }
                Inner::Repeated { width, axis } => {
                    // SAFETY: an axis of the plan (as above).
                    unsafe { elements::repeat(src, dst, width, axis, self.run) };
                }
                Inner::Shuffle(ref shuffle) => {
                    // SAFETY: one or two axes of the plan (as above).
                    unsafe { shuffle.copy(src, dst) };
                }
                Inner::Square(ref square) => {
                    // SAFETY: two axes of the plan (as above).
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
    /// Runs past the caches, the beginning of each of which is asked for before the one in front of it is copied.
    ///
    /// # Safety
    ///
    /// As for [`Direct::copy`].
    unsafe fn stream_runs(&self, src: *const u8, dst: *mut u8, nbytes: usize) {
        let mut waiting = None;
        self.outer.for_each(|from, to| {
            let next = (src.wrapping_offset(from), dst.wrapping_offset(to));
            for line in (0..nbytes.min(run::AHEAD)).step_by(run::LINE) {
                run::prefetch(next.0.wrapping_add(line));
            }
            if let Some((src, dst)) = waiting.replace(next) {
                // SAFETY: a run of the plan (Plan 1 and the caller's word).
                unsafe { (self.run)(src, dst, nbytes) };
            }
        });
        if let Some((src, dst)) = waiting {
            // SAFETY: the last run of the plan (as above).
            unsafe { (self.run)(src, dst, nbytes) };
        }
        run::fence();
    }
}

impl Inner {
    /// A way, and the axes of the plan that it takes upon itself.
    fn choose(machine: Machine, plan: &Plan, stream: bool) -> (Self, (Option<usize>, Option<usize>)) {
        let level = machine.level;
        let (width, axes) = (plan.width, plan.axes());
        let Some((&last, above)) = axes.split_last() else { return (Self::Run(width), (None, None)) };
        let inner = above.len();
        if width > 2 * ROW {
            return (Self::Run(width), (None, None));
        }
        if width <= ROW && last.from == 0 && last.to == width as isize && last.len >= 8 {
            return (Self::Repeated { width, axis: last }, (Some(inner), None));
        }
        // The axis that the source walks in the smallest steps, and the one beside the last of the destination's.
        let nearest = (0..inner)
            .filter(|&axis| axes[axis].from != 0)
            .min_by_key(|&axis| axes[axis].from.unsigned_abs());
        let next = inner.checked_sub(1);
        let worthwhile = plan.nbytes() >= machine.shuffle_nbytes;
        let shuffle = |along: usize, beside: Option<usize>| {
            let table = Shuffle::new(
                level,
                width,
                axes[along],
                beside.map_or(Axis::SINGLE, |axis| axes[axis]),
                stream,
            )?;
            Some((Self::Shuffle(Box::new(table)), (Some(along), beside)))
        };
        // Few elements beside each other in the destination, from planes of the source.
        if worthwhile
            && last.len <= 16
            && let Some(next) = next
            && let Some(found) = shuffle(next, Some(inner))
        {
            return found;
        }
        if let Some(near) = nearest
            && axes[near].from.unsigned_abs() < last.from.unsigned_abs()
        {
            // Few elements beside each other in the source, to planes of the destination.
            let together = (axes[near].len - 1) * axes[near].from.unsigned_abs() < last.from.unsigned_abs();
            if worthwhile
                && axes[near].len <= 16
                && together
                && let Some(found) = shuffle(inner, Some(near))
            {
                return found;
            }
            let (columns, rows) = (axes[near], last);
            let side = (ROW / width.min(ROW)) as usize;
            if rows.to == width as isize
                && columns.from.unsigned_abs() == width
                && columns.len * rows.len >= side * side / 2
                && columns.len.min(rows.len) >= side.min(8) / 2
                && let Some(square) = Square::new(level, width, columns, rows, stream)
            {
                return (Self::Square(square), (Some(near), Some(inner)));
            }
            return (Self::Elements { width, outer: columns, inner: rows }, (Some(near), Some(inner)));
        }
        if worthwhile && let Some(found) = shuffle(inner, None) {
            return found;
        }
        let outer = next.map_or(Axis::SINGLE, |next| axes[next]);
        (Self::Elements { width, outer, inner: last }, (Some(inner), next))
    }
}

#[cfg(test)]
impl Direct {
    /// The name of the way that was chosen.
    pub(super) fn way(&self) -> &'static str {
        match self.inner {
            Inner::Run(_) => "run",
            Inner::Elements { .. } => "elements",
            Inner::Repeated { .. } => "repeated",
            Inner::Shuffle(_) => "shuffle",
            Inner::Square(_) => "square",
        }
    }
}
