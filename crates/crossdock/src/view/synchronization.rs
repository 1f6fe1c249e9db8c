//! In which order a producer's work and a consumer's are done, where the protocol names a stream by
//! a number.

use std::ptr;
use std::sync::Arc;

use crate::array::DArray;
use crate::device::{self, Effect, Stream};
use crate::error::{Error, Result};
use crate::memory::{DeviceKind, LeaseKind, Place};

/// Who waits for work on memory that changes hands while a device may still be writing it.
///
/// DLPack (the argument `stream` of `__dlpack__`) and CUDA's array interface (the key `stream`)
/// name the stream in which a consumer goes on by a number. What the numbers mean is
/// [`Synchronization::asked`]. An export is then [ordered](Synchronization::order) before what
/// comes in that stream, and needs no waiting any more
/// ([`ExportOptions::ordered`](crate::exchange::protocol::dlpack::ExportOptions::ordered)); an
/// import is [noted](Synchronization::note), for whoever touches the memory next.
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
    /// The host, before the memory changes hands.
    #[default]
    Host,
    /// The stream of the device's driver with this handle: what is put into it afterwards comes
    /// after the work. Handles with a meaning of their own are the driver's
    /// ([`Synchronization::LEGACY_DEFAULT`]).
    Stream(usize),
    /// Nobody: the two have agreed on it otherwise.
    Nobody,
}

impl Synchronization {
    /// CUDA's legacy default stream, by its own handle.
    pub const LEGACY_DEFAULT: Self = Self::Stream(1);

    /// What the argument `stream` of `__dlpack__` says, of an array on a device of this kind.
    ///
    /// | | CUDA, managed | ROCm | pinned by either | other devices | processor |
    /// |---|---|---|---|---|---|
    /// | none | legacy default stream | default stream | host | host | host |
    /// | -1 | nobody | nobody | nobody | nobody | refused |
    /// | 0 | refused: it is ambiguous | default stream | as the device's | refused | refused |
    /// | 1, 2 | legacy, per-thread default stream | refused | as the device's | the driver's handle | refused |
    /// | more | the driver's handle | the driver's handle | the driver's handle | the driver's handle | refused |
    /// | less than -1 | refused | refused | refused | refused | refused |
    ///
    /// Managed memory without a stream is the host's matter: consumers that take it for the
    /// processor's name none.
    ///
    /// # Errors
    ///
    /// `is_unsupported`, with the number and what may be said instead.
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
            return Err(refused(kind, number, "memory of the processor has no streams: it has to be None"));
        }
        match number {
            -1 => Ok(Self::Nobody),
            0 if is_rocm => Ok(Self::Stream(0)),
            0 => Err(refused(
                kind,
                number,
                "0 is ambiguous: 1 is the legacy default stream, 2 that of the thread, and None stands for what is usual",
            )),
            1 | 2 if is_rocm => Err(refused(kind, number, "ROCm has no such stream: 0 is the default one")),
            _ => match usize::try_from(number) {
                Ok(handle) => Ok(Self::Stream(handle)),
                Err(_) => {
                    Err(refused(kind, number, "handles are positive, and -1 asks for no synchronization"))
                }
            },
        }
    }

    /// The number by which a producer of such memory is asked, so that [`Synchronization::note`]
    /// knows what comes before: `None` where the host is to wait, as for kinds whose producers know
    /// no streams.
    #[doc(hidden)]
    pub fn to_ask(kind: DeviceKind) -> Option<i64> {
        // Not left to the producer: there are those that take None for "do not synchronize".
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

    /// Lets whoever is named here come after the work that is noted on the array's memory. `access`
    /// is the lease under which the consumer has it: readers need not wait for readers. One load
    /// where no work is under way.
    ///
    /// # Errors
    ///
    /// What the work says that failed, and was to write the memory; what the device says.
    ///
    /// # Safety
    ///
    /// A handle is one of a stream of the driver of the array's place, alive until this returns.
    pub unsafe fn order(self, array: &DArray, access: LeaseKind) -> Result<()> {
        let handle = array.raw().handle();
        let raw = match self {
            Self::Nobody => return Ok(()),
            Self::Host => return handle.await_work(access),
            Self::Stream(raw) => raw,
        };
        if handle.is_idle() {
            // Memory imported without a device attached cannot carry notes: its producer ordered it
            // before one stream only, the one that it was asked for (`to_ask`).
            let is_known = handle.device().is_some() || self == Self::usual(array.place().kind());
            return if is_known { Ok(()) } else { device::get(array.place()).map(drop) };
        }
        // SAFETY: the caller's word.
        match unsafe { stream(array.place(), raw) }? {
            Some(stream) => array.buffer()?.0.await_in(&*stream, access),
            None => handle.await_work(access),
        }
    }

    /// Notes, on memory that came in, that its producer has put its work before what comes in this
    /// stream from now on: whoever touches the memory next waits for that.
    /// [`Synchronization::Host`] and [`Synchronization::Nobody`] leave nothing to be noted.
    ///
    /// # Errors
    ///
    /// What opening the device says, and what the device does; `is_unsupported` where it knows
    /// nothing of streams of others.
    ///
    /// # Safety
    ///
    /// As for [`Synchronization::order`].
    pub unsafe fn note(self, array: &DArray) -> Result<()> {
        let Self::Stream(raw) = self else { return Ok(()) };
        if array.nbytes() == 0 {
            return Ok(());
        }
        let place = array.place();
        // SAFETY: the caller's word.
        let stream = unsafe { stream(place, raw) }?.ok_or_else(|| {
            Error::unsupported(format!(
                "{place} does not know streams that others made ({raw:#x}): synchronize there"
            ))
        })?;
        let event = stream.record()?;
        match event.poll() {
            Some(outcome) => outcome,
            None => array.buffer()?.0.note_event(event, Effect::Writes),
        }
    }
}

/// A stream of the driver's, as one of ours; `None` where the device has none.
///
/// # Safety
///
/// It is one of the driver of the place, alive as long as what is returned.
unsafe fn stream(place: Place, raw: usize) -> Result<Option<Arc<dyn Stream>>> {
    let device = device::get(place)?;
    // SAFETY: the caller's word.
    unsafe { device.wrap_stream(ptr::with_exposed_provenance_mut(raw)) }
}

#[cold]
fn refused(kind: DeviceKind, number: i64, why: &str) -> Error {
    Error::unsupported(format!("the stream {number} on {kind}: {why}"))
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

    /// What the protocol's text says, written down apart from the code: a letter for each of the
    /// numbers above.
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
