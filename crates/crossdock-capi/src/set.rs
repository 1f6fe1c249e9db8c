//! Sets of arrays and tables that another process holds.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use crossdock::exchange::protocol::hold::{self, Label, Set};

use crate::array::{XdArray, hand_over_array};
use crate::foreign::{emptied, given, string, text};
use crate::guard::{ErrorOut, answer, fallible};
use crate::handle::{Handle, hand_over};
use crate::table::reader::XdReader;

/// The set that another process of this user holds under a name.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_set_connect(name: *const c_char, error: ErrorOut<'_>) -> Handle<Set> {
    fallible(error, || {
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let label: Label = unsafe { text(name, "name") }?.parse()?;
        hand_over(hold::connect(&label)?)
    })
}

/// Frees a handle. Null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn xd_set_free(set: Handle<Set>) {
    answer(|| drop(set));
}

/// The name and version.
#[unsafe(no_mangle)]
pub extern "C" fn xd_set_label(set: Option<&Set>, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(given(set, "set")?.label().to_string()))
}

/// The number of names.
#[unsafe(no_mangle)]
pub extern "C" fn xd_set_len(set: Option<&Set>) -> usize {
    answer(|| set.map_or(0, Set::len))
}

/// Whether arrays or tables lie in mapped files.
#[unsafe(no_mangle)]
pub extern "C" fn xd_set_is_mapped(set: Option<&Set>) -> bool {
    answer(|| set.is_some_and(Set::is_mapped))
}

/// The name with this number.
#[unsafe(no_mangle)]
pub extern "C" fn xd_set_name(set: Option<&Set>, index: usize, error: ErrorOut<'_>) -> *mut c_char {
    fallible(error, || string(given(set, "set")?.nth_name(index)?.to_owned()))
}

/// The array of a name, in place.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_set_get(
    set: Option<&Set>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let set = given(set, "set")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        hand_over_array(set.get(unsafe { text(name, "name") }?)?)
    })
}

/// Whether a name is that of a table.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_set_is_table(
    set: Option<&Set>,
    name: *const c_char,
    is_table: Option<&mut MaybeUninit<bool>>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let is_table = emptied(is_table, false);
        let set = given(set, "set")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let name = unsafe { text(name, "name") }?;
        *given(is_table, "is_table")? = set.table_shape(name)?.is_some();
        Ok(true)
    })
}

/// The batches of the table of a name, in place.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_set_table(
    set: Option<&Set>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdReader> {
    fallible(error, || {
        let set = given(set, "set")?;
        // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call
        // only, while nothing writes it.
        let name = unsafe { text(name, "name") }?;
        XdReader::hand_over(Box::new(set.table(name)?.reader()))
    })
}
