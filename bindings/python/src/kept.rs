//! What an object keeps for consumers that ask again and again, or give nothing back.

use std::cell::OnceCell;

use crossdock::DArray;
use crossdock::bindings::array_interface::{Loan, lend_ordered};
use crossdock::bindings::dlpack::abi::{DLManagedTensorVersioned, DLTensor};
use crossdock::bindings::dlpack::{ExportOptions, Exported, Prepared};
use crossdock::view::Refusal;
use pyo3::PyErr;

use crate::errors;

/// Nothing, of most objects: one word.
pub(crate) struct Kept(OnceCell<Box<Parts>>);

/// # Invariants
///
/// 1. `prepared` is of the array beside it.
#[derive(Default)]
struct Parts {
    prepared: OnceCell<Prepared>,
    /// Whoever was told the address by the array interface has it until the object goes.
    told: OnceCell<Loan>,
}

impl Kept {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(OnceCell::new())
    }

    fn parts(&self) -> &Parts {
        self.0.get_or_init(Box::default)
    }

    /// What DLPack says of the array beside this.
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

    /// The array beside this by DLPack, in place.
    #[inline(always)]
    pub(crate) fn lend(
        &self,
        array: &DArray,
        options: &ExportOptions,
    ) -> Result<Exported<DLManagedTensorVersioned>, Refusal> {
        let prepared = self.prepared(array)?;
        // SAFETY: Parts 1.
        unsafe { prepared.lend(array, options) }
    }

    /// The array beside this, described to a consumer that is done with it before the interpreter goes on.
    ///
    /// # Safety
    ///
    /// The consumer is foreign code, which holds the interpreter until it is done.
    #[inline(always)]
    pub(crate) unsafe fn describe(&self, array: &DArray) -> Result<DLTensor, PyErr> {
        let prepared = self.prepared(array).map_err(|refusal| errors::refused(&refusal))?;
        // SAFETY: Parts 1. Leases of this array are taken by threads that hold the interpreter, and the consumer's instructions are its own.
        unsafe { prepared.describe(array) }.map_err(|error| errors::refusal(&error))
    }

    /// Notes that an address of the array beside this is told to somebody who gives nothing back, and who comes after the work that is
    /// under way on its memory. Whether they may not write.
    pub(crate) fn tell(&self, array: &DArray) -> crossdock::Result<bool> {
        let told = &self.parts().told;
        if let Some(loan) = told.get() {
            return Ok(loan.is_readonly());
        }
        let loan = lend_ordered(array)?;
        Ok(told.get_or_init(|| loan).is_readonly())
    }
}
