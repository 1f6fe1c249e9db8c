//! Long work without the interpreter: other threads of Python's run meanwhile.

use crossdock::DArray;
use pyo3::prelude::*;

use crate::entry::Away;

/// So many bytes take longer to be moved than the interpreter takes to be let go and to be taken again.
const MANY: usize = 64 << 10;

/// Runs `work` on an array, without the interpreter where it has many bytes.
///
/// It works on a handle of its own, since the object that has the array is touched by threads that hold the interpreter alone.
pub(crate) fn detached<R: Send>(py: Python<'_>, array: &DArray, work: impl FnOnce(&DArray) -> R + Send) -> R {
    if array.nbytes() < MANY {
        return work(array);
    }
    let array = array.clone();
    away(py, move || work(&array))
}

/// As [`detached`], for two arrays.
pub(crate) fn both_detached<R: Send>(
    py: Python<'_>,
    [one, other]: [&DArray; 2],
    work: impl FnOnce(&DArray, &DArray) -> R + Send,
) -> R {
    if one.nbytes().max(other.nbytes()) < MANY {
        return work(one, other);
    }
    let (one, other) = (one.clone(), other.clone());
    away(py, move || work(&one, &other))
}

/// As [`detached`], for what will have so many bytes.
pub(crate) fn making<R: Send>(py: Python<'_>, nbytes: usize, work: impl FnOnce() -> R + Send) -> R {
    if nbytes < MANY { work() } else { away(py, work) }
}

fn away<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    let _away = Away::new();
    py.detach(work)
}
