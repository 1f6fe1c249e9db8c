//! Arrays in memory of a CUDA device that other processes map, and the descriptors of that memory.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crossdock::array::Casting;
use crossdock::bindings::shm::Description;
use crossdock::buffer::Buffer;
use crossdock::device::MemoryManager;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{DeviceKind, Place};
use crossdock::{DArray, Error};
use crossdock_cuda as cuda;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

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
    let has_descriptor = || source.buffer().is_ok_and(|(buffer, _)| cuda::has_descriptor(&buffer));
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

/// Separates the two descriptions of an array's text: of the memory, and of the array in it.
const SEPARATOR: &str = "; ";

/// A descriptor of the memory, which belongs to the caller, and a text that describes both; `None`
/// for memory that has none.
pub(crate) fn lend(array: &DArray) -> PyResult<Option<(OwnedFd, String)>> {
    let Ok((buffer, offset)) = array.buffer() else { return Ok(None) };
    if !cuda::has_descriptor(&buffer) {
        return Ok(None);
    }
    let text = Description::new(array.dtype().clone(), array.shape(), array.strides(), offset as u64, false)
        .and_then(|description| description.to_text())
        .raise()?;
    let export = cuda::export_descriptor(&buffer).map_err(|error| errors::refusal(&error))?;
    let fd = export.fd().try_clone_to_owned()?;
    Ok(Some((fd, format!("{}{SEPARATOR}{text}", export.range()))))
}

/// The array that another process described by [`lend`]; `None` for another text.
pub(crate) fn map(fd: &OwnedFd, text: &str) -> Option<crossdock::Result<DArray>> {
    let (range, description) = text.split_once(SEPARATOR)?;
    if !range.starts_with("cuda-descriptor ") {
        return None;
    }
    let array = || {
        let (range, description): (cuda::DescriptorRange, Description) =
            (range.parse()?, description.parse()?);
        let buffer = cuda::import_descriptor(fd.as_fd(), &range)?;
        let within = usize::try_from(description.offset())
            .map_err(|_| Error::bounds(format!("byte {} exceeds all memory", description.offset())))?;
        DArray::from_buffer(buffer, description.dtype().clone(), description.layout().clone(), within)
    };
    Some(array())
}
