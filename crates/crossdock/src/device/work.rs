//! What work of a device comes after, and who has to be told of it.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::events::{before, note};
use crate::device::{Effect, Event, MemoryManager, Stream, Transfer};
use crate::error::{Error, Result};
use crate::memory::LeaseKind;

/// Puts work that reads one buffer and writes another into a stream, behind all that is under way
/// on them, and notes its end on both. `enqueue` takes the leases, and puts it there.
///
/// # Errors
///
/// What failed already, and was to write what is read or written here; of `enqueue`.
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
    // Whoever waits for this has waited for all that touched the destination before.
    let noted = note(target, &event, Effect::Writes, &of_target)
        && source.is_none_or(|source| note(source, &event, Effect::Reads, &[]));
    if !noted {
        event.wait()?;
    }
    Ok(event)
}

/// Waits for all that is under way on what work reads and on what it writes.
///
/// # Errors
///
/// What failed, and was to write either.
pub(crate) fn settle_before(read: Option<&Buffer>, written: &Buffer) -> Result<()> {
    if let Some(read) = read {
        read.handle().await_work(LeaseKind::Pin)?;
    }
    written.handle().await_work(LeaseKind::Share)
}

/// Copies between memory of a manager and the host's, without counting: for what is no data of an
/// array, or a single element.
///
/// # Errors
///
/// As [`Buffer::copy_into`].
pub(crate) fn copy_aside(by: &Arc<dyn MemoryManager>, from: &Buffer, to: &Buffer) -> Result<()> {
    if from.nbytes() != to.nbytes() || !by.can_copy(from.place(), to.place()) {
        let (from, to) = (from.place(), to.place());
        return Err(Error::unsupported(format!("{by:?} does not copy from {from} to {to}")));
    }
    settle_before(Some(from), to)?;
    by.copy(&Transfer::now(from, to)?)
}
