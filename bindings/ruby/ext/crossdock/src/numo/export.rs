//! The elements of an array in place in an NArray, to be read.
//!
//! Numo uses the bytes of a frozen String in place, and keeps the String. So the elements are shown
//! to it as such a String, which keeps an array with a lease. The NArray is frozen: otherwise its
//! first write would copy the elements without a word.

use core::ffi::c_char;

use crossdock::DArray;
use crossdock::layout::Order;
use crossdock::view::Request;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RClass, Ruby, Value, prelude::*};
use rb_sys::VALUE;

use super::library::{NumoFunctions, NumoObject};
use crate::error::{Failure, Result};
use crate::handle::Wrapped;
use crate::leased::LeasedBytes;

/// The highest rank of an NArray.
const MOST_AXES: usize = 62;

/// A frozen NArray of a class with the array's dtype, or the reason why it would have to be a copy.
///
/// # Errors
///
/// The array's refusal of a lease.
pub(super) fn lend(ruby: &Ruby, this: Wrapped, class: RClass) -> Result<Value> {
    let array = this.array()?;
    if let Some(reason) = obstacle(&array) {
        return Ok(ruby.str_new(&reason).as_value());
    }
    let bytes = LeasedBytes::of(ruby, this, Request::pin())?;
    let (begin, nbytes, offset) = (bytes.begin, bytes.nbytes, bytes.offset);
    let string = bytes.into_string()?;
    let is_plain = array.is_contiguous(Order::RowMajor);
    let shape = match is_plain {
        true => array.shape().to_vec(),
        false => vec![nbytes / array.dtype().itemsize()],
    };
    let root: Value = class.funcall("from_binary", (string, ruby.ary_from_iter(shape)))?;
    let Some(functions) = NumoFunctions::of(root.as_raw()) else {
        return Err(Failure::ours(ruby, format!("{class} made an object that is no Numo::NArray")));
    };
    if functions.place(root.as_raw())? != (begin as *mut c_char, 0) {
        return Err(Failure::ours(ruby, format!("{class}.from_binary copied a frozen String")));
    }
    root.freeze();
    if is_plain {
        return Ok(root);
    }
    let view = functions.new_view(class, array.shape())?;
    // SAFETY: `nary_view_new` just returned this object, and it is on the stack.
    let view = unsafe { Value::from_raw(view) };
    point(view, root, offset, array.strides())?;
    view.freeze();
    Ok(view)
}

/// Why strides of Numo's cannot describe the elements, or its code not read them.
fn obstacle(array: &DArray) -> Option<String> {
    let itemsize = array.dtype().itemsize();
    let strides = array.shape().iter().zip(array.strides()).filter(|&(&len, _)| len > 1);
    if array.rank() > MOST_AXES {
        return Some(format!("it has {} axes, and Numo has {MOST_AXES} at most", array.rank()));
    }
    if !array.as_ptr().addr().is_multiple_of(array.dtype().alignment()) {
        return Some(format!(
            "its address {:#x} is not aligned for {}",
            array.as_ptr().addr(),
            array.dtype()
        ));
    }
    for (_, &stride) in strides {
        if !stride.unsigned_abs().is_multiple_of(itemsize) {
            return Some(format!("its stride of {stride} bytes is no multiple of its elements' {itemsize}"));
        }
    }
    None
}

/// Points a new view at elements of a root.
fn point(view: Value, root: Value, offset: usize, strides: &[isize]) -> Result<()> {
    let filled: Vec<isize> = strides.iter().map(|stride| stride << 1 | 1).collect();
    let mut entries: *mut isize = core::ptr::null_mut();
    protect(|| {
        // SAFETY: `ruby_xmalloc2` accepts all counts; `protect` catches what it raises. Numo frees
        // the entries by `xfree`.
        entries = unsafe { rb_sys::ruby_xmalloc2(filled.len() as _, size_of::<isize>() as _) }.cast();
        rb_sys::Qnil as VALUE
    })?;
    // SAFETY: `entries` is new memory for as many entries as `filled` has.
    unsafe { entries.copy_from_nonoverlapping(filled.as_ptr(), filled.len()) };
    let Some(data) = NumoObject::of(view.as_raw()).and_then(NumoObject::into_view) else { return Ok(()) };
    // SAFETY: `nary_view_new` made the view, which no other code uses yet; it has no strides.
    let data = unsafe { &mut *data };
    // The objects of this type have no write barrier: each collection marks them.
    data.data = root.as_raw();
    data.offset = offset;
    data.stridx = entries;
    Ok(())
}
