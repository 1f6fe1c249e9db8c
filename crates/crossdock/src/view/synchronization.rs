//! Ordering of a producer's work before a consumer's, for protocols that name a stream by a number.

use std::ptr;
use std::sync::Arc;

use crate::array::DArray;
use crate::device::{self, Effect, Stream};
use crate::error::{Error, Result};
use crate::memory::{DeviceKind, LeaseKind, Place};

/// The party that waits for in-flight work when memory is exported or imported.
///
/// DLPack (the argument `stream` of `__dlpack__`) and CUDA's array interface (the key `stream`)
/// name the consumer's stream by a number, which [`Synchronization::asked`] interprets. An export
/// [orders](Synchronization::order) the producer's work before later work in that stream, so the
/// consumer need not wait
/// ([`ExportOptions::ordered`](crate::exchange::protocol::dlpack::ExportOptions::ordered)); an
/// import [records](Synchronization::note) the producer's work, and the next access waits for it.
///
/// ```
/// use crossdock::memory::DeviceKind;
/// use crossdock::view::Synchronization;
///
/// assert_eq!(Synchronization::asked(DeviceKind::CPU, None)?, Synchronization::Host);
/// assert_eq!(Synchronization::asked(DeviceKind::CUDA, None)?, Synchronization::LEGACY_DEFAULT);
/// assert_eq!(Synchronization::asked(DeviceKind::CUDA, Some(-1))?, Synchronization::Nobody);
/// assert!(Synchronization::asked(DeviceKind::CUDA, Some(0)).is_err());
/// # Ok::<(), crossdock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Synchronization {
    /// The host waits before the memory is exported.
    #[default]
    Host,
    /// The driver's stream with this handle: later work in it runs after the in-flight work. The
    /// driver defines handles with a special meaning ([`Synchronization::LEGACY_DEFAULT`]).
    Stream(usize),
    /// Neither waits: producer and consumer synchronise by other means.
    Nobody,
}

impl Synchronization {
    /// CUDA's legacy default stream, by its special handle.
    pub const LEGACY_DEFAULT: Self = Self::Stream(1);

    /// Interprets the argument `stream` of `__dlpack__`, for an array on a device of this kind.
    ///
    /// | | CUDA, managed | ROCm | pinned by either | other devices | CPU |
    /// |---|---|---|---|---|---|
    /// | none | legacy default stream | default stream | host | host | host |
    /// | -1 | neither waits | neither waits | neither waits | neither waits | refused |
    /// | 0 | refused: it is ambiguous | default stream | as the device's | refused | refused |
    /// | 1, 2 | legacy, per-thread default | refused | as the device's | that handle | refused |
    /// | more | that handle | that handle | that handle | that handle | refused |
    /// | less than -1 | refused | refused | refused | refused | refused |
    ///
    /// For managed memory without a stream the host waits, because consumers that treat it as CPU
    /// memory pass no stream.
    ///
    /// # Errors
    ///
    /// `is_unsupported`, with the number and the permitted values.
    pub fn asked(kind: DeviceKind, stream: Option<i64>) -> Result<Self> {
        let is_rocm = matches!(kind, DeviceKind::ROCM | DeviceKind::ROCM_HOST);
        let Some(number) = stream else {
            return Ok(match kind {
                DeviceKind::CUDA => Self::LEGACY_DEFAULT,
                DeviceKind::ROCM => Self::Stream(0),
                _ => Self::Host,
            });
        };
        if kind == DeviceKind::CPU {
            return Err(refused(kind, number, "CPU memory has no streams; it must be None"));
        }
        match number {
            -1 => Ok(Self::Nobody),
            0 if is_rocm => Ok(Self::Stream(0)),
            0 => Err(refused(
                kind,
                number,
                "0 is ambiguous; use 1 for the legacy default stream, 2 for the per-thread one, or None for \
                the default",
            )),
            1 | 2 if is_rocm => {
                Err(refused(kind, number, "ROCm has no such stream; 0 is the default stream"))
            }
            _ => match usize::try_from(number) {
                Ok(handle) => Ok(Self::Stream(handle)),
                Err(_) => Err(refused(kind, number, "a handle is positive, and -1 means no synchronization")),
            },
        }
    }

    /// The stream number to request from a producer of such memory, so that
    /// [`Synchronization::note`] knows which work comes before. `None` if the host must wait, as
    /// for kinds whose producers have no streams.
    #[doc(hidden)]
    pub fn to_ask(kind: DeviceKind) -> Option<i64> {
        // Always explicit, because some producers treat None as "do not synchronize".
        match kind {
            DeviceKind::CUDA | DeviceKind::CUDA_MANAGED => Some(1),
            DeviceKind::ROCM => Some(0),
            _ => None,
        }
    }

    /// The driver's default stream.
    fn usual(kind: DeviceKind) -> Self {
        let is_rocm = matches!(kind, DeviceKind::ROCM | DeviceKind::ROCM_HOST);
        if is_rocm { Self::Stream(0) } else { Self::LEGACY_DEFAULT }
    }

    /// Orders the party named here after the work recorded on the array's memory. `access` is the
    /// consumer's lease: readers need not wait for readers. One atomic load if no work is in
    /// flight.
    ///
    /// # Errors
    ///
    /// The error of failed work that was to write the memory; the device's errors.
    ///
    /// # Safety
    ///
    /// The handle in [`Synchronization::Stream`] is a stream of the driver of the array's place,
    /// alive until this returns.
    #[inline]
    pub unsafe fn order(self, array: &DArray, access: LeaseKind) -> Result<()> {
        if self != Self::Host || !array.raw().handle().is_idle() {
            // SAFETY: the handle of the stream is as `# Safety` says.
            return unsafe { self.order_after_work(array, access) };
        }
        Ok(())
    }

    /// The implementation of [`order`](Self::order). Out of line, so that the usual case stays
    /// small: an idle array on the host.
    ///
    /// # Safety
    ///
    /// The handle in [`Synchronization::Stream`] is a stream of the driver of the array's place,
    /// alive until this returns.
    #[inline(never)]
    unsafe fn order_after_work(self, array: &DArray, access: LeaseKind) -> Result<()> {
        let handle = array.raw().handle();
        let raw = match self {
            Self::Nobody => return Ok(()),
            Self::Host => return handle.await_work(access),
            Self::Stream(raw) => raw,
        };
        if handle.is_idle() {
            // Memory imported without a device attached cannot record events: its producer ordered
            // its work before one stream only, the requested one (`to_ask`).
            let is_known = handle.device().is_some() || self == Self::usual(array.place().kind());
            return if is_known { Ok(()) } else { device::get(array.place()).map(drop) };
        }
        // SAFETY: `raw` is a stream of the driver of the array's place, alive until this function
        // returns (`# Safety`); the wrapped stream is dropped before that.
        match unsafe { stream(array.place(), raw) }? {
            Some(stream) => array.buffer()?.0.await_in(&*stream, access),
            None => handle.await_work(access),
        }
    }

    /// Records, on imported memory, that its producer ordered its work before later work in this
    /// stream: the next access waits for that. [`Synchronization::Host`] and
    /// [`Synchronization::Nobody`] record nothing.
    ///
    /// # Errors
    ///
    /// The errors of opening the device and of the device; `is_unsupported` if it cannot wrap
    /// streams of other libraries.
    ///
    /// # Safety
    ///
    /// The handle in [`Synchronization::Stream`] is a stream of the driver of the array's place,
    /// alive until this returns.
    pub unsafe fn note(self, array: &DArray) -> Result<()> {
        let Self::Stream(raw) = self else { return Ok(()) };
        if array.nbytes() == 0 {
            return Ok(());
        }
        let place = array.place();
        // SAFETY: `raw` is a stream of the driver of `place`, alive until this function returns (`#
        // Safety`); the wrapped stream is dropped before that.
        let stream = unsafe { stream(place, raw) }?.ok_or_else(|| {
            Error::unsupported(format!(
                "{place} cannot use streams of other libraries ({raw:#x}); synchronize before the export"
            ))
        })?;
        let event = stream.record()?;
        match event.poll() {
            Some(outcome) => outcome,
            None => array.buffer()?.0.note_event(event, Effect::Writes),
        }
    }
}

/// Wraps a stream of the driver; `None` if the device has no streams.
///
/// # Safety
///
/// `raw` is a stream of the driver of `place`, alive until the result is dropped.
unsafe fn stream(place: Place, raw: usize) -> Result<Option<Arc<dyn Stream>>> {
    let device = device::get(place)?;
    // SAFETY: `raw` is a stream of this device's driver, alive until the result is dropped: the `#
    // Safety` of this function is that of `wrap_stream`.
    unsafe { device.wrap_stream(ptr::with_exposed_provenance_mut(raw)) }
}

#[cold]
fn refused(kind: DeviceKind, number: i64, why: &str) -> Error {
    Error::unsupported(format!("stream {number} on {kind}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [Option<i64>; 12] = [
        None,
        Some(i64::MIN),
        Some(-2),
        Some(-1),
        Some(0),
        Some(1),
        Some(2),
        Some(3),
        Some(0x7f00_1234_5670),
        Some(i64::MAX - 1),
        Some(i64::MAX),
        Some(257),
    ];

    /// The protocol's text, independent of the code: one letter for each number above.
    fn expected(kind: DeviceKind) -> &'static str {
        match kind {
            DeviceKind::CPU => "hxxxxxxxxxxx",
            DeviceKind::CUDA => "1xxnxsssssss",
            DeviceKind::CUDA_MANAGED | DeviceKind::CUDA_HOST => "hxxnxsssssss",
            DeviceKind::ROCM => "0xxnsxxsssss",
            DeviceKind::ROCM_HOST => "hxxnsxxsssss",
            _ => "hxxnxsssssss",
        }
    }

    #[test]
    fn every_number_means_what_the_protocol_says() {
        for kind in (1..=20).map(DeviceKind) {
            for (stream, letter) in NUMBERS.into_iter().zip(expected(kind).chars()) {
                // A handle is a pointer.
                let is_wide = stream.is_some_and(|number| number > 0 && usize::try_from(number).is_err());
                let letter = if letter == 's' && is_wide { 'x' } else { letter };
                let meant = Synchronization::asked(kind, stream);
                let raw = stream.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
                match (letter, meant) {
                    ('h', Ok(Synchronization::Host)) | ('n', Ok(Synchronization::Nobody)) => {}
                    ('1', Ok(Synchronization::LEGACY_DEFAULT)) | ('0', Ok(Synchronization::Stream(0))) => {}
                    ('s', Ok(Synchronization::Stream(handle))) if Some(handle) == raw => {}
                    ('x', Err(error)) => {
                        let number = stream.unwrap().to_string();
                        assert!(error.is_unsupported() && error.to_string().contains(&number), "{error}");
                    }
                    (letter, meant) => panic!("{kind}, {stream:?}: {letter}, and it is {meant:?}"),
                }
            }
        }
    }

    #[test]
    fn what_is_asked_of_others_is_a_number_that_would_be_taken() {
        for kind in (1..=20).map(DeviceKind) {
            let asked = Synchronization::asked(kind, Synchronization::to_ask(kind)).unwrap();
            assert_ne!(asked, Synchronization::Nobody, "{kind}");
        }
    }
}
