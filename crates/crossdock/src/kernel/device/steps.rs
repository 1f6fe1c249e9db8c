//! Divides work into the steps of a device: launches of kernels, and copies of bytes.

use crate::device::engine::{
    AT_ONCE, Job, JobAxis, Kernel, MOST_AXES, MOST_STEPS, Pitched, Rows, Start, Step,
};
use crate::error::{Advice, Error, Result};
use crate::kernel::copy::{CopyAxis as Loop, CopyPlan};
use crate::kernel::device::job_loops::JobLoops;
use crate::layout::Layout;

/// Loops around runs of `nbytes` bytes as pitched rows, if copy engines support them.
fn rows(loops: &JobLoops, nbytes: usize) -> Option<Rows> {
    let (slices, rows) = match loops.axes[..] {
        [rows] => (Loop { len: 1, from: 0, to: 0 }, rows),
        [slices, rows] => (slices, rows),
        _ => return None,
    };
    let pitched = |start: Start, row: isize, slice: isize| {
        let row = usize::try_from(row).ok().filter(|row| (nbytes..=MOST_PITCH).contains(row))?;
        let whole = row.checked_mul(rows.len)?;
        let slice = if slices.len == 1 { whole } else { usize::try_from(slice).ok()? };
        (slice >= whole && slice.is_multiple_of(row)).then_some(Pitched {
            offset: start.offset as u64,
            row,
            slice,
        })
    };
    let from = pitched(loops.from, rows.from, slices.from)?;
    let to = pitched(loops.to, rows.to, slices.to)?;
    (nbytes >= LONG_ROW).then_some(Rows { from, to, nbytes, rows: rows.len, slices: slices.len })
}

/// Rows of at least this many bytes use copy engines; for shorter ones, a kernel has more in
/// flight: with rows of 64 KiB it is nearly twice as fast on an H100.
const LONG_ROW: usize = 1 << 17;

/// The longest pitch that every engine supports.
const MOST_PITCH: usize = i32::MAX as usize;

/// Runs of at least this many bytes are copied as runs, shorter ones element by element.
const RUN: usize = 32;

/// Axes shorter than this do not pay for tiles.
const TILED: usize = 8;

/// Copies the elements of one layout to another of the same shape and item size, both direct.
/// `swap` is the width of the parts of an element whose bytes are swapped.
///
/// # Errors
///
/// `is_unsupported` for indirect layouts.
pub(super) fn copy(
    from: &Layout,
    from_start: Start,
    to: &Layout,
    to_start: Start,
    swap: Option<usize>,
) -> Result<Vec<Step>> {
    check_direct(from)?;
    check_direct(to)?;
    let mut steps = Vec::new();
    if let Some(width) = swap.filter(|&width| width > 1) {
        let (from, to) = (Inside::of(from, width), Inside::of(to, width));
        if let Some(plan) = CopyPlan::apart(&from.shape, &from.strides, &to.strides, width) {
            swapped(JobLoops::of(&plan, from_start, to_start), width, &mut steps);
        }
    } else if let Some(plan) = CopyPlan::new(from.shape(), from.strides(), to.strides(), from.itemsize()) {
        moved(JobLoops::of(&plan, from_start, to_start), plan.width, &mut steps);
    }
    Ok(steps)
}

/// The axes of the parts of the elements.
struct Inside {
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl Inside {
    fn of(layout: &Layout, width: usize) -> Self {
        let (mut shape, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
        if layout.itemsize() > width {
            shape.push(layout.itemsize() / width);
            strides.push(width as isize);
        }
        Self { shape, strides }
    }
}

#[cold]
fn indirect() -> Error {
    Error::unsupported("a device cannot follow pointers (suboffsets)").advising(Advice::Copy)
}

pub(super) fn check_direct(layout: &Layout) -> Result<()> {
    if layout.suboffsets().is_some() { Err(indirect()) } else { Ok(()) }
}

fn moved(loops: JobLoops, width: usize, steps: &mut Vec<Step>) {
    if loops.axes.is_empty() {
        let (from, to) = (loops.from.offset as u64, loops.to.offset as u64);
        return steps.push(Step::Bytes { from, to, nbytes: width });
    }
    if let Some(rows) = rows(&loops, width) {
        return steps.push(Step::Rows(rows));
    }
    if width >= RUN {
        return runs(&loops, width, steps);
    }
    let piece = loops.piece(width);
    elements(&loops.in_pieces(width / piece, piece), piece, false, steps);
}

fn swapped(loops: JobLoops, width: usize, steps: &mut Vec<Step>) {
    if loops.piece(width) == width {
        return elements(&loops, width, true, steps);
    }
    // Byte by byte, backwards through the source.
    let mut bytewise = JobLoops { from: loops.from.moved(width as isize - 1), ..loops };
    bytewise.axes.push(Loop { len: width, from: -1, to: 1 });
    elements(&bytewise, 1, false, steps);
}

/// Copies elements of a width that kernels support, one by one or a tile at a time.
fn elements(loops: &JobLoops, width: usize, swap: bool, steps: &mut Vec<Step>) {
    if let Some(across) = across(loops) {
        return tiles(loops, width, across, swap, steps);
    }
    if let Some((words, apart)) = words(loops).filter(|_| width == 1) {
        return words.for_each_part(MOST_AXES, MOST_STEPS, 0, &mut |part| {
            let job = Job { width: apart as i64 as u64, ..job(part) };
            steps.push(launch(Kernel::WORDS, Kernel::ITEMS * AT_ONCE, job));
        });
    }
    loops.for_each_part(MOST_AXES, MOST_STEPS, 0, &mut |part| {
        let job = Job { swap: swap.into(), ..job(part) };
        steps.push(launch(Kernel::elements(width), Kernel::ITEMS * AT_ONCE, job));
    });
}

/// Loops over bytes as loops over aligned words of the destination, whose bytes are neighbours
/// there, and the distance between the bytes of a word in the source.
fn words(loops: &JobLoops) -> Option<(JobLoops, isize)> {
    const WORD: usize = Kernel::WORD;
    let (last, outer) = loops.axes.split_last()?;
    let aligned = |axis: &Loop| axis.to % WORD as isize == 0;
    let whole = last.to == 1 && last.len.is_multiple_of(WORD);
    if !whole || !loops.to.address.is_multiple_of(WORD as u64) || !outer.iter().all(aligned) {
        return None;
    }
    let mut words = loops.clone();
    let apart = last.from;
    *words.axes.last_mut()? = Loop { len: last.len / WORD, from: apart * WORD as isize, to: WORD as isize };
    Some((words, apart))
}

/// The loop in which the source has its smallest steps, if that is not the innermost, and both are
/// long.
fn across(loops: &JobLoops) -> Option<usize> {
    let (last, outer) = loops.axes.split_last()?;
    let near = |axis: &Loop| axis.from.unsigned_abs();
    let across =
        (0..outer.len()).filter(|&axis| near(&outer[axis]) > 0).min_by_key(|&axis| near(&outer[axis]))?;
    let fits = |axis: &Loop| (TILED..MOST_STEPS).contains(&axis.len);
    (near(&outer[across]) < near(last) && fits(&outer[across]) && fits(last)).then_some(across)
}

fn tiles(loops: &JobLoops, width: usize, across: usize, swap: bool, steps: &mut Vec<Step>) {
    let side = Kernel::side(width);
    let mut loops = loops.clone();
    let across = loops.axes.remove(across);
    let place = loops.axes.len() - 1;
    loops.axes.insert(place, across);
    // As many steps as there are tiles: only the two innermost loops are cut into tiles.
    let in_tiles = |axis: &Loop| axis.len.div_ceil(side);
    let squares = in_tiles(&loops.axes[place]) * in_tiles(&loops.axes[place + 1]);
    let within = loops.axes[place].len * loops.axes[place + 1].len;
    let most = (MOST_STEPS / squares).max(1).saturating_mul(within);
    loops.for_each_part(MOST_AXES, most, 2, &mut |part| {
        let mut job = Job { swap: swap.into(), ..job(part) };
        for (axis, of) in job.axes.iter_mut().zip(part.axes.iter().rev()).take(2) {
            *axis = JobAxis::new(of.len, of.from, of.to, side);
        }
        steps.push(launch(Kernel::tiles(width), 1, job));
    });
}

fn runs(loops: &JobLoops, width: usize, steps: &mut Vec<Step>) {
    const PIECE: usize = 16;
    // One more than the whole pieces, since the first and the last may be short.
    let most = (MOST_STEPS - 1).saturating_mul(PIECE);
    for start in (0..width).step_by(most) {
        let nbytes = most.min(width - start);
        let pieces = Loop { len: nbytes.div_ceil(PIECE) + 1, from: 0, to: 0 };
        let mut run = loops.clone();
        (run.from, run.to) = (run.from.moved(start as isize), run.to.moved(start as isize));
        run.axes.push(pieces);
        run.for_each_part(MOST_AXES, MOST_STEPS, 1, &mut |part| {
            let job = Job { width: nbytes as u64, ..job(part) };
            steps.push(launch(Kernel::RUNS, Kernel::ITEMS * AT_ONCE, job));
        });
    }
}

/// Writes one element everywhere.
///
/// # Errors
///
/// `is_unsupported` for indirect layouts.
pub(super) fn fill(to: &Layout, to_start: Start, element: &[u8]) -> Result<Vec<Step>> {
    check_direct(to)?;
    let mut steps = Vec::new();
    // An element of equal bytes is filled as elements of one byte.
    let element = match element {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => &element[..1],
        _ => element,
    };
    let width = element.len();
    let strides = to.strides();
    let periodic = width.is_power_of_two() && width <= 16;
    if let Some(plan) = CopyPlan::new(to.shape(), strides, strides, to.itemsize()).filter(|_| periodic) {
        let loops = JobLoops::of(&plan, to_start, to_start);
        let whole = loops.piece(width) == width;
        if whole {
            let mut pattern = [0; 16];
            pattern.iter_mut().zip(element.iter().cycle()).for_each(|(byte, &value)| *byte = value);
            same(&loops, plan.width, &pattern, &mut steps);
            return Ok(steps);
        }
    }
    if let Some(plan) = CopyPlan::apart(to.shape(), strides, strides, to.itemsize()) {
        let loops = JobLoops::of(&plan, to_start, to_start);
        let piece = loops.piece(width);
        for (at, bytes) in (0..).step_by(piece).zip(element.chunks_exact(piece)) {
            let mut pattern = [0; 16];
            pattern[..piece].copy_from_slice(bytes);
            let mut part = loops.clone();
            (part.from, part.to) = (part.from.moved(at), part.to.moved(at));
            pieces(&part, piece, &pattern, &mut steps);
        }
    }
    Ok(steps)
}

/// Fills runs of `nbytes` bytes with a pattern: up to the first address that 16 divides, then up to
/// the last, then the rest.
fn same(loops: &JobLoops, nbytes: usize, pattern: &[u8; 16], steps: &mut Vec<Step>) {
    const LONG: usize = 256;
    let head = (loops.to.address.wrapping_neg() % 16) as usize;
    let body = nbytes.saturating_sub(head) / 16 * 16;
    let parts = if nbytes < LONG { [nbytes, 0, 0] } else { [head, body, nbytes - head - body] };
    let mut at = 0;
    for nbytes in parts.into_iter().filter(|&nbytes| nbytes > 0) {
        let mut part = loops.clone();
        (part.from, part.to) = (part.from.moved(at as isize), part.to.moved(at as isize));
        // At least an element of the pattern, which has a width that kernels support.
        let piece = part.piece(nbytes);
        pieces(&part.in_pieces(nbytes / piece, piece), piece, pattern, steps);
        at += nbytes;
    }
}

fn pieces(loops: &JobLoops, piece: usize, pattern: &[u8; 16], steps: &mut Vec<Step>) {
    let (low, high) = pattern.split_at(8);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    loops.for_each_part(MOST_AXES, MOST_STEPS, 0, &mut |part| {
        let job = Job { pattern: [word(low), word(high)], width: piece as u64, ..job(part) };
        steps.push(launch(Kernel::FILL, Kernel::ITEMS * AT_ONCE, job));
    });
}

/// The job of a part, with every loop counted in single steps.
pub(super) fn job(part: &JobLoops) -> Job {
    let mut job = Job {
        from: part.from.offset as u64,
        to: part.to.offset as u64,
        rank: part.axes.len() as u32,
        ..Job::default()
    };
    for (axis, of) in job.axes.iter_mut().zip(part.axes.iter().rev()) {
        *axis = JobAxis::new(of.len, of.from, of.to, 1);
    }
    job
}

/// A launch of a kernel whose groups do `each` steps.
pub(super) fn launch(kernel: Kernel, each: usize, mut job: Job) -> Step {
    job.count = job.axes[..job.rank as usize].iter().map(JobAxis::steps).product();
    Step::Launch { kernel, groups: job.count.div_ceil(each as u32), job: Box::new(job) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(axes: &[(usize, isize, isize)]) -> JobLoops {
        let start = Start { offset: 64, address: 64 };
        let axes = axes.iter().map(|&(len, from, to)| Loop { len, from, to }).collect();
        JobLoops { axes, from: start, to: start }
    }

    #[test]
    fn bytes_are_copied_as_words_where_the_destination_has_aligned_ones() {
        let (channels, apart) = words(&loops(&[(3, 1, 40), (40, 3, 1)])).unwrap();
        assert_eq!((channels.axes, apart), (loops(&[(3, 1, 40), (10, 12, 4)]).axes, 3));
        let backwards = words(&loops(&[(8, -1, 1)])).unwrap();
        assert_eq!((backwards.0.axes, backwards.1), (loops(&[(2, -4, 4)]).axes, -1));
        for axes in [
            &[(40, 1, 3), (3, 40, 1)][..], // words would end within a loop
            &[(3, 1, 41), (40, 3, 1)],     // rows that begin between words
            &[(8, 1, 2)],                  // gaps
            &[(8, 1, -1)],
        ] {
            assert!(words(&loops(axes)).is_none(), "{axes:?}");
        }
        let mut odd = loops(&[(8, 2, 1)]);
        odd.to.address = 66;
        assert!(words(&odd).is_none());
    }

    #[test]
    fn long_rows_are_left_to_copy_engines_where_those_take_them() {
        const ROW: usize = LONG_ROW;
        const AT: isize = ROW as isize;
        let pitched = |row, slice| Pitched { offset: 64, row, slice };
        assert_eq!(
            rows(&loops(&[(10, AT + 900, AT)]), ROW),
            Some(Rows {
                from: pitched(ROW + 900, 10 * (ROW + 900)),
                to: pitched(ROW, 10 * ROW),
                nbytes: ROW,
                rows: 10,
                slices: 1
            })
        );
        let slices = rows(&loops(&[(3, 20 * (AT + 900), 12 * AT), (10, AT + 900, AT)]), ROW).unwrap();
        assert_eq!((slices.from, slices.to), (pitched(ROW + 900, 20 * (ROW + 900)), pitched(ROW, 12 * ROW)));
        for (axes, nbytes) in [
            (&[(10, AT + 900, AT)][..], ROW - 1),                       // short
            (&[(10, -AT - 900, AT)], ROW),                              // backwards
            (&[(10, 0, AT)], ROW),                                      // the same row again and again
            (&[(10, 2000, AT)], ROW),                                   // rows that overlap
            (&[(10, 1 << 31, AT)], ROW),                                // too far
            (&[(3, 20 * AT + 901, 12 * AT), (10, AT + 900, AT)], ROW),  // slices that are no whole rows apart
            (&[(3, AT + 900, 12 * AT), (10, 3 * (AT + 900), AT)], ROW), // slices between the rows
            (&[(2, 1 << 30, 1 << 30), (3, 20 * AT, 12 * AT), (10, AT + 900, AT)], ROW),
        ] {
            assert_eq!(rows(&loops(axes), nbytes), None, "{axes:?}");
        }
    }
}
