//! Columns of Apache Arrow, lent and borrowed by the structs of its C Data and C Device interfaces.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::exchange::protocol::arrow::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crossdock::exchange::protocol::arrow::{self, ExportOptions, Imported};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::{Failure, Result};
use crate::export::{XD_EXPORT_WHOLE, policy_of};
use crate::foreign::{emptied, given, text};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// The options of an export.
///
/// # Safety
///
/// The name is null or a text.
unsafe fn asked(name: *const c_char, flags: u32) -> Result<ExportOptions> {
    let mut options = ExportOptions::new().copy(policy_of(flags, XD_EXPORT_WHOLE)?);
    if flags & XD_EXPORT_WHOLE != 0 {
        options = options.whole();
    }
    if !name.is_null() {
        // SAFETY: the caller's word.
        options = options.name(unsafe { text(name, "name") }?);
    }
    Ok(options)
}

/// Lends an array by the C Data interface.
///
/// # Safety
///
/// As the header says of texts.
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
        // SAFETY: the caller's word.
        let lent = arrow::export(array, &unsafe { asked(name, flags) }?)?.into_raw();
        schema.write(lent.0);
        column.write(lent.1);
        Ok(true)
    })
}

/// Lends an array by the C Device interface.
///
/// # Safety
///
/// As the header says of texts.
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
        // SAFETY: the caller's word.
        let lent = arrow::export_device(array, &unsafe { asked(name, flags) }?)?.into_raw();
        schema.write(lent.0);
        column.write(lent.1);
        Ok(true)
    })
}

/// What was taken over, as an array. Where C has a place for them, nulls are told by truth values beside it.
fn taken(imported: Imported, validity: Option<&mut Handle<XdArray>>) -> Result<Handle<XdArray>> {
    let Some(validity) = validity else { return hand_over_array(imported.into_array()?) };
    let (array, valid) = imported.into_array_with_validity()?;
    let array = hand_over_array(array)?;
    *validity = valid.map(hand_over_array).transpose()?.flatten();
    Ok(array)
}

/// Neither of the two structs is there to be released.
fn check_any<S, A>(schema: *mut S, column: *mut A) -> Result<()> {
    if schema.is_null() && column.is_null() { Err(Failure::null("schema")) } else { Ok(()) }
}

/// Takes a column over.
///
/// # Safety
///
/// As [`arrow::take_over`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_arrow(
    schema: *mut ArrowSchema,
    column: *mut ArrowArray,
    validity: Option<&mut MaybeUninit<Handle<XdArray>>>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let validity = emptied(validity, None);
        check_any(schema, column)?;
        // SAFETY: the caller's word. (Where one is null, the other is released.)
        taken(unsafe { arrow::take_over(schema, column) }?, validity)
    })
}

/// Takes a column over that may be on a device.
///
/// # Safety
///
/// As [`arrow::take_over_device`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_arrow_device(
    schema: *mut ArrowSchema,
    column: *mut ArrowDeviceArray,
    validity: Option<&mut MaybeUninit<Handle<XdArray>>>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let validity = emptied(validity, None);
        check_any(schema, column)?;
        // SAFETY: the caller's word. (Where one is null, the other is released.)
        taken(unsafe { arrow::take_over_device(schema, column) }?, validity)
    })
}

/// The columns of a struct as records, by a copy.
///
/// # Safety
///
/// As [`arrow::take_over`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_copy_from_arrow(
    schema: *mut ArrowSchema,
    column: *mut ArrowArray,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        check_any(schema, column)?;
        // SAFETY: the caller's word. (Where one is null, the other is released.)
        hand_over_array(unsafe { arrow::take_over(schema, column) }?.into_records()?)
    })
}
