//! Indirect arrays: walks the axes up to the last dereference of either array. The axes behind are
//! direct.

use crate::kernel::copy::machine::Machine;
use crate::kernel::copy::parts::{self, CopyEndpoints};
use crate::kernel::copy::plan::CopyPlan;
use crate::kernel::indirection::dereference;
use crate::kernel::threads;
use crate::layout::Layout;

/// Strides and suboffsets of the source or of the destination.
#[derive(Clone, Copy)]
pub(super) struct IndirectStrides<'a> {
    pub(super) strides: &'a [isize],
    pub(super) suboffsets: Option<&'a [Option<isize>]>,
    /// How many axes precede the direct part.
    pub(super) indirect: usize,
}

impl<'a> IndirectStrides<'a> {
    pub(super) fn of(layout: &'a Layout) -> Self {
        let (strides, suboffsets) = (layout.strides(), layout.suboffsets());
        Self { strides, suboffsets, indirect: layout.indirect_axes() }
    }

    /// Where an index of an axis leads.
    ///
    /// # Safety
    ///
    /// 1. `index` is less than the length of the axis.
    /// 2. Where the axis dereferences, there is a pointer at the index, and it is never written.
    #[inline]
    pub(super) unsafe fn step(&self, ptr: *const u8, axis: usize, index: usize) -> *const u8 {
        let ptr = ptr.wrapping_offset(index as isize * self.strides[axis]);
        match self.suboffsets.and_then(|suboffsets| suboffsets[axis]) {
            None => ptr,
            Some(suboffset) => {
                // SAFETY: clauses 1 and 2 of `# Safety`: the axis has a suboffset, so a pointer
                // that is never written lies at `index`.
                unsafe { dereference(ptr) }.wrapping_offset(suboffset).cast_const()
            }
        }
    }
}

/// A copy, and the machine parameters for it.
pub(super) struct IndirectCopy<'a> {
    pub(super) machine: Machine,
    pub(super) shape: &'a [usize],
    pub(super) itemsize: usize,
    pub(super) from: IndirectStrides<'a>,
    pub(super) to: IndirectStrides<'a>,
}

impl IndirectCopy<'_> {
    /// # Safety
    ///
    /// 1. The contract of [`copy`](crate::kernel::copy), for these layouts.
    /// 2. The CPU has the machine's level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8) {
        let depth = self.from.indirect.max(self.to.indirect);
        let (outer, inner) = self.shape.split_at(depth);
        let plan =
            CopyPlan::new(inner, &self.from.strides[depth..], &self.to.strides[depth..], self.itemsize);
        let (Some(plan), false) = (plan, outer.contains(&0)) else { return };
        let nbytes = plan.nbytes() * outer.iter().product::<usize>();
        let (parts, endpoints) = (parts::count(self.machine, nbytes), CopyEndpoints { src, dst });
        match outer.first() {
            Some(&len) if len >= parts && parts > 1 => {
                let chunk = len.div_ceil(parts);
                threads::each(len.div_ceil(chunk), |part| {
                    let range = part * chunk..len.min((part + 1) * chunk);
                    // SAFETY: clauses 1 and 2 of `# Safety`: `range` is a part of the first axis,
                    // which no other thread walks.
                    unsafe { self.walk(&plan, 1, 0, range, &endpoints) };
                });
            }
            Some(&len) => {
                // SAFETY: clauses 1 and 2 of `# Safety`: the range is all of the first axis, so
                // these are the elements of the copy.
                unsafe { self.walk(&plan, parts, 0, 0..len, &endpoints) };
            }
            None => {
                // SAFETY: clauses 1 and 2 of `# Safety`: no axis dereferences, so the plan has all
                // elements of the two layouts (CopyPlan 1).
                unsafe { parts::copy(self.machine, &plan, endpoints, parts) };
            }
        }
    }

    /// Copies the elements at these indices of an axis, for all indices of the axes behind it.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 and 2 of [`IndirectCopy::copy`], for these elements.
    /// 2. `indices` lie within the axis, which precedes the direct part.
    unsafe fn walk(
        &self,
        plan: &CopyPlan,
        parts: usize,
        axis: usize,
        indices: std::ops::Range<usize>,
        endpoints: &CopyEndpoints,
    ) {
        let depth = self.from.indirect.max(self.to.indirect);
        for index in indices {
            // SAFETY: clause 2 of `# Safety` bounds `index`; clause 1 covers the pointers that the
            // source follows.
            let src = unsafe { self.from.step(endpoints.src, axis, index) };
            // SAFETY: clause 2 of `# Safety` bounds `index`; clause 1 covers the pointers that the
            // destination follows.
            let dst = unsafe { self.to.step(endpoints.dst, axis, index) };
            let endpoints = CopyEndpoints { src, dst: dst.cast_mut() };
            if axis + 1 == depth {
                // SAFETY: clause 1 of `# Safety`: this was the last axis that dereferences, so the
                // plan has the direct elements at `endpoints` (CopyPlan 1).
                unsafe {
                    parts::copy(
                        self.machine,
                        plan,
                        endpoints,
                        parts.min(parts::count(self.machine, plan.nbytes())),
                    )
                };
            } else {
                // SAFETY: clause 1 of `# Safety`: these are the elements at `index`; the range is
                // all of the next axis, which precedes the direct part.
                unsafe { self.walk(plan, parts, axis + 1, 0..self.shape[axis + 1], &endpoints) };
            }
        }
    }
}
