//! `x[…]`, `x[…] = …`, `len(x)`.

use std::ffi::c_int;
use std::ptr;

use crossdock::layout::{AxisSlice, MAX_RANK};
use crossdock::{Casting, DArray};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};
use pyo3::{Borrowed, ffi};

use crate::convert::{is_value, number, to_python, to_value};
use crate::detach::{both_detached, detached};
use crate::direct::{integer, is_exact, tuple_item, tuple_len};
use crate::entry::{Called, fail, fetch};
use crate::errors::{self, Raise, exception};
use crate::object::{allocate, allocate_with, downcast, this, wrap};
use crate::{moment, nested, protocols, slice};

/// Up to this many indices and slices are on the stack.
const FEW: usize = 8;

const FANCY: &str = "arrays are indexed by integers, slices, ..., None and the names of fields, which select \
    views; for boolean masks and lists of indices, which copy, use np.asarray(x)[...]";

/// `mp_subscript`.
///
/// # Safety
///
/// 1. The interpreter calls this slot, with the GIL held until it returns.
/// 2. `object` is an object of the type, and `key` is a live object.
pub(crate) unsafe extern "C" fn get(
    object: *mut ffi::PyObject,
    key: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this slot with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type; the interpreter keeps it alive until
    // the slot returns.
    let array = &unsafe { this(object) }.array;
    called.enter_fast(|py| {
        let mut indices = [0; FEW];
        // SAFETY: clause 2 of `# Safety`: `key` is a live object for the duration of the call, and
        // `py` proves that the GIL is held.
        let key = unsafe { Borrowed::from_ptr(py, key) };
        let is_scalar = array.dtype().as_scalar().is_some();
        if let Some(index) = whole_index(key, array.shape(), &mut indices).filter(|_| is_scalar) {
            return match array.get(index) {
                Ok(value) => match number(py, &value) {
                    Some(number) => number,
                    None => called.enter(|py| Ok(to_python(py, &value)?.into_ptr())),
                },
                Err(error) => fail(|_| exception(&error)),
            };
        }
        match part(array, key, |axes| allocate_with(py, |place| array.slice_numpy_to(axes, place))) {
            Ok(Part::Slice(object)) => object,
            Ok(Part::Field(field)) => allocate(py, field),
            Ok(Part::Element(index)) => called.enter(|py| Ok(element(py, array, &index)?.into_ptr())),
            Err(error) => fail(|_| error),
        }
    })
}

/// `sq_item`, which iteration calls.
///
/// # Safety
///
/// 1. The interpreter calls this slot, with the GIL held until it returns.
/// 2. `object` is an object of the type.
pub(crate) unsafe extern "C" fn item(object: *mut ffi::PyObject, index: isize) -> *mut ffi::PyObject {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this slot with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type; the interpreter keeps it alive until
    // the slot returns.
    let array = &unsafe { this(object) }.array;
    called.enter(|py| {
        let Some(&len) = array.shape().first() else {
            return Err(PyTypeError::new_err("an array without axes has no items to go through"));
        };
        let at = usize::try_from(index).ok().filter(|&index| index < len);
        let at = at.ok_or_else(|| {
            PyIndexError::new_err(format!("index {index} is out of bounds for axis 0 of length {len}"))
        })?;
        let item = match array.rank() {
            1 => element(py, array, &[at])?,
            _ => wrap(py, array.drop_axis(0, at).raise()?)?,
        };
        Ok(item.into_ptr())
    })
}

/// `tp_iter`: an iterator over the items of axis 0, which makes an array an iterable for `pandas`
/// and `isinstance`.
///
/// # Safety
///
/// 1. The interpreter calls this slot, with the GIL held until it returns.
/// 2. `object` is an object of the type.
pub(crate) unsafe extern "C" fn iterate(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this slot with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type; the interpreter keeps it alive until
    // the slot returns.
    let rank = unsafe { this(object) }.array.rank();
    called.enter(|_| match rank {
        0 => Err(PyTypeError::new_err(
            "an array without axes has no items to iterate over: x.item() is its element",
        )),
        // SAFETY: clause 2 of `# Safety`: `object` is a live object, of a type with `sq_item`; the
        // result is a new reference, or null with an exception.
        _ => Ok(unsafe { ffi::PySeqIter_New(object) }),
    })
}

/// `mp_length` and `sq_length`.
///
/// # Safety
///
/// 1. The interpreter calls this slot, with the GIL held until it returns.
/// 2. `object` is an object of the type.
pub(crate) unsafe extern "C" fn len(object: *mut ffi::PyObject) -> isize {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this slot with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type; the interpreter keeps it alive until
    // the slot returns.
    let array = &unsafe { this(object) }.array;
    called.enter(|_| match array.shape().first() {
        Some(&len) => Ok(len.cast_signed()),
        None => Err(PyTypeError::new_err("an array without axes has no length")),
    })
}

/// `mp_ass_subscript`.
///
/// # Safety
///
/// 1. The interpreter calls this slot, with the GIL held until it returns.
/// 2. `object` is an object of the type, and `key` is a live object.
/// 3. `value` is a live object, or null to delete the item.
pub(crate) unsafe extern "C" fn set(
    object: *mut ffi::PyObject,
    key: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: clause 1 of `# Safety`: the interpreter called this slot with the GIL held, and
    // `called` ends with it.
    let called = unsafe { Called::new() };
    // SAFETY: clause 2 of `# Safety`: `object` is of the type; the interpreter keeps it alive until
    // the slot returns.
    let array = &unsafe { this(object) }.array;
    called.enter(|py| {
        // SAFETY: clause 3 of `# Safety`: `value` is null or a live object, and `py` proves that
        // the GIL is held.
        let Some(value) = (unsafe { Bound::from_borrowed_ptr_or_opt(py, value) }) else {
            return Err(PyTypeError::new_err("elements of an array cannot be deleted"));
        };
        let mut indices = [0; FEW];
        // SAFETY: clause 2 of `# Safety`: `key` is a live object for the duration of the call, and
        // `py` proves that the GIL is held.
        let key = unsafe { Borrowed::from_ptr(py, key) };
        let index = whole_index(key, array.shape(), &mut indices);
        if let Some(index) = index.filter(|_| array.dtype().as_scalar().is_some() && is_value(&value)) {
            array.set(index, &to_value(&value, Some(array.dtype()))?).raise()?;
            return Ok(0);
        }
        match part(array, key, |axes| array.slice_numpy(axes))? {
            Part::Slice(target) | Part::Field(target) => assign(&target, &value, fitted)?,
            Part::Element(index) => assign(&view_of(array, &index)?, &value, |_, source| Ok(source.clone()))?,
        }
        Ok(0)
    })
}

/// Writes every element: one value, or another array's elements, broadcast to this shape. `fit`
/// makes the source of the other array.
fn assign(
    target: &DArray,
    value: &Bound<'_, PyAny>,
    fit: impl Fn(&DArray, &DArray) -> PyResult<DArray>,
) -> PyResult<()> {
    if let Some(other) = downcast(value) {
        return copy(value.py(), target, &fit(target, &other.array)?);
    }
    let is_record = value.is_instance_of::<PyTuple>() && target.dtype().as_record().is_some();
    // NumPy's dates export buffers, which do not declare that they are dates.
    let element = match is_value(value) || is_record || moment::is_scalar(value)? {
        true => Some(to_value(value, Some(target.dtype()))?),
        false => moment::for_element(value, target.dtype())?,
    };
    if let Some(element) = element {
        return detached(value.py(), target, |target| target.fill(&element)).raise();
    }
    let other = match protocols::lend_unmasked(value) {
        Ok(other) => fit(target, &other)?,
        // The reason why the object shares no memory is the better error.
        Err(refused) if refused.is_instance_of::<PyBufferError>(value.py()) => {
            nested::read(value, Some(target.dtype())).map_err(|_| refused)?
        }
        Err(_) => nested::read(value, Some(target.dtype()))?,
    };
    copy(value.py(), target, &other)
}

/// The source without the leading axes of length 1 that the target lacks, as NumPy assigns.
fn fitted(target: &DArray, source: &DArray) -> PyResult<DArray> {
    let mut source = source.clone();
    while source.rank() > target.rank() && source.shape()[0] == 1 {
        source = source.drop_axis(0, 0).raise()?;
    }
    Ok(source)
}

fn copy(py: Python<'_>, target: &DArray, source: &DArray) -> PyResult<()> {
    both_detached(py, [target, source], |target, source| target.assign(source, Casting::Checked)).raise()
}

/// One element: a Python value, or for an element with parts an array without axes.
pub(crate) fn element<'py>(py: Python<'py>, array: &DArray, index: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    match array.dtype().as_scalar() {
        Some(_) => to_python(py, &array.get(index).raise()?),
        None => wrap(py, view_of(array, index)?),
    }
}

fn view_of(array: &DArray, index: &[usize]) -> PyResult<DArray> {
    let axes: Vec<_> = index.iter().map(|&index| AxisSlice::Index(index.cast_signed())).collect();
    array.slice(axes).raise()
}

/// The index of one element, if the key is plain enough to see it at once: an exact integer for
/// each axis, within bounds.
#[inline(always)]
fn whole_index<'a>(
    key: Borrowed<'_, '_, PyAny>,
    shape: &[usize],
    indices: &'a mut [usize; FEW],
) -> Option<&'a [usize]> {
    let indices = indices.get_mut(..shape.len())?;
    let raw = key.as_ptr();
    // SAFETY: clause 1 of `tuple_len`: the key is alive, and its token proves that the GIL is held.
    if let Some(count) = unsafe { tuple_len(raw) } {
        if count != shape.len() {
            return None;
        }
        for (position, (index, &len)) in indices.iter_mut().zip(shape).enumerate() {
            // SAFETY: clauses 1 and 2 of `tuple_item`: the key is a live tuple of `shape.len()`
            // items (checked above), `position` is below that, and the GIL is held.
            let item = unsafe { tuple_item(raw, position) };
            // SAFETY: clause 1 of `plain_index`: the tuple keeps its item alive, and the key's
            // token proves that the GIL is held.
            *index = unsafe { plain_index(item, len) }?;
        }
    } else {
        let ([index], [len]) = (&mut *indices, shape) else { return None };
        // SAFETY: clause 1 of `plain_index`: the key is alive, and its token proves that the GIL is
        // held.
        *index = unsafe { plain_index(raw, *len) }?;
    }
    Some(indices)
}

/// # Safety
///
/// 1. The object is alive, and the GIL is held.
#[inline(always)]
unsafe fn plain_index(object: *mut ffi::PyObject, len: usize) -> Option<usize> {
    // SAFETY: clause 1 of `integer` is clause 1 of `# Safety`.
    let index = unsafe { integer(object) }?;
    let index = if index < 0 { index + len.cast_signed() } else { index };
    usize::try_from(index).ok().filter(|&index| index < len)
}

/// What a key names.
enum Part<S> {
    /// The result for the list of slices.
    Slice(S),
    Field(DArray),
    /// Every axis has an index.
    Element(Vec<usize>),
}

#[inline]
fn part<S>(
    array: &DArray,
    key: Borrowed<'_, '_, PyAny>,
    slice: impl FnOnce(&[AxisSlice]) -> crossdock::Result<S>,
) -> PyResult<Part<S>> {
    let raw = key.as_ptr();
    // SAFETY: clause 1 of `tuple_len`: the key is alive, and its token proves that the GIL is held.
    if let Some(count) = unsafe { tuple_len(raw) } {
        let item = |position: usize| {
            // SAFETY: clauses 1 and 2 of `tuple_item`: the key is a live tuple of `count` items,
            // and callers of `item` pass a position below `count`; the GIL is held.
            let item = unsafe { tuple_item(raw, position) };
            // SAFETY: the tuple holds a reference to its item and is immutable, so the item lives
            // as long as the borrow of `key`.
            unsafe { Borrowed::from_ptr(key.py(), item) }
        };
        if count > FEW {
            if count > 2 * MAX_RANK + 1 {
                return Err(PyIndexError::new_err(format!("{count} indices for {} axes", array.rank())));
            }
            let mut axes = vec![AxisSlice::Ellipsis; count];
            for (position, place) in axes.iter_mut().enumerate() {
                read_axis(item(position), place)?;
            }
            return sliced(array, &axes, slice);
        }
        let mut axes = [AxisSlice::Ellipsis; FEW];
        for (position, place) in axes[..count].iter_mut().enumerate() {
            read_axis(item(position), place)?;
        }
        return sliced(array, &axes[..count], slice);
    }
    if let Ok(name) = key.cast::<PyString>() {
        return field(array, &name.extract::<String>()?).map(Part::Field);
    }
    let mut axes = [AxisSlice::Ellipsis];
    read_axis(key, &mut axes[0])?;
    sliced(array, &axes, slice)
}

/// The field of this name, in every element.
pub(crate) fn field(array: &DArray, name: &str) -> PyResult<DArray> {
    array.field(name).map_err(|error| PyValueError::new_err(errors::text(&error)))
}

#[inline]
fn sliced<S>(
    array: &DArray,
    axes: &[AxisSlice],
    slice: impl FnOnce(&[AxisSlice]) -> crossdock::Result<S>,
) -> PyResult<Part<S>> {
    let indices =
        || axes.iter().map(|axis| if let AxisSlice::Index(index) = *axis { Some(index) } else { None });
    if axes.len() == array.rank() && indices().all(|index| index.is_some()) {
        let mut whole = Vec::with_capacity(axes.len());
        for (axis, (index, &len)) in indices().flatten().zip(array.shape()).enumerate() {
            let from_start = if index < 0 { index.saturating_add(len.cast_signed()) } else { index };
            let inside = usize::try_from(from_start).ok().filter(|&index| index < len);
            whole.push(inside.ok_or_else(|| {
                PyIndexError::new_err(format!(
                    "index {index} is out of bounds for axis {axis} of length {len}"
                ))
            })?);
        }
        return Ok(Part::Element(whole));
    }
    match slice(axes) {
        Ok(made) => Ok(Part::Slice(made)),
        Err(error) if error.is_shape() || error.is_unsupported() => {
            Err(PyIndexError::new_err(errors::text(&error)))
        }
        Err(error) => Err(exception(&error)),
    }
}

/// Reads what one part of a key selects along an axis. Written to its place in the list: returned
/// and moved there, it would wait for its own stores.
#[inline]
fn read_axis(key: Borrowed<'_, '_, PyAny>, place: &mut AxisSlice) -> PyResult<()> {
    let raw = key.as_ptr();
    let exact = &raw const ffi::PySlice_Type;
    // SAFETY: clause 1 of `is_exact`: the key is alive, and its token proves that the GIL is held.
    if unsafe { is_exact(raw, exact) } {
        // SAFETY: clauses 1 and 2 of `range`: `is_exact` just confirmed that `raw` is a slice,
        // which `key` keeps alive; its token proves that the GIL is held.
        if let Some(range) = unsafe { slice::range(raw) } {
            *place = range;
            return Ok(());
        }
        let (mut start, mut stop, mut step) = (0, 0, 0);
        // SAFETY: `is_exact` just confirmed that `raw` is a slice, and the three pointers are those
        // of local variables.
        if unsafe { ffi::PySlice_Unpack(raw, &mut start, &mut stop, &mut step) } != 0 {
            return Err(fetch(key.py()));
        }
        *place = AxisSlice::Range { start: Some(start), stop: Some(stop), step };
        return Ok(());
    }
    // SAFETY: clause 1 of `integer`: `key` borrows a live object, and its token proves that the GIL
    // is held.
    if let Some(index) = unsafe { integer(raw) } {
        *place = AxisSlice::Index(index);
        return Ok(());
    }
    // SAFETY: `Py_None` returns the address of the immortal singleton; the interpreter is
    // initialised, since `key` exists.
    if ptr::eq(raw, unsafe { ffi::Py_None() }) {
        *place = AxisSlice::NewAxis;
        return Ok(());
    }
    // SAFETY: `Py_Ellipsis` returns the address of the immortal singleton; the interpreter is
    // initialised, since `key` exists.
    if ptr::eq(raw, unsafe { ffi::Py_Ellipsis() }) {
        *place = AxisSlice::Ellipsis;
        return Ok(());
    }
    // SAFETY: `raw` is the live object that `key` borrows, and its token proves that the GIL is
    // held.
    let is_index = unsafe { ffi::PyIndex_Check(raw) } != 0;
    if !is_index || key.is_instance_of::<PyBool>() {
        return Err(PyIndexError::new_err(FANCY));
    }
    // SAFETY: the interpreter initialised this static pointer at start and never changes it; `key`
    // proves that it runs.
    let too_large = unsafe { ffi::PyExc_IndexError };
    // SAFETY: `raw` is the live object that `key` borrows, and `too_large` is the exception class
    // for values out of range.
    let index = unsafe { ffi::PyNumber_AsSsize_t(raw, too_large) };
    if index == -1 && PyErr::occurred(key.py()) {
        let error = fetch(key.py());
        // NumPy's arrays implement `__index__`, which fails for those with axes.
        let is_fancy = error.is_instance_of::<PyTypeError>(key.py());
        return Err(if is_fancy { PyIndexError::new_err(FANCY) } else { error });
    }
    *place = AxisSlice::Index(index);
    Ok(())
}
