//! Indirect arrays in real memory against the naive oracle: rows behind tables of pointers, at
//! every rank and any number of tables.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the arrays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crossdock::element::{DType, Value};
use crossdock::exchange::protocol::dlpack;
use crossdock::layout::{AxisSlice, Layout, Order};
use crossdock::memory::Birth;
use crossdock::view::{CopyPolicy, Reason, Request};
use crossdock::{Array, Casting, DArray, s};
use crossdock_testkit::{Coverage, Nested, Pick, generate, seed};
use fastrand::Rng;

use crate::cases;

const CASES: usize = 4_000;

/// Memory of a foreign library: tables of pointers, and rows of numbers. Each element is a unique
/// number.
struct Foreign {
    shape: Vec<usize>,
    /// The axes that follow pointers, and the offset that is added after each.
    suboffsets: Vec<Option<isize>>,
    strides: Vec<isize>,
    /// The number of bytes before the element of index 0 in each segment's block.
    leads: Vec<usize>,
    blocks: Vec<Vec<u8>>,
    ptr: *const u8,
}

// SAFETY: `ptr` points into `blocks`, which move with the struct, and no other thread has the
// pointer.
unsafe impl Send for Foreign {}

impl Foreign {
    fn new(rng: &mut Rng, rank: usize) -> Self {
        let shape: Vec<usize> =
            (0..rank).map(|_| if rng.u8(0..30) == 0 { 0 } else { rng.usize(1..5) }).collect();
        let sure = rng.usize(0..rank);
        let suboffsets: Vec<Option<isize>> =
            (0..rank).map(|axis| (axis == sure || rng.u8(0..5) == 0).then(|| rng.isize(-64..64))).collect();
        let mut strides = vec![0; rank];
        let mut leads = vec![];
        let mut first = 0;
        for last in (0..rank).filter(|&axis| axis + 1 == rank || suboffsets[axis].is_some()) {
            let mut unit = if suboffsets[last].is_some() { 8 } else { 4 };
            let mut lead = 0;
            let mut inner: Vec<usize> = (first..=last).collect();
            rng.shuffle(&mut inner);
            for axis in inner {
                // Sometimes a gap of any width, so that pointers and elements are unaligned.
                unit += if rng.u8(0..4) == 0 { rng.isize(0..7) } else { 0 };
                strides[axis] = if rng.u8(0..3) == 0 { -unit } else { unit };
                let reach = unit * (shape[axis].max(1) as isize - 1);
                lead += if strides[axis] < 0 { reach as usize } else { 0 };
                unit += reach;
            }
            leads.push(lead);
            first = last + 1;
        }
        if suboffsets[rank - 1].is_some() {
            leads.push(0);
        }
        let mut foreign = Self { shape, suboffsets, strides, leads, blocks: vec![], ptr: std::ptr::null() };
        if !foreign.shape.contains(&0) {
            let mut index = vec![0; rank];
            foreign.ptr = foreign.block(0, 0, &mut index);
        }
        foreign
    }

    /// The address of the element of index 0 in a block of one segment, which begins at an axis.
    /// All axes before it have their index.
    fn block(&mut self, segment: usize, from: usize, index: &mut [usize]) -> *const u8 {
        let rank = self.shape.len();
        let end = (from..rank).find(|&axis| self.suboffsets[axis].is_some());
        let axes = from..end.map_or(rank, |axis| axis + 1);
        let reach: usize =
            axes.clone().map(|axis| (self.shape[axis] - 1) * self.strides[axis].unsigned_abs()).sum();
        self.blocks.push(vec![0xEE; reach + 16]);
        let base = self.blocks.last_mut().unwrap().as_mut_ptr().wrapping_add(self.leads[segment]);
        let count: usize = axes.clone().map(|axis| self.shape[axis]).product();
        for position in 0..count {
            let mut left = position;
            for axis in axes.clone().rev() {
                index[axis] = left % self.shape[axis];
                left /= self.shape[axis];
            }
            let offset: isize = axes.clone().map(|axis| index[axis] as isize * self.strides[axis]).sum();
            let at = base.wrapping_offset(offset);
            match end {
                Some(axis) => {
                    let behind = self.block(segment + 1, axis + 1, index);
                    let pointer = behind.wrapping_offset(-self.suboffsets[axis].unwrap());
                    // SAFETY: `at` is within the block, which has room for a whole pointer behind
                    // the last address.
                    unsafe { at.cast::<*const u8>().write_unaligned(pointer) };
                }
                None => {
                    let number = self.number(index);
                    // SAFETY: `at` is within the block, which has room for a whole element behind
                    // the last address.
                    unsafe { at.cast::<u32>().write_unaligned(number) };
                }
            }
        }
        base
    }

    fn number(&self, index: &[usize]) -> u32 {
        index.iter().zip(&self.shape).fold(1, |number, (&i, &len)| number * len as u32 + i as u32)
    }

    fn nested(&self) -> Nested {
        Nested::from_fn(&self.shape, |index| self.number(index).into())
    }

    fn layout(&self) -> Layout {
        Layout::with_suboffsets(&self.shape, &self.strides, &self.suboffsets, 4).unwrap()
    }

    fn adopted(self, birth: Birth) -> DArray {
        let (ptr, layout) = (self.ptr, self.layout());
        // SAFETY: the blocks match the layout, the closure keeps them alive until the release, and
        // no other code accesses them.
        unsafe { DArray::from_indirect(ptr, DType::U32, &layout, birth, move || drop(self)) }.unwrap()
    }
}

fn same(array: &DArray, nested: &Nested, what: &str) {
    let shape = array.shape().to_vec();
    for (position, expected) in nested.in_order(true).into_iter().enumerate() {
        let mut left = position;
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = left % shape[axis];
            left /= shape[axis];
        }
        let found = array.get(&index).unwrap();
        assert_eq!(found.as_u64().map(i128::from), Some(expected), "{what}: element {index:?} of {shape:?}");
    }
}

fn axis_slices(picks: &[Pick]) -> Vec<AxisSlice> {
    picks
        .iter()
        .map(|pick| match *pick {
            Pick::Index(index) => AxisSlice::Index(index),
            Pick::Range(start, stop, step) => AxisSlice::Range { start, stop, step },
            Pick::NewAxis => AxisSlice::NewAxis,
            Pick::Ellipsis => AxisSlice::Ellipsis,
        })
        .collect()
}

/// One operation on both; `None` if both refuse it, or if no view expresses it.
fn step(
    rng: &mut Rng,
    array: &DArray,
    nested: &Nested,
    coverage: &mut Coverage,
) -> Option<(DArray, Nested, &'static str)> {
    let rank = array.rank();
    let (name, result, expected) = match rng.u8(0..8) {
        0 | 1 => {
            let picks = generate::slice(rng, array.shape(), true);
            ("slice", array.slice(&axis_slices(&picks)[..]), nested.slice_rust(&picks))
        }
        2 => {
            let picks = generate::slice(rng, array.shape(), false);
            ("slice_numpy", array.slice_numpy(&axis_slices(&picks)[..]), nested.slice_numpy(&picks))
        }
        3 => {
            let axes = generate::axes(rng, rank);
            ("permute", array.permute(&axes), nested.permute(&axes))
        }
        4 => ("transpose", array.transpose(), Some(nested.transpose())),
        5 if rank > 0 => {
            let axis = rng.usize(0..rank);
            ("reverse", array.reverse(axis), nested.reverse(axis))
        }
        6 if rank > 0 => {
            let axis = rng.usize(0..rank);
            let index = rng.usize(0..array.shape()[axis].max(1));
            ("drop_axis", array.drop_axis(axis, index), nested.drop_axis(axis, index))
        }
        7 => ("squeeze", array.squeeze(), Some(nested.squeeze())),
        _ => {
            let axis = rng.usize(0..=rank);
            ("insert_axis", array.insert_axis(axis), nested.insert_axis(axis))
        }
    };
    match (result, expected) {
        (Ok(array), Some(nested)) => {
            coverage.note(name);
            Some((array, nested, name))
        }
        (Err(error), Some(_)) => {
            assert!(error.is_layout() && matches!(name, "permute" | "transpose"), "{name}: {error}");
            coverage.note("refused: no suboffsets express it");
            None
        }
        (Err(_), None) => None,
        (Ok(result), None) => panic!("{name} gave {result:?}, which the oracle refuses"),
    }
}

#[test]
fn every_view_of_an_indirect_array_reaches_the_elements_that_it_names() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..cases(CASES) {
        let rank = rng.usize(1..=8).min(rng.usize(1..=8));
        let foreign = Foreign::new(&mut rng, rank);
        let mut nested = foreign.nested();
        let tables = foreign.suboffsets.iter().flatten().count();
        coverage.case();
        coverage.note(format!("rank {rank}"));
        coverage.note_if(tables > 1, "several tables");
        coverage.note_if(foreign.shape.contains(&0), "empty");
        coverage.note_if(foreign.strides.iter().any(|&stride| stride < 0), "negative");
        coverage.note_if(foreign.strides.iter().any(|&stride| stride % 4 != 0), "unaligned");
        let mut array = foreign.adopted(Birth::Sole);
        same(&array, &nested, "whole");
        for _ in 0..rng.usize(1..5) {
            let Some((view, expected, name)) = step(&mut rng, &array, &nested, &mut coverage) else { break };
            drop(std::mem::replace(&mut array, view));
            nested = expected;
            assert_eq!(array.shape(), &nested.shape[..], "{name}");
            same(&array, &nested, name);
        }
        coverage.note_if(!array.is_indirect(), "no pointer left to follow");
        copies_are_the_elements(&mut rng, &array, &nested);
    }
    println!("{coverage}");
    if cases(CASES) >= CASES {
        coverage
            .assert_at_least(0.05, ["negative", "unaligned", "empty", "several tables", "slice", "permute"]);
        coverage.assert_at_least(0.05, ["drop_axis", "squeeze", "no pointer left to follow"]);
    }
}

fn copies_are_the_elements(rng: &mut Rng, array: &DArray, nested: &Nested) {
    let order = if rng.bool() { Order::RowMajor } else { Order::ColumnMajor };
    let copy = array.to_order(order).unwrap();
    assert!(copy.layout().is_contiguous(order) && !copy.is_indirect());
    same(&copy, nested, "to_order");
    let wide = array.cast(&DType::F64, order, Casting::Checked).unwrap();
    same(&wide.cast(&DType::U32, order, Casting::Checked).unwrap(), nested, "cast");
    // Assigned to itself from memory of its own, as if through a temporary.
    array.assign(array, Casting::Checked).unwrap();
    same(array, nested, "assigned to itself");
    let zeros = DArray::zeros(DType::U32, array.shape(), Order::RowMajor).unwrap();
    array.assign(&zeros, Casting::Checked).unwrap();
    assert!(array.is_empty() || array.get(&vec![0; array.rank()]).unwrap() == Value::UInt(0));
    array.assign(&copy, Casting::Checked).unwrap();
    same(array, nested, "assigned");
}

#[test]
fn rows_are_adopted_and_released_with_the_last_view() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let released = Arc::new(AtomicUsize::new(0));
    let (mut rows, counted) = ([[1u32, 2], [3, 4]], Counted(released.clone()));
    let table: Vec<*mut u8> = rows.iter_mut().map(|row| row.as_mut_ptr().cast()).collect();
    let layout = Layout::with_suboffsets(&[2, 2], &[8, 4], &[Some(0), None], 4).unwrap();
    let ptr = table.as_ptr().cast();
    // SAFETY: the table points to two rows of two elements; both outlive the array, which the test
    // drops first.
    let array = unsafe { DArray::from_indirect(ptr, DType::U32, &layout, Birth::Aliased, || drop(counted)) };
    let row = array.unwrap().drop_axis(0, 1).unwrap();
    assert!(!row.is_indirect());
    assert_eq!((row.get(&[0]).unwrap(), released.load(Relaxed)), (Value::UInt(3), 0));
    drop(row);
    assert_eq!(released.load(Relaxed), 1);
}

#[test]
fn vectors_are_rows_in_place() {
    let rows = vec![vec![1.5f64, 2.5, 3.5], vec![4.5, 5.5, 6.5]];
    let addresses: Vec<_> = rows.iter().map(|row| row.as_ptr()).collect();
    let array = DArray::from_rows(rows).unwrap();
    assert_eq!((array.shape(), array.layout().suboffsets().unwrap()), (&[2, 3][..], &[Some(0), None][..]));
    for (index, &address) in addresses.iter().enumerate() {
        let row = Array::<f64, 1>::try_from(array.drop_axis(0, index).unwrap()).unwrap();
        assert_eq!(row.as_ptr(), address);
        let read = row.read().unwrap();
        assert_eq!(read.iter().sum::<f64>(), 7.5 + 9.0 * index as f64);
        assert!(array.set(&[0, 0], &Value::Float(0.0)).unwrap_err().is_conflict(), "one word for all rows");
    }
    array.set(&[1, 2], &Value::Float(-1.0)).unwrap();
    assert_eq!(array.slice(s![1, 1..]).unwrap().get(&[1]).unwrap(), Value::Float(-1.0));
    assert!(DArray::from_rows(vec![vec![1u8], vec![]]).unwrap_err().is_shape());
    for empty in [vec![], vec![vec![], vec![]]] {
        let array = DArray::from_rows::<u8>(empty).unwrap();
        assert!(array.is_empty() && array.to_order(Order::RowMajor).unwrap().is_empty());
    }
}

#[test]
fn fields_of_records_behind_pointers_are_arrays_too() {
    let trade = DType::packed_record([("id", DType::U8), ("price", DType::F64)]).unwrap();
    let pair = DType::packed_record([("trade", trade), ("legs", DType::subarray(&[2], DType::U16).unwrap())])
        .unwrap();
    let mut rows: Vec<Vec<u8>> = (0..3u8)
        .map(|row| {
            (0..2u8)
                .flat_map(|column| {
                    let mut item = vec![row];
                    item.extend(f64::from(10 * row + column).to_ne_bytes());
                    item.extend([u16::from(row), u16::from(column)].map(u16::to_ne_bytes).concat());
                    item
                })
                .collect()
        })
        .collect();
    let table: Vec<*mut u8> = rows.iter_mut().map(|row| row.as_mut_ptr()).collect();
    let layout = Layout::with_suboffsets(&[3, 2], &[8, 13], &[Some(0), None], 13).unwrap();
    let ptr = table.as_ptr().cast();
    // SAFETY: the table points to three rows of two records; both outlive all arrays of this test.
    let array = unsafe { DArray::from_indirect(ptr, pair, &layout, Birth::Aliased, || {}) }.unwrap();
    let price = array.at(".trade.price").unwrap();
    assert_eq!(price.get(&[2, 1]).unwrap(), Value::Float(21.0));
    let legs = array.field("legs").unwrap();
    assert_eq!((legs.shape(), legs.get(&[2, 1, 1]).unwrap()), (&[3, 2, 2][..], Value::UInt(1)));
    assert_eq!(array.at("1, ::-1, .legs, :, 0").unwrap().get(&[0]).unwrap(), Value::UInt(1));
}

#[test]
fn whoever_follows_no_pointers_is_refused_or_given_a_copy() {
    let array = DArray::from_rows(vec![vec![1u8, 2], vec![3, 4]]).unwrap();
    let refusal = array.export(&Request::pin()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Layout(_)) && refusal.would_copy() == Some(4), "{refusal}");
    let view = array.export(&Request::pin().indirect()).unwrap();
    assert_eq!((view.get(&[1, 0]).unwrap(), view.grant().copied_nbytes()), (Value::UInt(3), 0));
    assert_eq!(view.to_bytes().unwrap(), [1, 2, 3, 4]);
    let copied = array.export(&Request::read().copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!((copied.grant().copied_nbytes(), copied.as_slice::<u8>().unwrap()), (4, &[1, 2, 3, 4][..]));
    let options = dlpack::ExportOptions::new();
    let refusal = dlpack::export_versioned(&array, &options).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal}");
    let row = array.drop_axis(0, 1).unwrap();
    let exported = dlpack::export_versioned(&row, &options).unwrap();
    assert_eq!(exported.copied_nbytes(), 0, "a row follows no pointers");
    assert!(array.buffer().unwrap_err().is_layout() && row.buffer().unwrap_err().is_layout());
    let rejected = Array::<u8, 2>::try_from(array).unwrap_err();
    assert!(rejected.error.is_layout(), "{}", rejected.error);
}

#[test]
fn what_is_no_indirect_array_is_refused_and_released() {
    let released = Arc::new(AtomicUsize::new(0));
    let release = || {
        let released = released.clone();
        move || {
            released.fetch_add(1, Relaxed);
        }
    };
    let table = [std::ptr::null_mut::<u8>(); 2];
    let ptr = table.as_ptr().cast();
    let indirect = Layout::with_suboffsets(&[2, 2], &[8, 4], &[Some(0), None], 4).unwrap();
    let direct = Layout::contiguous(&[2, 2], 4, Order::RowMajor).unwrap();
    // SAFETY: the table has a readable pointer for each row. A null pointer in it is refused before
    // it is followed.
    let null = unsafe { DArray::from_indirect(ptr, DType::U32, &indirect, Birth::Aliased, release()) };
    assert!(null.unwrap_err().to_string().contains("element [0, 0]"));
    // SAFETY: the dtype does not fit the layout, which is refused before anything is read.
    let other = unsafe { DArray::from_indirect(ptr, DType::U8, &indirect, Birth::Aliased, release()) };
    assert!(other.unwrap_err().is_dtype());
    // SAFETY: the layout has no suboffsets, which is refused before anything is read.
    let plain = unsafe { DArray::from_indirect(ptr, DType::U32, &direct, Birth::Aliased, release()) };
    assert!(plain.unwrap_err().is_layout());
    assert_eq!(released.load(Relaxed), 3);
}
