//! Streams of a device's work, and the events of its end.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crossdock::device::{self, Event, Stream};

use crate::device::place_of;
use crate::foreign::given;
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};

/// `xd_stream_t`.
pub struct XdStream(pub(crate) Arc<dyn Stream>);

/// `xd_event_t`.
pub struct XdEvent(pub(crate) Arc<dyn Event>);

/// A new stream of a device; null without an error if the device has none.
#[unsafe(no_mangle)]
pub extern "C" fn xd_stream_new(kind: i32, ordinal: i32, error: ErrorOut<'_>) -> Handle<XdStream> {
    fallible(error, || {
        let stream = device::get(place_of(kind, ordinal))?.stream()?;
        stream.map_or(Ok(None), |stream| hand_over(XdStream(stream)))
    })
}

/// A stream of the driver; null without an error if the device has none.
///
/// # Safety
///
/// `raw` is a stream of this device's driver, alive until the result is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_stream_wrap(
    kind: i32,
    ordinal: i32,
    raw: *mut c_void,
    error: ErrorOut<'_>,
) -> Handle<XdStream> {
    fallible(error, || {
        let device = device::get(place_of(kind, ordinal))?;
        // SAFETY: `# Safety`: `raw` is a stream of this driver, alive until the result is freed.
        let stream = unsafe { device.wrap_stream(raw) }?;
        stream.map_or(Ok(None), |stream| hand_over(XdStream(stream)))
    })
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_stream_free(stream: Handle<XdStream>) {
    answer(|| drop(stream));
}

/// The driver's handle; null if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn xd_stream_raw(stream: Option<&XdStream>) -> *mut c_void {
    answer(|| stream.map_or(ptr::null_mut(), |stream| stream.0.raw()))
}

/// Waits until all work now in the stream is done.
#[unsafe(no_mangle)]
pub extern "C" fn xd_stream_synchronize(stream: Option<&XdStream>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        given(stream, "stream")?.0.synchronize()?;
        Ok(true)
    })
}

/// The event of the end of all work now in the stream.
#[unsafe(no_mangle)]
pub extern "C" fn xd_stream_record(stream: Option<&XdStream>, error: ErrorOut<'_>) -> Handle<XdEvent> {
    fallible(error, || hand_over(XdEvent(given(stream, "stream")?.0.record()?)))
}

/// Orders later work of the stream after an event.
#[unsafe(no_mangle)]
pub extern "C" fn xd_stream_wait(
    stream: Option<&XdStream>,
    event: Option<&XdEvent>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        given(stream, "stream")?.0.wait(&given(event, "event")?.0)?;
        Ok(true)
    })
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_event_free(event: Handle<XdEvent>) {
    answer(|| drop(event));
}

/// The driver's handle; null if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn xd_event_raw(event: Option<&XdEvent>) -> *mut c_void {
    answer(|| event.map_or(ptr::null_mut(), |event| event.0.raw()))
}

/// Whether the work is done, with success or failure.
#[unsafe(no_mangle)]
pub extern "C" fn xd_event_is_done(event: Option<&XdEvent>) -> bool {
    answer(|| event.is_some_and(|event| event.0.is_done()))
}

/// Waits until the work is done; its failure is this call's.
#[unsafe(no_mangle)]
pub extern "C" fn xd_event_wait(event: Option<&XdEvent>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        given(event, "event")?.0.wait()?;
        Ok(true)
    })
}
