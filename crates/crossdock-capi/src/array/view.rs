//! Views of the same elements, zero-copy.

use std::ffi::c_char;

use crossdock::DArray;
use crossdock::element::DType;
use crossdock::layout::AxisSlice;

use crate::array::{XdArray, array_of, hand_over_array};
use crate::error::{Failure, Result};
use crate::foreign::{given, items, lengths, text};
use crate::guard::{ErrorOut, fallible};
use crate::handle::Handle;

/// `XD_SLICE_RANGE` of the header.
pub const XD_SLICE_RANGE: i32 = 0;
/// `XD_SLICE_INDEX` of the header.
pub const XD_SLICE_INDEX: i32 = 1;
/// `XD_SLICE_NEW_AXIS` of the header.
pub const XD_SLICE_NEW_AXIS: i32 = 2;
/// `XD_SLICE_REST` of the header.
pub const XD_SLICE_REST: i32 = 3;

/// `XD_OPEN` of the header: an omitted bound.
pub const XD_OPEN: isize = isize::MIN;

/// `xd_slice_t`: what a slice selects of one axis.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct XdSlice {
    /// One of the constants.
    pub kind: i32,
    /// Zero.
    pub reserved: i32,
    /// The first bound of a range, or the index.
    pub start: isize,
    /// The second bound of a range.
    pub stop: isize,
    /// The step of a range.
    pub step: isize,
}

impl XdSlice {
    fn of(&self, place: usize) -> Result<AxisSlice> {
        let bound = |given: isize| (given != XD_OPEN).then_some(given);
        Ok(match self.kind {
            XD_SLICE_RANGE => {
                AxisSlice::Range { start: bound(self.start), stop: bound(self.stop), step: self.step }
            }
            XD_SLICE_INDEX => AxisSlice::Index(self.start),
            XD_SLICE_NEW_AXIS => AxisSlice::NewAxis,
            XD_SLICE_REST => AxisSlice::Ellipsis,
            other => {
                let text = format!("the kind of `slices[{place}]`, {other}, is not one of the constants");
                return Err(Failure::argument(text));
            }
        })
    }
}

fn made(array: Option<&XdArray>, view: impl FnOnce(&DArray) -> Result<DArray>) -> Result<Handle<XdArray>> {
    hand_over_array(view(array_of(array, "array")?)?)
}

/// A part of each axis, as in NumPy.
///
/// # Safety
///
/// `slices` is null or points to `count` items that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_slice(
    array: Option<&XdArray>,
    count: usize,
    slices: *const XdSlice,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: `# Safety`: `slices` is null or points to `count` initialised items, which
        // nothing writes during the call.
        let slices = unsafe { items(slices, count, "slices") }?;
        let axes = slices.iter().enumerate().map(|(place, slice)| slice.of(place));
        let axes = axes.collect::<Result<Vec<_>>>()?;
        made(array, |array| Ok(array.slice_numpy(axes)?))
    })
}

/// The view that a subscript selects, given as text.
///
/// # Safety
///
/// `subscript` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_at(
    array: Option<&XdArray>,
    subscript: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    // SAFETY: `# Safety`: `subscript` is null or a C string; the result is used during this call
    // only, while nothing writes it.
    fallible(error, || made(array, |array| Ok(array.at(unsafe { text(subscript, "subscript") }?)?)))
}

/// One field of each record.
///
/// # Safety
///
/// `name` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_field(
    array: Option<&XdArray>,
    name: *const c_char,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    // SAFETY: `# Safety`: `name` is null or a C string; the result is used during this call only,
    // while nothing writes it.
    fallible(error, || made(array, |array| Ok(array.field(unsafe { text(name, "name") }?)?)))
}

/// The axes in reverse order.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_transpose(array: Option<&XdArray>, error: ErrorOut<'_>) -> Handle<XdArray> {
    fallible(error, || made(array, |array| Ok(array.transpose()?)))
}

/// The axes in another order.
///
/// # Safety
///
/// `axes` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_permute(
    array: Option<&XdArray>,
    ndim: usize,
    axes: *const isize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: `# Safety`: `axes` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let axes = unsafe { lengths(axes, ndim, "axes") }?;
        made(array, |array| Ok(array.permute(axes.as_slice())?))
    })
}

/// The same elements with another shape.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_reshape(
    array: Option<&XdArray>,
    ndim: usize,
    shape: *const isize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        made(array, |array| Ok(array.reshape(shape.as_slice())?))
    })
}

/// The elements, repeated along new axes and axes of length 1.
///
/// # Safety
///
/// `shape` is null or points to `ndim` numbers that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_broadcast_to(
    array: Option<&XdArray>,
    ndim: usize,
    shape: *const isize,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        // SAFETY: `# Safety`: `shape` is null or points to `ndim` numbers, which nothing writes
        // during the call.
        let shape = unsafe { lengths(shape, ndim, "shape") }?;
        made(array, |array| Ok(array.broadcast_to(shape.as_slice())?))
    })
}

/// The same bytes as elements of another dtype.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_view_as(
    array: Option<&XdArray>,
    dtype: Option<&DType>,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        let dtype = given(dtype, "dtype")?;
        made(array, |array| Ok(array.view_as(dtype)?))
    })
}
