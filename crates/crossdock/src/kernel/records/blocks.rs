//! Several strided arrays of one shape, walked together, one block at a time.

use crate::error::Result;
use crate::kernel::threads;
use crate::layout::{Layout, sort_few};

/// The size of a block, in bytes of all arrays together: small enough that one pass leaves it in
/// the L2 cache for the next, and large enough to amortise the start of a block.
pub(super) const BLOCK_NBYTES: usize = 128 << 10;

/// The same where one pass is all, and streams: each block ends with a fence, for which the stores
/// must have reached the memory.
pub(super) const STREAMED_BLOCK_NBYTES: usize = 1 << 20;

/// From this many blocks on, threads share them.
const SHARED_BLOCKS: usize = 16;

/// Loops over several arrays of one shape, in the order of the first.
pub(super) struct ArrayLoops {
    /// The lengths, outermost first, all above 1.
    lens: Vec<usize>,
    /// The strides of the first array, then those of the second one, and so on.
    strides: Vec<isize>,
    /// Where each array begins, in bytes from its element 0.
    starts: Vec<isize>,
}

impl ArrayLoops {
    /// `None` if there are no elements. All arrays must be direct, with as many strides as the
    /// shape has axes.
    pub(super) fn new(shape: &[usize], arrays: &[&[isize]]) -> Option<Self> {
        if shape.contains(&0) {
            return None;
        }
        let mut starts = vec![0; arrays.len()];
        let mut axes: Vec<(usize, Vec<isize>)> = Vec::with_capacity(shape.len());
        for (axis, &len) in shape.iter().enumerate().filter(|&(_, &len)| len > 1) {
            let mut strides: Vec<isize> = arrays.iter().map(|strides| strides[axis]).collect();
            if strides[0] < 0 {
                for (start, stride) in starts.iter_mut().zip(&mut strides) {
                    *start += *stride * (len - 1) as isize;
                    *stride = -*stride;
                }
            }
            axes.push((len, strides));
        }
        sort_few(&mut axes, |(_, strides)| {
            std::cmp::Reverse((strides[0], strides[strides.len() - 1].unsigned_abs()))
        });
        axes.dedup_by(|(inner_len, inner), (len, outer)| {
            let chains =
                |(&outer, &inner): (&isize, &isize)| inner.checked_mul(*inner_len as isize) == Some(outer);
            let one = outer.iter().zip(inner.iter()).all(chains);
            if one {
                *len *= *inner_len;
                outer.clone_from(inner);
            }
            one
        });
        let strides = (0..arrays.len()).flat_map(|array| axes.iter().map(move |(_, strides)| strides[array]));
        Some(Self { strides: strides.collect(), lens: axes.iter().map(|&(len, _)| len).collect(), starts })
    }

    /// The strides of an array, outermost first.
    pub(super) fn strides(&self, array: usize) -> &[isize] {
        let rank = self.lens.len();
        &self.strides[array * rank..][..rank]
    }

    /// The length of the only loop; `None` if there are others or none.
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    pub(super) fn single_len(&self) -> Option<usize> {
        match self.lens.as_slice() {
            &[len] => Some(len),
            _ => None,
        }
    }

    /// Blocks of at most `most` elements, but at least one.
    pub(super) fn blocks(&self, most: usize) -> LoopBlocks<'_> {
        let (mut axis, mut inner) = (self.lens.len(), 1_usize);
        while let Some(outer) = axis.checked_sub(1)
            && inner.saturating_mul(self.lens[outer]) <= most.max(1)
        {
            (axis, inner) = (outer, inner * self.lens[outer]);
        }
        // All axes behind this one, and so many steps of it.
        let axis = axis.saturating_sub(1);
        let whole = self.lens.get(axis).copied().unwrap_or(1);
        let inner = self.lens.iter().skip(axis + 1).product::<usize>();
        LoopBlocks { loops: self, axis, step: (most / inner).clamp(1, whole) }
    }

    /// Calls `f` for each step of the outer loops, with the offset and the stride of each array in
    /// the innermost loop, and its length.
    pub(super) fn runs(&self, mut f: impl FnMut(&[isize], &[isize], usize)) {
        let Some(last) = self.lens.len().checked_sub(1) else {
            return f(&self.starts, &vec![0; self.starts.len()], 1);
        };
        let arrays = 0..self.starts.len();
        let steps: Vec<isize> = arrays.clone().map(|array| self.strides(array)[last]).collect();
        let mut offsets = self.starts.clone();
        let mut index = vec![0; last];
        loop {
            f(&offsets, &steps, self.lens[last]);
            let mut axis = last;
            loop {
                let Some(above) = axis.checked_sub(1) else { return };
                axis = above;
                index[axis] += 1;
                let back = if index[axis] < self.lens[axis] { 0 } else { self.lens[axis] as isize };
                for array in arrays.clone() {
                    offsets[array] += self.strides(array)[axis] * (1 - back);
                }
                if back == 0 {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
}

/// The parts into which loops are divided.
pub(super) struct LoopBlocks<'a> {
    loops: &'a ArrayLoops,
    /// The axis that is cut into pieces of `step` indices. A block has one index of each axis
    /// before it, and all indices of those behind.
    axis: usize,
    step: usize,
}

impl<'a> LoopBlocks<'a> {
    fn pieces(&self) -> usize {
        self.loops.lens.get(self.axis).map_or(1, |len| len.div_ceil(self.step))
    }

    fn len(&self) -> usize {
        self.loops.lens.iter().take(self.axis).product::<usize>() * self.pieces()
    }

    fn get(&self, number: usize) -> LoopBlock<'a> {
        let lens = &self.loops.lens;
        let mut index = vec![0; lens.len().min(self.axis + 1)];
        let mut rest = number / self.pieces();
        for axis in (0..self.axis).rev() {
            (index[axis], rest) = (rest % lens[axis], rest / lens[axis]);
        }
        let first = number % self.pieces() * self.step;
        let mut len = 1;
        if let Some(last) = index.last_mut() {
            (*last, len) = (first, self.step.min(lens[self.axis] - first));
        }
        LoopBlock { loops: self.loops, axis: self.axis, index, len }
    }

    /// Calls `f` with every block, on several threads if there are many blocks. Returns one of the
    /// errors, if there are any.
    pub(super) fn try_each(&self, f: impl Fn(LoopBlock<'_>) -> Result<()> + Sync) -> Result<()> {
        if self.len() < SHARED_BLOCKS {
            return (0..self.len()).try_for_each(|number| f(self.get(number)));
        }
        threads::try_each(self.len(), |number| f(self.get(number)))
    }
}

/// A part of the elements.
pub(super) struct LoopBlock<'a> {
    loops: &'a ArrayLoops,
    axis: usize,
    index: Vec<usize>,
    /// The number of indices of the axis that is cut; 1 if there are no axes.
    len: usize,
}

impl LoopBlock<'_> {
    /// The offset of its first element in an array, in bytes from that array's element 0.
    pub(super) fn offset(&self, array: usize) -> isize {
        let steps = self.index.iter().zip(self.loops.strides(array));
        self.loops.starts[array] + steps.map(|(&index, stride)| index as isize * stride).sum::<isize>()
    }

    /// The number of indices of the axis that is cut; 1 if there are no axes.
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn lens(&self) -> Vec<usize> {
        let mut lens = self.loops.lens.get(self.axis..).unwrap_or(&[]).to_vec();
        if let Some(first) = lens.first_mut() {
            *first = self.len;
        }
        lens
    }

    /// The strides of an array, outermost first.
    pub(super) fn strides(&self, array: usize) -> &[isize] {
        self.loops.strides(array).get(self.axis..).unwrap_or(&[])
    }

    /// Its layout in an array, for elements, or parts of them, of this size.
    pub(super) fn layout(&self, array: usize, itemsize: usize) -> Result<Layout> {
        Layout::new(&self.lens(), self.strides(array), itemsize)
    }

    /// The loops over it.
    pub(super) fn loops(&self) -> ArrayLoops {
        let arrays = 0..self.loops.starts.len();
        ArrayLoops {
            lens: self.lens(),
            strides: arrays.clone().flat_map(|array| self.strides(array).to_vec()).collect(),
            starts: arrays.map(|array| self.offset(array)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the offsets of all elements by blocks, sorted, with those of nested loops.
    fn check(shape: &[usize], strides: [&[isize]; 2], most: usize) {
        let mut wanted = vec![(0, 0)];
        for (axis, &len) in shape.iter().enumerate() {
            let step = |index: usize| (index as isize * strides[0][axis], index as isize * strides[1][axis]);
            wanted = wanted
                .iter()
                .flat_map(|at| (0..len).map(move |i| (at.0 + step(i).0, at.1 + step(i).1)))
                .collect();
        }
        let mut found = Vec::new();
        if let Some(loops) = ArrayLoops::new(shape, &strides) {
            let blocks = loops.blocks(most);
            for number in 0..blocks.len() {
                let block = blocks.get(number);
                let (left, right) = (block.layout(0, 1).unwrap(), block.layout(1, 1).unwrap());
                assert!(left.len() <= most.max(1), "{shape:?} {most}");
                let by_layout: Vec<_> = left
                    .offsets()
                    .unwrap()
                    .zip(right.offsets().unwrap())
                    .map(|(left, right)| (block.offset(0) + left, block.offset(1) + right))
                    .collect();
                let mut by_runs = Vec::new();
                block.loops().runs(|offsets, strides, len| {
                    let step = |array: usize, index: isize| offsets[array] + index * strides[array];
                    by_runs.extend((0..len as isize).map(|index| (step(0, index), step(1, index))));
                });
                assert_eq!(by_runs, by_layout);
                found.extend(by_layout);
            }
        }
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted, "{shape:?} {strides:?} {most}");
    }

    #[test]
    fn blocks_have_every_element_once() {
        for most in [0, 1, 2, 5, 7, 24, 1000] {
            check(&[], [&[], &[]], most);
            check(&[1, 1], [&[3, 5], &[7, 9]], most);
            check(&[3, 0], [&[3, 5], &[7, 9]], most);
            check(&[2, 3, 4], [&[120, 40, 10], &[12, 4, 1]], most);
            check(&[2, 3, 4], [&[10, 20, 60], &[-12, 4, -1]], most);
            check(&[2, 3, 4], [&[-120, 40, -10], &[0, 0, 1]], most);
            check(&[5, 1, 7], [&[-7, 9, -1], &[7, 0, 1]], most);
        }
    }
}
