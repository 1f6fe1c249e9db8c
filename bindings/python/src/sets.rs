//! Sets that another process holds: `connect`, `publish`, and the arrays and tables by name.

use std::collections::HashMap;

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::exchange::protocol::hold::{self, Label, Set, SetBuilder};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple, PyType};

use crate::descriptors;
use crate::dtype_object::{DTypeObject, dtype_text};
use crate::errors::{self, Raise};
use crate::files::{array_of, check_whole};
use crate::object::wrap;
use crate::table::{self, NotATable, Table, TableBatches};

/// The variable by which `crossdock connect` names a set to its command.
const VARIABLE: &str = "CROSSDOCK_SET";

/// The arrays and tables that another process of this user holds under a name.
///
/// The command ``crossdock hold model.safetensors --name m`` holds them, for example. Nothing is
/// copied: all processes that connect map the same memory, which no process can write. With
/// ``--map``, they map the file itself, which other processes may write.
///
/// Parameters
/// ----------
/// name : str, optional
///     The name, for the newest version, or a version of it: ``'m'`` or ``'m@3'``. By default, what
///     the environment variable ``CROSSDOCK_SET`` names, which ``crossdock connect`` sets for its
///     command.
///
/// Returns
/// -------
/// HeldArrays
///
/// Raises
/// ------
/// OSError
///     If no process holds the name, or if it does not answer.
/// KeyError
///     If the version is not held.
/// ValueError
///     If the name is none, or if what the other process sent breaks the rules.
/// NotImplementedError
///     On Windows.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> weights = crossdock.connect('m')  # doctest: +SKIP
/// >>> weights['layers.0.w'].shape  # doctest: +SKIP
/// (4096, 4096)
/// >>> try:
/// ...     crossdock.connect('none')
/// ... except OSError as error:
/// ...     print(error)
/// no process holds none; start one: crossdock hold FILE --name none
#[pyfunction]
#[pyo3(signature = (name=None, /), text_signature = "(name=None, /)")]
pub(crate) fn connect(py: Python<'_>, name: Option<String>) -> PyResult<HeldArrays> {
    let name = match name {
        Some(name) => name,
        None => std::env::var(VARIABLE).map_err(|_| {
            let text =
                "name a set, or run the program by `crossdock connect NAME -- …`, which sets CROSSDOCK_SET";
            PyTypeError::new_err(text)
        })?,
    };
    let label: Label = name.parse().raise()?;
    descriptors::register(py)?;
    // The holder may take its time.
    let set = py.detach(|| hold::connect(&label));
    set.map(|set| HeldArrays { set }).map_err(|error| match error.is_bounds() {
        true => PyKeyError::new_err(errors::text(&error)),
        false => errors::exception(&error),
    })
}

/// Publishes arrays and tables as the next version of a name that another process holds.
///
/// The elements are copied once, into shared memory that is then sealed. :func:`connect` gives this
/// version from then on; processes that read another one keep it.
///
/// Parameters
/// ----------
/// name : str
///     The name, without a version.
/// arrays : dict
///     Names, each with an array or an object that :func:`array` accepts; or with a table, a table
///     of another library (an object with ``__arrow_c_stream__``), or a dict of columns, as
///     :func:`table` accepts them. Names with the same array or :class:`Table` share their memory.
/// metadata : dict, optional
///     Texts beside the arrays, by name.
///
/// Returns
/// -------
/// str
///     The name with the new version, such as ``'m@3'``.
///
/// Raises
/// ------
/// TypeError
///     For a column of elements that no array has, such as text: a table can have it.
/// ValueError
///     If the arrays are an archive with some that cannot be opened.
/// BufferError
///     If another process is publishing the name, or if the set exceeds a limit of its holder.
/// OSError
///     If no process holds the name, or if it does not answer.
/// NotImplementedError
///     On Windows.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> w = crossdock.ones((2, 3))
/// >>> crossdock.publish('m', {'w': w, 'tied': w})  # doctest: +SKIP
/// 'm@3'
/// >>> try:
/// ...     crossdock.publish('none', {'w': w})
/// ... except OSError as error:
/// ...     print(error)
/// no process holds none; start one: crossdock hold FILE --name none
#[pyfunction]
#[pyo3(signature = (name, arrays, /, *, metadata=None))]
pub(crate) fn publish(
    py: Python<'_>,
    name: &str,
    arrays: &Bound<'_, PyAny>,
    metadata: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let label: Label = name.parse().raise()?;
    if label.version().is_some() {
        let text = format!("{name} has a version, which the holder chooses: publish {}", label.name());
        return Err(PyValueError::new_err(text));
    }
    check_whole(arrays, name)?;
    let mut parts = Vec::new();
    for item in arrays.call_method0("items")?.try_iter()? {
        let (name, part): (String, Bound<'_, PyAny>) = item?.extract()?;
        parts.push((name, part_of(&part)?));
    }
    let mut builder = SetBuilder::new();
    for (key, text) in metadata.into_iter().flat_map(|metadata| metadata.iter()) {
        builder.metadata(&key.extract::<String>()?, &text.extract::<String>()?);
    }
    py.detach(|| published(&label, builder, &parts)).raise()
}

/// What is published under a name.
enum PublishedPart {
    Array(DArray),
    /// A table and its object, which keeps its address while other parts are compared with it.
    Table(Table, Py<PyAny>),
}

/// The table or the array of an object.
fn part_of(object: &Bound<'_, PyAny>) -> PyResult<PublishedPart> {
    let found = match object.is_instance_of::<PyDict>() {
        true => Ok(table::whole(object)?),
        false => table::table_in(object)?,
    };
    match found {
        Ok(table) => Ok(PublishedPart::Table(table, object.clone().unbind())),
        Err(NotATable::Column(refused)) => Err(refused),
        Err(NotATable::Other(refused)) => {
            let array = array_of(object).map_err(|error| refused.unwrap_or(error))?;
            Ok(PublishedPart::Array(array))
        }
    }
}

/// Copies the arrays and tables into a set, and publishes it.
fn published(
    name: &Label,
    mut builder: SetBuilder,
    parts: &[(String, PublishedPart)],
) -> crossdock::Result<String> {
    let publisher = hold::publish(name)?;
    let mut first: HashMap<_, &str> = HashMap::new();
    let mut copied = Vec::new();
    let arrays = parts.iter().filter_map(|(name, part)| match part {
        PublishedPart::Array(array) => Some((name, array)),
        PublishedPart::Table(..) => None,
    });
    for (name, array) in arrays {
        let layout = array.layout();
        let identity = (array.as_ptr().addr(), array.dtype(), layout.shape(), layout.strides());
        match first.get(&identity).filter(|_| array.nbytes() > 0) {
            Some(same) => {
                builder.alias(name, same)?;
            }
            None => {
                builder.array(name, array.dtype().clone(), array.shape())?;
                first.insert(identity, name);
                copied.push((name, array));
            }
        }
    }
    let mut draft = builder.allocate(publisher.label())?;
    for (name, array) in copied {
        draft.get(name)?.assign(array, Casting::Checked)?;
    }
    let mut tables: HashMap<usize, &str> = HashMap::new();
    for (name, part) in parts {
        let PublishedPart::Table(table, object) = part else { continue };
        match tables.get(&object.as_ptr().addr()) {
            Some(same) => draft.alias(name, same)?,
            None => {
                draft.write_table(name, &mut TableBatches::unchecked(table))?;
                tables.insert(object.as_ptr().addr(), name);
            }
        }
    }
    let set = draft.seal().map_err(|rejected| rejected.error)?;
    publisher.commit(&set)?;
    Ok(set.label().to_string())
}

/// The arrays and tables of a set by name, as :func:`connect` returns them.
///
/// A mapping: an array, or a :class:`Table`, is opened, in place, when its name is looked up. They
/// are read-only and, unless the set is mapped, constant. The offsets, indices and text of a table
/// are checked then: keep the table rather than look it up again. The process that holds them keeps
/// this version until this object and all arrays and tables from it are gone; if that process ends,
/// they stay.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> weights = crossdock.connect('m')  # doctest: +SKIP
/// >>> weights  # doctest: +SKIP
/// HeldArrays m@3 of 2 arrays
///   layers.0.w  float32  (4096, 4096)
///   layers.1.w  float32  (4096, 4096)
#[pyclass(frozen, mapping, module = "crossdock")]
pub(crate) struct HeldArrays {
    set: Set,
}

/// The most arrays that `repr` lists.
const LISTED: usize = 20;

impl HeldArrays {
    fn array(&self, name: &str) -> PyResult<DArray> {
        self.set.get(name).map_err(|error| match self.set.contains(name) {
            Ok(false) => PyKeyError::new_err(errors::text(&error)),
            _ => errors::exception(&error),
        })
    }

    /// The rows and columns of a table; `None` for an array.
    fn table_shape(&self, name: &str) -> PyResult<Option<(usize, usize)>> {
        self.set.table_shape(name).map_err(|error| match self.set.contains(name) {
            Ok(false) => PyKeyError::new_err(errors::text(&error)),
            _ => errors::exception(&error),
        })
    }

    fn names(&self) -> PyResult<Vec<&str>> {
        self.set.names().map(Raise::raise).collect()
    }
}

#[pymethods]
impl HeldArrays {
    /// The name and version: ``'m@3'``.
    #[getter]
    fn label(&self) -> String {
        self.set.label().to_string()
    }

    /// The bytes of all memory of the set.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.set.nbytes()
    }

    /// Whether arrays or tables lie in mapped files, which can change (``crossdock hold --map``).
    ///
    /// Then they are as those of :func:`open` with ``guarded=True``: other processes see what is
    /// written to a file, and what it loses reads as zeros, and is an error of each copy.
    #[getter]
    fn mapped(&self) -> bool {
        self.set.is_mapped()
    }

    /// The texts beside the arrays, by name.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (key, text) in self.set.metadata().raise()? {
            metadata.set_item(key, text)?;
        }
        Ok(metadata)
    }

    /// The names, in the order in which they were published.
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
    /// >>> import crossdock
    /// >>> crossdock.connect('m').keys('layers.0.')  # doctest: +SKIP
    /// ['layers.0.w']
    #[pyo3(signature = (prefix="", /), text_signature = "($self, prefix='', /)")]
    fn keys(&self, prefix: &str) -> PyResult<Vec<&str>> {
        let mut names = self.names()?;
        names.retain(|name| name.starts_with(prefix));
        Ok(names)
    }

    /// The arrays and tables, in the order of :meth:`keys`.
    ///
    /// Returns
    /// -------
    /// list of Array or Table
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> sum(array.nbytes for array in crossdock.connect('m').values())  # doctest: +SKIP
    /// 134217728
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.names()?.into_iter().map(|name| self.__getitem__(py, name)).collect()
    }

    /// The names with their arrays and tables, in the order of :meth:`keys`.
    ///
    /// Returns
    /// -------
    /// list of tuple
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> {name: array.shape for name, array in crossdock.connect('m').items()}  # doctest: +SKIP
    /// {'layers.0.w': (4096, 4096), 'layers.1.w': (4096, 4096)}
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyAny>)>> {
        self.names()?.into_iter().map(|name| Ok((name, self.__getitem__(py, name)?))).collect()
    }

    /// The array or table of a name, or ``default`` if the set has none.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The name of the array or table.
    /// default : object, optional
    ///     The result for a name that is not in the set.
    ///
    /// Returns
    /// -------
    /// Array or Table or object
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.connect('m').get('bias') is None  # doctest: +SKIP
    /// True
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.set.contains(name).raise()? {
            true => self.__getitem__(py, name),
            false => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// The dtype and the shape of an array; of a table, its schema and shape.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     The name of the array or table.
    ///
    /// Returns
    /// -------
    /// tuple of dtype and tuple of int
    ///     Of a table, instead of the dtype a list of names and types, as :attr:`Table.schema`.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.connect('m').describe('layers.0.w')  # doctest: +SKIP
    /// (dtype('float32'), (4096, 4096))
    #[pyo3(signature = (name, /))]
    fn describe<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyTuple>> {
        if let Some((rows, columns)) = self.table_shape(name)? {
            // No batch is read.
            let schema = self.set.table(name).raise()?.schema().clone();
            let table = Table::without_batches(schema).into_bound_py_any(py)?;
            let shape = PyTuple::new(py, [rows, columns])?.into_any();
            return PyTuple::new(py, [table.getattr("schema")?, shape]);
        }
        let array = self.array(name)?;
        let dtype = DTypeObject::new(array.dtype().clone()).into_bound_py_any(py)?;
        PyTuple::new(py, [dtype, PyTuple::new(py, array.shape())?.into_any()])
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.table_shape(name)? {
            Some(_) => table::of_file(py, &self.set.table(name).raise()?)?.into_bound_py_any(py),
            None => wrap(py, self.array(name)?),
        }
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        match name.extract::<String>() {
            Ok(name) => self.set.contains(&name).raise(),
            Err(_) => Ok(false),
        }
    }

    fn __len__(&self) -> usize {
        self.set.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.names()?.into_pyobject(py)?.try_iter()
    }

    fn __repr__(&self) -> PyResult<String> {
        let names = self.names()?;
        let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let tables = self.set.tables().min(names.len());
        let arrays = names.len() - tables;
        let parts = match (arrays, tables) {
            (_, 0) => many(arrays, "array"),
            (0, _) => many(tables, "table"),
            _ => format!("{} and {}", many(arrays, "array"), many(tables, "table")),
        };
        let mut text = format!("HeldArrays {} of {parts}", self.set.label());
        let shown = &names[..names.len().min(LISTED)];
        let texts: Vec<_> = shown.iter().map(|name| crate::text::name(name)).collect();
        let width = crate::text::width(&texts);
        let describe = |name: &&str| {
            Ok(match self.table_shape(name)? {
                Some((rows, columns)) => ("table".to_owned(), crate::text::shape(&[rows, columns])),
                None => {
                    let array = self.array(name)?;
                    (dtype_text(array.dtype()), crate::text::shape(array.shape()))
                }
            })
        };
        let described = shown.iter().map(describe).collect::<PyResult<Vec<_>>>()?;
        let type_width = described.iter().map(|(dtype, _)| dtype.len()).max().unwrap_or(0);
        for (name, (dtype, shape)) in texts.iter().zip(described) {
            text += &format!("\n  {name:width$}  {dtype:type_width$}  {shape}");
        }
        if names.len() > LISTED {
            text += &format!("\n  … and {} more", names.len() - LISTED);
        }
        Ok(text)
    }
}

/// Makes `isinstance(held, collections.abc.Mapping)` true.
pub(crate) fn register_mapping(py: Python<'_>) -> PyResult<()> {
    let of: Bound<'_, PyType> = py.get_type::<HeldArrays>();
    // Loaded when the interpreter starts; `collections.abc` is not.
    py.import("_collections_abc")?.getattr("Mapping")?.call_method1("register", (of,))?;
    Ok(())
}
