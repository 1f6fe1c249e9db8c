//! Why an array is not lent as it was requested.

use std::fmt;

use crate::element::DType;
use crate::error::Error;
use crate::layout::Order;
use crate::memory::Place;

/// Why a producer refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Another lease, another owner, or a read-only handle: the lease that was asked for cannot be
    /// had.
    Lease(Error),
    /// The elements do not lie in the order asked for.
    Order(Order),
    /// The elements are of another type than was asked for.
    DType(DType),
    /// The memory is on another device than was asked for.
    Place(Place),
    /// The protocol cannot describe how the elements lie or in which memory, or they overlap where
    /// exclusive access was requested. A copy has neither problem.
    Layout(String),
    /// This producer never gives what was asked for.
    Unsupported(String),
    /// It was tried, and failed.
    Failed(Error),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Lease(error) => write!(f, "{error}"),
            Reason::Order(order) => write!(f, "the elements do not lie in {order} order"),
            Reason::DType(dtype) => write!(f, "the elements are not {}", dtype.brief()),
            Reason::Place(place) => write!(f, "the memory is not on {place}"),
            Reason::Layout(what) | Reason::Unsupported(what) => f.write_str(what),
            Reason::Failed(error) => write!(f, "it failed: {error}"),
        }
    }
}
