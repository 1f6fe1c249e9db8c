//! Arrays in memory of a CUDA device that other processes map.

use std::sync::Arc;

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::buffer::Buffer;
use crossdock::device::MemoryManager;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{DeviceKind, Place};
use crossdock_cuda as cuda;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::descriptors::has_descriptor;
use crate::detach::detached;
use crate::errors::{self, Raise};
use crate::shape::extents;
use crate::shareable::pool_here;
use crate::shared::{is_shape, source};

/// The arguments of `shared` that say how an array shall be.
pub(crate) struct SharedOptions {
    pub(crate) dtype: Option<DType>,
    pub(crate) order: Order,
    pub(crate) copy: Option<bool>,
}

/// The memory of new arrays on a CUDA device inside `with crossdock.shareable()`; `None` outside,
/// and for other places.
pub(crate) fn memory_here(py: Python<'_>, place: Place) -> PyResult<Option<Arc<dyn MemoryManager>>> {
    if place.kind() != DeviceKind::CUDA || pool_here(py)?.is_none() {
        return Ok(None);
    }
    memory_at(place).map(Some)
}

fn memory_at(place: Place) -> PyResult<Arc<dyn MemoryManager>> {
    cuda::shareable_memory(place.ordinal()).map_err(|error| errors::refusal(&error))
}

/// New memory with zeros, which the device writes.
pub(crate) fn zeros(
    memory: &Arc<dyn MemoryManager>,
    dtype: DType,
    shape: &[usize],
    order: Order,
) -> crossdock::Result<DArray> {
    let layout = Layout::contiguous(shape, dtype.itemsize(), order)?;
    let buffer = Buffer::on(memory, layout.nbytes())?;
    let bytes = Layout::contiguous(&[layout.nbytes()], 1, Order::RowMajor)?;
    DArray::from_buffer(buffer.clone(), DType::U8, bytes, 0)?.fill(&0.into())?;
    DArray::from_buffer(buffer, dtype, layout, 0)
}

/// An array of zeros, or a copy of an object's elements, on a device.
pub(crate) fn make(
    py: Python<'_>,
    obj: &Bound<'_, PyAny>,
    place: Place,
    wanted: SharedOptions,
) -> PyResult<DArray> {
    if place.kind() != DeviceKind::CUDA {
        return Err(PyBufferError::new_err(format!(
            "other processes cannot map memory on {place}: they map memory of the host, and of CUDA devices"
        )));
    }
    let SharedOptions { dtype, order, copy } = wanted;
    let memory = memory_at(place)?;
    if is_shape(obj) {
        let (dtype, shape) = (dtype.unwrap_or(DType::F64), extents(obj)?);
        return zeros(&memory, dtype, &shape, order).raise();
    }
    let source = source(obj, dtype.as_ref())?;
    let dtype = dtype.filter(|dtype| dtype != source.dtype());
    let has_descriptor = || source.buffer().is_ok_and(|(buffer, _)| has_descriptor(&buffer));
    let is_there = dtype.is_none() && source.place() == place && has_descriptor();
    match copy {
        None | Some(false) if is_there => Ok(source),
        Some(false) => Err(PyBufferError::new_err(format!(
            "the array lies in other memory, or has another dtype: allow a copy to shared memory of {place}"
        ))),
        _ => detached(py, &source, |source| {
            let source = match &dtype {
                Some(dtype) => source.cast(dtype, order, Casting::Checked)?,
                None if source.order() == Some(order) => source.clone(),
                None => source.to_order(order)?,
            };
            source.copy_to(&memory)
        })
        .raise(),
    }
}
