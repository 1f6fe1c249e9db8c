//! Who makes the copy that a request permits, and where.

use std::sync::Arc;

use crate::array::DArray;
use crate::memory::Place;
use crate::memory::device::{self, MemoryManager};
use crate::view::Request;

/// How an array comes to be what a request wants.
pub(super) enum Route {
    /// Copied where it is: by the processor, or by its device.
    Beside,
    /// Mapped or copied to memory of another place, and converted before that where it has to be.
    To(Arc<dyn MemoryManager>),
}

impl Route {
    /// # Errors
    ///
    /// The place that is wanted, where nobody brings the elements there.
    pub(super) fn find(array: &DArray, request: &Request) -> Result<Self, Place> {
        // Unless a place was named, it is not another one that is wanted, but what the processor addresses.
        let (from, to) = (array.place(), request.wanted_place().unwrap_or(Place::CPU));
        let beside =
            if request.wanted_place().is_none() || to == Place::CPU { from.is_host() } else { from == to };
        let works = || array.is_worked_on();
        if beside {
            return if works() { Ok(Self::Beside) } else { Err(to) };
        }
        if request.wanted_place().is_none() {
            return Err(to);
        }
        let fits = array.dtype() == request.wanted_dtype().unwrap_or(array.dtype())
            && request.wanted_order().is_none_or(|order| array.layout().is_contiguous(order));
        match reach(array, to) {
            Some(memory) if fits || works() => Ok(Self::To(memory)),
            _ => Err(to),
        }
    }

    pub(super) fn is_beside(&self) -> bool {
        matches!(self, Self::Beside)
    }
}

/// The memory at a place, if somebody copies there from where the array is.
fn reach(array: &DArray, to: Place) -> Option<Arc<dyn MemoryManager>> {
    let memory = device::memory(to).ok()?;
    let from = array.place();
    let own =
        if array.is_indirect() { device::memory(Place::CPU).ok() } else { array.memory_manager().ok()? }?;
    let directly = memory.can_copy(from, to) || own.can_copy(from, to);
    let over_host = own.can_copy(from, Place::CPU) && memory.can_copy(Place::CPU, to);
    (directly || over_host).then_some(memory)
}
