//! Every way to copy, at every level of this CPU, against a copy element by element.
//!
//! `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the layouts. Source and destination have memory of
//! exactly their size, so that sanitizers detect accesses beside it. The bytes between elements of
//! the destination must stay unchanged.

use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

use super::*;
use crate::kernel::cpu::Level;
use crate::layout::Order;

const CASES: usize = 12_000;

fn cases() -> usize {
    crossdock_testkit::cases(CASES)
}

/// The source or the destination of a copy, and the memory that it reaches.
struct World {
    layout: Layout,
    base: *mut u8,
    regions: Vec<Box<[u8]>>,
}

impl World {
    /// The place of each element, in row-major order of the indices.
    fn places(&self) -> Vec<*mut u8> {
        if let Ok(offsets) = self.layout.offsets() {
            return offsets.map(|offset| self.base.wrapping_offset(offset)).collect();
        }
        let shape = self.layout.shape();
        let mut index = vec![0; shape.len()];
        let mut places = Vec::with_capacity(self.layout.len());
        while places.len() < self.layout.len() {
            // Follows one pointer after the other.
            let mut distances = self.layout.distances(&index).unwrap();
            let first = distances.next().unwrap();
            places.push(distances.fold(self.base.wrapping_offset(first), |place, distance| {
                // SAFETY: the layout has another dereference, so `place` is an entry of the table
                // in which `World::region` stored a pointer.
                let next = unsafe { place.cast::<*mut u8>().read_unaligned() };
                next.wrapping_offset(distance)
            }));
            for axis in (0..shape.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        places
    }

    /// Random bytes under a layout with these strides. Up to the last dereference, they are strides
    /// of tables of pointers.
    fn new(rng: &mut Rng, shape: &[usize], strides: &[isize], follows: &[bool], itemsize: usize) -> Self {
        let suboffsets: Vec<Option<isize>> =
            follows.iter().map(|&follows| follows.then(|| rng.isize(-50..50))).collect();
        let layout = Layout::with_suboffsets(shape, strides, &suboffsets, itemsize).unwrap();
        let mut world = Self { layout, base: std::ptr::null_mut(), regions: vec![] };
        world.base = world.region(rng, 0, &suboffsets);
        world
    }

    /// Makes a region for the segment that begins at axis `first`, and regions for all behind it.
    /// Returns the place of its element 0.
    fn region(&mut self, rng: &mut Rng, first: usize, suboffsets: &[Option<isize>]) -> *mut u8 {
        let (shape, strides) = (self.layout.shape().to_vec(), self.layout.strides().to_vec());
        let end = suboffsets[first..].iter().position(Option::is_some).map(|axis| first + axis + 1);
        let axes = first..end.unwrap_or(shape.len());
        let size = if end.is_some() { size_of::<*mut u8>() } else { self.layout.itemsize() };
        let segment = Layout::new(&shape[axes.clone()], &strides[axes.clone()], size).unwrap();
        let span = segment.span();
        let before = *rng.choice(&[0, 0, 1, 8, 32, 61]).unwrap();
        let mut region = vec![0; before + span.nbytes()].into_boxed_slice();
        rng.fill(&mut region);
        self.regions.push(region);
        let place = self.regions.len() - 1;
        let base = self.regions[place].as_mut_ptr().wrapping_add(before).wrapping_offset(-span.low());
        if let Some(end) = end {
            for offset in segment.offsets().unwrap() {
                let suboffset = suboffsets[end - 1].unwrap();
                let next = self.region(rng, end, suboffsets).wrapping_offset(-suboffset);
                next.expose_provenance();
                // SAFETY: the region has room for all entries of the segment, `offset` is one of
                // them, and no other thread has it.
                unsafe { base.wrapping_offset(offset).cast::<*mut u8>().write_unaligned(next) };
            }
        }
        base
    }
}

/// The bytes of these elements, concatenated.
fn load(places: &[*mut u8], itemsize: usize) -> Vec<u8> {
    let mut bytes = vec![0; places.len() * itemsize];
    for (&place, bytes) in places.iter().zip(bytes.chunks_mut(itemsize.max(1))) {
        // SAFETY: `place` is an element, `itemsize` bytes in a region of its world, which no thread
        // writes meanwhile; `bytes` has as many.
        unsafe { place.copy_to_nonoverlapping(bytes.as_mut_ptr(), itemsize) };
    }
    bytes
}

fn store(places: &[*mut u8], bytes: &[u8], itemsize: usize) {
    for (&place, bytes) in places.iter().zip(bytes.chunks(itemsize.max(1))) {
        // SAFETY: `place` is an element, `itemsize` bytes in a region of its world, which no other
        // thread accesses; `bytes` has as many.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), itemsize) };
    }
}

/// Strides under which no two elements overlap: any order of the axes, with or without gaps.
fn injective(rng: &mut Rng, shape: &[usize], unit: usize, order: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let (gaps, negative) = (rng.usize(0..3) == 0, rng.usize(0..3) == 0);
    let mut next = unit;
    for &axis in order {
        if gaps && rng.bool() {
            next += *rng.choice(&[1, unit, 2 * unit, 7, 64 - next % 64]).unwrap();
        }
        strides[axis] = if negative && rng.bool() { -(next as isize) } else { next as isize };
        next *= shape[axis].max(1);
    }
    strides
}

/// A shape, and the orders in which source and destination walk it, from the innermost axis.
fn shape_and_orders(rng: &mut Rng) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
    let rank = rng.usize(0..=8);
    let mut shape: Vec<usize> = vec![];
    let mut left = *rng.choice(&[100, 100, 200, 200, 400, 400, 1000, 4096]).unwrap();
    for _ in 0..rank {
        let len = match rng.usize(0..12) {
            0 => 1,
            // Channels, tiles and their remainders.
            1..5 => rng.usize(2..=5),
            5..8 => rng.usize(1..=20),
            8..10 => *rng.choice(&[8, 16, 31, 32, 33, 64, 65, 80]).unwrap(),
            _ => rng.usize(1..=400),
        };
        let len = len.min(left).max(1);
        left /= len;
        shape.push(len);
    }
    rng.shuffle(&mut shape);
    if rank > 0 && rng.usize(0..14) == 0 {
        shape[rng.usize(0..rank)] = 0;
    }
    let rows: Vec<usize> = (0..rank).rev().collect();
    let (mut from, mut to) = (rows.clone(), rows);
    if rng.usize(0..4) != 0 {
        rng.shuffle(&mut from);
    }
    if rng.bool() {
        rng.shuffle(&mut to);
    }
    (shape, from, to)
}

/// Which axes of an array dereference.
fn follows(rng: &mut Rng, rank: usize) -> Vec<bool> {
    let indirect = rng.usize(0..6) == 0;
    // Only leading axes, so that a direct part is left.
    (0..rank).map(|axis| indirect && axis < 2 && rng.bool()).collect()
}

/// A world whose strides are random, segment by segment.
fn random_world(rng: &mut Rng, shape: &[usize], itemsize: usize, order: &[usize], source: bool) -> World {
    let follows = follows(rng, shape.len());
    let tables = follows.iter().rposition(|&follows| follows).map_or(0, |axis| axis + 1);
    let numel: usize = shape[..tables].iter().product();
    // At most 200 rows, each of which is a region.
    let follows = if numel > 200 { vec![false; shape.len()] } else { follows };
    let mut strides = vec![0; shape.len()];
    let mut first = 0;
    for axis in 0..shape.len() {
        if follows[axis] || axis + 1 == shape.len() {
            let unit = if follows[axis] { size_of::<*mut u8>() } else { itemsize };
            let within = order.iter().filter(|other| (first..=axis).contains(other));
            let order: Vec<usize> = within.map(|other| other - first).collect();
            let part = injective(rng, &shape[first..=axis], unit, &order);
            strides[first..=axis].copy_from_slice(&part);
            if source && !follows[axis] && rng.usize(0..5) == 0 {
                // Repeated or overlapping elements. Repetition is most common along the last axis.
                let some = if rng.bool() { axis } else { rng.usize(first..=axis) };
                strides[some] = if rng.bool() { 0 } else { rng.isize(-9..9) };
            }
            first = axis + 1;
        }
    }
    World::new(rng, shape, &strides, &follows, itemsize)
}

/// Copies, by a plan and without one, and asserts that the elements were copied and that nothing
/// else changed. Returns whether it copied without a plan.
#[track_caller]
fn check(machine: Machine, src: &World, dst: &World) -> bool {
    let (from, to, itemsize) = (&src.layout, &dst.layout, src.layout.itemsize());
    let (places, before) = (dst.places(), dst.regions.clone());
    let (wanted, old) = (load(&src.places(), itemsize), load(&places, itemsize));
    assert!(in_steps(src, 1 + wanted.len() % 301) == wanted, "steps of {from:?}");
    let job = IndirectCopy {
        machine,
        shape: from.shape(),
        itemsize,
        from: IndirectStrides::of(from),
        to: IndirectStrides::of(to),
    };
    // SAFETY: each world owns the memory that its layout reaches, and the machine has a level that
    // this CPU has.
    unsafe { job.copy(src.base, dst.base) };
    assert!(load(&places, itemsize) == wanted, "{from:?} to {to:?}, {machine:?}");
    // With the old elements restored, everything is unchanged.
    store(&places, &old, itemsize);
    assert!(dst.regions == before, "beside {to:?}, from {from:?}, {machine:?}");
    if from.suboffsets().is_some() || to.suboffsets().is_some() {
        return false;
    }
    // SAFETY: each world owns the memory that its layout reaches, and both layouts are direct (just
    // checked); the machine has a level that this CPU has.
    let is_few = unsafe { few::copy(machine.level, src.base, from, dst.base, to) };
    if is_few {
        assert!(load(&places, itemsize) == wanted, "few bytes of {from:?} to {to:?}, {machine:?}");
        store(&places, &old, itemsize);
    }
    assert!(dst.regions == before, "beside few bytes of {to:?}, from {from:?}, {machine:?}");
    is_few
}

/// The elements of a world, loaded in steps that hold a few of them.
fn in_steps(world: &World, few: usize) -> Vec<u8> {
    let (mut steps, mut scratch) =
        (StridedWalk::new(&world.layout).unwrap(), vec![0; few * world.layout.itemsize()]);
    let mut all = vec![];
    loop {
        // SAFETY: the world owns all memory that its layout reaches, no thread writes it, and
        // `scratch` is a vector of its own.
        let nbytes = unsafe { steps.load(world.base, &mut scratch) };
        if nbytes == 0 {
            return all;
        }
        all.extend_from_slice(&scratch[..nbytes]);
    }
}

/// Every level of this CPU, with and without streaming, with tables for any number of elements.
fn machines() -> impl Iterator<Item = Machine> {
    let streams = |level| [0, usize::MAX].map(|stream_nbytes| (level, stream_nbytes));
    Level::available().flat_map(streams).map(|(level, stream_nbytes)| Machine {
        level,
        stream_nbytes,
        shuffle_len: 0,
        ..Machine::current()
    })
}

#[test]
fn every_way_to_copy_copies_each_element_and_nothing_else() {
    let (mut rng, mut coverage) = (Rng::with_seed(seed()), Coverage::default());
    let levels: Vec<Level> = Level::available().collect();
    for _ in 0..cases() {
        let (shape, from, to) = shape_and_orders(&mut rng);
        let itemsize = match rng.usize(0..10) {
            0..7 => *rng.choice(&[1, 2, 4, 8, 16]).unwrap(),
            _ => rng.usize(0..=40),
        };
        let src = random_world(&mut rng, &shape, itemsize, &from, true);
        let dst = random_world(&mut rng, &shape, itemsize, &to, false);
        coverage.case();
        note(&mut coverage, &src, &dst);
        let current = Machine::current();
        let machine = Machine {
            level: *rng.choice(&levels).unwrap(),
            stream_nbytes: if rng.bool() { 0 } else { current.stream_nbytes },
            share_nbytes: if rng.bool() { 0 } else { current.share_nbytes },
            part_nbytes: 256,
            shuffle_len: if rng.usize(0..4) != 0 { 0 } else { current.shuffle_len },
        };
        coverage.note(format!("level {:?}", machine.level));
        coverage.note_if(machine.stream_nbytes == 0, "streamed");
        way(&mut coverage, machine, &src, &dst);
        coverage.note_if(check(machine, &src, &dst), "few");
    }
    println!("{coverage}");
    if cases() >= CASES {
        let classes =
            ["negative", "zero", "unaligned", "empty", "suboffsets", "streamed", "few"].map(str::to_owned);
        let ranks = (0..=8).map(|rank| format!("rank {rank}"));
        let levels = levels.iter().map(|level| format!("level {level:?}"));
        coverage.assert_at_least(0.05, classes.into_iter().chain(ranks).chain(levels));
        coverage.assert_at_least(0.01, ["run", "elements", "repeated", "square"]);
        if Level::current() > Level::Baseline {
            coverage.assert_at_least(0.05, ["shuffle"]);
        }
    }
}

#[test]
fn transposes_of_whole_tiles_and_borders_at_any_address() {
    let mut rng = Rng::with_seed(seed());
    for machine in machines() {
        for itemsize in [1, 2, 4, 8, 16] {
            let side = 64 / itemsize;
            for _ in 0..4 {
                let (rows, columns) = (rng.usize(side..7 * side), rng.usize(side..3 * side));
                let (width, sign) = (itemsize as isize, *rng.choice(&[1, -1]).unwrap());
                // Rows that begin with lines, and rows that do not.
                let pitch = (columns * itemsize).next_multiple_of(64) + *rng.choice(&[0, 0, 64, 3]).unwrap();
                let to_pitch = (rows * itemsize).next_multiple_of(64) + *rng.choice(&[0, 0, 64, 5]).unwrap();
                let none = [false; 2];
                let from = [pitch as isize, sign * width];
                let src = World::new(&mut rng, &[rows, columns], &from, &none, itemsize);
                let to = [width, to_pitch as isize];
                let dst = World::new(&mut rng, &[rows, columns], &to, &none, itemsize);
                check(machine, &src, &dst);
            }
        }
    }
}

#[test]
fn rows_that_change_places() {
    let mut rng = Rng::with_seed(seed());
    for machine in machines() {
        // Whole lines that follow each other in the source, or have gaps; rows that share lines.
        for (nbytes, gap) in [(512, 0), (1088, 0), (1024, 64), (700, 0), (192, 0)] {
            let (lines, rows) = (rng.usize(2..6), rng.usize(2..6));
            let (pitch, row) = (nbytes + gap, nbytes as isize);
            let none = [false; 3];
            let from = [(rows * pitch) as isize, pitch as isize, 1];
            let src = World::new(&mut rng, &[lines, rows, nbytes], &from, &none, 1);
            let to = [row, row * lines as isize, 1];
            let dst = World::new(&mut rng, &[lines, rows, nbytes], &to, &none, 1);
            check(machine, &src, &dst);
        }
    }
}

#[test]
fn channels_taken_apart_and_put_together() {
    let mut rng = Rng::with_seed(seed());
    for machine in machines() {
        for itemsize in [1, 2, 3, 4, 6, 8, 12, 16] {
            for channels in 1..=5 {
                let (rows, len) = (2, rng.usize(1..400));
                let (unit, shape) = (itemsize as isize, [rows, len, channels]);
                let (gap, apart) = (*rng.choice(&[0, 0, 1, unit, 3 * unit]).unwrap(), rng.isize(0..70));
                let pixel = unit * channels as isize + gap;
                let plane = unit * (rows * len) as isize + apart;
                let together = [pixel * len as isize, pixel, unit];
                let taken = [unit * len as isize, unit, plane];
                for (from, to) in [(together, taken), (taken, together), (together, together)] {
                    // Backwards, too.
                    let from = if rng.usize(0..3) == 0 { [from[0], -from[1], from[2]] } else { from };
                    let src = World::new(&mut rng, &shape, &from, &[false; 3], itemsize);
                    let dst = World::new(&mut rng, &shape, &to, &[false; 3], itemsize);
                    check(machine, &src, &dst);
                }
            }
        }
    }
}

#[test]
fn large_copies_are_streamed_and_shared_as_they_are_outside_of_tests() {
    if crossdock_testkit::emulated("copies of some megabytes") {
        return;
    }
    let mut rng = Rng::with_seed(seed());
    // A little more than the size from which a machine streams, in shapes that no part divides
    // evenly.
    let shapes: [(&[usize], usize, &[usize]); 6] = [
        (&[4_300_001], 1, &[0]),
        (&[1031, 1033], 4, &[1, 0]),
        (&[701, 2003, 3], 1, &[2, 0, 1]),
        (&[3, 701, 2003], 1, &[1, 2, 0]),
        (&[61, 83, 107], 8, &[2, 1, 0]),
        (&[5003, 211], 4, &[0, 1]),
    ];
    let levels: Vec<Level> = Level::available().collect();
    for (number, (shape, itemsize, axes)) in shapes.into_iter().enumerate() {
        // The long run tries all levels. Other runs try the best one and another one in turn for
        // each shape.
        let others = levels.len() - 1;
        let is_tried = |at: usize| at == others || cases() > CASES || at == number % others.max(1);
        for (_, &level) in levels.iter().enumerate().filter(|&(at, _)| is_tried(at)) {
            let whole = Layout::contiguous(shape, itemsize, Order::RowMajor).unwrap().permute(axes).unwrap();
            let (shape, none) = (whole.shape().to_vec(), vec![false; axes.len()]);
            let to = Layout::contiguous(&shape, itemsize, Order::RowMajor).unwrap();
            let src = World::new(&mut rng, &shape, whole.strides(), &none, itemsize);
            let dst = World::new(&mut rng, &shape, to.strides(), &none, itemsize);
            check(Machine { level, ..Machine::current() }, &src, &dst);
        }
    }
}

fn note(coverage: &mut Coverage, src: &World, dst: &World) {
    let (from, to) = (&src.layout, &dst.layout);
    let strides = || from.strides().iter().chain(to.strides());
    coverage.note(format!("rank {}", from.rank()));
    coverage.note_if(strides().any(|&stride| stride < 0), "negative");
    coverage.note_if(from.strides().contains(&0), "zero");
    coverage.note_if(from.shape().contains(&0), "empty");
    coverage.note_if(from.suboffsets().or(to.suboffsets()).is_some(), "suboffsets");
    let aligned = |world: &World| world.base.addr().is_multiple_of(world.layout.itemsize().max(1));
    coverage.note_if(!aligned(src) || !aligned(dst), "unaligned");
}

/// Notes which way the direct part of a copy takes.
fn way(coverage: &mut Coverage, machine: Machine, src: &World, dst: &World) {
    let (from, to) = (IndirectStrides::of(&src.layout), IndirectStrides::of(&dst.layout));
    let depth = from.indirect.max(to.indirect);
    let (shape, itemsize) = (&src.layout.shape()[depth..], src.layout.itemsize());
    if let Some(plan) = plan::CopyPlan::new(shape, &from.strides[depth..], &to.strides[depth..], itemsize) {
        coverage.note(direct::Direct::new(machine, &plan, plan.nbytes()).way());
    }
}
