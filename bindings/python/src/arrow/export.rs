//! Exports Arrow: `__arrow_c_schema__`, `__arrow_c_array__`, `__arrow_c_device_array__`.

use crossdock::array::CopyPolicy;
use crossdock::bindings::Advice;
use crossdock::bindings::arrow::abi::ArrowSchema;
use crossdock::bindings::arrow::{self, ExportOptions, Exported, ExportedStruct};
use crossdock::layout::Order;
use crossdock::view::Refusal;
use crossdock::{Casting, DArray};
use pyo3::exceptions::{PyBufferError, PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::Arguments;
use crate::capsule::{Boxed, boxed, mark_unwritten, pointer};
use crate::detach::detached;
use crate::errors;
use crate::words;

/// `__arrow_c_schema__()`: the type of the column that `__arrow_c_array__` exports. It fails where
/// that method fails.
pub(crate) fn schema<'py>(
    py: Python<'py>,
    array: &DArray,
    arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    schema_of(py, array, &ExportOptions::new())
}

/// `__arrow_c_array__(requested_schema=None)`.
pub(crate) fn array<'py>(
    py: Python<'py>,
    array: &DArray,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let requested = arguments.take("requested_schema");
    arguments.finish()?;
    array_of(py, array, &ExportOptions::new(), requested.as_ref())
}

/// `__arrow_c_device_array__(requested_schema=None, **kwargs)`. Other arguments belong to future
/// versions and are refused.
pub(crate) fn device_array<'py>(
    py: Python<'py>,
    array: &DArray,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let requested = arguments.take("requested_schema");
    if let Some(name) = arguments.others().next() {
        return Err(unknown(&name));
    }
    arguments.forgive_names();
    arguments.finish()?;
    device_array_of(py, array, &ExportOptions::new(), requested.as_ref())
}

#[cold]
fn unknown(name: &str) -> PyErr {
    PyNotImplementedError::new_err(format!("__arrow_c_device_array__() does not know the argument {name}"))
}

fn schema_of<'py>(py: Python<'py>, array: &DArray, options: &ExportOptions) -> PyResult<Bound<'py, PyAny>> {
    let exported = arrow::export_device(array, options).map_err(|refusal| refused(array, &refusal))?;
    let (schema, column) = exported.into_raw();
    // The capsule releases it.
    boxed(py, column)?;
    boxed(py, schema)
}

fn array_of<'py>(
    py: Python<'py>,
    array: &DArray,
    options: &ExportOptions,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (schema, column) = as_requested(array, options, requested, arrow::export)?.into_raw();
    let column = boxed(py, column)?;
    // The struct holds a Read lease, under which only a broken promise could change the memory.
    if !array.relies_on_promise() {
        mark_unwritten(&column)?;
    }
    Ok(PyTuple::new(py, [boxed(py, schema)?, column])?.into_any())
}

fn device_array_of<'py>(
    py: Python<'py>,
    array: &DArray,
    options: &ExportOptions,
    requested: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (schema, column) = as_requested(array, options, requested, arrow::export_device)?.into_raw();
    Ok(PyTuple::new(py, [boxed(py, schema)?, boxed(py, column)?])?.into_any())
}

/// A column of the type that a consumer requests, if its numbers fit that type: the request permits
/// the copy. Otherwise a column of the array's own type, as the specification permits; and an error
/// if the request is for other data.
fn as_requested<A: ExportedStruct>(
    array: &DArray,
    options: &ExportOptions,
    requested: Option<&Bound<'_, PyAny>>,
    export: fn(&DArray, &ExportOptions) -> Result<Exported<A>, Refusal>,
) -> PyResult<Exported<A>> {
    let exported = export(array, options).map_err(|refusal| refused(array, &refusal))?;
    let Some(requested) = requested.filter(|requested| !requested.is_none()) else { return Ok(exported) };
    // SAFETY: `requested` is an object, and this thread holds the GIL.
    let Some(wanted) = (unsafe { pointer::<ArrowSchema>(requested.as_ptr(), Some(ArrowSchema::NAME)) })
    else {
        let (name, of) = (ArrowSchema::NAME.to_string_lossy(), requested.get_type().qualname()?);
        return Err(PyTypeError::new_err(format!(
            "requested_schema is {of}, and no capsule of the name {name:?}"
        )));
    };
    // SAFETY: clause 1: the schema was exported just now. Clause 2: by the protocol, a capsule of
    // that name points to a schema, which lives while `requested` is referenced.
    let asked =
        unsafe { arrow::requested(exported.schema(), wanted) }.map_err(|error| errors::refusal(&error))?;
    let can_convert = array.dtype().as_scalar().is_some() && array.place().is_host();
    let Some(dtype) = asked.filter(|_| can_convert) else { return Ok(exported) };
    let cast = |array: &DArray| array.cast(&dtype, Order::RowMajor, Casting::Checked);
    match detached(requested.py(), array, cast) {
        Ok(converted) => export(&converted, options).map_err(|refusal| refused(array, &refusal)),
        // Numbers that do not fit are left for the consumer to find.
        Err(_) => Ok(exported),
    }
}

/// Why an array cannot be exported as a column, with advice if a tensor column can hold it.
#[cold]
fn refused(array: &DArray, refusal: &Refusal) -> PyErr {
    let error = errors::refused(refusal);
    let goes_whole = || arrow::export_device(array, &ExportOptions::new().whole()).is_ok();
    if refusal.advice() == Some(Advice::InsertAxisOrWhole) || !goes_whole() {
        return error;
    }
    Python::attach(|py| PyBufferError::new_err(format!("{}; {}", error.value(py), words::AS_ONE_TENSOR)))
}

/// An array as an Arrow column, with what the array itself cannot express: nulls and a name.
///
/// Made by :func:`to_arrow`. Any consumer of Arrow's PyCapsule interface can import it, any number
/// of times.
#[pyclass(frozen, module = "crossdock")]
pub(crate) struct ArrowColumn {
    array: DArray,
    options: ExportOptions,
}

impl ArrowColumn {
    pub(crate) fn new(
        array: &DArray,
        validity: Option<&DArray>,
        name: Option<String>,
        whole: bool,
        policy: CopyPolicy,
    ) -> PyResult<Self> {
        let mut options = ExportOptions::new().copy(policy);
        if let Some(mask) = validity {
            options = options.validity(mask.clone());
        }
        if let Some(name) = name {
            options = options.name(name);
        }
        if whole {
            options = options.whole();
        }
        // Fails now rather than at the first import, where the caller sees the reason. The trial
        // makes no copy: each import makes its own.
        let trial = arrow::export_device(array, &options.clone().copy(CopyPolicy::Never));
        match trial {
            Err(refusal) if policy == CopyPolicy::Never || refusal.would_copy().is_none() => {
                return Err(refused(array, &refusal));
            }
            _ => {}
        }
        Ok(Self { array: array.clone(), options })
    }
}

#[pymethods]
impl ArrowColumn {
    /// The type of the column, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        schema_of(py, &self.array, &self.options)
    }

    /// The type and the column, in capsules. If ``requested_schema`` asks for numbers of another
    /// type, they are converted if all fit, and otherwise exported as they are; a request for other
    /// data raises BufferError.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        array_of(py, &self.array, &self.options, requested_schema)
    }

    /// The type and the column on its device, in capsules.
    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        for (name, value) in kwargs.into_iter().flatten() {
            if !value.is_none() {
                return Err(unknown(&name.extract::<String>()?));
            }
        }
        device_array_of(py, &self.array, &self.options, requested_schema)
    }

    fn __repr__(&self) -> String {
        format!("ArrowColumn(shape={:?}, dtype={})", self.array.shape(), self.array.dtype())
    }
}
