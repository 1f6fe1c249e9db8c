//! The choice of a way to copy between two direct layouts.

use crate::kernel::copy::elements;
use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::plan::{Axis, Plan};
use crate::kernel::copy::run::{self, Run};
use crate::kernel::copy::shuffle::Shuffle;
use crate::kernel::copy::square::Square;
use crate::kernel::copy::tile::ROW;

/// So many elements beside each other are few.
const FEW: usize = 16;

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
        let tables = plan.len() >= machine.shuffle_len;
        let question = Question { machine, width: plan.width, axes: plan.axes(), stream, tables };
        let (inner, taken) = question.choose();
        Self { outer: plan.without(taken), inner, run: run::run(machine.level, stream), stream }
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

/// A way, and the numbers of the plan's axes that it takes upon itself.
type Choice = (Inner, [Option<usize>; 2]);

/// What the choice depends on.
struct Question<'a> {
    machine: Machine,
    width: usize,
    axes: &'a [Axis],
    stream: bool,
    /// Whether there is enough to do for a table.
    tables: bool,
}

impl Question<'_> {
    /// The first of the ways that fits, those that move most bytes at once in front.
    fn choose(&self) -> Choice {
        let Some(last) = self.axes.len().checked_sub(1).filter(|_| self.width <= 2 * ROW) else {
            return (Inner::Run(self.width), [None; 2]);
        };
        // The axis along which the source goes on in the smallest steps, if that is another one than the destination's.
        let smaller = |&axis: &usize| self.from(axis) != 0 && self.from(axis) < self.from(last);
        let near = (0..last).filter(smaller).min_by_key(|&axis| self.from(axis));
        self.repeated(last)
            .or_else(|| self.interleaved(last))
            .or_else(|| near.and_then(|near| self.deinterleaved(near, last)))
            .or_else(|| near.and_then(|near| self.square(near, last)))
            .or_else(|| self.shuffle(last, None).filter(|_| near.is_none()))
            .unwrap_or_else(|| {
                let outer = near.or(last.checked_sub(1));
                let table = outer.map_or(Axis::SINGLE, |outer| self.axes[outer]);
                (
                    Inner::Elements { width: self.width, outer: table, inner: self.axes[last] },
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
        fits.then_some((Inner::Repeated { width, axis }, [Some(last), None]))
    }

    /// Few elements beside each other in the destination, from planes of the source.
    fn interleaved(&self, last: usize) -> Option<Choice> {
        let along = last.checked_sub(1)?;
        if self.axes[last].len <= FEW { self.shuffle(along, Some(last)) } else { None }
    }

    /// Few elements beside each other in the source, to planes of the destination.
    fn deinterleaved(&self, near: usize, last: usize) -> Option<Choice> {
        let few = self.axes[near].len;
        let together = few <= FEW && (few - 1) * self.from(near) < self.from(last);
        if together { self.shuffle(last, Some(near)) } else { None }
    }

    fn shuffle(&self, along: usize, beside: Option<usize>) -> Option<Choice> {
        let few = beside.map_or(Axis::SINGLE, |beside| self.axes[beside]);
        let shuffle = if self.tables {
            Shuffle::new(self.machine.level, self.width, self.axes[along], few, self.stream)?
        } else {
            return None;
        };
        Some((Inner::Shuffle(Box::new(shuffle)), [Some(along), beside]))
    }

    fn square(&self, near: usize, last: usize) -> Option<Choice> {
        let (columns, rows) = (self.axes[near], self.axes[last]);
        let side = ROW / self.width.min(ROW);
        let gapless = rows.to == self.width as isize && self.from(near) == self.width;
        // A border is a tile of which some is thrown away.
        let worthwhile =
            columns.len * rows.len >= side * side / 2 && columns.len.min(rows.len) >= side.min(8) / 2;
        if !gapless || !worthwhile {
            return None;
        }
        let square = Square::new(self.machine.level, self.width, columns, rows, self.stream)?;
        Some((Inner::Square(square), [Some(near), Some(last)]))
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
