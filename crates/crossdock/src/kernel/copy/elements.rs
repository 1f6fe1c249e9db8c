//! One element at a time: any strides, any width, every processor.

use crate::kernel::copy::plan::Axis;
use crate::kernel::copy::run::{self, Run};
use crate::kernel::cpu::Level;
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
    if outer.from.unsigned_abs() >= inner.from.unsigned_abs() || inner.len <= BLOCK {
        for step in 0..outer.len as isize {
            let (src, dst) = (src.wrapping_offset(step * outer.from), dst.wrapping_offset(step * outer.to));
            // SAFETY: one line of the table (the caller's word).
            unsafe { line(src, dst, width, inner, run) };
        }
        return;
    }
    for start in (0..inner.len).step_by(BLOCK) {
        let (src, dst) = offset(src, dst, inner, start);
        let part = inner.part(start, BLOCK);
        for step in 0..outer.len {
            let (src, dst) = offset(src, dst, outer, step);
            // SAFETY: a part of a line of the table (the caller's word).
            unsafe { line(src, dst, width, part, run) };
        }
    }
}

/// Where a step of an axis leads.
#[inline]
pub(super) fn offset(src: *const u8, dst: *mut u8, axis: Axis, step: usize) -> (*const u8, *mut u8) {
    let step = step as isize;
    (src.wrapping_offset(step * axis.from), dst.wrapping_offset(step * axis.to))
}

/// Copies the elements of one axis.
///
/// # Safety
///
/// As for [`table`].
#[inline]
pub(super) unsafe fn line(src: *const u8, dst: *mut u8, width: usize, axis: Axis, run: Run) {
    macro_rules! each {
        ($word:ty) => {
            for step in 0..axis.len {
                let (src, dst) = offset(src, dst, axis, step);
                // SAFETY: one element (the caller's word).
                let word = unsafe { racy::load(src.cast::<$word>()) };
                // SAFETY: its place.
                unsafe { racy::store(dst.cast::<$word>(), word) };
            }
        };
    }
    match width {
        1 => each!(u8),
        2 => each!(u16),
        4 => each!(u32),
        8 => each!(u64),
        16 => each!([u64; 2]),
        24 => each!([u64; 3]),
        ..=64 => {
            for step in 0..axis.len {
                let (src, dst) = offset(src, dst, axis, step);
                // SAFETY: one element, and its place (the caller's word).
                unsafe { run::short(src, dst, width) };
            }
        }
        _ => {
            for step in 0..axis.len {
                let (src, dst) = offset(src, dst, axis, step);
                // SAFETY: one element, and its place (the caller's word).
                unsafe { run(src, dst, width) };
            }
        }
    }
}

/// Copies one element to every place of an axis that has no gaps in the destination.
///
/// # Safety
///
/// As for [`table`].
pub(super) unsafe fn repeat(src: *const u8, dst: *mut u8, width: usize, axis: Axis, run: Run) {
    let mut pattern = [0; 4096];
    let count = (pattern.len() / width).min(axis.len);
    let copies = Axis { len: count, from: 0, to: width as isize };
    // SAFETY: the element (the caller's word), and a local with room for so many of it.
    unsafe { line(src, pattern.as_mut_ptr(), width, copies, run::run(Level::Baseline, false)) };
    for start in (0..axis.len).step_by(count) {
        let nbytes = count.min(axis.len - start) * width;
        // SAFETY: as many bytes of the local, and their places in the destination (the caller's word).
        unsafe { run(pattern.as_ptr(), dst.wrapping_add(start * width), nbytes) };
    }
}
