//! Exports to consumers that obey a read-only flag.

use crate::array::DArray;
use crate::error::Result;
use crate::memory::{Lease, LeaseKind};
use crate::view::Terms;

/// The lease of an exported array, until it is dropped. It keeps the memory alive by itself.
pub struct ExportLease(Lease);

impl ExportLease {
    /// One compare-and-swap.
    ///
    /// # Errors
    ///
    /// As [`Terms::lease`].
    #[inline]
    pub(crate) fn new(terms: &Terms, array: &DArray) -> Result<Self> {
        match terms.quick_lease(array.raw()) {
            Some(lease) => Ok(Self(lease)),
            None => Self::new_anywhere(terms, array),
        }
    }

    /// Out of line, since a result that may be an error travels through memory.
    #[inline(never)]
    fn new_anywhere(terms: &Terms, array: &DArray) -> Result<Self> {
        terms.lease(array.raw()).map(Self)
    }

    /// Whether the consumer must not write.
    #[inline]
    pub fn is_readonly(&self) -> bool {
        self.0.kind() == LeaseKind::Pin
    }
}
