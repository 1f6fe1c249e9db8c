//! The loops over source and destination of a job, and the pieces in which they can be moved.

use crate::device::engine::Start;
use crate::kernel::copy::{CopyAxis, CopyPlan};

/// The loops of a job, outermost first, and where source and destination begin.
#[derive(Clone, Debug)]
pub(super) struct JobLoops {
    pub(super) axes: Vec<CopyAxis>,
    pub(super) from: Start,
    pub(super) to: Start,
}

impl JobLoops {
    /// The loops of a plan for a source and a destination that begin there.
    pub(super) fn of(plan: &CopyPlan, from: Start, to: Start) -> Self {
        Self { axes: plan.axes().to_vec(), from: from.moved(plan.from_start), to: to.moved(plan.to_start) }
    }

    /// The greatest power of two, at most 16, that divides `width` and all addresses that the loops
    /// reach in source and destination.
    pub(super) fn piece(&self, width: usize) -> usize {
        let strides = self.axes.iter().map(|axis| axis.from | axis.to).fold(0, |all, strides| all | strides);
        let all = (strides as u64) | self.from.address | self.to.address | width as u64 | 16;
        1 << all.trailing_zeros()
    }

    /// Whether `width` divides all addresses that the loops reach in the source.
    pub(super) fn source_is_aligned(&self, width: usize) -> bool {
        let all = self.axes.iter().fold(self.from.address, |all, axis| all | axis.from as u64);
        all.is_multiple_of(width as u64)
    }

    /// Whether `width` divides all addresses that the loops reach in the destination.
    pub(super) fn target_is_aligned(&self, width: usize) -> bool {
        let all = self.axes.iter().fold(self.to.address, |all, axis| all | axis.to as u64);
        all.is_multiple_of(width as u64)
    }

    /// Adds an innermost loop, over adjacent pieces.
    pub(super) fn in_pieces(mut self, len: usize, piece: usize) -> Self {
        if len > 1 {
            self.axes.push(CopyAxis { len, from: piece as isize, to: piece as isize });
        }
        self
    }

    /// Calls `f` with parts of the loops, in order, each of which has at most so many loops and
    /// steps. The last `whole` loops stay uncut.
    pub(super) fn for_each_part(
        &self,
        most_axes: usize,
        most_steps: usize,
        whole: usize,
        f: &mut impl FnMut(&Self),
    ) {
        let steps = self.axes.iter().try_fold(1_usize, |steps, axis| steps.checked_mul(axis.len));
        let fits = self.axes.len() <= most_axes && steps.is_some_and(|steps| steps <= most_steps);
        let Some((&outer, inner)) = self.axes.split_first().filter(|_| !fits && self.axes.len() > whole)
        else {
            return f(self);
        };
        let below = inner.iter().fold(1_usize, |steps, axis| steps.saturating_mul(axis.len));
        // Many indices of the outermost loop at once where the number of loops fits, else one at a
        // time, without that loop.
        let chunk = if self.axes.len() <= most_axes { (most_steps / below).max(1) } else { 1 };
        for start in (0..outer.len).step_by(chunk) {
            let len = chunk.min(outer.len - start);
            let mut part = Self {
                axes: inner.to_vec(),
                from: self.from.moved(start as isize * outer.from),
                to: self.to.moved(start as isize * outer.to),
            };
            if len > 1 {
                part.axes.insert(0, CopyAxis { len, ..outer });
            }
            part.for_each_part(most_axes, most_steps, whole, f);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(lens: &[usize]) -> JobLoops {
        let mut stride = 1;
        let mut axes: Vec<CopyAxis> = lens
            .iter()
            .rev()
            .map(|&len| {
                let axis = CopyAxis { len, from: 4 * stride, to: stride };
                stride *= len as isize;
                axis
            })
            .collect();
        axes.reverse();
        let start = Start { offset: 0, address: 0 };
        JobLoops { axes, from: start, to: start }
    }

    #[test]
    fn parts_are_within_their_bounds_and_have_every_step_once() {
        let cases: [(&[usize], usize, usize); 5] = [
            (&[3, 4, 5], 16, 1000),
            (&[3, 4, 5], 2, 1000),
            (&[3, 4, 5], 16, 7),
            (&[7, 1000], 16, 100),
            (&[2; 10], 3, 4),
        ];
        for (lens, most_axes, most_steps) in cases {
            let mut seen = Vec::new();
            loops(lens).for_each_part(most_axes, most_steps, 0, &mut |part| {
                let steps: usize = part.axes.iter().map(|axis| axis.len).product();
                assert!(part.axes.len() <= most_axes && steps <= most_steps, "{part:?}");
                assert_eq!(part.from.offset, 4 * part.to.offset);
                let mut places = vec![part.to.offset];
                for axis in &part.axes {
                    let steps = 0..axis.len as i64;
                    places = places
                        .iter()
                        .flat_map(|at| steps.clone().map(move |k| at + k * axis.to as i64))
                        .collect();
                }
                seen.extend(places);
            });
            // In order, too.
            assert_eq!(seen, (0..lens.iter().product::<usize>() as i64).collect::<Vec<_>>(), "{lens:?}");
        }
    }

    #[test]
    fn pieces_divide_all_addresses() {
        let start = |address| Start { offset: 0, address };
        let piece = |from, to, stride, width| {
            let axes = vec![CopyAxis { len: 2, from: stride, to: 64 }];
            JobLoops { axes, from: start(from), to: start(to) }.piece(width)
        };
        assert_eq!(piece(0, 0, 64, 48), 16);
        assert_eq!(piece(0, 0, -24, 48), 8);
        assert_eq!(piece(4, 32, 64, 48), 4);
        assert_eq!(piece(0, 0, 64, 6), 2);
        assert_eq!(piece(0, 1, 64, 8), 1);
    }
}
