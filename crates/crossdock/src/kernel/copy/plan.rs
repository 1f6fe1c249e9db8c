//! Two layouts of the same elements as one list of loops: sorted, merged, in the order in which memory likes them.

use crate::layout::{INLINE_RANK, MAX_RANK};

/// A loop over both layouts: how often, and how far each of them goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::kernel) struct Axis {
    pub(in crate::kernel) len: usize,
    pub(in crate::kernel) from: isize,
    pub(in crate::kernel) to: isize,
}

impl Axis {
    /// One step.
    pub(super) const SINGLE: Self = Self { len: 1, from: 0, to: 0 };

    /// What is left behind the first `start` steps, at most `len` of them.
    pub(super) fn part(self, start: usize, len: usize) -> Self {
        Self { len: len.min(self.len - start), ..self }
    }
}

/// The loops of a copy, and what is copied in each step of the innermost one.
#[derive(Clone, Debug)]
pub(in crate::kernel) struct Plan {
    /// Invariant 1: the offsets that these loops make of `from_start` and `to_start`, each with the `width` bytes behind it, are, pair
    /// by pair, those of the layouts' elements.
    axes: Axes,
    pub(in crate::kernel) width: usize,
    pub(in crate::kernel) from_start: isize,
    pub(in crate::kernel) to_start: isize,
}

/// Axes, outermost first. Allocates only for more than [`INLINE_RANK`] of them.
#[derive(Clone, Debug, Default)]
struct Axes {
    few: [Axis; INLINE_RANK],
    many: Vec<Axis>,
    rank: usize,
}

impl Axes {
    fn as_slice(&self) -> &[Axis] {
        if self.many.is_empty() { &self.few[..self.rank] } else { &self.many[..self.rank] }
    }

    fn as_mut_slice(&mut self) -> &mut [Axis] {
        if self.many.is_empty() { &mut self.few[..self.rank] } else { &mut self.many[..self.rank] }
    }

    fn push(&mut self, axis: Axis) {
        if self.rank == INLINE_RANK && self.many.is_empty() {
            self.many.extend(self.few);
        }
        if self.many.is_empty() {
            self.few[self.rank] = axis;
        } else {
            self.many.push(axis);
        }
        self.rank += 1;
    }

    /// Forgets all but the first ones. Nothing is pushed after that.
    fn truncate(&mut self, rank: usize) {
        self.rank = rank;
    }
}

impl Plan {
    /// The plan for two direct layouts of one shape; `None` where there is nothing to copy.
    ///
    /// The order is that of the destination: the axis along which it goes on in the smallest steps comes last. No step of the
    /// destination is negative. Neighbours that both layouts walk as one are one, and where the last axis has no gaps in either, it
    /// becomes part of the element.
    pub(in crate::kernel) fn new(
        shape: &[usize],
        from: &[isize],
        to: &[isize],
        itemsize: usize,
    ) -> Option<Self> {
        let mut plan = Self::apart(shape, from, to, itemsize)?;
        if let Some((last, outer)) = plan.axes().split_last()
            && (last.from, last.to) == (plan.width as isize, plan.width as isize)
        {
            let (width, rank) = (plan.width * last.len, outer.len());
            plan.width = width;
            plan.axes.truncate(rank);
        }
        Some(plan)
    }

    /// The same, but that each element stays for itself: for what does more than move bytes. The sides may then have elements of different
    /// widths, of which `itemsize` is one.
    pub(in crate::kernel) fn apart(
        shape: &[usize],
        from: &[isize],
        to: &[isize],
        itemsize: usize,
    ) -> Option<Self> {
        if itemsize == 0 || shape.contains(&0) {
            return None;
        }
        let mut plan = Self { axes: Axes::default(), width: itemsize, from_start: 0, to_start: 0 };
        for (&len, (&from, &to)) in shape.iter().zip(from.iter().zip(to)).filter(|&(&len, _)| len > 1) {
            plan.insert(Axis { len, from, to });
        }
        plan.merge();
        Some(plan)
    }

    pub(in crate::kernel) fn axes(&self) -> &[Axis] {
        self.axes.as_slice()
    }

    pub(super) fn nbytes(&self) -> usize {
        self.len() * self.width
    }

    /// The number of elements, where those without gaps between them on both sides are one.
    pub(super) fn len(&self) -> usize {
        self.axes().iter().map(|axis| axis.len).product()
    }

    /// Puts an axis where it belongs, walked so that the destination goes up.
    fn insert(&mut self, mut axis: Axis) {
        if axis.to < 0 {
            let last = (axis.len - 1) as isize;
            self.from_start += last * axis.from;
            self.to_start += last * axis.to;
            (axis.from, axis.to) = (-axis.from, -axis.to);
        }
        let key = |axis: &Axis| (axis.to, axis.from.unsigned_abs());
        let place = self.axes().iter().position(|other| key(other) < key(&axis)).unwrap_or(self.axes().len());
        self.axes.push(axis);
        self.axes.as_mut_slice()[place..].rotate_right(1);
    }

    fn merge(&mut self) {
        let axes = self.axes.as_mut_slice();
        let mut merged = 0;
        for index in 1..axes.len() {
            let (outer, inner) = (axes[merged], axes[index]);
            let chains = |outer: isize, stride: isize| stride.checked_mul(inner.len as isize) == Some(outer);
            if chains(outer.from, inner.from) && chains(outer.to, inner.to) {
                axes[merged] = Axis { len: outer.len * inner.len, ..inner };
            } else {
                merged += 1;
                axes[merged] = inner;
            }
        }
        let rank = axes.len().min(merged + 1);
        self.axes.truncate(rank);
    }

    /// The same plan for a part of one axis.
    pub(super) fn with_part(&self, axis: usize, start: usize, len: usize) -> Self {
        let mut part = self.clone();
        let whole = self.axes()[axis];
        part.axes.as_mut_slice()[axis] = whole.part(start, len);
        part.from_start += start as isize * whole.from;
        part.to_start += start as isize * whole.to;
        part
    }

    /// Without the axes that somebody else walks.
    pub(super) fn without(&self, taken: [Option<usize>; 2]) -> Self {
        let mut rest = Self { axes: Axes::default(), ..*self };
        for (index, &axis) in self.axes().iter().enumerate() {
            if !taken.contains(&Some(index)) {
                rest.axes.push(axis);
            }
        }
        rest
    }

    /// Calls `f` with the offsets at which each step of the loops begins.
    pub(super) fn for_each(&self, mut f: impl FnMut(isize, isize)) {
        let (mut from, mut to) = (self.from_start, self.to_start);
        let Some((last, outer)) = self.axes().split_last() else { return f(from, to) };
        if outer.is_empty() {
            return (0..last.len as isize).for_each(|step| f(from + step * last.from, to + step * last.to));
        }
        let mut index = [0; MAX_RANK];
        loop {
            for step in 0..last.len as isize {
                f(from + step * last.from, to + step * last.to);
            }
            let mut axis = outer.len();
            loop {
                let Some(above) = axis.checked_sub(1) else { return };
                axis = above;
                let Axis { len, from: from_stride, to: to_stride } = outer[axis];
                index[axis] += 1;
                if index[axis] < len {
                    from += from_stride;
                    to += to_stride;
                    break;
                }
                index[axis] = 0;
                from -= from_stride * (len - 1) as isize;
                to -= to_stride * (len - 1) as isize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(len: usize, from: isize, to: isize) -> Axis {
        Axis { len, from, to }
    }

    #[test]
    fn axes_are_in_the_order_of_the_destination_and_merged() {
        let plan = Plan::new(&[3, 1, 4, 5], &[80, 7, 4, 16], &[80, 0, 20, 4], 4).unwrap();
        assert_eq!((plan.axes(), plan.width), (&[axis(3, 80, 80), axis(4, 4, 20), axis(5, 16, 4)][..], 4));
        let plan = Plan::new(&[3, 4, 5], &[80, 20, 4], &[100, 20, 4], 4).unwrap();
        assert_eq!((plan.axes(), plan.width), (&[axis(3, 80, 100)][..], 80));
        let plan = Plan::new(&[3, 4, 5], &[4, 12, 48], &[4, 12, 48], 4).unwrap();
        assert_eq!((plan.axes(), plan.width), (&[][..], 240));
    }

    #[test]
    fn the_destination_goes_up() {
        let plan = Plan::new(&[3, 4], &[16, 4], &[-16, -4], 4).unwrap();
        assert_eq!((plan.axes(), plan.from_start, plan.to_start), (&[axis(12, -4, 4)][..], 44, -44));
        let both = Plan::new(&[3, 4], &[-16, -4], &[-16, -4], 4).unwrap();
        assert_eq!((both.axes(), both.width, both.from_start), (&[][..], 48, -44));
    }

    #[test]
    fn nothing_is_no_plan_and_a_0_d_array_is_one_step() {
        assert!(Plan::new(&[3, 0], &[4, 4], &[4, 4], 4).is_none());
        assert!(Plan::new(&[3], &[0], &[0], 0).is_none());
        let mut steps = vec![];
        Plan::new(&[], &[], &[], 8).unwrap().for_each(|from, to| steps.push((from, to)));
        assert_eq!(steps, [(0, 0)]);
    }
}
