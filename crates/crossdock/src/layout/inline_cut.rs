//! A slice of a direct array of few axes: one pass over the items, with one check at the end.
//!
//! Each item of [`s!`](crate::s) is code of its own, so that the number of the axis and the step
//! are constants and the numbers stay in registers. Lists at run time take the same pass as a loop.
//! [`Cut`](crate::layout::cut::Cut) serves all other layouts, and finds the error of a slice that
//! this one does not make.

use crate::layout::axis_storage::InlineAxes;
use crate::layout::slice::{AxisSlice, RangeSemantics, pick, pick_index, pick_numpy, stepped_stride};

/// Collects the axes of the result.
#[doc(hidden)]
pub struct InlineCut<'a> {
    source: &'a InlineAxes,
    result: &'a mut InlineAxes,
    reading: RangeSemantics,
    input: usize,
    output: usize,
    offset: isize,
    /// Whether all indices exist. The other numbers are meaningless otherwise.
    ok: bool,
    nonempty: bool,
}

impl std::fmt::Debug for InlineCut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InlineCut").finish_non_exhaustive()
    }
}

impl<'a> InlineCut<'a> {
    #[inline(always)]
    pub(super) fn new(source: &'a InlineAxes, result: &'a mut InlineAxes, reading: RangeSemantics) -> Self {
        Self { source, result, reading, input: 0, output: 0, offset: 0, ok: true, nonempty: true }
    }

    /// The next item. Products and sums wrap only if `ok` or `nonempty` becomes false, and then
    /// they are not used.
    #[inline(always)]
    pub(super) fn item(&mut self, item: AxisSlice) {
        match item {
            AxisSlice::Index(index) => {
                let (len, stride) = self.take();
                let index = pick_index(index, len, &mut self.ok);
                self.offset = self.offset.wrapping_add(index.wrapping_mul(stride));
            }
            AxisSlice::Range { start, stop, step } => {
                let (len, stride) = self.take();
                let picked = match self.reading {
                    RangeSemantics::Rust => pick(start.unwrap_or(0), stop, step, len, &mut self.ok),
                    RangeSemantics::Numpy => {
                        self.ok &= step != 0;
                        pick_numpy(start, stop, if step == 0 { 1 } else { step }, len)
                    }
                };
                self.offset = self.offset.wrapping_add(picked.first.wrapping_mul(stride));
                self.give(picked.len, stepped_stride(stride, step, picked.len));
            }
            AxisSlice::NewAxis => self.give(1, 0),
            // How many axes it stands for is known only after the other items.
            AxisSlice::Ellipsis => self.ok = false,
        }
    }

    #[inline(always)]
    fn take(&mut self) -> (usize, isize) {
        let axis = self.source.axis(self.input);
        self.input += 1;
        axis
    }

    #[inline(always)]
    fn give(&mut self, len: usize, stride: isize) {
        self.result.set_axis(self.output, len, stride);
        self.nonempty &= len != 0;
        self.output += 1;
    }

    /// The offset of element 0 of the result from that of the source; `None` for a slice that this
    /// pass does not make, and for one with an error.
    #[inline(always)]
    pub(super) fn finish(mut self) -> Option<isize> {
        let rank = self.source.rank();
        if self.reading == RangeSemantics::Numpy {
            while self.input < rank {
                let (len, stride) = self.take();
                self.give(len, stride);
            }
        }
        if !self.ok || self.input != rank {
            return None;
        }
        self.result.set_rank(self.output)?;
        Some(if self.nonempty { self.offset } else { 0 })
    }
}
