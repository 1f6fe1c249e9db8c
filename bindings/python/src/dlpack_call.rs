//! `__dlpack__` as most consumers call it: an array on the host, for a version that they support.
//!
//! Such a call makes no object but the capsule. Every other call takes the way of all methods
//! ([`call`](crate::type_table::call)), which also finds the error of a call that this one leaves.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossdock::bindings::dlpack::ExportOptions;
use crossdock::bindings::dlpack::abi::{DLPackVersion, VERSION};
use crossdock::memory::{LeaseKind, Place};
use crossdock::view::Synchronization;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::direct::{integer, tuple_item, tuple_len};
use crate::dlpack::versioned_capsule;
use crate::entry::{Called, fail};
use crate::errors;
use crate::object::{Own, this};
use crate::type_table::{TypeTable, call};

/// The names of the arguments, interned; the version is the last. Null before [`note_names`].
static NAMES: [AtomicPtr<ffi::PyObject>; 4] = [const { AtomicPtr::new(ptr::null_mut()) }; 4];

/// Keeps the names of the arguments for comparisons by address.
pub(crate) fn note_names(py: Python<'_>) {
    for (place, name) in NAMES.iter().zip(["stream", "dl_device", "copy", "max_version"]) {
        // The module is in use until the process ends.
        place.store(PyString::intern(py, name).unbind().into_ptr(), Ordering::Relaxed);
    }
}

/// `__dlpack__`, which is method `METHOD` of the table.
///
/// # Safety
///
/// 1. The interpreter calls this as a method with `METH_FASTCALL | METH_KEYWORDS` of the type, with
///    the GIL held until it returns.
pub(crate) unsafe extern "C" fn export<T: TypeTable, const METHOD: usize>(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this method with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 1 of `# Safety`: the interpreter checks that `object` is an instance of the
    // type that has this method.
    let this = unsafe { this(object) };
    // SAFETY: clauses 1 and 2 of `version_alone`: the flags make the interpreter pass arguments and
    // names in this form, with the GIL held (clause 1 of `# Safety`).
    let version = if count == 0 { unsafe { version_alone(args, names) } } else { None };
    if let Some(version) = version
        && let Some(made) = called.enter_fast(|py| lend(py, this, version))
    {
        return made;
    }
    // SAFETY: clause 1 of `call` is clause 1 of `# Safety`.
    unsafe { call::<T, METHOD>(object, args, count, names) }
}

/// A capsule on an array of the host, or null with an exception. `None` if the usual way decides.
#[inline(always)]
fn lend(py: Python<'_>, this: &Own, version: DLPackVersion) -> Option<*mut ffi::PyObject> {
    let array = &this.array;
    if array.place() != Place::CPU {
        return None;
    }
    let access = if array.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share };
    // SAFETY: the host has no stream.
    if let Err(error) = unsafe { Synchronization::Host.order(array, access) } {
        return fail(|_| errors::refusal(&error));
    }
    // SAFETY: DLPack 1.0 binds consumers to the read-only flag. `trust_readonly` documents which
    // consumers write nevertheless.
    let options = unsafe { ExportOptions::new().ordered().max_version(version).trust_readonly() };
    let made = this.kept.lend(array, &options).ok()?;
    versioned_capsule(py, made)
}

/// The version that a consumer supports, if the arguments say nothing else and this library writes
/// a struct for it.
///
/// # Safety
///
/// 1. `names` is null or a live tuple, and `args` points to a live object for each name.
/// 2. This thread holds the GIL.
#[inline(always)]
unsafe fn version_alone(args: *const *mut ffi::PyObject, names: *mut ffi::PyObject) -> Option<DLPackVersion> {
    if names.is_null() {
        return None;
    }
    let mut version = None;
    // SAFETY: clause 1 of `tuple_len`: `names` is alive, and the GIL is held (clauses 1 and 2 of
    // `# Safety`).
    let count = unsafe { tuple_len(names) }?;
    for position in 0..count {
        // SAFETY: clauses 1 and 2 of `tuple_item`: a live tuple, which has this item.
        let name = unsafe { tuple_item(names, position) };
        let argument = args.wrapping_add(position);
        // SAFETY: clause 1 of `# Safety`: there is an argument for each name.
        let value = unsafe { argument.read() };
        let known = NAMES.iter().position(|known| ptr::eq(known.load(Ordering::Relaxed), name))?;
        // SAFETY: `Py_None` returns the address of the immortal singleton.
        let is_none = ptr::eq(value, unsafe { ffi::Py_None() });
        if known + 1 == NAMES.len() {
            // SAFETY: clauses 1 and 2 of `pair` are clauses 1 and 2 of `# Safety`.
            let [major, minor] = unsafe { pair(value) }?;
            version = Some(DLPackVersion { major, minor });
        } else if !is_none {
            return None;
        }
    }
    version.filter(|version| version.major >= VERSION.major)
}

/// A pair of numbers.
///
/// # Safety
///
/// 1. `object` is a live object.
/// 2. This thread holds the GIL.
#[inline(always)]
unsafe fn pair(object: *mut ffi::PyObject) -> Option<[u32; 2]> {
    // SAFETY: clause 1 of `tuple_len`: a live object, and the GIL is held (clauses 1 and 2 of
    // `# Safety`).
    if unsafe { tuple_len(object) } != Some(2) {
        return None;
    }
    let number = |position| {
        // SAFETY: clauses 1 and 2 of `tuple_item`: a live tuple of two items (checked above), of
        // which this is the first or second.
        let item = unsafe { tuple_item(object, position) };
        // SAFETY: clause 1 of `integer`: the tuple keeps its item alive, and the GIL is held.
        let number = unsafe { integer(item) }?;
        u32::try_from(number).ok()
    };
    Some([number(0)?, number(1)?])
}
