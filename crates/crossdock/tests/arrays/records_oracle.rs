//! Conversions of records to other records and to columns and back, against an oracle that converts
//! value by value.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the arrays.

use crossdock::buffer::Buffer;
use crossdock::element::{DType, Field, Value};
use crossdock::layout::{Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::{Casting, DArray};
use crossdock_testkit::{Coverage, generate, seed};
use fastrand::Rng;

use crate::cases;

const CASES: usize = 1000;

/// A field before and after.
struct Pair {
    name: String,
    from: DType,
    to: DType,
}

fn subarray(shape: &[usize], dtype: DType) -> DType {
    DType::subarray(shape, dtype).unwrap()
}

/// A dtype, and another one that represents all of its values.
fn leaf(rng: &mut Rng) -> (DType, DType) {
    let (small, wide) = rng
        .choice([
            (DType::U8, DType::I32),
            (DType::I16, DType::F64.swapped()),
            (DType::I32.swapped(), DType::I64),
            (DType::F32, DType::F64),
            (DType::U16.swapped(), DType::U64.swapped()),
            (DType::F16, DType::F32),
            (DType::C64, DType::C128.swapped()),
        ])
        .unwrap();
    match rng.u8(0..10) {
        0..2 => (small, wide),
        2 => (small.swapped(), small),
        3 => (DType::C64.swapped(), DType::C64),
        4 => (subarray(&[2, 3], small.clone()), subarray(&[2, 3], wide)),
        5 => (DType::bytes(5).unwrap(), DType::bytes(5).unwrap()),
        6 => (DType::BOOL, DType::BOOL),
        7 => (DType::void(rng.usize(0..20)).unwrap(), DType::U8),
        8 => (subarray(&[rng.usize(0..3)], DType::U16), DType::U8),
        _ => (DType::F64, DType::U8),
    }
}

fn pairs(rng: &mut Rng, depth: usize) -> Vec<Pair> {
    (0..rng.usize(1..6))
        .map(|index| {
            let (from, to) = match rng.u8(0..8) {
                0 if depth > 0 => records(rng, depth - 1),
                1 if depth > 0 => {
                    let (from, to) = records(rng, depth - 1);
                    (subarray(&[2], from), subarray(&[2], to))
                }
                _ => {
                    let (from, to) = leaf(rng);
                    // Only convertible pairs are converted, other fields keep their dtype.
                    if to == DType::U8 || rng.bool() { (from.clone(), from) } else { (from, to) }
                }
            };
            Pair { name: format!("f{index}"), from, to }
        })
        .collect()
}

/// Fields in any order, with gaps or without.
fn record(rng: &mut Rng, mut fields: Vec<(String, DType)>) -> DType {
    rng.shuffle(&mut fields);
    let mut gaps = if rng.bool() { 0..1 } else { 0..4 };
    if rng.u8(0..40) == 0 {
        gaps = 0..300;
    }
    let mut end = 0;
    let fields: Vec<Field> = fields
        .into_iter()
        .map(|(name, dtype)| {
            let offset = end + rng.usize(gaps.clone());
            end = offset + dtype.itemsize();
            Field::new(name, offset, dtype)
        })
        .collect();
    DType::record(fields, end + rng.usize(gaps)).unwrap()
}

/// A record, and another one into which it converts.
fn records(rng: &mut Rng, depth: usize) -> (DType, DType) {
    let pairs = pairs(rng, depth);
    let from = record(rng, pairs.iter().map(|pair| (pair.name.clone(), pair.from.clone())).collect());
    let all = rng.bool();
    let kept = pairs.into_iter().filter(|_| all || rng.bool()).map(|pair| (pair.name, pair.to)).collect();
    (from, record(rng, kept))
}

/// Memory of random bytes, and a view of it with this shape.
fn array(rng: &mut Rng, dtype: &DType, shape: &[usize], may_repeat: bool) -> DArray {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    rng.shuffle(&mut order);
    if rng.bool() {
        order.sort_unstable();
    }
    let plain = rng.u8(0..3) == 0;
    let mut strides = vec![0; shape.len()];
    let (mut stride, mut start) = (dtype.itemsize() as isize, rng.usize(0..3));
    for &axis in order.iter().rev() {
        let len = shape[axis].max(1);
        if may_repeat && rng.u8(0..12) == 0 {
            continue;
        }
        stride += if plain { 0 } else { rng.isize(0..2) * rng.isize(0..5) };
        strides[axis] = stride;
        if !plain && rng.u8(0..4) == 0 {
            strides[axis] = -stride;
            start += (len - 1) * stride as usize;
        }
        stride *= len as isize;
    }
    let layout = Layout::new(shape, &strides, dtype.itemsize()).unwrap();
    let bytes: Vec<u8> = (0..start + layout.span().nbytes() + 3).map(|_| rng.u8(..)).collect();
    DArray::from_buffer(Buffer::from_vec(bytes).unwrap(), dtype.clone(), layout, start).unwrap()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &len| {
        all.iter().flat_map(|index| (0..len).map(move |i| [&index[..], &[i]].concat())).collect()
    })
}

/// Whether two values are equal, possibly with different dtypes; for records, in the fields of
/// `to`.
fn is_same(from: &Value, to: &Value) -> bool {
    let close = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    match (from, to) {
        (Value::Record(_), Value::Record(fields)) => {
            fields.iter().all(|(name, value)| is_same(from.field(name).unwrap(), value))
        }
        (Value::Array(from), Value::Array(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|(from, to)| is_same(from, to))
        }
        _ => match (from.as_complex(), to.as_complex()) {
            (Some(from), Some(to)) => close(from.0, to.0) && close(from.1, to.1),
            _ => from == to,
        },
    }
}

/// Which bytes of an element belong to a scalar.
fn cover(dtype: &DType, at: usize, covered: &mut [bool]) {
    if let Some(record) = dtype.as_record() {
        record.fields().iter().for_each(|field| cover(field.dtype(), at + field.offset(), covered));
    } else if let Some(subarray) = dtype.as_subarray() {
        let width = subarray.base().itemsize();
        (0..subarray.len()).for_each(|index| cover(subarray.base(), at + index * width, covered));
    } else {
        covered[at..at + dtype.itemsize()].fill(true);
    }
}

fn covered(dtype: &DType) -> Vec<bool> {
    let mut covered = vec![false; dtype.itemsize()];
    cover(dtype, 0, &mut covered);
    covered
}

/// All bytes of the memory, and the positions that hold a scalar of an element.
fn memory(array: &DArray) -> (Vec<u8>, Vec<bool>) {
    let (buffer, start) = array.buffer().unwrap();
    let bytes = buffer.read().unwrap().to_vec();
    let (mut written, covered) = (vec![false; bytes.len()], covered(array.dtype()));
    for index in indices(array.shape()) {
        let place = (start as isize + array.layout().offset_of(&index).unwrap()) as usize;
        for (byte, _) in covered.iter().enumerate().filter(|(_, covered)| **covered) {
            written[place + byte] = true;
        }
    }
    (bytes, written)
}

fn note_classes(coverage: &mut Coverage, source: &DArray, target: &DArray) {
    coverage.case();
    coverage.note(format!("rank {}", source.rank()));
    let strides = || {
        let long = |array: &DArray| {
            let long = array.shape().iter().zip(array.strides()).filter(|(len, _)| **len > 1);
            long.map(|(_, &stride)| stride).collect::<Vec<_>>()
        };
        [long(source), long(target)].concat()
    };
    coverage.note_if(strides().iter().any(|&stride| stride < 0), "negative");
    coverage.note_if(strides().contains(&0), "zero");
    coverage.note_if(strides().iter().any(|stride| stride % 8 != 0), "unaligned");
    coverage.note_if(source.is_empty(), "empty");
    coverage.note_if(source.len() >= 200, "many");
    coverage.note_if(covered(target.dtype()).contains(&false), "gaps");
    let nested = |field: &Field| field.dtype().as_scalar().is_none();
    coverage.note_if(target.dtype().as_record().unwrap().fields().iter().any(nested), "nested");
    coverage.note_if(source.layout().order().is_some() && target.layout().order().is_some(), "without gaps");
}

/// The only test of its process, which has one counter of copied bytes.
#[test]
fn records_are_made_of_records_and_columns_by_the_names_of_their_fields() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for case in 0..cases(CASES) {
        let (from, to) = records(&mut rng, 2);
        let many = rng.u8(0..8) == 0 && from.itemsize() < 100;
        let rank = case % 9;
        let shape = if many { vec![rng.usize(200..500)] } else { generate::shape(&mut rng, rank) };
        let source = array(&mut rng, &from, &shape, true);
        let target = array(&mut rng, &to, &shape, false);
        note_classes(&mut coverage, &source, &target);
        let context = format!("case {case}: {from} -> {to}, shape {shape:?}");
        let wanted: Vec<Value> = indices(&shape).iter().map(|index| source.get(index).unwrap()).collect();
        let check = |array: &DArray, how: &str| {
            for (index, wanted) in indices(&shape).iter().zip(&wanted) {
                let found = array.get(index).unwrap();
                assert!(is_same(wanted, &found), "{context}: {how} at {index:?}: {wanted} became {found}");
            }
        };

        let order = if rng.bool() { Order::RowMajor } else { Order::ColumnMajor };
        let copied = copied_bytes_here();
        let cast = source.cast(&to, order, Casting::Checked).unwrap();
        assert_eq!(copied_bytes_here() - copied, cast.nbytes() as u64, "{context}");
        check(&cast, "cast");
        if from != to {
            let gaps = gaps_between_fields(&to);
            let bytes = cast.buffer().unwrap().0.read().unwrap().to_vec();
            let is_gap = |place: usize| gaps[place % to.itemsize()];
            assert!(bytes.iter().enumerate().all(|(place, &byte)| byte == 0 || !is_gap(place)), "{context}");
        }

        let (before, written) = memory(&target);
        target.assign(&source, Casting::Checked).unwrap();
        check(&target, "assign");
        let (after, _) = memory(&target);
        let kept = before
            .iter()
            .zip(&after)
            .zip(&written)
            .all(|((before, after), written)| *written || before == after);
        assert!(kept, "{context}: what lies between the fields was written");

        let copied = copied_bytes_here();
        let columns = source.to_columns().unwrap();
        let nbytes: usize = columns.iter().map(|(_, column)| column.nbytes()).sum();
        assert_eq!(copied_bytes_here() - copied, nbytes as u64, "{context}");
        for (name, column) in &columns {
            let field = source.field(name).unwrap();
            assert_eq!((column.shape(), column.dtype()), (field.shape(), field.dtype()));
            assert!(column.layout().is_contiguous(Order::RowMajor));
            for index in indices(field.shape()) {
                let (wanted, found) = (field.get(&index).unwrap(), column.get(&index).unwrap());
                assert!(is_same(&wanted, &found), "{context}: column {name} at {index:?}");
            }
        }
        let kept: Vec<(&str, &DArray)> = columns
            .iter()
            .filter(|(name, _)| to.field(name).is_some())
            .map(|(name, column)| (name.as_str(), column))
            .collect();
        let again = array(&mut rng, &to, &shape, false);
        let (before, written) = memory(&again);
        again.assign_columns(&kept, Casting::Checked).unwrap();
        check(&again, "assign_columns");
        let (after, _) = memory(&again);
        let untouched = before
            .iter()
            .zip(&after)
            .zip(&written)
            .all(|((before, after), written)| *written || before == after);
        assert!(untouched, "{context}: what lies between the fields was written from columns");

        let fields: Vec<(&str, DArray)> = columns
            .iter()
            .filter(|(name, _)| source.field(name).unwrap().rank() == source.rank())
            .map(|(name, _)| (name.as_str(), source.field(name).unwrap()))
            .collect();
        if !fields.is_empty() {
            let fields: Vec<(&str, &DArray)> = fields.iter().map(|(name, field)| (*name, field)).collect();
            let joined = DArray::from_columns(&fields).unwrap();
            for (index, wanted) in indices(&shape).iter().zip(&wanted) {
                assert!(is_same(wanted, &joined.get(index).unwrap()), "{context}: from_columns at {index:?}");
            }
        }
    }
    println!("{coverage}");
    if cases(CASES) >= CASES {
        let ranks = (0..9).map(|rank| format!("rank {rank}"));
        let named = ["negative", "zero", "unaligned", "empty", "many", "gaps", "nested", "without gaps"];
        coverage.assert_at_least(0.05, ranks.chain(named.map(String::from)));
    }
}

/// Which bytes none of the record's own fields covers.
fn gaps_between_fields(dtype: &DType) -> Vec<bool> {
    let mut gaps = vec![true; dtype.itemsize()];
    for field in dtype.as_record().unwrap().fields() {
        gaps[field.offset()..field.offset() + field.dtype().itemsize()].fill(false);
    }
    gaps
}

#[test]
fn large_columns_are_those_of_the_records_and_make_them_again() {
    // Above the 8 MiB from which columns are streamed; most records of 15 bytes are unaligned.
    const COUNT: usize = 600_005;
    let fields = [("a", DType::U8), ("b", DType::U16), ("c", DType::U32), ("d", DType::U64)];
    let dtype = DType::packed_record(fields).unwrap();
    let size = dtype.itemsize();
    let bytes: Vec<u8> = (0..COUNT * size).map(|k| (k * 7 % 251) as u8).collect();
    let layout = Layout::contiguous(&[COUNT], size, Order::RowMajor).unwrap();
    let records =
        DArray::from_buffer(Buffer::from_vec(bytes.clone()).unwrap(), dtype.clone(), layout, 0).unwrap();
    let check = |records: &DArray, backwards: bool| {
        let before = copied_bytes_here();
        let columns = records.to_columns().unwrap();
        assert_eq!(copied_bytes_here() - before, (COUNT * size) as u64);
        let mut begin = 0;
        for (_, column) in &columns {
            let width = column.dtype().itemsize();
            let (buffer, start) = column.buffer().unwrap();
            let found = buffer.read().unwrap();
            let found = found[start..][..COUNT * width].chunks(width);
            let place = |index: usize| if backwards { COUNT - 1 - index } else { index };
            let wanted = (0..COUNT).map(|index| &bytes[place(index) * size + begin..][..width]);
            assert!(found.eq(wanted), "{backwards} {:?}", column.dtype());
            begin += width;
        }
        columns
    };
    let columns = check(&records, false);
    check(&records.at("::-1").unwrap(), true);
    let named: Vec<(&str, &DArray)> = columns.iter().map(|(name, column)| (name.as_str(), column)).collect();
    let before = copied_bytes_here();
    assert!(DArray::from_columns(&named).unwrap().equals(&records).unwrap());
    assert_eq!(copied_bytes_here() - before, (COUNT * size) as u64);
    // To arrays that begin at an odd address and 16 bytes behind a line's start, as those of
    // `malloc` do, in another order of the columns.
    let swapped: Vec<_> = named.iter().rev().copied().collect();
    for start in [15, 16] {
        let memory = vec![0x55_u8; start + COUNT * size + 64];
        let start = (start + memory.as_ptr().addr().wrapping_neg()) % 64;
        let layout = Layout::contiguous(&[COUNT], size, Order::RowMajor).unwrap();
        let memory = Buffer::from_vec(memory).unwrap();
        let target = DArray::from_buffer(memory.clone(), dtype.clone(), layout, start).unwrap();
        target.assign_columns(&swapped, Casting::Checked).unwrap();
        let written = memory.read().unwrap();
        assert!(written[start..][..COUNT * size] == bytes, "{start}");
        let mut around = written[..start].iter().chain(&written[start + COUNT * size..]);
        assert!(around.all(|&byte| byte == 0x55), "{start}");
    }
}
