//! The reason why an array is not exported as requested.

use std::fmt;

use crate::element::DType;
use crate::error::Error;
use crate::layout::Order;
use crate::memory::Place;

/// The reason of a producer's refusal.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Another lease, another owner, or a read-only handle prevents the requested lease.
    Lease(Error),
    /// The elements are not contiguous in the requested order.
    Order(Order),
    /// The elements do not have the requested type.
    DType(DType),
    /// The memory is not on the requested device.
    Place(Place),
    /// The protocol cannot describe the layout or the memory of the elements, or they overlap and
    /// exclusive access was requested. A copy has neither problem.
    Layout(String),
    /// This producer never supports the request.
    Unsupported(String),
    /// The attempt failed.
    Failed(Error),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Lease(error) => write!(f, "{error}"),
            Reason::Order(order) => write!(f, "the elements are not contiguous in {order} order"),
            Reason::DType(dtype) => write!(f, "the elements are not {}", dtype.brief()),
            Reason::Place(place) => write!(f, "the memory is not on {place}"),
            Reason::Layout(what) | Reason::Unsupported(what) => f.write_str(what),
            Reason::Failed(error) => write!(f, "it failed: {error}"),
        }
    }
}
