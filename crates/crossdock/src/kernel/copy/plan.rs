//! Two layouts of the same elements as one list of loops: sorted and merged for locality.

use std::cmp::Reverse;

use crate::layout::{FEW_AXES, MAX_RANK, sort_few};

/// A loop over both layouts: its length, and the step of each layout in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::kernel) struct CopyAxis {
    pub(in crate::kernel) len: usize,
    pub(in crate::kernel) from: isize,
    pub(in crate::kernel) to: isize,
}

impl CopyAxis {
    /// One step.
    pub(super) const SINGLE: Self = Self { len: 1, from: 0, to: 0 };

    /// The steps from `start` on, at most `len` of them.
    pub(super) fn part(self, start: usize, len: usize) -> Self {
        Self { len: len.min(self.len - start), ..self }
    }
}

/// The loops of a copy, and the number of bytes that each step of the innermost one copies.
#[derive(Clone, Debug)]
pub(in crate::kernel) struct CopyPlan {
    /// Invariant 1: the loops give pairs of offsets, from `from_start` and `to_start` on. These,
    /// each with the `width` bytes behind it, are the pairs of the layouts' elements.
    axes: Axes,
    pub(in crate::kernel) width: usize,
    pub(in crate::kernel) from_start: isize,
    pub(in crate::kernel) to_start: isize,
}

/// Axes, outermost first. Allocates only for more than [`FEW_AXES`] of them.
#[derive(Clone, Debug, Default)]
struct Axes {
    few: [CopyAxis; FEW_AXES],
    many: Vec<CopyAxis>,
    rank: usize,
}

impl Axes {
    fn as_slice(&self) -> &[CopyAxis] {
        if self.many.is_empty() { &self.few[..self.rank] } else { &self.many[..self.rank] }
    }

    fn as_mut_slice(&mut self) -> &mut [CopyAxis] {
        if self.many.is_empty() { &mut self.few[..self.rank] } else { &mut self.many[..self.rank] }
    }

    fn push(&mut self, axis: CopyAxis) {
        if self.rank == FEW_AXES && self.many.is_empty() {
            self.many.extend(self.few);
        }
        if self.many.is_empty() {
            self.few[self.rank] = axis;
        } else {
            self.many.push(axis);
        }
        self.rank += 1;
    }

    /// Keeps only the first axes. No `push` may follow.
    fn truncate(&mut self, rank: usize) {
        self.rank = rank;
    }
}

impl CopyPlan {
    /// The plan for two direct layouts of one shape; `None` where there is nothing to copy.
    ///
    /// The order is that of the destination: the axis with its smallest steps comes last, and no
    /// step of the destination is negative. Neighbouring axes that both layouts walk as one are
    /// merged. If the last axis is contiguous in both, it becomes part of the element.
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

    /// As [`CopyPlan::new`], but each element stays separate, for work that does more than move
    /// bytes. Source and destination may have elements of different widths, of which `itemsize` is
    /// one.
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
            plan.insert(CopyAxis { len, from, to });
        }
        plan.merge();
        Some(plan)
    }

    pub(in crate::kernel) fn axes(&self) -> &[CopyAxis] {
        self.axes.as_slice()
    }

    pub(super) fn nbytes(&self) -> usize {
        self.len() * self.width
    }

    /// The number of elements. Elements that are contiguous in both layouts count as one.
    pub(super) fn len(&self) -> usize {
        self.axes().iter().map(|axis| axis.len).product()
    }

    /// Inserts an axis at its place in the order, with an upward step in the destination.
    fn insert(&mut self, mut axis: CopyAxis) {
        if axis.to < 0 {
            let last = (axis.len - 1) as isize;
            self.from_start += last * axis.from;
            self.to_start += last * axis.to;
            (axis.from, axis.to) = (-axis.from, -axis.to);
        }
        let key = |axis: &CopyAxis| (axis.to, axis.from.unsigned_abs());
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
                axes[merged] = CopyAxis { len: outer.len * inner.len, ..inner };
            } else {
                merged += 1;
                axes[merged] = inner;
            }
        }
        let rank = axes.len().min(merged + 1);
        self.axes.truncate(rank);
    }

    /// The plan for a part of one axis.
    pub(super) fn with_part(&self, axis: usize, start: usize, len: usize) -> Self {
        let mut part = self.clone();
        let whole = self.axes()[axis];
        part.axes.as_mut_slice()[axis] = whole.part(start, len);
        part.from_start += start as isize * whole.from;
        part.to_start += start as isize * whole.to;
        part
    }

    /// The plan without the axes that the caller walks.
    pub(super) fn without(&self, taken: [Option<usize>; 2]) -> Self {
        let mut rest = Self { axes: Axes::default(), ..*self };
        for (index, &axis) in self.axes().iter().enumerate() {
            if !taken.contains(&Some(index)) {
                rest.axes.push(axis);
            }
        }
        rest
    }

    /// The same steps in the order of the source: the axis with its smallest steps comes last.
    pub(super) fn in_source_order(mut self) -> Self {
        sort_few(self.axes.as_mut_slice(), |axis| Reverse(axis.from.unsigned_abs()));
        self
    }

    /// Calls `f` with both offsets of each step of the loops.
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
                let CopyAxis { len, from: from_stride, to: to_stride } = outer[axis];
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
    use crossdock_testkit::{cases, seed};
    use fastrand::Rng;

    use super::*;

    /// Two layouts of one shape, some with more axes than fit inline.
    fn random(rng: &mut Rng) -> (Vec<usize>, Vec<isize>, Vec<isize>, usize) {
        let (rank, itemsize) = (rng.usize(0..=10).min(rng.usize(0..=14)), rng.usize(1..=3));
        let shape: Vec<usize> = (0..rank).map(|_| rng.usize(1..=if rank > 4 { 2 } else { 4 })).collect();
        let strides = |rng: &mut Rng| -> Vec<isize> {
            // Strides of contiguous arrays, in a random order of the axes, so that some axes merge;
            // some are reversed, some arbitrary.
            let mut strides = vec![0; rank];
            let mut order: Vec<usize> = (0..rank).collect();
            if rng.bool() {
                rng.shuffle(&mut order);
            }
            let mut step = itemsize as isize;
            for &axis in order.iter().rev() {
                strides[axis] = match rng.u8(0..8) {
                    0 => rng.isize(-9..=9),
                    1 => -step,
                    _ => step,
                };
                step *= shape[axis] as isize;
            }
            strides
        };
        let (from, to) = (strides(rng), strides(rng));
        (shape, from, to, itemsize)
    }

    /// Pairs of source and destination bytes, by a naive loop.
    fn expected(shape: &[usize], from: &[isize], to: &[isize], width: usize) -> Vec<(isize, isize)> {
        let mut pairs = vec![(0, 0)];
        for (axis, &len) in shape.iter().enumerate() {
            let steps = |(f, t)| (0..len as isize).map(move |i| (f + i * from[axis], t + i * to[axis]));
            pairs = pairs.into_iter().flat_map(steps).collect();
        }
        sorted(pairs.into_iter().flat_map(|(f, t)| (0..width as isize).map(move |byte| (f + byte, t + byte))))
    }

    fn moved(plan: &CopyPlan) -> Vec<(isize, isize)> {
        let mut pairs = vec![];
        plan.for_each(|f, t| pairs.extend((0..plan.width as isize).map(|byte| (f + byte, t + byte))));
        sorted(pairs.into_iter())
    }

    fn sorted(pairs: impl Iterator<Item = (isize, isize)>) -> Vec<(isize, isize)> {
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn plans_of_any_two_layouts_move_each_byte_to_its_place() {
        let mut rng = Rng::with_seed(seed());
        for _ in 0..cases(600) {
            let (shape, from, to, itemsize) = random(&mut rng);
            let context = format!("{shape:?} {from:?} {to:?} {itemsize}");
            let wanted = expected(&shape, &from, &to, itemsize);
            for plan in
                [CopyPlan::new, CopyPlan::apart].map(|make| make(&shape, &from, &to, itemsize).unwrap())
            {
                assert_eq!(moved(&plan), wanted, "{context}");
                assert_eq!(
                    (plan.nbytes(), plan.len() * plan.width),
                    (wanted.len(), wanted.len()),
                    "{context}"
                );
                // Steps in the destination are not negative, and the smallest come last.
                let steps: Vec<_> = plan.axes().iter().map(|axis| axis.to).collect();
                assert!(
                    steps.iter().all(|&step| step >= 0) && steps.is_sorted_by(|a, b| a >= b),
                    "{context}"
                );
                // No axis has length 1, and no two neighbours could be merged on both sides.
                let chains = |pair: &[CopyAxis]| {
                    let whole = |side: fn(&CopyAxis) -> isize| {
                        side(&pair[1]) * pair[1].len as isize == side(&pair[0])
                    };
                    whole(|axis| axis.from) && whole(|axis| axis.to)
                };
                assert!(!plan.axes().windows(2).any(chains), "{context}");
                assert!(plan.axes().iter().all(|axis| axis.len > 1), "{context}");
                let by_source = plan.clone().in_source_order();
                assert_eq!(moved(&by_source), wanted, "{context}");
                assert!(
                    by_source.axes().is_sorted_by_key(|axis| Reverse(axis.from.unsigned_abs())),
                    "{context}"
                );
                let Some(axis) = (0..plan.axes().len()).next_back() else { continue };
                parts_are_the_whole(&plan, rng.usize(0..=axis), &mut rng, &wanted);
                the_rest_times_the_taken_is_the_whole(
                    &plan,
                    [rng.usize(0..=axis), rng.usize(0..=axis)],
                    &wanted,
                );
            }
            let one_element = CopyPlan::apart(&shape, &from, &to, itemsize).unwrap();
            assert_eq!(one_element.width, itemsize, "{context}");
        }
    }

    fn parts_are_the_whole(plan: &CopyPlan, axis: usize, rng: &mut Rng, wanted: &[(isize, isize)]) {
        let len = plan.axes()[axis].len;
        let cut = rng.usize(0..len);
        // The last part requests more than is left.
        let parts = [(0, cut), (cut, len)].map(|(start, most)| plan.with_part(axis, start, most));
        assert_eq!(parts.each_ref().map(|part| part.axes()[axis].len), [cut, len - cut]);
        let moved = parts.iter().filter(|part| part.axes()[axis].len > 0).flat_map(moved);
        assert_eq!(sorted(moved), wanted);
    }

    fn the_rest_times_the_taken_is_the_whole(plan: &CopyPlan, taken: [usize; 2], wanted: &[(isize, isize)]) {
        let rest = moved(&plan.without(taken.map(Some)));
        let mut pairs = rest;
        let mut taken = taken.to_vec();
        taken.dedup();
        for axis in taken.into_iter().map(|axis| plan.axes()[axis]) {
            let steps = |(f, t)| (0..axis.len as isize).map(move |i| (f + i * axis.from, t + i * axis.to));
            pairs = pairs.into_iter().flat_map(steps).collect();
        }
        assert_eq!(sorted(pairs.into_iter()), wanted);
        assert_eq!(plan.without([None; 2]).axes(), plan.axes());
    }

    #[test]
    fn of_axes_with_the_same_steps_in_the_destination_the_source_chooses_the_order() {
        // The destination repeats one byte, so the source decides: its smallest steps come last.
        let plan = CopyPlan::apart(&[2, 3, 4], &[4, -50, 100], &[0, 0, 0], 4).unwrap();
        assert_eq!(plan.axes(), [axis(4, 100, 0), axis(3, -50, 0), axis(2, 4, 0)]);
    }

    fn axis(len: usize, from: isize, to: isize) -> CopyAxis {
        CopyAxis { len, from, to }
    }

    #[test]
    fn axes_are_in_the_order_of_the_destination_and_merged() {
        let plan = CopyPlan::new(&[3, 1, 4, 5], &[80, 7, 4, 16], &[80, 0, 20, 4], 4).unwrap();
        assert_eq!((plan.axes(), plan.width), (&[axis(3, 80, 80), axis(4, 4, 20), axis(5, 16, 4)][..], 4));
        let plan = CopyPlan::new(&[3, 4, 5], &[80, 20, 4], &[100, 20, 4], 4).unwrap();
        assert_eq!((plan.axes(), plan.width), (&[axis(3, 80, 100)][..], 80));
        let plan = CopyPlan::new(&[3, 4, 5], &[4, 12, 48], &[4, 12, 48], 4).unwrap();
        assert_eq!((plan.axes(), plan.width), (&[][..], 240));
    }

    #[test]
    fn the_destination_goes_up() {
        let plan = CopyPlan::new(&[3, 4], &[16, 4], &[-16, -4], 4).unwrap();
        assert_eq!((plan.axes(), plan.from_start, plan.to_start), (&[axis(12, -4, 4)][..], 44, -44));
        let both = CopyPlan::new(&[3, 4], &[-16, -4], &[-16, -4], 4).unwrap();
        assert_eq!((both.axes(), both.width, both.from_start), (&[][..], 48, -44));
    }

    #[test]
    fn nothing_is_no_plan_and_a_0_d_array_is_one_step() {
        assert!(CopyPlan::new(&[3, 0], &[4, 4], &[4, 4], 4).is_none());
        assert!(CopyPlan::new(&[3], &[0], &[0], 0).is_none());
        let mut steps = vec![];
        CopyPlan::new(&[], &[], &[], 8).unwrap().for_each(|from, to| steps.push((from, to)));
        assert_eq!(steps, [(0, 0)]);
    }
}
