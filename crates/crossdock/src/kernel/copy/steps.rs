//! The elements of a strided array, some at a time.

use crate::error::Result;
use crate::kernel::copy::elements;
use crate::kernel::copy::follow::Side;
use crate::kernel::copy::plan::Axis;
use crate::kernel::copy::run;
use crate::kernel::cpu::Level;
use crate::layout::{Layout, Runs};

/// A walk over the elements of a strided array in row-major order, some at a time.
pub(crate) struct Steps {
    layout: Layout,
    /// The index of the axes up to the last dereference at which the walk is; `None` at its end.
    outer: Option<Vec<usize>>,
    /// The direct part behind those axes, as a whole, and what is left of it.
    whole: Runs,
    runs: Runs,
    /// Where the rest of the current run begins, in bytes from where the direct part does, and how many elements it has.
    next: isize,
    left: usize,
}

impl Steps {
    /// # Errors
    ///
    /// None that a valid layout has.
    pub(crate) fn new(layout: &Layout) -> Result<Self> {
        let depth = Side::of(layout).indirect;
        let direct = Layout::new(&layout.shape()[depth..], &layout.strides()[depth..], layout.itemsize())?;
        let whole = direct.runs()?;
        let outer = (!layout.shape().contains(&0)).then(|| vec![0; depth]);
        Ok(Self { layout: layout.clone(), outer, runs: whole.clone(), whole, next: 0, left: 0 })
    }

    /// Loads the next elements into `dst`, as many as it holds, and says how many bytes they have. Not counted as a copy: it
    /// is how a program looks at memory that may change under it.
    ///
    /// # Safety
    ///
    /// The layout, applied at `src`, reaches only bytes that may be loaded racily, and `dst` is none of them.
    pub(crate) unsafe fn load(&mut self, src: *const u8, dst: &mut [u8]) -> usize {
        if self.outer.is_none() {
            return 0;
        }
        let itemsize = self.layout.itemsize();
        let capacity = dst.len().checked_div(itemsize).unwrap_or(0);
        let run = run::run(Level::current(), false);
        let mut count = 0;
        // SAFETY: the caller's word.
        let mut base = unsafe { self.base(src) };
        while count < capacity {
            if self.left == 0 {
                match self.runs.next() {
                    Some(offset) => (self.next, self.left) = (offset, self.runs.run_len()),
                    None if self.advance() => {
                        // SAFETY: the caller's word.
                        base = unsafe { self.base(src) };
                        continue;
                    }
                    None => break,
                }
            }
            let few = self.left.min(capacity - count);
            let axis = Axis { len: few, from: self.runs.run_stride(), to: itemsize as isize };
            let (src, dst) =
                (base.wrapping_offset(self.next), dst.as_mut_ptr().wrapping_add(count * itemsize));
            if few == 1 || axis.from == axis.to {
                // SAFETY: elements of one run without gaps (the caller's word), for which the slice has room.
                unsafe { run(src, dst, few * itemsize) };
            } else {
                // SAFETY: elements of one run (the caller's word), for which the slice has room.
                unsafe { elements::line(src, dst, itemsize, axis, run) };
            }
            // Behind the last element of all it leads nowhere, and is not followed.
            self.next = self.next.wrapping_add(axis.from.wrapping_mul(few as isize));
            self.left -= few;
            count += few;
        }
        count * itemsize
    }

    /// Where the direct part at the present index begins.
    ///
    /// # Safety
    ///
    /// As for [`Steps::load`].
    unsafe fn base(&self, src: *const u8) -> *const u8 {
        let (side, mut ptr) = (Side::of(&self.layout), src);
        for (axis, &index) in self.outer.iter().flatten().enumerate() {
            // SAFETY: an index that exists (the caller's word).
            ptr = unsafe { side.step(ptr, axis, index) };
        }
        ptr
    }

    /// Goes on to the next index of the axes that are followed, if there is one.
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
