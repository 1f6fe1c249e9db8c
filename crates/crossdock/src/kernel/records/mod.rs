//! Elements with parts: records that become other records, and records that become columns and come of them.
//!
//! A record is made of another one by the names of its fields. What only moves (`parts.rs` finds out what does) is moved for the whole
//! record at once, as a program of byte shuffles where the processor has them (`program.rs`); what is converted follows field by
//! field, while a block of records is still in the cache (`blocks.rs`). Columns are copied block by block in the same way
//! (`columns.rs`).

mod blocks;
mod columns;
mod gaps;
mod parts;
mod program;

pub(crate) use columns::{Column, copy_columns};
pub(crate) use gaps::Gaps;

use crate::element::{DType, DTypeKind, Record};
use crate::error::Result;
use crate::kernel::cpu::Level;
use crate::kernel::records::blocks::{BLOCK_NBYTES, Loops};
use crate::kernel::records::parts::Parts;
pub(crate) use crate::kernel::records::parts::has_gaps;
use crate::kernel::records::program::Program;
use crate::kernel::{Casting, cast, copy, element_at, in_element, index_of, one_of_all};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;

/// Converts the elements of one strided array to another dtype, into another array of the same shape: records by the names of their
/// fields (the source may have more), sub-arrays element by element, scalars as [`cast`] does. Copies, and counts, what it writes.
///
/// # Errors
///
/// `is_dtype` where the source has no field of a name, or has one that cannot become it, and then
/// nothing is written; otherwise as [`cast`].
///
/// # Safety
///
/// As for [`cast`].
#[expect(clippy::too_many_arguments, reason = "two arrays, and how the one becomes the other")]
pub(crate) unsafe fn convert(
    src: *const u8,
    from: &DType,
    from_layout: &Layout,
    dst: *mut u8,
    to: &DType,
    to_layout: &Layout,
    casting: Casting,
    gaps: Gaps,
) -> Result<()> {
    match (from.kind(), to.kind()) {
        _ if from == to && (gaps == Gaps::Fill || !has_gaps(to)) => {
            // SAFETY: the caller's word.
            unsafe { copy(src, from_layout, dst, to_layout) };
            Ok(())
        }
        (DTypeKind::Record(source), DTypeKind::Record(target)) => {
            let relayout = Relayout::new(Level::current(), source, target, gaps)?;
            // SAFETY: the caller's word.
            unsafe { relayout.run(src, from_layout, dst, to_layout, casting) }
        }
        (DTypeKind::SubArray(source), DTypeKind::SubArray(target)) if source.shape() == target.shape() => {
            let inside = |layout: &Layout, base: &DType| {
                layout.with_inner(&Layout::contiguous(source.shape(), base.itemsize(), Order::RowMajor)?)
            };
            let (from_layout, to_layout) =
                (inside(from_layout, source.base())?, inside(to_layout, target.base())?);
            // SAFETY: the same bytes (the caller's word), with more axes.
            unsafe {
                convert(src, source.base(), &from_layout, dst, target.base(), &to_layout, casting, gaps)
            }
        }
        // SAFETY: the caller's word.
        _ => unsafe { cast(src, from, from_layout, dst, to, to_layout, casting) },
    }
}

/// Where element 0 lies in the source and in the destination.
struct Ends {
    src: *const u8,
    dst: *mut u8,
}

// SAFETY: what the pointers lead to is accessed racily, by whoever has the caller's word for it, on any thread.
unsafe impl Sync for Ends {}

impl Ends {
    fn at(&self, src_offset: isize, dst_offset: isize) -> (*const u8, *mut u8) {
        (self.src.wrapping_offset(src_offset), self.dst.wrapping_offset(dst_offset))
    }
}

/// How records become other records.
struct Relayout {
    parts: Parts,
    program: Program,
    gaps: Gaps,
}

impl Relayout {
    fn new(level: Level, from: &Record, to: &Record, gaps: Gaps) -> Result<Self> {
        let parts = Parts::new(from, to, gaps)?;
        let program = Program::new(level, parts.runs.clone(), from.itemsize(), to.itemsize());
        Ok(Self { parts, program, gaps })
    }

    /// # Safety
    ///
    /// As for [`convert`], with the records that this was made of.
    unsafe fn run(
        &self,
        src: *const u8,
        from: &Layout,
        dst: *mut u8,
        to: &Layout,
        casting: Casting,
    ) -> Result<()> {
        if from.itemsize() == 0 && to.itemsize() == 0 && to.len() > 1 {
            // SAFETY: a record of size 0 at this address accesses no bytes.
            return unsafe { self.run(src, &one_of_all(from)?, dst, &one_of_all(to)?, casting) };
        }
        if from.suboffsets().is_some() || to.suboffsets().is_some() {
            // SAFETY: the caller's word.
            return unsafe { self.run_in_order(src, from, dst, to, casting) };
        }
        let Some(loops) = Loops::new(to.shape(), &[to.strides(), from.strides()]) else { return Ok(()) };
        let most = BLOCK_NBYTES / (from.itemsize() + to.itemsize()).max(1);
        let ends = Ends { src, dst };
        // Bytes that a conversion follows upon are better left in the cache.
        let whole_nbytes = if self.parts.changes.is_empty() { to.nbytes() } else { 0 };
        let result = loops.blocks(most).try_each(|block| {
            block.loops().runs(|offsets, strides, len| {
                let (src, dst) = ends.at(offsets[1], offsets[0]);
                // SAFETY: the records of one run (the caller's word).
                unsafe { self.program.run(src, strides[1], dst, strides[0], len, whole_nbytes) };
            });
            for change in &self.parts.changes {
                let (src, dst) = ends.at(block.offset(1), block.offset(0));
                let (src, dst) = (src.wrapping_add(change.from_offset), dst.wrapping_add(change.to_offset));
                let from = block.layout(1, change.from.itemsize())?;
                let to = block.layout(0, change.to.itemsize())?;
                // SAFETY: a field of each of these records (the caller's word).
                unsafe { convert(src, &change.from, &from, dst, &change.to, &to, casting, self.gaps) }?;
            }
            Ok(())
        });
        if result.is_err() {
            // SAFETY: the caller's word.
            return unsafe { self.run_in_order(src, from, dst, to, casting) };
        }
        count_copied(to.len() * self.parts.moved_nbytes());
        Ok(())
    }

    /// One record after the other: for arrays that follow pointers, and to find out which one is the first that does not fit.
    ///
    /// # Safety
    ///
    /// As for [`Relayout::run`].
    #[cold]
    unsafe fn run_in_order(
        &self,
        src: *const u8,
        from: &Layout,
        dst: *mut u8,
        to: &Layout,
        casting: Casting,
    ) -> Result<()> {
        for position in 0..to.len() {
            let index = index_of(to.shape(), position);
            // SAFETY: the caller's word.
            let src = unsafe { element_at(src.cast_mut(), from, &index) }?;
            // SAFETY: the caller's word.
            let dst = unsafe { element_at(dst, to, &index) }?;
            // SAFETY: one record (the caller's word).
            unsafe { self.program.run(src, 0, dst, 0, 1, 0) };
            for change in &self.parts.changes {
                let (src, dst) = (src.wrapping_add(change.from_offset), dst.wrapping_add(change.to_offset));
                let one = |dtype: &DType| Layout::new(&[], &[], dtype.itemsize());
                let (from_layout, to_layout) = (one(&change.from)?, one(&change.to)?);
                // SAFETY: one field of it.
                unsafe {
                    convert(src, &change.from, &from_layout, dst, &change.to, &to_layout, casting, self.gaps)
                }
                .map_err(|error| error.within(format_args!("field {:?}", change.path)))
                .map_err(|error| in_element(error, &index))?;
            }
        }
        count_copied(to.len() * self.parts.moved_nbytes());
        Ok(())
    }
}
