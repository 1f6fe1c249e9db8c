//! Random pairs of views of one memory, each imported in its own way, against an oracle that works
//! byte by byte.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the pairs.

use crossdock::element::{DType, Field};
use crossdock::layout::AxisSlice;
use crossdock::memory::copied_bytes_here;
use crossdock::{Casting, DArray};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

use crate::roads::{Base, Memory, ROADS};

const CASES: usize = 6_000;

/// More than a few pages, so that windows on a file begin in different pages.
const NBYTES: usize = 9 << 10;

/// Two dtypes, and the conversion of an element's bytes between them.
struct Pair {
    from: DType,
    to: DType,
    convert: fn(&[u8]) -> Vec<u8>,
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap()
}

fn record(fields: &[(&str, usize, DType)], itemsize: usize) -> DType {
    DType::record(fields.iter().map(|(name, at, dtype)| Field::new(*name, *at, dtype.clone())), itemsize)
        .unwrap()
}

/// Pairs in which every bit pattern of one dtype is a value of the other.
fn pairs() -> Vec<Pair> {
    let same = |dtype: DType| Pair { from: dtype.clone(), to: dtype, convert: <[u8]>::to_vec };
    let point = || DType::subarray(&[2], DType::U16).unwrap();
    let swapped = |bytes: &[u8]| bytes.iter().rev().copied().collect();
    vec![
        same(DType::U8),
        same(DType::U16),
        same(DType::U32),
        same(DType::F64),
        same(DType::C128),
        same(DType::void(3).unwrap()),
        same(record(&[("a", 0, DType::U8), ("b", 1, DType::U16), ("c", 3, point())], 7)),
        Pair { from: DType::U8, to: DType::U32, convert: |b| u32::from(b[0]).to_ne_bytes().to_vec() },
        Pair {
            from: DType::U8,
            to: DType::U16.swapped(),
            convert: |b| u16::from(b[0]).swap_bytes().to_ne_bytes().to_vec(),
        },
        Pair {
            from: DType::I16,
            to: DType::I64,
            convert: |b| i64::from(i16::from_ne_bytes(array(b))).to_ne_bytes().to_vec(),
        },
        Pair {
            from: DType::U16,
            to: DType::F32,
            convert: |b| f32::from(u16::from_ne_bytes(array(b))).to_ne_bytes().to_vec(),
        },
        Pair {
            from: DType::I32.swapped(),
            to: DType::F64,
            convert: |b| f64::from(i32::from_ne_bytes(array(b)).swap_bytes()).to_ne_bytes().to_vec(),
        },
        Pair { from: DType::U32, to: DType::U32.swapped(), convert: swapped },
        Pair { from: DType::U64.swapped(), to: DType::U64, convert: swapped },
        // A field that grows, one that moves, and one whose elements grow.
        Pair {
            from: record(&[("a", 0, DType::U8), ("b", 1, DType::U16), ("c", 3, point())], 7),
            to: record(
                &[
                    ("c", 0, DType::subarray(&[2], DType::U32).unwrap()),
                    ("b", 8, DType::U16),
                    ("a", 10, DType::U16),
                ],
                12,
            ),
            convert: |b| {
                let wide = |at: usize| u32::from(u16::from_ne_bytes(array(&b[at..at + 2]))).to_ne_bytes();
                let parts: [&[u8]; 4] = [&wide(3), &wide(5), &b[1..3], &u16::from(b[0]).to_ne_bytes()];
                parts.concat()
            },
        },
    ]
}

/// A view of the memory: the array, and the byte position of each of its elements, in row-major
/// order.
struct Side {
    array: DArray,
    cells: Vec<usize>,
    road: &'static str,
    is_indirect: bool,
    is_reversed: bool,
    is_transposed: bool,
}

/// Maps the indices of an axis to indices of the base.
struct Walk {
    start: usize,
    step: isize,
    len: usize,
}

impl Walk {
    fn random(rng: &mut Rng, len: usize, is_tame: bool) -> (Self, usize) {
        let width = if is_tame { 1 } else { rng.choice([1, 1, 1, 2, 3]).unwrap() };
        let reach = (len - 1) * width;
        let (before, behind) = if is_tame { (0, 0) } else { (rng.usize(..3), rng.usize(..3)) };
        let is_reversed = len > 1 && rng.bool();
        let (start, step) =
            if is_reversed { (before + reach, -(width as isize)) } else { (before, width as isize) };
        (Self { start, step, len }, before + reach + 1 + behind)
    }

    fn at(&self, index: usize) -> usize {
        self.start.wrapping_add_signed(index as isize * self.step)
    }

    fn slice(&self) -> AxisSlice {
        let stop = self.start as isize + self.len as isize * self.step;
        AxisSlice::Range {
            start: Some(self.start as isize),
            stop: (stop >= 0).then_some(stop),
            step: self.step,
        }
    }
}

/// A view of a shape, imported in a random way, usually near another view.
fn side(rng: &mut Rng, memory: &Memory, dtype: &DType, shape: &[usize], other: Option<&Side>) -> Side {
    let near = other.map(|other| *other.cells.iter().min().unwrap());
    let meets_rows = other.is_some_and(|other| other.is_indirect) && rng.bool();
    loop {
        let is_tame = rng.u8(..4) == 0;
        let walks: Vec<(Walk, usize)> = shape.iter().map(|&len| Walk::random(rng, len, is_tame)).collect();
        // The axes of the base in another order than those of the view.
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if !is_tame || rng.bool() {
            rng.shuffle(&mut axes);
        }
        let base_shape: Vec<usize> = axes.iter().map(|&axis| walks[axis].1).collect();
        let gap = if rng.u8(..3) == 0 { rng.usize(..6) } else { 0 };
        let mut strides = vec![0; shape.len()];
        let mut stride = dtype.itemsize() + gap;
        for (place, &len) in strides.iter_mut().zip(&base_shape).rev() {
            *place = stride as isize;
            stride = stride * len + if gap > 0 { rng.usize(..3) * (dtype.itemsize() + gap) } else { 0 };
        }
        if stride > NBYTES {
            continue;
        }
        let most = NBYTES - stride;
        let offset = match near {
            Some(near) if rng.u8(..8) > 0 => (near + rng.usize(..64)).saturating_sub(32).min(most),
            _ => rng.usize(..=most),
        };
        let mut rows: Vec<usize> = (0..base_shape[0]).collect();
        rng.shuffle(&mut rows);
        let base = Base { dtype: dtype.clone(), shape: base_shape, strides, offset, rows };
        let road = rng.choice(ROADS).unwrap();
        if meets_rows && !road.is_indirect && shape.len() > 1 {
            continue;
        }
        let Some(array) = (road.bring)(memory, &base, rng) else { continue };
        let slices: Vec<AxisSlice> = axes.iter().map(|&axis| walks[axis].0.slice()).collect();
        // Axis `i` of the view is the axis of the base that stands for it.
        let back: Vec<usize> =
            (0..axes.len()).map(|axis| axes.iter().position(|&of| of == axis).unwrap()).collect();
        let array = match array.slice_numpy(&slices[..]).unwrap().permute(&back) {
            // The axes within rows must stay behind the axis of pointers.
            Err(error) if road.is_indirect && error.is_layout() => continue,
            array => array.unwrap(),
        };
        let mut cells = vec![];
        for position in 0..shape.iter().product() {
            let mut rest: usize = position;
            let mut index = vec![0; shape.len()];
            for (axis, &len) in shape.iter().enumerate().rev() {
                index[axis] = rest % len;
                rest /= len;
            }
            let mut cell = base.offset;
            for (of, &axis) in axes.iter().enumerate() {
                let number = walks[axis].0.at(index[axis]);
                let number = if road.is_indirect && of == 0 { base.rows[number] } else { number };
                cell += number * base.strides[of] as usize;
            }
            cells.push(cell);
        }
        return Side {
            array,
            cells,
            road: road.name,
            is_indirect: road.is_indirect,
            is_reversed: walks.iter().any(|(walk, _)| walk.step < 0),
            is_transposed: !axes.is_sorted(),
        };
    }
}

/// The elements of a view at this moment.
fn elements(bytes: &[u8], cells: &[usize], itemsize: usize) -> Vec<Vec<u8>> {
    cells.iter().map(|&cell| bytes[cell..cell + itemsize].to_vec()).collect()
}

/// Which bytes of the memory belong to elements.
fn touched(cells: &[usize], itemsize: usize) -> Vec<bool> {
    let mut touched = vec![false; NBYTES];
    cells.iter().for_each(|&cell| touched[cell..cell + itemsize].fill(true));
    touched
}

fn have_common(one: &[bool], other: &[bool]) -> bool {
    one.iter().zip(other).any(|(&one, &other)| one && other)
}

fn span(cells: &[usize], itemsize: usize) -> (usize, usize) {
    (*cells.iter().min().unwrap(), cells.iter().max().unwrap() + itemsize)
}

/// The byte ranges of a view's rows behind pointers; one range if there are no pointers.
fn spans(side: &Side, itemsize: usize) -> Vec<(usize, usize)> {
    let Some(suboffsets) = side.array.layout().suboffsets() else {
        return vec![span(&side.cells, itemsize)];
    };
    let depth = 1 + suboffsets.iter().rposition(Option::is_some).unwrap();
    let inner: usize = side.array.shape()[depth..].iter().product();
    side.cells.chunks(inner).map(|row| span(row, itemsize)).collect()
}

/// The positions of an array, repeated as broadcasting to another shape repeats them.
fn broadcast(cells: &[usize], from: &[usize], to: &[usize]) -> Vec<usize> {
    let count = to.iter().product();
    (0..count)
        .map(|position: usize| {
            let (mut rest, mut at, mut width) = (position, 0, 1);
            for (axis, &len) in to.iter().enumerate().rev() {
                let index = rest % len;
                rest /= len;
                if let Some(own) = (axis + from.len()).checked_sub(to.len()) {
                    at += if from[own] == 1 { 0 } else { index * width };
                    width *= from[own];
                }
            }
            cells[at]
        })
        .collect()
}

#[test]
fn pairs_of_views_over_one_memory_are_assigned_as_if_the_source_had_been_copied_before() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let memories = [Memory::heap(NBYTES), Memory::file(NBYTES), Memory::shared(NBYTES)];
    let pairs = pairs();
    let mut coverage = Coverage::default();
    for case in 0..crate::cases(CASES) {
        coverage.case();
        let memory = rng.choice(&memories).unwrap();
        let mut bytes = vec![0; NBYTES];
        rng.fill(&mut bytes);
        memory.write(&bytes);
        let pair = rng.choice(&pairs).unwrap();
        let rank = rng.usize(1..4);
        let most = [0, 120, 12, 6][rank];
        let shape: Vec<usize> = (0..rank).map(|_| rng.usize(1..=most)).collect();
        let to = side(&mut rng, memory, &pair.to, &shape, None);
        let mut from_shape = shape.clone();
        let is_broadcast = rng.u8(..6) == 0;
        if is_broadcast {
            from_shape[rng.usize(..rank)] = 1;
            from_shape.drain(..rng.usize(..rank));
        }
        let from = side(&mut rng, memory, &pair.from, &from_shape, Some(&to));
        let (from_size, to_size) = (pair.from.itemsize(), pair.to.itemsize());

        let sources = broadcast(&from.cells, &from_shape, &shape);
        let mut expected = bytes.clone();
        for (element, &cell) in elements(&bytes, &sources, from_size).iter().zip(&to.cells) {
            expected[cell..cell + to_size].copy_from_slice(&(pair.convert)(element));
        }
        let mut in_order = bytes.clone();
        for (&source, &cell) in sources.iter().zip(&to.cells) {
            let element = (pair.convert)(&in_order[source..source + from_size]);
            in_order[cell..cell + to_size].copy_from_slice(&element);
        }

        let context = format!(
            "case {case} of seed {seed}, in {}: {:?} by {} to {:?} by {}",
            memory.name, from.array, from.road, to.array, to.road
        );
        let before = copied_bytes_here();
        to.array.assign(&from.array, Casting::Checked).unwrap_or_else(|error| panic!("{error}: {context}"));
        let copied = copied_bytes_here() - before;
        assert!(memory.read() == expected, "{context}");

        let overlapped = have_common(&touched(&from.cells, from_size), &touched(&to.cells, to_size));
        let is_same = from.cells == to.cells && pair.from == pair.to;
        let met = spans(&from, from_size)
            .iter()
            .any(|a| spans(&to, to_size).iter().any(|b| a.0 < b.1 && b.0 < a.1));
        let (once, twice) = (to.array.nbytes() as u64, (to.array.nbytes() + from.array.nbytes()) as u64);
        match () {
            () if copied == 0 => assert!(is_same, "{context}"),
            () if copied == once => assert!(!overlapped, "no temporary: {context}"),
            () => assert!(met && copied == twice, "{copied} bytes in place of {once}: {context}"),
        }
        coverage.note(format!("from {}", from.road));
        coverage.note(format!("to {}", to.road));
        coverage.note(format!("in {}", memory.name));
        coverage.note_if(overlapped, "overlapped");
        coverage.note_if(overlapped && memory.is_in_a_file(), "overlapped in a file");
        coverage.note_if(overlapped && from.is_indirect && to.is_indirect, "overlapped behind pointers");
        coverage.note_if(overlapped && is_broadcast, "overlapped, one side broadcast");
        coverage.note_if(overlapped && pair.from != pair.to, "overlapped, with a conversion");
        coverage.note_if(in_order != expected, "wrong without a temporary");
        coverage.note_if(copied == twice, "a temporary");
        coverage.note_if(met && !overlapped, "between each other");
        coverage.note_if(!met, "apart");
        coverage.note_if(from.is_reversed != to.is_reversed, "reversed");
        coverage.note_if(from.is_transposed != to.is_transposed, "transposed");
        coverage.note_if(from.array.dtype().as_record().is_some(), "records");
        if overlapped {
            coverage.note(format!("overlapped, from {}", from.road));
            coverage.note(format!("overlapped, to {}", to.road));
        }
    }
    println!("{coverage}");
    for road in ROADS {
        let name = road.name;
        let least = if name == "shared memory" || name == "mapping" { 0.01 } else { 0.02 };
        coverage
            .assert_at_least(least, [format!("overlapped, from {name}"), format!("overlapped, to {name}")]);
    }
    coverage.assert_at_least(0.4, ["overlapped", "a temporary"]);
    coverage.assert_at_least(0.2, ["wrong without a temporary", "overlapped in a file"]);
    coverage.assert_at_least(0.1, ["apart", "reversed", "transposed", "overlapped, with a conversion"]);
    coverage.assert_at_least(0.03, ["between each other", "overlapped, one side broadcast", "records"]);
    coverage.assert_at_least(0.005, ["overlapped behind pointers"]);
}

#[test]
fn columns_of_one_memory_are_assigned_as_if_all_of_them_had_been_copied_before() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let memories = [Memory::heap(NBYTES), Memory::file(NBYTES), Memory::shared(NBYTES)];
    let trade = record(&[("x", 0, DType::U16), ("y", 3, DType::U32), ("z", 7, DType::U16)], 9);
    let mut coverage = Coverage::default();
    for case in 0..crate::cases(CASES) / 10 {
        coverage.case();
        let memory = rng.choice(&memories).unwrap();
        let mut bytes = vec![0; NBYTES];
        rng.fill(&mut bytes);
        memory.write(&bytes);
        let shape = [rng.usize(1..300)];
        let to = side(&mut rng, memory, &trade, &shape, None);
        let [x, y, z] = [DType::U16, DType::U32, DType::U16]
            .map(|dtype| side(&mut rng, memory, &dtype, &shape, Some(&to)));
        let mut columns = vec![("x", &x, 0, 2), ("y", &y, 3, 4), ("z", &z, 7, 2)];
        rng.shuffle(&mut columns);
        columns.truncate(rng.usize(1..=3));
        let mut expected = bytes.clone();
        for &(_, column, at, width) in &columns {
            for (element, &cell) in elements(&bytes, &column.cells, width).iter().zip(&to.cells) {
                expected[cell + at..cell + at + width].copy_from_slice(element);
            }
        }
        let given: Vec<(&str, &DArray)> =
            columns.iter().map(|(name, column, ..)| (*name, &column.array)).collect();
        to.array.assign_columns(&given, Casting::Checked).unwrap();
        assert!(memory.read() == expected, "case {case} of seed {seed}: {:?} from {given:?}", to.array);
        let written = touched(&to.cells, 9);
        let is_shared = |(_, column, _, width): &(&str, &Side, usize, usize)| {
            have_common(&touched(&column.cells, *width), &written)
        };
        coverage.note_if(columns.iter().any(is_shared), "overlapped");
    }
    println!("{coverage}");
    coverage.assert_at_least(0.5, ["overlapped"]);
}

#[test]
fn ranges_of_one_memory_are_copied_or_refused_by_their_bytes() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let memories = [Memory::heap(NBYTES), Memory::file(NBYTES), Memory::shared(NBYTES)];
    let mut coverage = Coverage::default();
    for case in 0..crate::cases(CASES) / 10 {
        coverage.case();
        let memory = rng.choice(&memories).unwrap();
        let mut bytes = vec![0; NBYTES];
        rng.fill(&mut bytes);
        memory.write(&bytes);
        let shape = [rng.usize(1..6000)];
        let to = side(&mut rng, memory, &DType::U8, &shape, None);
        let other = rng.bool().then_some(&to);
        let from = side(&mut rng, memory, &DType::U8, &shape, other);
        let (Ok((source, _)), Ok((target, _))) = (from.array.buffer(), to.array.buffer()) else { continue };
        let (source_span, target_span) = (span(&from.cells, 1), span(&to.cells, 1));
        if source.nbytes() != target.nbytes() {
            coverage.note("of two sizes");
            continue;
        }
        let context = format!("case {case} of seed {seed}, in {}: {source:?} to {target:?}", memory.name);
        let met = source_span.0 < target_span.1 && target_span.0 < source_span.1;
        let mut expected = bytes.clone();
        if met {
            let error = source.copy_into(&target).expect_err(&context);
            assert!(error.is_bounds(), "{error}: {context}");
        } else {
            source.copy_into(&target).unwrap_or_else(|error| panic!("{error}: {context}"));
            expected.copy_within(source_span.0..source_span.1, target_span.0);
        }
        assert!(memory.read() == expected, "{context}");
        coverage.note(if met { "refused" } else { "copied" });
    }
    println!("{coverage}");
    coverage.assert_at_least(0.05, ["refused", "copied"]);
}
