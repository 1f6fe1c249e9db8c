//! Tensors of DLPack, lent and borrowed, by the struct of version 1 and by the one before it.

use crossdock::DArray;
use crossdock::exchange::protocol::dlpack::abi::{DLManagedTensor, DLManagedTensorVersioned};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::{Failure, Result};
use crate::export::{XD_EXPORT_TRUST_READONLY, policy_of};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// The array and the options of an export.
///
/// # Safety
///
/// Where a flag says that the consumer is trusted not to write, it is.
unsafe fn asked(array: Option<&XdArray>, flags: u32) -> Result<(&DArray, ExportOptions)> {
    let array = array_of(array, "array")?;
    let mut options = ExportOptions::new().copy(policy_of(flags, XD_EXPORT_TRUST_READONLY)?);
    if flags & XD_EXPORT_TRUST_READONLY != 0 {
        // SAFETY: the caller's word.
        options = unsafe { options.trust_readonly() };
        // SAFETY: the caller's word.
        options = unsafe { options.trust_legacy_readonly() };
    }
    Ok((array, options))
}

/// Lends an array by the struct of version 1.
///
/// # Safety
///
/// As the header says of `XD_EXPORT_TRUST_READONLY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_to_dlpack(
    array: Option<&XdArray>,
    flags: u32,
    error: ErrorOut<'_>,
) -> *mut DLManagedTensorVersioned {
    fallible(error, || {
        // SAFETY: the caller's word.
        let (array, options) = unsafe { asked(array, flags) }?;
        Ok(dlpack::export_versioned(array, &options)?.into_raw())
    })
}

/// Lends an array by the struct before version 1.
///
/// # Safety
///
/// As the header says of `XD_EXPORT_TRUST_READONLY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_to_dlpack_legacy(
    array: Option<&XdArray>,
    flags: u32,
    error: ErrorOut<'_>,
) -> *mut DLManagedTensor {
    fallible(error, || {
        // SAFETY: the caller's word.
        let (array, options) = unsafe { asked(array, flags) }?;
        Ok(dlpack::export_legacy(array, &options)?.into_raw())
    })
}

/// Takes a tensor over.
///
/// # Safety
///
/// As [`dlpack::import_versioned`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_dlpack(
    tensor: *mut DLManagedTensorVersioned,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        if tensor.is_null() {
            return Err(Failure::null("tensor"));
        }
        // SAFETY: the caller's word.
        hand_over_array(unsafe { dlpack::import_versioned(tensor) }?)
    })
}

/// Takes a tensor of the older struct over, to be read.
///
/// # Safety
///
/// As [`dlpack::import_legacy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_dlpack_legacy(
    tensor: *mut DLManagedTensor,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        if tensor.is_null() {
            return Err(Failure::null("tensor"));
        }
        // SAFETY: the caller's word.
        hand_over_array(unsafe { dlpack::import_legacy(tensor) }?)
    })
}
