//! The type of results: it lends its memory, and has no other methods than those of the protocols.

use std::ffi::{CStr, c_int, c_uint, c_ulong, c_void};
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use pyo3::{BoundObject, ffi};

use crate::dtype_object::dtype_text;
use crate::entry::Called;
use crate::object::{Object, WEAK_REFERENCES, dealloc, publish, slot, this};
use crate::type_table::{Call, Getter, Method, TypeTable, call, slots};
use crate::{arrow, buffer, dlpack, interface, numpy};

const DOC: &CStr = c"An array of a Rust extension, which lends its memory.

``numpy.asarray``, ``torch.from_dlpack``, ``pyarrow.array``, ``crossdock.asarray`` and other consumers
of the buffer protocol, DLPack, Arrow or NumPy's array interface import it zero-copy.";

/// Name, getter, documentation.
const ATTRIBUTES: &[(&CStr, Getter, &CStr)] = &[
    (c"shape", |py, this| any(py, PyTuple::new(py, this.array.shape())?), c"The lengths of the axes."),
    (
        c"strides",
        |py, this| any(py, PyTuple::new(py, this.array.strides())?),
        c"The distance between neighbours along each axis, in bytes.",
    ),
    (c"ndim", |py, this| any(py, this.array.rank()), c"The number of axes."),
    (c"size", |py, this| any(py, this.array.len()), c"The number of elements."),
    (c"nbytes", |py, this| any(py, this.array.nbytes()), c"The number of bytes of all elements, without gaps."),
    (c"dtype", |py, this| any(py, dtype_text(this.array.dtype())), c"The text of the dtype."),
    (c"device", |py, this| any(py, this.array.place().to_string()), c"The device that the memory is on."),
    (
        c"__array_interface__",
        interface::dictionary,
        c"The array as NumPy's array interface, version 3. The memory stays lent while the array lives.",
    ),
    (
        c"__cuda_array_interface__",
        interface::cuda_dictionary,
        c"An array on a CUDA device as the CUDA array interface, version 3. The memory stays lent while the array lives.",
    ),
];

/// Name, function, documentation with the signature.
const METHODS: &[(&CStr, Method, &CStr)] = &[
    (
        c"__dlpack__",
        dlpack::export,
        c"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe array as a capsule of DLPack.",
    ),
    (
        c"__dlpack_device__",
        |py, this, arguments| {
            arguments.finish()?;
            dlpack::device_of(py, &this.array)
        },
        c"__dlpack_device__($self, /)\n--\n\nDLPack's numbers of the device.",
    ),
    (
        c"__arrow_c_schema__",
        |py, this, arguments| arrow::schema(py, &this.array, arguments),
        c"__arrow_c_schema__($self, /)\n--\n\nThe type of the array as a column of Arrow.",
    ),
    (
        c"__arrow_c_array__",
        |py, this, arguments| arrow::array(py, &this.array, arguments),
        c"__arrow_c_array__($self, /, requested_schema=None)\n--\n\nThe array as a column of Arrow.",
    ),
    (
        c"__arrow_c_device_array__",
        |py, this, arguments| arrow::device_array(py, &this.array, arguments),
        c"__arrow_c_device_array__($self, /, requested_schema=None, **kwargs)\n--\n\nThe array as a column of Arrow on its device.",
    ),
    (
        c"__array__",
        |py, this, arguments| numpy::array(py, &this.array, arguments),
        c"__array__($self, /, dtype=None, *, copy=None)\n--\n\nThe array as one of NumPy.",
    ),
];

fn any<'py, T: IntoPyObject<'py>>(py: Python<'py>, value: T) -> PyResult<Bound<'py, PyAny>> {
    value.into_pyobject(py).map(|object| object.into_any().into_bound()).map_err(Into::into)
}

/// Makes the type, unless there is one.
pub(crate) fn ensure(py: Python<'_>) -> PyResult<()> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    TYPE.get_or_try_init(py, || make(py).map(Bound::unbind)).map(|_| ())
}

fn make(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let member = |name: &'static CStr, offset: usize| ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset.cast_signed(),
        flags: ffi::Py_READONLY,
        doc: ptr::null(),
    };
    let end = ffi::PyMemberDef { name: ptr::null(), type_code: 0, offset: 0, flags: 0, doc: ptr::null() };
    let mut members = [member(c"__weaklistoffset__", WEAK_REFERENCES), end];
    let [getters, methods] = slots::<ArrayTable>();
    let mut slots = [
        slot(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
        slot(ffi::Py_tp_new, new as *mut c_void),
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_bf_getbuffer, buffer::get as *mut c_void),
        slot(ffi::Py_bf_releasebuffer, buffer::release as *mut c_void),
        getters,
        methods,
        slot(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"crossdock_pyo3.Array".as_ptr(),
        basicsize: size_of::<Object>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT as c_ulong) as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: every slot has the type that its number says, and the last one is zero. The texts are
    // static, and the tables to which the type keeps pointers are leaked; it copies the members.
    let made = unsafe { ffi::PyType_FromSpec(&mut spec) };
    // SAFETY: `PyType_FromSpec` returns a new reference, or null with an exception set; `py` proves
    // that the GIL is held.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, made) }?;
    publish(made.cast_into::<PyType>()?)
}

struct ArrayTable;

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
    ];
}

unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this slot, with the GIL held until it returns.
    let called = unsafe { Called::new() };
    // SAFETY: the interpreter passes an instance of the type that has this slot.
    let this = unsafe { this(object) };
    called.enter(|py| {
        let (dtype, shape) = (dtype_text(this.array.dtype()), PyTuple::new(py, this.array.shape())?);
        let text = format!("Array(shape={shape}, dtype='{dtype}', device='{}')", this.array.place());
        Ok(any(py, text)?.into_ptr())
    })
}

unsafe extern "C" fn new(
    _: *mut ffi::PyTypeObject,
    _: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: only the interpreter calls this slot (`tp_new`), with the GIL held until it returns.
    let called = unsafe { Called::new() };
    called.enter(|_| Err(PyTypeError::new_err("arrays of an extension are made by its functions")))
}
