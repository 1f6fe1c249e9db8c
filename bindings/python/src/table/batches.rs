//! The batches of Arrow IPC files and streams, one at a time.

use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crossdock::bindings::arrow;
use crossdock::exchange::files::OpenOptions;
use crossdock::exchange::files::arrow_ipc::IpcStream;
use crossdock::table::{Field, RecordBatchReader, Schema};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyString;

use crate::capsule::boxed;
use crate::parameters::truth_of;
use crate::table::export;
use crate::table::table_object::Table;
use crate::words::words;
use crate::{descriptors, file_errors};

/// How many bytes are read at once for the small parts of a stream.
const BUFFER: usize = 64 << 10;

type Source = Box<dyn RecordBatchReader + Send>;

/// The batches of an Arrow IPC file or stream, one at a time.
///
/// Parameters
/// ----------
/// source : str, os.PathLike or file
///     A path (``.arrow``, ``.feather``, ``.arrows``), which is mapped; or an object with ``read``
///     that gives the bytes of a stream: a pipe, a socket's file, the body of a response. Each
///     batch of a stream is read to new memory.
/// guarded : bool, default False
///     Whether the process survives if the mapped file shrinks, as for :func:`open`.
/// frozen : bool, default False
///     The caller's promise that no process writes or truncates the mapped file, as for
///     :func:`open`.
///
/// Returns
/// -------
/// BatchReader
///     An iterator of tables with one batch each. Only the schema was read, and where the batches
///     are.
///
/// Raises
/// ------
/// OSError
///     If the system does not open, read or map the file.
/// TypeError
///     If the file holds no table.
/// ValueError
///     If it is damaged, or cut off.
///
/// Examples
/// --------
/// >>> import crossdock, os, tempfile
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     path = os.path.join(folder, 'numbers.arrow')
/// ...     crossdock.save(path, {'n': [1, 2, 3]})
/// ...     for batch in crossdock.open_batches(path):
/// ...         batch.to_dict()
/// {'n': [1, 2, 3]}
#[pyfunction]
#[pyo3(
    signature = (source, /, *, guarded=false, frozen=false),
    text_signature = "(source, /, *, guarded=False, frozen=False)"
)]
pub(crate) fn open_batches(
    source: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = truth_of::guarded)] guarded: bool,
    #[pyo3(from_py_with = truth_of::frozen)] frozen: bool,
) -> PyResult<BatchReader> {
    let py = source.py();
    descriptors::register(py)?;
    if source.hasattr(intern!(py, "read"))? {
        if guarded || frozen {
            return Err(PyTypeError::new_err(
                "guarded and frozen are for mapped files, and this is a stream",
            ));
        }
        let failed = Arc::new(Mutex::new(None));
        let method = match source.hasattr(intern!(py, "read1"))? {
            true => intern!(py, "read1"),
            false => intern!(py, "read"),
        };
        let (object, method) = (source.clone().unbind(), method.clone().unbind());
        let reader = PythonReader { object, method, failed: failed.clone() };
        let stream = py.detach(|| IpcStream::new(BufReader::with_capacity(BUFFER, reader)));
        let stream =
            stream.map_err(|error| raised(&failed).unwrap_or_else(|| file_errors::damaged(&error)))?;
        return Ok(BatchReader::new(Box::new(stream), failed));
    }
    let path: PathBuf = py.import("os")?.call_method1("fsdecode", (source,))?.extract()?;
    let mut options = OpenOptions::new().guarded(guarded);
    if frozen {
        // SAFETY: the documented promise of the Python caller, which cannot be checked here: no
        // process writes or truncates the file while it is mapped.
        options = unsafe { options.assume_constant() };
    }
    let file = options.open_table(&path).map_err(|error| match error.is_bounds() {
        true => file_errors::damaged(&error),
        false => file_errors::file(py, &error, &path),
    })?;
    Ok(BatchReader::new(Box::new(file.reader()), Arc::default()))
}

/// The batches of an Arrow IPC file or stream, each as a table when it is reached.
///
/// Made by :func:`open_batches`. A consumer of Arrow's streams takes the remaining batches:
/// ``pyarrow.RecordBatchReader.from_stream(reader)``.
#[pyclass(frozen, module = "crossdock")]
pub(crate) struct BatchReader {
    schema: Schema,
    state: Mutex<State>,
    failed: Arc<Mutex<Option<PyErr>>>,
}

/// The source is taken out for each call of it: it runs Python code, which may use the reader.
enum State {
    Idle(Source),
    Busy,
    Ended,
}

impl BatchReader {
    fn new(source: Source, failed: Arc<Mutex<Option<PyErr>>>) -> Self {
        Self { schema: source.schema().clone(), state: Mutex::new(State::Idle(source)), failed }
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// The source, until another state is set; `None` after the end.
    fn take(&self) -> PyResult<Option<Source>> {
        match self.replace(State::Busy) {
            State::Idle(source) => Ok(Some(source)),
            State::Busy => {
                let text =
                    "the batches are being read; use the reader in one thread, and not in its own read()";
                Err(PyRuntimeError::new_err(text))
            }
            State::Ended => {
                self.replace(State::Ended);
                Ok(None)
            }
        }
    }
}

#[pymethods]
impl BatchReader {
    /// The name and the type of each column.
    #[getter]
    fn schema(&self) -> Vec<(&str, String)> {
        self.schema.fields().iter().map(|field| (field.name(), field.column_type().to_string())).collect()
    }

    /// The names of the columns, in their order.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(Field::name).collect()
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.clone()
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let Some(mut source) = self.take()? else { return Ok(None) };
        let (source, next) = py.detach(move || {
            let next = source.next_batch();
            (source, next)
        });
        let is_over = !matches!(next, Ok(Some(_)));
        self.replace(if is_over { State::Ended } else { State::Idle(source) });
        let next =
            next.map_err(|error| raised(&self.failed).unwrap_or_else(|| file_errors::damaged(&error)))?;
        Ok(next.map(|batch| Table::new(self.schema.clone(), vec![batch])))
    }

    /// The type of the batches, a struct, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        export::schema(py, &self.schema)
    }

    /// The remaining batches as a stream, in a capsule. The reader has none afterwards.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        export::check_requested(&self.schema, requested_schema)?;
        // What can be refused is refused before the reader loses its batches.
        export::refuse_schema(&self.schema)?;
        let Some(source) = self.take()? else {
            return Err(PyValueError::new_err("the batches were read; open the file again"));
        };
        self.replace(State::Ended);
        boxed(py, arrow::export_stream_in_words(source, words))
    }

    fn __repr__(&self) -> String {
        format!("crossdock.BatchReader({:?})", self.column_names())
    }
}

/// A file of Python, or any object with `read`.
struct PythonReader {
    object: Py<PyAny>,
    /// `read1`, which returns what there is, or `read`, which waits for all that it is asked for.
    method: Py<PyString>,
    /// The exception of the last call.
    failed: Arc<Mutex<Option<PyErr>>>,
}

impl Read for PythonReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = |py: Python<'_>| -> PyResult<usize> {
            let given = self.object.bind(py).call_method1(self.method.bind(py), (room.len(),))?;
            let bytes: PyBackedBytes = given.extract()?;
            let (found, wanted) = (bytes.len(), room.len());
            let Some(room) = room.get_mut(..found) else {
                let text = format!("read({wanted}) gave {found} bytes");
                return Err(PyValueError::new_err(text));
            };
            room.copy_from_slice(&bytes);
            Ok(found)
        };
        Python::attach(read).map_err(|error| {
            // For consumers of the exported stream, which do not see the exception itself.
            let text = format!("read() raised {error}");
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            io::Error::other(text)
        })
    }
}

/// The exception that ended a read.
fn raised(failed: &Mutex<Option<PyErr>>) -> Option<PyErr> {
    failed.lock().unwrap_or_else(PoisonError::into_inner).take()
}
