//! Columns of words to records and back, past the caches. A large result would evict its source,
//! and then itself: a few records at a time are put together in the L1 cache, and then streamed.
//!
//! Reasons: `DESIGN.md`, "Large columns are put together in the cache, and then streamed".

use crate::kernel::block::STREAMED;
use crate::kernel::copy::run::{self, CopyRun};
use crate::kernel::cpu::Level;
use crate::kernel::records::blocks::{ArrayLoops, LoopBlock};
use crate::kernel::records::columns::ColumnCopy;
use crate::kernel::records::gaps::Gaps;
use crate::kernel::records::has_gaps;
use crate::memory::racy;

/// The bytes that are put together at a time: they fit the L1 cache, with their source.
const STAGE_NBYTES: usize = 12 << 10;

/// Parts are multiples of 64 records, so that every part is as aligned as the first.
pub(super) const RECORDS: usize = 64;

#[repr(C, align(64))]
struct StagedRecords([u8; STAGE_NBYTES]);

/// The columns of a large copy, each of words that do not change.
///
/// # Invariants
///
/// 1. `widths` has 1, 2, 4 or 8 for each column: the bytes of its elements, in both arrays. The
///    arrays of `loops` are the destination and the source of each column in turn, on one axis.
/// 2. If `first` is `None`, each destination is contiguous. Otherwise all of them together are: the
///    fields of records, of which that of the column `first` begins the record.
/// 3. `stream` was chosen for the level of the CPU.
pub(super) struct StreamedColumns {
    widths: Vec<usize>,
    first: Option<usize>,
    record_nbytes: usize,
    stream: CopyRun,
    /// The bytes of all columns.
    pub(super) nbytes: usize,
}

impl StreamedColumns {
    /// `None` if elements are converted or are no words, and for small or scattered results.
    pub(super) fn new(columns: &[ColumnCopy<'_>], loops: &ArrayLoops, gaps: Gaps) -> Option<Self> {
        let len = loops.single_len()?;
        let width = |column: &ColumnCopy<'_>| {
            let is_moved = column.from == column.to && (gaps == Gaps::Fill || !has_gaps(column.to));
            let width = column.to.itemsize();
            let is_word = matches!(width, 1 | 2 | 4 | 8);
            (is_moved && is_word && column.to_layout.len() == len).then_some(width)
        };
        let widths = columns.iter().map(width).collect::<Option<Vec<_>>>()?;
        let record_nbytes = widths.iter().sum::<usize>();
        let (nbytes, level) = (record_nbytes.checked_mul(len)?, Level::current());
        if nbytes < STREAMED || level == Level::Baseline || record_nbytes * RECORDS > STAGE_NBYTES {
            return None;
        }
        let stream = run::run(level, true);
        let stride = |column: usize| loops.strides(2 * column)[0];
        if (0..columns.len()).all(|column| stride(column) == widths[column] as isize) {
            return Some(Self { widths, first: None, record_nbytes, stream, nbytes });
        }
        // The fields do not overlap and together have `record_nbytes` bytes, so fields within one
        // record leave no gap.
        let first = (0..columns.len()).min_by_key(|&column| columns[column].dst.addr())?;
        let is_field = |column: usize| {
            let place = columns[column].dst.addr() - columns[first].dst.addr();
            stride(column) == record_nbytes as isize && place + widths[column] <= record_nbytes
        };
        let first = Some(first);
        (0..columns.len()).all(is_field).then_some(Self { widths, first, record_nbytes, stream, nbytes })
    }

    /// Copies one block of all columns.
    ///
    /// # Safety
    ///
    /// 1. These are the columns and a block of the loops that this was made of.
    /// 2. The elements of each source may be loaded, and those of each destination stored, racily;
    ///    no two destinations overlap.
    pub(super) unsafe fn run(&self, columns: &[ColumnCopy<'_>], block: &LoopBlock<'_>) {
        let mut stage = StagedRecords([0; STAGE_NBYTES]);
        let most = STAGE_NBYTES / self.record_nbytes / RECORDS * RECORDS;
        let src = |column: usize, done: usize| {
            let offset = block.offset(2 * column + 1) + done as isize * block.strides(2 * column + 1)[0];
            columns[column].src.wrapping_offset(offset)
        };
        let dst = |column: usize, done: usize| {
            let offset = block.offset(2 * column) + done as isize * block.strides(2 * column)[0];
            columns[column].dst.wrapping_offset(offset)
        };
        for done in (0..block.len()).step_by(most) {
            let len = most.min(block.len() - done);
            for (column, &width) in self.widths.iter().enumerate() {
                let (place, step) = match self.first {
                    None => (0, width),
                    Some(first) => {
                        (columns[column].dst.addr() - columns[first].dst.addr(), self.record_nbytes)
                    }
                };
                let from_step = block.strides(2 * column + 1)[0];
                // SAFETY: clauses 1 and 2 of `# Safety`: the block has `len` elements from the one
                // at `done` on, of `width` bytes (StreamedColumns 1). `len` records fit the stage
                // (`most`), and a field fits its record (StreamedColumns 2).
                unsafe { gather(src(column, done), from_step, width, len, &mut stage.0[place..], step) };
                if self.first.is_none() {
                    // SAFETY: the stage has `len * width` bytes, which no other thread accesses.
                    // Clause 2 of `# Safety`: the destination is contiguous (StreamedColumns 2), so
                    // these are `len` of its elements. StreamedColumns 3 covers the CPU. `fence`
                    // follows the loop.
                    unsafe { (self.stream)(stage.0.as_ptr(), dst(column, done), len * width) };
                }
            }
            if let Some(first) = self.first {
                // SAFETY: the stage has `len` records, which no other thread accesses. Clause 2 of
                // `# Safety`: all destinations together are contiguous records (StreamedColumns 2),
                // and these are `len` of them. StreamedColumns 3 covers the CPU. `fence` follows
                // the loop.
                unsafe { (self.stream)(stage.0.as_ptr(), dst(first, done), len * self.record_nbytes) };
            }
        }
        run::fence();
    }
}

/// Puts words into a stage, `step` bytes apart.
///
/// # Safety
///
/// 1. `len` words of `width` bytes (1, 2, 4 or 8), `from_step` bytes apart, may be loaded racily.
/// 2. `stage` has `len` words, `step` bytes apart.
unsafe fn gather(src: *const u8, from_step: isize, width: usize, len: usize, stage: &mut [u8], step: usize) {
    debug_assert!(len == 0 || (len - 1) * step + width <= stage.len());
    macro_rules! words {
        ($word:ty) => {
            for index in 0..len {
                let src = src.wrapping_offset(index as isize * from_step);
                // SAFETY: clause 1 of `# Safety`: `index` is below `len`.
                let word: $word = unsafe { racy::load(src.cast()) };
                let place = stage.as_mut_ptr().wrapping_add(index * step).cast::<$word>();
                // SAFETY: clause 2 of `# Safety`: `index` is below `len`; the write needs no
                // alignment.
                unsafe { place.write_unaligned(word) };
            }
        };
    }
    match width {
        1 => words!(u8),
        2 => words!(u16),
        4 => words!(u32),
        _ => words!(u64),
    }
}
