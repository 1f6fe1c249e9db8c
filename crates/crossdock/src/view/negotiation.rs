//! The negotiation by which every protocol exports an array: zero-copy, or, if the request permits,
//! as a copy that records its reason.
//!
//! Reasons: `DESIGN.md`, "One negotiation serves all protocols".

use crate::array::{DArray, RawArray};
use crate::device;
use crate::element::DType;
use crate::error::Error;
use crate::layout::Layout;
use crate::memory::{Lease, Place};
use crate::view::CopyPolicy;
use crate::view::copied::Copied;
use crate::view::copying::ExportRoute;
use crate::view::reason::Reason;
use crate::view::refusal::{Offer, Refusal};
use crate::view::request::Request;
use crate::view::terms::{Reach, Terms};

/// Exports an array as requested, on a protocol's terms. `describe` describes the array or its copy
/// in the protocol's terms; `fill` makes the protocol's struct from that, and receives whether it
/// is a copy.
///
/// # Errors
///
/// A [`Refusal`] with the array's offer, and the reason why zero-copy export or the permitted copy
/// failed.
#[inline]
pub(crate) fn negotiate<D, T>(
    array: &DArray,
    request: &Request,
    terms: &Terms,
    describe: impl Fn(&DArray) -> Result<D, Reason>,
    fill: impl Fn(&DArray, D, Lease, bool) -> Result<T, Error>,
) -> Result<(T, Copied), Refusal> {
    let attempt = Attempt { request, terms, describe, fill };
    let in_place = |array: &DArray| match elsewhere(array, request, terms) {
        None => attempt.lend(array, false),
        Some(place) => attempt.lend_other(&mapped(array, place)?, false),
    };
    let copy = |array: &DArray| request.make_copy(array, terms);
    negotiate_as(array, request, terms, in_place, copy, |copy| attempt.lend_other(&copy, true))
}

/// The arguments of [`negotiate`], for attempts on the array, on a mapping or on a copy.
struct Attempt<'a, Describe, Fill> {
    request: &'a Request,
    terms: &'a Terms,
    describe: Describe,
    fill: Fill,
}

impl<D, T, Describe, Fill> Attempt<'_, Describe, Fill>
where
    Describe: Fn(&DArray) -> Result<D, Reason>,
    Fill: Fn(&DArray, D, Lease, bool) -> Result<T, Error>,
{
    #[inline(always)]
    fn lend(&self, array: &DArray, is_copy: bool) -> Result<T, Reason> {
        check(array.raw(), array.dtype(), array.layout(), self.request, self.terms)?;
        let lease = self.terms.take(array.raw()).map_err(no_lease)?;
        let described = (self.describe)(array)?;
        lease.mark_exported(self.terms.holder);
        (self.fill)(array, described, lease, is_copy).map_err(Reason::Failed)
    }

    /// [`Attempt::lend`], out of line.
    #[cold]
    fn lend_other(&self, array: &DArray, is_copy: bool) -> Result<T, Reason> {
        self.lend(array, is_copy)
    }
}

/// Like [`negotiate`], for a protocol that takes its leases itself (by [`Terms::lease`]) and copies
/// to something other than one array. `copy` returns that and its number of bytes.
///
/// # Errors
///
/// As [`negotiate`].
#[inline]
pub(crate) fn negotiate_as<T, C>(
    array: &DArray,
    request: &Request,
    terms: &Terms,
    lend: impl FnOnce(&DArray) -> Result<T, Reason>,
    copy: impl FnOnce(&DArray) -> Result<(C, usize), Reason>,
    lend_copy: impl FnOnce(C) -> Result<T, Reason>,
) -> Result<(T, Copied), Refusal> {
    let reason = match request.copy_policy() {
        CopyPolicy::Always => None,
        CopyPolicy::Never | CopyPolicy::IfNeeded => match lend(array) {
            Ok(lent) => return Ok((lent, Copied::NOTHING)),
            Err(reason) => Some(reason),
        },
    };
    copy_instead(array, request, terms, reason, copy, lend_copy)
}

/// The second half of [`negotiate_as`], for an array that is not exported zero-copy: for this
/// reason, or because a copy was requested. Out of line so that the in-place path stays small
/// enough to inline.
///
/// # Errors
///
/// As [`negotiate`]: the given reason, if the request permits no copy or a copy would not help.
#[cold]
pub(super) fn copy_instead<T, C>(
    array: &DArray,
    request: &Request,
    terms: &Terms,
    reason: Option<Reason>,
    copy: impl FnOnce(&DArray) -> Result<(C, usize), Reason>,
    lend_copy: impl FnOnce(C) -> Result<T, Reason>,
) -> Result<(T, Copied), Refusal> {
    let refuse = |reason| refuse(array, request, terms, reason);
    let because = match reason.map(refuse) {
        Some(refusal) if request.copy_policy() == CopyPolicy::Never || refusal.would_copy().is_none() => {
            return Err(refusal);
        }
        because => because,
    };
    let (copy, nbytes) = copy(array).map_err(refuse)?;
    let lent = lend_copy(copy).map_err(refuse)?;
    Ok((lent, Copied::made(nbytes, because)))
}

/// Not generic: [`copy_instead`] is compiled for each protocol.
#[cold]
#[inline(never)]
fn refuse(array: &DArray, request: &Request, terms: &Terms, reason: Reason) -> Refusal {
    let reaches = ExportRoute::find(array, request, terms).is_ok();
    Refusal::new(request, reason).with_offer(Offer { reaches, ..Offer::from(array) })
}

/// The lease for a zero-copy export of an array.
///
/// # Errors
///
/// The requirement that the array does not fulfil, or that the protocol cannot describe; `Lease`.
#[inline(always)]
pub(super) fn lease(
    raw: &RawArray,
    dtype: &DType,
    layout: &Layout,
    request: &Request,
    terms: &Terms,
) -> Result<Lease, Reason> {
    check(raw, dtype, layout, request, terms)?;
    terms.lease(raw).map_err(no_lease)
}

/// Checks an array before its lease is taken.
#[inline(always)]
fn check(
    raw: &RawArray,
    dtype: &DType,
    layout: &Layout,
    request: &Request,
    terms: &Terms,
) -> Result<(), Reason> {
    match terms.mismatch(layout).or_else(|| request.mismatch(dtype, layout, raw.place(), terms.reach)) {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}

/// The place to which the memory must be mapped before a zero-copy export, for protocols that
/// export memory of any device. `None` if the array is already there.
#[inline]
fn elsewhere(array: &DArray, request: &Request, terms: &Terms) -> Option<Place> {
    request.wanted_place().filter(|&place| terms.reach != Reach::Host && place != array.place())
}

/// # Errors
///
/// `Place` if the memory cannot be mapped there; `Failed`.
#[cold]
fn mapped(array: &DArray, place: Place) -> Result<DArray, Reason> {
    let memory = device::memory(place).map_err(Reason::Failed)?;
    array.map_to(&memory).map_err(Reason::Failed)?.ok_or(Reason::Place(place))
}

#[cold]
fn no_lease(error: Error) -> Reason {
    if error.is_place() { Reason::Unsupported(error.to_explanation()) } else { Reason::Lease(error) }
}
