//! Transposes of two axes: the source has no gaps along one, the destination none along the other.

use crate::kernel::copy::elements::offset;
use crate::kernel::copy::plan::Axis;
use crate::kernel::copy::run;
use crate::kernel::copy::tile::{self, ROW, TILE, Tile};
use crate::kernel::cpu::Level;

/// How many tiles are done one beside the other along the destination's rows before it goes on along the source's.
const BESIDE: usize = 4;

/// A transpose of elements of one width.
pub(super) struct Square {
    width: usize,
    /// The axis along which the source has no gaps, walked upwards, and the step of the plan's axis at which that begins.
    columns: Axis,
    start: (Axis, usize),
    /// The axis along which the destination has none.
    rows: Axis,
    whole: Tile,
    /// For the borders: the tiles that are not whole are copied here and from here.
    staged: Tile,
}

/// Memory for one tile of the source, and one of the destination.
pub(super) struct Stage {
    source: [u8; TILE],
    destination: [u8; TILE],
}

impl Stage {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self { source: [0; TILE], destination: [0; TILE] })
    }
}

impl Square {
    /// `None` for elements of which there are no tiles.
    pub(super) fn new(level: Level, width: usize, columns: Axis, rows: Axis, stream: bool) -> Option<Self> {
        let staged = tile::tile(level, width, false)?;
        let whole =
            if stream && columns.to % ROW as isize == 0 { tile::tile(level, width, true)? } else { staged };
        let start = (columns, if columns.from < 0 { columns.len - 1 } else { 0 });
        let sign = columns.from.signum();
        let columns = Axis { from: sign * columns.from, to: sign * columns.to, ..columns };
        Some(Self { width, columns, start, rows, whole, staged })
    }

    /// # Safety
    ///
    /// The elements of both axes may be loaded from `src`, and stored to `dst`, racily; the processor has the level.
    pub(super) unsafe fn copy(&self, src: *const u8, dst: *mut u8, stage: &mut Stage) {
        let side = ROW / self.width;
        let (src, dst) = offset(src, dst, self.start.0, self.start.1);
        // So many rows come first that the others begin with a line, where they can all do so at once.
        let head = (dst.addr().wrapping_neg() % ROW / self.width).min(self.rows.len);
        let aligned = dst.addr().wrapping_add(head * self.width).is_multiple_of(ROW)
            && self.columns.to % ROW as isize == 0;
        let (head, whole) = if aligned { (head, self.whole) } else { (0, self.staged) };
        if head != 0 {
            for column in (0..self.columns.len).step_by(side) {
                let (src, dst) = offset(src, dst, self.columns, column);
                // SAFETY: a part of both axes (the caller's word).
                unsafe { self.border(src, dst, self.columns.part(column, side).len, head, stage) };
            }
        }
        for block in (head..self.rows.len).step_by(side * BESIDE) {
            let block = block..self.rows.len.min(block + side * BESIDE);
            for column in (0..self.columns.len).step_by(side) {
                let columns = self.columns.part(column, side).len;
                for row in block.clone().step_by(side) {
                    let rows = (block.end - row).min(side);
                    let (src, dst) = offset(src, dst, self.columns, column);
                    let (src, dst) = offset(src, dst, self.rows, row);
                    if (columns, rows) == (side, side) {
                        // SAFETY: a part of both axes (the caller's word).
                        unsafe { whole(src, self.rows.from, dst, self.columns.to) };
                    } else {
                        // SAFETY: a part of both axes (the caller's word).
                        unsafe { self.border(src, dst, columns, rows, stage) };
                    }
                }
            }
        }
    }

    /// Some columns and rows, fewer than a tile has.
    ///
    /// # Safety
    ///
    /// As for [`Square::copy`], for this part of the axes.
    unsafe fn border(&self, src: *const u8, dst: *mut u8, columns: usize, rows: usize, stage: &mut Stage) {
        let (source, destination) = (stage.source.as_mut_ptr(), stage.destination.as_mut_ptr());
        for row in 0..rows {
            let src = src.wrapping_offset(row as isize * self.rows.from);
            // SAFETY: elements of one row of the source (the caller's word), no more than the stage's rows have.
            unsafe { run::short(src, source.wrapping_add(row * ROW), columns * self.width) };
        }
        // SAFETY: both are memory of a whole tile.
        unsafe { (self.staged)(source, ROW as isize, destination, ROW as isize) };
        for column in 0..columns {
            let dst = dst.wrapping_offset(column as isize * self.columns.to);
            // SAFETY: as many bytes of the stage, and their places in one row of the destination (the caller's word).
            unsafe { run::short(destination.wrapping_add(column * ROW), dst, rows * self.width) };
        }
    }
}
