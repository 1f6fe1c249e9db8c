//! State that an object keeps for consumers that ask repeatedly, or whose protocol has no release.

use std::cell::OnceCell;

use crossdock::DArray;
use crossdock::bindings::array_interface::{ExportLease, lend_ordered};
use crossdock::bindings::dlpack::abi::{DLManagedTensorVersioned, DLTensor};
use crossdock::bindings::dlpack::{ExportOptions, Exported, Prepared};
use crossdock::view::Refusal;
use pyo3::PyErr;

use crate::errors;

/// One word, which is empty for most objects.
pub(crate) struct ConsumerState(OnceCell<Box<Parts>>);

/// # Invariants
///
/// 1. `prepared` describes the array of the object that this belongs to.
#[derive(Default)]
struct Parts {
    prepared: OnceCell<Prepared>,
    /// The lease of consumers of the array interface, which holds until the object goes.
    told: OnceCell<ExportLease>,
}

impl ConsumerState {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(OnceCell::new())
    }

    fn parts(&self) -> &Parts {
        self.0.get_or_init(Box::default)
    }

    /// The DLPack description of `array`.
    #[inline(always)]
    fn prepared(&self, array: &DArray) -> Result<&Prepared, Refusal> {
        match self.0.get().and_then(|parts| parts.prepared.get()) {
            Some(prepared) => Ok(prepared),
            None => self.prepare(array),
        }
    }

    #[cold]
    fn prepare(&self, array: &DArray) -> Result<&Prepared, Refusal> {
        let prepared = Prepared::of(array)?;
        Ok(self.parts().prepared.get_or_init(|| prepared))
    }

    /// Exports `array` by DLPack, zero-copy.
    #[inline(always)]
    pub(crate) fn lend(
        &self,
        array: &DArray,
        options: &ExportOptions,
    ) -> Result<Exported<DLManagedTensorVersioned>, Refusal> {
        let prepared = self.prepared(array)?;
        // SAFETY: Parts 1: `prepared` describes `array`, which the caller passes from the object
        // that this belongs to.
        unsafe { prepared.lend(array, options) }
    }

    /// Describes `array` to a consumer that uses the description only until control returns to
    /// Python.
    ///
    /// # Safety
    ///
    /// 1. Only foreign code uses the description.
    /// 2. The consumer holds the GIL until it no longer uses it.
    #[inline(always)]
    pub(crate) unsafe fn describe(&self, array: &DArray) -> Result<DLTensor, PyErr> {
        let prepared = self.prepared(array).map_err(|refusal| errors::refused(&refusal))?;
        // SAFETY: Parts 1. Only threads that hold the GIL take leases of this array, and by clauses
        // 1 and 2 of `# Safety` the consumer is foreign code that holds it.
        unsafe { prepared.describe(array) }.map_err(|error| errors::refusal(&error))
    }

    /// Leases `array` until the object goes, for a consumer that only gets its address, and whose
    /// accesses come after in-flight work. Returns whether the consumer must not write.
    pub(crate) fn tell(&self, array: &DArray) -> crossdock::Result<bool> {
        let told = &self.parts().told;
        if let Some(lease) = told.get() {
            return Ok(lease.is_readonly());
        }
        let lease = lend_ordered(array)?;
        Ok(told.get_or_init(|| lease).is_readonly())
    }
}
