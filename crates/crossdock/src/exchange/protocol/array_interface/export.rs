//! The type of an array in terms of the interface, and the lease of an export.

use crate::array::DArray;
use crate::element::DType;
use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result};
use crate::memory::{LeaseKind, Protocols};
use crate::view::export_lease::ExportLease;
use crate::view::{Access, Reach, Terms};

/// A type as the array interface describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceType {
    typestr: String,
    descr: Option<String>,
}

impl InterfaceType {
    /// # Errors
    ///
    /// `is_unsupported`, naming the part that NumPy has no type for, and for elements that are
    /// arrays themselves.
    ///
    /// ```
    /// use crossdock::element::DType;
    /// use crossdock::bindings::array_interface::InterfaceType;
    ///
    /// let record = DType::packed_record([("x", DType::U8), ("y", DType::I8)])?;
    /// let words = InterfaceType::of(&record)?;
    /// assert_eq!((words.typestr(), words.descr()), ("|V2", Some("[('x', '|u1'), ('y', '|i1')]")));
    /// assert!(InterfaceType::of(&DType::BF16).unwrap_err().is_unsupported());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn of(dtype: &DType) -> Result<Self> {
        if dtype.as_record().is_some() {
            let descr = Some(typestr::print_descr(dtype)?);
            return Ok(Self { typestr: format!("|V{}", dtype.itemsize()), descr });
        }
        if dtype.as_subarray().is_some() {
            let text = format!("the array interface has no sub-array elements: {}", dtype.brief());
            return Err(Error::new(Kind::Unsupported, text));
        }
        Ok(Self { typestr: typestr::print(dtype)?, descr: None })
    }

    /// `<f8`; `|V16` for records.
    pub fn typestr(&self) -> &str {
        &self.typestr
    }

    /// The list of fields as a Python literal, for records.
    pub fn descr(&self) -> Option<&str> {
        self.descr.as_deref()
    }
}

const TERMS: Terms =
    Terms { reach: Reach::Anywhere, ..Terms::new(Protocols::ARRAY_INTERFACE, Access::AsFlagged) };

/// The lease under which this protocol exports an array: Share, or Pin for a read-only array.
/// Consumers release nothing, so the exporter keeps the lease for as long as a consumer can use the
/// memory. One compare-and-swap.
///
/// The memory may be on any device, because the library does not touch it. In-flight work on it is
/// waited for.
///
/// # Errors
///
/// `is_conflict` while another party holds Read (of a writable array) or Write; `is_exhausted`; the
/// error of in-flight work that was to write the memory and failed.
pub fn lend(array: &DArray) -> Result<ExportLease> {
    ExportLease::new(&TERMS, array)
}

/// As [`lend`], without waiting: the caller orders the consumer after in-flight work
/// ([`Synchronization`](crate::view::Synchronization), [`cuda::stream`](super::cuda::stream)).
///
/// # Errors
///
/// As [`lend`], but not the error of the work.
pub fn lend_ordered(array: &DArray) -> Result<ExportLease> {
    ExportLease::new(&Terms { reach: Reach::Ordered, ..TERMS }, array)
}

/// The kind of lease of [`lend`].
pub fn lease_kind(array: &DArray) -> LeaseKind {
    TERMS.kind(array.is_readonly())
}
