//! Transposes of two axes: the source has no gaps along one, the destination none along the other.

use crate::kernel::copy::elements::offset;
use crate::kernel::copy::plan::Axis;
use crate::kernel::copy::run::{self, Lines};
use crate::kernel::copy::tile::{self, ROW, TILE, Tile};
use crate::kernel::cpu::Level;

/// Rows a multiple of this apart share a set of a cache of the second level.
const FAR: usize = 1 << 16;

/// How many rows of the destination are worked on at a time where each keeps a line of its own until that is full: as many as a cache
/// of the second level holds.
const KEPT: usize = 2048;

/// A transpose of elements of one width.
pub(super) struct Square {
    width: usize,
    /// The axis along which the source has no gaps, walked upwards, and the step of the plan's axis at which that begins.
    columns: Axis,
    start: (Axis, usize),
    /// The axis along which the destination has none.
    rows: Axis,
    /// What transposes straight into the destination.
    whole: Tile,
    /// What transposes into the stage, and unaligned.
    staged: Tile,
    /// Where the destination is streamed: what brings lines of the stage there.
    lines: Option<Lines>,
}

/// Memory for one tile of the source, and behind it for rows of the destination, none of which are wider than a tile's.
pub(super) struct Stage(Vec<u8>);

impl Stage {
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
struct Part {
    src: *const u8,
    dst: *mut u8,
    columns: usize,
    rows: usize,
}

impl Square {
    /// `None` for elements of which there are no tiles.
    pub(super) fn new(level: Level, width: usize, columns: Axis, rows: Axis, stream: bool) -> Option<Self> {
        let staged = tile::tile(level, width, false)?;
        let start = (columns, if columns.from < 0 { columns.len - 1 } else { 0 });
        let sign = columns.from.signum();
        let columns = Axis { from: sign * columns.from, to: sign * columns.to, ..columns };
        let whole = tile::tile(level, width, stream)?;
        let lines = if stream { run::lines(level) } else { None };
        Some(Self { width, columns, start, rows, whole, staged, lines })
    }

    /// # Safety
    ///
    /// The elements of both axes may be loaded from `src`, and stored to `dst`, racily; the processor has the level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8, stage: &mut Option<Stage>) {
        let side = ROW / self.width;
        let (src, dst) = offset(src, dst, self.start.0, self.start.1);
        // So many rows come first that the others begin with a line, where they can all do so at once.
        let head = (dst.addr().wrapping_neg() % ROW / self.width).min(self.rows.len);
        let aligned = dst.addr().wrapping_add(head * self.width).is_multiple_of(ROW)
            && self.columns.to % ROW as isize == 0;
        if let (false, Some(lines)) = (aligned, self.lines) {
            for column in (0..self.columns.len).step_by(KEPT) {
                let (src, dst) = offset(src, dst, self.columns, column);
                let part =
                    Part { src, dst, columns: self.columns.part(column, KEPT).len, rows: self.rows.len };
                // SAFETY: a part of both axes (the caller's word).
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
                let part = Part { src, dst, columns: self.columns.part(column, side).len, rows };
                self.prefetch(part);
                // SAFETY: a part of both axes (the caller's word).
                unsafe { self.straight(part, if row < head { self.staged } else { tile }, stage) };
            }
            row += rows;
        }
    }

    /// How many rows of the source are worked on at a time. More are too many for those who fetch from memory ahead and, where they are
    /// so far apart that they meet in a cache, for its ways; fewer write less of each row of the destination at once.
    fn rows_at_once(&self) -> usize {
        let rows = match self.lines {
            None => 128,
            Some(_) if self.rows.from.unsigned_abs().is_multiple_of(FAR) => 16,
            Some(_) => 32,
        };
        rows.max(ROW / self.width)
    }

    /// Asks for what comes next in the rows of the source, where they are too many to lie in a cache.
    fn prefetch(&self, part: Part) {
        if self.lines.is_some() {
            for row in 0..part.rows {
                let (src, _) = offset(part.src, part.dst, self.rows, row);
                run::prefetch(src.wrapping_add(ROW));
            }
        }
    }

    /// Tiles that are whole into the destination, the others by the stage.
    ///
    /// # Safety
    ///
    /// As for [`Square::copy`], for this part of the axes; with a tile that streams, the destination begins with lines.
    unsafe fn straight(&self, part: Part, tile: Tile, stage: &mut Option<Stage>) {
        let side = ROW / self.width;
        for row in (0..part.rows).step_by(side) {
            let (src, dst) = offset(part.src, part.dst, self.rows, row);
            let rows = side.min(part.rows - row);
            if (part.columns, rows) == (side, side) {
                // SAFETY: a tile of this part.
                unsafe { tile(src, self.rows.from, dst, self.columns.to) };
            } else {
                // SAFETY: some of this part.
                unsafe { self.by_stage(Part { src, dst, rows, ..part }, stage) };
            }
        }
    }

    /// One tile, or some of it, by the stage.
    ///
    /// # Safety
    ///
    /// As for [`Square::copy`], for this part of the axes, which has no more columns and rows than a tile.
    unsafe fn by_stage(&self, part: Part, stage: &mut Option<Stage>) {
        let (few, tile) = Stage::of(stage, TILE);
        // SAFETY: some of both axes (the caller's word), and memory of a tile.
        unsafe { self.to_stage(part, few, tile, ROW) };
        for column in 0..part.columns {
            let dst = part.dst.wrapping_offset(column as isize * self.columns.to);
            // SAFETY: as many bytes of the stage, and their places in one row of the destination (the caller's word).
            unsafe { run::short(tile.wrapping_add(column * ROW), dst, part.rows * self.width) };
        }
    }

    /// Transposes one tile, or some of it, into rows of the stage that are `pitch` bytes apart.
    ///
    /// # Safety
    ///
    /// As for [`Square::by_stage`]; nobody else has the memory of a tile at `few`, and 64 bytes of each row at `tile`.
    unsafe fn to_stage(&self, part: Part, few: *mut u8, tile: *mut u8, pitch: usize) {
        let side = ROW / self.width;
        let (mut src, mut from) = (part.src, self.rows.from);
        if (part.columns, part.rows) != (side, side) {
            for row in 0..part.rows {
                let (src, _) = offset(part.src, part.dst, self.rows, row);
                // SAFETY: elements of one row of the source (the caller's word), no more than a tile has.
                unsafe { run::short(src, few.wrapping_add(row * ROW), part.columns * self.width) };
            }
            (src, from) = (few, ROW as isize);
        }
        // SAFETY: a tile of the source, or of the stage (the caller's word).
        unsafe { (self.staged)(src, from, tile, pitch as isize) };
    }

    /// Tiles into the stage and, as soon as a line of the destination is complete, from there: for rows that do not begin with one.
    ///
    /// # Safety
    ///
    /// As for [`Square::copy`], for this part of the axes.
    unsafe fn by_lines(&self, part: Part, lines: Lines, stage: &mut Option<Stage>) {
        let side = ROW / self.width;
        // For each column, what is left over of the tile before, and behind it the present one.
        let (few, kept) = Stage::of(stage, part.columns.next_multiple_of(side) * run::KEPT_PITCH);
        for row in (0..part.rows).step_by(side) {
            let rows = side.min(part.rows - row);
            for column in (0..part.columns).step_by(side) {
                let (src, dst) = offset(part.src, part.dst, self.columns, column);
                let (src, dst) = offset(src, dst, self.rows, row);
                let part = Part { src, dst, columns: side.min(part.columns - column), rows };
                let kept = kept.wrapping_add(column * run::KEPT_PITCH);
                self.prefetch(part);
                // SAFETY: some of both axes (the caller's word), and memory of a tile behind what is kept.
                unsafe { self.to_stage(part, few, kept.wrapping_add(ROW), run::KEPT_PITCH) };
                if row != 0 && rows == side {
                    // SAFETY: what is kept of these columns, and the lines that it completes (the caller's word).
                    unsafe { lines(kept, dst, self.columns.to, part.columns) };
                    continue;
                }
                for column in 0..part.columns {
                    let kept = kept.wrapping_add(column * run::KEPT_PITCH);
                    let dst = dst.wrapping_offset(column as isize * self.columns.to);
                    // What stands in front of the first line, or of the end: in the first tile all of it, in the last one all that is
                    // left over, too.
                    let before = if row == 0 { 0 } else { dst.addr() % ROW };
                    let (from, to) = (kept.wrapping_add(ROW - before), dst.wrapping_sub(before));
                    // SAFETY: what was left over, and its place (the caller's word).
                    unsafe { run::short(from, to, before) };
                    // SAFETY: the present tile, and its place (the caller's word).
                    unsafe { run::short(kept.wrapping_add(ROW), dst, rows * self.width) };
                    // SAFETY: the present tile and what comes before it, both of the stage.
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
                // SAFETY: what is left over, and its place (the caller's word).
                unsafe { run::short(from, dst.wrapping_sub(before), before) };
            }
        }
    }
}
