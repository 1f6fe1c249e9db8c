//! Elements that are copied, byte-swapped or repeated, at any strides.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, MemoryManager};
use crossdock::element::{ByteOrder, DType, ScalarKind, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::Place;
use crossdock::{Casting, DArray};
use crossdock_testkit::{Coverage, cases, seed};
use fastrand::Rng;

use crate::Subject;

/// A source or destination: bytes, and elements at some offsets in them.
struct Side {
    bytes: Vec<u8>,
    strides: Vec<isize>,
    start: usize,
}

impl Side {
    fn random(rng: &mut Rng, shape: &[usize], strides: Vec<isize>, itemsize: usize) -> Self {
        let reach = |sign: isize| -> usize {
            let of_axis =
                |(&len, &stride): (&usize, &isize)| (stride * sign).max(0) as usize * len.saturating_sub(1);
            shape.iter().zip(&strides).map(of_axis).sum()
        };
        let (before, behind) = (*rng.choice(&[0, 0, 0, 1, 4, 8, 13, 16]).unwrap(), rng.usize(0..20));
        let start = before + reach(-1);
        let mut bytes = vec![0; start + reach(1) + itemsize + behind];
        rng.fill(&mut bytes);
        Self { bytes, strides, start }
    }

    /// The offsets of the elements, in row-major order.
    fn places(&self, shape: &[usize]) -> Vec<usize> {
        let mut places = vec![self.start as isize];
        for (&len, &stride) in shape.iter().zip(&self.strides) {
            let steps = 0..len as isize;
            places = places
                .iter()
                .flat_map(|place| steps.clone().map(move |step| place + step * stride))
                .collect();
        }
        places.into_iter().map(|place| place as usize).collect()
    }

    fn array(&self, memory: &Arc<dyn MemoryManager>, dtype: &DType, shape: &[usize]) -> DArray {
        let buffer = Buffer::copy_from_slice(&self.bytes).unwrap().copy_to(memory).unwrap();
        let layout = Layout::new(shape, &self.strides, dtype.itemsize()).unwrap();
        DArray::from_buffer(buffer, dtype.clone(), layout, self.start).unwrap()
    }
}

fn host() -> Arc<dyn MemoryManager> {
    device::memory(Place::CPU).unwrap()
}

/// All bytes of the allocation of an array, which begins `start` bytes before its element 0.
fn all_bytes(array: &DArray, whole: &Buffer) -> Vec<u8> {
    assert_eq!(array.place(), whole.place());
    whole.copy_to(&host()).unwrap().read().unwrap().to_vec()
}

/// Strides where elements share no bytes: some order of the axes, with gaps or without.
fn injective(rng: &mut Rng, shape: &[usize], itemsize: usize) -> Vec<isize> {
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    if rng.usize(0..3) != 0 {
        rng.shuffle(&mut order);
    }
    let (gaps, backwards) = (rng.usize(0..3) == 0, rng.usize(0..3) == 0);
    let (mut strides, mut next) = (vec![0; shape.len()], itemsize);
    for axis in order {
        if gaps && rng.bool() {
            next += *rng.choice(&[1, itemsize, 2 * itemsize, 7, 64 - next % 64]).unwrap();
        }
        strides[axis] = if backwards && rng.bool() { -(next as isize) } else { next as isize };
        next *= shape[axis].max(1);
    }
    strides
}

fn shape(rng: &mut Rng) -> Vec<usize> {
    if rng.usize(0..40) == 0 {
        return vec![2; rng.usize(9..13)].into_iter().flat_map(|len| [len, 1]).collect();
    }
    let rank = rng.usize(0..=5);
    let mut left = *rng.choice(&[50, 500, 5000, 20_000]).unwrap();
    let mut shape = Vec::new();
    for _ in 0..rank {
        let len = match rng.usize(0..6) {
            0 => 1,
            1 => rng.usize(2..=5),
            2 => rng.usize(1..=20),
            3 => *rng.choice(&[8, 16, 31, 32, 33, 63, 64, 65, 130]).unwrap(),
            _ => rng.usize(1..=300),
        };
        let len = len.min(left).max(1);
        left /= len;
        shape.push(len);
    }
    rng.shuffle(&mut shape);
    if rank > 0 && rng.usize(0..30) == 0 {
        shape[rng.usize(0..rank)] = 0;
    }
    shape
}

/// The dtypes of source and destination, and the width of the parts that are byte-swapped.
fn dtypes(rng: &mut Rng) -> (DType, DType, usize) {
    let kinds = [
        ScalarKind::Int16,
        ScalarKind::Float16,
        ScalarKind::UInt32,
        ScalarKind::Float64,
        ScalarKind::Complex64,
        ScalarKind::Complex128,
    ];
    if rng.usize(0..3) == 0 {
        let kind = *rng.choice(&kinds).unwrap();
        let of = |order| DType::scalar(kind, order).unwrap();
        let (from, to) = (ByteOrder::NATIVE.swapped(), ByteOrder::NATIVE);
        let orders = if rng.bool() { (from, to) } else { (to, from) };
        return (of(orders.0), of(orders.1), kind.component_size());
    }
    let widths = [1, 1, 2, 2, 4, 4, 4, 8, 8, 16, 16, 3, 5, 6, 12, 20, 24, 40, 100];
    let dtype = DType::void(*rng.choice(&widths).unwrap()).unwrap();
    (dtype.clone(), dtype, 1)
}

pub fn elements_arrive_whatever_the_strides_and_nothing_else_changes(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let (mut rng, mut coverage) = (Rng::with_seed(seed()), Coverage::default());
    for _ in 0..cases(600) {
        coverage.case();
        one_move(&**device, &mut rng, &mut coverage);
    }
    println!("{}: {coverage}", device.name());
    let common =
        ["backwards in the source", "backwards in the destination", "turned around", "another fastest axis"];
    coverage.assert_at_least(0.1, common);
    let some = ["the same element again", "a slice", "as wide as no kernel", "long and crosswise", "runs"];
    coverage.assert_at_least(0.02, some);
    coverage.assert_at_least(0.005, ["no elements", "one element", "many axes"]);
}

fn one_move(device: &dyn Device, rng: &mut Rng, coverage: &mut Coverage) {
    let shape = shape(rng);
    let (from_dtype, to_dtype, part) = dtypes(rng);
    let itemsize = from_dtype.itemsize();
    let mut from_strides = injective(rng, &shape, itemsize);
    if rng.usize(0..5) == 0 && !shape.is_empty() {
        let axis = rng.usize(0..shape.len());
        from_strides[axis] = if rng.bool() { 0 } else { rng.isize(-9..9) };
    }
    let to_strides = injective(rng, &shape, itemsize);
    let from = Side::random(rng, &shape, from_strides, itemsize);
    let to = Side::random(rng, &shape, to_strides, itemsize);

    let mut wanted = to.bytes.clone();
    for (source, target) in from.places(&shape).into_iter().zip(to.places(&shape)) {
        for byte in 0..itemsize {
            let mirrored = byte / part * part + (part - 1 - byte % part);
            wanted[target + byte] = from.bytes[source + mirrored];
        }
    }
    let memory = device.memory();
    let source = from.array(&memory, &from_dtype, &shape);
    let buffer = Buffer::copy_from_slice(&to.bytes).unwrap().copy_to(&memory).unwrap();
    let layout = Layout::new(&shape, &to.strides, itemsize).unwrap();
    let target = DArray::from_buffer(buffer.clone(), to_dtype, layout, to.start).unwrap();
    target.assign(&source, Casting::Checked).unwrap();
    let got = all_bytes(&target, &buffer);
    let first = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
    assert!(
        first.is_none(),
        "byte {first:?} of {} is another: {shape:?} of {itemsize} bytes (parts of {part}), strides {:?} at {} to {:?} at {}",
        wanted.len(),
        from.strides,
        from.start,
        to.strides,
        to.start
    );

    let long = |axis: &usize| shape[*axis] > 1;
    let fastest =
        |strides: &[isize]| (0..shape.len()).filter(long).min_by_key(|&axis| strides[axis].unsigned_abs());
    let (source_fastest, target_fastest) = (fastest(&from.strides), fastest(&to.strides));
    let crosswise = source_fastest != target_fastest;
    coverage.note_if(from.strides.iter().any(|&stride| stride < 0), "backwards in the source");
    coverage.note_if(to.strides.iter().any(|&stride| stride < 0), "backwards in the destination");
    coverage.note_if(from.strides.contains(&0), "the same element again");
    let is_whole = |side: &Side| side.start.is_multiple_of(itemsize);
    coverage.note_if(!is_whole(&from) || !is_whole(&to), "a slice");
    coverage.note_if(part > 1, "turned around");
    coverage.note_if(!itemsize.is_power_of_two(), "as wide as no kernel");
    coverage.note_if(crosswise, "another fastest axis");
    let both_long = |a: usize, b: usize| shape[a] >= 16 && shape[b] >= 16;
    coverage.note_if(
        crosswise && source_fastest.zip(target_fastest).is_some_and(|(a, b)| both_long(a, b)),
        "long and crosswise",
    );
    let run = source_fastest.filter(|&axis| from.strides[axis] == itemsize as isize && !crosswise);
    coverage.note_if(run.is_some_and(|axis| shape[axis] * itemsize > 100), "runs");
    coverage.note_if(shape.contains(&0), "no elements");
    coverage.note_if(shape.iter().all(|&len| len == 1), "one element");
    coverage.note_if(shape.len() > 16, "many axes");
}

pub fn more_loops_than_a_launch_has_are_as_many_launches(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let shape = [2; 18];
    let mut order: Vec<usize> = (0..18).collect();
    Rng::with_seed(seed()).shuffle(&mut order);
    let bytes: Vec<u8> = (0..1_usize << 18).map(|byte| ((byte * 31) >> 5) as u8).collect();
    let array = DArray::from(crossdock::Array::from_vec(bytes.clone(), [1 << 18]).unwrap());
    let there = array.copy_to(&device.memory()).unwrap().reshape(&shape).unwrap().permute(&order).unwrap();
    let back = there.to_order(Order::RowMajor).unwrap().copy_to(&host()).unwrap();
    let wanted = array.reshape(&shape).unwrap().permute(&order).unwrap();
    assert!(back.equals(&wanted).unwrap());
    assert_eq!(there.to_order(Order::RowMajor).unwrap().place(), device.place());
}

pub fn one_element_is_written_everywhere_and_nowhere_else(subject: &Subject) {
    let Some(device) = &subject.strided else { return };
    let (mut rng, mut coverage) = (Rng::with_seed(seed()), Coverage::default());
    for _ in 0..cases(200) {
        coverage.case();
        let shape = shape(&mut rng);
        let width = *rng.choice(&[1, 2, 4, 8, 16, 3, 6, 12, 24, 40]).unwrap();
        let strides = injective(&mut rng, &shape, width);
        let side = Side::random(&mut rng, &shape, strides, width);
        let mut element = vec![0; width];
        let uniform = rng.usize(0..4) == 0;
        if !uniform {
            rng.fill(&mut element);
        }
        let mut wanted = side.bytes.clone();
        for place in side.places(&shape) {
            wanted[place..place + width].copy_from_slice(&element);
        }
        let dtype = DType::void(width).unwrap();
        let buffer = Buffer::copy_from_slice(&side.bytes).unwrap().copy_to(&device.memory()).unwrap();
        let layout = Layout::new(&shape, &side.strides, width).unwrap();
        let array = DArray::from_buffer(buffer.clone(), dtype, layout, side.start).unwrap();
        array.fill(&Value::Void(element)).unwrap();
        let got = all_bytes(&array, &buffer);
        assert!(got == wanted, "{width} bytes at {} in {shape:?}, strides {:?}", side.start, side.strides);
        coverage.note_if(uniform, "the same byte");
        coverage.note_if(width > 16, "wider than a pattern");
        coverage.note_if(!side.start.is_multiple_of(width), "a slice");
        coverage.note_if(array.order().is_some() && array.nbytes() > 300, "long runs");
    }
    println!("{}: {coverage}", device.name());
    coverage.assert_at_least(0.05, ["the same byte", "wider than a pattern", "a slice", "long runs"]);
}

pub fn long_rows_and_slices_of_them_arrive_with_nothing_beside(subject: &Subject) {
    // Too long for the random cases: shapes for copy engines, and shapes that they cannot copy.
    let whole = DArray::from_fn(DType::U8, &[4, 7, 5000], Order::RowMajor, |index| {
        Value::from((index[0] * 31 + index[1] * 7 + index[2]) as u8 as u64)
    })
    .unwrap();
    let views: [fn(&DArray) -> DArray; 6] = [
        |array| array.at("1, 2:6, 100:4300").unwrap(),
        |array| array.at("1:, 2:6, 100:4300").unwrap(),
        |array| array.at("::-1, 2:6, 100:4300").unwrap(),
        |array| array.at("1:, ::-2, 1:4999").unwrap(),
        |array| array.at("1:, 2:6, 100:4300").unwrap().swap_axes(0, 1).unwrap(),
        |array| array.at("1, 2:6, 100:4300").unwrap().broadcast_to(&[3, 4, 4200]).unwrap(),
    ];
    let Some(device) = &subject.strided else { return };
    let there = whole.copy_to(&device.memory()).unwrap();
    for (number, view) in views.iter().enumerate() {
        let (source, wanted) = (view(&there), view(&whole));
        let packed = source.to_order(Order::RowMajor).unwrap().copy_to(&host()).unwrap();
        assert!(packed.equals(&wanted).unwrap(), "view {number} on {}", device.name());
        // Into a part of a larger array.
        let room: Vec<usize> = source.shape().iter().map(|len| len + 3).collect();
        let inner = |array: &DArray| {
            let ends = source.shape().iter().map(|len| format!("1:{}", len + 1));
            array.at(&ends.collect::<Vec<_>>().join(", ")).unwrap()
        };
        let target = DArray::full(DType::U8, &room, 0xEE, device.place()).unwrap();
        let beside = DArray::full(DType::U8, &room, 0xEE, Order::RowMajor).unwrap();
        inner(&target).assign(&source, Casting::Checked).unwrap();
        inner(&beside).assign(&wanted, Casting::Checked).unwrap();
        assert!(target.copy_to(&host()).unwrap().equals(&beside).unwrap(), "view {number}");
    }
}
