//! Files: `open`, `save`, and the arrays of an archive by name.
//!
//! Reasons: `DESIGN.md`, "An archive is always a mapping".

use std::ffi::CString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossdock::DArray;
use crossdock::bindings::files::{Selected, Target};
use crossdock::exchange::files::arrow_ipc::IpcCompression;
use crossdock::exchange::files::{self, Contents, Format, OpenOptions, SaveOptions};
use crossdock::layout::Order;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyKeyError, PyOSError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple, PyType};

use crate::detach::detached;
use crate::dtype::read_dtype;
use crate::dtype_object::{DTypeObject, dtype_text};
use crate::errors::Raise;
use crate::object::{downcast, wrap};
use crate::parameters::{shown, truth_of};
use crate::shape::{elements, extents};
use crate::{errors, file_errors, nested, parameters, protocols, table};

/// The array of a file, the arrays of an archive by name, or a table.
///
/// The file is mapped if it stores plain elements, and decoded otherwise. The first bytes decide
/// the format, never the name.
///
/// Parameters
/// ----------
/// path : str, os.PathLike or file
///     A ``.npy``, ``.npz``, ``.safetensors``, ``.gguf``, ``.pt``, ``.mat``, PNG, JPEG, TIFF,
///     NIfTI, FITS or Arrow IPC file (``.arrow``, ``.feather``, ``.arrows``); with ``dtype``, any
///     file. The name of an array and a view may follow, which are then returned: ``'two.npz:a'``,
///     ``'photo.npy[::2, ..., 0]'``, ``'two.npz:a[1:].field'``. The longest name of an existing
///     file wins.
/// name : str, optional
///     The name of one array of an archive (such as ``.npz`` or ``.safetensors``), or of a column
///     of an Arrow IPC file, which is then returned as an array.
/// mode : {'r', 'r+', 'c'}
///     ``'r'`` maps, or decodes, and the array is read-only. ``'r+'`` maps for writing: writes
///     change the file. ``'c'`` reads the file into new memory, a counted copy: writes stay in this
///     process.
/// dtype : str or dtype, optional
///     The file is raw: elements of this dtype and nothing else.
/// shape : int or tuple of int, optional
///     The lengths of the axes of a raw file. By default one axis, to the end of the file.
/// offset : int, default 0
///     The byte of a raw file at which the elements begin.
/// order : {'C', 'F'}
///     The order of a raw file: row-major or column-major.
/// guarded : bool, default False
///     Whether the process survives if the mapped file shrinks, by a handler of SIGBUS: missing
///     elements then read as zeros, one by one and in views of other libraries, and each copy by
///     Crossdock (also as a list, bytes or a pickle) is an ``OSError``. Otherwise a read beyond the
///     new end ends the process. Call ``faulthandler.enable()`` before the first guarded map, if at
///     all: it replaces the handler.
/// frozen : bool, default False
///     The caller's promise that no process writes or truncates the mapped file. Its arrays and
///     tables are then exported to libraries that rely on it, such as PyArrow, in place.
///
/// Returns
/// -------
/// Array, Archive or Table
///     A table for an Arrow IPC file: all of its batches, in place unless they are compressed.
///     Opening it reads the metadata of each batch, and decodes compressed ones;
///     :func:`open_batches` gives one batch at a time.
///
/// Warns
/// -----
/// UserWarning
///     If the elements differ from the values that they mean: a NIfTI file scales them, or those of
///     a TIFF image are indices of a palette.
///
/// Raises
/// ------
/// OSError
///     If the system does not open, read or map the file: ``FileNotFoundError``,
///     ``IsADirectoryError``, ``PermissionError``, with ``errno`` and ``filename``.
/// TypeError
///     If the format is unknown or does not support the mode.
/// ValueError
///     If the file is damaged, as far as it is read: elements that are not compressed are not
///     compared with the checksums of an ``.npz`` file. ``crossdock inspect --verify`` compares.
///
/// Examples
/// --------
/// >>> import crossdock, os, tempfile
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     path = os.path.join(folder, 'two.npz')
/// ...     crossdock.save(path, {'a': crossdock.arange(3), 'b': crossdock.ones(2)})
/// ...     archive = crossdock.open(path)
/// ...     archive['a'].tolist(), list(archive)
/// ...     crossdock.open(f'{path}:a[1:]').tolist()
/// ([0, 1, 2], ['a', 'b'])
/// [1, 2]
#[pyfunction]
#[pyo3(
    signature = (path, /, *, name=None, mode=Mode::Read, dtype=None, shape=None, offset=0, order=Order::RowMajor, guarded=false, frozen=false),
    text_signature = "(path, /, *, name=None, mode='r', dtype=None, shape=None, offset=0, order='C', guarded=False, frozen=False)"
)]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    name: Option<&str>,
    #[pyo3(from_py_with = mode_of)] mode: Mode,
    dtype: Option<&Bound<'py, PyAny>>,
    shape: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::count)] offset: usize,
    #[pyo3(from_py_with = parameters::order)] order: Order,
    #[pyo3(from_py_with = truth_of::guarded)] guarded: bool,
    #[pyo3(from_py_with = truth_of::frozen)] frozen: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let target = Target::new(path_of(path)?.as_os_str()).raise()?;
    let (path, view) = (target.path().to_owned(), target.rest());
    let mut options = match mode {
        Mode::Read => OpenOptions::new(),
        Mode::Write => OpenOptions::new().writable(true),
        Mode::Copy => OpenOptions::new().mapped(false),
    }
    .guarded(guarded);
    if frozen {
        // SAFETY: the caller's promise: no process writes or truncates the file while it is mapped.
        options = unsafe { options.assume_constant() };
    }
    if let Some(dtype) = dtype {
        if let Some(name) = name {
            return Err(PyTypeError::new_err(format!("a raw file has no array {name:?}: leave dtype out")));
        }
        let dtype = read_dtype(dtype)?;
        let shape = match shape {
            Some(shape) => extents(shape)?,
            None => {
                let nbytes = usize::try_from(
                    std::fs::metadata(&path).map_err(|error| file_errors::system(py, &error, &path))?.len(),
                )
                .unwrap_or(usize::MAX);
                vec![elements(nbytes.saturating_sub(offset), &dtype)?]
            }
        };
        let description = files::raw::Description::new(dtype, &shape).order(order).offset(offset);
        let opened = options.raw(description).open(&path);
        let array = opened.map_err(|error| file_errors::file(py, &error, &path))?;
        return wrap(py, array.at(view).raise()?);
    }
    if shape.is_some() || offset != 0 || order != Order::RowMajor {
        return Err(PyTypeError::new_err(
            "shape, offset and order describe a raw file, which needs a dtype, too",
        ));
    }
    if name.is_none() && view.is_empty() {
        let table = options.try_open_table(&path).map_err(|error| match error.is_bounds() {
            true => file_errors::damaged(&error),
            false => file_errors::file(py, &error, &path),
        })?;
        if let Some(file) = table {
            return table::of_file(py, &file)?.into_bound_py_any(py);
        }
    }
    let contents = options.open_all(&path).map_err(|error| file_errors::file(py, &error, &path))?;
    for note in contents.notes() {
        let text = CString::new(format!("{}: {note}", path.display()))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    let selected = match name {
        Some(name) => contents.get(name).map(|entry| Selected::One(entry, view.to_owned())),
        None if view.is_empty() && contents.format().has_names() => Ok(Selected::All),
        None => target.select(&contents),
    };
    match selected {
        Ok(Selected::One(entry, view)) => opened(py, entry, &view, mode),
        Ok(Selected::All) => {
            Ok(Bound::new(py, Archive { contents: Arc::new(contents), path, mode })?.into_any())
        }
        Err(error) if error.is_bounds() => Err(PyKeyError::new_err(errors::text(&error))),
        Err(error) => Err(error).raise(),
    }
}

/// A view of the array of an entry. With `mode='r'` it is read-only even if it was decoded into new
/// memory: writes would never reach the file.
fn opened<'py>(py: Python<'py>, entry: &files::Entry, view: &str, mode: Mode) -> PyResult<Bound<'py, PyAny>> {
    let array = entry.open().and_then(|array| array.at(view)).raise()?;
    wrap(py, if let Mode::Read = mode { array.into_readonly() } else { array })
}

/// The argument `mode` of [`open`].
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Read,
    Write,
    Copy,
}

fn mode_of(object: &Bound<'_, PyAny>) -> PyResult<Mode> {
    let text = object.extract::<String>();
    match text.as_deref() {
        Ok("r") => return Ok(Mode::Read),
        Ok("r+") => return Ok(Mode::Write),
        Ok("c") => return Ok(Mode::Copy),
        _ => {}
    }
    let allowed = "mode must be 'r' (map for reading), 'r+' (map for writing) or 'c' (read a copy)";
    let wrong = format!("{allowed}, not {}", shown(object));
    Err(if text.is_ok() { PyValueError::new_err(wrong) } else { PyTypeError::new_err(wrong) })
}

/// A path, or that of the descriptor of an open file.
fn path_of(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let Some(method) = object.getattr_opt("fileno")? else {
        // Also for bytes.
        return object.py().import("os")?.call_method1("fsdecode", (object,))?.extract();
    };
    let descriptor =
        method.call0().map_err(|error| match error.is_instance_of::<PyOSError>(object.py()) {
            true => PyTypeError::new_err(format!(
                "{} has no file of the system to map: write it to a file, and pass the path",
                shown(object)
            )),
            false => error,
        })?;
    let at: u64 = object.call_method0("tell")?.extract()?;
    if at != 0 {
        let text = format!(
            "the file is at byte {at}, and a file is mapped from its start: seek(0), or pass its path"
        );
        return Err(PyValueError::new_err(text));
    }
    Ok(format!("/proc/self/fd/{}", descriptor.extract::<i32>()?).into())
}

/// Writes an array, several by name, or a table to a file, which replaces an old one in one step.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The new file. Its ending decides the format: ``.npy``, ``.npz``, ``.safetensors``, ``.png``,
///     ``.jpg``, ``.raw`` for the elements alone; ``.arrow`` and ``.feather`` for Arrow IPC files
///     of tables, ``.arrows`` for streams of them, in which dictionaries may change.
/// obj : object or dict
///     An array, or an object that :func:`array` accepts; for an archive, a dictionary of names and
///     arrays; for an Arrow IPC file, an object that :func:`table` accepts.
/// compress : bool, 'lz4' or 'zstd', default False
///     Whether the arrays of an ``.npz`` file, or the buffers of an Arrow IPC file are compressed,
///     the latter by LZ4 unless it is named. Such arrays and tables cannot be mapped.
/// metadata : dict, optional
///     Texts for a ``.safetensors`` file, by name.
///
/// Raises
/// ------
/// OSError
///     If the file cannot be written. An old file is then unchanged.
/// TypeError
///     If the format cannot store the array.
/// ValueError
///     If the object is an archive with arrays that cannot be opened.
///
/// Examples
/// --------
/// >>> import crossdock, os, tempfile
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     path = os.path.join(folder, 'x.npy')
/// ...     crossdock.save(path, [[1, 2], [3, 4]])
/// ...     crossdock.open(path).tolist()
/// [[1, 2], [3, 4]]
#[pyfunction]
#[pyo3(signature = (path, obj, /, *, compress=Compress::No, metadata=None),
    text_signature = "(path, obj, /, *, compress=False, metadata=None)")]
pub(crate) fn save(
    py: Python<'_>,
    path: PathBuf,
    obj: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = compress_of)] compress: Compress,
    metadata: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    if Format::named(&path) == Some(Format::Arrow) {
        if metadata.is_some() {
            let text = format!("{}: only a .safetensors file has metadata; leave it out", path.display());
            return Err(PyTypeError::new_err(text));
        }
        return table::to_file(&path, obj, compress.of_table());
    }
    if obj.is_instance_of::<table::Table>() {
        return Err(PyTypeError::new_err(format!(
            "{} does not hold a table; .arrow, .feather and .arrows files do, and `to_records()` gives an array of records",
            path.display()
        )));
    }
    let mut options = SaveOptions::new().deflated(compress.of_archive(&path)?);
    for (key, text) in metadata.into_iter().flat_map(|metadata| metadata.iter()) {
        options = options.metadata(key.extract::<String>()?, text.extract::<String>()?);
    }
    check_whole(obj, path.display())?;
    let has_items = obj.is_instance_of::<PyDict>() || obj.is_instance_of::<Archive>();
    let mut arrays = Vec::new();
    if has_items {
        for item in obj.call_method0("items")?.try_iter()? {
            let (name, part): (String, Bound<'_, PyAny>) = item?.extract()?;
            arrays.push((name, array_of(&part)?));
        }
        if Format::named(&path).is_some_and(|format| !format.has_names()) {
            let text = format!(
                "{} holds one array without a name; .npz and .safetensors hold several",
                path.display()
            );
            return Err(PyTypeError::new_err(text));
        }
    } else {
        arrays.push((String::new(), array_of(obj)?));
    }
    if Format::named(&path).is_none() && !path.is_dir() {
        return Err(PyTypeError::new_err(format!(
            "{}: its ending is not that of a format; use .npy, .npz, .safetensors, .png, .jpg or .raw, or .arrow for a table",
            path.display()
        )));
    }
    let failed = |error| file_errors::file(py, &error, &path);
    let Some((_, first)) = arrays.first().cloned() else {
        return options.save_all(&path, &arrays).map_err(failed);
    };
    // Long writes let other threads run.
    match has_items {
        true => detached(py, &first, |_| options.save_all(&path, &arrays)).map_err(failed),
        false => detached(py, &first, |array| options.save(&path, array)).map_err(failed),
    }
}

/// The argument `compress` of [`save`].
#[derive(Clone, Copy)]
pub(crate) enum Compress {
    No,
    Yes,
    By(IpcCompression),
}

impl Compress {
    fn of_table(self) -> Option<IpcCompression> {
        match self {
            Self::No => None,
            Self::Yes => Some(IpcCompression::Lz4),
            Self::By(compression) => Some(compression),
        }
    }

    fn of_archive(self, path: &Path) -> PyResult<bool> {
        match self {
            Self::No => Ok(false),
            Self::Yes => Ok(true),
            Self::By(_) => Err(PyTypeError::new_err(format!(
                "{} is not compressed by LZ4 or Zstandard, as .arrow files are: compress is True or False",
                path.display()
            ))),
        }
    }
}

fn compress_of(object: &Bound<'_, PyAny>) -> PyResult<Compress> {
    match object.extract::<String>().as_deref() {
        Ok("lz4") => return Ok(Compress::By(IpcCompression::Lz4)),
        Ok("zstd") => return Ok(Compress::By(IpcCompression::Zstd)),
        _ => {}
    }
    match truth_of::compress(object) {
        Ok(true) => Ok(Compress::Yes),
        Ok(false) => Ok(Compress::No),
        Err(error) => {
            let text = format!("{}; for an Arrow IPC file, also 'lz4' or 'zstd'", error.value(object.py()));
            Err(PyTypeError::new_err(text))
        }
    }
}

/// The array of an object, or of nested lists.
pub(crate) fn array_of(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    match downcast(object) {
        Some(own) => Ok(own.array.clone()),
        None => match protocols::lend_unmasked(object) {
            Ok(array) => Ok(array),
            Err(_) => nested::read(object, None),
        },
    }
}

/// The arrays of a file by name, as :func:`open` returns them for an archive.
///
/// Archives are ``.npz``, ``.safetensors``, ``.gguf``, ``.pt``, ``.mat`` and FITS files. A mapping:
/// an array is opened when its name is looked up, in place if the file holds its elements as they
/// are in memory. Arrays keep the file mapped; there is nothing to close. The mapping omits arrays
/// that cannot be opened, such as pickled objects: ``repr`` lists them, and ``refused`` says why.
///
/// Examples
/// --------
/// >>> import crossdock, os, tempfile
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> path = os.path.join(folder.name, 'model.safetensors')
/// >>> crossdock.save(path, {'layer.0.weight': crossdock.ones((2, 3)), 'layer.1.weight': [1.0]})
/// >>> model = crossdock.open(path)
/// >>> model
/// Archive of 2 arrays (safetensors)
///   layer.0.weight  float64  (2, 3)
///   layer.1.weight  float64  (1,)
/// >>> model.keys('layer.0.')
/// ['layer.0.weight']
#[pyclass(frozen, mapping, module = "crossdock")]
pub(crate) struct Archive {
    contents: Arc<Contents>,
    path: PathBuf,
    mode: Mode,
}

/// The most arrays that `repr` lists.
const LISTED: usize = 20;

impl Archive {
    fn has(&self, name: &str) -> bool {
        self.contents.names().any(|known| known == name)
    }

    fn refuses(&self, name: &str) -> bool {
        self.contents.refused().any(|(refused, _)| refused == name)
    }

    fn open_named<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let entry = self.contents.get(name).map_err(|error| PyKeyError::new_err(errors::text(&error)))?;
        opened(py, entry, "", self.mode)
    }
}

/// An error if the arrays are an archive with some that cannot be opened, which a copy of it named
/// `to` would lack.
pub(crate) fn check_whole(arrays: &Bound<'_, PyAny>, to: impl Display) -> PyResult<()> {
    let Ok(archive) = arrays.cast::<Archive>() else { return Ok(()) };
    let contents = &archive.get().contents;
    let mut refused = contents.refused();
    let count = refused.len();
    let Some((_, error)) = refused.next() else { return Ok(()) };
    let all = count + contents.entries().len();
    Err(PyValueError::new_err(format!(
        "{to}: {count} of the {all} arrays of the archive cannot be opened ({}); `dict(archive)` has only the others",
        errors::text(error)
    )))
}

#[pymethods]
impl Archive {
    /// The path that was opened.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The format: ``'npz'``, ``'safetensors'``, ``'gguf'``, ``'pt'``, ``'mat'`` or ``'fits'``.
    #[getter]
    fn format(&self) -> String {
        self.contents.format().ending().trim_start_matches('.').to_owned()
    }

    /// The texts of a ``.safetensors`` file, by name.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (key, text) in self.contents.metadata() {
            metadata.set_item(key, text)?;
        }
        Ok(metadata)
    }

    /// The arrays that cannot be opened: names, each with the reason.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let refused = PyDict::new(py);
        for (name, error) in self.contents.refused() {
            refused.set_item(name, errors::text(error))?;
        }
        Ok(refused)
    }

    /// The names, in the order of the file.
    ///
    /// Parameters
    /// ----------
    /// prefix : str, default ''
    ///     Only names that begin with this text.
    ///
    /// Returns
    /// -------
    /// list of str
    ///
    /// Examples
    /// --------
    /// >>> import crossdock, os, tempfile
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> path = os.path.join(folder.name, 'x.npz')
    /// >>> crossdock.save(path, {'a.x': [1], 'b.x': [2]})
    /// >>> crossdock.open(path).keys('b')
    /// ['b.x']
    #[pyo3(signature = (prefix="", /), text_signature = "($self, prefix='', /)")]
    fn keys(&self, prefix: &str) -> Vec<String> {
        self.contents.names().filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
    }

    /// The arrays, in the order of the file. All of them are opened.
    ///
    /// Returns
    /// -------
    /// list of Array
    ///
    /// Examples
    /// --------
    /// >>> import crossdock, os, tempfile
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> path = os.path.join(folder.name, 'x.npz')
    /// >>> crossdock.save(path, {'a': [1], 'b': [2]})
    /// >>> [array.tolist() for array in crossdock.open(path).values()]
    /// [[1], [2]]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.contents.entries().iter().map(|entry| opened(py, entry, "", self.mode)).collect()
    }

    /// The names with their arrays, in the order of the file. All of them are opened.
    ///
    /// Returns
    /// -------
    /// list of tuple
    ///
    /// Examples
    /// --------
    /// >>> import crossdock, os, tempfile
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> path = os.path.join(folder.name, 'x.npz')
    /// >>> crossdock.save(path, {'a': [1], 'b': [2]})
    /// >>> {name: array.shape for name, array in crossdock.open(path).items()}
    /// {'a': (1,), 'b': (1,)}
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let item = |entry: &files::Entry| Ok((entry.name().to_owned(), opened(py, entry, "", self.mode)?));
        self.contents.entries().iter().map(item).collect()
    }

    /// The array of a name, or ``default`` if the file has none.
    ///
    /// An array that cannot be opened raises the error of ``archive[name]``.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The name of the array.
    /// default : object, optional
    ///     The result for a name that is not in the file.
    ///
    /// Returns
    /// -------
    /// Array or object
    ///
    /// Examples
    /// --------
    /// >>> import crossdock, os, tempfile
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> path = os.path.join(folder.name, 'x.npz')
    /// >>> crossdock.save(path, {'a': [1]})
    /// >>> crossdock.open(path).get('b') is None
    /// True
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.has(name) || self.refuses(name) {
            true => self.open_named(py, name),
            false => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// The dtype and the shape of an array, without opening it.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The name of the array.
    ///
    /// Returns
    /// -------
    /// tuple of dtype and tuple of int
    ///
    /// Examples
    /// --------
    /// >>> import crossdock, os, tempfile
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> path = os.path.join(folder.name, 'x.npz')
    /// >>> crossdock.save(path, {'a': crossdock.ones((2, 3))})
    /// >>> crossdock.open(path).describe('a')
    /// (dtype('float64'), (2, 3))
    #[pyo3(signature = (name, /))]
    fn describe<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(DTypeObject, Bound<'py, PyTuple>)> {
        let entry = self.contents.get(name).map_err(|error| PyKeyError::new_err(errors::text(&error)))?;
        Ok((DTypeObject::new(entry.dtype().clone()), PyTuple::new(py, entry.shape())?))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.open_named(py, name)
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.has(&name))
    }

    fn __len__(&self) -> usize {
        self.contents.entries().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys("").into_pyobject(py)?.try_iter()
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Nothing: the arrays keep what they need.
    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {}

    fn __repr__(&self) -> String {
        let entries = self.contents.entries();
        let arrays = if entries.len() == 1 { "array" } else { "arrays" };
        let mut text = format!("Archive of {} {arrays} ({})", entries.len(), self.format());
        let shown = &entries[..entries.len().min(LISTED)];
        let names: Vec<_> = shown.iter().map(|entry| crate::text::name(entry.name())).collect();
        let width = crate::text::width(&names);
        let dtypes: Vec<_> = shown.iter().map(|entry| dtype_text(entry.dtype())).collect();
        let dtype_width = dtypes.iter().map(String::len).max().unwrap_or(0);
        for ((entry, name), dtype) in shown.iter().zip(names).zip(dtypes) {
            let shape = crate::text::shape(entry.shape());
            text += &format!("\n  {name:width$}  {dtype:dtype_width$}  {shape}");
        }
        if entries.len() > LISTED {
            text += &format!("\n  … and {} more", entries.len() - LISTED);
        }
        let refused = self.contents.refused();
        if refused.len() > 0 {
            text += &format!("\nand {} that cannot be opened, see `refused`:", refused.len());
            let more = refused.len().saturating_sub(LISTED);
            text += &refused
                .take(LISTED)
                .map(|(name, _)| format!("\n  {}", crate::text::name(name)))
                .collect::<String>();
            if more > 0 {
                text += &format!("\n  … and {more} more");
            }
        }
        text
    }
}

/// Makes `isinstance(archive, collections.abc.Mapping)` true.
pub(crate) fn register_mapping(py: Python<'_>) -> PyResult<()> {
    let of: Bound<'_, PyType> = py.get_type::<Archive>();
    // Loaded when the interpreter starts; `collections.abc` is not.
    py.import("_collections_abc")?.getattr("Mapping")?.call_method1("register", (of,))?;
    Ok(())
}
