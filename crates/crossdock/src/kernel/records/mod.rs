//! Elements with parts: records to other records, and records to columns and back.
//!
//! A record is made of another one by the names of its fields. Bytes that only move (found by
//! `record_conversion.rs`) are moved for the whole record at once, as a program of byte shuffles
//! where the CPU has them (`program.rs`). Fields that are converted follow one by one, while a
//! block of records is still in the cache (`blocks.rs`). Columns are copied block by block in the
//! same way (`columns.rs`), and large ones past the caches (`streamed.rs`).
//!
//! Reasons: `DESIGN.md`, "Records convert by field name".

mod blocks;
mod columns;
mod gaps;
mod program;
mod record_conversion;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod streamed;

pub(crate) use columns::{ColumnCopy, copy_columns};
pub(crate) use gaps::Gaps;

use crate::element::{DType, DTypeKind, Record};
use crate::error::Result;
use crate::kernel::block::STREAMED;
use crate::kernel::cpu::Level;
use crate::kernel::records::blocks::{ArrayLoops, BLOCK_NBYTES, STREAMED_BLOCK_NBYTES};
use crate::kernel::records::program::RecordProgram;
use crate::kernel::records::record_conversion::RecordConversion;
pub(crate) use crate::kernel::records::record_conversion::has_gaps;
use crate::kernel::{Casting, cast, copy, element_at, in_element, index_of, one_of_all};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;

/// Converts the elements of one strided array to another dtype, into another array of the same
/// shape. Records are converted by the names of their fields (the source may have more), sub-arrays
/// element by element, scalars as [`cast`] does. Copies, and counts, what it writes.
///
/// # Errors
///
/// `is_dtype` where the source lacks a field, or has one that cannot be converted: then nothing is
/// written. Otherwise as [`cast`].
///
/// # Safety
///
/// 1. Clauses 1 to 4 of [`cast`].
/// 2. The bytes between the elements of the source may be loaded racily (clause 1 of [`copy`]).
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
            // SAFETY: clauses 1 and 2 of `# Safety`: the dtypes are equal, hence the item sizes;
            // the bytes between the source's elements may be loaded.
            unsafe { copy(src, from_layout, dst, to_layout) };
            Ok(())
        }
        (DTypeKind::Record(source), DTypeKind::Record(target)) => {
            let relayout = Relayout::new(source, target, gaps)?;
            // SAFETY: clauses 1 and 2 of `# Safety`: the arrays are passed on unchanged, and
            // `relayout` was made of their records.
            unsafe { relayout.run(src, from_layout, dst, to_layout, casting) }
        }
        (DTypeKind::SubArray(source), DTypeKind::SubArray(target)) if source.shape() == target.shape() => {
            let inside = |layout: &Layout, base: &DType| {
                layout.with_inner(&Layout::contiguous(source.shape(), base.itemsize(), Order::RowMajor)?)
            };
            let (from_layout, to_layout) =
                (inside(from_layout, source.base())?, inside(to_layout, target.base())?);
            // SAFETY: clauses 1 and 2 of `# Safety`: the inner layouts reach the same bytes, as
            // elements of the base dtypes, and both sub-arrays have one shape.
            unsafe {
                convert(src, source.base(), &from_layout, dst, target.base(), &to_layout, casting, gaps)
            }
        }
        // SAFETY: clause 1 of `# Safety`: the pointers, the layouts and the dtypes are passed on
        // unchanged.
        _ => unsafe { cast(src, from, from_layout, dst, to, to_layout, casting) },
    }
}

/// As many records fill whole registers of every level, whatever their size.
const ALIGNED: usize = 64;

/// Element 0 of the source and of the destination.
struct RecordEndpoints {
    src: *const u8,
    dst: *mut u8,
}

// SAFETY: `RecordEndpoints` holds two addresses and accesses nothing; `run` requires of its caller
// that the memory behind them may be accessed racily, on any thread.
unsafe impl Sync for RecordEndpoints {}

impl RecordEndpoints {
    fn at(&self, src_offset: isize, dst_offset: isize) -> (*const u8, *mut u8) {
        (self.src.wrapping_offset(src_offset), self.dst.wrapping_offset(dst_offset))
    }
}

/// How records become other records.
struct Relayout {
    parts: RecordConversion,
    program: RecordProgram,
    gaps: Gaps,
}

impl Relayout {
    fn new(from: &Record, to: &Record, gaps: Gaps) -> Result<Self> {
        let parts = RecordConversion::new(from, to, gaps)?;
        let (runs, level) = (parts.runs.clone(), Level::current());
        // SAFETY: clause 1 of `RecordProgram::new`: the runs are parts of fields of these records,
        // and `Level::current` is a level of this CPU.
        let program = unsafe { RecordProgram::new(level, runs, from.itemsize(), to.itemsize()) };
        Ok(Self { parts, program, gaps })
    }

    /// # Safety
    ///
    /// Clauses 1 and 2 of [`convert`], for the records that this was made of, on any thread.
    unsafe fn run(
        &self,
        src: *const u8,
        from: &Layout,
        dst: *mut u8,
        to: &Layout,
        casting: Casting,
    ) -> Result<()> {
        if from.itemsize() == 0 && to.itemsize() == 0 && to.len() > 1 {
            // SAFETY: the records have size 0, so the layouts of one record reach no byte; their
            // shapes are equal because those of the arrays are.
            return unsafe { self.run(src, &one_of_all(from)?, dst, &one_of_all(to)?, casting) };
        }
        if from.suboffsets().is_some() || to.suboffsets().is_some() {
            // SAFETY: clauses 1 and 2 of `convert`: the pointers and the layouts are passed on
            // unchanged.
            return unsafe { self.run_in_order(src, from, dst, to, casting) };
        }
        let Some(loops) = ArrayLoops::new(to.shape(), &[to.strides(), from.strides()]) else { return Ok(()) };
        // Bytes that are converted afterwards should stay in the cache.
        let whole_nbytes = if self.parts.changes.is_empty() { to.nbytes() } else { 0 };
        let block_nbytes = if whole_nbytes >= STREAMED { STREAMED_BLOCK_NBYTES } else { BLOCK_NBYTES };
        let most = block_nbytes / (from.itemsize() + to.itemsize()).max(1);
        // After so many records the destination is aligned as before, so only the first block has
        // records that are moved one by one.
        let most = if most > ALIGNED { most / ALIGNED * ALIGNED } else { most };
        let endpoints = RecordEndpoints { src, dst };
        let result = loops.blocks(most).try_each(|block| {
            block.loops().runs(|offsets, strides, len| {
                let (src, dst) = endpoints.at(offsets[1], offsets[0]);
                // SAFETY: clause 1 of `convert`: `runs` yields the offsets of `len` records of both
                // arrays, and their strides. `Level::current` is a level of this CPU.
                unsafe { self.program.run(src, strides[1], dst, strides[0], len, whole_nbytes) };
            });
            for change in &self.parts.changes {
                let (src, dst) = endpoints.at(block.offset(1), block.offset(0));
                let (src, dst) = (src.wrapping_add(change.from_offset), dst.wrapping_add(change.to_offset));
                let from = block.layout(1, change.from.itemsize())?;
                let to = block.layout(0, change.to.itemsize())?;
                // SAFETY: clauses 1 and 2 of `convert`: `block` has records of both arrays, and the
                // field lies within each of them.
                unsafe { convert(src, &change.from, &from, dst, &change.to, &to, casting, self.gaps) }?;
            }
            Ok(())
        });
        if result.is_err() {
            // SAFETY: clauses 1 and 2 of `convert`: the pointers and the layouts are passed on
            // unchanged.
            return unsafe { self.run_in_order(src, from, dst, to, casting) };
        }
        count_copied(to.len() * self.parts.moved_nbytes());
        Ok(())
    }

    /// One record after the other: for indirect arrays, and to find the first record that does not
    /// fit.
    ///
    /// # Safety
    ///
    /// Clauses 1 and 2 of [`convert`], for the records that this was made of.
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
            // SAFETY: clause 1 of `convert`: the pointers that `from` follows from `src` on are as
            // `element_at` requires.
            let src = unsafe { element_at(src.cast_mut(), from, &index) }?;
            // SAFETY: clause 1 of `convert`: the pointers that `to` follows from `dst` on are as
            // `element_at` requires.
            let dst = unsafe { element_at(dst, to, &index) }?;
            // SAFETY: clause 1 of `convert`: `src` and `dst` lead to the record at `index`.
            // `Level::current` is a level of this CPU.
            unsafe { self.program.run(src, 0, dst, 0, 1, 0) };
            for change in &self.parts.changes {
                let (src, dst) = (src.wrapping_add(change.from_offset), dst.wrapping_add(change.to_offset));
                let one = |dtype: &DType| Layout::new(&[], &[], dtype.itemsize());
                let (from_layout, to_layout) = (one(&change.from)?, one(&change.to)?);
                // SAFETY: clause 1 of `convert`: the field lies within the record at `index`, and a
                // layout of one element has nothing between.
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
