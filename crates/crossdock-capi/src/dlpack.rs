//! Tensors of DLPack, exported and imported by the struct of version 1 and by the legacy struct.

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
/// If `flags` has `XD_EXPORT_TRUST_READONLY`, no consumer of the export of a read-only array writes
/// it.
unsafe fn asked(array: Option<&XdArray>, flags: u32) -> Result<(&DArray, ExportOptions)> {
    let array = array_of(array, "array")?;
    let mut options = ExportOptions::new().copy(policy_of(flags, XD_EXPORT_TRUST_READONLY)?);
    if flags & XD_EXPORT_TRUST_READONLY != 0 {
        // SAFETY: the flag is set, so by `# Safety` no consumer writes an export of a read-only
        // array: the contract of `trust_readonly`.
        options = unsafe { options.trust_readonly() };
        // SAFETY: the flag is set, so by `# Safety` no consumer writes an export of a read-only
        // array, which the legacy struct cannot mark as such.
        options = unsafe { options.trust_legacy_readonly() };
    }
    Ok((array, options))
}

/// Exports an array by the struct of version 1.
///
/// # Safety
///
/// If `flags` has `XD_EXPORT_TRUST_READONLY`, no consumer of the export of a read-only array writes
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_to_dlpack(
    array: Option<&XdArray>,
    flags: u32,
    error: ErrorOut<'_>,
) -> *mut DLManagedTensorVersioned {
    fallible(error, || {
        // SAFETY: `# Safety` is the contract of `asked`: under `XD_EXPORT_TRUST_READONLY` no
        // consumer writes a read-only array.
        let (array, options) = unsafe { asked(array, flags) }?;
        Ok(dlpack::export_versioned(array, &options)?.into_raw())
    })
}

/// Exports an array by the legacy struct, of versions before 1.
///
/// # Safety
///
/// If `flags` has `XD_EXPORT_TRUST_READONLY`, no consumer of the export of a read-only array writes
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_to_dlpack_legacy(
    array: Option<&XdArray>,
    flags: u32,
    error: ErrorOut<'_>,
) -> *mut DLManagedTensor {
    fallible(error, || {
        // SAFETY: `# Safety` is the contract of `asked`: under `XD_EXPORT_TRUST_READONLY` no
        // consumer writes a read-only array.
        let (array, options) = unsafe { asked(array, flags) }?;
        Ok(dlpack::export_legacy(array, &options)?.into_raw())
    })
}

/// Imports a tensor.
///
/// # Safety
///
/// `tensor` is null, or the contract of [`dlpack::import_versioned`] holds for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_dlpack(
    tensor: *mut DLManagedTensorVersioned,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        if tensor.is_null() {
            return Err(Failure::null("tensor"));
        }
        // SAFETY: `tensor` is not null by the check above, so `# Safety` says that the contract of
        // `import_versioned` holds for it.
        hand_over_array(unsafe { dlpack::import_versioned(tensor) }?)
    })
}

/// Imports a tensor of the legacy struct, read-only.
///
/// # Safety
///
/// `tensor` is null, or the contract of [`dlpack::import_legacy`] holds for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_dlpack_legacy(
    tensor: *mut DLManagedTensor,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        if tensor.is_null() {
            return Err(Failure::null("tensor"));
        }
        // SAFETY: `tensor` is not null by the check above, so `# Safety` says that the contract of
        // `import_legacy` holds for it.
        hand_over_array(unsafe { dlpack::import_legacy(tensor) }?)
    })
}
