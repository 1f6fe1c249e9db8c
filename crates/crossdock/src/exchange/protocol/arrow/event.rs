//! The event of a column on a device, which its consumer waits for: exported and imported.

use core::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::array::DArray;
use crate::device::{self, Event};
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::arrow::abi::ArrowDeviceArray;
use crate::exchange::protocol::arrow::field::unsupported;
use crate::memory::{LeaseKind, Place};
use crate::view::Reason;

/// An event that a consumer waits for, with storage for its handle: the interface passes a pointer
/// to the handle (`cudaEvent_t *`, `cl_event *`).
///
/// # Invariants
///
/// 1. `raw` is the handle of `event`.
pub(super) struct SyncEvent {
    raw: *mut c_void,
    _event: Arc<dyn Event>,
}

impl SyncEvent {
    /// Orders a consumer after in-flight work on an array's memory: by one event of the device, if
    /// it has events; otherwise it waits here. None if there is nothing left to wait for.
    ///
    /// # Errors
    ///
    /// `Lease` if the work failed, `Failed` if the device did.
    pub(super) fn after(array: &DArray) -> Result<Option<Box<Self>>, Reason> {
        let handle = array.raw().handle();
        if handle.is_idle() {
            return Ok(None);
        }
        // In-flight work of this library that writes holds a lease that excludes Read until it
        // ends.
        let is_constant = handle.lease(LeaseKind::Read).is_ok();
        if is_constant
            && !array.place().is_host()
            && let Some(event) = Self::recorded(array)?
        {
            return Ok(Some(event));
        }
        handle.await_work(LeaseKind::Read).map_err(Reason::Lease)?;
        Ok(None)
    }

    /// Records one event after all of the work: the device's own stream waits for it first.
    fn recorded(array: &DArray) -> Result<Option<Box<Self>>, Reason> {
        // An unknown device has no events.
        let Ok(device) = device::get(array.place()) else { return Ok(None) };
        let Some(stream) = device.stream().map_err(Reason::Failed)? else { return Ok(None) };
        let (memory, _) = array.buffer().map_err(Reason::Failed)?;
        memory.await_in(&*stream, LeaseKind::Read).map_err(Reason::Lease)?;
        let event = stream.record().map_err(Reason::Failed)?;
        let raw = event.raw();
        Ok((!raw.is_null()).then(|| Box::new(Self { raw, _event: event })))
    }

    /// The pointer that the interface passes for the event.
    pub(super) fn address(&self) -> *mut c_void {
        ptr::from_ref(&self.raw).cast_mut().cast()
    }
}

/// The event to wait for before a producer's column is accessed: an event of this library, which
/// outlives the column. None if there is nothing left to wait for.
///
/// # Errors
///
/// `is_unsupported` on devices that are unknown here or have no events; the errors of the device.
///
/// # Safety
///
/// 1. `sync_event` is null, or points to a handle of an event of the driver of `place`.
/// 2. The event lives until this returns.
pub(super) unsafe fn taken_over(array: &ArrowDeviceArray, place: Place) -> Result<Option<Arc<dyn Event>>> {
    let address = array.sync_event.cast::<*mut c_void>();
    if address.is_null() {
        return Ok(None);
    }
    if place == Place::CPU {
        return Err(unsupported("it has an event, but it is on cpu, which has no events".to_owned()));
    }
    let device = device::get(place).map_err(|error| nobody_waits(place, Some(error)))?;
    // SAFETY: clause 1 of `# Safety`: `sync_event` is not null (checked above), so it points to a
    // handle, of any alignment.
    let raw = unsafe { address.read_unaligned() };
    // SAFETY: clauses 1 and 2 of `# Safety`: the handle is of an event of the driver of `place`,
    // whose device this is, and lives until this returns.
    let theirs = unsafe { device.wrap_event(raw) }?.ok_or_else(|| nobody_waits(place, None))?;
    // The CPU reads bitmaps of pinned and managed memory at once, so it waits here.
    let stream = if place.is_host() { None } else { device.stream()? };
    let (Some(stream), None) = (stream, theirs.poll()) else { return theirs.wait().map(|()| None) };
    stream.wait(&theirs)?;
    let ours = stream.record()?;
    match ours.poll() {
        Some(outcome) => outcome.map(|()| None),
        None => Ok(Some(ours)),
    }
}

#[cold]
fn nobody_waits(place: Place, why: Option<Error>) -> Error {
    let text = format!(
        "it must not be used before an event of {place}, for which only the device's own library can wait; \
        wait there, and export it without the event"
    );
    match why {
        Some(why) => Error::caused(Kind::Unsupported, format!("{text} ({why})"), why),
        None => unsupported(text),
    }
}
