//! The one way in which arrays are lent, whoever asks: in place; else, where the request permits it, as a copy that remembers
//! why it was made.

use crate::array::DArray;
use crate::view::{CopyPolicy, Reason, Refusal, Request};

/// What was copied for a hand-over: nothing, where the array was lent in place.
#[derive(Debug)]
pub(crate) struct Copied(Option<Box<Made>>);

/// Boxed, because hardly any hand-over has it.
#[derive(Debug)]
struct Made {
    nbytes: usize,
    because: Option<Refusal>,
}

impl Copied {
    /// Lent in place.
    pub(crate) const NOTHING: Self = Self(None);

    /// Whether a copy was made, if only of no bytes.
    pub(crate) fn is_made(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.0.as_ref().map_or(0, |made| made.nbytes)
    }

    /// The refusal that would have been given had no copy been permitted; `None` where nothing was copied, or where the copy was
    /// asked for.
    pub(crate) fn because(&self) -> Option<&Refusal> {
        self.0.as_ref()?.because.as_ref()
    }
}

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
    if request.copy_policy() == CopyPolicy::Always {
        return copy_instead(array, request, None, lend, copy);
    }
    match lend(array, Copied::NOTHING) {
        Ok(lent) => Ok(lent),
        Err(reason) => copy_instead(array, request, Some(reason), lend, copy),
    }
}

/// What [`hand_over`] does where the array is not lent in place: for the given reason, or because a copy was asked for. (Of its own
/// for the one caller that has nanoseconds to lose before.)
///
/// # Errors
///
/// As [`hand_over`]: the given reason, where the request permits no copy or a copy would not help.
#[cold]
pub(super) fn copy_instead<T>(
    array: &DArray,
    request: &Request,
    reason: Option<Reason>,
    lend: impl Fn(&DArray, Copied) -> Result<T, Reason>,
    copy: impl FnOnce(&DArray) -> Result<DArray, Reason>,
) -> Result<T, Refusal> {
    let refuse = |reason| Refusal::new(request, reason).with_offer(array.offer());
    let because = match reason.map(refuse) {
        Some(refusal) if request.copy_policy() == CopyPolicy::Never || refusal.would_copy().is_none() => {
            return Err(refusal);
        }
        because => because,
    };
    let copy = copy(array).map_err(refuse)?;
    let made = Made { nbytes: copy.nbytes(), because };
    lend(&copy, Copied(Some(Box::new(made)))).map_err(refuse)
}
