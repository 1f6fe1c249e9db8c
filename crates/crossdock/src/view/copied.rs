//! Records the copy made for an export, and its reason.

use crate::view::Refusal;

/// The copy made for an export: none if the export was zero-copy.
#[derive(Debug)]
pub(crate) struct Copied(Option<Box<Made>>);

/// Boxed, because few exports copy.
#[derive(Debug)]
struct Made {
    nbytes: usize,
    because: Option<Refusal>,
}

impl Copied {
    /// Zero-copy.
    pub(crate) const NOTHING: Self = Self(None);

    /// A copy of `nbytes` bytes, made for the reason in a refusal, or on request.
    pub(super) fn made(nbytes: usize, because: Option<Refusal>) -> Self {
        Self(Some(Box::new(Made { nbytes, because })))
    }

    /// Whether a copy was made, even of 0 bytes.
    pub(crate) fn is_made(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn nbytes(&self) -> usize {
        self.0.as_ref().map_or(0, |made| made.nbytes)
    }

    /// The refusal that the copy avoided; `None` if nothing was copied, or the copy was requested.
    pub(crate) fn because(&self) -> Option<&Refusal> {
        self.0.as_ref()?.because.as_ref()
    }
}
