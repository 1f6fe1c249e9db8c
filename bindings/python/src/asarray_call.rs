//! `asarray(x)` of an object with a buffer and no other argument, without the objects and the
//! bookkeeping of PyO3's functions.

use pyo3::{Borrowed, ffi};

use crate::entry::Called;
use crate::functions::asarray_without_buffer;
use crate::object::allocate_with;
use crate::{buffer, modules};

/// `asarray` of one object, without a name. `None` if PyO3's function decides.
///
/// # Safety
///
/// 1. The interpreter calls a function with `METH_FASTCALL | METH_KEYWORDS`, whose arguments these
///    are, with the GIL held until it returns.
pub(crate) unsafe fn call(
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> Option<*mut ffi::PyObject> {
    if count != 1 || !names.is_null() {
        return None;
    }
    // SAFETY: clause 1 of `# Safety`: the interpreter called this function with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 1 of `# Safety`: `args` points to one live object.
    let object = unsafe { args.read() };
    called.enter_fast(|py| {
        // SAFETY: clause 1 of `# Safety`: the object is alive during the call; `py` proves that the
        // GIL is held.
        let object = unsafe { Borrowed::from_ptr(py, object) };
        if !modules::has_static_class(&object) || !buffer::is_offered(&object) {
            return None;
        }
        let made = allocate_with(py, |place| buffer::lend_to(place, &object, None));
        Some(
            made.unwrap_or_else(|error| {
                called.enter(|_| Ok(asarray_without_buffer(&object, error)?.into_ptr()))
            }),
        )
    })
}
