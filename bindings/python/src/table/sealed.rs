//! Pickles of tables and columns for processes of `multiprocessing`: the buffers in one sealed
//! memory, which the receiver maps.

use std::os::fd::AsRawFd;

use crossdock::buffer::Buffer;
use crossdock::layout::AxisSlice;
use crossdock::memory::{Backing, Birth};
use crossdock::{Casting, DArray};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::detach::both_detached;
use crate::errors::Raise;
use crate::object::wrap;
use crate::table::column_object::Column as ColumnObject;
use crate::table::pickle::{Pickled, REBUILD_COLUMN, REBUILD_TABLE, bytes_in};
use crate::table::table_object::Table;

/// Buffers in one sealed memory begin at multiples of this, as Arrow recommends.
const ALIGNMENT: usize = 64;
/// Smaller tables go through the pipe, which takes less time than a descriptor.
const LEAST_SHARED: usize = 1 << 16;

impl Pickled {
    /// The memory in which all buffers lie, if no process can write it, and where each begins: that
    /// of a held set, or of a table that was received.
    fn in_one_memory(&self) -> Option<(Buffer, Vec<(usize, usize)>)> {
        let mut memory = None;
        let mut places = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            if buffer.nbytes() == 0 {
                places.push((None, 0));
                continue;
            }
            if buffer.backing() != Backing::Shared || buffer.birth() != Birth::Constant {
                return None;
            }
            let (fd, start) = buffer.descriptor()?;
            let known = memory.get_or_insert(fd);
            if known.as_raw_fd() != fd.as_raw_fd() {
                return None;
            }
            places.push((Some(start), buffer.nbytes()));
        }
        let first = places.iter().filter_map(|(start, _)| *start).min()?;
        let within = |start: Option<u64>| usize::try_from(start.map_or(0, |start| start - first)).ok();
        let spans = places.into_iter().map(|(start, nbytes)| Some((within(start)?, nbytes)));
        let spans = spans.collect::<Option<Vec<_>>>()?;
        let end = spans.iter().map(|(start, nbytes)| start + nbytes).max()?;
        let whole = Buffer::map_shared(memory?.try_clone_to_owned().ok()?, first, end, false).ok()?;
        Some((whole, spans))
    }

    /// As [`Pickled::reduce`], with the buffers in one sealed memory: where they lie, or copied.
    /// `None` for few bytes.
    fn reduce_shared<'py>(self, py: Python<'py>, function: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (mut spans, mut end) = (Vec::with_capacity(self.buffers.len()), 0usize);
        for buffer in &self.buffers {
            spans.push((end, buffer.nbytes()));
            end = (end + buffer.nbytes()).next_multiple_of(ALIGNMENT);
        }
        if end < LEAST_SHARED {
            return Ok(None);
        }
        if let Some((whole, spans)) = self.in_one_memory() {
            let whole = wrap(py, bytes_in(&whole)?)?;
            let buffers = PyTuple::new(py, [whole, PyList::new(py, spans)?.into_any()])?.into_any();
            return self.reduced(py, function, buffers).map(Some);
        }
        let whole = bytes_in(&Buffer::shared(end).raise()?)?;
        for (buffer, &(start, nbytes)) in self.buffers.iter().zip(&spans) {
            let (start, stop) = (Some(start as isize), Some((start + nbytes) as isize));
            let part = whole.slice([AxisSlice::Range { start, stop, step: 1 }]).raise()?;
            let assign = |part: &DArray, bytes: &DArray| part.assign(bytes, Casting::Checked);
            both_detached(py, [&part, &bytes_in(buffer)?], assign).raise()?;
        }
        let sealed = whole.into_sealed().map_err(|rejected| rejected.error).raise()?;
        let buffers = PyTuple::new(py, [wrap(py, sealed)?, PyList::new(py, spans)?.into_any()])?.into_any();
        self.reduced(py, function, buffers).map(Some)
    }
}

/// Function and arguments for `multiprocessing`: large buffers in sealed memory, which the receiver
/// maps. `None` for few bytes.
#[pyfunction]
pub(crate) fn _reduce_shared<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    match object.cast::<Table>() {
        Ok(table) => table.get().pickled()?.reduce_shared(py, REBUILD_TABLE),
        Err(_) => object.cast::<ColumnObject>()?.get().pickled()?.reduce_shared(py, REBUILD_COLUMN),
    }
}
