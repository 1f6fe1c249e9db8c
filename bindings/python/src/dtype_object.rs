//! `crossdock.dtype`: what one element is, with the attributes of NumPy's dtypes.
//!
//! Reasons: `DESIGN.md`, "A dtype is an object that equals its text".

use crossdock::bindings::dialect::{self, typestr};
use crossdock::element::{ByteOrder, DType, ScalarKind, TimeUnit};
use pyo3::exceptions::{PyImportError, PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::dtype::read_dtype;
use crate::numpy_dtype;

/// The type of the elements: its kind, size and byte order, and the fields of records.
///
/// It compares equal to its texts and to the equal dtypes of other libraries, and
/// ``numpy.dtype(x.dtype)`` is NumPy's dtype. The attributes are those of NumPy's dtypes.
///
/// Parameters
/// ----------
/// obj : object
///     A name (``'float32'``), a type string (``'<f4'``), a list or dictionary of fields, a type
///     (``float``, ``numpy.float32``), or the dtype of another library (``torch.float32``).
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.dtype([('x', 'f4'), ('n', 'i8')]).itemsize
/// 12
/// >>> crossdock.zeros(3).dtype == 'float64' == crossdock.dtype(float)
/// True
#[pyclass(frozen, name = "dtype", module = "crossdock")]
pub(crate) struct DTypeObject(DType);

impl DTypeObject {
    pub(crate) fn new(dtype: DType) -> Self {
        Self(dtype)
    }

    pub(crate) fn dtype(&self) -> &DType {
        &self.0
    }

    fn scalar_kind(&self) -> Option<ScalarKind> {
        self.0.as_scalar().map(|scalar| scalar.kind())
    }
}

/// The name of a dtype, or NumPy's type string where the name alone is ambiguous.
pub(crate) fn dtype_text(dtype: &DType) -> String {
    match dtype.as_scalar() {
        Some(scalar) if scalar.is_native() => match scalar.kind() {
            // NumPy shows the type string of types with a length, and omits the unit of a generic
            // time.
            ScalarKind::Bytes(_) | ScalarKind::Text(_) | ScalarKind::Void(_) => {
                typestr::print(dtype).unwrap_or_else(|_| scalar.to_string())
            }
            ScalarKind::DateTime(TimeUnit::GENERIC) => "datetime64".into(),
            ScalarKind::TimeDelta(TimeUnit::GENERIC) => "timedelta64".into(),
            _ => scalar.to_string(),
        },
        _ => typestr::print(dtype).unwrap_or_else(|_| dtype.to_string()),
    }
}

#[pymethods]
impl DTypeObject {
    #[new]
    #[pyo3(signature = (obj, /))]
    fn make(obj: &Bound<'_, PyAny>) -> PyResult<Self> {
        read_dtype(obj).map(Self)
    }

    /// The name, without the byte order: ``'float64'``.
    #[getter]
    fn name(&self) -> String {
        let word = match self.scalar_kind() {
            None | Some(ScalarKind::Void(_)) => "void",
            Some(ScalarKind::Bytes(_)) => "bytes",
            Some(ScalarKind::Text(_)) => "str",
            Some(ScalarKind::LongDouble) => "float",
            Some(ScalarKind::ComplexLongDouble) => "complex",
            Some(_) => return dtype_text(&self.0.with_byte_order(ByteOrder::NATIVE)),
        };
        match self.0.itemsize() {
            0 => word.to_owned(),
            nbytes => format!("{word}{}", nbytes * 8),
        }
    }

    /// The letter of NumPy's kinds.
    ///
    /// ``'b'`` truth values, ``'i'`` and ``'u'`` integers, ``'f'`` floats, ``'c'`` complex numbers,
    /// ``'M'`` and ``'m'`` times, ``'S'`` and ``'U'`` text, ``'V'`` records and dtypes that NumPy
    /// lacks, such as bfloat16.
    #[getter]
    fn kind(&self) -> char {
        use ScalarKind::*;
        match self.scalar_kind() {
            Some(Bool) => 'b',
            Some(Int8 | Int16 | Int32 | Int64) => 'i',
            Some(UInt8 | UInt16 | UInt32 | UInt64) => 'u',
            // `ml_dtypes` counts one of the narrow floats as one of NumPy's.
            Some(Float16 | Float32 | Float64 | LongDouble | Float8E5M2) => 'f',
            Some(Complex64 | Complex128 | ComplexLongDouble) => 'c',
            Some(DateTime(_)) => 'M',
            Some(TimeDelta(_)) => 'm',
            Some(Bytes(_)) => 'S',
            Some(Text(_)) => 'U',
            _ => 'V',
        }
    }

    /// The letter of NumPy's types, as in formats of buffers.
    #[getter]
    fn char(&self) -> char {
        use ScalarKind::*;
        match self.scalar_kind() {
            Some(Bool) => '?',
            Some(Int8) => 'b',
            Some(UInt8) => 'B',
            Some(Int16) => 'h',
            Some(UInt16) => 'H',
            Some(Int32) => 'i',
            Some(UInt32) => 'I',
            Some(Int64) => 'l',
            Some(UInt64) => 'L',
            Some(Float16) => 'e',
            Some(Float32) => 'f',
            Some(Float64) => 'd',
            Some(LongDouble) => 'g',
            Some(Complex64) => 'F',
            Some(Complex128) => 'D',
            Some(ComplexLongDouble) => 'G',
            _ => self.kind(),
        }
    }

    /// NumPy's type string, with the byte order: ``'<f8'``.
    #[getter]
    fn str(&self) -> String {
        let opaque = || match (self.0.itemsize(), self.0.byte_order()) {
            (nbytes @ 2.., Some(order)) => format!("{}V{nbytes}", order.symbol()),
            (nbytes, _) => format!("|V{nbytes}"),
        };
        match self.0.as_scalar() {
            Some(_) => typestr::print(&self.0).unwrap_or_else(|_| opaque()),
            None => format!("|V{}", self.0.itemsize()),
        }
    }

    /// The number of bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.itemsize()
    }

    /// The number of bytes to a multiple of which C aligns such an element.
    #[getter]
    fn alignment(&self) -> usize {
        self.0.alignment()
    }

    /// The byte order as NumPy marks it.
    ///
    /// ``'='`` for the machine's, ``'<'`` or ``'>'`` for another one, ``'|'`` where there is none.
    #[getter]
    fn byteorder(&self) -> char {
        match (self.0.as_scalar(), self.0.byte_order()) {
            (Some(_), Some(ByteOrder::NATIVE)) => '=',
            (Some(_), Some(order)) => order.symbol(),
            _ => '|',
        }
    }

    /// Whether the byte order is the machine's.
    #[getter]
    fn isnative(&self) -> bool {
        self.0.is_native()
    }

    /// False: no element refers to a Python object.
    #[getter]
    fn hasobject(&self) -> bool {
        false
    }

    /// The names of the fields of a record, in their order, otherwise None.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let record = self.0.as_record();
        record.map(|record| PyTuple::new(py, record.fields().iter().map(|field| field.name()))).transpose()
    }

    /// The fields of a record, otherwise None.
    ///
    /// Names, each with the dtype and the offset in bytes (and the title, if there is one).
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(record) = self.0.as_record() else { return Ok(None) };
        let fields = PyDict::new(py);
        for field in record.fields() {
            let dtype = Self(field.dtype().clone());
            match field.title() {
                Some(title) => fields.set_item(field.name(), (dtype, field.offset(), title))?,
                None => fields.set_item(field.name(), (dtype, field.offset()))?,
            }
        }
        Ok(Some(fields))
    }

    /// The fields as the array interface writes them: a list of names and type strings.
    #[getter]
    fn descr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let literal = match self.0.as_record() {
            Some(_) => typestr::print_descr(&self.0).map_err(|error| crate::errors::exception(&error))?,
            None => format!("[('', '{}')]", self.str()),
        };
        py.import("ast")?.call_method1("literal_eval", (literal,))
    }

    /// The shape of a sub-array; otherwise empty.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.as_subarray().map_or(&[][..], |subarray| subarray.shape()))
    }

    /// The dtype of the items of a sub-array; otherwise this dtype.
    #[getter]
    fn base(&self) -> Self {
        Self(self.0.as_subarray().map_or(&self.0, |subarray| subarray.base()).clone())
    }

    /// The base and the shape of a sub-array; otherwise None.
    #[getter]
    fn subdtype<'py>(&self, py: Python<'py>) -> PyResult<Option<(Self, Bound<'py, PyTuple>)>> {
        match self.0.as_subarray() {
            Some(_) => Ok(Some((self.base(), self.shape(py)?))),
            None => Ok(None),
        }
    }

    /// The scalar type of NumPy, such as ``numpy.float64``. Imports NumPy.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype::dtype(py, &self.0)?.getattr("type")
    }

    /// The dtype of NumPy (of ``ml_dtypes`` for bfloat16 and the like). Imports NumPy.
    #[getter]
    fn __numpy_dtype__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype::dtype(py, &self.0)
    }

    /// As ``__numpy_dtype__``, which NumPy reads since 2.4.
    #[getter]
    #[pyo3(name = "dtype")]
    fn numpy_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        numpy_dtype::dtype(py, &self.0)
    }

    /// DLPack's numbers of the dtype: its type code, the number of bits, and the number of lanes.
    ///
    /// Returns
    /// -------
    /// tuple of int
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     If DLPack cannot describe the dtype: records, text, dates, the other byte order.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.dtype('bfloat16').__dlpack_data_type__()
    /// (4, 16, 1)
    fn __dlpack_data_type__(&self) -> PyResult<(u8, u8, u16)> {
        dialect::dlpack::to_dlpack(&self.0).map_err(|error| crate::errors::refusal(&error))
    }

    /// The same dtype in another byte order.
    ///
    /// Parameters
    /// ----------
    /// new_order : str, optional
    ///     ``'<'``, ``'>'``, ``'='`` (the machine's), ``'|'`` (unchanged), ``'S'`` (swapped), or a
    ///     word of NumPy's, such as ``'little'``.
    ///
    /// Examples
    /// --------
    /// >>> import crossdock
    /// >>> crossdock.dtype('<i4').newbyteorder('>').str
    /// '>i4'
    #[pyo3(signature = (new_order = "S", /))]
    fn newbyteorder(&self, new_order: &str) -> PyResult<Self> {
        // As in NumPy, the first letter of a word counts.
        let order = match new_order.chars().next().map(|letter| letter.to_ascii_lowercase()) {
            Some('|' | 'i') => return Ok(Self(self.0.clone())),
            Some('s') => return Ok(Self(self.0.swapped())),
            Some('<' | 'l') => ByteOrder::Little,
            Some('>' | 'b') => ByteOrder::Big,
            Some('=' | 'n') => ByteOrder::NATIVE,
            _ => {
                let text = format!("a byte order is '<', '>', '=', '|' or 'S', and not {new_order:?}");
                return Err(PyValueError::new_err(text));
            }
        };
        Ok(Self(self.0.with_byte_order(order)))
    }

    /// The dtype of a field, by its name or its position.
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let fields = self.0.as_record().map_or(&[][..], |record| record.fields());
        if let Ok(position) = key.extract::<isize>() {
            let from_start = if position < 0 { position + fields.len().cast_signed() } else { position };
            let field = usize::try_from(from_start).ok().and_then(|index| fields.get(index));
            let missing = || PyIndexError::new_err(format!("field {position} of {}", fields.len()));
            return field.map(|field| Self(field.dtype().clone())).ok_or_else(missing);
        }
        let name: String = key.extract()?;
        match self.0.field(&name) {
            Some(field) => Ok(Self(field.dtype().clone())),
            None => Err(PyKeyError::new_err(format!("{} has no field {name:?}", dtype_text(&self.0)))),
        }
    }

    /// The number of fields.
    fn __len__(&self) -> usize {
        self.0.as_record().map_or(0, |record| record.fields().len())
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        !other.is_none() && read_dtype(other).is_ok_and(|other| other == self.0)
    }

    /// That of NumPy's dtype, which is equal, or of the text if NumPy has no such dtype or is not
    /// installed.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        match numpy_dtype::dtype(py, &self.0) {
            Ok(theirs) => theirs.hash(),
            Err(error)
                if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyImportError>(py) =>
            {
                PyString::new(py, &dtype_text(&self.0)).hash()
            }
            Err(error) => Err(error),
        }
    }

    fn __str__(&self) -> String {
        dtype_text(&self.0)
    }

    fn __repr__(&self) -> String {
        let text = dtype_text(&self.0);
        match self.0.as_scalar() {
            Some(_) => format!("dtype('{text}')"),
            None => format!("dtype({text})"),
        }
    }

    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        PyString::new(py, &dtype_text(&self.0)).call_method1("__format__", (spec,))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<Self>(), (dtype_text(&self.0),))
    }
}
