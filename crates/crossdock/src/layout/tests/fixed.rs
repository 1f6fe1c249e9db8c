//! Layouts of static rank behave like those of dynamic rank, which the oracle checks: same views,
//! same errors, same texts.

use std::fmt::Debug;

use crate::layout::{AxisList, FixedLayout, Layout, NewAxis, Order, Parts, SliceSpec};
use crate::{Result, s};
use crossdock_testkit::{cases, generate, seed};
use fastrand::Rng;

const CASES: usize = 4_500;

fn text<T>(result: Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{error:?}"))
}

struct Pair<'a, const D: usize> {
    fixed: FixedLayout<D>,
    layout: &'a Layout,
}

impl<const D: usize> Pair<'_, D> {
    fn same<const E: usize>(&self, what: impl Debug, fixed: Result<FixedLayout<E>>, layout: Result<Layout>) {
        let fixed = fixed.and_then(|fixed| fixed.to_dynamic(self.layout.itemsize()));
        assert_eq!(text(fixed), text(layout), "{what:?} of {:?}", self.layout);
    }

    fn same_move<const E: usize>(
        &self,
        what: impl Debug,
        fixed: Result<(FixedLayout<E>, isize)>,
        layout: Result<(Layout, isize)>,
    ) {
        let fixed = fixed.and_then(|(fixed, offset)| Ok((fixed.to_dynamic(self.layout.itemsize())?, offset)));
        assert_eq!(text(fixed), text(layout), "{what:?} of {:?}", self.layout);
    }

    fn slice<S: SliceSpec<D, OUT> + AxisList + Debug, const OUT: usize>(&self, slices: S) {
        let layout = self.layout.slice(&slices);
        let what = format!("{slices:?}");
        self.same_move(what, self.fixed.slice(slices), layout);
    }

    fn queries(&self, rng: &mut Rng) {
        let (fixed, layout, itemsize) = (&self.fixed, self.layout, self.layout.itemsize());
        assert_eq!(layout.to_fixed::<D>().expect("this rank"), *fixed);
        assert!(layout.to_fixed::<9>().unwrap_err().is_shape());
        assert_eq!((fixed.len(), fixed.nbytes(itemsize)), (layout.len(), layout.nbytes()));
        assert_eq!(fixed.span(itemsize), layout.span());
        assert_eq!(fixed.order(itemsize), layout.order());
        assert_eq!(fixed.is_injective(itemsize), layout.is_injective());
        assert_eq!(fixed.is_aligned(4), layout.is_aligned(4));
        assert!(fixed.offsets().eq(layout.offsets().expect("direct")));
        for order in [Order::RowMajor, Order::ColumnMajor] {
            assert_eq!(fixed.is_contiguous(itemsize, order), layout.is_contiguous(order));
        }
        for _ in 0..4 {
            let index = std::array::from_fn(|axis| rng.usize(0..=layout.shape()[axis]));
            assert_eq!(text(fixed.offset_of(index)), text(layout.offset_of(&index)));
            if let Some(offset) = fixed.checked_offset(index) {
                assert_eq!(fixed.offset_at(index), offset);
            }
        }
    }

    fn operations(&self, rng: &mut Rng) {
        let (fixed, layout, itemsize) = (&self.fixed, self.layout, self.layout.itemsize());
        self.same("same", Ok(*fixed), Ok(layout.clone()));
        self.same("normalized", Ok(fixed.normalized(itemsize)), Ok(layout.normalized()));
        for order in [Order::RowMajor, Order::ColumnMajor] {
            let contiguous = FixedLayout::contiguous(*fixed.shape(), itemsize, order);
            self.same(order, contiguous, Layout::contiguous(layout.shape(), itemsize, order));
        }
        if let Ok(axes) = generate::axes(rng, D).try_into() {
            self.same(axes, fixed.permute(axes), layout.permute(&axes));
        }
        self.same("transpose", Ok(fixed.transpose()), layout.transpose());
        for axis in 0..=D {
            self.same_move(axis, fixed.reverse(axis), layout.reverse(axis));
        }
        for _ in 0..3 {
            let (a, b) = generate::two_axes(rng, D);
            self.same((a, b), fixed.swap_axes(a, b), layout.swap_axes(a, b));
            self.same((a, b), fixed.move_axis(a, b), layout.move_axis(a, b));
            let (start, end) = (rng.usize(0..5), rng.usize(0..5));
            self.same_move(a, fixed.slice_axis(a, start..end), layout.slice_axis(a, start..end));
            let split = |at: Result<(Layout, Layout, isize)>| text(at);
            let both = fixed.split_at(a, start).and_then(|(before, behind, offset)| {
                Ok((before.to_dynamic(itemsize)?, behind.to_dynamic(itemsize)?, offset))
            });
            assert_eq!(split(both), split(layout.split_at(a, start)));
        }
        for new in [1, 2, 3, 8, 0] {
            let fixed = fixed.with_itemsize(itemsize, new).and_then(|fixed| fixed.to_dynamic(new));
            assert_eq!(text(fixed), text(layout.with_itemsize(new)), "{new} of {layout:?}");
        }
        self.walks();
        self.reshape::<1>(rng);
        self.reshape::<2>(rng);
        self.reshape::<3>(rng);
        self.reshape::<4>(rng);
        self.reshape::<6>(rng);
    }

    fn reshape<const E: usize>(&self, rng: &mut Rng) {
        let (fixed, layout, itemsize) = (&self.fixed, self.layout, self.layout.itemsize());
        if let Ok(shape) = <[usize; E]>::try_from(generate::reshape_shape(rng, layout.shape())) {
            for order in [Order::RowMajor, Order::ColumnMajor] {
                self.same(shape, fixed.reshape(shape, itemsize, order), layout.reshape(&shape, order));
            }
        }
        if let Ok(shape) = <[usize; E]>::try_from(generate::broadcast_shape(rng, layout.shape())) {
            self.same(shape, fixed.broadcast_to(shape, itemsize), layout.broadcast_to(&shape));
        }
    }

    /// Iteration over parts and indices yields the same offsets.
    fn walks(&self) {
        let (fixed, layout) = (&self.fixed, self.layout);
        let offsets: Vec<isize> = fixed.offsets().collect();
        let indexed: Vec<_> = fixed.indexed_offsets().collect();
        assert!(indexed.iter().map(|(_, offset)| *offset).eq(offsets.iter().copied()), "{layout:?}");
        assert!(indexed.iter().all(|(index, offset)| fixed.offset_of(*index).is_ok_and(|at| at == *offset)));
        assert!(indexed.windows(2).all(|pair| pair[0].0 < pair[1].0), "{layout:?}");
        assert!(fixed.indexed_offsets().rev().eq(indexed.into_iter().rev()), "{layout:?}");
        for axis in 0..D {
            let len = fixed.shape()[axis];
            let lanes = fixed.lanes(axis).expect("an axis");
            let others: usize = (0..D).filter(|&k| k != axis).map(|k| fixed.shape()[k]).product();
            assert_eq!(lanes.count(), others, "{layout:?}");
            let moved = fixed.move_axis(axis, D - 1).expect("axes");
            let by_lane: Vec<isize> = parts(&lanes).collect();
            assert!(by_lane.iter().copied().eq(moved.offsets()), "lanes along {axis} of {layout:?}");
            let chunks = fixed.axis_chunks(axis, 3).expect("an axis");
            assert_eq!(chunks.count(), len.div_ceil(3), "{layout:?}");
            let first = fixed.move_axis(axis, 0).expect("axes");
            let by_chunk = (0..chunks.count()).flat_map(|k| {
                let (part, offset) = chunks.part(k);
                assert_eq!(part.shape()[axis], (len - 3 * k).min(3));
                let part = part.move_axis(axis, 0).expect("axes");
                part.offsets().map(move |at| offset + at).collect::<Vec<_>>()
            });
            assert!(by_chunk.eq(first.offsets()), "chunks of {axis} of {layout:?}");
        }
        assert!(fixed.lanes(D).unwrap_err().is_bounds() && fixed.axis_chunks(D, 1).unwrap_err().is_bounds());
    }

    fn tiles<const TWICE: usize>(&self, rng: &mut Rng) {
        let (fixed, layout, itemsize) = (&self.fixed, self.layout, self.layout.itemsize());
        for _ in 0..3 {
            if let Ok(window) = <[usize; D]>::try_from(generate::window(rng, layout.shape())) {
                self.same(window, fixed.windows::<TWICE>(window, itemsize), layout.windows(&window));
            }
            if let Ok(block) = <[usize; D]>::try_from(generate::block(rng, layout.shape())) {
                self.same(block, fixed.blocks::<TWICE>(block, itemsize), layout.blocks(&block));
            }
        }
    }

    /// Operations that remove an axis.
    fn narrower<const DOWN: usize>(&self, rng: &mut Rng) {
        let (fixed, layout) = (&self.fixed, self.layout);
        for _ in 0..4 {
            let (first, second) = generate::two_axes(rng, D);
            let offset = rng.isize(-3..=3);
            let what = (first, second, offset);
            let got = fixed.diagonal::<DOWN>(first, second, offset);
            self.same_move(what, got, layout.diagonal(first, second, offset));
        }
        for axis in 0..D {
            let indices = fixed.axis_parts::<DOWN>(axis).expect("an axis");
            assert_eq!(indices.count(), fixed.shape()[axis]);
            for k in 0..indices.count() {
                self.same_move((axis, k), Ok(indices.part(k)), layout.drop_axis(axis, k));
            }
        }
        assert!(fixed.axis_parts::<DOWN>(D).unwrap_err().is_bounds());
        let squeezed = layout.squeeze().expect("direct");
        match fixed.squeeze::<DOWN>() {
            Ok(fixed) => assert_eq!(fixed.to_dynamic(layout.itemsize()).expect("valid"), squeezed),
            Err(error) => assert!(error.is_shape() && squeezed.rank() != DOWN, "{error}"),
        }
        assert_eq!(fixed.squeeze::<D>().is_ok(), squeezed.rank() == D);
    }

    fn add_and_drop<const UP: usize>(&self, rng: &mut Rng) {
        for axis in 0..=D + 1 {
            let wider = self.fixed.insert_axis::<UP>(axis);
            let wide = wider.as_ref().ok().copied();
            self.same(axis, wider, self.layout.insert_axis(axis));
            let Some(fixed) = wide else { continue };
            let layout = fixed.to_dynamic(self.layout.itemsize()).expect("valid");
            let wide = Pair { fixed, layout: &layout };
            for dropped in 0..=UP {
                let index = if rng.usize(0..9) == 0 { usize::MAX } else { rng.usize(0..2) };
                let what = (dropped, index);
                wide.same_move(what, fixed.drop_axis::<D>(dropped, index), layout.drop_axis(dropped, index));
            }
        }
    }
}

/// The offsets of all elements of all parts, in their order.
fn parts<P: Parts<E>, const E: usize>(parts: &P) -> impl Iterator<Item = isize> {
    (0..parts.count()).flat_map(|k| {
        let (part, offset) = parts.part(k);
        part.offsets().map(move |at| offset + at).collect::<Vec<_>>()
    })
}

/// Random arguments for `s!`, mostly inside.
struct Arguments<'a> {
    rng: &'a mut Rng,
    shape: Vec<usize>,
}

impl Arguments<'_> {
    /// An index.
    fn i(&mut self, axis: usize) -> isize {
        let len = self.shape[axis] as isize;
        let outside = isize::from(len == 0 || self.rng.usize(0..20) == 0);
        self.rng.isize(-len - outside..len + outside)
    }

    /// A bound.
    fn b(&mut self, axis: usize) -> isize {
        let len = self.shape[axis] as isize;
        let outside = isize::from(self.rng.usize(0..20) == 0);
        self.rng.isize(-len - outside..=len + outside)
    }

    /// A bound counted from the front.
    fn u(&mut self, axis: usize) -> usize {
        self.rng.usize(0..=self.shape[axis])
    }

    /// A step.
    fn t(&mut self) -> isize {
        *self.rng.choice(&[1, 1, 2, 2, 3, -1, -1, -2, -3, 0, isize::MIN]).expect("not empty")
    }
}

/// Axes can be removed from rank 1 on.
macro_rules! check_narrower {
    (0, $pair:ident, $rng:ident) => {};
    ($d:tt, $pair:ident, $rng:ident) => {
        $pair.narrower::<{ $d - 1 }>($rng)
    };
}

macro_rules! check_rank {
    ($d:tt, $rng:expr, |$a:ident| [$($slices:expr),* $(,)?]) => {
        for _ in 0..cases(CASES) / 9 {
            let rng: &mut Rng = $rng;
            let plain = generate::direct(rng, $d).plain;
            let layout = Layout::new(&plain.shape, &plain.strides, plain.itemsize).expect("valid");
            let shape: [usize; $d] = plain.shape.clone().try_into().expect("this rank");
            let strides: [isize; $d] = plain.strides.try_into().expect("this rank");
            let fixed = FixedLayout::new(shape, strides, plain.itemsize).expect("valid");
            let pair = Pair { fixed, layout: &layout };
            pair.queries(rng);
            pair.operations(rng);
            pair.add_and_drop::<{ $d + 1 }>(rng);
            pair.tiles::<{ 2 * $d }>(rng);
            check_narrower!($d, pair, rng);
            let $a = &mut Arguments { rng, shape: plain.shape };
            $(pair.slice($slices);)*
        }
    };
}

#[test]
fn static_ranks_do_what_dynamic_ranks_do() {
    let rng = &mut Rng::with_seed(seed());
    check_rank!(0, rng, |_a| [s![], s![NewAxis]]);
    check_rank!(1, rng, |a| [
        s![a.i(0)],
        s![a.b(0)..a.b(0);a.t()],
        s![..a.b(0)],
        s![a.u(0)..],
        s![..=a.i(0)],
        s![NewAxis, .., NewAxis],
    ]);
    check_rank!(2, rng, |a| [
        s![a.i(0), ..],
        s![..;a.t(), a.b(1)..],
        s![a.i(0), a.u(1)],
        s![.., NewAxis, a.b(1)..=a.i(1)],
    ]);
    check_rank!(3, rng, |a| [
        s![.., ..;a.t(), a.i(2)],
        s![a.u(0)..a.u(0), a.u(1)..a.u(1), a.u(2)..a.u(2)],
        s![a.b(0)..a.b(0);a.t(), a.b(1)..a.b(1);a.t(), a.b(2)..a.b(2);a.t()],
        s![a.i(0), NewAxis, a.b(1)..;a.t(), ..a.b(2);a.t()],
    ]);
    check_rank!(4, rng, |a| [
        s![a.i(0), .., a.i(2), ..;a.t()],
        s![a.b(0).., ..a.b(1), ..=a.i(2), a.b(3)..;a.t()],
    ]);
    check_rank!(5, rng, |a| [s![.., .., .., .., ..;-1], s![a.i(0), a.i(1), a.i(2), a.i(3), a.i(4)]]);
    check_rank!(6, rng, |a| [
        s![a.i(0), ..;a.t(), a.i(2), ..;a.t(), a.i(4), ..;a.t()],
        s![.., a.b(1).., .., a.b(3).., .., a.i(5)],
    ]);
    check_rank!(7, rng, |a| [s![.., a.i(1), .., .., a.b(4).., ..;a.t(), a.i(6)]]);
    check_rank!(8, rng, |a| [
        s![.., .., .., .., .., .., .., ..],
        s![..;a.t(), ..;a.t(), ..;a.t(), ..;a.t(), ..;a.t(), ..;a.t(), ..;a.t(), ..;a.t()],
        s![a.i(0), .., a.i(2), .., a.i(4), .., a.i(6), ..],
    ]);
}
