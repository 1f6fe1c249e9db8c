//! Records what was copied for an export, and why.

use crate::view::Refusal;

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

    /// A copy of so many bytes, made for the reason that a refusal gives, or because it was
    /// requested.
    pub(super) fn made(nbytes: usize, because: Option<Refusal>) -> Self {
        Self(Some(Box::new(Made { nbytes, because })))
    }

    /// Whether a copy was made, if only of no bytes.
    pub(crate) fn is_made(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.0.as_ref().map_or(0, |made| made.nbytes)
    }

    /// The refusal that would have been given had no copy been permitted; `None` where nothing was
    /// copied, or where the copy was asked for.
    pub(crate) fn because(&self) -> Option<&Refusal> {
        self.0.as_ref()?.because.as_ref()
    }
}
