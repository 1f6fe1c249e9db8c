//! One element at a time: any strides, any width, every processor.

use crate::kernel::copy::plan::Axis;
use crate::kernel::copy::run::{self, Run};
use crate::memory::racy;

/// A block of two axes, neither of which need be short in either layout, stays in the nearest cache.
const BLOCK: usize = 32;

/// Copies the elements of two axes, the second of which the destination walks in smaller steps.
///
/// Where the source walks the first in smaller steps, they are taken in blocks, so that what is loaded of a line is used.
///
/// # Safety
///
/// The elements of both axes, `width` bytes each, may be loaded from `src` and stored to `dst` racily.
pub(super) unsafe fn table(src: *const u8, dst: *mut u8, width: usize, outer: Axis, inner: Axis, run: Run) {
    macro_rules! words {
        ($word:ty) => {
            walk(src, dst, outer, inner, |src, dst| {
                // SAFETY: one element (the caller's word).
                let word = unsafe { racy::load(src.cast::<$word>()) };
                // SAFETY: its place.
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
            // SAFETY: one element, and its place (the caller's word).
            unsafe { run::short(src, dst, width) };
        }),
        _ => walk(src, dst, outer, inner, |src, dst| {
            // SAFETY: one element, and its place (the caller's word).
            unsafe { run(src, dst, width) };
        }),
    }
}

/// Copies the elements of one axis.
///
/// # Safety
///
/// As for [`table`].
pub(super) unsafe fn line(src: *const u8, dst: *mut u8, width: usize, axis: Axis, run: Run) {
    // SAFETY: the caller's word.
    unsafe { table(src, dst, width, Axis::SINGLE, axis, run) };
}

/// Calls `f` with the place of each element on both sides.
#[inline]
fn walk(src: *const u8, dst: *mut u8, outer: Axis, inner: Axis, f: impl Fn(*const u8, *mut u8)) {
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

/// Where a step of an axis leads.
#[inline]
pub(super) fn offset(src: *const u8, dst: *mut u8, axis: Axis, step: usize) -> (*const u8, *mut u8) {
    let step = step as isize;
    (src.wrapping_offset(step * axis.from), dst.wrapping_offset(step * axis.to))
}

/// Copies one element to every place of an axis that has no gaps in the destination.
///
/// # Safety
///
/// As for [`table`].
pub(super) unsafe fn repeat(src: *const u8, dst: *mut u8, width: usize, axis: Axis, run: Run) {
    let mut pattern = [0; 1024];
    let count = (pattern.len() / width).min(axis.len);
    // SAFETY: the element (the caller's word), and a local with room for it.
    unsafe { run::short(src, pattern.as_mut_ptr(), width) };
    let mut filled = 1;
    while filled < count {
        let more = filled.min(count - filled);
        pattern.copy_within(..more * width, filled * width);
        filled += more;
    }
    for start in (0..axis.len).step_by(count) {
        let nbytes = count.min(axis.len - start) * width;
        // SAFETY: as many bytes of the local, and their places in the destination (the caller's word).
        unsafe { run(pattern.as_ptr(), dst.wrapping_add(start * width), nbytes) };
    }
}
