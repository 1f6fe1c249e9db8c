//! The event of a column on a device: what a consumer has to wait for, ours and theirs.

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

/// An event that a consumer waits for, and the place of its handle: the interface leads there (`cudaEvent_t *`, `cl_event *`).
///
/// # Invariants
///
/// 1. `raw` is the handle of `event`.
pub(super) struct SyncEvent {
    raw: *mut c_void,
    _event: Arc<dyn Event>,
}

impl SyncEvent {
    /// Sees to it that a consumer comes after the work that is under way on an array's memory: by one event of the device, where it has
    /// some; otherwise by waiting here. None where nothing is left to be waited for.
    ///
    /// # Errors
    ///
    /// `Lease` where the work failed, `Failed` where the device did.
    pub(super) fn after(array: &DArray) -> Result<Option<Box<Self>>, Reason> {
        let handle = array.raw().handle();
        if handle.is_idle() {
            return Ok(None);
        }
        // Work of ours that writes holds a lease beside which nobody has constancy, until it is over.
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

    /// One event for all of the work; whatever it is, the device's own stream waits for it.
    fn recorded(array: &DArray) -> Result<Option<Box<Self>>, Reason> {
        // A device that is not known has no events either.
        let Ok(device) = device::get(array.place()) else { return Ok(None) };
        let Some(stream) = device.stream().map_err(Reason::Failed)? else { return Ok(None) };
        let (memory, _) = array.buffer().map_err(Reason::Failed)?;
        memory.await_in(&*stream, LeaseKind::Read).map_err(Reason::Lease)?;
        let event = stream.record().map_err(Reason::Failed)?;
        let raw = event.raw();
        Ok((!raw.is_null()).then(|| Box::new(Self { raw, _event: event })))
    }

    /// What the interface calls the event.
    pub(super) fn address(&self) -> *mut c_void {
        ptr::from_ref(&self.raw).cast_mut().cast()
    }
}

/// What has to be waited for before a column of somebody else's is touched: an event of our own, which does not end with the loan. None
/// where nothing is left to be waited for.
///
/// # Errors
///
/// `is_unsupported` on devices that are not known here, or have no events; what the device says.
///
/// # Safety
///
/// The event is null, or leads to one of the driver of the place, as the interface says, and stays until this returns.
pub(super) unsafe fn taken_over(array: &ArrowDeviceArray, place: Place) -> Result<Option<Arc<dyn Event>>> {
    let address = array.sync_event.cast::<*mut c_void>();
    if address.is_null() {
        return Ok(None);
    }
    if place == Place::CPU {
        return Err(unsupported("it comes with an event of cpu, which has none".to_owned()));
    }
    let device = device::get(place).map_err(|error| nobody_waits(place, Some(error)))?;
    // SAFETY: the caller's word.
    let raw = unsafe { address.read_unaligned() };
    // SAFETY: the caller's word.
    let theirs = unsafe { device.wrap_event(raw) }?.ok_or_else(|| nobody_waits(place, None))?;
    // Of pinned and managed memory the processor reads bitmaps, at once.
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
        "it can be used after an event of {place}, for which only the device's own library can wait: wait there, and hand it over without \
         the event"
    );
    match why {
        Some(why) => Error::caused(Kind::Unsupported, format!("{text} ({why})"), why),
        None => unsupported(text),
    }
}
