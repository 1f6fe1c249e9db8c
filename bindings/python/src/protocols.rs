//! The order in which the protocols of an object are tried, and the error if none of them exports
//! its memory.
//!
//! | | | why here |
//! |---|---|---|
//! | 1 | PEP 3118 | describes almost all dtypes, and is released |
//! | 2 | `__buffer__` | the same, before 3.12, where the interpreter ignores the method |
//! | 3 | Pillow's images | Arrow, with the width, height and bands that it lacks |
//! | 4 | Arrow | describes dates, and promises constancy |
//! | 5 | DLPack | describes bfloat16 and devices, and is released |
//! | 6 | `__array_interface__` | describes nearly all NumPy dtypes; the object is kept |
//! | 7 | `__array_struct__` | the same, without the units of dates |
//! | 8 | `__array__` | returns a NumPy array, which is imported in turn |
//! | 9 | `__cuda_array_interface__` | describes CUDA memory; the object is kept |

use crossdock::DArray;
use crossdock::bindings::count_copied;
use crossdock::element::ScalarKind;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::arrow::Elements;
use crate::{
    arrow, buffer, dlpack, errors, interface, masked, memory, modules, numpy, pandas, pillow, python_buffer,
    words,
};

/// A protocol by which an object may lend its memory.
struct Protocol {
    name: &'static str,
    is_offered: fn(&Bound<'_, PyAny>) -> PyResult<bool>,
    lend: fn(&Bound<'_, PyAny>) -> Result<DArray, Refused>,
}

/// Why a protocol returned no array.
struct Refused {
    error: PyErr,
    /// Whether the remaining protocols are skipped: they would export the same numbers without
    /// their meaning.
    is_last: bool,
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Self { error, is_last: false }
    }
}

/// The protocols after the first one.
const OTHERS: &[Protocol] = &[
    Protocol {
        name: "__buffer__",
        is_offered: python_buffer::is_offered,
        lend: |object| Ok(python_buffer::lend(object)?),
    },
    Protocol { name: "Pillow", is_offered: pillow::is_offered, lend: |object| Ok(pillow::lend(object)?) },
    Protocol { name: "Arrow", is_offered: is_offered_plain_arrow, lend: lend_by_arrow },
    Protocol {
        name: "DLPack",
        is_offered: dlpack::is_offered,
        lend: |object| Ok(dlpack::import(object, None, None)?),
    },
    Protocol {
        name: "__array_interface__",
        is_offered: interface::is_offered,
        lend: |object| Ok(interface::lend(object)?),
    },
    Protocol {
        name: "__array_struct__",
        is_offered: interface::is_offered_struct,
        lend: |object| Ok(interface::lend_struct(object)?),
    },
    Protocol {
        name: "__array__",
        is_offered: numpy::is_offered,
        lend: |object| Ok(numpy::lend(object, lend)?),
    },
    Protocol {
        name: "__cuda_array_interface__",
        is_offered: interface::is_offered_cuda,
        lend: |object| Ok(interface::lend_cuda(object)?),
    },
];

fn is_offered_plain_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(arrow::is_offered(object)? && !pillow::is_offered(object)?)
}

fn lend_by_arrow(object: &Bound<'_, PyAny>) -> Result<DArray, Refused> {
    // A zero-copy import is exact even for nulls; only copies must respect them, and NaN may be
    // either.
    arrow::lend(object).map_err(|failure| {
        let is_last = matches!(failure, arrow::Failure::Meaning(_));
        Refused { error: failure.raise(), is_last }
    })
}

/// An array on an object's memory, by the first protocol that exports it.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    if let Some(array) = memory::lent(object) {
        return array;
    }
    if !buffer::is_offered(object) {
        return lend_by_others(object, None);
    }
    // Other protocols describe some elements for which buffers have no format.
    buffer::lend(object, None).or_else(|error| lend_by_others(object, Some(error)))
}

/// Like [`lend`], unless elements of the object are masked.
pub(crate) fn lend_unmasked(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let array = lend(object);
    masked::check(object)?;
    array
}

/// Like [`lend`], for an object whose buffer was refused with this error.
#[cold]
pub(crate) fn lend_without_buffer(object: &Bound<'_, PyAny>, refused: PyErr) -> PyResult<DArray> {
    lend_by_others(object, Some(refused))
}

/// An array in place, by the first of the protocols after PEP 3118 that gives one. `first` is the
/// error of PEP 3118, if the object was asked by it.
#[cold]
fn lend_by_others(object: &Bound<'_, PyAny>, first: Option<PyErr>) -> PyResult<DArray> {
    masked::check(object)?;
    let mut refused: Vec<(&str, PyErr)> = first.into_iter().map(|error| ("PEP 3118", error)).collect();
    // Classes have the attributes of their instances, and export nothing.
    let others = if object.is_instance_of::<PyType>() { &[] } else { OTHERS };
    for protocol in others {
        let lent = match (protocol.is_offered)(object) {
            Ok(true) => (protocol.lend)(object),
            Ok(false) => continue,
            // An attribute that raises, as of PyTorch's sparse tensors.
            Err(error) => Err(errors::producer(object.py(), protocol.name, error).into()),
        };
        match lent {
            Ok(array) => return Ok(array),
            Err(Refused { error, .. }) if errors::is_passed_on(object.py(), &error) => return Err(error),
            Err(Refused { error, is_last: true }) => return Err(error),
            Err(Refused { error, .. }) => refused.push((protocol.name, error)),
        }
    }
    Err(why(object, refused))
}

/// The error with the reason of each protocol.
#[cold]
fn why(object: &Bound<'_, PyAny>, mut refused: Vec<(&str, PyErr)>) -> PyErr {
    let py = object.py();
    let name = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
    match refused.len() {
        0 => PyTypeError::new_err(format!(
            "{name} shares no memory: it has neither a buffer (PEP 3118) nor {}; {}",
            "__dlpack__, __arrow_c_array__, __array_interface__ or __array__",
            instead(&modules::of_class(object))
        )),
        1 => refused.remove(0).1,
        _ => {
            let said = refused.iter().map(|(protocol, error)| format!("\n  {protocol}: {}", error.value(py)));
            let all: String = said.collect();
            let error =
                PyBufferError::new_err(format!("{name} shares no memory by any protocol that it has:{all}"));
            error.set_cause(py, Some(refused.remove(0).1));
            error
        }
    }
}

/// What to pass in place of an object without a protocol.
fn instead(module: &str) -> &'static str {
    match module {
        "torch.storage" => {
            "torch.asarray(storage, dtype=torch.uint8) is a tensor on the memory of an untyped storage"
        }
        _ if module.starts_with("scipy.sparse") => {
            "its toarray() copies all elements, and its data is an array of the stored ones"
        }
        _ => words::COPY_OF_ELEMENTS,
    }
}

fn is_float(array: &DArray) -> bool {
    matches!(
        array.dtype().as_scalar().map(|scalar| scalar.kind()),
        Some(ScalarKind::Float64 | ScalarKind::Float32)
    )
}

/// Whether an Arrow column has nulls, by an attribute, as in PyArrow, or by a method, as in Polars.
fn has_nulls(object: &Bound<'_, PyAny>) -> bool {
    let Ok(count) = object.getattr("null_count") else { return false };
    let count = if count.is_callable() { count.call0() } else { Ok(count) };
    count.and_then(|count| count.extract::<u64>()).is_ok_and(|count| count > 0)
}

/// An array on a copy that the object itself makes, and that the caller owns. `None` if it makes
/// none.
pub(crate) fn copied(object: &Bound<'_, PyAny>) -> PyResult<Option<DArray>> {
    if object.is_instance_of::<PyType>() {
        return Ok(None);
    }
    let (mut nulls, mut unknown) = (None, None);
    if is_offered_plain_arrow(object)? {
        match arrow::copied(object)? {
            Elements::Copied(array) => return Ok(Some(array)),
            Elements::Nulls(dtype, error) => nulls = Some((dtype, error)),
            Elements::Unknown(why) => unknown = why,
        }
    }
    let mut array = None;
    if interface::is_offered(object)? {
        array = interface::copied(object).unwrap_or(None);
    }
    if array.is_none() && numpy::is_offered(object)? {
        array = match (numpy::copied(object, lend), unknown.take()) {
            (Ok(array), why) => {
                unknown = why;
                Some(array)
            }
            (Err(error), why) => return Err(why.unwrap_or(error)),
        };
    }
    if let Some((dtype, error)) = nulls
        && array.as_ref().is_some_and(|array| *array.dtype() != dtype)
    {
        return Err(error);
    }
    // For dictionary-encoded columns and the like, `__array__` may return floats for integers among
    // nulls; and PyArrow turns nulls into entries.
    if let Some(made) = &array {
        pandas::check_copy(object, made)?;
    }
    if let (Some(made), Some(why)) = (&array, unknown)
        && (is_float(made) || has_nulls(object))
    {
        return Err(PyBufferError::new_err(format!(
            "{}; its __array__() makes {} of it, in which nulls and large integers would be lost",
            why.value(object.py()),
            made.dtype()
        )));
    }
    // The producer made this copy for the import.
    count_copied(array.as_ref().map_or(0, DArray::nbytes));
    Ok(array)
}
