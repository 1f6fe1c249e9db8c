//! CUDA's array interface, version 3: NumPy's dictionary for memory that CUDA addresses, with a
//! stream.
//!
//! The key `stream` names the stream that holds the producer's work, so that the consumer can order
//! its own work after it. As in NumPy's interface, the consumer releases nothing: it keeps the
//! object, and the object keeps the [`ExportLease`](super::ExportLease) of [`lend`](super::lend).

use crate::array::DArray;
use crate::device;
use crate::element::DType;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::array_interface::export::lease_kind;
use crate::exchange::protocol::array_interface::import::Described;
use crate::layout::Layout;
use crate::memory::{Birth, DeviceKind, Place};
use crate::view::Synchronization;
use crate::view::located::{self, Describe, importing};

/// Whether the interface covers memory there: on a CUDA device, or managed by CUDA.
pub fn is_for(place: Place) -> bool {
    matches!(place.kind(), DeviceKind::CUDA | DeviceKind::CUDA_MANAGED)
}

/// Reads a producer's key `stream`. None means that there is nothing to wait for.
///
/// # Errors
///
/// `is_malformed` for 0, which the interface forbids as ambiguous, and for negative numbers.
pub fn synchronization(stream: Option<i64>) -> Result<Synchronization> {
    match stream.map(usize::try_from) {
        None => Ok(Synchronization::Nobody),
        Some(Ok(handle)) if handle > 0 => Ok(Synchronization::Stream(handle)),
        Some(_) => Err(Error::new(
            Kind::Malformed,
            format!(
                "the stream of a CUDA array interface is {}; 1 is the legacy default stream, 2 the \
                per-thread one, and a greater number is a handle",
                stream.unwrap_or_default()
            ),
        )),
    }
}

/// Imports the described elements, on a CUDA device, without a copy. O(rank). Later accesses to the
/// memory are ordered after the producer's work in the stream.
///
/// `release` is called exactly once, as in [`import`](super::import()).
///
/// # Errors
///
/// As [`import`](super::import()) and [`Synchronization::note`]; `is_place` for a place that
/// [`is_for`] rejects.
///
/// # Safety
///
/// 1. Until `release` is called, all elements that shape and strides reach from `data` are memory
///    at `place`, valid for reads and, unless `readonly` is true, for writes. Managed memory is
///    initialised.
/// 2. Other code writes them only in ways that this program's memory model does not see.
/// 3. The stream is one of CUDA's, alive until this returns.
pub unsafe fn import(
    described: &Described<'_>,
    place: Place,
    synchronization: Synchronization,
    readonly: bool,
    release: impl FnOnce() + Send + 'static,
) -> Result<DArray> {
    // SAFETY: clause 1 of `# Safety`: until `release` is called, the elements are memory at
    // `place`. Clause 2 is what `Birth::Aliased` permits other code. `Described` has no suboffsets,
    // so no pointers are followed.
    let array =
        unsafe { located::import(&OnDevice { described, place }, readonly, Birth::Aliased, release) }?;
    // SAFETY: clause 3 of `# Safety`: the stream is one of CUDA's, alive until this returns; the
    // import above failed unless the array is on CUDA (`is_for`).
    unsafe { synchronization.note(&array) }.map_err(importing::<Described<'_>>)?;
    Ok(array)
}

/// A description, with the place that the interface leaves out.
struct OnDevice<'a> {
    described: &'a Described<'a>,
    place: Place,
}

impl Describe for OnDevice<'_> {
    const DOING: &'static str = Described::DOING;

    fn place(&self) -> Place {
        self.place
    }

    fn first(&self) -> *mut u8 {
        self.described.first()
    }

    fn read(&self, layout: &mut Layout) -> Result<DType> {
        if !is_for(self.place) {
            let text = format!("memory on {} cannot be exported by CUDA's array interface", self.place);
            return Err(Error::new(Kind::Place, text));
        }
        self.described.read(layout)
    }
}

/// The value of the key `stream` for an array: none if no work on the memory is in flight.
/// Otherwise the legacy default stream, which waits for that work.
///
/// # Errors
///
/// The error of in-flight work that was to write the memory and failed; the errors of the device.
///
/// ```
/// use crossdock::bindings::array_interface::cuda;
/// use crossdock::{Array, DArray};
///
/// let array = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3])?);
/// assert_eq!(cuda::stream(&array)?, None); // no work is in flight
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn stream(array: &DArray) -> Result<Option<i64>> {
    if array.raw().handle().is_idle() {
        return Ok(None);
    }
    // SAFETY: the handle is 1, CUDA's legacy default stream, which exists as long as CUDA's driver
    // does; the interface is for arrays of CUDA's.
    unsafe { Synchronization::LEGACY_DEFAULT.order(array, lease_kind(array)) }?;
    let is_over = array.raw().handle().is_idle();
    Ok(if is_over { None } else { Synchronization::to_ask(DeviceKind::CUDA) })
}

/// Where the described memory is, according to CUDA's driver: the interface does not tell. A null
/// address, which arrays without elements may have, means the first device.
///
/// # Errors
///
/// `is_unsupported` if no CUDA driver is registered; the errors of the driver.
pub fn place_of(described: &Described<'_>) -> Result<Place> {
    if described.data.is_null() {
        return Ok(Place::new(DeviceKind::CUDA, 0));
    }
    Ok(device::place_of(DeviceKind::CUDA, described.data)?.unwrap_or(Place::CPU))
}
