//! Two arrays of one shape, walked in the order of the destination.

use crate::error::Result;
use crate::layout::{AxisSlice, Layout, MAX_RANK, Order, sort_few};

/// Two layouts of one shape with reordered axes, and the offsets of their new elements 0, in bytes
/// from the old ones.
pub(crate) struct LayoutPair {
    pub(crate) from: Layout,
    pub(crate) to: Layout,
    pub(crate) from_offset: isize,
    pub(crate) to_offset: isize,
}

impl LayoutPair {
    /// Reverses the axes along which the destination runs backwards, and puts its longest steps
    /// outermost.
    ///
    /// # Errors
    ///
    /// `is_layout` where either is indirect.
    pub(crate) fn arranged(from: &Layout, to: &Layout) -> Result<Self> {
        let mut pair = Self { from: from.clone(), to: to.clone(), from_offset: 0, to_offset: 0 };
        if to.is_empty() || to.rank() == 0 {
            return Ok(pair);
        }
        for axis in (0..to.rank()).filter(|&axis| to.strides()[axis] < 0) {
            let (from, by) = pair.from.reverse(axis)?;
            (pair.from, pair.from_offset) = (from, pair.from_offset + by);
            let (to, by) = pair.to.reverse(axis)?;
            (pair.to, pair.to_offset) = (to, pair.to_offset + by);
        }
        let strides = pair.to.strides();
        let step = |&axis: &usize| if to.shape()[axis] == 1 { isize::MAX } else { strides[axis] };
        let mut axes: [usize; MAX_RANK] = std::array::from_fn(|axis| axis);
        let axes = &mut axes[..to.rank()];
        if !axes.is_sorted_by_key(|axis| std::cmp::Reverse(step(axis))) {
            sort_few(axes, |axis| std::cmp::Reverse(step(axis)));
            (pair.from, pair.to) = (pair.from.permute(axes)?, pair.to.permute(axes)?);
        }
        Ok(pair)
    }

    /// Divides the elements into about `parts` parts of one size, at most that many.
    pub(crate) fn split(self, parts: usize) -> Result<Vec<Self>> {
        let numel = self.to.len();
        if parts < 2 || numel == 0 {
            return Ok(vec![self]);
        }
        let row = |layout: &Layout| {
            let flat = layout.is_contiguous(Order::RowMajor);
            flat.then(|| Layout::contiguous(&[numel], layout.itemsize(), Order::RowMajor)).transpose()
        };
        let (from, to) = match (row(&self.from)?, row(&self.to)?) {
            (Some(from), Some(to)) => (from, to),
            _ => (self.from, self.to),
        };
        let len = to.shape()[0];
        let each = len.div_ceil(parts);
        let cut = |layout: &Layout, first: usize| {
            let (start, stop) = (first as isize, (first + each).min(len) as isize);
            let mut axes = vec![AxisSlice::ALL; layout.rank()];
            axes[0] = AxisSlice::Range { start: Some(start), stop: Some(stop), step: 1 };
            layout.slice(axes)
        };
        let part = |first| {
            let ((from, from_by), (to, to_by)) = (cut(&from, first)?, cut(&to, first)?);
            Ok(Self { from, to, from_offset: self.from_offset + from_by, to_offset: self.to_offset + to_by })
        };
        (0..len).step_by(each).map(part).collect()
    }
}

/// From this many elements on, two threads that compute are faster than one: waking a helper takes
/// some twenty microseconds, and this work a hundred.
pub(crate) const SHARED: usize = 1 << 19;

/// The least elements of a part.
pub(crate) const PER_PART: usize = 1 << 17;
