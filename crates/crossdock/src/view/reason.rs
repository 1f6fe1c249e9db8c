//! The reason why an array is not exported as requested.

use std::fmt;

use crate::element::DType;
use crate::error::advice::InWords;
use crate::error::{Advice, Error, Explanation};
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
    Layout(Explanation),
    /// This producer never supports the request.
    Unsupported(Explanation),
    /// The attempt failed.
    Failed(Error),
}

impl Reason {
    /// The reason without advice.
    #[doc(hidden)]
    pub fn fact(&self) -> impl fmt::Display {
        ReasonFact(self)
    }

    /// What to do about it, if that is known.
    pub(super) fn advice(&self) -> Option<Advice> {
        match self {
            Reason::Lease(error) | Reason::Failed(error) => error.advice(),
            Reason::Layout(why) | Reason::Unsupported(why) => why.advice(),
            Reason::Place(Place::CPU) => Some(Advice::CopyToCpu),
            Reason::Place(_) => Some(Advice::CopyThere),
            Reason::Order(_) | Reason::DType(_) => None,
        }
    }
}

struct ReasonFact<'a>(&'a Reason);

impl fmt::Display for ReasonFact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reason::Lease(error) => write!(f, "{}", error.fact()),
            Reason::Order(order) => write!(f, "the elements are not contiguous in {order} order"),
            Reason::DType(dtype) => write!(f, "the elements are not {}", dtype.brief()),
            Reason::Place(place) => write!(f, "the memory is not on {place}"),
            Reason::Layout(why) | Reason::Unsupported(why) => f.write_str(why.fact()),
            Reason::Failed(error) => write!(f, "it failed: {}", error.fact()),
        }
    }
}

impl fmt::Display for Reason {
    /// With the advice in Rust's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        InWords { fact: self.fact(), advice: self.advice(), words: Advice::in_rust }.fmt(f)
    }
}
