//! Transposes of two axes: the source is contiguous along one, the destination along the other.

use crate::kernel::copy::elements::offset;
use crate::kernel::copy::plan::CopyAxis;
use crate::kernel::copy::run::{self, StreamLines, StreamRows};
use crate::kernel::copy::tile::{self, ROW, TILE, Tile};
use crate::kernel::cpu::Level;

/// Rows that are a multiple of this apart share a set of the L2 cache.
const FAR: usize = 1 << 16;

/// The number of rows of the destination for which `by_lines` keeps a partial line: as many as the
/// L2 cache holds.
const KEPT: usize = 2048;

/// A transpose of elements of one width.
pub(super) struct Square {
    width: usize,
    /// The axis along which the source is contiguous, walked upwards; and the plan's axis, with the
    /// step at which that walk begins.
    columns: CopyAxis,
    start: (CopyAxis, usize),
    /// The axis along which the destination is contiguous.
    rows: CopyAxis,
    /// Transposes straight into the destination.
    whole: Tile,
    /// Transposes into the stage, and to unaligned places.
    staged: Tile,
    /// Copies lines of the stage to the destination, where that is streamed.
    lines: Option<StreamLines>,
    /// The same for several lines of each row.
    several: Option<StreamRows>,
}

/// Scratch memory: one tile of the source, then rows of the destination that are no wider than a
/// tile's.
pub(super) struct SquareScratch(Vec<u8>);

impl SquareScratch {
    fn of(stage: &mut Option<Self>, nbytes: usize) -> (*mut u8, *mut u8) {
        let Self(bytes) = stage.get_or_insert_with(|| Self(Vec::new()));
        if bytes.len() < TILE + nbytes + ROW {
            bytes.resize(TILE + nbytes + ROW, 0);
        }
        let start = bytes.as_mut_ptr();
        let start = start.wrapping_add(start.addr().wrapping_neg() % ROW);
        (start, start.wrapping_add(TILE))
    }
}

/// A part of both axes.
#[derive(Clone, Copy)]
struct SquarePart {
    src: *const u8,
    dst: *mut u8,
    columns: usize,
    rows: usize,
}

impl Square {
    /// `None` for widths that have no tiles, and where tiles are no faster than single elements.
    pub(super) fn worthwhile(
        level: Level,
        width: usize,
        columns: CopyAxis,
        rows: CopyAxis,
        stream: bool,
    ) -> Option<Self> {
        let side = ROW / width.min(ROW);
        let gapless = rows.to == width as isize && columns.from.unsigned_abs() == width;
        // At a border, part of each tile is discarded.
        let worthwhile =
            columns.len * rows.len >= side * side / 2 && columns.len.min(rows.len) >= side.min(8) / 2;
        if gapless && worthwhile { Self::new(level, width, columns, rows, stream) } else { None }
    }

    fn new(level: Level, width: usize, columns: CopyAxis, rows: CopyAxis, stream: bool) -> Option<Self> {
        let staged = tile::tile(level, width, false)?;
        let start = (columns, if columns.from < 0 { columns.len - 1 } else { 0 });
        let sign = columns.from.signum();
        let columns = CopyAxis { from: sign * columns.from, to: sign * columns.to, ..columns };
        let whole = tile::tile(level, width, stream)?;
        let (lines, several) = if stream { (run::lines(level), run::rows(level)) } else { (None, None) };
        Some(Self { width, columns, start, rows, whole, staged, lines, several })
    }

    /// # Safety
    ///
    /// 1. The elements of both axes may be loaded from `src` racily.
    /// 2. The elements of both axes may be stored to `dst` racily.
    /// 3. The CPU has the level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8, stage: &mut Option<SquareScratch>) {
        let side = ROW / self.width;
        let (src, dst) = offset(src, dst, self.start.0, self.start.1);
        // The number of rows before the first line, after which all columns begin with a line if
        // `aligned`.
        let head = (dst.addr().wrapping_neg() % ROW / self.width).min(self.rows.len);
        let aligned = dst.addr().wrapping_add(head * self.width).is_multiple_of(ROW)
            && self.columns.to % ROW as isize == 0;
        if let (false, Some(lines)) = (aligned, self.lines) {
            for column in (0..self.columns.len).step_by(KEPT) {
                let (src, dst) = offset(src, dst, self.columns, column);
                let part = SquarePart {
                    src,
                    dst,
                    columns: self.columns.part(column, KEPT).len,
                    rows: self.rows.len,
                };
                // SAFETY: clauses 1 to 3 of `# Safety`: the part has at most `KEPT` columns from
                // `column` on, and all rows.
                unsafe { self.by_lines(part, lines, stage) };
            }
            return;
        }
        let (head, tile) = if aligned { (head, self.whole) } else { (0, self.staged) };
        let mut row = 0;
        while row < self.rows.len {
            let rows = if row < head { head } else { self.rows_at_once() }.min(self.rows.len - row);
            for column in (0..self.columns.len).step_by(side) {
                let (src, dst) = offset(src, dst, self.columns, column);
                let (src, dst) = offset(src, dst, self.rows, row);
                let part = SquarePart { src, dst, columns: self.columns.part(column, side).len, rows };
                self.prefetch(part);
                if let (true, Some(several)) = (aligned && row >= head && !self.is_far(), self.several)
                    && rows == self.rows_at_once()
                    && rows > side
                    && part.columns == side
                {
                    // SAFETY: clauses 1 to 3 of `# Safety`: the part lies within both axes. After
                    // `head` rows, all columns begin with a line, as they are `aligned`.
                    unsafe { self.by_several(part, several, stage) };
                    continue;
                }
                // SAFETY: clauses 1 to 3 of `# Safety`: the part lies within both axes. A streaming
                // tile comes only after `head` rows and where `aligned` holds, so `dst` begins a
                // line.
                unsafe { self.straight(part, if row < head { self.staged } else { tile }, stage) };
            }
            row += rows;
        }
    }

    /// How many rows of the source to work on at once. More would exceed what the prefetchers
    /// follow, and the ways of a cache where the rows share a set. Fewer would write less of each
    /// row of the destination at once.
    fn rows_at_once(&self) -> usize {
        let rows = match self.lines {
            None => 128,
            Some(_) if self.is_far() => 16,
            Some(_) => 32,
        };
        rows.max(ROW / self.width)
    }

    /// Whether the rows of the source share a set of the second cache, too.
    fn is_far(&self) -> bool {
        self.rows.from.unsigned_abs().is_multiple_of(FAR)
    }

    /// Prefetches the next part of the rows of the source, where there are too many for a cache.
    fn prefetch(&self, part: SquarePart) {
        if self.lines.is_some() {
            for row in 0..part.rows {
                let (src, _) = offset(part.src, part.dst, self.rows, row);
                if self.is_far() {
                    run::prefetch(src.wrapping_add(ROW));
                } else {
                    run::prefetch_to_second(src.wrapping_add(2 * ROW));
                }
            }
        }
    }

    /// Transposes several tiles into the stage, and streams the lines of each column together: the
    /// memory writes lines that follow each other faster than others.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 to 3 of [`Square::copy`], for this part of the axes, which has as many columns
    ///    as a tile, and the rows of some tiles. Clause 3 covers `several`.
    /// 2. Every column of the destination begins with a line.
    unsafe fn by_several(&self, part: SquarePart, several: StreamRows, stage: &mut Option<SquareScratch>) {
        let nbytes = part.rows * self.width;
        let (_, tiles) = SquareScratch::of(stage, part.columns * nbytes);
        for row in (0..part.rows).step_by(ROW / self.width) {
            let (src, _) = offset(part.src, part.dst, self.rows, row);
            // SAFETY: clause 1 of `# Safety`: the source has a whole tile from `row` on. The stage
            // has `nbytes` bytes for each column, of which a tile has 64 from `row * width` on;
            // `staged` does not stream.
            unsafe {
                (self.staged)(src, self.rows.from, tiles.wrapping_add(row * self.width), nbytes as isize)
            };
        }
        // SAFETY: clauses 1 and 2 of `# Safety` cover the destination; the loop above filled
        // `columns * nbytes` bytes of the stage, which is private.
        unsafe { several(tiles, nbytes, part.dst, self.columns.to, part.columns) };
    }

    /// Transposes whole tiles into the destination, the others by way of the stage.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 to 3 of [`Square::copy`], for this part of the axes, which has no more columns
    ///    than a tile.
    /// 2. With a tile that streams, every column of the destination begins with a line, and whole
    ///    tiles keep it so.
    unsafe fn straight(&self, part: SquarePart, tile: Tile, stage: &mut Option<SquareScratch>) {
        let side = ROW / self.width;
        for row in (0..part.rows).step_by(side) {
            let (src, dst) = offset(part.src, part.dst, self.rows, row);
            let rows = side.min(part.rows - row);
            if (part.columns, rows) == (side, side) {
                // SAFETY: clauses 1 and 2 of `# Safety`: the part has `side` columns and `side`
                // rows here, 64 bytes each, and both axes are contiguous in their array.
                unsafe { tile(src, self.rows.from, dst, self.columns.to) };
            } else {
                // SAFETY: clause 1 of `# Safety`: these are `rows` rows of the part, at most
                // `side`, and the part has no more columns than a tile.
                unsafe { self.by_stage(SquarePart { src, dst, rows, ..part }, stage) };
            }
        }
    }

    /// Transposes one tile, or a part of one, by way of the stage.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 to 3 of [`Square::copy`], for this part of the axes.
    /// 2. The part has no more columns and rows than a tile.
    unsafe fn by_stage(&self, part: SquarePart, stage: &mut Option<SquareScratch>) {
        let (few, tile) = SquareScratch::of(stage, TILE);
        // SAFETY: clauses 1 and 2 of `# Safety` cover the part. `SquareScratch::of` returned `TILE`
        // bytes each at `few` and `tile`, where rows of `ROW` bytes fit.
        unsafe { self.to_stage(part, few, tile, ROW) };
        for column in 0..part.columns {
            let dst = part.dst.wrapping_offset(column as isize * self.columns.to);
            // SAFETY: the stage has `ROW` bytes for each column, and `rows * width` is at most that
            // (clause 2). The destination is contiguous along the rows (clause 1).
            unsafe { run::short(tile.wrapping_add(column * ROW), dst, part.rows * self.width) };
        }
    }

    /// Transposes one tile, or a part of one, into rows of the stage that are `pitch` bytes apart.
    ///
    /// # Safety
    ///
    /// 1. Clauses 1 and 2 of [`Square::by_stage`].
    /// 2. `TILE` bytes at `few` are initialised, and no other thread accesses them.
    /// 3. 64 bytes at `tile`, for each column of a tile, `pitch` bytes apart, may be written, and
    ///    no other thread accesses them.
    unsafe fn to_stage(&self, part: SquarePart, few: *mut u8, tile: *mut u8, pitch: usize) {
        let side = ROW / self.width;
        let (mut src, mut from) = (part.src, self.rows.from);
        if (part.columns, part.rows) != (side, side) {
            for row in 0..part.rows {
                let (src, _) = offset(part.src, part.dst, self.rows, row);
                // SAFETY: clause 1 of `# Safety`: the source has `columns` contiguous elements in
                // the row, at most 64 bytes, for which `few` has a row (clause 2).
                unsafe { run::short(src, few.wrapping_add(row * ROW), part.columns * self.width) };
            }
            (src, from) = (few, ROW as isize);
        }
        // SAFETY: `src` leads to a whole tile: of the source (clause 1), or of `few` (clause 2).
        // Clause 3 covers the rows at `tile`; `staged` does not stream.
        unsafe { (self.staged)(src, from, tile, pitch as isize) };
    }

    /// Transposes tiles into the stage, and streams each line of the destination as soon as it is
    /// complete. For rows that do not begin with a line.
    ///
    /// # Safety
    ///
    /// Clauses 1 to 3 of [`Square::copy`], for this part of the axes, and those of `lines`.
    unsafe fn by_lines(&self, part: SquarePart, lines: StreamLines, stage: &mut Option<SquareScratch>) {
        let side = ROW / self.width;
        // For each column: the bytes left over from the previous tile, then those of the present
        // one.
        let (few, kept) = SquareScratch::of(stage, part.columns.next_multiple_of(side) * run::KEPT_PITCH);
        for row in (0..part.rows).step_by(side) {
            let rows = side.min(part.rows - row);
            for column in (0..part.columns).step_by(side) {
                let (src, dst) = offset(part.src, part.dst, self.columns, column);
                let (src, dst) = offset(src, dst, self.rows, row);
                let part = SquarePart { src, dst, columns: side.min(part.columns - column), rows };
                let kept = kept.wrapping_add(column * run::KEPT_PITCH);
                self.prefetch(part);
                // SAFETY: the part is a tile at most, of both axes (clauses 1 to 3). `kept` has
                // `KEPT_PITCH` bytes for each column of a tile, of which `ROW` are for the present
                // one.
                unsafe { self.to_stage(part, few, kept.wrapping_add(ROW), run::KEPT_PITCH) };
                if row != 0 && rows == side {
                    // SAFETY: `row` is not 0, so the previous tile's 64 bytes precede `dst` in each
                    // column: the line lies within the column (clause 2). `kept` is private scratch
                    // memory.
                    unsafe { lines(kept, dst, self.columns.to, part.columns) };
                    continue;
                }
                for column in 0..part.columns {
                    let kept = kept.wrapping_add(column * run::KEPT_PITCH);
                    let dst = dst.wrapping_offset(column as isize * self.columns.to);
                    // The bytes before `dst` that are still to be stored: none in the first tile,
                    // which is stored whole; in the last one, all that are left over.
                    let before = if row == 0 { 0 } else { dst.addr() % ROW };
                    let (from, to) = (kept.wrapping_add(ROW - before), dst.wrapping_sub(before));
                    // SAFETY: `before` is below 64. The stage holds as many bytes before the
                    // present tile, and the previous tile's places in the column precede `dst`
                    // (clause 2).
                    unsafe { run::short(from, to, before) };
                    // SAFETY: the stage holds the present tile's 64 bytes of the column, and
                    // `rows * width` of them have places at `dst` (clause 2).
                    unsafe { run::short(kept.wrapping_add(ROW), dst, rows * self.width) };
                    // SAFETY: both are lines of the column in the stage, which is private:
                    // `kept + ROW` is the present tile, and `kept` the line before.
                    unsafe { run::short(kept.wrapping_add(ROW), kept, ROW) };
                }
            }
        }
        if part.rows.is_multiple_of(side) {
            for column in 0..part.columns {
                let (_, dst) = offset(part.src, part.dst, self.columns, column);
                let dst = dst.wrapping_add(part.rows * self.width);
                let before = dst.addr() % ROW;
                let from = kept.wrapping_add(column * run::KEPT_PITCH + ROW - before);
                // SAFETY: `before` is below 64, and the last tile was whole: its last `before`
                // bytes are kept, and precede the end of the column (clause 2).
                unsafe { run::short(from, dst.wrapping_sub(before), before) };
            }
        }
    }
}
