//! Slices of static rank: the macro `s!` and its types.
//!
//! `s![a, b, c]` is a list of types `(A, (B, (C, ())))`. The type of every item gives the number of
//! axes that it takes from the source and leaves in the result; the sums over the list are the two
//! ranks. So a slice of the wrong rank does not compile, the rank of the result is inferred, and
//! each axis is resolved by code for its own type.
//!
//! Functions build the list instead of a chain of methods, because a method cannot be called on an
//! integer literal whose type is inferred later.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::error::Result;
use crate::layout::inline_cut::InlineCut;
use crate::layout::slice::{AxisList, AxisSlice, pick, pick_index, slice_error, stepped_stride};

/// Describes a view of an array, one item per axis, for [`Array::slice`](crate::Array::slice) and
/// similar methods.
///
/// | item | meaning | axis |
/// |---|---|---|
/// | `3`, `-1` | one index; negative ones count from the end | dropped |
/// | `..`, `1..`, `..-1`, `2..5`, `..=3` | a range of indices | kept |
/// | `1..9;2` | every second index of the range, from its front | kept |
/// | `1..9;-2` | every second index of the range, from its back | kept |
/// | [`NewAxis`] | an axis of length 1 | added |
/// | [`Ellipsis`] | the axes not named; only for arrays of dynamic rank | kept |
///
/// A bound outside the axis is an error; it is not clamped. Indices are `i32` (so literals need no
/// suffix), `isize` or `usize`. (Clippy reports a literal `1..-1` as `reversed_empty_ranges`; it
/// cannot know that -1 counts from the end.)
///
/// ```
/// use crossdock::layout::NewAxis;
/// use crossdock::{Array, s};
///
/// let array = Array::from_vec((0..120).collect::<Vec<u8>>(), [4, 5, 6])?;
/// let view = array.slice(s![-1, ..;-2, NewAxis, 1..=3])?;
/// assert_eq!((view.shape(), view.strides(), view.get([0, 0, 0])?), (&[3, 1, 3], &[-12, 0, 1], 90 + 24 + 1));
/// assert!(array.slice(s![.., .., 7]).unwrap_err().is_bounds());
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// The rank is part of the type:
///
/// ```compile_fail,E0271
/// use crossdock::{Array, s};
///
/// let array = Array::<u8, 3>::zeros([4, 5, 6])?;
/// let _ = array.slice(s![0, ..]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    (@) => { () };
    (@ $range:expr ; $step:expr) => { ($crate::layout::stepped($range, $step), ()) };
    (@ $range:expr ; $step:expr, $($rest:tt)*) => {
        ($crate::layout::stepped($range, $step), $crate::s!(@ $($rest)*))
    };
    (@ $item:expr) => { ($item, ()) };
    (@ $item:expr, $($rest:tt)*) => { ($item, $crate::s!(@ $($rest)*)) };
    ($($items:tt)*) => { $crate::layout::slices($crate::s!(@ $($items)*)) };
}

/// The result of [`s!`](crate::s).
#[derive(Clone, Debug)]
pub struct Slices<A>(A);

/// Wraps the list of the macro [`s!`](crate::s).
#[inline(always)]
pub fn slices<A>(items: A) -> Slices<A> {
    Slices(items)
}

/// A range with a step, `1..9;2` in [`s!`](crate::s).
#[derive(Clone, Debug)]
pub struct Stepped<R> {
    range: R,
    step: isize,
}

/// The function that the macro [`s!`](crate::s) calls for `range;step`.
#[inline(always)]
pub fn stepped<R>(range: R, step: isize) -> Stepped<R> {
    Stepped { range, step }
}

/// Adds an axis of length 1, as an item of [`s!`](crate::s).
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// Stands for all axes not named, as an item of [`s!`](crate::s) for dynamic ranks.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

/// An item of [`s!`](crate::s). Sealed.
pub trait AxisItem: sealed::Sealed {
    /// The item as a run-time slice.
    fn to_axis(&self) -> AxisSlice;
}

/// An item of [`s!`](crate::s) with static numbers of axes taken and left. Sealed.
pub trait AxisArg: AxisItem {
    /// The number of axes of the source that it takes, as a type.
    type Takes;
    /// The number of axes that it leaves in the result, as a type.
    type Gives;
    #[doc(hidden)]
    fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut Cutter<'_, D, OUT>);
}

/// A slice of an array of rank `D` whose result has rank `OUT`. Sealed: made by [`s!`](crate::s).
pub trait SliceSpec<const D: usize, const OUT: usize>: sealed::Sealed {
    /// Shape and strides of the view, and the distance of its element 0 from that of the source, in
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`is_bounds`](crate::Error::is_bounds), naming axis, index or range, and length.
    #[doc(hidden)]
    fn apply(&self, shape: &[usize; D], strides: &[isize; D]) -> Result<([usize; OUT], [isize; OUT], isize)>;
}

mod sealed {
    pub trait Sealed {}

    /// The list of items of `s!`.
    pub trait Items {
        /// The length of the list.
        const LEN: usize;
        fn each(&self, f: &mut impl FnMut(super::AxisSlice));
        fn cut_inline(&self, cut: &mut super::InlineCut<'_>);
    }

    /// A list of items of static rank.
    pub trait Args: Items {
        type Takes;
        type Gives;
        fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut super::Cutter<'_, D, OUT>);
    }

    /// A number as a type.
    #[derive(Debug)]
    pub struct Rank<const N: usize>;

    /// The sum of two numbers as types. Const generics cannot add yet, so there is a table.
    pub trait Plus<N> {
        type Sum;
    }
}

use sealed::{Args, Items, Plus, Rank, Sealed};

/// The maximum number of items in one `s!`; more do not compile.
const MAX_ITEMS: usize = 24;

impl<const N: usize> Plus<Rank<0>> for Rank<N> {
    type Sum = Rank<N>;
}

macro_rules! plus_one {
    ($($n:literal)*) => { $(impl Plus<Rank<1>> for Rank<$n> { type Sum = Rank<{ $n + 1 }>; })* };
}
plus_one!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);

/// Collects the axes of the result. Its counters are constants once everything is inlined.
#[doc(hidden)]
#[derive(Debug)]
pub struct Cutter<'a, const D: usize, const OUT: usize> {
    source_shape: &'a [usize; D],
    source_strides: &'a [isize; D],
    input: usize,
    output: usize,
    shape: [usize; OUT],
    strides: [isize; OUT],
    offset: isize,
    /// Whether all indices exist; checked once, at the end.
    ok: bool,
    nonempty: bool,
}

impl<const D: usize, const OUT: usize> Cutter<'_, D, OUT> {
    #[inline(always)]
    fn take(&mut self) -> (usize, isize) {
        let axis = (self.source_shape[self.input], self.source_strides[self.input]);
        self.input += 1;
        axis
    }

    #[inline(always)]
    fn give(&mut self, len: usize, stride: isize) {
        self.shape[self.output] = len;
        self.strides[self.output] = stride;
        self.nonempty &= len != 0;
        self.output += 1;
    }

    // Products and sums wrap only if `ok` or `nonempty` becomes false, and then they are not used.
    #[inline(always)]
    fn index(&mut self, index: isize) {
        let (len, stride) = self.take();
        let index = pick_index(index, len, &mut self.ok);
        self.offset = self.offset.wrapping_add(index.wrapping_mul(stride));
    }

    #[inline(always)]
    fn range(&mut self, start: isize, stop: Option<isize>, step: isize) {
        let (len, stride) = self.take();
        let picked = pick(start, stop, step, len, &mut self.ok);
        self.offset = self.offset.wrapping_add(picked.first.wrapping_mul(stride));
        self.give(picked.len, stepped_stride(stride, step, picked.len));
    }

    #[inline(always)]
    fn insert(&mut self) {
        self.give(1, 0);
    }
}

impl<A> Sealed for Slices<A> {}

impl<A, const D: usize, const OUT: usize> SliceSpec<D, OUT> for Slices<A>
where
    A: Args<Takes = Rank<D>, Gives = Rank<OUT>>,
{
    #[inline(always)]
    fn apply(&self, shape: &[usize; D], strides: &[isize; D]) -> Result<([usize; OUT], [isize; OUT], isize)> {
        let mut cutter = Cutter {
            source_shape: shape,
            source_strides: strides,
            input: 0,
            output: 0,
            shape: [0; OUT],
            strides: [0; OUT],
            offset: 0,
            ok: true,
            nonempty: true,
        };
        self.0.cut(&mut cutter);
        if !cutter.ok {
            return Err(self.with_axes(|axes| slice_error(shape, axes)));
        }
        let offset = if cutter.nonempty { cutter.offset } else { 0 };
        Ok((cutter.shape, cutter.strides, offset))
    }
}

impl<A: Items> AxisList for Slices<A> {
    fn with_axes<R>(&self, f: impl FnOnce(&[AxisSlice]) -> R) -> R {
        const { assert!(A::LEN <= MAX_ITEMS, "at most 24 items in one s!") };
        // Filling an array of the maximum size would cost more than the slice.
        match A::LEN {
            0..=4 => collect::<A, 4, R>(&self.0, f),
            5..=8 => collect::<A, 8, R>(&self.0, f),
            _ => collect::<A, MAX_ITEMS, R>(&self.0, f),
        }
    }

    #[inline(always)]
    fn cut_inline(&self, cut: &mut InlineCut<'_>) {
        self.0.cut_inline(cut);
    }
}

#[inline]
fn collect<A: Items, const N: usize, R>(items: &A, f: impl FnOnce(&[AxisSlice]) -> R) -> R {
    let mut axes = [AxisSlice::NewAxis; N];
    let mut count = 0;
    items.each(&mut |axis| {
        if let Some(free) = axes.get_mut(count) {
            *free = axis;
            count += 1;
        }
    });
    f(&axes[..count])
}

impl Items for () {
    const LEN: usize = 0;
    #[inline(always)]
    fn each(&self, _: &mut impl FnMut(AxisSlice)) {}
    #[inline(always)]
    fn cut_inline(&self, _: &mut InlineCut<'_>) {}
}

impl Args for () {
    type Takes = Rank<0>;
    type Gives = Rank<0>;
    #[inline(always)]
    fn cut<const D: usize, const OUT: usize>(&self, _: &mut Cutter<'_, D, OUT>) {}
}

impl<H: AxisItem, T: Items> Items for (H, T) {
    const LEN: usize = 1 + T::LEN;
    #[inline(always)]
    fn each(&self, f: &mut impl FnMut(AxisSlice)) {
        f(self.0.to_axis());
        self.1.each(f);
    }
    #[inline(always)]
    fn cut_inline(&self, cut: &mut InlineCut<'_>) {
        cut.item(self.0.to_axis());
        self.1.cut_inline(cut);
    }
}

impl<H, T> Args for (H, T)
where
    H: AxisArg,
    T: Args,
    T::Takes: Plus<H::Takes>,
    T::Gives: Plus<H::Gives>,
{
    type Takes = <T::Takes as Plus<H::Takes>>::Sum;
    type Gives = <T::Gives as Plus<H::Gives>>::Sum;
    #[inline(always)]
    fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut Cutter<'_, D, OUT>) {
        self.0.cut(cutter);
        self.1.cut(cutter);
    }
}

/// An integer type that `s!` accepts.
trait Int: Copy {
    fn bound(self) -> isize;
}

impl Int for i32 {
    #[inline(always)]
    fn bound(self) -> isize {
        self as isize
    }
}

impl Int for isize {
    #[inline(always)]
    fn bound(self) -> isize {
        self
    }
}

impl Int for usize {
    /// A number beyond every axis becomes one that is out of bounds for every axis.
    #[inline(always)]
    fn bound(self) -> isize {
        isize::try_from(self).unwrap_or(isize::MIN)
    }
}

/// The bound after an inclusive last index: `..=k` is `..k + 1`. After -1, the last index, it is
/// `None`; a bound that is out of bounds for every axis stays so.
#[inline(always)]
fn after(last: isize) -> Option<isize> {
    match last {
        -1 => None,
        isize::MAX | isize::MIN => Some(isize::MIN),
        last => Some(last + 1),
    }
}

macro_rules! index_item {
    ($($int:ty)*) => { $(
        impl Sealed for $int {}
        impl AxisItem for $int {
            #[inline]
            fn to_axis(&self) -> AxisSlice {
                AxisSlice::Index(self.bound())
            }
        }
        impl AxisArg for $int {
            type Takes = Rank<1>;
            type Gives = Rank<0>;
            #[inline(always)]
            fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut Cutter<'_, D, OUT>) {
                cutter.index(self.bound());
            }
        }
    )* };
}
index_item!(i32 isize usize);

/// The two bounds of a range that `s!` accepts.
trait Bounds {
    /// A missing start is 0 for every step, because a range always lists its indices from the
    /// front.
    fn bounds(&self) -> (isize, Option<isize>);
}

macro_rules! range_item {
    ($([$($generic:ident)?] $range:ty: $this:ident => $bounds:expr;)*) => { $(
        impl$(<$generic: Int>)? Sealed for $range {}
        impl$(<$generic: Int>)? Bounds for $range {
            #[inline(always)]
            fn bounds(&self) -> (isize, Option<isize>) {
                let $this = self;
                $bounds
            }
        }
        impl$(<$generic: Int>)? AxisItem for $range {
            #[inline]
            fn to_axis(&self) -> AxisSlice {
                let (start, stop) = self.bounds();
                AxisSlice::Range { start: Some(start), stop, step: 1 }
            }
        }
        impl$(<$generic: Int>)? AxisArg for $range {
            type Takes = Rank<1>;
            type Gives = Rank<1>;
            #[inline(always)]
            fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut Cutter<'_, D, OUT>) {
                let (start, stop) = self.bounds();
                cutter.range(start, stop, 1);
            }
        }
    )* };
}
range_item! {
    [] RangeFull: _range => (0, None);
    [I] Range<I>: range => (range.start.bound(), Some(range.end.bound()));
    [I] RangeFrom<I>: range => (range.start.bound(), None);
    [I] RangeTo<I>: range => (0, Some(range.end.bound()));
    [I] RangeInclusive<I>: range => (range.start().bound(), after(range.end().bound()));
    [I] RangeToInclusive<I>: range => (0, after(range.end.bound()));
}

impl<R> Sealed for Stepped<R> {}

impl<R: Bounds> AxisItem for Stepped<R> {
    #[inline]
    fn to_axis(&self) -> AxisSlice {
        let (start, stop) = self.range.bounds();
        AxisSlice::Range { start: Some(start), stop, step: self.step }
    }
}

impl<R: Bounds> AxisArg for Stepped<R> {
    type Takes = Rank<1>;
    type Gives = Rank<1>;
    #[inline(always)]
    fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut Cutter<'_, D, OUT>) {
        let (start, stop) = self.range.bounds();
        cutter.range(start, stop, self.step);
    }
}

impl Sealed for NewAxis {}

impl AxisItem for NewAxis {
    #[inline]
    fn to_axis(&self) -> AxisSlice {
        AxisSlice::NewAxis
    }
}

impl AxisArg for NewAxis {
    type Takes = Rank<0>;
    type Gives = Rank<1>;
    #[inline(always)]
    fn cut<const D: usize, const OUT: usize>(&self, cutter: &mut Cutter<'_, D, OUT>) {
        cutter.insert();
    }
}

impl Sealed for Ellipsis {}

impl AxisItem for Ellipsis {
    #[inline]
    fn to_axis(&self) -> AxisSlice {
        AxisSlice::Ellipsis
    }
}

impl Sealed for AxisSlice {}

impl AxisItem for AxisSlice {
    #[inline]
    fn to_axis(&self) -> AxisSlice {
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{FixedLayout, Order};

    fn axes(slices: impl AxisList) -> Vec<AxisSlice> {
        slices.with_axes(<[_]>::to_vec)
    }

    fn range(start: isize, stop: impl Into<Option<isize>>, step: isize) -> AxisSlice {
        AxisSlice::Range { start: Some(start), stop: stop.into(), step }
    }

    #[test]
    fn every_kind_of_item_means_what_its_table_says() {
        let (from, to) = (2usize, -1isize);
        assert_eq!(axes(s![]), []);
        assert_eq!(
            axes(s![3, -1, from, to, .., 1.., ..-1, 2..5, ..=3,]),
            [
                AxisSlice::Index(3),
                AxisSlice::Index(-1),
                AxisSlice::Index(2),
                AxisSlice::Index(-1),
                range(0, None, 1),
                range(1, None, 1),
                range(0, -1, 1),
                range(2, 5, 1),
                range(0, 4, 1),
            ]
        );
        assert_eq!(
            axes(s![1..9;2, 1..;-2, ..=-2;3, 1..=to, NewAxis, Ellipsis]),
            [
                range(1, 9, 2),
                range(1, None, -2),
                range(0, -1, 3),
                range(1, None, 1),
                AxisSlice::NewAxis,
                AxisSlice::Ellipsis
            ]
        );
        assert_eq!(axes(s![.., .., .., .., .., .., .., .., 0]).len(), 9);
    }

    #[test]
    fn what_no_axis_can_be_long_enough_for_is_out_of_bounds_of_every_axis() {
        // The longest possible axis.
        let longest = FixedLayout::new([isize::MAX as usize], [0], 1).unwrap();
        let last = isize::MAX as usize - 1;
        assert_eq!(longest.slice(s![..=last]).unwrap().0.shape(), &[isize::MAX as usize]);
        assert!(longest.slice(s![..=isize::MAX]).unwrap_err().is_bounds());
        assert!(longest.slice(s![..=usize::MAX]).unwrap_err().is_bounds());
        assert!(longest.slice(s![..usize::MAX]).unwrap_err().is_bounds());
        assert!(longest.slice(s![isize::MIN]).unwrap_err().is_bounds());
        assert!(longest.slice(s![usize::MAX]).unwrap_err().is_bounds());
    }

    #[test]
    fn the_rank_of_the_result_is_inferred_through_generic_code() {
        fn offset<const D: usize, const OUT: usize>(
            layout: &FixedLayout<D>,
            slices: impl SliceSpec<D, OUT>,
            index: [usize; OUT],
        ) -> isize {
            let (view, offset) = layout.slice(slices).unwrap();
            offset + view.offset_of(index).unwrap()
        }
        let layout = FixedLayout::contiguous([4, 5, 6], 1, Order::RowMajor).unwrap();
        assert_eq!(offset(&layout, s![1, ..;-1, 2..], [0, 3]), 30 + 24 + 5);
        // The type of an integer literal is inferred last, but methods of the result must resolve
        // before that.
        let (view, _) = layout.slice(s![0, .., 0]).unwrap();
        assert_eq!(view.transpose().permute([0]).unwrap().offset_of([2]).unwrap(), 12);
    }

    #[test]
    fn an_empty_result_does_not_move() {
        let layout = FixedLayout::contiguous([4, 5], 8, Order::RowMajor).unwrap();
        assert_eq!(layout.slice(s![3.., 5..]).unwrap().1, 0);
        let empty = FixedLayout::new([0, 5], [40, 8], 8).unwrap();
        assert_eq!(empty.slice(s![.., 3..]).unwrap().1, 0);
        assert_eq!(empty.reverse(1).unwrap().1, 0);
        assert_eq!(empty.drop_axis::<1>(1, 4).unwrap().1, 0);
    }

    #[test]
    fn a_refusal_says_which_axis_and_which_numbers() {
        let layout = FixedLayout::contiguous([4, 5], 8, Order::RowMajor).unwrap();
        let refused = |result: Result<(FixedLayout<1>, isize)>| result.unwrap_err().to_string();
        assert_eq!(refused(layout.slice(s![4, ..])), "index 4 is out of bounds for axis 0 of length 4");
        assert_eq!(refused(layout.slice(s![0, 2..6])), "range 2..6 is out of bounds for axis 1 of length 5");
        assert_eq!(
            refused(layout.slice(s![..;0, 1])),
            "the step of axis 0 is 0; it must be positive or negative"
        );
    }
}
