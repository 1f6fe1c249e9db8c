//! The grant of an export.

use std::fmt;

use crate::memory::{Lease, LeaseKind};
use crate::view::Refusal;
use crate::view::copied::Copied;

/// The grant of an export.
///
/// ```
/// use crossdock::Array;
/// use crossdock::view::{CopyPolicy, Request};
///
/// let array = Array::from_vec(vec![1u16, 2, 3], [3])?.into_readonly();
/// let view = crossdock::view(&array, Request::write().copy(CopyPolicy::IfNeeded))?;
/// assert_eq!(view.grant().copied_nbytes(), 6);
/// assert!(view.grant().copied_because().unwrap().to_string().contains("read-only"));
/// # Ok::<(), crossdock::Error>(())
/// ```
pub struct Grant {
    /// Held by the view whose grant this is.
    pub(super) lease: Lease,
    pub(super) copied: Copied,
}

impl Grant {
    /// The kind of lease.
    pub fn lease(&self) -> LeaseKind {
        self.lease.kind()
    }

    /// The number of bytes copied for this export.
    pub fn copied_nbytes(&self) -> usize {
        self.copied.nbytes()
    }

    /// The refusal that the copy avoided; `None` if nothing was copied, or the copy was requested.
    pub fn copied_because(&self) -> Option<&Refusal> {
        self.copied.because()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("lease", &self.lease()).field("copied", &self.copied).finish()
    }
}
