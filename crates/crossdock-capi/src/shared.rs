//! Memory that other processes map.

use std::ffi::{CStr, c_char};
use std::mem;

use crossdock::buffer::Buffer;

use crate::array::{XdArray, array_of, hand_over_array, order_of};
use crate::foreign::given;
use crate::guard::{ErrorOut, fallible};
use crate::handle::{Handle, hand_over};

/// New shared memory, all zero.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_buffer_shared(
    nbytes: usize,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<Buffer> {
    fallible(error, || {
        if name.is_null() {
            return hand_over(Buffer::shared(nbytes)?);
        }
        // SAFETY: `# Safety`: not null here, so a C string that nothing writes during the call.
        hand_over(Buffer::shared_named(nbytes, unsafe { CStr::from_ptr(name) })?)
    })
}

/// The array in new shared memory.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_to_shared(
    array: Option<&XdArray>,
    order: i32,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || hand_over_array(array_of(array, "array")?.to_shared(order_of(order)?)?))
}

/// No process can map the memory for writing any more.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_deny_new_writers(buffer: Option<&Buffer>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        given(buffer, "buffer")?.deny_new_writers()?;
        Ok(true)
    })
}

/// Seals shared memory against all writes.
#[unsafe(no_mangle)]
pub extern "C" fn xd_buffer_seal(buffer: Option<&mut Buffer>, error: ErrorOut<'_>) -> bool {
    fallible(error, || {
        let buffer = given(buffer, "buffer")?;
        let taken = mem::replace(buffer, Buffer::zeroed(0)?);
        match taken.into_sealed() {
            Ok(sealed) => *buffer = sealed,
            Err(rejected) => {
                *buffer = rejected.value;
                return Err(rejected.error.into());
            }
        }
        Ok(true)
    })
}
