//! Arrays in files.

use std::ffi::c_char;

use crossdock::exchange::files::{Format, SaveOptions};

use crate::array::{XdArray, array_of, hand_over_array};
use crate::foreign::text;
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// The only array of a file, mapped where the file stores its elements in place.
///
/// # Safety
///
/// `path` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_open(path: *const c_char, error: ErrorOut<'_>) -> Handle<XdArray> {
    // SAFETY: `# Safety`: `path` is null or a C string; the result is used during this call only,
    // while nothing writes it.
    fallible(error, || hand_over_array(crossdock::open(unsafe { text(path, "path") }?)?))
}

/// Writes an array to a file in NumPy's format.
///
/// # Safety
///
/// `path` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_save_npy(
    array: Option<&XdArray>,
    path: *const c_char,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let array = array_of(array, "array")?;
        // SAFETY: `# Safety`: `path` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        SaveOptions::new().format(Format::Npy).save(unsafe { text(path, "path") }?, array)?;
        Ok(true)
    })
}
