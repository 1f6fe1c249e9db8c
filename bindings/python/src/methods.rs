//! Attributes and methods of `crossdock.Array`: the interpreter's tables.

use std::ffi::CStr;

use crossdock::DArray;
use crossdock::array::Casting;
use crossdock::element::{DType, ScalarKind};
use crossdock::layout::Order;
use pyo3::BoundObject;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyTuple};

use crate::arguments::Arguments;
use crate::convert::{to_python, to_value};
use crate::copies::bytes_of;
use crate::detach::detached;
use crate::device_object::device_object;
use crate::dtype::read_dtype;
use crate::dtype_object::DTypeObject;
use crate::errors::Raise;
use crate::flags::Flags;
use crate::functions::promised;
use crate::object::{Own, wrap};
use crate::parameters::{self, order, order_or, shown};
use crate::shape::spread;
use crate::type_table::{Call, Getter, Method, TypeTable, call};
use crate::{
    arrow, axes, device, dlpack, dlpack_call, docstrings, errors, html, interface, nested, numpy,
    numpy_dtype, operators, pickle, subscript, text,
};

/// The tables of `crossdock.Array`.
pub(crate) struct ArrayTable;

/// Name, getter, documentation.
const ATTRIBUTES: &[(&CStr, Getter, &CStr)] = &[
    (c"shape", |py, this| tuple(py, this.array.shape()), c"The lengths of the axes."),
    (c"strides", |py, this| tuple(py, this.array.strides()), c"The distance between neighbours along each axis, in bytes."),
    (c"dtype", |py, this| any(py, DTypeObject::new(this.array.dtype().clone())), c"The :class:`dtype` of the elements, equal to its texts and to NumPy's dtype."),
    (c"__numpy_dtype__", |py, this| numpy_dtype::dtype(py, this.array.dtype()), c"NumPy's dtype of the elements. Imports NumPy."),
    (c"ndim", |py, this| any(py, this.array.rank()), c"The number of axes."),
    (c"size", |py, this| any(py, this.array.len()), c"The number of elements."),
    (c"nbytes", |py, this| any(py, this.array.nbytes()), c"The number of bytes of all elements, without gaps."),
    (c"itemsize", |py, this| any(py, this.array.dtype().itemsize()), c"The number of bytes of one element."),
    (c"readonly", |py, this| truth(py, this.array.is_readonly()), c"Whether the array is read-only. Its memory may still be written through another array."),
    (c"place", |py, this| device_object(py, this.array.place()), c"The :class:`Device` that the memory is on."),
    (c"device", |py, this| device_object(py, this.array.place()), c"The :class:`Device` that the memory is on: a name for :meth:`to_device`."),
    (c"ptr", address, c"The address of element 0 on its device; 0 if the array is empty. OpenCL memory has a handle and no address."),
    (c"backing", |py, this| any(py, this.array.backing().to_string()), c"The kind of memory: ``'heap'``, ``'static'``, ``'file map'``, ``'shared memory'``, ``'foreign'`` (another library's) or ``'device'``."),
    (c"T", |py, this| wrap(py, this.array.transpose().raise()?), c"The axes in reverse order, as a view."),
    (c"ctypes", |py, this| numpy::view(py, &this.array)?.getattr("ctypes"), c"NumPy's attribute: address, shape and strides for ctypes. Imports NumPy."),
    (c"mT", axes::matrix_transpose, c"The last two axes exchanged, as a view."),
    (c"flags", |py, this| any(py, Flags::of(&this.array)), c"NumPy's flags of memory layout and write permission, as attributes and items."),
    (c"exports", |py, this| any(py, this.exports.count_all(&this.array)), c"The number of buffers, tensors and columns that consumers hold of this array's memory.\n\nThe buffers of another array on the memory count as one, and so does each array that lends itself by an array interface."),
    (c"__array_interface__", interface::dictionary, c"The array as NumPy's array interface, version 3.\n\nThe interface has no release, so the memory stays lent while the array lives."),
    (c"__array_struct__", interface::structure, c"The array as a capsule with the C struct of NumPy's array interface. The memory stays lent while the array lives."),
    (c"__cuda_array_interface__", interface::cuda_dictionary, c"An array on a CUDA device as the CUDA array interface, version 3. The memory stays lent while the array lives."),
    (c"copied_because", |py, this| any(py, this.copied_because.get().map(|text| &**text)), c"The reason why ``asarray(..., copy=None)`` or ``reshape(..., copy=None)`` made a copy; None if it did not."),
];

/// Name, function, documentation with the signature.
const METHODS: &[(&CStr, Method, &CStr)] = &[
    (c"tolist", to_list, docstrings::TOLIST),
    (c"tobytes", to_bytes, docstrings::TOBYTES),
    (c"item", item, docstrings::ITEM),
    (c"copy", copy, docstrings::COPY),
    (c"astype", as_type, docstrings::ASTYPE),
    (c"fill", fill, docstrings::FILL),
    (c"transpose", transpose, docstrings::TRANSPOSE),
    (c"reshape", axes::reshape, docstrings::RESHAPE),
    (c"ravel", axes::ravel, docstrings::RAVEL),
    (c"squeeze", axes::squeeze, docstrings::SQUEEZE),
    (c"expand_dims", axes::expand_dims, docstrings::EXPAND_DIMS),
    (c"swapaxes", axes::swapaxes, docstrings::SWAPAXES),
    (c"moveaxis", axes::moveaxis, docstrings::MOVEAXIS),
    (c"flip", axes::flip, docstrings::FLIP),
    (c"broadcast_to", axes::broadcast_to, docstrings::BROADCAST_TO),
    (c"view", axes::view, docstrings::VIEW),
    (c"field", field, docstrings::FIELD),
    (c"_repr_html_", repr_html, docstrings::REPR_HTML),
    (c"__complex__", complex, docstrings::COMPLEX),
    (c"__dlpack__", dlpack_export, docstrings::DLPACK),
    (c"__dlpack_device__", dlpack_device, docstrings::DLPACK_DEVICE),
    (c"__reduce_ex__", pickle::reduce, docstrings::REDUCE_EX),
    (c"__copy__", duplicate, docstrings::SHALLOW_COPY),
    (c"__deepcopy__", duplicate, docstrings::DEEP_COPY),
    (c"__arrow_c_schema__", arrow_schema, docstrings::ARROW_SCHEMA),
    (c"__arrow_c_array__", arrow_array, docstrings::ARROW_ARRAY),
    (c"__arrow_c_device_array__", arrow_device_array, docstrings::ARROW_DEVICE_ARRAY),
    (c"__array__", numpy_array, docstrings::NUMPY_ARRAY),
    (c"frozen", frozen, docstrings::FROZEN),
    (c"to_device", device::to_device, docstrings::TO_DEVICE),
    (c"__bytes__", to_bytes, docstrings::BYTES),
    (c"__format__", format, docstrings::FORMAT),
];

impl TypeTable for ArrayTable {
    const ATTRIBUTES: &'static [(&'static CStr, Getter, &'static CStr)] = ATTRIBUTES;
    const METHODS: &'static [(&'static CStr, Method, &'static CStr)] = METHODS;
    const CALLS: &'static [Call] = &[
        call::<Self, 0>,
        call::<Self, 1>,
        call::<Self, 2>,
        call::<Self, 3>,
        call::<Self, 4>,
        call::<Self, 5>,
        call::<Self, 6>,
        call::<Self, 7>,
        call::<Self, 8>,
        call::<Self, 9>,
        call::<Self, 10>,
        call::<Self, 11>,
        call::<Self, 12>,
        call::<Self, 13>,
        call::<Self, 14>,
        call::<Self, 15>,
        call::<Self, 16>,
        call::<Self, 17>,
        call::<Self, 18>,
        dlpack_call::export::<Self, 19>,
        call::<Self, 20>,
        call::<Self, 21>,
        call::<Self, 22>,
        call::<Self, 23>,
        call::<Self, 24>,
        call::<Self, 25>,
        call::<Self, 26>,
        call::<Self, 27>,
        call::<Self, 28>,
        call::<Self, 29>,
        call::<Self, 30>,
        call::<Self, 31>,
    ];
}

fn any<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: T) -> PyResult<Bound<'py, PyAny>> {
    value.into_pyobject(py).map(|object| object.into_any().into_bound()).map_err(Into::into)
}

fn address<'py>(py: Python<'py>, this: &Own) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    if !array.place().is_addressed() {
        let text = format!("memory on {} has a handle and no address: __dlpack__ gives it", array.place());
        return Err(PyAttributeError::new_err(text));
    }
    any(py, if array.is_empty() { 0 } else { array.as_ptr().addr() })
}

fn truth(py: Python<'_>, value: bool) -> PyResult<Bound<'_, PyAny>> {
    Ok(pyo3::types::PyBool::new(py, value).to_owned().into_any())
}

fn tuple<'py, T: IntoPyObject<'py> + Copy>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyTuple::new(py, numbers.iter().copied())?.into_any())
}

fn to_list<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    nested::write(py, &this.array)
}

fn to_bytes<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    bytes_of(py, &this.array)
}

fn item<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let array = &this.array;
    let given = arguments.positional();
    arguments.finish()?;
    let given = spread(&given)?;
    if given.is_empty() {
        if array.len() != 1 {
            let text =
                format!("item() without an index is for arrays of one element, and this has {}", array.len());
            return Err(PyValueError::new_err(text));
        }
        return to_python(py, &array.get(&vec![0; array.rank()]).raise()?);
    }
    if given.len() != array.rank() {
        let text = format!("item() was given {} indices for {} axes", given.len(), array.rank());
        return Err(PyValueError::new_err(text));
    }
    let inside = |(index, &len): (isize, &usize)| {
        let from_start = if index < 0 { index.saturating_add(len.cast_signed()) } else { index };
        // `usize::MAX` fails in the element access.
        usize::try_from(from_start).unwrap_or(usize::MAX)
    };
    let index: Vec<usize> = given.into_iter().zip(array.shape()).map(inside).collect();
    to_python(py, &array.get(&index).raise()?)
}

fn copy<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let order = arguments.take("order").map_or(Ok(Order::RowMajor), |letter| order(&letter))?;
    arguments.finish()?;
    wrap(py, detached(py, &this.array, |array| array.to_order(order)).raise()?)
}

/// `__copy__` and `__deepcopy__` of the module `copy`. The memo is ignored.
fn duplicate<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let _memo = arguments.take("memo");
    arguments.finish()?;
    let order = this.array.order().unwrap_or(Order::RowMajor);
    wrap(py, detached(py, &this.array, |array| array.to_order(order)).raise()?)
}

fn as_type<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let dtype = arguments.need("dtype")?;
    // `K` and `A` keep the order where there is one.
    let order = match arguments.take("order").map(|letter| order_or(&letter, &["K", "A"])).transpose()? {
        Some(Some(order)) => order,
        Some(None) => this.array.order().unwrap_or(Order::RowMajor),
        None => Order::RowMajor,
    };
    let always = arguments.named("copy").map_or(Ok(true), |copy| parameters::truth("copy", &copy))?;
    let casting =
        arguments.named("casting").map_or(Ok(Casting::Checked), |casting| known_casting(&casting))?;
    let _subok = arguments.named("subok");
    arguments.finish()?;
    let dtype = read_dtype(&dtype)?;
    if !always && dtype == *this.array.dtype() {
        return wrap(py, this.array.clone());
    }
    let cast = |array: &DArray| array.cast(&dtype, order, casting);
    match detached(py, &this.array, cast) {
        Err(error) if error.is_value() && [this.array.dtype(), &dtype].into_iter().all(is_number) => {
            Err(PyValueError::new_err(format!(
                "{}; casting='saturating' truncates fractions, and gives the nearest number in range",
                errors::text(&error)
            )))
        }
        made => wrap(py, made.raise()?),
    }
}

/// NumPy's castings differ in what they permit; here every conversion but a saturating one is
/// checked.
fn known_casting(casting: &Bound<'_, PyAny>) -> PyResult<Casting> {
    const CHECKED: [&str; 6] = ["no", "equiv", "safe", "same_kind", "same_value", "unsafe"];
    match casting.extract::<String>().as_deref() {
        Ok("saturating") => Ok(Casting::Saturating),
        Ok(casting) if CHECKED.contains(&casting) => Ok(Casting::Checked),
        _ => {
            let known = CHECKED.join(", ");
            let text = format!("casting must be one of {known} or saturating, not {}", shown(casting));
            Err(PyValueError::new_err(text))
        }
    }
}

fn is_number(dtype: &DType) -> bool {
    use ScalarKind::{Bytes, DateTime, Pointer, Text, TimeDelta, Void};
    dtype.as_scalar().is_some_and(|scalar| {
        !matches!(scalar.kind(), Bytes(_) | Text(_) | Void(_) | Pointer | DateTime(_) | TimeDelta(_))
    })
}

fn fill<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let value = arguments.need("value")?;
    arguments.finish()?;
    let value = to_value(&value, Some(this.array.dtype()))?;
    detached(py, &this.array, |array| array.fill(&value)).raise()?;
    Ok(py.None().into_bound(py))
}

fn transpose<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let given = arguments.positional();
    arguments.finish()?;
    if given.is_empty() || given.len() == 1 && given[0].is_none() {
        return wrap(py, this.array.transpose().raise()?);
    }
    let rank = this.array.rank();
    let axis = |axis: isize| {
        let from_start = if axis < 0 { axis.saturating_add(rank.cast_signed()) } else { axis };
        usize::try_from(from_start).unwrap_or(usize::MAX)
    };
    let axes: Vec<usize> = spread(&given)?.into_iter().map(axis).collect();
    wrap(py, this.array.permute(&axes).raise()?)
}

fn dlpack_export<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    dlpack::export(py, this, arguments)
}

fn dlpack_device<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    dlpack::device_of(py, &this.array)
}

fn arrow_schema<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arrow::schema(py, &this.array, arguments)
}

fn arrow_array<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arrow::array(py, &this.array, arguments)
}

fn arrow_device_array<'py>(
    py: Python<'py>,
    this: &Own,
    arguments: Arguments<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    arrow::device_array(py, &this.array, arguments)
}

fn numpy_array<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    numpy::array(py, &this.array, arguments)
}

fn frozen<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    wrap(py, promised(this.array.clone(), true)?)
}

/// `format(x, spec)`: the element of an array of one element, otherwise only the empty `spec`.
fn format<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let spec = arguments.take("format_spec").map_or(Ok(String::new()), |spec| spec.extract::<String>())?;
    arguments.finish()?;
    if spec.is_empty() {
        return any(py, text::str(&this.array));
    }
    if this.array.len() != 1 {
        let text = format!("{spec:?} formats one element, and this array has {}", this.array.len());
        return Err(PyTypeError::new_err(text));
    }
    to_python(py, &operators::only(this, "a text")?)?.call_method1("__format__", (spec,))
}

fn field<'py>(py: Python<'py>, this: &Own, mut arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    let name = arguments.need("name")?;
    arguments.finish()?;
    wrap(py, subscript::field(&this.array, &parameters::text("name", &name)?)?)
}

fn repr_html<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    any(py, html::write(py, &this.array)?)
}

fn complex<'py>(py: Python<'py>, this: &Own, arguments: Arguments<'py>) -> PyResult<Bound<'py, PyAny>> {
    arguments.finish()?;
    let value = to_python(py, &operators::only(this, "a complex number")?)?;
    py.get_type::<PyComplex>().call1((value,))
}
