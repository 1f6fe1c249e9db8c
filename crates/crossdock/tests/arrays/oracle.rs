//! Arrays over real memory against the naive oracle: chains of operations, and every way to access
//! an element.
//!
//! Every byte of the memory is a known function of its position, so the oracle's addresses
//! determine the bytes. `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the arrays.

use crossdock::array::ArrayViewMut;
use crossdock::buffer::Buffer;
use crossdock::element::{ByteOrder, DType, Element, Field, ScalarKind, Value};
use crossdock::layout::{AxisSlice, Layout, Order};
use crossdock::memory::LeaseKind;
use crossdock::memory::copied_bytes_here;
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Array, DArray, Result};
use crossdock_testkit::{Coverage, Nested, Pick, Placed, Plain, generate, seed};
use fastrand::Rng;

use crate::cases;

const CASES: usize = 6_000;

/// Larger windows are not made: the layout tests cover strides that reach across the address space.
const MAX_WINDOW: usize = 1 << 16;

/// The byte at a position in memory.
fn byte_at(place: i128) -> u8 {
    let mixed = (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8
}

fn bytes_at(place: i128, nbytes: usize) -> Vec<u8> {
    (0..nbytes as i128).map(|byte| byte_at(place + byte)).collect()
}

/// A random dtype.
fn dtype(rng: &mut Rng) -> DType {
    let native = [
        DType::U8,
        DType::I8,
        DType::U16,
        DType::I16,
        DType::U32,
        DType::I32,
        DType::U64,
        DType::I64,
        DType::F32,
        DType::F64,
    ];
    match rng.usize(0..20) {
        0..11 => rng.choice(native).unwrap(),
        11 => DType::scalar(ScalarKind::Int32, ByteOrder::Big).unwrap(),
        12 => DType::scalar(ScalarKind::Float64, ByteOrder::Big).unwrap(),
        13 => DType::void(rng.usize(0..7)).unwrap(),
        // Wider than a cache line, and than the shortest copy by one instruction.
        14 => DType::void(rng.usize(60..300)).unwrap(),
        15 => DType::subarray(&[3], DType::U16).unwrap(),
        _ => record(rng, 2),
    }
}

/// A record with gaps, odd offsets, sub-arrays, nested records, and overlapping fields.
fn record(rng: &mut Rng, depth: usize) -> DType {
    let mut end = 0;
    let fields: Vec<Field> = (0..rng.usize(1..4))
        .map(|index| {
            let dtype = match rng.usize(0..6) {
                0 if depth > 0 => record(rng, depth - 1),
                1 => DType::subarray(&[2], DType::I16).unwrap(),
                2 => DType::subarray(&[2, rng.usize(0..3)], DType::U8).unwrap(),
                3 => DType::F64,
                4 => DType::U8,
                _ => DType::I32,
            };
            let offset = if rng.usize(0..6) == 0 { 0 } else { end + rng.usize(0..2) };
            end = end.max(offset + dtype.itemsize());
            Field::new(format!("f{index}"), offset, dtype)
        })
        .collect();
    DType::record(fields, end + rng.usize(0..3)).unwrap()
}

/// An array in the library and in the oracle.
struct Twin {
    array: DArray,
    /// The position of each element, from the first byte of the memory.
    nested: Nested,
}

/// The common base of all twins of one case.
struct World {
    window: usize,
    address: usize,
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Slice,
    SliceNumpy,
    At,
    Permute,
    Transpose,
    Reverse,
    Broadcast,
    Reshape,
    DropAxis,
    InsertAxis,
    Squeeze,
    Field,
}

const OPS: [Op; 12] = [
    Op::Slice,
    Op::SliceNumpy,
    Op::At,
    Op::Permute,
    Op::Transpose,
    Op::Reverse,
    Op::Broadcast,
    Op::Reshape,
    Op::DropAxis,
    Op::InsertAxis,
    Op::Squeeze,
    Op::Field,
];

fn axis_slices(picks: &[Pick]) -> Vec<AxisSlice> {
    let axis_slice = |pick: &Pick| match *pick {
        Pick::Index(index) => AxisSlice::Index(index),
        Pick::Range(start, stop, step) => AxisSlice::Range { start, stop, step },
        Pick::NewAxis => AxisSlice::NewAxis,
        Pick::Ellipsis => AxisSlice::Ellipsis,
    };
    picks.iter().map(axis_slice).collect()
}

/// The picks as the text of a view.
fn text_of(picks: &[Pick], rng: &mut Rng) -> String {
    let bound = |bound: &Option<isize>| bound.map_or(String::new(), |bound| bound.to_string());
    let words: Vec<String> = picks
        .iter()
        .map(|pick| match pick {
            Pick::Index(index) => index.to_string(),
            Pick::Range(start, stop, 1) if rng.bool() => format!("{}:{}", bound(start), bound(stop)),
            Pick::Range(start, stop, step) => format!("{} :{}: {step}", bound(start), bound(stop)),
            Pick::NewAxis => "newaxis".to_owned(),
            Pick::Ellipsis => "...".to_owned(),
        })
        .collect();
    words.join(if rng.bool() { "," } else { " , " })
}

/// The oracle's field: its position in each element, followed by a sub-array's axes.
fn field_of(nested: &Nested, field: &Field) -> Nested {
    let (inner, itemsize) = match field.dtype().as_subarray() {
        Some(subarray) => (subarray.shape().to_vec(), subarray.base().itemsize()),
        None => (vec![], field.dtype().itemsize()),
    };
    let rank = nested.shape.len();
    Nested::from_fn(&[&nested.shape[..], &inner].concat(), |index| {
        let within = index[rank..].iter().zip(&inner).fold(0, |at, (i, len)| at * len + i);
        nested.get(&index[..rank]) + (field.offset() + within * itemsize) as i128
    })
}

impl Twin {
    /// Runs an operation on both, compares them, and returns the result if there is one.
    fn run(&self, op: Op, rng: &mut Rng, world: &World) -> Option<Twin> {
        let (array, nested) = (&self.array, &self.nested);
        let rank = array.rank();
        let (arguments, got, expected): (String, Result<DArray>, Option<Nested>) = match op {
            Op::Slice | Op::SliceNumpy | Op::At => {
                let tame = rng.bool();
                let picks = generate::slice(rng, array.shape(), tame);
                let (got, expected) = match op {
                    Op::Slice => (array.slice(axis_slices(&picks)), nested.slice_rust(&picks)),
                    Op::SliceNumpy => (array.slice_numpy(axis_slices(&picks)), nested.slice_numpy(&picks)),
                    _ => (array.at(&text_of(&picks, rng)), nested.slice_numpy(&picks)),
                };
                (format!("{picks:?}"), got, expected)
            }
            Op::Permute => {
                let axes = generate::axes(rng, rank);
                (format!("{axes:?}"), array.permute(&axes), nested.permute(&axes))
            }
            Op::Transpose => (String::new(), array.transpose(), Some(nested.transpose())),
            Op::Reverse => {
                let axis = rng.usize(0..=rank);
                (format!("{axis}"), array.reverse(axis), nested.reverse(axis))
            }
            Op::Broadcast => {
                let shape = generate::broadcast_shape(rng, array.shape());
                (format!("{shape:?}"), array.broadcast_to(&shape), nested.broadcast(&shape))
            }
            Op::Reshape => {
                let shape = generate::reshape_shape(rng, array.shape());
                let expected = nested.reshape(&shape, true);
                let same = shape == array.shape();
                let expressible = expected.as_ref().is_some_and(|nested| same || nested.strides().is_some());
                (format!("{shape:?}"), array.reshape(&shape), expected.filter(|_| expressible))
            }
            Op::DropAxis => {
                let axis = rng.usize(0..=rank);
                let index = rng.usize(0..=array.shape().get(axis).copied().unwrap_or(1));
                (format!("{axis}, {index}"), array.drop_axis(axis, index), nested.drop_axis(axis, index))
            }
            Op::InsertAxis => {
                let axis = rng.usize(0..=rank + 1);
                (format!("{axis}"), array.insert_axis(axis), nested.insert_axis(axis))
            }
            Op::Squeeze => (String::new(), array.squeeze(), Some(nested.squeeze())),
            Op::Field => {
                let name = format!("f{}", rng.usize(0..3));
                let got = if rng.bool() { array.field(&name) } else { array.at(&format!(".{name}")) };
                let expected = array.dtype().field(&name).map(|field| field_of(nested, field));
                (name, got, expected)
            }
        };
        let context = || format!("{op:?} ({arguments}) of {array:?} in {}", world.text);
        match (got, expected) {
            (Err(_), None) => None,
            (Ok(array), Some(nested)) => {
                let twin = Twin { array, nested };
                twin.check_place(world, &context());
                Some(twin)
            }
            (got, expected) => panic!("got {got:?}, expected {expected:?}: {}", context()),
        }
    }

    /// Compares the shape and each address with the oracle's, and checks that it is within the
    /// memory.
    fn check_place(&self, world: &World, context: &str) {
        let (array, nested) = (&self.array, &self.nested);
        assert_eq!(array.shape(), nested.shape, "{context}");
        assert_eq!(array.layout().itemsize(), array.dtype().itemsize(), "{context}");
        let base = array.as_ptr().addr().checked_sub(world.address).expect(context);
        assert!(base <= world.window, "{context}: element 0 at byte {base}");
        let offsets = array.layout().offsets().expect(context);
        let places: Vec<i128> = offsets.map(|offset| base as i128 + offset as i128).collect();
        assert_eq!(places, nested.cells, "{context}");
        let inside =
            |&place: &i128| 0 <= place && place + array.dtype().itemsize() as i128 <= world.window as i128;
        assert!(nested.cells.iter().all(inside), "{context}");
    }

    /// The elements' bytes, in row-major order.
    fn bytes(&self) -> Vec<u8> {
        let itemsize = self.array.dtype().itemsize();
        self.nested.cells.iter().flat_map(|&place| bytes_at(place, itemsize)).collect()
    }

    fn values(&self) -> Vec<Value> {
        let dtype = self.array.dtype();
        let bytes = |&place: &i128| bytes_at(place, dtype.itemsize());
        self.nested.cells.iter().map(|place| Value::read(dtype, &bytes(place)).unwrap()).collect()
    }

    /// Every index in row-major order.
    fn indices(&self) -> Vec<Vec<usize>> {
        let mut indices = Vec::new();
        Nested::from_fn(&self.nested.shape, |index| {
            indices.push(index.to_vec());
            0
        });
        indices
    }

    fn check_elements(&self, context: &str) {
        let (array, values) = (&self.array, self.values());
        for (index, value) in self.indices().iter().zip(&values) {
            assert!(same(&array.get(index).expect(context), value), "{context} at {index:?}");
        }
        let mut outside = vec![0; array.rank()];
        for axis in 0..array.rank() {
            outside[axis] = array.shape()[axis];
            assert!(array.get(&outside).unwrap_err().is_bounds(), "{context}");
            outside[axis] = 0;
        }
        for kind in [LeaseKind::Read, LeaseKind::Write, LeaseKind::Share, LeaseKind::Pin] {
            self.check_view(kind, &values, context);
        }
        self.check_copies(context);
    }

    /// Leases the array, and reads it by value and by reference.
    fn check_view(&self, kind: LeaseKind, values: &[Value], context: &str) {
        let request = match kind {
            LeaseKind::Read => Request::read(),
            LeaseKind::Write => Request::write(),
            LeaseKind::Share => Request::share(),
            LeaseKind::Pin => Request::pin(),
        };
        let itemsize = self.array.dtype().itemsize();
        let view = match crossdock::view(&self.array, request) {
            Ok(view) => view,
            Err(refusal) => {
                let overlapping = kind == LeaseKind::Write && !self.array.layout().is_injective();
                assert!(overlapping, "{refusal}: {context}");
                return;
            }
        };
        assert!(kind != LeaseKind::Write || self.nested.is_injective(itemsize), "{context}");
        assert_eq!((view.as_ptr(), view.shape()), (self.array.as_ptr(), self.array.shape()), "{context}");
        for (index, value) in self.indices().iter().zip(values) {
            assert!(same(&view.get(index).expect(context), value), "{context} at {index:?} under {kind:?}");
        }
        let before = copied_bytes_here();
        assert_eq!(view.to_bytes().expect(context), self.bytes(), "{context} under {kind:?}");
        assert_eq!(copied_bytes_here() - before, view.nbytes() as u64, "{context}");
        let typed = view.as_slice::<u8>();
        let expected = view.dtype() == &DType::U8
            && matches!(kind, LeaseKind::Read | LeaseKind::Write)
            && self.nested.is_contiguous(1, true);
        assert_eq!(typed.is_ok(), expected, "{context}: {typed:?}");
        if let Ok(slice) = typed {
            assert_eq!(slice, self.bytes(), "{context}");
        }
    }

    fn check_copies(&self, context: &str) {
        let itemsize = self.array.dtype().itemsize();
        for (order, rows) in [(Order::RowMajor, true), (Order::ColumnMajor, false)] {
            let cells = self.nested.in_order(rows);
            let expected: Vec<u8> = cells.iter().flat_map(|&place| bytes_at(place, itemsize)).collect();
            let before = copied_bytes_here();
            let copy = self.array.to_order(order).expect(context);
            assert_eq!(copied_bytes_here() - before, expected.len() as u64, "{context}");
            check_copy(&copy, &expected, order, context);
            let before = copied_bytes_here();
            let shared = self.array.to_shared(order).expect(context);
            assert_eq!(copied_bytes_here() - before, expected.len() as u64, "{context}");
            check_copy(&shared, &expected, order, context);

            let in_order = self.nested.is_contiguous(itemsize, rows);
            let request = Request::pin().order(order).copy(CopyPolicy::IfNeeded);
            let view = crossdock::view(&self.array, request).expect(context);
            let copied = if in_order { 0 } else { self.array.nbytes() };
            assert_eq!(view.grant().copied_nbytes(), copied, "{context}");
            assert_eq!(view.to_bytes().expect(context), self.bytes(), "{context}");
        }
    }
}

/// The values are the same, NaNs included.
fn same(left: &Value, right: &Value) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

fn check_copy(copy: &DArray, expected: &[u8], order: Order, context: &str) {
    assert!(copy.layout().is_contiguous(order), "{context}");
    let (buffer, offset) = copy.buffer().expect(context);
    assert_eq!(offset, 0, "{context}");
    assert_eq!(buffer.pin().expect(context).to_vec(), expected, "{context} in {order:?} order");
}

/// Typed access: an array of `T` and rank `D` through every guard.
fn check_typed<T: Element, const D: usize>(twin: &Twin, context: &str) {
    let Ok(array) = Array::<T, D>::try_from(twin.array.clone()) else {
        panic!("{context}: not {} of rank {D}", T::dtype());
    };
    let expected = twin.bytes();
    for (index, cell) in twin.indices().iter().zip(&twin.nested.cells) {
        let index: [usize; D] = index[..].try_into().unwrap();
        let value = array.get(index).expect(context);
        assert_eq!(bytes_of(&[value]), bytes_at(*cell, size_of::<T>()), "{context} at {index:?}");
    }
    for copied in [array.pin().unwrap().to_vec(), array.share().unwrap().to_vec()] {
        assert_eq!(bytes_of(&copied), expected, "{context}");
    }
    assert_eq!(bytes_of(&array.pin().unwrap().values().collect::<Vec<T>>()), expected, "{context}");

    let addresses: Vec<usize> = {
        let base = array.as_ptr().addr();
        array.layout().offsets().map(|offset| base.wrapping_add_signed(offset)).collect()
    };
    let aligned = addresses.iter().all(|address| address.is_multiple_of(align_of::<T>()));
    let guard = match array.read() {
        Ok(guard) => guard,
        Err(error) => {
            assert!(error.is_alignment() && !aligned, "{context}: {error}");
            assert!(array.write().unwrap_err().is_alignment(), "{context}");
            return;
        }
    };
    assert!(aligned, "{context}");
    let view = guard.view();
    assert_eq!(bytes_of(&view.iter().copied().collect::<Vec<T>>()), expected, "{context}");
    assert_eq!(bytes_of(&view.to_vec()), expected, "{context}");
    let mut folded = Vec::new();
    view.iter().for_each(|value| folded.push(*value));
    assert_eq!(bytes_of(&folded), expected, "{context}");
    for (index, cell) in twin.indices().iter().zip(&twin.nested.cells) {
        let index: [usize; D] = index[..].try_into().unwrap();
        let expected = bytes_at(*cell, size_of::<T>());
        assert_eq!(bytes_of(&[view[index]]), expected, "{context}");
        // SAFETY: the oracle enumerates only indices that are within the bounds of the shape.
        assert_eq!(bytes_of(&[*unsafe { view.get_unchecked(index) }]), expected, "{context}");
    }
    let contiguous = twin.nested.is_contiguous(size_of::<T>(), true);
    assert_eq!(view.as_slice().is_some(), contiguous, "{context}");
    if let Some(slice) = view.as_slice() {
        assert_eq!(bytes_of(slice), expected, "{context}");
    }
    drop(guard);

    match array.write() {
        Ok(mut guard) => {
            assert!(twin.nested.is_injective(size_of::<T>()), "{context}");
            check_mutable(guard.view_mut(), &expected, context);
        }
        Err(error) => assert!(error.is_layout() && !array.layout().is_injective(size_of::<T>()), "{context}"),
    }
}

/// The mutable references are the elements: reversing through them reverses the array. Leaves
/// everything unchanged.
fn check_mutable<T: Element, const D: usize>(
    mut view: ArrayViewMut<'_, T, D>,
    expected: &[u8],
    context: &str,
) {
    let values = view.as_view().to_vec();
    assert_eq!(bytes_of(&values), expected, "{context}");
    let turn = |view: &mut ArrayViewMut<'_, T, D>| {
        let mut all: Vec<&mut T> = view.iter_mut().collect();
        let half = all.len() / 2;
        let (left, right) = all.split_at_mut(half);
        left.iter_mut().zip(right.iter_mut().rev()).for_each(|(left, right)| std::mem::swap(*left, *right));
    };
    turn(&mut view);
    let turned: Vec<T> = values.iter().rev().copied().collect();
    assert_eq!(bytes_of(&view.as_view().to_vec()), bytes_of(&turned), "{context}");
    turn(&mut view);
}

fn bytes_of<T: Element>(values: &[T]) -> Vec<u8> {
    // SAFETY: `T: Element` implies `Pod` 2: no padding, so all `size_of_val(values)` bytes are
    // initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

/// Calls `check_typed` for the rank that the array has.
macro_rules! by_rank {
    ($ty:ty, $twin:expr, $context:expr, $($rank:literal)*) => {
        match $twin.array.rank() {
            $($rank => check_typed::<$ty, $rank>($twin, $context),)*
            _ => {}
        }
    };
}

fn check_all_types(twin: &Twin, context: &str) -> bool {
    macro_rules! types {
        ($($name:ident = $ty:ty),*) => {
            $(
                if *twin.array.dtype() == DType::$name {
                    by_rank!($ty, twin, context, 0 1 2 3 4 5 6 7 8);
                    return true;
                }
            )*
        };
    }
    types!(U8 = u8, U16 = u16, I32 = i32, F64 = f64);
    let refused = Array::<u64, 1>::try_from(twin.array.clone());
    let fits = *twin.array.dtype() == DType::U64 && twin.array.rank() == 1;
    match refused {
        Ok(_) => assert!(fits, "{context}"),
        Err(rejected) => {
            assert!(!fits, "{context}");
            assert_eq!(rejected.value.as_ptr(), twin.array.as_ptr(), "{context}: the source comes back");
        }
    }
    false
}

/// A layout like those of the generator, for elements of a dtype.
fn placed(rng: &mut Rng, itemsize: usize) -> Placed {
    let rank = rng.usize(0..=8);
    loop {
        let placed = generate::direct(rng, rank);
        // The layout was made for another item size; with this one the strides may be unaligned or
        // overlap.
        let plain = Plain { itemsize, ..placed.plain };
        let (low, high, _) = plain.reach(0);
        let empty = plain.shape.contains(&0);
        let (low, high) = if empty { (0, 0) } else { (low, high) };
        if high - low > MAX_WINDOW as i128 {
            continue;
        }
        let (before, behind) = (rng.i128(0..9), rng.i128(0..9));
        let offset = (before - low) as usize;
        let window = offset + (high + behind) as usize;
        if Layout::new(&plain.shape, &plain.strides, itemsize).is_ok() {
            return Placed { plain, offset, window, memory: placed.memory };
        }
    }
}

fn memory(window: usize) -> Buffer {
    // Words, so that the memory is aligned for the widest element.
    let mut words = vec![0u64; window.div_ceil(8)];
    for (index, word) in words.iter_mut().enumerate() {
        let place = 8 * index as i128;
        *word = u64::from_ne_bytes(std::array::from_fn(|byte| byte_at(place + byte as i128)));
    }
    Buffer::from_vec(words).unwrap().slice(..window).unwrap()
}

fn note_classes(coverage: &mut Coverage, twin: &Twin) {
    let (shape, strides) = (twin.array.shape(), twin.array.strides());
    let long = || shape.iter().zip(strides).filter(|(len, _)| **len > 1).map(|(_, stride)| *stride);
    let align = twin.array.dtype().alignment();
    coverage.note(format!("rank {}", twin.array.rank().min(9)));
    coverage.note_if(long().any(|stride| stride < 0), "negative stride");
    coverage.note_if(long().any(|stride| stride == 0), "zero stride");
    let unaligned = |stride: isize| !stride.unsigned_abs().is_multiple_of(align);
    coverage.note_if(long().any(unaligned), "unaligned stride");
    coverage.note_if(twin.array.is_empty(), "empty");
    coverage.note_if(twin.array.dtype().as_record().is_some(), "records");
    coverage.note_if(twin.array.layout().is_injective(), "no overlap");
    coverage.note_if(twin.array.layout().order().is_some() && !twin.array.is_empty(), "without gaps");
}

#[test]
fn arrays_hold_the_elements_that_the_oracle_finds_in_memory() {
    let mut rng = Rng::with_seed(seed());
    let (mut coverage, mut operations) = (Coverage::default(), Coverage::default());
    let cases = cases(CASES);
    while coverage.cases() < cases {
        let dtype = dtype(&mut rng);
        let placed = placed(&mut rng, dtype.itemsize());
        let layout = Layout::new(&placed.plain.shape, &placed.plain.strides, placed.plain.itemsize).unwrap();
        let buffer = memory(placed.window);
        let world = World {
            window: placed.window,
            address: buffer.as_ptr().addr(),
            text: format!("{:?} at {} of {}", placed.plain, placed.offset, placed.window),
        };
        let array = DArray::from_buffer(buffer, dtype, layout, placed.offset).expect(&world.text);
        let mut twin = Twin { array, nested: placed.nested() };
        twin.check_place(&world, "a new array");
        let mut chain = String::from("a new array");
        for _ in 0..rng.usize(0..6) {
            let record = twin.array.dtype().as_record().is_some();
            let op = if record && rng.usize(0..4) == 0 { Op::Field } else { OPS[rng.usize(0..OPS.len())] };
            operations.case();
            let next = twin.run(op, &mut rng, &world);
            operations.note(format!("{op:?} {}", if next.is_some() { "done" } else { "refused" }));
            // Few enough elements for an oracle's list, and not all of them lost too soon.
            let is_kept =
                |next: &Twin| next.array.len() <= 512 && (!next.array.is_empty() || rng.usize(0..4) == 0);
            if let Some(next) = next.filter(is_kept) {
                twin = next;
                chain.push_str(&format!(", {op:?}"));
            }
        }
        coverage.case();
        note_classes(&mut coverage, &twin);
        let context = format!("{:?} ({chain}) in {}", twin.array, world.text);
        twin.check_elements(&context);
        let typed = check_all_types(&twin, &context);
        coverage.note_if(typed, "typed");
    }
    println!("{coverage}\n{operations}");
    let ranks = (0..=8).map(|rank| format!("rank {rank}"));
    let named = [
        "negative stride",
        "zero stride",
        "unaligned stride",
        "empty",
        "records",
        "typed",
        "no overlap",
        "without gaps",
    ];
    coverage.assert_at_least(0.03, ranks.chain(named.map(String::from)));
    operations.assert_at_least(0.01, OPS.map(|op| format!("{op:?} done")));
}
