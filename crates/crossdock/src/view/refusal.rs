//! Refusals as data: the request, the offer, and the reason.
//!
//! Reasons: `DESIGN.md`, "A refusal is data".

use std::fmt;

use crate::array::DArray;
use crate::element::DType;
use crate::error::advice::{InWords, Words};
use crate::error::{Advice, Error, Kind};
use crate::layout::{Layout, Order};
use crate::memory::{Conflict, LeaseKind, Place};
use crate::view::reason::Reason;
use crate::view::request::Request;

/// A producer's offer at the time of its refusal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// The type of the elements.
    pub dtype: DType,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// The distance between neighbours along each axis, in bytes.
    pub strides: Vec<isize>,
    /// The order in which the elements are contiguous, if they are.
    pub order: Option<Order>,
    /// The device.
    pub place: Place,
    /// Whether the memory is read-only.
    pub readonly: bool,
    /// Whether a permitted copy can be made at the requested place.
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
    /// The unchanged array, for producers that refuse before they export.
    fn from(array: &DArray) -> Self {
        Self::new(array.dtype(), array.layout(), array.place(), array.is_readonly())
    }
}

/// A producer's refusal of a request, with the request, the offer, and the reason.
///
/// [`Reason::Unsupported`] is permanent; after [`Reason::Failed`] a retry may succeed.
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
pub struct Refusal(Box<RefusalDetails>);

struct RefusalDetails {
    asked: Option<Request>,
    offer: Option<Offer>,
    reason: Reason,
}

impl Refusal {
    /// A refusal without an offer.
    #[cold]
    pub fn new(asked: &Request, reason: Reason) -> Self {
        Self(Box::new(RefusalDetails { asked: Some(asked.clone()), offer: None, reason }))
    }

    /// A refusal before any lease is attempted: it offers the unchanged array.
    #[cold]
    pub(crate) fn of(array: &DArray, asked: &Request, reason: Reason) -> Self {
        Self::new(asked, reason).with_offer(Offer::from(array))
    }

    /// The same refusal with an offer.
    #[must_use]
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.0.offer = Some(offer);
        self
    }

    /// Sets the request, if it is not known yet.
    pub(super) fn fill_in_asked(&mut self, request: Request) {
        self.0.asked.get_or_insert(request);
    }

    /// The request. Every refusal that [`view`](crate::view::view) or an array returns has it; one
    /// that a producer converted from an [`Error`] does not.
    pub fn asked(&self) -> Option<&Request> {
        self.0.asked.as_ref()
    }

    /// The offer.
    pub fn offer(&self) -> Option<&Offer> {
        self.0.offer.as_ref()
    }

    /// The reason of the refusal.
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The number of bytes of a copy that satisfies the request, provided that every value fits the
    /// requested dtype; `None` if a copy would not help.
    pub fn would_copy(&self) -> Option<usize> {
        let helps = match self.reason() {
            Reason::Lease(error) => self.can_be_read_beside(error),
            Reason::Order(_) | Reason::DType(_) | Reason::Layout(_) | Reason::Place(_) => true,
            Reason::Unsupported(_) | Reason::Failed(_) => false,
        };
        // The CPU makes the copy in its own memory, unless a device can.
        let place = self.asked().and_then(Request::wanted_place).unwrap_or(Place::CPU);
        let is_made = |offer: &&Offer| offer.reaches || (offer.place.is_host() && place == Place::CPU);
        let offer = self.offer().filter(|offer| helps && is_made(offer))?;
        let dtype = self.asked().and_then(Request::wanted_dtype).unwrap_or(&offer.dtype);
        let nbytes = |nbytes: usize, &len: &usize| nbytes.saturating_mul(len);
        Some(offer.shape.iter().fold(dtype.itemsize(), nbytes))
    }

    /// What to do about it, if that is known: for bindings, which have their own words.
    #[doc(hidden)]
    pub fn advice(&self) -> Option<Advice> {
        self.reason().advice()
    }

    /// The refusal without advice.
    #[doc(hidden)]
    pub fn fact(&self) -> impl fmt::Display {
        RefusalFact(self)
    }

    /// The refusal, with the advice in the words of a language.
    #[doc(hidden)]
    pub fn in_words(&self, words: Words) -> impl fmt::Display {
        InWords { fact: RefusalFact(self), advice: self.advice(), words }
    }

    /// Whether the Pin lease for a copy is available although the requested lease is not.
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
    /// With the advice in Rust's words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_words(Advice::in_rust).fmt(f)
    }
}

/// A refusal without its advice.
struct RefusalFact<'a>(&'a Refusal);

impl fmt::Display for RefusalFact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.reason().fact())?;
        if let Some(offer) = self.0.offer() {
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
        if let Some(nbytes) = self.0.would_copy() {
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
        let (fact, advice) = (RefusalFact(&refusal).to_string(), refusal.advice());
        Self::caused(Kind::Refused, fact, refusal).advising(advice)
    }
}

impl From<Error> for Refusal {
    /// For producers that use `?` on other errors. Such a refusal lacks the request;
    /// [`view`](crate::view::view) fills it in.
    #[cold]
    fn from(error: Error) -> Self {
        Self(Box::new(RefusalDetails { asked: None, offer: None, reason: Reason::Failed(error) }))
    }
}
