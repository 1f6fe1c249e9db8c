//! Columns of Apache Arrow, exported and imported by the structs of its C Data and C Device
//! interfaces.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crossdock::exchange::protocol::arrow::{self, ExportOptions, Imported};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::Result;
use crate::export::{XD_EXPORT_WHOLE, policy_of};
use crate::foreign::{check_both, emptied, given, text};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// The options of an export.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
unsafe fn asked(name: *const c_char, flags: u32) -> Result<ExportOptions> {
    let mut options = ExportOptions::new().copy(policy_of(flags, XD_EXPORT_WHOLE)?);
    if flags & XD_EXPORT_WHOLE != 0 {
        options = options.whole();
    }
    if !name.is_null() {
        // SAFETY: `# Safety`: `name`, which is not null here, is a C string; `ExportOptions::name`
        // copies it during this call.
        options = options.name(unsafe { text(name, "name") }?);
    }
    Ok(options)
}

/// Exports an array by the C Data interface.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_to_arrow(
    array: Option<&XdArray>,
    name: *const c_char,
    flags: u32,
    schema: Option<&mut MaybeUninit<ArrowSchema>>,
    column: Option<&mut MaybeUninit<ArrowArray>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let array = array_of(array, "array")?;
        let (schema, column) = (given(schema, "schema")?, given(column, "column")?);
        // SAFETY: `# Safety` is the contract of `asked`: `name` is null or a C string that nothing
        // writes during the call.
        let lent = arrow::export(array, &unsafe { asked(name, flags) }?)?.into_raw();
        schema.write(lent.0);
        column.write(lent.1);
        Ok(true)
    })
}

/// Exports an array by the C Device interface.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_to_arrow_device(
    array: Option<&XdArray>,
    name: *const c_char,
    flags: u32,
    schema: Option<&mut MaybeUninit<ArrowSchema>>,
    column: Option<&mut MaybeUninit<ArrowDeviceArray>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let array = array_of(array, "array")?;
        let (schema, column) = (given(schema, "schema")?, given(column, "column")?);
        // SAFETY: `# Safety` is the contract of `asked`: `name` is null or a C string that nothing
        // writes during the call.
        let lent = arrow::export_device(array, &unsafe { asked(name, flags) }?)?.into_raw();
        schema.write(lent.0);
        column.write(lent.1);
        Ok(true)
    })
}

/// The imported column as an array. If C passes `validity`, nulls become an array of truth values
/// there.
fn taken(imported: Imported, validity: Option<&mut Handle<XdArray>>) -> Result<Handle<XdArray>> {
    let Some(validity) = validity else { return hand_over_array(imported.into_array()?) };
    let (array, valid) = imported.into_array_with_validity()?;
    let array = hand_over_array(array)?;
    *validity = valid.map(hand_over_array).transpose()?.flatten();
    Ok(array)
}

/// Imports a column.
///
/// # Safety
///
/// The contract of [`arrow::take_over`] holds for `schema` and `column`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_arrow(
    schema: *mut ArrowSchema,
    column: *mut ArrowArray,
    validity: Option<&mut MaybeUninit<Handle<XdArray>>>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let validity = emptied(validity, None);
        // SAFETY: `# Safety` is the contract of `take_over`, which accepts null for either struct
        // and releases the other.
        let imported = unsafe { arrow::take_over(schema, column) };
        check_both(schema, column, "column")?;
        taken(imported?, validity)
    })
}

/// Imports a column that may be on a device.
///
/// # Safety
///
/// The contract of [`arrow::take_over_device`] holds for `schema` and `column`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_arrow_device(
    schema: *mut ArrowSchema,
    column: *mut ArrowDeviceArray,
    validity: Option<&mut MaybeUninit<Handle<XdArray>>>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let validity = emptied(validity, None);
        // SAFETY: `# Safety` is the contract of `take_over_device`, which accepts null for either
        // struct and releases the other.
        let imported = unsafe { arrow::take_over_device(schema, column) };
        check_both(schema, column, "column")?;
        taken(imported?, validity)
    })
}

/// Copies the columns of a struct into records.
///
/// # Safety
///
/// The contract of [`arrow::take_over`] holds for `schema` and `column`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_copy_from_arrow(
    schema: *mut ArrowSchema,
    column: *mut ArrowArray,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: `# Safety` is the contract of `take_over`, which accepts null for either struct
        // and releases the other.
        let imported = unsafe { arrow::take_over(schema, column) };
        check_both(schema, column, "column")?;
        hand_over_array(imported?.into_records()?)
    })
}
