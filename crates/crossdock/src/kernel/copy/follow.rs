//! Arrays that follow pointers: the axes up to the last dereference of either side are walked here, what lies behind is direct.

use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::parts::{self, Ends};
use crate::kernel::copy::plan::Plan;
use crate::kernel::hops::follow;
use crate::kernel::threads;
use crate::layout::Layout;

/// Strides and suboffsets of one side of a copy.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) strides: &'a [isize],
    pub(super) suboffsets: Option<&'a [Option<isize>]>,
    /// How many axes come before the direct part.
    pub(super) indirect: usize,
}

impl<'a> Side<'a> {
    pub(super) fn of(layout: &'a Layout) -> Self {
        let (strides, suboffsets) = (layout.strides(), layout.suboffsets());
        Self { strides, suboffsets, indirect: layout.indirect_axes() }
    }

    /// Where an index of an axis leads.
    ///
    /// # Safety
    ///
    /// The index exists, and where the axis dereferences there is a pointer, which nobody writes.
    #[inline]
    pub(super) unsafe fn step(&self, ptr: *const u8, axis: usize, index: usize) -> *const u8 {
        let ptr = ptr.wrapping_offset(index as isize * self.strides[axis]);
        match self.suboffsets.and_then(|suboffsets| suboffsets[axis]) {
            None => ptr,
            Some(suboffset) => {
                // SAFETY: a pointer of the table, which nobody writes (the caller's word).
                unsafe { follow(ptr) }.wrapping_offset(suboffset).cast_const()
            }
        }
    }
}

/// A copy, and the machine that does it.
pub(super) struct Job<'a> {
    pub(super) machine: Machine,
    pub(super) shape: &'a [usize],
    pub(super) itemsize: usize,
    pub(super) from: Side<'a>,
    pub(super) to: Side<'a>,
}

impl Job<'_> {
    /// # Safety
    ///
    /// As for [`copy`](crate::kernel::copy), on a processor that has the machine's level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8) {
        let depth = self.from.indirect.max(self.to.indirect);
        let (outer, inner) = self.shape.split_at(depth);
        let plan = Plan::new(inner, &self.from.strides[depth..], &self.to.strides[depth..], self.itemsize);
        let (Some(plan), false) = (plan, outer.contains(&0)) else { return };
        let nbytes = plan.nbytes() * outer.iter().product::<usize>();
        let (parts, ends) = (parts::count(self.machine, nbytes), Ends { src, dst });
        match outer.first() {
            Some(&len) if len >= parts && parts > 1 => {
                let chunk = len.div_ceil(parts);
                threads::each(len.div_ceil(chunk), |part| {
                    let range = part * chunk..len.min((part + 1) * chunk);
                    // SAFETY: a part of the elements (the caller's word), which are in no other.
                    unsafe { self.walk(&plan, 1, 0, range, &ends) };
                });
            }
            Some(&len) => {
                // SAFETY: all of the elements (the caller's word).
                unsafe { self.walk(&plan, parts, 0, 0..len, &ends) };
            }
            None => {
                // SAFETY: all of the elements (the caller's word).
                unsafe { parts::copy(self.machine, &plan, ends, parts) };
            }
        }
    }

    /// Copies what lies at these indices of an axis, and on the axes behind it.
    ///
    /// # Safety
    ///
    /// As for [`Job::copy`], for these elements.
    unsafe fn walk(
        &self,
        plan: &Plan,
        parts: usize,
        axis: usize,
        indices: std::ops::Range<usize>,
        ends: &Ends,
    ) {
        let depth = self.from.indirect.max(self.to.indirect);
        for index in indices {
            // SAFETY: an index that exists (the caller's word).
            let src = unsafe { self.from.step(ends.src, axis, index) };
            // SAFETY: an index that exists (the caller's word).
            let dst = unsafe { self.to.step(ends.dst, axis, index) };
            let ends = Ends { src, dst: dst.cast_mut() };
            if axis + 1 == depth {
                // SAFETY: the direct part behind these indices (the caller's word).
                unsafe {
                    parts::copy(
                        self.machine,
                        plan,
                        ends,
                        parts.min(parts::count(self.machine, plan.nbytes())),
                    )
                };
            } else {
                // SAFETY: the elements behind this index (the caller's word).
                unsafe { self.walk(plan, parts, axis + 1, 0..self.shape[axis + 1], &ends) };
            }
        }
    }
}
