//! Copies and fills: checked when they are enqueued, and performed in a stream.

use crate::memory::{Side, Use, copy, unlocked};
use crate::queue::Work;
use crate::state::{Locked, State, wait_until};
use crate::status::{Result, Status};

/// The source or destination of a box of bytes: planes of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side3 {
    pub(crate) side: Side,
    /// The address of the first byte.
    pub(crate) address: usize,
    /// Bytes from row to row, and rows from plane to plane.
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// A box of bytes to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Box3 {
    pub(crate) from: Side3,
    pub(crate) to: Side3,
    pub(crate) width: usize,
    pub(crate) rows: usize,
    pub(crate) planes: usize,
}

impl Box3 {
    /// Contiguous bytes.
    pub(crate) fn bytes(to: (usize, Side), from: (usize, Side), nbytes: usize) -> Self {
        let side = |(address, side)| Side3 { side, address, pitch: nbytes, height: 1 };
        Self { from: side(from), to: side(to), width: nbytes, rows: 1, planes: 1 }
    }

    /// The bytes from the first to the last at the source or destination.
    fn extent(&self, side: &Side3) -> usize {
        let rows = (self.planes - 1) * side.height + (self.rows - 1);
        rows * side.pitch + self.width
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.rows == 0 || self.planes == 0
    }
}

impl State {
    /// For a copy in a stream.
    fn check_box(&mut self, stream: usize, copied: &Box3) -> Result {
        let context = self.streams.get(&stream).map_or(0, |stream| stream.context);
        let device = self.context(context)?.device;
        for (side, used) in [(&copied.from, Use::Reads), (&copied.to, Use::Writes)] {
            let folded = copied.rows > 1 && side.pitch < copied.width;
            if folded || (copied.planes > 1 && side.height < copied.rows) {
                return Err(
                    self.misuse(Status::INVALID_VALUE, format!("rows of {copied:?} lie in each other"))
                );
            }
            self.check(side.address, copied.extent(side), side.side, used)?;
            self.check_access(side.address, device, used)?;
        }
        Ok(())
    }

    /// Whether this is host memory that the driver does not know.
    fn is_pageable(&self, side: &Side3) -> bool {
        self.around(side.address).is_none()
    }
}

fn work(copied: Box3) -> Work {
    Work::run(move |mut state| {
        let from =
            state.reach(copied.from.address, copied.extent(&copied.from), copied.from.side, Use::Reads)?;
        let to = state.reach(copied.to.address, copied.extent(&copied.to), copied.to.side, Use::Writes)?;
        unlocked(state, || {
            for row in 0..copied.rows * copied.planes {
                let (plane, row) = (row / copied.rows, row % copied.rows);
                let at = |side: &Side3| (plane * side.height + row) * side.pitch;
                let to = to.pointer.wrapping_add(at(&copied.to));
                let from = from.pointer.wrapping_add(at(&copied.from));
                // SAFETY: `reach` resolved both extents, whose pages `from` and `to` keep; for
                // unknown host memory, and against overlap, the program's call of the driver is the
                // only guarantee.
                unsafe { copy(to, from, copied.width) };
            }
        });
        Ok(())
    })
}

/// Copies in a stream of the current context.
pub(crate) fn enqueue(mut state: Locked, stream: usize, copied: Box3) -> Result {
    let stream = state.stream(stream)?;
    if copied.is_empty() {
        return Ok(());
    }
    state.check_box(stream, &copied)?;
    let is_pageable = state.is_pageable(&copied.from) || state.is_pageable(&copied.to);
    let mark = state.put(stream, Vec::new(), work(copied))?;
    if is_pageable && state.config.pageable_waits {
        drop(wait_until(state, |_| mark.is_reached())?);
    }
    Ok(())
}

/// Copies in the legacy stream, synchronously.
pub(crate) fn at_once(mut state: Locked, copied: Box3) -> Result {
    let stream = state.stream(0)?;
    if copied.is_empty() {
        return Ok(());
    }
    state.check_box(stream, &copied)?;
    let mark = state.put(stream, Vec::new(), work(copied))?;
    let context = state.streams.get(&stream).map_or(0, |stream| stream.context);
    let mut state = wait_until(state, |_| mark.is_reached())?;
    state.context(context)?.sticky.map_or(Ok(()), Err)
}

/// Fills device memory in a stream, with a pattern of 1, 2 or 4 bytes.
pub(crate) fn fill(mut state: Locked, stream: usize, address: usize, pattern: &[u8], count: usize) -> Result {
    let stream = state.stream(stream)?;
    let nbytes = count.checked_mul(pattern.len()).ok_or(Status::INVALID_VALUE)?;
    if nbytes == 0 {
        return Ok(());
    }
    if !address.is_multiple_of(pattern.len()) {
        let what = format!("{address:#x} is not aligned for patterns of {} bytes", pattern.len());
        return Err(state.misuse(Status::INVALID_VALUE, what));
    }
    state.check(address, nbytes, Side::Device, Use::Writes)?;
    let pattern = pattern.to_vec();
    let work = Work::run(move |mut state| {
        let reached = state.reach(address, nbytes, Side::Device, Use::Writes)?;
        unlocked(state, || {
            for index in 0..count {
                let to = reached.pointer.wrapping_add(index * pattern.len());
                // SAFETY: `reach` resolved all `nbytes` bytes, whose pages `reached` keeps; the
                // pattern is a separate allocation.
                unsafe { copy(to, pattern.as_ptr(), pattern.len()) };
            }
        });
        Ok(())
    });
    state.put(stream, Vec::new(), work)?;
    Ok(())
}
