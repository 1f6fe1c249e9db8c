//! Pickles: the bytes that an array covers, out of band if the protocol supports it, and a text
//! that describes the layout.

use crossdock::DArray;
use crossdock::bindings::description::{Description, Frame};
use crossdock::layout::Order;
use crossdock::memory::DeviceKind;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyTuple};

use crate::arguments::Arguments;
use crate::copies::bytes_of;
use crate::detach::detached;
use crate::errors::{self, Raise, exception};
use crate::object::{Own, wrap};
use crate::protocols;

/// For processes of `multiprocessing`.
const SHARED: &str = ", or send a copy that they map: `crossdock.shared(x, device=x.device)`";

/// `__reduce_ex__(protocol)`.
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    this: &Own,
    mut arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let protocol = arguments.need("protocol")?;
    arguments.finish()?;
    let place = this.array.place();
    if !place.is_host() {
        return Err(PyBufferError::new_err(format!(
            "a pickle has bytes of the CPU, and this array is on {place}; copy it with `to_device(\"cpu\")`{}",
            if place.kind() == DeviceKind::CUDA { SHARED } else { "" }
        )));
    }
    let is_in_place = protocol.extract::<i32>()? >= 5;
    let framed = if is_in_place { Frame::new } else { Frame::without_gaps };
    let frame = detached(py, &this.array, framed).raise()?;
    let text = frame.description().to_portable_text().raise()?;
    let bytes = frame.bytes().raise()?;
    let state = if is_in_place {
        (text, out_of_band(py, bytes)?).into_pyobject(py)?
    } else {
        // An unpickled array owns its memory, and is writable unless the bytes are read-only.
        let writable = !bytes.is_readonly();
        (text, bytes_of(py, &bytes)?, writable).into_pyobject(py)?
    };
    let whole = PyTuple::new(py, [rebuild_function(py)?.clone(), state.into_any()])?;
    Ok(whole.into_any())
}

/// The function that a pickle calls, by its name in the package.
fn rebuild_function<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static REBUILD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let found = REBUILD
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("crossdock")?.getattr("_rebuild")?.unbind()))?;
    Ok(found.bind(py))
}

/// The bytes as an out-of-band buffer (`PickleBuffer`), zero-copy.
fn out_of_band<'py>(py: Python<'py>, bytes: DArray) -> PyResult<Bound<'py, PyAny>> {
    static PICKLE_BUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    PICKLE_BUFFER.import(py, "pickle", "PickleBuffer")?.call1((wrap(py, bytes)?,))
}

/// The array of a pickle, on the bytes that came with it: zero-copy, or in new memory. All
/// arguments are checked.
#[pyfunction]
#[pyo3(signature = (text, data, copy=false, /))]
pub(crate) fn _rebuild<'py>(
    py: Python<'py>,
    text: &str,
    data: &Bound<'py, PyAny>,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let lent = protocols::lend_unmasked(data)?;
    if lent.order().is_none() {
        let text = format!(
            "the bytes of an array have gaps: shape {:?}, strides {:?}",
            lent.shape(),
            lent.strides()
        );
        return Err(PyBufferError::new_err(text));
    }
    let own = |lent: &DArray| lent.to_order(Order::RowMajor);
    let lent = if copy { detached(py, &lent, own).raise()? } else { lent };
    let (bytes, _) = lent.buffer().raise()?;
    drop(lent);
    let array =
        text.parse().and_then(|described: Description| Frame::from_parts(bytes, described).into_array());
    wrap(py, array.map_err(|error| damaged(&error))?)
}

/// The error for arguments that `reduce` never writes.
fn damaged(error: &crossdock::Error) -> PyErr {
    match error.is_out_of_memory() || error.is_exhausted() {
        true => exception(error),
        false => PyValueError::new_err(format!("the pickle of an array is damaged: {}", errors::text(error))),
    }
}
