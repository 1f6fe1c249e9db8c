//! The lease of an exported buffer.

use crate::array::DArray;
use crate::error::Result;
use crate::memory::Protocols;
use crate::view::export_lease::ExportLease;
use crate::view::{Access, Terms};

/// Takes the lease under which the buffer of an array is exported, until the lease is dropped. One
/// compare-and-swap.
///
/// The consumer of a writable buffer may write it, so it is exported under a Share lease: other
/// exports can exist beside it, and no party gets Read or Write meanwhile. A read-only buffer is
/// exported under a Pin lease: PEP 3118 binds its consumers to the flag.
///
/// # Errors
///
/// `is_conflict` while another party holds Read (of a writable array) or Write; `is_place` for
/// memory that is not accessible from the CPU; `is_exhausted`.
///
/// ```
/// use crossdock::bindings::pep3118::lend;
/// use crossdock::{Array, DArray};
///
/// let numbers = Array::from_vec(vec![1.5f64, 2.5], [2])?;
/// let lease = lend(&DArray::from(numbers.clone()))?;
/// assert!(numbers.read().unwrap_err().is_conflict()); // the consumer may write
/// drop(lease);
/// assert_eq!(numbers.read()?.to_vec(), [1.5, 2.5]);
/// # Ok::<(), crossdock::Error>(())
/// ```
#[inline]
pub fn lend(array: &DArray) -> Result<ExportLease> {
    ExportLease::new(&Terms::new(Protocols::PEP3118, Access::AsFlagged), array)
}
