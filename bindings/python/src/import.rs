//! Arrays of the elements of other objects: zero-copy, or copied if the caller permits it.

use crossdock::DArray;
use crossdock::array::CopyPolicy;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::copies::copied;
use crate::{arrow, masked, nested, protocols};

/// An array, and why it is a copy if none was requested.
pub(crate) struct ImportedArray {
    pub(crate) array: DArray,
    pub(crate) copied_because: Option<String>,
}

/// An array of an object's elements: zero-copy, or a copy if the policy says so.
pub(crate) fn take(object: &Bound<'_, PyAny>, policy: CopyPolicy) -> PyResult<ImportedArray> {
    // The attempt to lend would leave nothing to copy.
    if policy != CopyPolicy::Never && arrow::is_read_once(object)? {
        let error = PyBufferError::new_err("the chunks of a stream lie apart, and can be read once");
        return take_otherwise(object, policy, Err(error));
    }
    take_otherwise(object, policy, protocols::lend(object))
}

/// Like [`take`], for an object whose buffer was already requested and refused.
#[cold]
pub(crate) fn take_without_buffer(
    object: &Bound<'_, PyAny>,
    policy: CopyPolicy,
    error: PyErr,
) -> PyResult<ImportedArray> {
    take_otherwise(object, policy, protocols::lend_without_buffer(object, error))
}

fn take_otherwise(
    object: &Bound<'_, PyAny>,
    policy: CopyPolicy,
    in_place: PyResult<DArray>,
) -> PyResult<ImportedArray> {
    masked::check(object)?;
    let array = match (in_place, policy) {
        (Ok(array), CopyPolicy::Always) => copied(object.py(), &array)?,
        (Ok(array), _) => array,
        (Err(error), CopyPolicy::Never) => return Err(error),
        (Err(error), policy) => {
            // An object without shareable memory may still have elements.
            let array = match protocols::copied(object)? {
                // A requested copy must be writable.
                Some(array) if policy == CopyPolicy::Always && array.is_readonly() => {
                    copied(object.py(), &array)?
                }
                Some(array) => array,
                None => nested::read(object, None).map_err(|_| error.clone_ref(object.py()))?,
            };
            let because = (policy == CopyPolicy::IfNeeded).then(|| error.value(object.py()).to_string());
            return Ok(ImportedArray { array, copied_because: because });
        }
    };
    Ok(ImportedArray { array, copied_because: None })
}
