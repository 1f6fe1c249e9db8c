//! Refusals as data: what was requested, what was on offer, and the reason.

use std::fmt;

use crate::array::DArray;
use crate::element::DType;
use crate::error::{Error, Kind};
use crate::layout::{Layout, Order};
use crate::memory::{Conflict, LeaseKind, Place};
use crate::view::reason::Reason;
use crate::view::request::Request;

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
    /// Whether a permitted copy can be made where it was requested.
    pub(super) reaches: bool,
}

impl Offer {
    pub(super) fn new(dtype: &DType, layout: &Layout, place: Place, readonly: bool) -> Self {
        Self {
            dtype: dtype.clone(),
            shape: layout.shape().to_vec(),
            strides: layout.strides().to_vec(),
            order: layout.order(),
            place,
            readonly,
            reaches: false,
        }
    }
}

impl From<&DArray> for Offer {
    /// For producers that refuse before they export: the array as it is.
    fn from(array: &DArray) -> Self {
        Self::new(array.dtype(), array.layout(), array.place(), array.is_readonly())
    }
}

/// A producer would not lend what was asked for: what was asked, what was on offer, and why not.
///
/// [`Reason::Unsupported`] and [`Reason::Failed`] are different answers: the first is for ever, the
/// second may go better another time.
///
/// ```
/// use crossdock::view::{Reason, Request};
/// use crossdock::{Array, layout::Order};
///
/// let array = Array::from_vec(vec![1u8, 2, 3, 4, 5, 6], [2, 3])?;
/// let refusal = crossdock::view(&array, Request::read().order(Order::ColumnMajor)).unwrap_err();
/// assert!(matches!(refusal.reason(), Reason::Order(Order::ColumnMajor)));
/// assert_eq!((&refusal.offer().unwrap().shape[..], refusal.would_copy()), (&[2, 3][..], Some(6)));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Refusal(Box<Inner>);

struct Inner {
    asked: Option<Request>,
    offer: Option<Offer>,
    reason: Reason,
}

impl Refusal {
    /// A refusal by a producer that has nothing to offer.
    #[cold]
    pub fn new(asked: &Request, reason: Reason) -> Self {
        Self(Box::new(Inner { asked: Some(asked.clone()), offer: None, reason }))
    }

    /// A refusal before any lease is attempted: the array is on offer as it is.
    #[cold]
    pub(crate) fn of(array: &DArray, asked: &Request, reason: Reason) -> Self {
        Self::new(asked, reason).with_offer(Offer::from(array))
    }

    /// The same, with what was on offer.
    #[must_use]
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.0.offer = Some(offer);
        self
    }

    /// Tells it what was asked, where it does not know that itself.
    pub(super) fn fill_in_asked(&mut self, request: Request) {
        self.0.asked.get_or_insert(request);
    }

    /// What was asked. Every refusal that comes out of [`view`](crate::view::view) or of an array
    /// knows it; one that a producer made of an [`Error`] does not.
    pub fn asked(&self) -> Option<&Request> {
        self.0.asked.as_ref()
    }

    /// What was on offer.
    pub fn offer(&self) -> Option<&Offer> {
        self.0.offer.as_ref()
    }

    /// Why it was refused.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// How many bytes a copy that satisfies the request would take, provided that every value fits
    /// the dtype asked for; `None` where a copy would not help.
    pub fn would_copy(&self) -> Option<usize> {
        let helps = match self.reason() {
            Reason::Lease(error) => self.can_be_read_beside(error),
            Reason::Order(_) | Reason::DType(_) | Reason::Layout(_) | Reason::Place(_) => true,
            Reason::Unsupported(_) | Reason::Failed(_) => false,
        };
        // A copy is made by the processor, in its own memory, unless a device can be had for it.
        let place = self.asked().and_then(Request::wanted_place).unwrap_or(Place::CPU);
        let is_made = |offer: &&Offer| offer.reaches || (offer.place.is_host() && place == Place::CPU);
        let offer = self.offer().filter(|offer| helps && is_made(offer))?;
        let dtype = self.asked().and_then(Request::wanted_dtype).unwrap_or(&offer.dtype);
        let nbytes = |nbytes: usize, &len: &usize| nbytes.saturating_mul(len);
        Some(offer.shape.iter().fold(dtype.itemsize(), nbytes))
    }

    /// Whether the Pin lease under which a copy is made can be had, though the lease that was asked
    /// for cannot.
    fn can_be_read_beside(&self, refused: &Error) -> bool {
        let source = std::error::Error::source(refused);
        let conflict = source.and_then(|source| source.downcast_ref::<Conflict>());
        let written =
            conflict.is_some_and(|conflict| matches!(conflict.leases(), Some((LeaseKind::Write, _))));
        let pinned = self.asked().is_some_and(|asked| asked.lease() == LeaseKind::Pin);
        !written && !pinned
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason())?;
        if let Some(offer) = self.offer() {
            write!(
                f,
                "; on offer is {} of shape {:?} with strides {:?} on {}{}",
                offer.dtype.brief(),
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
    /// For producers that use `?`: something failed on the way. Such a refusal does not know what
    /// was asked; [`view`](crate::view::view) fills it in.
    #[cold]
    fn from(error: Error) -> Self {
        Self(Box::new(Inner { asked: None, offer: None, reason: Reason::Failed(error) }))
    }
}
