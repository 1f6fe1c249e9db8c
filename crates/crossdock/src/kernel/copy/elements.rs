//! Copies one element at a time: any strides, any width, every CPU.

use crate::kernel::copy::plan::CopyAxis;
use crate::kernel::copy::run::{self, CopyRun};
use crate::memory::racy;

/// A block of so many steps of two axes fits the L1 cache, even where both strides are large in one
/// of the layouts.
const BLOCK: usize = 32;

/// Copies the elements of two axes, of which the destination walks the second in smaller steps.
///
/// If the source walks the first in smaller steps, blocks are copied, so that each loaded line is
/// used.
///
/// # Safety
///
/// 1. The elements of both axes, `width` bytes each, may be loaded from `src` racily.
/// 2. The elements of both axes, `width` bytes each, may be stored to `dst` racily.
/// 3. The CPU has the level of `run`.
pub(super) unsafe fn table(
    src: *const u8,
    dst: *mut u8,
    width: usize,
    outer: CopyAxis,
    inner: CopyAxis,
    run: CopyRun,
) {
    macro_rules! words {
        ($word:ty) => {
            walk(src, dst, outer, inner, |src, dst| {
                // SAFETY: clause 1 of `# Safety`: `walk` passes the place of one element, which is
                // as wide as the word.
                let word = unsafe { racy::load(src.cast::<$word>()) };
                // SAFETY: clause 2 of `# Safety`: `walk` passes the place of one element, which is
                // as wide as the word.
                unsafe { racy::store(dst.cast::<$word>(), word) };
            })
        };
    }
    match width {
        1 => words!(u8),
        2 => words!(u16),
        4 => words!(u32),
        8 => words!(u64),
        16 => words!([u64; 2]),
        24 => words!([u64; 3]),
        ..=64 => walk(src, dst, outer, inner, |src, dst| {
            // SAFETY: clauses 1 and 2 of `# Safety`: `walk` passes the places of one element, and
            // `width` is at most 64.
            unsafe { run::short(src, dst, width) };
        }),
        _ => walk(src, dst, outer, inner, |src, dst| {
            // SAFETY: clauses 1 and 2 of `# Safety`: `walk` passes the places of one element;
            // clause 3 covers `run`.
            unsafe { run(src, dst, width) };
        }),
    }
}

/// Copies the elements of one axis.
///
/// # Safety
///
/// Clauses 1 to 3 of [`table`], for the one axis.
pub(super) unsafe fn line(src: *const u8, dst: *mut u8, width: usize, axis: CopyAxis, run: CopyRun) {
    // SAFETY: clauses 1 to 3 of `table` hold for `axis`, and `CopyAxis::SINGLE` adds no step.
    unsafe { table(src, dst, width, CopyAxis::SINGLE, axis, run) };
}

/// Calls `f` with the source and the destination of each element.
#[inline]
fn walk(src: *const u8, dst: *mut u8, outer: CopyAxis, inner: CopyAxis, f: impl Fn(*const u8, *mut u8)) {
    let block = if outer.from.unsigned_abs() < inner.from.unsigned_abs() && outer.len > 1 {
        BLOCK
    } else {
        inner.len
    };
    for start in (0..inner.len).step_by(block) {
        let (mut src, mut dst) = offset(src, dst, inner, start);
        let len = block.min(inner.len - start);
        for _ in 0..outer.len {
            let (mut from, mut to) = (src, dst);
            for _ in 0..len {
                f(from, to);
                (from, to) = (from.wrapping_offset(inner.from), to.wrapping_offset(inner.to));
            }
            (src, dst) = (src.wrapping_offset(outer.from), dst.wrapping_offset(outer.to));
        }
    }
}

/// The places of one step of an axis.
#[inline]
pub(super) fn offset(src: *const u8, dst: *mut u8, axis: CopyAxis, step: usize) -> (*const u8, *mut u8) {
    let step = step as isize;
    (src.wrapping_offset(step * axis.from), dst.wrapping_offset(step * axis.to))
}

/// Copies one element to every place of an axis along which the destination is contiguous.
///
/// # Safety
///
/// 1. Clauses 1 to 3 of [`table`], for the one axis.
/// 2. `axis.from` is 0, `axis.to` is `width`, and `width` is at most 64.
pub(super) unsafe fn repeat(src: *const u8, dst: *mut u8, width: usize, axis: CopyAxis, run: CopyRun) {
    let mut pattern = [0; 1024];
    let count = (pattern.len() / width).min(axis.len);
    // SAFETY: clause 1: `src` leads to the one element, of `width` bytes, at most 64 (clause 2);
    // the local has 1024.
    unsafe { run::short(src, pattern.as_mut_ptr(), width) };
    let mut filled = 1;
    while filled < count {
        let more = filled.min(count - filled);
        pattern.copy_within(..more * width, filled * width);
        filled += more;
    }
    for start in (0..axis.len).step_by(count) {
        let nbytes = count.min(axis.len - start) * width;
        // SAFETY: clauses 1 and 2: the `nbytes` bytes at `dst + start * width` are places of the
        // axis, and at most `count` elements, which the local holds.
        unsafe { run(pattern.as_ptr(), dst.wrapping_add(start * width), nbytes) };
    }
}
