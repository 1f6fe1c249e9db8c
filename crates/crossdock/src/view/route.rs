//! Who makes the copy that a request permits, and where.

use std::sync::Arc;

use crate::array::DArray;
use crate::device::{self, MemoryManager};
use crate::memory::Place;
use crate::view::Request;

/// How an array comes to be what a request wants.
pub(super) enum Route {
    /// Copied by the processor, into its own memory.
    Beside,
    /// Mapped or copied to memory of another place, and converted before that where it has to be.
    To(Arc<dyn MemoryManager>),
}

impl Route {
    /// # Errors
    ///
    /// The place that is wanted, where nobody brings the elements there.
    pub(super) fn find(array: &DArray, request: &Request) -> Result<Self, Place> {
        let (from, to) = (array.place(), request.wanted_place().unwrap_or(Place::CPU));
        // What a view gives is access by the processor.
        if !to.is_host() {
            return Err(to);
        }
        if to == Place::CPU && from.is_host() {
            return Ok(Self::Beside);
        }
        // Unless a place was named, nobody asked for bytes to be brought from another one.
        if request.wanted_place().is_none() {
            return Err(to);
        }
        let fits = array.dtype() == request.wanted_dtype().unwrap_or(array.dtype())
            && request.wanted_order().is_none_or(|order| array.layout().is_contiguous(order));
        match reach(array, to) {
            Some(memory) if fits || array.is_worked_on() => Ok(Self::To(memory)),
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
