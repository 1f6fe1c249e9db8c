//! Devices: their list, their names, and copies of arrays to them.

use std::sync::Arc;

use crossdock::array::CopyPolicy;
use crossdock::device::{self, MemoryManager, Moved};
use crossdock::memory::{DeviceKind, Place};
use crossdock::view::Synchronization;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Arguments;
use crate::detach::detached;
use crate::device_object::device_object;
use crate::errors::{self, Raise};
use crate::import::ImportedArray;
use crate::numbers::place_of;
use crate::object::{Own, wrap};
use crate::shared_device;

/// The default memory manager of a place.
pub(crate) fn memory_at(place: Place) -> PyResult<Arc<dyn MemoryManager>> {
    device::memory(place).map_err(|error| errors::refusal(&error))
}

/// The memory manager for a new array: inside `with crossdock.shareable()`, on a CUDA device, that
/// of memory that other processes map.
pub(crate) fn memory_for(py: Python<'_>, place: Place) -> PyResult<Arc<dyn MemoryManager>> {
    shared_device::memory_here(py, place)?.map_or_else(|| memory_at(place), Ok)
}

/// `to_device(device, /, *, stream=None)`.
pub(crate) fn to_device<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let device = arguments.need("device")?;
    let stream: Option<i64> = arguments.named("stream").map(|stream| stream.extract()).transpose()?;
    arguments.finish()?;
    let place = place_of(&device)?;
    let array = &this.array;
    if place == array.place() {
        return wrap(py, array.clone());
    }
    let memory = memory_for(py, place)?;
    let moved = match stream {
        None => detached(py, array, |array| array.copy_to(&memory)),
        Some(number) => {
            let worker = if place.is_host() { array.place() } else { place };
            stream_of(worker, number).and_then(|stream| Ok(array.copy_to_in(&memory, &*stream)?.array))
        }
    };
    wrap(py, moved.raise()?)
}

/// The caller's stream with this handle on a device.
fn stream_of(place: Place, number: i64) -> crossdock::Result<Arc<dyn device::Stream>> {
    let unknown = || {
        crossdock::Error::unsupported(format!(
            "{place} puts no copies into a stream with the number {number}"
        ))
    };
    let Synchronization::Stream(raw) = Synchronization::asked(place.kind(), Some(number))? else {
        return Err(unknown());
    };
    // SAFETY: `to_device` documents `stream` as the handle of a live stream of this device, which
    // the Python caller owns; it cannot be checked here.
    let stream = unsafe { device::get(place)?.wrap_stream(std::ptr::with_exposed_provenance_mut(raw)) }?;
    stream.ok_or_else(unknown)
}

/// Places an imported array on the requested device: mapped if `policy` forbids copies, copied if
/// it allows them.
pub(crate) fn brought(taken: ImportedArray, place: Place, policy: CopyPolicy) -> PyResult<ImportedArray> {
    let ImportedArray { array, copied_because } = taken;
    let from = array.place();
    if from == place {
        return Ok(ImportedArray { array, copied_because });
    }
    let memory = Python::attach(|py| memory_for(py, place))?;
    let away = || format!("the elements are on {from}, and come to {place} by a copy alone");
    Python::attach(|py| match policy {
        CopyPolicy::Never => {
            match array.map_to(&memory_at(place)?).map_err(|error| errors::refusal(&error))? {
                Some(array) => Ok(ImportedArray { array, copied_because }),
                None => Err(PyBufferError::new_err(format!("{}, which copy=False forbids", away()))),
            }
        }
        CopyPolicy::IfNeeded => {
            let placed = detached(py, &array, |array| array.map_or_copy_to(&memory)).raise()?;
            let because = matches!(placed.moved, Moved::Copied { .. }).then(away).or(copied_because);
            Ok(ImportedArray { array: placed.array, copied_because: because })
        }
        CopyPolicy::Always => {
            let array = detached(py, &array, |array| array.copy_to(&memory)).raise()?;
            Ok(ImportedArray { array, copied_because: None })
        }
    })
}

/// The devices of this machine, by name.
///
/// ``to_device``, and the argument ``device`` of :func:`asarray`, :func:`zeros` and their siblings,
/// accept these names. A device without a driver is not listed; a request for it fails and says
/// what is missing.
///
/// Returns
/// -------
/// dict of Device to str
///     The common name of each: a model, with its number.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.devices()['cpu']
/// 'the processor'
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    found.set_item(device_object(py, Place::CPU)?, device::get(Place::CPU).raise()?.name())?;
    for device in crossdock_cuda::devices().unwrap_or_default() {
        for kind in [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
            let place = Place::new(kind, device.place.ordinal());
            found.set_item(device_object(py, place)?, &device.name)?;
        }
    }
    for device in crossdock_opencl::devices().unwrap_or_default() {
        found.set_item(device_object(py, device.place)?, &device.name)?;
    }
    Ok(found)
}
