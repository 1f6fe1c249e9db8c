//! The original's protocol: views of objects, and who produces them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crossdock::bindings::dialect::pack::{self, Component};
use crossdock::bindings::memory_view::{self, Class, Entry, Flags, ItemDesc, View};
use crossdock::layout::Order;

use crate::array::{XdArray, hand_over_array};
use crate::error::Failure;
use crate::foreign::{emptied, given, put};
use crate::guard::{ErrorOut, answer, fallible, refusable};
use crate::handle::Handle;

// ===== objects

/// The class of this library's arrays.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_class() -> *const Class {
    answer(|| ptr::from_ref(memory_view::array_class()))
}

/// Any object's view as an array.
///
/// # Safety
///
/// As [`memory_view::import`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_array_from_object(
    obj: *mut c_void,
    flags: c_int,
    error: ErrorOut<'_>,
) -> Handle<XdArray> {
    fallible(error, || {
        if obj.is_null() {
            return Err(Failure::null("obj"));
        }
        // SAFETY: the caller's word.
        hand_over_array(unsafe { memory_view::import(obj, Flags::from_bits(flags)) }?)
    })
}

/// Makes a producer known for the objects of a class.
///
/// # Safety
///
/// As [`memory_view::register`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_register(class: *const Class, entry: Option<&Entry>) -> bool {
    refusable(|| {
        let entry = given(entry, "entry")?;
        // SAFETY: the caller's word.
        unsafe { memory_view::register(class, entry) }?;
        Ok(true)
    })
}

/// Takes the producer of a class out.
#[unsafe(no_mangle)]
pub extern "C" fn xd_memory_view_unregister(class: *const Class) -> bool {
    answer(|| memory_view::unregister(class))
}

/// Whether it is worth asking for a view.
///
/// # Safety
///
/// As [`memory_view::available`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_available_p(obj: *mut c_void) -> bool {
    // SAFETY: the caller's word.
    answer(|| unsafe { memory_view::available(obj) })
}

/// How many views of an object are held.
#[unsafe(no_mangle)]
pub extern "C" fn xd_memory_view_exports(obj: *mut c_void) -> usize {
    answer(|| memory_view::exports(obj))
}

/// Why this thread was refused last.
#[unsafe(no_mangle)]
pub extern "C" fn xd_last_refusal() -> *const c_char {
    answer(|| match memory_view::last_refusal_ptr() {
        text if text.is_null() => c"".as_ptr(),
        text => text,
    })
}

// ===== views

/// Asks for a view.
///
/// # Safety
///
/// As [`memory_view::get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get(obj: *mut c_void, view: *mut View, flags: c_int) -> bool {
    // SAFETY: the caller's word. (What is refused was kept by the hub.)
    answer(|| unsafe { memory_view::get(obj, view, Flags::from_bits(flags)) }.is_ok())
}

/// Gives a view back.
///
/// # Safety
///
/// As [`memory_view::release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_release(view: *mut View) -> bool {
    // SAFETY: the caller's word.
    answer(|| unsafe { memory_view::release(view) })
}

/// A view of bytes, made by hand.
#[unsafe(no_mangle)]
pub extern "C" fn xd_memory_view_init_as_byte_array(
    view: Option<&mut MaybeUninit<View>>,
    obj: *mut c_void,
    data: *mut c_void,
    len: isize,
    readonly: bool,
) -> bool {
    refusable(|| {
        View::init_as_bytes(given(view, "view")?, obj, data, len, readonly)?;
        Ok(true)
    })
}

/// The strides of a contiguous array.
///
/// # Safety
///
/// As [`memory_view::fill_contiguous_strides`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_fill_contiguous_strides(
    ndim: isize,
    item_size: isize,
    shape: *const isize,
    row_major_p: bool,
    strides: *mut isize,
) -> bool {
    refusable(|| {
        let order = if row_major_p { Order::RowMajor } else { Order::ColumnMajor };
        // SAFETY: the caller's word.
        unsafe { memory_view::fill_contiguous_strides(ndim, item_size, shape, order, strides) }?;
        Ok(true)
    })
}

/// What a question of a view answers; of null, no.
///
/// # Safety
///
/// The view is null, or what it points to is there.
#[inline]
unsafe fn ask(view: Option<&View>, question: unsafe fn(&View) -> bool) -> bool {
    // SAFETY: the caller's word.
    answer(|| view.is_some_and(|view| unsafe { question(view) }))
}

/// Whether the items lie row-major without gaps, by NumPy's rules.
///
/// # Safety
///
/// The view is null, or what it points to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_row_major_contiguous(view: Option<&View>) -> bool {
    // SAFETY: the caller's word.
    unsafe { ask(view, View::is_row_major_contiguous) }
}

/// Whether the items lie column-major without gaps, by NumPy's rules.
///
/// # Safety
///
/// The view is null, or what it points to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_column_major_contiguous(view: Option<&View>) -> bool {
    // SAFETY: the caller's word.
    unsafe { ask(view, View::is_column_major_contiguous) }
}

/// Whether the items lie without gaps in one of the orders, by NumPy's rules.
///
/// # Safety
///
/// The view is null, or what it points to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_contiguous(view: Option<&View>) -> bool {
    // SAFETY: the caller's word.
    unsafe { ask(view, View::is_contiguous) }
}

/// Whether the items lie row-major without gaps, by the original's rules.
///
/// # Safety
///
/// The view is null, or what it points to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_row_major_contiguous_strictly(view: Option<&View>) -> bool {
    // SAFETY: the caller's word.
    unsafe { ask(view, View::is_row_major_contiguous_strictly) }
}

/// Whether the items lie column-major without gaps, by the original's rules.
///
/// # Safety
///
/// The view is null, or what it points to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_column_major_contiguous_strictly(view: Option<&View>) -> bool {
    // SAFETY: the caller's word.
    unsafe { ask(view, View::is_column_major_contiguous_strictly) }
}

// ===== formats

/// Bytes of one item, and its components; -1 and the place of the error where there is one.
///
/// # Safety
///
/// As the header says of texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_parse_item_format(
    format: *const c_char,
    components: Option<&mut MaybeUninit<*mut Component>>,
    n: Option<&mut MaybeUninit<usize>>,
    err: Option<&mut MaybeUninit<*const c_char>>,
) -> isize {
    let size = refusable(|| {
        if format.is_null() {
            // The original's answer: items are bytes.
            put(err, ptr::null());
            return Ok(Some(1));
        }
        // SAFETY: the caller's word.
        let text = unsafe { CStr::from_ptr(format) }.to_bytes();
        // Who wants no components is not made to free any.
        let Some(components) = components else {
            if let Some(n) = n {
                n.write(pack::parse(text).map_or(0, |template| template.components().len()));
            }
            return item_size(text, format, err);
        };
        components.write(ptr::null_mut());
        let n = emptied(n, 0);
        match pack::parse(text) {
            Ok(template) => {
                let size = template.item_size();
                let desc = match template.components() {
                    [] => ItemDesc { components: ptr::null(), length: 0 },
                    _ => ItemDesc::of(template),
                };
                components.write(desc.components.cast_mut());
                if let Some(n) = n {
                    *n = desc.length;
                }
                put(err, ptr::null());
                Ok(Some(size.cast_signed()))
            }
            Err(error) => {
                put(err, format.wrapping_add(error.offset()));
                Err(crossdock::Error::from(error).into())
            }
        }
    });
    size.unwrap_or(-1)
}

fn item_size(
    text: &[u8],
    format: *const c_char,
    err: Option<&mut MaybeUninit<*const c_char>>,
) -> crate::error::Result<Option<isize>> {
    match pack::item_size(text) {
        Ok(size) => {
            put(err, ptr::null());
            Ok(Some(size.cast_signed()))
        }
        Err(error) => {
            put(err, format.wrapping_add(error.offset()));
            Err(crossdock::Error::from(error).into())
        }
    }
}

/// Bytes of one item; -1 and the place of the error where there is one.
///
/// # Safety
///
/// As the header says of texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_item_size_from_format(
    format: *const c_char,
    err: Option<&mut MaybeUninit<*const c_char>>,
) -> isize {
    let size = refusable(|| {
        if format.is_null() {
            put(err, ptr::null());
            return Ok(Some(1));
        }
        // SAFETY: the caller's word.
        item_size(unsafe { CStr::from_ptr(format) }.to_bytes(), format, err)
    });
    size.unwrap_or(-1)
}

/// Frees what [`xd_memory_view_parse_item_format`] or [`xd_memory_view_prepare_item_desc`] gave.
///
/// # Safety
///
/// The components are null, or from there or `malloc`, and not freed yet. How many there are does not matter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_free_components(components: *const Component, n: usize) {
    // SAFETY: the caller's word.
    answer(|| unsafe { ItemDesc { components, length: n }.free() });
}

/// Reads the format of a view made by hand.
///
/// # Safety
///
/// As [`View::prepare_item_desc`], or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_prepare_item_desc(view: *mut View) -> bool {
    refusable(|| {
        if view.is_null() {
            return Err(Failure::null("view"));
        }
        // SAFETY: the caller's word.
        unsafe { View::prepare_item_desc(view) }?;
        Ok(true)
    })
}
