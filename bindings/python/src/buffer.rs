//! The buffer protocol, outwards: `bf_getbuffer` and `bf_releasebuffer`.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{CString, c_char, c_int};
use std::ptr;

use crossdock::DArray;
use crossdock::element::dialect::pep3118 as format;
use crossdock::exchange::protocol::pep3118::{Flags, Loan};
use crossdock::layout::{AxisSlice, Layout};
use pyo3::PyErr;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;

use crate::entry::{Called, fail};
use crate::errors;
use crate::object::{Count, Own, this};
use crate::records;

/// The buffers that consumers have of one object. They share one loan.
///
/// # Invariants
///
/// 1. While `count` is not 0, there is a loan, and what `described` points to stays as it is.
/// 2. `described` points into the object that this is part of, or into `aside`, which is written once.
pub(crate) struct Exports {
    count: Count,
    loan: RefCell<Option<Loan>>,
    described: Cell<Option<Description>>,
    aside: OnceCell<Box<Aside>>,
}

/// Where the parts of the description lie. Null where an array has none.
#[derive(Clone, Copy)]
struct Description {
    format: *const c_char,
    shape: *const isize,
    strides: *const isize,
    suboffsets: *const isize,
    /// Why a consumer that asks for the format is refused, although it can be written.
    misread: Option<&'static str>,
}

/// What of the description does not lie in the array as C wants it.
struct Aside {
    format: Option<CString>,
    strides: Vec<isize>,
    suboffsets: Vec<isize>,
}

impl Exports {
    pub(crate) fn new() -> Self {
        Self {
            count: Cell::new(0),
            loan: RefCell::new(None),
            described: Cell::new(None),
            aside: OnceCell::new(),
        }
    }

    /// How many buffers are out.
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// The description of the array that this is the record of.
    #[inline]
    fn describe(&self, array: &DArray) -> crossdock::Result<Description> {
        match self.described.get() {
            Some(description) => Ok(description),
            None => self.describe_anew(array),
        }
    }

    #[cold]
    fn describe_anew(&self, array: &DArray) -> crossdock::Result<Description> {
        let (dtype, layout) = (array.dtype(), array.layout());
        let aligned = is_aligned(array)?;
        let letters = format::print_static(dtype).filter(|_| aligned);
        let written = match letters {
            Some(_) => None,
            None if aligned => Some(format::print(dtype)?),
            None => Some(format::print_unaligned(dtype)?),
        };
        // A format has no NUL: names with one are refused.
        let written = written.map(|text| CString::new(text).unwrap_or_default());
        // Consumers look at the strides of axes of length 1, whatever stands there.
        let normalized = layout.normalized();
        let own_strides = normalized.strides() == layout.strides();
        let suboffsets = suboffsets(layout);
        let aside = if written.is_some() || !own_strides || !suboffsets.is_empty() {
            let strides = normalized.strides().to_vec();
            Some(&**self.aside.get_or_init(|| Box::new(Aside { format: written, strides, suboffsets })))
        } else {
            None
        };
        let some = |slice: &[isize]| if slice.is_empty() { ptr::null() } else { slice.as_ptr() };
        let strides = match aside {
            Some(aside) => &aside.strides,
            None => layout.strides(),
        };
        let shape = layout.shape();
        let description = Description {
            format: match (letters, aside.and_then(|aside| aside.format.as_deref())) {
                (Some(letters), _) => letters.as_ptr(),
                (None, text) => text.map_or(ptr::null(), |text| text.as_ptr()),
            },
            // Lengths are at most `isize::MAX`.
            shape: if shape.is_empty() { ptr::null() } else { shape.as_ptr().cast() },
            strides: some(strides),
            suboffsets: some(aside.map_or(&[][..], |aside| &aside.suboffsets)),
            misread: records::misread_format(dtype),
        };
        self.described.set(Some(description));
        Ok(description)
    }

    /// One buffer more. Whether it is read-only.
    #[inline]
    fn begin(&self, array: &DArray) -> crossdock::Result<bool> {
        if self.count.get() == 0 {
            let loan = Loan::new(array)?;
            // Nothing else borrows it: whoever does, does so in these two functions.
            *self.loan.borrow_mut() = Some(loan);
        }
        self.count.set(self.count.get() + 1);
        Ok(array.is_readonly())
    }

    /// One buffer fewer.
    #[inline]
    fn end(&self) {
        let left = self.count.get().saturating_sub(1);
        self.count.set(left);
        if left == 0 {
            drop(self.loan.borrow_mut().take());
        }
    }
}

#[cold]
fn misread(array: &DArray, why: &str) -> PyErr {
    PyBufferError::new_err(format!(
        "{why}, and these are elements of {}: numpy.asarray(x) gives them in place, and x.tobytes() their bytes",
        array.dtype()
    ))
}

/// Whether every element lies where C would have it. O(1), or O(pointers) for an indirect array.
fn is_aligned(array: &DArray) -> crossdock::Result<bool> {
    let (alignment, layout) = (array.dtype().alignment(), array.layout());
    if layout.suboffsets().is_none() || alignment == 1 {
        return Ok(array.as_ptr().addr().is_multiple_of(alignment) && layout.is_aligned(alignment));
    }
    for index in 0..layout.shape()[0] {
        if !is_aligned(&array.slice([AxisSlice::Index(index.cast_signed()), AxisSlice::Ellipsis])?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As C has them; none where no axis follows pointers.
fn suboffsets(layout: &Layout) -> Vec<isize> {
    let all = layout.suboffsets().unwrap_or_default();
    all.iter().map(|suboffset| suboffset.unwrap_or(-1)).collect()
}

/// `bf_getbuffer`.
///
/// # Safety
///
/// The interpreter calls it, with an object of the type.
pub(crate) unsafe extern "C" fn get(
    object: *mut ffi::PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's word.
    let called = unsafe { Called::new() };
    // SAFETY: the caller's word.
    let this = unsafe { this(object) };
    // SAFETY: null or a struct that is the callee's for the time being (the protocol's word).
    let view = unsafe { view.as_mut() };
    called.enter_fast(|_| fill(this, object, view, Flags::from_bits(flags)))
}

/// `this` is the array behind the object.
#[inline(always)]
fn fill(this: &Own, object: *mut ffi::PyObject, view: Option<&mut ffi::Py_buffer>, flags: Flags) -> c_int {
    let Some(view) = view else {
        return fail(|_| PyBufferError::new_err("the address for the buffer is null"));
    };
    // Whatever happens: what is released without having been given refers to nothing.
    view.obj = ptr::null_mut();
    let array = &this.array;
    let given = match flags.given(array.layout(), array.is_readonly()) {
        Ok(given) => given,
        Err(error) => return fail(|_| errors::refusal(&error)),
    };
    let parts = match this.exports.describe(array) {
        Ok(parts) => parts,
        Err(error) => return fail(|_| errors::refusal(&error)),
    };
    if let Some(why) = parts.misread.filter(|_| given.format) {
        return fail(|_| misread(array, why));
    }
    let readonly = match this.exports.begin(array) {
        Ok(readonly) => readonly,
        Err(error) => return fail(|_| errors::refusal(&error)),
    };
    let part = |there: bool, pointer: *const isize| if there { pointer.cast_mut() } else { ptr::null_mut() };
    view.buf = array.as_ptr().cast_mut().cast();
    view.len = array.nbytes().cast_signed();
    view.itemsize = array.layout().itemsize().cast_signed();
    view.readonly = c_int::from(readonly);
    view.ndim = if given.shape { array.rank() as c_int } else { 1 };
    view.format = if given.format { parts.format.cast_mut() } else { ptr::null_mut() };
    view.shape = part(given.shape, parts.shape);
    view.strides = part(given.strides, parts.strides);
    view.suboffsets = part(given.suboffsets, parts.suboffsets);
    view.internal = ptr::null_mut();
    // SAFETY: an object that the caller refers to.
    unsafe { ffi::Py_INCREF(object) };
    view.obj = object;
    0
}

/// `bf_releasebuffer`.
///
/// # Safety
///
/// The interpreter calls it, with an object of the type and what [`get`] filled in, once.
pub(crate) unsafe extern "C" fn release(object: *mut ffi::PyObject, _: *mut ffi::Py_buffer) {
    // SAFETY: the caller's word. The loan is not the last that keeps the memory: the object has a handle.
    unsafe { this(object) }.exports.end();
}
