//! Why a hand-over did not happen, as data.

use std::fmt;

use crate::element::DType;
use crate::error::{Error, Kind};
use crate::layout::Order;
use crate::memory::Place;
use crate::view::Request;

/// What a producer had to offer when it refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// The type of the elements.
    pub dtype: DType,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// The distance between neighbours along each axis, in bytes.
    pub strides: Vec<isize>,
    /// The order in which the elements lie without gaps, if they do.
    pub order: Option<Order>,
    /// The device.
    pub place: Place,
    /// Whether the producer refuses to be written.
    pub readonly: bool,
}

/// Why a producer refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Another lease, another owner, or a read-only handle: the lease that was asked for cannot be had. A copy can.
    Lease(Error),
    /// The elements do not lie in the order asked for.
    Order(Order),
    /// The elements are of another type than was asked for.
    DType(DType),
    /// The memory is on another device than was asked for.
    Place(Place),
    /// The elements lie so that the protocol has no words for it. For a copy without gaps it has.
    Layout(String),
    /// This producer never gives what was asked for.
    Unsupported(String),
    /// It was tried, and failed.
    Failed(Error),
}

/// A producer would not lend what was asked for: what was asked, what was on offer, and why not.
///
/// [`Reason::Unsupported`] and [`Reason::Failed`] are different answers: the first is for ever, the second may go better
/// another time.
pub struct Refusal(Box<Inner>);

struct Inner {
    asked: Request,
    offer: Option<Offer>,
    reason: Reason,
}

impl Refusal {
    /// A refusal by a producer that has nothing to offer.
    #[cold]
    pub fn new(asked: &Request, reason: Reason) -> Self {
        Self(Box::new(Inner { asked: asked.clone(), offer: None, reason }))
    }

    /// The same, with what was on offer.
    #[must_use]
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.0.offer = Some(offer);
        self
    }

    /// What was asked.
    pub fn asked(&self) -> &Request {
        &self.0.asked
    }

    /// What was on offer.
    pub fn offer(&self) -> Option<&Offer> {
        self.0.offer.as_ref()
    }

    /// Why it was refused.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// How many bytes a copy that satisfies the request would take; `None` where a copy would not help.
    pub fn would_copy(&self) -> Option<usize> {
        let helps = matches!(
            self.0.reason,
            Reason::Lease(_) | Reason::Order(_) | Reason::DType(_) | Reason::Layout(_)
        );
        let offer = self.offer().filter(|offer| helps && offer.place.is_host())?;
        let dtype = self.asked().wanted_dtype().unwrap_or(&offer.dtype);
        Some(offer.shape.iter().product::<usize>().saturating_mul(dtype.itemsize()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Lease(error) => write!(f, "{error}"),
            Reason::Order(order) => write!(f, "the elements do not lie in {} order", order_name(*order)),
            Reason::DType(dtype) => write!(f, "the elements are not {dtype}"),
            Reason::Place(place) => write!(f, "the memory is not on {place}"),
            Reason::Layout(what) | Reason::Unsupported(what) => f.write_str(what),
            Reason::Failed(error) => write!(f, "it failed: {error}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason())?;
        if let Some(offer) = self.offer() {
            write!(
                f,
                "; on offer is {} of shape {:?} with strides {:?} on {}{}",
                offer.dtype,
                offer.shape,
                offer.strides,
                offer.place,
                if offer.readonly { ", read-only" } else { "" }
            )?;
        }
        if let Some(nbytes) = self.would_copy() {
            write!(f, "; a copy of {nbytes} bytes would do")?;
        }
        Ok(())
    }
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::RowMajor => "row-major",
        Order::ColumnMajor => "column-major",
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refusal({self})")
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.reason() {
            Reason::Lease(error) | Reason::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::caused(Kind::Refused, refusal.to_string(), refusal)
    }
}

impl From<Error> for Refusal {
    /// For producers that use `?`: something failed on the way. Such a refusal does not know what was asked; [`view`](crate::view::view)
    /// fills it in.
    fn from(error: Error) -> Self {
        Self::new(&Request::pin(), Reason::Failed(error))
    }
}
