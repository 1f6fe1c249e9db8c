//! What DLPack says of an array, found out once: for arrays that are described again and again, in nanoseconds.

use std::ptr::NonNull;

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::dlpack::abi::DLTensor;
use crate::exchange::protocol::dlpack::{ExportOptions, export_versioned};
use crate::memory::LeaseKind;
use crate::view::Refusal;

/// What DLPack says of one array, for consumers that only look at it while they are called.
///
/// # Invariants
///
/// 1. `numbers` is a box that is dropped here, and does not change: the shape, and behind it the strides. Those of the tensor point there.
#[derive(Debug)]
pub struct Prepared {
    tensor: DLTensor,
    numbers: NonNull<[i64]>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: Prepared 1.
        drop(unsafe { Box::from_raw(self.numbers.as_ptr()) });
    }
}

impl Prepared {
    /// O(rank).
    ///
    /// # Errors
    ///
    /// As [`export_versioned`](super::export_versioned), where nothing is copied: a tensor that is only described cannot say that it is
    /// read-only.
    ///
    /// ```
    /// use crossdock::exchange::protocol::dlpack::Prepared;
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?);
    /// let prepared = Prepared::of(&array)?;
    /// // SAFETY: of this array, and nobody writes it.
    /// let tensor = unsafe { prepared.describe(&array) }?;
    /// assert_eq!((tensor.ndim, tensor.data.cast_const().cast()), (2, array.as_ptr()));
    /// assert!(array.buffer()?.0.write().is_ok()); // nothing is lent
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn of(array: &DArray) -> Result<Self, Refusal> {
        let exported = export_versioned(array, &ExportOptions::new())?;
        let mut tensor = exported.managed().dl_tensor;
        let number = |pointer: *mut i64, axis| {
            // SAFETY: an export of ours has as many lengths, and strides, as there are axes.
            unsafe { pointer.wrapping_add(axis).read() }
        };
        let axes = 0..array.rank();
        let shape = axes.clone().map(|axis| number(tensor.shape, axis));
        let numbers: Box<[i64]> = shape.chain(axes.map(|axis| number(tensor.strides, axis))).collect();
        let numbers = Box::into_raw(numbers);
        tensor.shape = numbers.cast();
        tensor.strides = tensor.shape.wrapping_add(array.rank());
        // SAFETY: a box is not null.
        Ok(Self { tensor, numbers: unsafe { NonNull::new_unchecked(numbers) } })
    }

    /// The tensor, for a consumer that is done with it before this thread goes on: nothing is lent, and nothing is given back. Shape and
    /// strides are there as long as this is. One load.
    ///
    /// # Errors
    ///
    /// `is_conflict` while somebody holds Read or Write.
    ///
    /// # Safety
    ///
    /// This was made of `array`. The consumer accesses its memory while nobody takes Read or Write of it, and by instructions of which this
    /// program's memory model knows nothing.
    #[inline]
    pub unsafe fn describe(&self, array: &DArray) -> Result<DLTensor> {
        let held = array.raw().handle().header().reading().leases();
        if matches!(held, Some((LeaseKind::Read | LeaseKind::Write, _))) {
            return Err(refused(array));
        }
        Ok(self.tensor)
    }
}

/// Why an array is not described.
#[cold]
fn refused(array: &DArray) -> Error {
    // What stands in the way is said by the lease that cannot be had; unless it has just been given back.
    match array.raw().handle().lease(LeaseKind::Share) {
        Err(conflict) => conflict.into(),
        Ok(_) => Error::new(Kind::Conflict, "somebody relied on the memory until this moment: try again"),
    }
}
