//! The rules of dereferences, and the construction of slices of a dynamic layout under them.
//!
//! An element of an indirect array is addressed as in PEP 3118, at any rank: for each axis `k`, `p
//! += index[k] * strides[k]`, and then, if axis `k` dereferences, `p = *(p as *const *const u8) +
//! suboffsets[k]`. So the axes form segments: each but the last ends with an axis that
//! dereferences, and indexes a table of pointers. A constant added to the position within a segment
//! belongs to the preceding dereference, or, in the first segment, to the pointer of element 0.
//!
//! A dereference happens after all axes of its segment, and needs an axis that carries it. When an
//! index drops that axis, the dereference moves to the last remaining axis before it in its
//! segment. If there is none, the result cannot be expressed, and the operation fails.

use crate::error::{Error, Kind, Result};
use crate::layout::Layout;
use crate::layout::axis_storage::{LayoutAxes, LayoutAxesMut};
use crate::layout::slice::{Picked, stepped_stride};

/// The way from element 0 of the whole to that of a part: for each of `distances`, add it and
/// follow the pointer there; then add `offset`. For direct arrays there are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Indirection {
    pub(crate) distances: Vec<isize>,
    pub(crate) offset: isize,
}

/// Builds the result of a slice, axis by axis of the source.
pub(super) struct Cut<'a> {
    source: LayoutAxes<'a>,
    result: LayoutAxesMut<'a>,
    input: usize,
    output: usize,
    indirection: Indirection,
    /// Whether the caller follows pointers on the way.
    follows: bool,
    /// The axis of the result that carries the preceding dereference; `None` in the first segment.
    behind: Option<usize>,
    /// The last axis of the result in this segment.
    last: Option<usize>,
    /// Whether the result has elements. No index can drop an axis of length 0, so the axes of the
    /// result decide.
    nonempty: bool,
}

impl<'a> Cut<'a> {
    /// `result` comes from [`Layout::blank`], with the rank that the following calls fill.
    #[inline]
    pub(super) fn new(source: &'a Layout, result: &'a mut Layout) -> Self {
        let indirection = Indirection { distances: Vec::new(), offset: 0 };
        Self {
            source: source.axes(),
            result: result.axes_mut(),
            input: 0,
            output: 0,
            indirection,
            follows: false,
            behind: None,
            last: None,
            nonempty: true,
        }
    }

    /// For a caller that follows pointers: an index may then drop the first axis that dereferences,
    /// and all before it.
    pub(super) fn following(source: &'a Layout, result: &'a mut Layout) -> Self {
        Self { follows: true, ..Self::new(source, result) }
    }

    /// The next axis of the source and its length.
    #[inline]
    pub(super) fn axis(&self) -> (usize, usize) {
        (self.input, self.source.shape[self.input])
    }

    /// Drops the next axis at an index of it.
    #[inline]
    pub(super) fn index(&mut self, index: isize) -> Result<()> {
        let axis = self.input;
        self.input += 1;
        self.advance(index * self.source.strides[axis]);
        let Some(suboffset) = self.suboffset(axis) else { return Ok(()) };
        let Some(carrier) = self.last.take() else {
            if !self.follows || self.behind.is_some() {
                return Err(cannot_drop(axis, index));
            }
            self.indirection.distances.push(std::mem::replace(&mut self.indirection.offset, suboffset));
            return Ok(());
        };
        self.result.suboffsets[carrier] = Some(suboffset);
        self.behind = Some(carrier);
        Ok(())
    }

    /// The suboffset of an axis of the source.
    #[inline]
    fn suboffset(&self, axis: usize) -> Option<isize> {
        self.source.suboffsets.get(axis).copied().flatten()
    }

    /// Keeps some indices of the next axis.
    #[inline]
    pub(super) fn range(&mut self, picked: Picked, step: isize) {
        let axis = self.input;
        self.input += 1;
        let stride = self.source.strides[axis];
        if picked.len != 0 {
            self.advance(picked.first * stride);
        }
        self.give(picked.len, stepped_stride(stride, step, picked.len));
        if let Some(suboffset) = self.suboffset(axis)
            && let Some(carrier) = self.last.take()
        {
            self.result.suboffsets[carrier] = Some(suboffset);
            self.behind = Some(carrier);
        }
    }

    /// Keeps the next axis whole.
    #[inline]
    pub(super) fn whole(&mut self) {
        let (_, len) = self.axis();
        self.range(Picked { first: 0, len }, 1);
    }

    /// Adds an axis of length 1.
    #[inline]
    pub(super) fn insert(&mut self) {
        self.give(1, 0);
    }

    /// The offset of element 0 of the result from that of the source.
    #[inline]
    pub(super) fn finish(self) -> isize {
        if self.nonempty { self.indirection.offset } else { 0 }
    }

    /// The way to element 0 of the result. Without elements, it is empty.
    pub(super) fn finish_indirection(self) -> Indirection {
        if self.nonempty { self.indirection } else { Indirection::default() }
    }

    /// Does not overflow: each sum is the offset of an index that exists on every axis so far, even
    /// in an empty array.
    #[inline]
    fn advance(&mut self, distance: isize) {
        match self.behind {
            None => self.indirection.offset += distance,
            Some(carrier) => {
                let suboffset = &mut self.result.suboffsets[carrier];
                *suboffset = Some(suboffset.unwrap_or(0) + distance);
            }
        }
    }

    #[inline]
    fn give(&mut self, len: usize, stride: isize) {
        self.result.shape[self.output] = len;
        self.result.strides[self.output] = stride;
        self.nonempty &= len != 0;
        self.last = Some(self.output);
        self.output += 1;
    }
}

#[cold]
#[inline(never)]
fn cannot_drop(axis: usize, index: isize) -> Error {
    Error::new(
        Kind::Layout,
        format!(
            "an index cannot drop axis {axis}, which dereferences a pointer; take the range {index}..{} of \
            it",
            index + 1
        ),
    )
}

/// The segment of an axis: the number of dereferences before it.
pub(super) fn segment(suboffsets: &[Option<isize>], axis: usize) -> usize {
    suboffsets[..axis].iter().flatten().count()
}

/// Checks invariant 5 of [`Layout`]: the elements after each dereference can be addressed from its
/// pointer.
pub(super) fn check_suboffsets(
    shape: &[usize],
    strides: &[isize],
    suboffsets: &[Option<isize>],
    itemsize: usize,
) -> Result<()> {
    let dereferences =
        suboffsets.iter().enumerate().filter_map(|(axis, &suboffset)| Some((axis, suboffset?)));
    for (axis, suboffset) in dereferences {
        let next = axis + 1;
        let end = suboffsets[next..].iter().position(Option::is_some).map(|k| next + k + 1);
        let size = if end.is_some() { size_of::<*const u8>() } else { itemsize };
        let range = next..end.unwrap_or(shape.len());
        // The lengths of an empty array count as they are, so that no later shape can reach
        // farther.
        let (mut low, mut high) = (Some(suboffset), suboffset.checked_add_unsigned(size));
        for (&len, &stride) in shape[range.clone()].iter().zip(&strides[range]).filter(|&(&len, _)| len > 1) {
            let reach = stride * (len - 1) as isize;
            if reach < 0 {
                low = low.and_then(|low| low.checked_add(reach));
            } else {
                high = high.and_then(|high| high.checked_add(reach));
            }
        }
        if low.is_none() || high.is_none() {
            return Err(Error::new(
                Kind::Overflow,
                format!(
                    "suboffset {suboffset} of axis {axis}, with shape {shape:?} and strides {strides:?} \
                    after it, reaches farther than {} bytes",
                    isize::MAX
                ),
            ));
        }
    }
    Ok(())
}
