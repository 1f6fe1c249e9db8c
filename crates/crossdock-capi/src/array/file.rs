//! Arrays in files.

use std::ffi::c_char;

use crossdock::exchange::files::{Format, SaveOptions};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::foreign::text;
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// The one array of a file, mapped where it lies there as it is.
///
/// # Safety
///
/// As the header says of texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_open(path: *const c_char, error: ErrorOut<'_>) -> Handle<XdArray> {
    // SAFETY: the caller's word.
    fallible(error, || hand_over_array(crossdock::open(unsafe { text(path, "path") }?)?))
}

/// Writes an array to a file of NumPy's.
///
/// # Safety
///
/// As the header says of texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_save_npy(
    array: Option<&XdArray>,
    path: *const c_char,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: the caller's word.
        SaveOptions::new().format(Format::Npy).save(unsafe { text(path, "path") }?, array)?;
        Ok(true)
    })
}
