//! The types that the protocols export.

use crate::array::{Array, DArray};
use crate::element::Element;
use crate::view::{MemoryView, Refusal};

/// The types that the protocols of C structs export: [`DArray`], [`Array`], and [`MemoryView`],
/// which passes on what its lease permits. Sealed.
pub trait Source: sealed::Lend {}

impl Source for DArray {}
impl<T: Element, const D: usize> Source for Array<T, D> {}
impl Source for MemoryView {}

pub(crate) mod sealed {
    use super::*;

    pub trait Lend {
        /// Calls `f` with the array.
        fn lend<R>(&self, f: impl FnOnce(&DArray) -> Result<R, Refusal>) -> Result<R, Refusal>;
    }

    impl Lend for DArray {
        fn lend<R>(&self, f: impl FnOnce(&DArray) -> Result<R, Refusal>) -> Result<R, Refusal> {
            f(self)
        }
    }

    impl<T: Element, const D: usize> Lend for Array<T, D> {
        fn lend<R>(&self, f: impl FnOnce(&DArray) -> Result<R, Refusal>) -> Result<R, Refusal> {
            f(&self.clone().into())
        }
    }

    impl Lend for MemoryView {
        fn lend<R>(&self, f: impl FnOnce(&DArray) -> Result<R, Refusal>) -> Result<R, Refusal> {
            f(&self.to_array()?)
        }
    }
}
