//! Slices at run time, and the two ways to read them.
//!
//! **As in Rust** ([`Layout::slice`](crate::layout::Layout::slice),
//! [`FixedLayout::slice`](crate::layout::FixedLayout::slice), the macro [`s!`](crate::s)):
//! `a..b;step` selects the indices `a..b`. A negative bound counts from the end. A bound outside
//! the axis is an error; `a..b` with `b` before `a` is empty. A step of 2 takes every second of
//! these indices, beginning with the first; a step of -2 traverses the same range backwards,
//! beginning with the last.
//!
//! **As in NumPy** ([`Layout::slice_numpy`](crate::layout::Layout::slice_numpy)): bounds outside
//! the axis are clamped. With a negative step, `a` is the first index and `b` the exclusive end, so
//! `a` is the greater one. Text expressions and Python use this reading.
//!
//! Both refuse a step of 0 and an integer index outside the axis.

use crate::error::{Error, Kind, Result};
use crate::layout::inline_cut::InlineCut;

/// The selection from one axis, at run time.
///
/// ```
/// use crossdock::DArray;
/// use crossdock::layout::AxisSlice;
///
/// let array = DArray::from_vec((0..20).collect::<Vec<u8>>(), &[4, 5])?;
/// let every_second = AxisSlice::Range { start: None, stop: None, step: 2 };
/// let view = array.slice([AxisSlice::Index(-1), every_second])?;
/// assert_eq!((view.shape(), view.strides(), view.to_string()), (&[3][..], &[2][..], "[15 17 19]".into()));
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisSlice {
    /// One index, which drops the axis; a negative one counts from the end.
    Index(isize),
    /// A range of indices. `None` is the end of the axis at which the traversal begins or stops.
    Range {
        /// The first bound.
        start: Option<isize>,
        /// The second bound, not included.
        stop: Option<isize>,
        /// The step; not 0.
        step: isize,
    },
    /// A new axis of length 1 (with stride 0, as in NumPy); uses no axis of the source.
    NewAxis,
    /// All remaining axes, whole; at most one per list.
    Ellipsis,
}

impl AxisSlice {
    /// The whole axis.
    pub const ALL: Self = AxisSlice::Range { start: None, stop: None, step: 1 };
}

/// A list of slices, one per axis: the result of [`s!`](crate::s), or a slice, array or `Vec` of
/// [`AxisSlice`].
pub trait AxisList {
    /// Calls `f` with the list. May be called more than once for one slice: each call passes the
    /// same list.
    fn with_axes<R>(&self, f: impl FnOnce(&[AxisSlice]) -> R) -> R;

    /// Passes the items to a cut one by one.
    #[doc(hidden)]
    #[inline]
    fn cut_inline(&self, cut: &mut InlineCut<'_>) {
        self.with_axes(|axes| axes.iter().for_each(|&item| cut.item(item)));
    }
}

impl AxisList for [AxisSlice] {
    fn with_axes<R>(&self, f: impl FnOnce(&[AxisSlice]) -> R) -> R {
        f(self)
    }
}

impl<const N: usize> AxisList for [AxisSlice; N] {
    fn with_axes<R>(&self, f: impl FnOnce(&[AxisSlice]) -> R) -> R {
        f(self)
    }
}

impl AxisList for Vec<AxisSlice> {
    fn with_axes<R>(&self, f: impl FnOnce(&[AxisSlice]) -> R) -> R {
        f(self)
    }
}

impl<A: AxisList + ?Sized> AxisList for &A {
    fn with_axes<R>(&self, f: impl FnOnce(&[AxisSlice]) -> R) -> R {
        (**self).with_axes(f)
    }

    #[inline(always)]
    fn cut_inline(&self, cut: &mut InlineCut<'_>) {
        (**self).cut_inline(cut);
    }
}

/// The semantics of ranges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeSemantics {
    Rust,
    Numpy,
}

/// The indices `first, first + step, …` of one axis, `len` of them.
#[derive(Clone, Copy)]
pub(super) struct Picked {
    /// Meaningful if `len` is not 0.
    pub(super) first: isize,
    pub(super) len: usize,
}

/// One index of an axis of length `len`; `ok` becomes false if the index does not exist, and the
/// result is void.
#[inline(always)]
pub(super) fn pick_index(index: isize, len: usize, ok: &mut bool) -> isize {
    let index = if index < 0 { index + len as isize } else { index };
    *ok &= (index as usize) < len;
    index
}

/// A range as in Rust. One flag instead of an early return, so that several axes cost one branch.
#[inline(always)]
pub(super) fn pick(start: isize, stop: Option<isize>, step: isize, len: usize, ok: &mut bool) -> Picked {
    let len = len as isize;
    let a = if start < 0 { start + len } else { start };
    let b = match stop {
        None => len,
        Some(stop) => {
            if stop < 0 {
                stop + len
            } else {
                stop
            }
        }
    };
    *ok &= (a as usize <= len as usize) & (b as usize <= len as usize) & (step != 0);
    let width = b.wrapping_sub(a).max(0) as usize;
    let picked = if step == 1 { width } else { width.div_ceil(step.unsigned_abs().max(1)) };
    Picked { first: if step.is_negative() { b.wrapping_sub(1) } else { a }, len: picked }
}

/// A range as in Python, with the clamping of `slice.indices`; the step is not 0.
#[inline]
pub(super) fn pick_numpy(start: Option<isize>, stop: Option<isize>, step: isize, len: usize) -> Picked {
    let len = len as isize;
    // The bounds of the traversal in this direction.
    let is_backwards = step.is_negative();
    let (lowest, highest) = if is_backwards { (-1, len - 1) } else { (0, len) };
    let clamp = |bound: isize| (if bound < 0 { bound + len } else { bound }).clamp(lowest, highest);
    let (front, back) = if is_backwards { (highest, lowest) } else { (lowest, highest) };
    let (start, stop) = (start.map_or(front, clamp), stop.map_or(back, clamp));
    let width = (if is_backwards { start - stop } else { stop - start }).max(0) as usize;
    let len = if step == 1 { width } else { width.div_ceil(step.unsigned_abs()) };
    Picked { first: start, len }
}

/// Resolves one axis of a slice.
#[inline]
pub(super) fn resolve(
    reading: RangeSemantics,
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
    axis: usize,
    len: usize,
) -> Result<Picked> {
    let mut ok = step != 0;
    let picked = match reading {
        RangeSemantics::Numpy if ok => pick_numpy(start, stop, step, len),
        _ => pick(start.unwrap_or(0), stop, step, len, &mut ok),
    };
    if ok { Ok(picked) } else { Err(range_error(start, stop, step, axis, len)) }
}

#[cold]
#[inline(never)]
fn range_error(start: Option<isize>, stop: Option<isize>, step: isize, axis: usize, len: usize) -> Error {
    if step == 0 {
        return Error::new(
            Kind::Bounds,
            format!("the step of axis {axis} is 0; it must be positive or negative"),
        );
    }
    let text = |bound: Option<isize>| bound.map(|bound| bound.to_string()).unwrap_or_default();
    let range = format!("{}..{}", text(start), text(stop));
    Error::new(Kind::Bounds, format!("range {range} is out of bounds for axis {axis} of length {len}"))
}

#[inline]
pub(super) fn resolve_index(index: isize, axis: usize, len: usize) -> Result<isize> {
    let mut ok = true;
    let picked = pick_index(index, len, &mut ok);
    if ok { Ok(picked) } else { Err(index_error(index, axis, len)) }
}

#[cold]
#[inline(never)]
fn index_error(index: isize, axis: usize, len: usize) -> Error {
    Error::new(Kind::Bounds, format!("index {index} is out of bounds for axis {axis} of length {len}"))
}

/// The first error in a slice of static rank. Called when the flag of [`pick`] is false.
#[cold]
#[inline(never)]
pub(super) fn slice_error(shape: &[usize], axes: &[AxisSlice]) -> Error {
    let mut lengths = shape.iter().copied().enumerate();
    for slice in axes {
        let found = match *slice {
            AxisSlice::NewAxis | AxisSlice::Ellipsis => continue,
            AxisSlice::Index(index) => {
                lengths.next().map(|(axis, len)| resolve_index(index, axis, len).map(drop))
            }
            AxisSlice::Range { start, stop, step } => lengths
                .next()
                .map(|(axis, len)| resolve(RangeSemantics::Rust, start, stop, step, axis, len).map(drop)),
        };
        if let Some(Err(error)) = found {
            return error;
        }
    }
    Error::new(Kind::Bounds, format!("slice {axes:?} is out of bounds for shape {shape:?}"))
}

/// The stride after slicing. An empty axis keeps its stride, as in NumPy. The product can wrap only
/// if the axis keeps one index, which is never multiplied by it.
#[inline(always)]
pub(super) fn stepped_stride(stride: isize, step: isize, len: usize) -> isize {
    if len == 0 { stride } else { stride.wrapping_mul(step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(start: Option<isize>, stop: Option<isize>, step: isize, len: usize) -> Option<Vec<isize>> {
        resolve(RangeSemantics::Rust, start, stop, step, 0, len).ok().map(|picked| walk(picked, step))
    }

    fn numpy(start: Option<isize>, stop: Option<isize>, step: isize, len: usize) -> Option<Vec<isize>> {
        resolve(RangeSemantics::Numpy, start, stop, step, 0, len).ok().map(|picked| walk(picked, step))
    }

    fn walk(picked: Picked, step: isize) -> Vec<isize> {
        (0..picked.len as isize).map(|k| picked.first + k * if picked.len > 1 { step } else { 0 }).collect()
    }

    #[test]
    fn a_negative_step_walks_the_same_set_from_its_back() {
        assert_eq!(rust(Some(1), Some(5), 2, 6), Some(vec![1, 3]));
        assert_eq!(rust(Some(1), Some(5), -2, 6), Some(vec![4, 2]));
        assert_eq!(rust(None, None, -1, 3), Some(vec![2, 1, 0]));
        assert_eq!(rust(Some(-2), None, 1, 6), Some(vec![4, 5]));
        assert_eq!(rust(Some(4), Some(2), 1, 6), Some(vec![]));
    }

    #[test]
    fn numpy_clamps_and_begins_where_it_says() {
        assert_eq!(numpy(Some(4), Some(1), -2, 6), Some(vec![4, 2]));
        assert_eq!(numpy(Some(100), None, -1, 3), Some(vec![2, 1, 0]));
        assert_eq!(numpy(Some(-100), Some(100), 2, 3), Some(vec![0, 2]));
        assert_eq!(numpy(Some(1), Some(4), -1, 6), Some(vec![]));
        assert_eq!(numpy(Some(isize::MAX), Some(isize::MIN), isize::MIN, 3), Some(vec![2]));
        assert_eq!(numpy(None, None, -1, 0), Some(vec![]));
    }

    #[test]
    fn extreme_bounds_and_steps_are_refused_or_exact() {
        for bound in [isize::MIN, isize::MIN + 1, -4, 4, isize::MAX] {
            assert_eq!(rust(Some(bound), None, 1, 3), None, "{bound}");
            assert_eq!(rust(None, Some(bound), 1, 3), None, "{bound}");
            assert!(resolve_index(bound, 0, 3).unwrap_err().is_bounds());
        }
        assert_eq!(rust(None, None, isize::MIN, 3), Some(vec![2]));
        assert_eq!(rust(None, None, isize::MAX, 3), Some(vec![0]));
        assert_eq!(rust(None, None, 0, 3), None);
        assert_eq!(numpy(None, None, 0, 3), None);
        assert!(resolve_index(0, 0, 0).is_err());
    }

    #[test]
    fn the_error_names_axis_range_and_length() {
        let axes = [
            AxisSlice::Index(0),
            AxisSlice::NewAxis,
            AxisSlice::Range { start: Some(2), stop: Some(9), step: 1 },
        ];
        let said = |axes: &[AxisSlice]| slice_error(&[3, 5], axes).to_string();
        assert_eq!(
            said(&[AxisSlice::ALL, AxisSlice::Index(5)]),
            "index 5 is out of bounds for axis 1 of length 5"
        );
        let standing = AxisSlice::Range { start: None, stop: None, step: 0 };
        assert_eq!(
            said(&[AxisSlice::Index(-3), standing]),
            "the step of axis 1 is 0; it must be positive or negative"
        );
        assert_eq!(
            slice_error(&[3, 5], &axes).to_string(),
            "range 2..9 is out of bounds for axis 1 of length 5"
        );
    }
}
