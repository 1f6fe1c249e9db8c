//! CUDA's array interface, version 3: the dictionary of NumPy's, of memory that CUDA addresses, and a stream.
//!
//! The key `stream` says in which stream the producer has put its work, so that a consumer comes
//! after it. As with NumPy's, nothing is given back: the consumer keeps the object, and the object
//! keeps the [`Loan`](super::Loan) of [`lend`](super::lend).

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

/// Whether the interface is for memory there: of a device of CUDA's, or managed by it.
pub fn is_for(place: Place) -> bool {
    matches!(place.kind(), DeviceKind::CUDA | DeviceKind::CUDA_MANAGED)
}

/// What a producer's key `stream` says: none, that there is nothing to wait for.
///
/// # Errors
///
/// `is_malformed` for 0, which the interface forbids since it is ambiguous, and for negative numbers.
pub fn synchronization(stream: Option<i64>) -> Result<Synchronization> {
    match stream.map(usize::try_from) {
        None => Ok(Synchronization::Nobody),
        Some(Ok(handle)) if handle > 0 => Ok(Synchronization::Stream(handle)),
        Some(_) => Err(Error::new(
            Kind::Malformed,
            format!(
                "the stream of a CUDA array interface is {}: 1 is the legacy default stream, 2 that of the thread, more is a handle",
                stream.unwrap_or_default()
            ),
        )),
    }
}

/// Takes over what was described, on a device of CUDA's. O(rank), and copies nothing. Whoever touches the memory next comes after what its
/// producer has put into the stream.
///
/// `release` is called exactly once, as by [`import`](super::import()).
///
/// # Errors
///
/// As [`import`](super::import()), and as [`Synchronization::note`]; `is_place` for a place that [`is_for`] denies.
///
/// # Safety
///
/// Until `release` is called, all elements that shape and strides reach from `data` are memory at this place, valid for reads and
/// unless `readonly` is said for writes; managed memory is initialised. Others may write them in ways that this program's memory model does
/// not see. The stream is one of CUDA's, alive until this returns.
pub unsafe fn import(
    described: &Described<'_>,
    place: Place,
    synchronization: Synchronization,
    readonly: bool,
    release: impl FnOnce() + Send + 'static,
) -> Result<DArray> {
    // SAFETY: the elements are memory at this place until `release` is called (this function's
    // contract).
    let array =
        unsafe { located::import(&OnDevice { described, place }, readonly, Birth::Aliased, release) }?;
    // SAFETY: the stream is one of CUDA's, alive until this returns (this function's contract).
    unsafe { synchronization.note(&array) }.map_err(importing::<Described<'_>>)?;
    Ok(array)
}

/// What is described, at a place that the interface does not say.
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
            let text = format!("{} is no place of CUDA's array interface", self.place);
            return Err(Error::new(Kind::Place, text));
        }
        self.described.read(layout)
    }
}

/// What the key `stream` of an array of ours is to say: none, where no work on the memory is under way; else the legacy default stream, which
/// is made to wait for it.
///
/// # Errors
///
/// What the work says that failed, and was to write the memory; what the device says.
///
/// ```
/// use crossdock::bindings::array_interface::cuda;
/// use crossdock::{Array, DArray};
///
/// let array = DArray::from(Array::from_vec(vec![1u8, 2, 3], [3])?);
/// assert_eq!(cuda::stream(&array)?, None); // nothing is under way
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn stream(array: &DArray) -> Result<Option<i64>> {
    if array.raw().handle().is_idle() {
        return Ok(None);
    }
    // SAFETY: a stream that is always there.
    unsafe { Synchronization::LEGACY_DEFAULT.order(array, lease_kind(array)) }?;
    let is_over = array.raw().handle().is_idle();
    Ok(if is_over { None } else { Synchronization::to_ask(DeviceKind::CUDA) })
}

/// Where the memory that a producer describes is, which the interface does not say: as the driver knows it. Without an address, which
/// arrays without elements need not have, on the first device.
///
/// # Errors
///
/// `is_unsupported` where no driver of CUDA is registered; whatever the driver says.
pub fn place_of(described: &Described<'_>) -> Result<Place> {
    if described.data.is_null() {
        return Ok(Place::new(DeviceKind::CUDA, 0));
    }
    Ok(device::place_of(DeviceKind::CUDA, described.data)?.unwrap_or(Place::CPU))
}
