//! Transposes of two axes: the source has no gaps along one, the destination none along the other.

use crate::kernel::copy::elements::offset;
use crate::kernel::copy::plan::Axis;
use crate::kernel::copy::run::{self, Run};
use crate::kernel::copy::tile::{self, ROW, TILE, Tile};
use crate::kernel::cpu::Level;

/// How many tiles are done one beside the other along the destination's rows before it goes on along the source's.
const BESIDE: usize = 4;

/// The same where they are put together in a nearer cache.
const STAGED: usize = 16;

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
    /// What brings rows of the stage to the destination.
    run: Run,
    stream: bool,
}

/// Memory for one tile of the source, and behind it for one row of tiles of the destination.
pub(super) struct Stage(Vec<u8>);

impl Stage {
    fn of(stage: &mut Option<Self>, nbytes: usize) -> (*mut u8, *mut u8) {
        let Self(bytes) = stage.get_or_insert_with(|| Self(Vec::new()));
        if bytes.len() < TILE + nbytes {
            bytes.resize(TILE + nbytes, 0);
        }
        (bytes.as_mut_ptr(), bytes.as_mut_ptr().wrapping_add(TILE))
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
        Some(Self { width, columns, start, rows, whole, staged, run: run::run(level, stream), stream })
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
        let (head, beside) = match (aligned, self.stream) {
            (true, _) => (head, BESIDE),
            (false, true) => (0, STAGED),
            (false, false) => (0, BESIDE),
        };
        let mut row = 0;
        while row < self.rows.len {
            let rows = if row < head { head } else { side * beside }.min(self.rows.len - row);
            for column in (0..self.columns.len).step_by(side) {
                let columns = self.columns.part(column, side).len;
                let (src, dst) = offset(src, dst, self.columns, column);
                let (src, dst) = offset(src, dst, self.rows, row);
                let part = Part { src, dst, columns, rows };
                if row < head || self.stream && !aligned {
                    // SAFETY: a part of both axes (the caller's word).
                    unsafe { self.by_stage(part, stage) };
                } else {
                    let tile = if aligned { self.whole } else { self.staged };
                    // SAFETY: a part of both axes (the caller's word).
                    unsafe { self.straight(part, tile, stage) };
                }
            }
            row += rows;
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

    /// Tiles into the stage, and from there row by row into the destination.
    ///
    /// # Safety
    ///
    /// As for [`Square::copy`], for this part of the axes, which has no more columns than a tile.
    unsafe fn by_stage(&self, part: Part, stage: &mut Option<Stage>) {
        let side = ROW / self.width;
        let pitch = part.rows.next_multiple_of(side) * self.width;
        let (few, lines) = Stage::of(stage, side * pitch);
        for row in (0..part.rows).step_by(side) {
            let (src, _) = offset(part.src, part.dst, self.rows, row);
            let rows = side.min(part.rows - row);
            let (mut src, mut from) = (src, self.rows.from);
            if (part.columns, rows) != (side, side) {
                for row in 0..rows {
                    let src = src.wrapping_offset(row as isize * from);
                    // SAFETY: elements of one row of the source (the caller's word), no more than a tile has.
                    unsafe { run::short(src, few.wrapping_add(row * ROW), part.columns * self.width) };
                }
                (src, from) = (few, ROW as isize);
            }
            // SAFETY: a tile of the source, or of the stage; a tile of the stage.
            unsafe { (self.staged)(src, from, lines.wrapping_add(row * self.width), pitch as isize) };
        }
        for column in 0..part.columns {
            let dst = part.dst.wrapping_offset(column as isize * self.columns.to);
            // SAFETY: as many bytes of the stage, and their places in one row of the destination (the caller's word).
            unsafe { (self.run)(lines.wrapping_add(column * pitch), dst, part.rows * self.width) };
        }
    }
}
