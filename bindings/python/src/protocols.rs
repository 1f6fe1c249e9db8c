//! Which protocols an object is asked by, in which order, and what is said where none of them gives its memory.
//!
//! | | | why here |
//! |---|---|---|
//! | 1 | PEP 3118 | says all types but a few, and is given back |
//! | 2 | `__buffer__` | the same, of objects that the interpreter does not know as exporters (before 3.12) |
//! | 3 | Pillow's images | Arrow, with the width, the height and the bands that it does not say |
//! | 4 | Arrow | says dates, and promises constancy |
//! | 5 | DLPack | says bfloat16 and devices, and is given back |
//! | 6 | `__array_interface__` | says nearly all types of NumPy's; the object is kept |
//! | 7 | `__array_struct__` | the same, without the units of dates |
//! | 8 | `__array__` | gives an array of NumPy's, which is asked in turn |
//! | 9 | `__cuda_array_interface__` | says memory of CUDA's, of which the driver knows the device; the object is kept |

use crossdock::DArray;
use crossdock::memory::count_copied;
use pyo3::exceptions::{PyBufferError, PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::{arrow, dlpack, interface, numpy, pillow, python_buffer};

/// A protocol by which an object may lend its memory.
struct Protocol {
    name: &'static str,
    is_offered: fn(&Bound<'_, PyAny>) -> PyResult<bool>,
    lend: fn(&Bound<'_, PyAny>) -> PyResult<DArray>,
}

/// Those behind the first one.
const OTHERS: &[Protocol] = &[
    Protocol { name: "__buffer__", is_offered: python_buffer::is_offered, lend: python_buffer::lend },
    Protocol { name: "Pillow", is_offered: pillow::is_offered, lend: pillow::lend },
    Protocol { name: "Arrow", is_offered: is_offered_plain_arrow, lend: arrow::lend },
    Protocol { name: "DLPack", is_offered: dlpack::is_offered, lend: lend_by_dlpack },
    Protocol { name: "__array_interface__", is_offered: interface::is_offered, lend: interface::lend },
    Protocol {
        name: "__array_struct__",
        is_offered: interface::is_offered_struct,
        lend: interface::lend_struct,
    },
    Protocol { name: "__array__", is_offered: numpy::is_offered, lend: numpy::lend },
    Protocol {
        name: "__cuda_array_interface__",
        is_offered: interface::is_offered_cuda,
        lend: interface::lend_cuda,
    },
];

fn is_offered_plain_arrow(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(arrow::is_offered(object)? && !pillow::is_offered(object)?)
}

fn lend_by_dlpack(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    dlpack::import(object, None, None)
}

/// An array in place, by the first protocol that gives one, behind that of buffers. `first` is why that gave none, if it was asked.
#[cold]
pub(crate) fn lend(object: &Bound<'_, PyAny>, first: Option<PyErr>) -> PyResult<DArray> {
    let mut refused: Vec<(&str, PyErr)> = first.into_iter().map(|error| ("PEP 3118", error)).collect();
    // Classes have the attributes that their objects have, and lend nothing.
    let others = if object.is_instance_of::<PyType>() { &[] } else { OTHERS };
    for protocol in others {
        if !(protocol.is_offered)(object)? {
            continue;
        }
        match (protocol.lend)(object) {
            Ok(array) => return Ok(array),
            // Whoever interrupts is not asking for another protocol.
            Err(error) if !error.is_instance_of::<PyException>(object.py()) => return Err(error),
            Err(error) => refused.push((protocol.name, error)),
        }
    }
    Err(why(object, refused))
}

/// What each of the protocols said.
#[cold]
fn why(object: &Bound<'_, PyAny>, mut refused: Vec<(&str, PyErr)>) -> PyErr {
    let py = object.py();
    let name = object.get_type().qualname().map(|name| name.to_string()).unwrap_or_default();
    match refused.len() {
        0 => PyTypeError::new_err(format!(
            "{name} shares no memory: it has neither a buffer (PEP 3118) nor {}; crossdock.array copies what has elements",
            "__dlpack__, __arrow_c_array__, __array_interface__ or __array__"
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

/// An array on a copy that the object itself makes, which is nobody else's. None where it makes none.
pub(crate) fn copied(object: &Bound<'_, PyAny>) -> PyResult<Option<DArray>> {
    if object.is_instance_of::<PyType>() {
        return Ok(None);
    }
    if arrow::is_offered(object)?
        && let Ok(Some(records)) = arrow::records(object)
    {
        return Ok(Some(records));
    }
    let mut array = None;
    if interface::is_offered(object)? {
        array = interface::copied(object).unwrap_or(None);
    }
    if array.is_none() && numpy::is_offered(object)? {
        array = Some(numpy::copied(object)?);
    }
    // Made by others, for us.
    count_copied(array.as_ref().map_or(0, DArray::nbytes));
    Ok(array)
}
