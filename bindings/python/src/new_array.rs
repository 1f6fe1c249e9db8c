//! The memory of new arrays: the host's, a device's, or memory that other processes map.

use std::sync::Arc;

use crossdock::DArray;
use crossdock::array::ArrayOptions;
use crossdock::device::MemoryManager;
use crossdock::element::{DType, Value};
use crossdock::layout::Order;
use crossdock::memory::Place;
use pyo3::prelude::*;

use crate::{device, numbers, shareable, shared_device};

/// The order and memory of a new array.
pub(crate) struct NewArray {
    order: Order,
    options: ArrayOptions<'static>,
    /// Memory of a device that other processes map, inside `with crossdock.shareable()`.
    shareable: Option<Arc<dyn MemoryManager>>,
}

/// The order and device of a new array. The device must be available.
pub(crate) fn new_array(
    py: Python<'_>,
    order: Order,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<NewArray> {
    new_array_at(py, order, device.map_or(Ok(Place::CPU), numbers::place_of)?)
}

/// Like [`new_array`], for a place.
pub(crate) fn new_array_at(py: Python<'_>, order: Order, place: Place) -> PyResult<NewArray> {
    device::memory_at(place)?;
    let options = match place == Place::CPU {
        true => options_on_host(py, place)?,
        false => ArrayOptions::new().place(place),
    };
    Ok(NewArray { order, options: options.order(order), shareable: shared_device::memory_here(py, place)? })
}

impl NewArray {
    pub(crate) fn zeros(self, dtype: DType, shape: &[usize]) -> crossdock::Result<DArray> {
        match self.shareable {
            Some(memory) => shared_device::zeros(&memory, dtype, shape, self.order),
            None => DArray::zeros(dtype, shape, self.options),
        }
    }

    pub(crate) fn full(self, dtype: DType, shape: &[usize], value: Value) -> crossdock::Result<DArray> {
        let Some(memory) = self.shareable else { return DArray::full(dtype, shape, value, self.options) };
        let new = shared_device::zeros(&memory, dtype.clone(), shape, self.order)?;
        match new.fill(&value) {
            // A dtype that no kernel writes.
            Err(error) if error.is_unsupported() => {
                DArray::full(dtype, shape, value, self.order)?.copy_to(&memory)
            }
            filled => filled.map(|()| new),
        }
    }
}

/// For a row-major array that is made on the host, and moved if `place` is another one.
pub(crate) fn options_on_host(py: Python<'_>, place: Place) -> PyResult<ArrayOptions<'static>> {
    let pool = if place == Place::CPU { shareable::pool_here(py)? } else { None };
    Ok(pool.map_or_else(ArrayOptions::new, |pool| ArrayOptions::new().pool(pool)))
}
