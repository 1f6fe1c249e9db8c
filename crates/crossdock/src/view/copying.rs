//! The copy that a request permits: its route and its memory.
//!
//! Reasons: `DESIGN.md`, "A request names the function that copies".

use std::sync::Arc;

use crate::array::{Casting, CopyPolicy, DArray, PlacedArray};
use crate::device::{self, MemoryManager, Moved};
use crate::error::Error;
use crate::layout::Order;
use crate::memory::{LeaseKind, Place};
use crate::view::reason::Reason;
use crate::view::request::Request;
use crate::view::terms::{Copies, Reach, Terms};

/// The route by which the elements fulfil a request.
pub(super) enum ExportRoute {
    /// Copied beside the array: by the CPU into its own memory, or by their device.
    Beside,
    /// Mapped or copied to memory of another place, and converted before that if necessary.
    To(Arc<dyn MemoryManager>),
}

impl ExportRoute {
    /// # Errors
    ///
    /// `Place` if the elements cannot be transferred to the requested place; `Failed` if that place
    /// does not exist, or the array's own place has no engine for strided work.
    pub(super) fn find(array: &DArray, request: &Request, terms: &Terms) -> Result<Self, Reason> {
        let (from, reach) = (array.place(), terms.reach);
        let usual = if reach == Reach::Host { Place::CPU } else { from };
        let to = request.wanted_place().unwrap_or(usual);
        if reach == Reach::Host && !to.is_host() {
            return Err(Reason::Place(to));
        }
        if from.is_host() && (to == Place::CPU || to == usual) {
            return Ok(Self::Beside);
        }
        if reach != Reach::Host && to == from {
            return array.check_worked_on().map(|()| Self::Beside).map_err(Reason::Failed);
        }
        // Unless the request names a place, elements are not transferred between places.
        if request.wanted_place().is_none() {
            return Err(Reason::Place(to));
        }
        let fits = array.dtype() == request.wanted_dtype().unwrap_or(array.dtype())
            && request.wanted_order().is_none_or(|order| array.layout().is_contiguous(order));
        let memory = match device::memory(to) {
            Err(error) if reach != Reach::Host => return Err(Reason::Failed(error)),
            memory => memory.ok().filter(|memory| is_reached(array, &**memory)),
        };
        match memory {
            Some(memory) if fits || array.check_worked_on().is_ok() => Ok(Self::To(memory)),
            None if reach != Reach::Host => Err(Reason::Failed(no_way(from, to))),
            _ => Err(Reason::Place(to)),
        }
    }
}

/// Whether a copy from the array's place to the other memory is possible.
fn is_reached(array: &DArray, memory: &dyn MemoryManager) -> bool {
    let (from, to) = (array.place(), memory.place());
    let own = if array.is_indirect() {
        device::memory(Place::CPU).ok()
    } else {
        array.memory_manager().ok().flatten()
    };
    let Some(own) = own else { return false };
    let directly = memory.can_copy(from, to) || own.can_copy(from, to);
    directly || own.can_copy(from, Place::CPU) && memory.can_copy(Place::CPU, to)
}

#[cold]
fn no_way(from: Place, to: Place) -> Error {
    Error::unsupported(format!(
        "no device copies from {from} to {to}, neither directly nor through host memory"
    ))
}

/// A copy, or a mapping, that fulfils a request except for the lease, and the number of bytes
/// copied.
///
/// # Errors
///
/// As [`ExportRoute::find`], before anything is copied; `Failed`.
pub(super) fn copy(array: &DArray, request: &Request, terms: &Terms) -> Result<(DArray, usize), Reason> {
    let route = ExportRoute::find(array, request, terms)?;
    let wanted = request.wanted_order();
    let order = wanted.unwrap_or(Order::RowMajor);
    let dtype = request.wanted_dtype().filter(|&dtype| dtype != array.dtype());
    let is_beside = matches!(route, ExportRoute::Beside);
    let converted = match (terms.copies, dtype) {
        (Copies::Shared, Some(dtype)) => Some(array.cast_shared(dtype, order, Casting::Checked)),
        (Copies::Shared, None) => Some(array.to_shared(order)),
        (Copies::Ordinary, Some(dtype)) => Some(array.cast(dtype, order, Casting::Checked)),
        (Copies::Ordinary, None) => {
            let lies = wanted.is_none_or(|order| array.layout().is_contiguous(order));
            (is_beside || !lies).then(|| array.to_order(order))
        }
    };
    let converted = converted.transpose().map_err(Reason::Failed)?;
    let copied = converted.as_ref().map_or(0, DArray::nbytes);
    let ExportRoute::To(memory) = route else {
        return Ok((converted.unwrap_or_else(|| array.clone()), copied));
    };
    let source = converted.as_ref().unwrap_or(array);
    // Mapped memory has other users. Protocols that export memory of any device tried a mapping
    // before.
    let mappable = terms.reach == Reach::Host && matches!(request.lease(), LeaseKind::Share | LeaseKind::Pin);
    let placed = if mappable && request.copy_policy() == CopyPolicy::IfNeeded {
        source.map_or_copy_to(&memory)
    } else {
        source.copy_to(&memory).map(|array| PlacedArray::copied(array, None))
    }
    .map_err(Reason::Failed)?;
    let moved = if let Moved::Copied { nbytes } = placed.moved { nbytes } else { 0 };
    Ok((placed.array, copied + moved))
}
