//! Releases the GIL during long work, so that other Python threads run meanwhile.
//!
//! Reasons: `DESIGN.md`, "The GIL is released only for long work".

use crossdock::DArray;
use pyo3::prelude::*;

/// Moving this many bytes takes longer than releasing and reacquiring the GIL.
const MANY: usize = 64 << 10;

/// Runs `work` on an array, with the GIL released if the array is large.
///
/// `work` gets a handle of its own, since only threads that hold the GIL may access the object that
/// owns the array.
pub(crate) fn detached<R: Send>(py: Python<'_>, array: &DArray, work: impl FnOnce(&DArray) -> R + Send) -> R {
    if array.nbytes() < MANY {
        return work(array);
    }
    let array = array.clone();
    py.detach(move || work(&array))
}

/// Like [`detached`], for two arrays.
pub(crate) fn both_detached<R: Send>(
    py: Python<'_>,
    [one, other]: [&DArray; 2],
    work: impl FnOnce(&DArray, &DArray) -> R + Send,
) -> R {
    if one.nbytes().max(other.nbytes()) < MANY {
        return work(one, other);
    }
    let (one, other) = (one.clone(), other.clone());
    py.detach(move || work(&one, &other))
}

/// Like [`detached`], for a result of this many bytes.
pub(crate) fn making<R: Send>(py: Python<'_>, nbytes: usize, work: impl FnOnce() -> R + Send) -> R {
    if nbytes < MANY { work() } else { py.detach(work) }
}
