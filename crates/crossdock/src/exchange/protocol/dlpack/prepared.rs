//! The DLPack description of an array, computed once: for arrays that are exported again and again,
//! in nanoseconds.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::dlpack::abi::{DLManagedTensorVersioned, DLPackVersion, DLTensor};
use crate::exchange::protocol::dlpack::export::{
    ExportOptions, Exported, FEW_NUMBERS, ManagedBlock, TensorType, UnleasedBlock, room_for, write_numbers,
};
use crate::memory::LeaseKind;
use crate::view::{Reason, Refusal, Request};

/// The DLPack description of one array.
///
/// # Invariants
///
/// 1. `numbers` comes from a box that `Drop` frees, and does not change: the shape, then the
///    strides, in the room of `room_for`. `shape` and `strides` of `tensor` point into it.
#[derive(Debug)]
pub struct Prepared {
    tensor: DLTensor,
    flags: u64,
    numbers: NonNull<[i64]>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: Prepared 1: `numbers` comes from a box, and only this drop frees it.
        drop(unsafe { Box::from_raw(self.numbers.as_ptr()) });
    }
}

impl Prepared {
    /// O(rank).
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for a type, a device or strides that DLPack cannot describe, as of
    /// [`export_versioned`](super::export_versioned).
    ///
    /// ```
    /// use crossdock::bindings::dlpack::{ExportOptions, Prepared};
    /// use crossdock::{Array, DArray};
    ///
    /// let array = DArray::from(Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3])?);
    /// let prepared = Prepared::of(&array)?;
    /// // SAFETY: the tensor describes this array, which no code writes meanwhile.
    /// let tensor = unsafe { prepared.describe(&array) }?;
    /// assert_eq!((tensor.ndim, tensor.data.cast_const().cast()), (2, array.as_ptr()));
    /// assert!(array.buffer()?.0.write().is_ok()); // nothing is lent
    /// // SAFETY: of this array.
    /// let exported = unsafe { prepared.lend(&array, &ExportOptions::new()) }?;
    /// assert!(array.buffer()?.0.write().is_err()); // the consumer may write
    /// # drop(exported);
    /// # Ok::<(), crossdock::Error>(())
    /// ```
    pub fn of(array: &DArray) -> Result<Self, Refusal> {
        let refuse = |reason| Refusal::of(array, &Request::share(), reason);
        let words = TensorType::of::<DLManagedTensorVersioned>(array).map_err(refuse)?;
        let terms = ExportOptions::new().terms::<DLManagedTensorVersioned>();
        terms.mismatch(array.layout()).map_or(Ok(()), |reason| Err(refuse(reason)))?;
        let mut tensor = words.tensor(array).map_err(refuse)?;
        let mut numbers = vec![MaybeUninit::new(0); room_for(array.rank())].into_boxed_slice();
        write_numbers(array.layout(), &mut numbers);
        let numbers = Box::into_raw(numbers) as *mut [i64];
        tensor.shape = numbers.cast();
        tensor.strides = tensor.shape.wrapping_add(array.rank());
        // SAFETY: `numbers` comes from `Box::into_raw` above, which never returns null.
        let numbers = unsafe { NonNull::new_unchecked(numbers) };
        Ok(Self { tensor, flags: words.flags, numbers })
    }

    /// As [`export_versioned`](super::export_versioned) without a copy.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] with [`Reason::Lease`](crate::view::Reason::Lease), or for want of memory for
    /// the struct.
    ///
    /// # Safety
    ///
    /// `self` was made by [`Prepared::of`] for `array`.
    #[inline(always)]
    pub unsafe fn lend(
        &self,
        array: &DArray,
        options: &ExportOptions,
    ) -> Result<Exported<DLManagedTensorVersioned>, Refusal> {
        if let Ok(version) = options.version::<DLManagedTensorVersioned>()
            && let Ok(block) = self.block(version)
            && let Some(lease) = options.terms::<DLManagedTensorVersioned>().quick_lease(array.raw())
        {
            // The lease is of `array`, for which `self` was made (`# Safety`).
            return Ok(Exported::in_place(block.under(lease)));
        }
        // SAFETY: `self` was made for `array` (`# Safety`).
        unsafe { self.lend_anywhere(array, options) }
    }

    /// As [`Prepared::lend`], for memory of every place, or the refusal.
    ///
    /// # Safety
    ///
    /// `self` was made by [`Prepared::of`] for `array`.
    #[cold]
    #[inline(never)]
    unsafe fn lend_anywhere(
        &self,
        array: &DArray,
        options: &ExportOptions,
    ) -> Result<Exported<DLManagedTensorVersioned>, Refusal> {
        let lend = || {
            let version = options.version::<DLManagedTensorVersioned>()?;
            let lease =
                options.terms::<DLManagedTensorVersioned>().lease(array.raw()).map_err(Reason::Lease)?;
            // The lease is of `array`, for which `self` was made (`# Safety`).
            Ok(self.block(version).map_err(Reason::Failed)?.under(lease))
        };
        match lend() {
            Ok(managed) => Ok(Exported::in_place(managed)),
            Err(reason) => Err(Refusal::of(array, &Request::share(), reason)),
        }
    }

    /// The block for one consumer. It needs a lease of the array for which `self` was made.
    #[inline(always)]
    fn block(&self, version: DLPackVersion) -> Result<UnleasedBlock<DLManagedTensorVersioned>> {
        // SAFETY: Prepared 1: `numbers` comes from a box that lives as long as `self` and does not
        // change.
        let own = unsafe { self.numbers.as_ref() };
        ManagedBlock::unleased((self.tensor, version), self.flags, |numbers| {
            // Both have the same room (`room_for`).
            match (own.as_array::<FEW_NUMBERS>(), numbers.as_mut_array::<FEW_NUMBERS>()) {
                (Some(own), Some(numbers)) => *numbers = own.map(MaybeUninit::new),
                _ => {
                    numbers.write_copy_of_slice(own);
                }
            }
        })
    }

    /// The tensor, for a consumer that finishes before this thread continues. It takes no lease,
    /// and there is nothing to release. Shape and strides live as long as `self`. One load.
    ///
    /// # Errors
    ///
    /// `is_read_only`, since a bare tensor has no read-only flag; `is_conflict` while another party
    /// holds Read or Write.
    ///
    /// # Safety
    ///
    /// 1. `self` was made by [`Prepared::of`] for `array`.
    /// 2. No party takes Read or Write of the array's memory while the consumer accesses it.
    /// 3. The consumer's instructions are ones that this program's memory model does not see.
    /// 4. The consumer accesses the memory after in-flight work of devices on it
    ///    ([`Synchronization::order`](crate::view::Synchronization::order)): this function does not
    ///    wait.
    #[inline]
    pub unsafe fn describe(&self, array: &DArray) -> Result<DLTensor> {
        let held = array.raw().handle().header().reading().leases();
        if array.is_readonly() || matches!(held, Some((LeaseKind::Read | LeaseKind::Write, _))) {
            return Err(refused(array));
        }
        Ok(self.tensor)
    }
}

/// The reason why an array is not described.
#[cold]
fn refused(array: &DArray) -> Error {
    if array.is_readonly() {
        let text =
            "the array is read-only, which an unmanaged DLTensor cannot express; export a managed tensor";
        return Error::new(Kind::ReadOnly, text);
    }
    // The lease that conflicts gives the reason, unless it was just released.
    match array.raw().handle().lease(LeaseKind::Share) {
        Err(conflict) => conflict.into(),
        Ok(_) => Error::new(Kind::Conflict, "a lease on the memory ended during the export; try again"),
    }
}
