//! The one way in which arrays are lent, whoever asks: in place; else, where the request permits it, as a copy that remembers
//! why it was made.

use crate::array::DArray;
use crate::view::copied::Copied;
use crate::view::{CopyPolicy, Offer, Reason, Refusal, Request};

/// Lends an array as the request's copy policy says: `lend` is given the array, or what `copy` makes of it.
///
/// # Errors
///
/// A [`Refusal`] with the array's own [`Offer`](crate::view::Offer), and the reason of whichever of the two failed.
pub(crate) fn hand_over<T>(
    array: &DArray,
    request: &Request,
    lend: impl Fn(&DArray, Copied) -> Result<T, Reason>,
    copy: impl FnOnce(&DArray) -> Result<DArray, Reason>,
) -> Result<T, Refusal> {
    let in_place = |array: &DArray| lend(array, Copied::NOTHING);
    hand_over_as(array, request, in_place, sized(copy), |copy, copied| lend(&copy, copied))
}

/// As [`hand_over`], where a copy is something else than an array: `copy` gives it with the bytes that it took, and `lend_copy` lends it.
///
/// # Errors
///
/// As [`hand_over`].
pub(crate) fn hand_over_as<T, C>(
    array: &DArray,
    request: &Request,
    lend: impl FnOnce(&DArray) -> Result<T, Reason>,
    copy: impl FnOnce(&DArray) -> Result<(C, usize), Reason>,
    lend_copy: impl FnOnce(C, Copied) -> Result<T, Reason>,
) -> Result<T, Refusal> {
    let reason = match request.copy_policy() {
        CopyPolicy::Always => None,
        CopyPolicy::Never | CopyPolicy::IfNeeded => match lend(array) {
            Ok(lent) => return Ok(lent),
            Err(reason) => Some(reason),
        },
    };
    copy_instead(array, request, reason, copy, lend_copy)
}

/// A copy that is an array, with its bytes.
fn sized(
    copy: impl FnOnce(&DArray) -> Result<DArray, Reason>,
) -> impl FnOnce(&DArray) -> Result<(DArray, usize), Reason> {
    |array| {
        let copy = copy(array)?;
        let nbytes = copy.nbytes();
        Ok((copy, nbytes))
    }
}

/// What [`hand_over_as`] does where the array is not lent in place: for the given reason, or because a copy was asked for. (Of its own
/// for the one caller that has nanoseconds to lose before.)
///
/// # Errors
///
/// As [`hand_over`]: the given reason, where the request permits no copy or a copy would not help.
#[cold]
pub(super) fn copy_instead<T, C>(
    array: &DArray,
    request: &Request,
    reason: Option<Reason>,
    copy: impl FnOnce(&DArray) -> Result<(C, usize), Reason>,
    lend_copy: impl FnOnce(C, Copied) -> Result<T, Reason>,
) -> Result<T, Refusal> {
    let refuse = |reason| Refusal::new(request, reason).with_offer(Offer::to_request(array, request));
    let because = match reason.map(refuse) {
        Some(refusal) if request.copy_policy() == CopyPolicy::Never || refusal.would_copy().is_none() => {
            return Err(refusal);
        }
        because => because,
    };
    let (copy, nbytes) = copy(array).map_err(refuse)?;
    lend_copy(copy, Copied::made(nbytes, because)).map_err(refuse)
}
