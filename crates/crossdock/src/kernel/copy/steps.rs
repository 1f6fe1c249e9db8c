//! The elements of a strided array, a few at a time.

use crate::error::Result;
use crate::kernel::copy::elements;
use crate::kernel::copy::indirect_copy::IndirectStrides;
use crate::kernel::copy::plan::CopyAxis;
use crate::kernel::copy::run;
use crate::kernel::cpu::Level;
use crate::layout::{Layout, Runs};

/// A walk over the elements of a strided array in row-major order, a few at a time.
pub(crate) struct StridedWalk {
    layout: Layout,
    /// The present index of the axes up to the last dereference; `None` at the end of the walk.
    outer: Option<Vec<usize>>,
    /// The runs of the direct part behind those axes: all of them, and those that are left.
    whole: Runs,
    runs: Runs,
    /// The offset of the rest of the current run, in bytes from the start of the direct part, and
    /// how many elements it has.
    next: isize,
    left: usize,
}

impl StridedWalk {
    /// # Errors
    ///
    /// None that a valid layout has.
    pub(crate) fn new(layout: &Layout) -> Result<Self> {
        let depth = IndirectStrides::of(layout).indirect;
        let direct = Layout::new(&layout.shape()[depth..], &layout.strides()[depth..], layout.itemsize())?;
        let whole = direct.runs()?;
        let outer = (!layout.shape().contains(&0)).then(|| vec![0; depth]);
        Ok(Self { layout: layout.clone(), outer, runs: whole.clone(), whole, next: 0, left: 0 })
    }

    /// Loads the next elements into `dst`, as many as it holds, and returns how many bytes they
    /// have. This is not counted as a copy: it lets a program look at memory that may change
    /// meanwhile.
    ///
    /// # Safety
    ///
    /// 1. The layout, applied at `src`, reaches only bytes that may be loaded racily. Pointers that
    ///    it follows are as for [`element_at`](crate::kernel::element_at).
    /// 2. `dst` is none of these bytes.
    pub(crate) unsafe fn load(&mut self, src: *const u8, dst: &mut [u8]) -> usize {
        if self.outer.is_none() {
            return 0;
        }
        let itemsize = self.layout.itemsize();
        let capacity = dst.len().checked_div(itemsize).unwrap_or(0);
        let run = run::run(Level::current(), false);
        let mut count = 0;
        // SAFETY: clause 1 of `# Safety` covers the pointers that the layout follows; `outer` is
        // not `None` (checked above).
        let mut base = unsafe { self.base(src) };
        while count < capacity {
            if self.left == 0 {
                match self.runs.next() {
                    Some(offset) => (self.next, self.left) = (offset, self.runs.run_len()),
                    None if self.advance() => {
                        // SAFETY: clause 1 of `# Safety` covers the pointers that the layout
                        // follows; `advance` moved `outer` to an index that exists.
                        base = unsafe { self.base(src) };
                        continue;
                    }
                    None => break,
                }
            }
            let few = self.left.min(capacity - count);
            let axis = CopyAxis { len: few, from: self.runs.run_stride(), to: itemsize as isize };
            let (src, dst) =
                (base.wrapping_offset(self.next), dst.as_mut_ptr().wrapping_add(count * itemsize));
            if few == 1 || axis.from == axis.to {
                // SAFETY: clause 1 of `# Safety`: the run has `few` more contiguous elements at
                // `self.next`. `dst` has room: `count + few` is at most `capacity`.
                unsafe { run(src, dst, few * itemsize) };
            } else {
                // SAFETY: clause 1 of `# Safety`: the run has `few` more elements at `self.next`.
                // `dst` has room: `count + few` is at most `capacity`.
                unsafe { elements::line(src, dst, itemsize, axis, run) };
            }
            // After the last element the offset leads nowhere, and is never used.
            self.next = self.next.wrapping_add(axis.from.wrapping_mul(few as isize));
            self.left -= few;
            count += few;
        }
        count * itemsize
    }

    /// The start of the direct part at the present index.
    ///
    /// # Safety
    ///
    /// Clause 1 of [`StridedWalk::load`].
    unsafe fn base(&self, src: *const u8) -> *const u8 {
        let (strides, mut ptr) = (IndirectStrides::of(&self.layout), src);
        for (axis, &index) in self.outer.iter().flatten().enumerate() {
            // SAFETY: `outer` is an index of the axes that dereference, and clause 1 of `load`
            // covers the pointers that they follow.
            ptr = unsafe { strides.step(ptr, axis, index) };
        }
        ptr
    }

    /// Moves to the next index of the axes that dereference. Returns whether there is one.
    fn advance(&mut self) -> bool {
        let Some(outer) = &mut self.outer else { return false };
        for (index, &len) in outer.iter_mut().zip(self.layout.shape()).rev() {
            *index += 1;
            if *index < len {
                self.runs = self.whole.clone();
                return true;
            }
            *index = 0;
        }
        self.outer = None;
        false
    }
}
