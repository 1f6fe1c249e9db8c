//! Records to columns and back: many copies that share one array.

use crate::element::DType;
use crate::error::Result;
use crate::kernel::Casting;
use crate::kernel::records::blocks::{ArrayLoops, BLOCK_NBYTES};
use crate::kernel::records::convert;
use crate::kernel::records::gaps::Gaps;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::kernel::records::streamed::{RECORDS, StreamedColumns};
use crate::layout::Layout;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
use crate::memory::count_copied;

/// The size of a block: larger than others, since each column plans its copy for each block.
const COLUMNS_NBYTES: usize = 4 * BLOCK_NBYTES;

/// One array that is copied to another.
pub(crate) struct ColumnCopy<'a> {
    pub(crate) src: *const u8,
    pub(crate) from: &'a DType,
    pub(crate) from_layout: &'a Layout,
    pub(crate) dst: *mut u8,
    pub(crate) to: &'a DType,
    pub(crate) to_layout: &'a Layout,
}

// SAFETY: `ColumnCopy` holds addresses and accesses nothing; `copy_columns` requires of its caller
// that any thread may access the memory behind them racily.
unsafe impl Sync for ColumnCopy<'_> {}

/// Converts the elements of each column, one block of all columns at a time, so that neighbouring
/// bytes are loaded into the cache once. A column may have axes behind those of `shape`. Copies,
/// and counts, the bytes of the destinations.
///
/// # Errors
///
/// As [`convert`], without an index. Any of the elements may have been written.
///
/// # Safety
///
/// 1. Clauses 1 and 2 of [`convert`], for each column, on any thread.
/// 2. The shapes of all columns begin with `shape`.
/// 3. No two destinations overlap.
pub(crate) unsafe fn copy_columns(
    shape: &[usize],
    columns: &[ColumnCopy<'_>],
    casting: Casting,
    gaps: Gaps,
) -> Result<()> {
    let common = shape.len();
    let mut arrays = Vec::new();
    let mut record_nbytes = 0_usize;
    for ColumnCopy { from_layout, to_layout, .. } in columns {
        arrays.extend([&to_layout.strides()[..common], &from_layout.strides()[..common]]);
        let each = from_layout.shape()[common..].iter().product::<usize>();
        let nbytes = each.saturating_mul(from_layout.itemsize().saturating_add(to_layout.itemsize()));
        record_nbytes = record_nbytes.saturating_add(nbytes);
    }
    let indirect = |column: &ColumnCopy<'_>| {
        column.from_layout.suboffsets().is_some() || column.to_layout.suboffsets().is_some()
    };
    if record_nbytes == 0 || columns.iter().any(indirect) {
        // Records of size 0 have no blocks, and behind pointers the distances are unknown: convert
        // column by column.
        return columns.iter().try_for_each(|column| {
            let ColumnCopy { src, from, from_layout, dst, to, to_layout } = column;
            // SAFETY: clause 1 of `# Safety`: these are the pointers, the layouts and the dtypes of
            // one column, unchanged.
            unsafe { convert(*src, from, from_layout, *dst, to, to_layout, casting, gaps) }
        });
    }
    if arrays.is_empty() {
        return Ok(());
    }
    let Some(loops) = ArrayLoops::new(shape, &arrays) else { return Ok(()) };
    let most = COLUMNS_NBYTES / record_nbytes.max(1);
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    if let Some(streamed) = StreamedColumns::new(columns, &loops, gaps) {
        let most = most.next_multiple_of(RECORDS);
        loops.blocks(most).try_each(|block| {
            // SAFETY: clauses 1 to 3 of `# Safety`: these are the columns and loops that `streamed`
            // was made of.
            unsafe { streamed.run(columns, &block) };
            Ok(())
        })?;
        // Counted on the calling thread: helper threads have counters of their own.
        count_copied(streamed.nbytes);
        return Ok(());
    }
    loops.blocks(most).try_each(|block| {
        for (number, column) in columns.iter().enumerate() {
            let whole = |array: usize, layout: &Layout| {
                let inner =
                    Layout::new(&layout.shape()[common..], &layout.strides()[common..], layout.itemsize())?;
                block.layout(array, layout.itemsize())?.with_inner(&inner)
            };
            let (to_layout, from_layout) =
                (whole(2 * number, column.to_layout)?, whole(2 * number + 1, column.from_layout)?);
            let dst = column.dst.wrapping_offset(block.offset(2 * number));
            let src = column.src.wrapping_offset(block.offset(2 * number + 1));
            // SAFETY: clauses 1 and 2 of `# Safety`: the block's offsets and axes, with the
            // column's inner axes, reach the same elements of its source and destination.
            unsafe { convert(src, column.from, &from_layout, dst, column.to, &to_layout, casting, gaps) }?;
        }
        Ok(())
    })
}
