//! Other shapes for the same elements: a view if the strides allow it, otherwise a copy if the
//! policy permits.

use crate::array::{Array, DArray};
use crate::element::Element;
use crate::error::Result;
use crate::layout::Order;

/// Whether an operation that can be zero-copy may copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyPolicy {
    /// Never copies: fails with the reason if a zero-copy result is not possible. The default.
    #[default]
    Never,
    /// Copies if a zero-copy result is not possible. The grant of an export then states the reason.
    IfNeeded,
    /// Always copies to new memory.
    Always,
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements, read and laid out in this order of their indices, in another shape: as a view,
    /// or as a copy in new memory of the default pool, as the policy decides. O(`D`), or copies,
    /// and counts, [`Array::nbytes`].
    ///
    /// ```
    /// use crossdock::Array;
    /// use crossdock::array::CopyPolicy;
    /// use crossdock::layout::Order;
    ///
    /// let columns = Array::from_vec(vec![1, 2, 3, 4, 5, 6], [2, 3])?.transpose();
    /// assert!(columns.reshape([6]).unwrap_err().is_layout());
    /// let rows = columns.reshape_with([6], Order::RowMajor, CopyPolicy::IfNeeded)?;
    /// assert_eq!(rows.read()?.to_vec(), [1, 4, 2, 5, 3, 6]);
    /// let in_place = columns.reshape_with([6], Order::ColumnMajor, CopyPolicy::IfNeeded)?;
    /// assert_eq!(in_place.as_ptr(), columns.as_ptr());
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs; `is_layout` if no strides express the result
    /// and the policy forbids copies. A copy has the errors of [`Array::to_order`].
    pub fn reshape_with<const OUT: usize>(
        &self,
        shape: [usize; OUT],
        order: Order,
        policy: CopyPolicy,
    ) -> Result<Array<T, OUT>> {
        match self.reshape_order(shape, order) {
            Ok(view) if policy != CopyPolicy::Always => Ok(view),
            Err(error) if !error.is_layout() || policy == CopyPolicy::Never => Err(error),
            _ => self.to_order(order)?.reshape_order(shape, order),
        }
    }
}

impl DArray {
    /// The elements, read and laid out in this order of their indices, in another shape: as a view,
    /// or as a copy in new memory of the default pool, as the policy decides. O(rank), or copies,
    /// and counts, [`DArray::nbytes`].
    ///
    /// # Errors
    ///
    /// `is_shape` if the number of elements differs; `is_layout` if no strides express the result
    /// and the policy forbids copies. A copy has the errors of [`DArray::to_order`].
    pub fn reshape_with(&self, shape: &[usize], order: Order, policy: CopyPolicy) -> Result<Self> {
        match self.reshape_order(shape, order) {
            Ok(view) if policy != CopyPolicy::Always => Ok(view),
            Err(error) if !error.is_layout() || policy == CopyPolicy::Never => Err(error),
            _ => self.to_order(order)?.reshape_order(shape, order),
        }
    }
}
