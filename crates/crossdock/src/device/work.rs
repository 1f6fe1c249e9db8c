//! The ordering of device work after earlier work, and its recording on memory.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::events::{before, note};
use crate::device::{Effect, Event, MemoryManager, Stream, Transfer};
use crate::error::{Error, Result};
use crate::memory::LeaseKind;

/// Enqueues work that reads one buffer and writes another in a stream, after all in-flight work on
/// them, and records its end on both. `enqueue` takes the leases and enqueues the work.
///
/// # Errors
///
/// The error of failed work that was to write either buffer; the errors of `enqueue`.
pub(crate) fn in_order(
    read: Option<&Buffer>,
    written: &Buffer,
    stream: &dyn Stream,
    enqueue: impl FnOnce() -> Result<Arc<dyn Event>>,
) -> Result<Arc<dyn Event>> {
    let target = written.handle().header();
    let source = read.map(|read| read.handle().header());
    if let Some(read) = read {
        read.await_in(stream, LeaseKind::Pin)?;
    }
    let of_target = before(target, LeaseKind::Share)?;
    of_target.iter().try_for_each(|event| stream.wait(event))?;
    let event = enqueue()?;
    // The new event comes after all earlier work on the destination, so it supersedes those events.
    let noted = note(target, &event, Effect::Writes, &of_target)
        && source.is_none_or(|source| note(source, &event, Effect::Reads, &[]));
    if !noted {
        event.wait()?;
    }
    Ok(event)
}

/// Waits for all in-flight work on the buffers that new work reads and writes.
///
/// # Errors
///
/// The error of failed work that was to write either.
pub(crate) fn settle_before(read: Option<&Buffer>, written: &Buffer) -> Result<()> {
    if let Some(read) = read {
        read.handle().await_work(LeaseKind::Pin)?;
    }
    written.handle().await_work(LeaseKind::Share)
}

/// Copies between memory of a manager and host memory, without counting: for internal data, or a
/// single element.
///
/// # Errors
///
/// As [`Buffer::copy_into`].
pub(crate) fn copy_aside(by: &Arc<dyn MemoryManager>, from: &Buffer, to: &Buffer) -> Result<()> {
    if from.nbytes() != to.nbytes() || !by.can_copy(from.place(), to.place()) {
        let (from, to) = (from.place(), to.place());
        return Err(Error::unsupported(format!("{by:?} cannot copy from {from} to {to}")));
    }
    settle_before(Some(from), to)?;
    by.copy(&Transfer::now(from, to)?)
}
