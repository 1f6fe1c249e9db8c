//! The original's protocol: views of objects, and the registration of their producers.

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
use crate::words::words;

// ===== objects

/// The class of this library's arrays.
#[unsafe(no_mangle)]
pub extern "C" fn xd_array_class() -> *const Class {
    answer(|| ptr::from_ref(memory_view::array_class()))
}

/// The view of any object as an array.
///
/// # Safety
///
/// `obj` is null, or the contract of [`memory_view::import`] holds for it.
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
        // SAFETY: `obj` is not null by the check above, so `# Safety` says that the contract of
        // `import` holds for it.
        hand_over_array(unsafe { memory_view::import(obj, Flags::from_bits(flags)) }?)
    })
}

/// Registers a producer for the objects of a class.
///
/// # Safety
///
/// The contract of [`memory_view::register`] holds for `class` and `entry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_register(class: *const Class, entry: Option<&Entry>) -> bool {
    refusable(|| {
        let entry = given(entry, "entry")?;
        // SAFETY: `# Safety` is the contract of `register` for this class and this entry, which is
        // not null here.
        unsafe { memory_view::register(class, entry) }?;
        Ok(true)
    })
}

/// Removes the producer of a class.
#[unsafe(no_mangle)]
pub extern "C" fn xd_memory_view_unregister(class: *const Class) -> bool {
    answer(|| memory_view::unregister(class))
}

/// Whether a view may be available.
///
/// # Safety
///
/// The contract of [`memory_view::available`] holds for `obj`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_available_p(obj: *mut c_void) -> bool {
    // SAFETY: `# Safety` is the contract of `available`: the object is null, or its class and its
    // producer may be used.
    answer(|| unsafe { memory_view::available(obj) })
}

/// The number of views of an object that are held.
#[unsafe(no_mangle)]
pub extern "C" fn xd_memory_view_exports(obj: *mut c_void) -> usize {
    answer(|| memory_view::exports(obj))
}

/// The reason for the last refusal on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn xd_last_refusal() -> *const c_char {
    answer(|| match memory_view::last_refusal_ptr(words) {
        text if text.is_null() => c"".as_ptr(),
        text => text,
    })
}

// ===== views

/// Requests a view.
///
/// # Safety
///
/// The contract of [`memory_view::get`] holds for `obj` and `view`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get(obj: *mut c_void, view: *mut View, flags: c_int) -> bool {
    // SAFETY: `# Safety` is the contract of `get` for this object and this struct. (The hub stores
    // the reason for a refusal.)
    answer(|| unsafe { memory_view::get(obj, view, Flags::from_bits(flags)) }.is_ok())
}

/// Releases a view.
///
/// # Safety
///
/// The contract of [`memory_view::release`] holds for `view`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_release(view: *mut View) -> bool {
    // SAFETY: `# Safety` is the contract of `release`: the struct is null or valid, and the view is
    // not used any more.
    answer(|| unsafe { memory_view::release(view) })
}

/// Fills in a view of bytes.
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
/// The contract of [`memory_view::fill_contiguous_strides`] holds for `ndim`, `shape` and
/// `strides`.
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
        // SAFETY: `# Safety` is the contract of `fill_contiguous_strides`: `shape` points to `ndim`
        // numbers, and `strides` to room for as many.
        unsafe { memory_view::fill_contiguous_strides(ndim, item_size, shape, order, strides) }?;
        Ok(true)
    })
}

/// The answer to a question about a view; false for null.
///
/// # Safety
///
/// `view` is null, or the contract of `question` holds for it.
#[inline]
unsafe fn ask(view: Option<&View>, question: unsafe fn(&View) -> bool) -> bool {
    // SAFETY: the view is not null here, so `# Safety` says that the contract of `question` holds
    // for it.
    answer(|| view.is_some_and(|view| unsafe { question(view) }))
}

/// Whether the items are C-contiguous (row-major), by NumPy's rules.
///
/// # Safety
///
/// `view` is null, or its shape, strides and suboffsets are each null or point to `ndim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_row_major_contiguous(view: Option<&View>) -> bool {
    // SAFETY: `# Safety` is the contract of `is_row_major_contiguous`: each list is null or has
    // `ndim` numbers.
    unsafe { ask(view, View::is_row_major_contiguous) }
}

/// Whether the items are F-contiguous (column-major), by NumPy's rules.
///
/// # Safety
///
/// `view` is null, or its shape, strides and suboffsets are each null or point to `ndim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_column_major_contiguous(view: Option<&View>) -> bool {
    // SAFETY: `# Safety` is the contract of `is_column_major_contiguous`: each list is null or has
    // `ndim` numbers.
    unsafe { ask(view, View::is_column_major_contiguous) }
}

/// Whether the items are contiguous in either order, by NumPy's rules.
///
/// # Safety
///
/// `view` is null, or its shape, strides and suboffsets are each null or point to `ndim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_contiguous(view: Option<&View>) -> bool {
    // SAFETY: `# Safety` is the contract of `View::is_contiguous`: each list is null or has `ndim`
    // numbers.
    unsafe { ask(view, View::is_contiguous) }
}

/// Whether the items are C-contiguous (row-major), by the original's rules.
///
/// # Safety
///
/// `view` is null, or its shape, strides and suboffsets are each null or point to `ndim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_row_major_contiguous_strictly(view: Option<&View>) -> bool {
    // SAFETY: `# Safety` is the contract of `is_row_major_contiguous_strictly`: each list is null
    // or has `ndim` numbers.
    unsafe { ask(view, View::is_row_major_contiguous_strictly) }
}

/// Whether the items are F-contiguous (column-major), by the original's rules.
///
/// # Safety
///
/// `view` is null, or its shape, strides and suboffsets are each null or point to `ndim` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_is_column_major_contiguous_strictly(view: Option<&View>) -> bool {
    // SAFETY: `# Safety` is the contract of `is_column_major_contiguous_strictly`: each list is
    // null or has `ndim` numbers.
    unsafe { ask(view, View::is_column_major_contiguous_strictly) }
}

// ===== formats

/// The bytes of one item, and its components; for an invalid format, -1 and the position of the
/// error.
///
/// # Safety
///
/// `format` is null or a C string that nothing writes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_parse_item_format(
    format: *const c_char,
    components: Option<&mut MaybeUninit<*mut Component>>,
    n: Option<&mut MaybeUninit<usize>>,
    err: Option<&mut MaybeUninit<*const c_char>>,
) -> isize {
    let size = refusable(|| {
        if format.is_null() {
            // As in the original: without a format, items are bytes.
            put(err, ptr::null());
            return Ok(Some(1));
        }
        // SAFETY: `format` is not null by the check above, so by `# Safety` it is a C string, which
        // nothing writes during the call.
        let text = unsafe { CStr::from_ptr(format) }.to_bytes();
        // A caller that requests no components has none to free.
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

/// The bytes of one item; for an invalid format, -1 and the position of the error.
///
/// # Safety
///
/// `format` is null or a C string that nothing writes during the call.
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
        // SAFETY: `format` is not null by the check above, so by `# Safety` it is a C string, which
        // nothing writes during the call.
        item_size(unsafe { CStr::from_ptr(format) }.to_bytes(), format, err)
    });
    size.unwrap_or(-1)
}

/// Frees components that [`xd_memory_view_parse_item_format`] or
/// [`xd_memory_view_prepare_item_desc`] returned.
///
/// # Safety
///
/// 1. The components are null, or were returned by one of those functions or allocated by `malloc`.
/// 2. They have not been freed, and nothing uses them during the call or after it.
///
/// `n` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_free_components(components: *const Component, n: usize) {
    // SAFETY: clause 1 of `# Safety`: the components are null, from `ItemDesc::of` in this library,
    // or a block of `malloc`, which `free` releases in the same way; clause 2: they have not been
    // freed, and nothing uses them after this.
    answer(|| unsafe { ItemDesc { components, length: n }.free() });
}

/// Parses the format of a view that was filled in by hand.
///
/// # Safety
///
/// `view` is null, or the contract of [`View::prepare_item_desc`] holds for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_prepare_item_desc(view: *mut View) -> bool {
    refusable(|| {
        if view.is_null() {
            return Err(Failure::null("view"));
        }
        // SAFETY: `view` is not null by the check above, so `# Safety` says that the contract of
        // `prepare_item_desc` holds for it.
        unsafe { View::prepare_item_desc(view) }?;
        Ok(true)
    })
}
