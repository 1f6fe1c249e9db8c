//! Views and iteration of all types of arrays agree with each other, with the naive oracle, and
//! with loops over indices.

use std::fmt::Debug;

use crossdock::array::{ArrayView, ArrayViewMut, CopyPolicy};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Element};
use crossdock::layout::{FixedLayout, Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::view::Request;
use crossdock::{Array, DArray, Result, s};
use crossdock_testkit::{Coverage, Nested, generate, seed};
use fastrand::Rng;

use crate::cases;

const CASES: usize = 3_000;
const MAX_WINDOW: i128 = 1 << 14;

/// The shape of a view and the positions of its elements in the memory, or the kind of its error.
type Seen = Result<(Vec<usize>, Vec<i128>), String>;

/// The predicate that holds: types of arrays need not use the same words.
fn kind(error: &crossdock::Error) -> String {
    let kinds = [
        (error.is_bounds(), "bounds"),
        (error.is_shape(), "shape"),
        (error.is_layout(), "layout"),
        (error.is_overflow(), "overflow"),
        (error.is_alignment(), "alignment"),
    ];
    kinds.iter().find(|(holds, _)| *holds).map_or_else(|| format!("{error}"), |(_, name)| (*name).to_owned())
}

fn cells(
    shape: &[usize],
    offsets: impl Iterator<Item = isize>,
    base: usize,
    start: usize,
) -> (Vec<usize>, Vec<i128>) {
    let first = base as i128 - start as i128;
    (shape.to_vec(), offsets.map(|offset| first + offset as i128).collect())
}

trait See {
    fn see(&self, start: usize) -> (Vec<usize>, Vec<i128>);
}

impl<T: Element, const D: usize> See for Array<T, D> {
    fn see(&self, start: usize) -> (Vec<usize>, Vec<i128>) {
        cells(self.shape(), self.layout().offsets(), self.as_ptr().addr(), start)
    }
}

impl<T: Element, const D: usize> See for ArrayView<'_, T, D> {
    fn see(&self, start: usize) -> (Vec<usize>, Vec<i128>) {
        cells(self.shape(), self.layout().offsets(), self.as_ptr().addr(), start)
    }
}

impl<T: Element, const D: usize> See for ArrayViewMut<'_, T, D> {
    fn see(&self, start: usize) -> (Vec<usize>, Vec<i128>) {
        cells(self.shape(), self.layout().offsets(), self.as_ptr().addr(), start)
    }
}

impl See for DArray {
    fn see(&self, start: usize) -> (Vec<usize>, Vec<i128>) {
        cells(self.shape(), self.layout().offsets().unwrap(), self.as_ptr().addr(), start)
    }
}

impl<S: See> See for (S, S) {
    fn see(&self, start: usize) -> (Vec<usize>, Vec<i128>) {
        let (mut left, right) = (self.0.see(start), self.1.see(start));
        left.0.extend(right.0);
        left.1.extend(right.1);
        left
    }
}

fn see<S: See>(made: Result<S>, start: usize) -> Seen {
    made.map(|view| view.see(start)).map_err(|error| kind(&error))
}

/// All four types return the oracle's result. `$mutable` is `None` if elements would have two
/// indices.
macro_rules! all_do {
    ($case:ident, $oracle:expr, $array:ident => $dynamic:expr; $typed:expr $(; mut $mutable:expr)?) => {{
        let text = format!("{} of {:?}", stringify!($dynamic), $case.array);
        let start = $case.start;
        let expected: Seen = see({ let $array = &$case.dynamic; $dynamic }, start);
        let oracle: Option<Nested> = $oracle;
        match (&expected, &oracle) {
            (Ok((shape, cells)), Some(nested)) => {
                assert_eq!((shape, cells), (&nested.shape, &nested.cells), "{text}");
            }
            (Err(_), None) => {}
            // Strides cannot express it, or an empty block is too long to count.
            (Err(kind), Some(nested)) if kind == "layout" || kind == "overflow" && nested.cells.is_empty() => {}
            _ => panic!("{text}: got {expected:?}, expected {oracle:?}"),
        }
        assert_eq!(see({ let $array = &$case.array; $typed }, start), expected, "{text}");
        if let Ok(guard) = $case.array.read() {
            assert_eq!(see({ let $array = guard.view(); $typed }, start), expected, "{text}");
        }
        $(if let Ok(mut guard) = $case.array.write() {
            assert_eq!(see({ let $array = guard.view_mut(); $mutable }, start), expected, "{text}");
        })?
    }};
    ($case:ident, $oracle:expr, $array:ident => both $both:expr) => {
        all_do!($case, $oracle, $array => $both; $both; mut $both)
    };
}

struct Case<T: Element, const D: usize> {
    start: usize,
    array: Array<T, D>,
    dynamic: DArray,
    nested: Nested,
}

impl<T: Element, const D: usize> Case<T, D> {
    fn random(rng: &mut Rng) -> Self {
        loop {
            let placed = generate::direct(rng, D);
            let (shape, strides) = (&placed.plain.shape, &placed.plain.strides);
            let Ok(layout) = Layout::new(shape, strides, size_of::<T>()) else { continue };
            let span = layout.span();
            if span.nbytes() as i128 > MAX_WINDOW {
                continue;
            }
            let before = rng.usize(0..3) * 4 + usize::from(rng.usize(0..8) == 0);
            let offset = before + span.low().unsigned_abs();
            let nbytes = before + span.nbytes() + rng.usize(0..9);
            let words: Vec<u64> =
                (0..nbytes.div_ceil(8) as u64).map(|word| word.wrapping_mul(0x9E37_79B9)).collect();
            let buffer = Buffer::from_vec(words).unwrap().slice(..nbytes).unwrap();
            let start = buffer.as_ptr().addr();
            let fixed: FixedLayout<D> = layout.to_fixed().unwrap();
            let array = Array::<T, D>::from_buffer_with_layout(buffer, fixed, offset).unwrap();
            let first = array.as_ptr().addr() as i128 - start as i128;
            let nested = Nested::from_fn(shape, |index| {
                index.iter().zip(strides).fold(first, |at, (&i, &stride)| at + i as i128 * stride as i128)
            });
            return Self { start, dynamic: array.clone().into(), array, nested };
        }
    }

    fn note(&self, coverage: &mut Coverage) {
        coverage.case();
        coverage.note(format!("rank {D}"));
        coverage.note_if(self.array.is_empty(), "empty");
        let long = || self.array.shape().iter().zip(self.array.strides()).filter(|(len, _)| **len > 1);
        coverage.note_if(long().any(|(_, stride)| *stride < 0), "negative stride");
        coverage.note_if(long().any(|(_, stride)| *stride == 0), "zero stride");
        coverage.note_if(self.array.read().is_err(), "unaligned");
        coverage.note_if(self.array.read().is_ok(), "by reference");
        coverage.note_if(self.array.write().is_ok(), "by mutable reference");
    }

    fn same_rank(&self, rng: &mut Rng) {
        let nested = &self.nested;
        let shape = *self.array.shape();
        if let Ok(axes) = <[usize; D]>::try_from(generate::axes(rng, D)) {
            all_do!(self, nested.permute(&axes), a => a.permute(&axes); a.permute(axes); mut a.permute(axes));
        }
        all_do!(self, Some(nested.transpose()), a => a.transpose(); Ok(a.transpose()); mut Ok(a.transpose()));
        let (a, b) = (rng.usize(0..=D), rng.usize(0..=D));
        all_do!(self, nested.swap_axes(a, b), array => both array.swap_axes(a, b));
        all_do!(self, nested.move_axis(a, b), array => both array.move_axis(a, b));
        all_do!(self, nested.reverse(a), array => both array.reverse(a));
        let len = shape.get(a).copied().unwrap_or(1);
        let (start, end) = (rng.usize(0..=len), rng.usize(0..=len + usize::from(b == 0)));
        all_do!(self, nested.slice_axis(a, start, end), array => both array.slice_axis(a, start..end));
        let parts =
            nested.slice_axis(a, 0, end).zip(nested.slice_axis(a, end, len.max(end))).map(|(left, right)| {
                Nested {
                    shape: [left.shape, right.shape].concat(),
                    cells: [left.cells, right.cells].concat(),
                }
            });
        all_do!(self, parts, array => both array.split_at(a, end));
        self.reshaped::<1>(rng);
        self.reshaped::<2>(rng);
        self.reshaped::<3>(rng);
        all_do!(self, nested.reshape(&[nested.cells.len()], true), a => both a.flatten());
    }

    fn reshaped<const E: usize>(&self, rng: &mut Rng) {
        let nested = &self.nested;
        if let Ok(to) = <[usize; E]>::try_from(generate::reshape_shape(rng, self.array.shape())) {
            let rows = nested.reshape(&to, true);
            all_do!(self, rows.clone(), a => a.reshape(&to); a.reshape(to); mut a.reshape(to));
            for order in [Order::RowMajor, Order::ColumnMajor] {
                let expected = nested.reshape(&to, order == Order::RowMajor);
                self.reshaped_by_policy(to, order, expected);
            }
        }
        if let Ok(to) = <[usize; E]>::try_from(generate::broadcast_shape(rng, self.array.shape())) {
            all_do!(self, nested.broadcast(&to), a => a.broadcast_to(&to); a.broadcast_to(to));
        }
    }

    /// A copy only if there is no view, or if one is requested.
    fn reshaped_by_policy<const E: usize>(&self, to: [usize; E], order: Order, expected: Option<Nested>) {
        let (array, dynamic) = (&self.array, &self.dynamic);
        let text = format!("{array:?} as {to:?} in {order:?}");
        let in_place = array.reshape_with(to, order, CopyPolicy::Never).is_ok();
        for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
            let before = copied_bytes_here();
            let typed = array.reshape_with(to, order, policy);
            let copied = copied_bytes_here() - before;
            let erased = dynamic.reshape_with(&to, order, policy);
            let Some(nested) = expected.as_ref().filter(|_| in_place || policy != CopyPolicy::Never) else {
                assert!(typed.is_err() && erased.is_err(), "{text} {policy:?}");
                continue;
            };
            let (typed, erased) = (typed.expect(&text), erased.expect(&text));
            let copies = policy == CopyPolicy::Always || !in_place;
            assert_eq!(copied, if copies { array.nbytes() as u64 } else { 0 }, "{text} {policy:?}");
            assert_eq!(
                copies,
                typed.as_ptr() != array.as_ptr() || array.is_empty() && copies,
                "{text} {policy:?}"
            );
            assert_eq!(typed.shape(), &to);
            let values = typed.pin().unwrap().to_vec();
            let source = array.pin().unwrap();
            let by_cell: Vec<(i128, T)> = self.nested.cells.iter().copied().zip(source.values()).collect();
            let value = |cell: &i128| by_cell.iter().find(|(at, _)| at == cell).expect("a cell").1;
            let wanted: Vec<T> = nested.cells.iter().map(value).collect();
            assert_eq!(bytes_of(&values), bytes_of(&wanted), "{text} {policy:?}");
            let erased = Array::<T, E>::try_from(erased).expect(&text).pin().unwrap().to_vec();
            assert_eq!(bytes_of(&erased), bytes_of(&wanted), "{text} {policy:?}");
        }
    }

    fn wider<const UP: usize, const TWICE: usize>(&self, rng: &mut Rng) {
        let nested = &self.nested;
        let axis = rng.usize(0..=D + 1);
        all_do!(self, nested.insert_axis(axis), a => a.insert_axis(axis);
            a.insert_axis::<UP>(axis); mut a.insert_axis::<UP>(axis));
        if let Ok(window) = <[usize; D]>::try_from(generate::window(rng, self.array.shape())) {
            all_do!(self, nested.windows(&window), a => a.windows(&window); a.windows::<TWICE>(window));
        }
        if let Ok(block) = <[usize; D]>::try_from(generate::block(rng, self.array.shape())) {
            all_do!(self, nested.blocks(&block), a => a.blocks(&block);
                a.blocks::<TWICE>(block); mut a.blocks::<TWICE>(block));
        }
        let squeezed = Some(nested.squeeze()).filter(|nested| nested.shape.len() == D);
        if squeezed.is_some() {
            all_do!(self, squeezed.clone(), a => a.squeeze(); a.squeeze::<D>(); mut a.squeeze::<D>());
        } else {
            assert!(self.array.squeeze::<D>().unwrap_err().is_shape());
        }
    }

    fn narrower<const DOWN: usize>(&self, rng: &mut Rng) {
        let nested = &self.nested;
        let (a, b) = generate::two_axes(rng, D);
        let k = rng.isize(-3..=3);
        all_do!(self, nested.diagonal(a, b, k), array => array.diagonal(a, b, k);
            array.diagonal::<DOWN>(a, b, k); mut array.diagonal::<DOWN>(a, b, k));
        let index = rng.usize(0..=self.array.shape().get(a).copied().unwrap_or(0));
        all_do!(self, nested.drop_axis(a, index), array => array.drop_axis(a, index);
            array.drop_axis::<DOWN>(a, index); mut array.drop_axis::<DOWN>(a, index));
        self.parts::<DOWN>(rng);
    }

    /// Iterators of every type yield the oracle's parts, from either end.
    fn parts<const DOWN: usize>(&self, rng: &mut Rng) {
        let (nested, start) = (&self.nested, self.start);
        let axis = rng.usize(0..D);
        let chunk = rng.usize(1..5);
        let text = format!("axis {axis} of {:?}", self.array);
        let len = self.array.shape()[axis];
        let single: Vec<Nested> = (0..len).map(|k| nested.drop_axis(axis, k).unwrap()).collect();
        let chunks: Vec<Nested> = (0..len)
            .step_by(chunk)
            .map(|k| nested.slice_axis(axis, k, len.min(k + chunk)).unwrap())
            .collect();
        let moved = nested.move_axis(axis, D - 1).unwrap();
        let lanes: Vec<Nested> = (0..moved.cells.len().checked_div(len).unwrap_or(0))
            .map(|k| Nested { shape: vec![len], cells: moved.cells[k * len..(k + 1) * len].to_vec() })
            .collect();
        let same = |seen: Vec<(Vec<usize>, Vec<i128>)>, expected: &[Nested], what: &str| {
            let expected: Vec<_> =
                expected.iter().map(|nested| (nested.shape.clone(), nested.cells.clone())).collect();
            assert_eq!(seen, expected, "{what}: {text}");
        };
        same(seen(self.array.axis_iter::<DOWN>(axis).unwrap(), start), &single, "handles");
        same(seen(self.dynamic.axis_iter(axis).unwrap(), start), &single, "dynamic handles");
        same(seen(self.array.axis_chunks(axis, chunk).unwrap(), start), &chunks, "chunks");
        same(seen(self.dynamic.axis_chunks(axis, chunk).unwrap(), start), &chunks, "dynamic chunks");
        let Ok(guard) = self.array.read() else { return };
        same(seen(guard.axis_iter::<DOWN>(axis).unwrap(), start), &single, "guard");
        same(seen(guard.view().axis_chunks(axis, chunk).unwrap(), start), &chunks, "view's chunks");
        if len > 0 {
            same(seen(guard.lanes(axis).unwrap(), start), &lanes, "lanes");
        }
        let rows = nested.shape[D - 1];
        let flat: Vec<i128> = seen(guard.rows(), start)
            .into_iter()
            .flat_map(|(shape, cells)| {
                assert_eq!(shape, [rows]);
                cells
            })
            .collect();
        assert_eq!(flat, nested.cells, "{text}");
        let values: Vec<T> = guard
            .indexed_iter()
            .map(|(index, value)| {
                assert_eq!(
                    std::ptr::from_ref(value).addr() as i128 - start as i128,
                    nested.get(&index),
                    "{text}"
                );
                *value
            })
            .collect();
        assert_eq!(bytes_of(&values), bytes_of(&guard.to_vec()), "{text}");
        assert_eq!(bytes_of(&guard.iter().copied().collect::<Vec<T>>()), bytes_of(&values), "{text}");
        let mut backwards: Vec<T> = guard.indexed_iter().rev().map(|(_, value)| *value).collect();
        backwards.reverse();
        assert_eq!(bytes_of(&backwards), bytes_of(&values), "{text}");
        drop(guard);
        let Ok(mut guard) = self.array.write() else { return };
        same(seen(guard.axis_iter_mut::<DOWN>(axis).unwrap(), start), &single, "by mutable views");
        same(seen(guard.axis_chunks_mut(axis, chunk).unwrap(), start), &chunks, "by mutable chunks");
        same(
            seen(guard.view_mut().axis_chunks_mut(axis, chunk).unwrap(), start),
            &chunks,
            "by mutable chunks",
        );
        // All parts together are all elements: writes through them are visible in the array.
        let held: Vec<_> = guard.rows_mut().collect();
        let mut count = 0u8;
        for mut row in held {
            for value in &mut row {
                *value = from_byte(count);
                count = count.wrapping_add(1);
            }
        }
        let expected = (0..nested.cells.len()).map(|k| from_byte::<T>(k as u8)).collect::<Vec<T>>();
        assert_eq!(bytes_of(&guard.to_vec()), bytes_of(&expected), "{text}");
        for (index, value) in guard.indexed_iter_mut() {
            let place = index.iter().zip(&nested.shape).fold(0, |at, (i, len)| at * len + i);
            assert_eq!(bytes_of(&[*value]), bytes_of(&[from_byte::<T>(place as u8)]), "{text}");
        }
        for (place, value) in guard.lanes_mut(D - 1).unwrap().flat_map(|lane| lane.to_vec()).enumerate() {
            assert_eq!(bytes_of(&[value]), bytes_of(&[from_byte::<T>(place as u8)]), "{text}");
        }
    }
}

fn from_byte<T: Element>(byte: u8) -> T {
    let bytes = vec![byte; size_of::<T>()];
    // SAFETY: the vector has `size_of::<T>()` initialised bytes, and `Pod` makes every bit pattern
    // a value.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}

/// The items of an iterator; asserts that it knows its length, and yields the same from the back
/// and with skips.
fn seen<S: See>(
    parts: impl DoubleEndedIterator<Item = S> + ExactSizeIterator,
    start: usize,
) -> Vec<(Vec<usize>, Vec<i128>)> {
    let mut parts = parts;
    let len = parts.len();
    let mut back = Vec::new();
    for _ in 0..len / 2 {
        back.push(parts.next_back().expect("one more").see(start));
    }
    let mut all: Vec<_> = parts.by_ref().map(|part| part.see(start)).collect();
    assert!(parts.next_back().is_none());
    all.extend(back.into_iter().rev());
    assert_eq!(all.len(), len);
    all
}

fn bytes_of<T: Element>(values: &[T]) -> Vec<u8> {
    // SAFETY: `T: Element` implies `Pod` 2: no padding, so all `size_of_val(values)` bytes are
    // initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

macro_rules! run {
    ($ty:ty, $rank:tt, $coverage:ident, $rng:ident) => {{
        let case = Case::<$ty, $rank>::random(&mut $rng);
        case.note(&mut $coverage);
        case.same_rank(&mut $rng);
        case.wider::<{ $rank + 1 }, { 2 * $rank }>(&mut $rng);
        run!(@ $rank, case, $rng);
    }};
    (@ 0, $case:ident, $rng:ident) => {};
    (@ $rank:tt, $case:ident, $rng:ident) => { $case.narrower::<{ $rank - 1 }>(&mut $rng) };
}

#[test]
fn all_arrays_are_seen_and_walked_alike() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    let cases = cases(CASES);
    while coverage.cases() < cases {
        run!(u8, 0, coverage, rng);
        run!(i32, 1, coverage, rng);
        run!(u8, 2, coverage, rng);
        run!([u16; 3], 3, coverage, rng);
        run!(i32, 4, coverage, rng);
    }
    println!("{coverage}");
    let named =
        ["empty", "negative stride", "zero stride", "unaligned", "by reference", "by mutable reference"];
    coverage.assert_at_least(0.05, (0..5).map(|rank| format!("rank {rank}")).chain(named.map(String::from)));
}

// ===== reinterpretation

#[test]
fn bytes_are_seen_as_elements_of_any_size_that_fits() {
    let words: Vec<u32> = (0..12).map(|k| 0x0101_0101 * k).collect();
    let array = Array::from_vec(words.clone(), [3, 4]).unwrap();
    let bytes = array.view_as::<u8>().unwrap();
    assert_eq!((bytes.shape(), bytes.strides()), (&[3, 16], &[16, 1]));
    assert_eq!(bytes.read().unwrap().to_vec(), bytes_of(&words));
    let longs = array.view_as::<u64>().unwrap();
    assert_eq!((longs.shape(), longs.get([1, 1]).unwrap()), (&[3, 2], 0x0707_0707_0606_0606));
    assert_eq!(array.view_as::<[u8; 8]>().unwrap().shape(), &[3, 2]);
    assert_eq!(array.view_as::<f32>().unwrap().strides(), array.strides());
    // The same, dynamically.
    let erased = DArray::from(array.clone());
    for dtype in [DType::U8, DType::U16, DType::U64, DType::F32, DType::subarray(&[2], DType::U32).unwrap()] {
        let view = erased.view_as(&dtype).unwrap();
        assert_eq!((view.dtype(), view.nbytes(), view.shape()[0]), (&dtype, 48, 3));
        assert_eq!(view.view_as(&DType::U32).unwrap().shape(), [3, 4]);
    }
    // Rows that end within an element, and elements with gaps.
    let refused = array.view_as::<[u8; 3]>().unwrap_err();
    assert!(refused.is_shape() && refused.to_string().contains("16") && refused.to_string().contains('3'));
    assert!(array.transpose().view_as::<u8>().unwrap_err().is_layout());
    assert!(array.slice(s![.., ..;2]).unwrap().view_as::<u8>().unwrap_err().is_layout());
    assert!(array.transpose().view_as::<f32>().is_ok(), "elements of the same size may lie as they like");
    assert!(erased.view_as(&DType::void(0).unwrap()).unwrap_err().is_shape());
    // A view by reference needs the alignment of references.
    let odd = bytes.slice(s![.., 1..5]).unwrap();
    assert_eq!(odd.view_as::<u32>().unwrap().get([0, 0]).unwrap().to_ne_bytes(), [0, 0, 0, 1]);
    let guard = odd.read().unwrap();
    assert!(guard.view().view_as::<u32>().unwrap_err().is_alignment());
    assert_eq!(guard.view().view_as::<[u8; 2]>().unwrap().shape(), &[3, 2]);
    let mut values = [1u16, 2, 3, 4];
    let view = ArrayViewMut::from_slice(&mut values, [2, 2]).unwrap();
    view.view_as::<[u8; 4]>().unwrap()[[1, 0]] = [9, 0, 8, 0];
    assert_eq!(values, [1, 2, u16::from_ne_bytes([9, 0]), u16::from_ne_bytes([8, 0])]);
}

// ===== nothing, and one thing

#[test]
fn an_array_without_axes_can_be_seen_in_every_way_that_has_a_meaning() {
    let point = Array::from_vec(vec![7i32], []).unwrap();
    let erased = DArray::from(point.clone());
    for axis in [0, 1, usize::MAX] {
        assert!(point.swap_axes(axis, 0).unwrap_err().is_bounds());
        assert!(point.move_axis(0, axis).unwrap_err().is_bounds());
        assert!(point.slice_axis(axis, ..).unwrap_err().is_bounds());
        assert!(point.split_at(axis, 0).unwrap_err().is_bounds());
        assert!(point.axis_chunks(axis, 1).err().unwrap().is_bounds());
        assert!(erased.axis_iter(axis).err().unwrap().is_bounds());
        assert!(erased.axis_chunks(axis, 1).err().unwrap().is_bounds());
        assert!(erased.diagonal(axis, 0, 0).unwrap_err().is_bounds());
        assert!(point.read().unwrap().lanes(axis).unwrap_err().is_bounds());
    }
    assert_eq!(point.windows::<0>([]).unwrap().get([]).unwrap(), 7);
    assert_eq!(point.blocks::<0>([]).unwrap().get([]).unwrap(), 7);
    assert_eq!(point.squeeze::<0>().unwrap().get([]).unwrap(), 7);
    assert_eq!(point.flatten().unwrap().read().unwrap().as_slice(), Some(&[7][..]));
    assert_eq!(point.view_as::<u32>().unwrap().get([]).unwrap(), 7);
    assert!(point.view_as::<u8>().unwrap_err().is_shape());
    assert!(erased.view_as(&DType::U8).unwrap_err().is_shape());
    let guard = point.read().unwrap();
    assert_eq!(guard.indexed_iter().collect::<Vec<_>>(), [([], &7)]);
    assert_eq!((guard.rank(), guard.nbytes(), guard.order()), (0, 4, Some(Order::RowMajor)));
}

#[test]
fn empty_arrays_are_walked_without_a_step_out_of_their_memory() {
    for shape in [[0, 3], [3, 0], [0, 0]] {
        let array = Array::<u16, 2>::from_vec(vec![], shape).unwrap();
        let guard = array.read().unwrap();
        let parts = guard.rows().map(|row| (row.len(), row.as_ptr().addr())).collect::<Vec<_>>();
        assert_eq!(parts, vec![(shape[1], guard.as_ptr().addr()); shape[0]]);
        for (axis, len) in shape.into_iter().enumerate() {
            assert_eq!(guard.axis_iter::<1>(axis).unwrap().len(), len);
            assert_eq!(guard.lanes(axis).unwrap().map(|lane| lane.len()).sum::<usize>(), 0);
            assert_eq!(guard.axis_chunks(axis, 2).unwrap().len(), len.div_ceil(2));
            assert_eq!(array.axis_iter::<1>(axis).unwrap().map(|part| part.len()).sum::<usize>(), 0);
            assert_eq!(DArray::from(array.clone()).axis_iter(axis).unwrap().len(), len);
        }
        assert_eq!(guard.indexed_iter().count(), 0);
        assert!(guard.view().windows::<4>([1, 1]).unwrap_err().is_shape());
        assert_eq!(array.blocks::<4>([1, 3]).map(|blocks| blocks.len()).unwrap_or(0), 0);
        assert_eq!(array.diagonal::<1>(0, 1, 0).unwrap().len(), 0);
        assert_eq!(array.flatten().unwrap().shape(), &[0]);
        assert_eq!(array.view_as::<u8>().unwrap().shape(), &[shape[0], 2 * shape[1]]);
        assert_eq!(array.reshape_with([0], Order::ColumnMajor, CopyPolicy::Always).unwrap().len(), 0);
        drop(guard);
        let mut guard = array.write().unwrap();
        guard.rows_mut().for_each(|mut row| row.fill(1));
        guard.fill(2);
        assert_eq!(guard.as_mut_slice(), Some(&mut [][..]));
    }
}

// ===== what is wrong

#[test]
fn what_is_out_of_range_is_refused_with_the_numbers() {
    let array = Array::from_vec((0..12).collect::<Vec<i64>>(), [3, 4]).unwrap();
    let guard = array.read().unwrap();
    let says = |error: crossdock::Error, words: &[&str]| {
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        error
    };
    assert!(says(array.slice_axis(1, 2..6).unwrap_err(), &["2", "6", "axis 1", "4"]).is_bounds());
    assert!(says(array.slice_axis(0, 4..).unwrap_err(), &["axis 0", "3"]).is_bounds());
    assert!(says(array.split_at(0, 5).unwrap_err(), &["axis 0", "3", "5"]).is_bounds());
    assert!(says(array.windows::<4>([4, 1]).unwrap_err(), &["4", "axis 0", "3"]).is_shape());
    assert!(says(array.windows::<4>([1, 0]).unwrap_err(), &["0", "axis 1"]).is_shape());
    assert!(says(array.blocks::<4>([2, 2]).unwrap_err(), &["axis 0", "3", "2"]).is_shape());
    assert!(says(array.diagonal::<1>(1, 1, 0).unwrap_err(), &["1"]).is_shape());
    assert!(says(array.diagonal::<1>(0, 2, 0).unwrap_err(), &["axis 2", "rank 2"]).is_bounds());
    assert!(says(array.squeeze::<1>().unwrap_err(), &["[3, 4]", "2", "1"]).is_shape());
    assert!(says(guard.axis_iter::<1>(7).unwrap_err(), &["axis 7"]).is_bounds());
    assert!(says(guard.axis_chunks(1, 0).unwrap_err(), &["0", "axis 1"]).is_shape());
    assert!(says(DArray::from(array.clone()).windows(&[1]).unwrap_err(), &["[1]", "rank 2"]).is_shape());
    let wide = array.broadcast_to([1 << 58, 3, 4]);
    assert!(wide.unwrap_err().is_overflow());
    let long = Array::<u8, 1>::zeros([1]).unwrap().broadcast_to([1 << 40]).unwrap();
    assert!(long.windows::<2>([1 << 39]).unwrap_err().is_overflow());
    assert!(guard.get([3, 0]).is_none() && guard.get([0, usize::MAX]).is_none());
}

#[test]
fn a_view_that_was_refused_as_an_array_comes_back() {
    let array = DArray::from(Array::from_vec(vec![1i32, 2, 3, 4], [2, 2]).unwrap());
    let view = crossdock::view(&array, Request::read()).unwrap();
    let refused = Array::<f32, 2>::try_from(view).unwrap_err();
    assert!(refused.error.is_dtype(), "{}", refused.error);
    let refused = Array::<i32, 1>::try_from(refused.value).unwrap_err();
    assert!(refused.error.is_shape(), "{}", refused.error);
    assert!(Array::<i32, 2>::try_from(array).unwrap().write().unwrap_err().is_conflict(), "still lent");
    let typed = Array::<i32, 2>::try_from(refused.value).unwrap();
    assert_eq!(typed.read().unwrap().to_vec(), [1, 2, 3, 4]);
    assert!(typed.is_readonly() && typed.write().unwrap_err().is_read_only());
}

// ===== access

#[test]
fn elements_are_had_by_the_same_words_everywhere() {
    fn same<T: PartialEq + Debug>(values: impl IntoIterator<Item = T>, expected: T) {
        values.into_iter().for_each(|value| assert_eq!(value, expected));
    }
    let array = Array::from_vec(vec![1i16, 2, 3, 4, 5, 6], [2, 3]).unwrap();
    array.set([1, 0], -4).unwrap();
    {
        let (shared, pinned) = (array.share().unwrap(), array.pin().unwrap());
        shared.set([0, 1], -2).unwrap();
        same([shared.get([0, 1]).unwrap(), pinned.get([0, 1]).unwrap(), array.get([0, 1]).unwrap()], -2);
        assert!(shared.get([2, 0]).unwrap_err().is_bounds() && pinned.get([0, 3]).unwrap_err().is_bounds());
    }
    let mut guard = array.write().unwrap();
    guard[[0, 0]] = -1;
    *guard.get_mut([0, 2]).unwrap() = -3;
    // SAFETY: [1, 1] is within the shape of two rows and three columns.
    *unsafe { guard.get_unchecked_mut([1, 1]) } = -5;
    guard.view_mut().as_mut_slice().unwrap()[5] = -6;
    assert!(guard.get_mut([2, 0]).is_none() && guard.view_mut().get_mut([0, 3]).is_none());
    // SAFETY: [1, 1] is within the shape of two rows and three columns.
    same([guard[[1, 1]], *guard.get([1, 1]).unwrap(), *unsafe { guard.get_unchecked([1, 1]) }], -5);
    let mut view = guard.view_mut();
    // SAFETY: [1, 2] is within the shape of two rows and three columns.
    same([view[[1, 2]], *view.get([1, 2]).unwrap(), *unsafe { view.get_unchecked_mut([1, 2]) }], -6);
    assert_eq!(view.to_vec(), [-1, -2, -3, -4, -5, -6]);
    assert_eq!((&view).into_iter().count() + (&mut view).into_iter().count(), 12);
    drop(guard);
    let guard = array.read().unwrap();
    // SAFETY: [0, 2] is within the shape of two rows and three columns.
    same([guard[[0, 2]], guard.view()[[0, 2]], *unsafe { guard.get_unchecked([0, 2]) }], -3);
}
