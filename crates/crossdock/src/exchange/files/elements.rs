//! The elements of an array as the bytes of a file: converted, and contiguous in an order.
//!
//! ```text
//!   array ── halved along the file's slowest axis ──> pieces ── cast ──> the writer
//!                                                       └─ one that lies in another order is gathered
//!                                                          in parts of the source's memory
//! ```

use std::io::Write;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::exchange::files::new_file::put;
use crate::exchange::files::outgoing::OutgoingArray;
use crate::layout::{Layout, Order};
use crate::memory::os::pages;
use crate::memory::{Backing, LeaseKind, count_copied};

/// The bytes that are gathered before a write: enough to amortise the call, few enough to stay in
/// the cache.
const CHUNK: usize = 256 << 10;

/// The same for a stream, whose pieces several threads convert.
const STREAM_CHUNK: usize = 4 << 20;

/// The memory of a source that is read before its pages are given up, at most.
const SOURCE_SPAN: usize = 32 << 20;

/// Writes the elements in this order. Copies, and counts, their bytes; never more than 256 KiB (or
/// one element) of them at a time, or the memory of a stream. Errors: `is_value` for an element
/// that does not fit, `is_io`, `is_conflict` while another party holds Write, `is_place` on a
/// device, `is_fault` if a guarded file shrank.
pub(super) fn write(writer: &mut impl Write, outgoing: &OutgoingArray, order: Order) -> Result<()> {
    let array = &outgoing.array;
    // Held until the end, so that no other party takes Write between two chunks.
    let _pin = array.lease(LeaseKind::Pin)?;
    if !outgoing.is_cast()
        && array.layout().is_contiguous(order)
        && let Ok(bytes) = array.buffer()?.0.read()
    {
        for piece in bytes.chunks(STREAM_CHUNK) {
            put(writer, piece)?;
            outgoing.wrote(piece.len());
        }
        count_copied(bytes.len());
        return Ok(());
    }
    let (most, is_scattered) = match &outgoing.stream {
        None => (CHUNK, false),
        Some(stream) if follows(array, order) => (STREAM_CHUNK.min(stream.memory), false),
        Some(stream) => (stream.memory / 4 * 3, true),
    };
    let mut pieces = Pieces { writer, outgoing, order, most, is_scattered, scratch: None };
    pieces.write(array, &mut vec![0; array.rank()])
}

/// The pieces of an array, in the order of the file.
struct Pieces<'a, W> {
    writer: &'a mut W,
    outgoing: &'a OutgoingArray,
    order: Order,
    /// The bytes of a piece in the file, at most.
    most: usize,
    /// Whether the elements of a piece are gathered from a much larger part of the source.
    is_scattered: bool,
    /// Memory for pieces that are gathered in parts.
    scratch: Option<Buffer>,
}

impl<W: Write> Pieces<'_, W> {
    /// Halves the slowest axis until a piece is small enough. `origin` is the index of its first
    /// element in the whole array.
    fn write(&mut self, part: &DArray, origin: &mut [usize]) -> Result<()> {
        let is_long = |&len: &usize| len > 1;
        let slowest = match self.order {
            Order::RowMajor => part.shape().iter().position(is_long),
            Order::ColumnMajor => part.shape().iter().rposition(is_long),
        };
        let nbytes = part.len().saturating_mul(self.outgoing.dtype.itemsize());
        let Some(axis) = slowest.filter(|_| nbytes > self.most) else {
            return self.piece(part, nbytes).map_err(|error| match error.is_value() {
                true => self.located(part, origin).unwrap_or(error),
                false => error,
            });
        };
        let (start, len) = (origin[axis], part.shape()[axis]);
        for range in [0..len / 2, len / 2..len] {
            origin[axis] = start + range.start;
            self.write(&part.slice_axis(axis, range)?, origin)?;
        }
        origin[axis] = start;
        Ok(())
    }

    fn piece(&mut self, part: &DArray, nbytes: usize) -> Result<()> {
        let outgoing = self.outgoing;
        let long = (0..part.rank()).filter(|&axis| part.shape()[axis] > 1);
        let slowest = long.max_by_key(|&axis| part.strides()[axis].unsigned_abs());
        let piece = match slowest.filter(|_| self.is_scattered) {
            Some(axis) => self.gathered(part, axis, nbytes)?,
            None if outgoing.is_cast() => outgoing.convert(part, self.order)?,
            None => part.to_order(self.order)?,
        };
        if outgoing.stream.is_some() {
            release_pages(part);
        }
        put(self.writer, &piece.buffer()?.0.read()?)?;
        outgoing.wrote(nbytes);
        Ok(())
    }

    /// A scattered piece, filled part by part along an axis, the slowest of the source.
    fn gathered(&mut self, part: &DArray, axis: usize, nbytes: usize) -> Result<DArray> {
        let buffer = match &self.scratch {
            Some(buffer) => buffer.try_clone()?,
            None => self.scratch.insert(Buffer::zeroed(self.most.max(nbytes))?).try_clone()?,
        };
        let dtype = self.outgoing.dtype.clone();
        if dtype.as_scalar().is_none() {
            // The bytes between the fields of records are not assigned.
            buffer.write()?.fill(0);
        }
        let layout = Layout::contiguous(part.shape(), dtype.itemsize(), self.order)?;
        let piece = DArray::from_buffer(buffer, dtype, layout, 0)?;
        let step = (SOURCE_SPAN.min(self.most) / part.strides()[axis].unsigned_abs().max(1)).max(1);
        for start in (0..part.shape()[axis]).step_by(step) {
            let range = start..part.shape()[axis].min(start + step);
            let source = part.slice_axis(axis, range.clone())?;
            self.outgoing.convert_into(&piece.slice_axis(axis, range)?, &source)?;
            release_pages(&source);
            if let Some(fault) = source.fault() {
                return Err(fault);
            }
        }
        Ok(piece)
    }

    /// The error of the first element of a part that does not fit, with its index in the whole
    /// array.
    #[cold]
    fn located(&self, part: &DArray, origin: &[usize]) -> Option<Error> {
        let (mut part, mut index) = (part.clone(), origin.to_vec());
        let converted = |part: &DArray| {
            let converted = self.outgoing.convert(part, Order::RowMajor);
            converted.err().filter(Error::is_value)
        };
        while let Some(axis) = part.shape().iter().position(|&len| len > 1) {
            let half = part.shape()[axis] / 2;
            let (first, second) = part.split_at(axis, half).ok()?;
            part = if converted(&first).is_some() {
                first
            } else {
                index[axis] += half;
                second
            };
        }
        let error = converted(&part.reshape(&[]).ok()?)?;
        Some(if index.is_empty() { error } else { error.within(format_args!("element {index:?}")) })
    }
}

/// Whether the elements lie in memory in this order, with or without gaps.
fn follows(array: &DArray, order: Order) -> bool {
    let long = array.shape().iter().zip(array.strides()).filter(|&(&len, _)| len > 1);
    let strides: Vec<usize> = long.map(|(_, stride)| stride.unsigned_abs()).collect();
    match order {
        Order::RowMajor => strides.is_sorted_by(|a, b| a >= b),
        Order::ColumnMajor => strides.is_sorted(),
    }
}

/// Gives up the pages of a mapped file that these elements are in: they leave the memory of this
/// process, and the next access maps them again. For a program that reads a large file once.
pub fn release_pages(array: &DArray) {
    if array.backing() != Backing::File || array.is_empty() || array.is_indirect() {
        return;
    }
    let span = array.layout().span();
    let start = array.as_ptr().wrapping_offset(span.low());
    // SAFETY: clause 1 of `release_file_pages`: the range covers pages of a shared file map (no
    // other memory is `Backing::File`), which `array` keeps alive. A page that the guard put in
    // place of missing bytes is zeros again.
    unsafe { pages::release_file_pages(start, span.nbytes()) };
}

/// Adds the axes of a sub-array after those of the array, in place: for formats whose elements have
/// no axes.
pub(super) fn with_plain_elements(array: &DArray) -> Result<DArray> {
    let Some(subarray) = array.dtype().as_subarray() else { return Ok(array.clone()) };
    let base = subarray.base().clone();
    let inner = Layout::contiguous(subarray.shape(), base.itemsize(), Order::RowMajor)?;
    let layout = array.layout().with_inner(&inner)?;
    let (buffer, offset) = array.buffer()?;
    DArray::from_buffer(buffer, base, layout, offset)
}
