//! Imports `__array_interface__`, `__array_struct__` and `__cuda_array_interface__`.

use std::slice;

use crossdock::DArray;
use crossdock::bindings::array_interface::abi::{HAS_DESCR, PyArrayInterface, WRITEABLE};
use crossdock::bindings::array_interface::{Described, cuda, import, type_string};
use crossdock::bindings::dialect::typestr;
use crossdock::buffer::Buffer;
use crossdock::layout::MAX_RANK;
use crossdock::memory::Birth;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer::bytes_of;
use crate::capsule::pointer;
use crate::errors;
use crate::owner::Owner;
use crate::{overlap, records};

/// Whether an object has `__array_interface__`.
pub(crate) fn is_offered(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(intern!(object.py(), "__array_interface__"))
}

/// Whether an object has `__array_struct__`.
pub(crate) fn is_offered_struct(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(intern!(object.py(), "__array_struct__"))
}

/// Whether an object has `__cuda_array_interface__`.
pub(crate) fn is_offered_cuda(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(intern!(object.py(), "__cuda_array_interface__"))
}

/// The content of a dictionary.
struct Said<'py> {
    /// The dictionary itself, which keeps the memory alive for some producers; `None` for the C
    /// struct.
    given: Option<Bound<'py, PyDict>>,
    typestr: String,
    descr: Option<String>,
    name: Option<String>,
    shape: Vec<isize>,
    strides: Option<Vec<isize>>,
    stream: Option<i64>,
    data: Data<'py>,
}

/// Where the elements are.
enum Data<'py> {
    At(usize, bool),
    /// In the buffer of an object, at this offset in bytes.
    In(Bound<'py, PyAny>, usize),
}

const INTERFACE: &str = "__array_interface__";
const CUDA: &str = "__cuda_array_interface__";

fn read<'py>(object: &Bound<'py, PyAny>, interface: &str) -> PyResult<Said<'py>> {
    let wrong = |what: String| wrong(interface, what);
    let given = object.getattr(interface)?;
    let Ok(given) = given.cast::<PyDict>() else {
        return Err(wrong(format!("is {} and no dictionary", given.get_type().name()?)));
    };
    let some = |key: &str| Ok::<_, PyErr>(given.get_item(key)?.filter(|value| !value.is_none()));
    let needed = |key: &str| some(key)?.ok_or_else(|| wrong(format!("has no {key:?}")));
    if some("mask")?.is_some() {
        return Err(PyBufferError::new_err(
            "some elements of the array interface are masked, which no dtype says: take data and mask apart",
        ));
    }
    let descr = some("descr")?.map(|descr| descr.repr()).transpose()?.map(|text| text.to_string());
    let offset: usize = some("offset")?.map_or(Ok(0), |offset| offset.extract())?;
    let data = match some("data")? {
        // Without `data`, the object's own buffer has the elements.
        None => Data::In(object.clone(), offset),
        Some(data) => match data.extract::<(usize, bool)>() {
            Ok((address, readonly)) => Data::At(address, readonly),
            Err(_) => Data::In(data, offset),
        },
    };
    let typestr: String = needed("typestr")?.extract()?;
    let descr = descr_of_dtype(object, &typestr)?.or(descr);
    Ok(Said {
        given: Some(given.clone()),
        typestr,
        descr,
        name: named(object),
        shape: needed("shape")?.extract()?,
        strides: some("strides")?.map(|strides| strides.extract()).transpose()?,
        stream: some("stream")?.map(|stream| stream.extract()).transpose()?,
        data,
    })
}

#[cold]
fn wrong(interface: &str, what: String) -> PyErr {
    PyTypeError::new_err(format!("the {interface} {what}"))
}

/// The fields that an object's own dtype has, if that is NumPy's and of the size in the type
/// string: `descr` cannot describe fields that overlap or are out of order.
fn descr_of_dtype(object: &Bound<'_, PyAny>, typestr: &str) -> PyResult<Option<String>> {
    let py = object.py();
    let Some(size) = typestr.strip_prefix("|V").and_then(|size| size.parse::<usize>().ok()) else {
        return Ok(None);
    };
    let Some(class) = records::class(py, "dtype")? else { return Ok(None) };
    let Ok(dtype) = object.getattr(intern!(py, "dtype")) else { return Ok(None) };
    if !dtype.is_instance(&class)? || dtype.getattr(intern!(py, "names"))?.is_none() {
        return Ok(None);
    }
    let dtype = records::of_dtype(&dtype)?;
    let text = typestr::print(&dtype).ok();
    Ok(text.filter(|_| dtype.itemsize() == size))
}

/// The name of the element type in NumPy: type strings lose dtypes that extensions define.
fn named(object: &Bound<'_, PyAny>) -> Option<String> {
    let name = object.getattr(intern!(object.py(), "dtype")).ok()?.getattr("name").ok()?;
    name.extract().ok()
}

impl Said<'_> {
    fn described(&self, data: *mut u8) -> Described<'_> {
        Described {
            typestr: &self.typestr,
            descr: self.descr.as_deref(),
            name: self.name.as_deref(),
            data,
            shape: &self.shape,
            strides: self.strides.as_deref(),
        }
    }

    /// On the buffer of an object, which must contain the whole described range.
    fn within(&self, bytes: Buffer, offset: usize) -> PyResult<DArray> {
        let made = self
            .described(std::ptr::null_mut())
            .checked()
            .and_then(|(dtype, layout)| DArray::from_buffer(bytes, dtype, layout, offset));
        made.map(overlap::protected).map_err(|error| errors::refusal(&error))
    }
}

/// A zero-copy array on the memory that an object describes.
pub(crate) fn lend(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let said = read(object, INTERFACE)?;
    match &said.data {
        Data::At(address, readonly) => {
            // NumPy's scalars make a new array for each dictionary, which lives as long as the
            // dictionary.
            if let Data::At(again, _) = read(object, INTERFACE)?.data
                && again != *address
            {
                return Err(copied_each_time());
            }
            let kept = (object, said.given.as_ref()).into_pyobject(object.py())?;
            at(&said, *address, *readonly, Owner::object(kept.as_any()))
        }
        Data::In(data, offset) => {
            let bytes = bytes_of(data)?;
            // A producer that creates new data for each request copies. Both are alive, so equal
            // addresses mean the same memory.
            if let Data::In(again, _) = read(object, INTERFACE)?.data
                && bytes_of(&again)?.as_ptr() != bytes.as_ptr()
            {
                return Err(copied_each_time());
            }
            said.within(bytes, *offset)
        }
    }
}

#[cold]
fn copied_each_time() -> PyErr {
    PyBufferError::new_err(
        "its __array_interface__ makes a new copy of the data each time that it is asked, and shares no memory",
    )
}

/// An array on a copy that an object made at each request. `None` if it makes none.
pub(crate) fn copied(object: &Bound<'_, PyAny>) -> PyResult<Option<DArray>> {
    let said = read(object, INTERFACE)?;
    match &said.data {
        Data::At(..) => Ok(None),
        Data::In(data, offset) => said.within(bytes_of(data)?, *offset).map(Some),
    }
}

/// A zero-copy array on the CUDA memory that an object describes. Its next use is ordered after the
/// producer's work in the stream that the dictionary names.
pub(crate) fn lend_cuda(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let said = read(object, CUDA)?;
    let Data::At(address, readonly) = said.data else {
        return Err(wrong(CUDA, "has no address as its data".to_owned()));
    };
    let kept = (object, said.given.as_ref()).into_pyobject(object.py())?;
    let owner = Owner::object(kept.as_any());
    let data = std::ptr::with_exposed_provenance_mut(address);
    let described = said.described(data);
    let array = cuda::place_of(&described).and_then(|place| {
        let synchronization = cuda::synchronization(said.stream)?;
        let release = move || drop(owner);
        // SAFETY: the protocol requires the elements to stay valid while the object lives, which
        // `owner` keeps, and the stream to be a live CUDA stream.
        unsafe { cuda::import(&described, place, synchronization, readonly, release) }
    });
    array.map(overlap::protected).map_err(|error| errors::refusal(&error))
}

fn at(said: &Said<'_>, address: usize, readonly: bool, owner: Owner) -> PyResult<DArray> {
    let data = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: the protocol requires the elements to stay valid while the object lives, which
    // `owner` keeps. Foreign code may write them, which `Birth::Aliased` says.
    let array = unsafe { import(&said.described(data), readonly, Birth::Aliased, move || drop(owner)) };
    array.map(overlap::protected).map_err(|error| errors::refusal(&error))
}

/// A zero-copy array on the memory that an object describes by the C struct.
pub(crate) fn lend_struct(object: &Bound<'_, PyAny>) -> PyResult<DArray> {
    let capsule = object.getattr(intern!(object.py(), "__array_struct__"))?;
    // SAFETY: `capsule` is a live object, and its `Bound` proves that this thread holds the GIL.
    let Some(described) = (unsafe { pointer::<PyArrayInterface>(capsule.as_ptr(), None) }) else {
        return Err(PyTypeError::new_err("the __array_struct__ is no capsule without a name"));
    };
    // SAFETY: by the protocol, such a capsule points to a `PyArrayInterface`, which lives as long
    // as the capsule; `capsule` is referenced here.
    let described = unsafe { &*described };
    let PyArrayInterface { nd, flags, shape, strides, data, descr, .. } = *described;
    let typestr = type_string(described).map_err(|error| errors::refusal(&error))?;
    let own_descr = descr_of_dtype(object, &typestr)?;
    let rank = usize::try_from(nd).ok().filter(|&rank| rank <= MAX_RANK).ok_or_else(|| {
        PyTypeError::new_err(format!("the __array_struct__ has {nd} axes, and not 0 to {MAX_RANK}"))
    })?;
    let numbers = |pointer: *mut isize| match pointer.is_null() || rank == 0 {
        true => None,
        // SAFETY: `pointer` is not null in this branch, and by the protocol it points to `nd`
        // numbers, which `rank` is.
        false => Some(unsafe { slice::from_raw_parts(pointer, rank) }.to_vec()),
    };
    let descr = if flags & HAS_DESCR == 0 || descr.is_null() {
        None
    } else {
        // SAFETY: by the protocol, `descr` is a live object if the flag is set, which was just
        // checked with null; the struct holds a reference.
        let descr = unsafe { Bound::from_borrowed_ptr(object.py(), descr.cast()) };
        Some(descr.repr()?.to_string())
    };
    let said = Said {
        given: None,
        typestr,
        descr: own_descr.or(descr),
        name: named(object),
        shape: numbers(shape).unwrap_or_default(),
        strides: numbers(strides),
        stream: None,
        data: Data::At(0, false),
    };
    if said.shape.len() != rank {
        return Err(PyTypeError::new_err(format!("the __array_struct__ has {rank} axes and no shape")));
    }
    // Both are kept alive: some producers tie the memory to the object, others to the capsule.
    let both = (object, &capsule).into_pyobject(object.py())?;
    at(&said, data.expose_provenance(), flags & WRITEABLE == 0, Owner::object(both.as_any()))
}
