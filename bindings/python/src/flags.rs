//! `x.flags`: the properties of an array's memory, under NumPy's names.

use crossdock::DArray;
use crossdock::layout::Order;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

/// The memory layout of an array, and whether it is writable.
///
/// Each is an attribute (``x.flags.c_contiguous``) and an item (``x.flags['C_CONTIGUOUS']``). There
/// is no ``owndata``: memory is reference-counted, and all arrays on it own it equally.
///
/// Examples
/// --------
/// >>> import crossdock
/// >>> crossdock.zeros((2, 3)).T.flags
///   C_CONTIGUOUS : False
///   F_CONTIGUOUS : True
///   WRITEABLE : True
///   ALIGNED : True
///   INDIRECT : False
#[pyclass(frozen, eq, module = "crossdock")]
#[derive(PartialEq, Eq)]
pub(crate) struct Flags {
    /// The elements are C-contiguous (row-major).
    #[pyo3(get)]
    c_contiguous: bool,
    /// The elements are F-contiguous (column-major).
    #[pyo3(get)]
    f_contiguous: bool,
    /// The elements may be written through this array.
    #[pyo3(get)]
    writeable: bool,
    /// Every element is aligned for its dtype.
    #[pyo3(get)]
    aligned: bool,
    /// Axes follow pointers (``suboffsets``).
    #[pyo3(get)]
    indirect: bool,
}

impl Flags {
    pub(crate) fn of(array: &DArray) -> Self {
        let alignment = array.dtype().alignment();
        Self {
            c_contiguous: array.is_contiguous(Order::RowMajor),
            f_contiguous: array.is_contiguous(Order::ColumnMajor),
            writeable: !array.is_readonly(),
            aligned: array.is_empty()
                || array.as_ptr().addr().is_multiple_of(alignment) && array.layout().is_aligned(alignment),
            indirect: array.layout().suboffsets().is_some(),
        }
    }

    fn rows(&self) -> [(&'static str, bool); 5] {
        [
            ("C_CONTIGUOUS", self.c_contiguous),
            ("F_CONTIGUOUS", self.f_contiguous),
            ("WRITEABLE", self.writeable),
            ("ALIGNED", self.aligned),
            ("INDIRECT", self.indirect),
        ]
    }

    /// The names of the flags that are set.
    pub(crate) fn words(&self) -> String {
        let set: Vec<&str> = self.rows().into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
        set.join(", ")
    }
}

#[pymethods]
impl Flags {
    /// The same as ``c_contiguous``.
    #[getter]
    fn contiguous(&self) -> bool {
        self.c_contiguous
    }

    /// Row-major or column-major.
    #[getter]
    fn forc(&self) -> bool {
        self.c_contiguous || self.f_contiguous
    }

    /// Column-major and not row-major.
    #[getter]
    fn fnc(&self) -> bool {
        self.f_contiguous && !self.c_contiguous
    }

    /// Aligned and writeable.
    #[getter]
    fn behaved(&self) -> bool {
        self.aligned && self.writeable
    }

    /// Aligned, writeable and row-major.
    #[getter]
    fn carray(&self) -> bool {
        self.behaved() && self.c_contiguous
    }

    /// Aligned, writeable, column-major and not row-major.
    #[getter]
    fn farray(&self) -> bool {
        self.behaved() && self.fnc()
    }

    fn __getitem__(&self, key: &str) -> PyResult<bool> {
        Ok(match key {
            "C" | "C_CONTIGUOUS" | "CONTIGUOUS" => self.c_contiguous,
            "F" | "F_CONTIGUOUS" | "FORTRAN" => self.f_contiguous,
            "W" | "WRITEABLE" => self.writeable,
            "A" | "ALIGNED" => self.aligned,
            "INDIRECT" => self.indirect,
            "FORC" => self.forc(),
            "FNC" => self.fnc(),
            "B" | "BEHAVED" => self.behaved(),
            "CA" | "CARRAY" => self.carray(),
            "FA" | "FARRAY" => self.farray(),
            _ => return Err(PyKeyError::new_err(format!("{key:?} is no flag of an array"))),
        })
    }

    fn __repr__(&self) -> String {
        let text = |is: bool| if is { "True" } else { "False" };
        self.rows().map(|(name, is)| format!("  {name} : {}", text(is))).join("\n")
    }
}
