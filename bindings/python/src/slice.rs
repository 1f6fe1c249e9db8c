//! The bounds of Python's slices, read where the slice keeps them: `PySlice_Unpack` takes three
//! times as long for integers.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::layout::AxisSlice;
use pyo3::ffi;

use crate::direct::integer;

/// The distances of `start`, `stop` and `step` in a slice, which its type publishes as members; 0
/// if it does not.
static BOUNDS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// `_Py_T_OBJECT`: the member is a reference to an object.
const OBJECT: c_int = 6;

/// Finds the members of the type of slices. The caller holds the GIL.
pub(crate) fn find_bounds() {
    let slices = &raw mut ffi::PySlice_Type;
    // SAFETY: `slices` is a type of the interpreter, which this function accepts from Python 3.10
    // on, and the GIL is held.
    let members = unsafe { ffi::PyType_GetSlot(slices, ffi::Py_tp_members) };
    let mut next = members.cast::<ffi::PyMemberDef>();
    while !next.is_null() {
        // SAFETY: `tp_members` is an array that ends with an entry without a name, which ends this
        // loop.
        let member = unsafe { &*next };
        if member.name.is_null() {
            return;
        }
        // SAFETY: a member's name is a C string that lives as long as the type.
        let name = unsafe { CStr::from_ptr(member.name) };
        let bound = [c"start", c"stop", c"step"].iter().position(|&bound| bound == name);
        if let (Some(bound), Ok(offset)) = (bound, usize::try_from(member.offset))
            && member.type_code == OBJECT
        {
            BOUNDS[bound].store(offset, Ordering::Relaxed);
        }
        // SAFETY: this entry has a name, so another one follows it.
        next = unsafe { next.add(1) };
    }
}

/// The range of a slice whose bounds are `None` or integers of 64 bits; `None` for other slices.
///
/// # Safety
///
/// 1. `slice` is a live object of the type `slice` itself.
/// 2. This thread holds the GIL.
#[inline(always)]
pub(crate) unsafe fn range(slice: *mut ffi::PyObject) -> Option<AxisSlice> {
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `bound`.
    let start = unsafe { bound(slice, 0) }?;
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `bound`.
    let stop = unsafe { bound(slice, 1) }?;
    // SAFETY: clauses 1 and 2 of `# Safety` are those of `bound`.
    let step = unsafe { bound(slice, 2) }?.unwrap_or(1);
    (step != 0).then_some(AxisSlice::Range { start, stop, step })
}

/// # Safety
///
/// 1. `slice` is a live object of the type `slice` itself.
/// 2. This thread holds the GIL.
#[inline(always)]
unsafe fn bound(slice: *mut ffi::PyObject, which: usize) -> Option<Option<isize>> {
    let offset = BOUNDS[which].load(Ordering::Relaxed);
    if offset == 0 {
        return None;
    }
    let place = slice.wrapping_byte_add(offset).cast::<*mut ffi::PyObject>();
    // SAFETY: clause 1 of `# Safety`: by its type, a slice has a reference to an object at this
    // offset.
    let bound = unsafe { place.read() };
    // SAFETY: `Py_None` returns the address of the immortal singleton; `slice` exists, so the
    // interpreter is initialised.
    if ptr::eq(bound, unsafe { ffi::Py_None() }) {
        return Some(None);
    }
    // SAFETY: clause 1 of `integer`: a slice never changes and holds references to its bounds,
    // which are not null; clause 2 of `# Safety`: the GIL is held.
    unsafe { integer(bound) }.map(Some)
}
