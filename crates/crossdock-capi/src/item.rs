//! One item of a view, by value: the numbers that its components name.

use std::ffi::{CStr, c_void};

use crossdock::Error;
use crossdock::element::Member;
use crossdock::element::dialect::pack::{self, Component};
use crossdock::exchange::protocol::memory_view::{ItemDesc, View};

use crate::error::{
    Failure, Result, XD_ERROR_MALFORMED, XD_ERROR_OVERFLOW, XD_ERROR_READ_ONLY, XD_ERROR_VALUE,
};
use crate::foreign::{given, items};
use crate::guard::{ErrorOut, fallible, refusable};
use crate::value::{
    Owned, XD_VALUE_BOOL, XD_VALUE_FLOAT, XD_VALUE_INT, XD_VALUE_LIST, XD_VALUE_UINT, XdValue,
};

impl From<Member> for XdValue {
    #[inline]
    fn from(member: Member) -> Self {
        match member {
            Member::Int(i) => Self::int(i),
            Member::UInt(u) => Self::uint(u),
            Member::Float(f) => Self::float(f),
        }
    }
}

/// The components that a view has, or `None` where its format has to be read first.
///
/// # Errors
///
/// `malformed` for components that are none.
///
/// # Safety
///
/// The components, where there are any, are as many as is said.
#[inline(always)]
unsafe fn known(view: &View) -> Result<Option<&[Component]>> {
    let ItemDesc { components: ptr, length } = view.item_desc;
    if ptr.is_null() || view.format.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's word.
    unsafe { components(ptr, length) }.map(Some)
}

/// Calls `f` with the components of a view that does not have them: of bytes, or made by hand.
///
/// # Safety
///
/// The format is null or a C string.
#[cold]
#[inline(never)]
unsafe fn with_read<T>(view: &View, f: impl FnOnce(&[Component]) -> Result<T>) -> Result<T> {
    if view.format.is_null() {
        return f(&BYTE);
    }
    // SAFETY: the caller's word.
    let format = unsafe { CStr::from_ptr(view.format) };
    f(pack::parse(format.to_bytes()).map_err(Error::from)?.components())
}

/// Components of C's, whose truth values are ones.
///
/// # Safety
///
/// As [`items`].
#[inline(always)]
unsafe fn components<'a>(ptr: *const Component, len: usize) -> Result<&'a [Component]> {
    // Looked at as bytes first: a `bool` of a struct that was never filled in may be any byte.
    // SAFETY: the caller's word.
    let bytes = unsafe { items(ptr.cast::<[u8; size_of::<Component>()]>(), len, "components") }?;
    if bytes.iter().any(|bytes| bytes[1] | bytes[2] > 1) {
        return Err(Failure::of_kind(
            XD_ERROR_MALFORMED,
            "a component has a truth value that is neither 0 nor 1",
        ));
    }
    // SAFETY: the caller's word; the truth values are 0 or 1, as just checked.
    unsafe { items(ptr, len, "components") }
}

/// Bytes of one item: those that its components have to lie in. Of a view of bytes it is one, whatever is said.
#[inline(always)]
fn size(view: &View) -> usize {
    if view.format.is_null() { 1 } else { usize::try_from(view.item_size).unwrap_or(0) }
}

/// An item that is one number, of a view that has its components. Everything else, and what is wrong, is told by the long way. Nothing in
/// it can panic, so that it stands before the guard: there the number would go through memory.
///
/// # Safety
///
/// As [`xd_memory_view_get_item`].
#[inline(always)]
unsafe fn quick(view: &View, index: *const isize) -> Option<XdValue> {
    // SAFETY: the caller's word.
    let Ok(Some([one])) = (unsafe { known(view) }) else { return None };
    if one.repeat != 1 {
        return None;
    }
    // SAFETY: the caller's word.
    let ptr = unsafe { view.item_pointer(index) }.ok()?;
    let mut number = None;
    let (nbytes, one) = (size(view), std::slice::from_ref(one));
    // SAFETY: the caller's word.
    unsafe { pack::load_members(ptr, nbytes, one, |member| number = Some(member.into())) }.ok()?;
    number
}

/// All numbers of the item as one value: the number itself if it is one, otherwise a list.
///
/// # Safety
///
/// The bytes are readable, racily.
#[inline(always)]
unsafe fn value(ptr: *const u8, nbytes: usize, components: &[Component]) -> Result<XdValue> {
    match components {
        [] => Ok(XdValue::NIL),
        [one] if one.repeat == 1 => {
            let mut value = XdValue::NIL;
            // SAFETY: the caller's word.
            unsafe { pack::load_members(ptr, nbytes, components, |member| value = member.into()) }?;
            Ok(value)
        }
        // SAFETY: the caller's word.
        _ => unsafe { list(ptr, nbytes, components) },
    }
}

/// # Safety
///
/// As [`value`].
#[inline(never)]
unsafe fn list(ptr: *const u8, nbytes: usize, components: &[Component]) -> Result<XdValue> {
    let count = count(components)?;
    let mut values = Vec::new();
    let nbytes_of_list = count.saturating_mul(size_of::<XdValue>());
    values
        .try_reserve_exact(count)
        .map_err(|_| Error::out_of_memory(nbytes_of_list, align_of::<XdValue>()))?;
    // SAFETY: the caller's word.
    unsafe { pack::load_members(ptr, nbytes, components, |member| values.push(member.into())) }?;
    Owned::of_numbers(values)
}

/// The numbers of an item.
fn count(components: &[Component]) -> Result<usize> {
    let sum = components.iter().try_fold(0_usize, |sum, component| sum.checked_add(component.repeat));
    sum.ok_or_else(|| Failure::of_kind(XD_ERROR_OVERFLOW, "more numbers in one item than can be counted"))
}

/// Where an item is.
///
/// # Safety
///
/// As [`View::item_pointer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get_item_pointer(
    view: Option<&View>,
    index: *const isize,
) -> *mut c_void {
    refusable(|| {
        let view = given(view, "view")?;
        // SAFETY: the caller's word.
        Ok(unsafe { view.item_pointer(index) }?.cast())
    })
}

/// An item as a value.
///
/// # Safety
///
/// As [`View::item_pointer`], and the item is readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get_item(view: Option<&View>, index: *const isize) -> XdValue {
    // SAFETY: the caller's word.
    if let Some(number) = view.and_then(|view| unsafe { quick(view, index) }) {
        return number;
    }
    refusable(|| {
        let view = given(view, "view")?;
        // SAFETY: the caller's word.
        let ptr = unsafe { view.item_pointer(index) }?;
        // SAFETY: the caller's word.
        match unsafe { known(view) }? {
            // SAFETY: the caller's word.
            Some(components) => unsafe { value(ptr, size(view), components) },
            None => {
                // SAFETY: the caller's word.
                let read = |components: &[Component]| unsafe { value(ptr, size(view), components) };
                // SAFETY: the caller's word.
                unsafe { with_read(view, read) }
            }
        }
    })
}

/// The numbers of an item, put side by side: how many there are. Nothing is allocated.
///
/// # Safety
///
/// As for [`xd_memory_view_get_item`], and there is room for `capacity` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_read_item(
    view: Option<&View>,
    index: *const isize,
    out: *mut XdValue,
    capacity: usize,
) -> isize {
    let count = refusable(|| {
        let view = given(view, "view")?;
        if out.is_null() && capacity > 0 {
            return Err(Failure::null("out"));
        }
        // SAFETY: the caller's word.
        let ptr = unsafe { view.item_pointer(index) }?;
        let read = |components: &[Component]| {
            let mut count = 0;
            let keep = |member: Member| {
                if count < capacity {
                    // SAFETY: below the capacity (the caller's word).
                    unsafe { out.wrapping_add(count).write(member.into()) };
                }
                count += 1;
            };
            // SAFETY: the caller's word.
            unsafe { pack::load_members(ptr, size(view), components, keep) }?;
            Ok(Some(count.cast_signed()))
        };
        // SAFETY: the caller's word.
        match unsafe { known(view) }? {
            Some(components) => read(components),
            // SAFETY: the caller's word.
            None => unsafe { with_read(view, read) },
        }
    });
    count.unwrap_or(-1)
}

/// The numbers that components name, from the bytes of one item.
///
/// # Safety
///
/// The bytes that the components reach are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_extract_item_members(
    ptr: *const c_void,
    members: *const Component,
    n: usize,
) -> XdValue {
    refusable(|| {
        if ptr.is_null() || members.is_null() {
            return Ok(XdValue::NIL);
        }
        // SAFETY: the caller's word.
        let members = unsafe { components(members, n) }?;
        // SAFETY: the caller's word: how many bytes there are, nobody says.
        unsafe { value(ptr.cast(), usize::MAX, members) }
    })
}

/// Writes an item.
///
/// # Safety
///
/// As for [`xd_memory_view_get_item`]; the item is writable unless the view says that it is not; what the value's kind says of it is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_set_item(
    view: Option<&View>,
    index: *const isize,
    value: Option<&XdValue>,
    error: ErrorOut<'_>,
) -> bool {
    fallible(error, || {
        let (view, value) = (given(view, "view")?, given(value, "value")?);
        if view.is_readonly() {
            let text = "the view is read-only: ask for one with XD_MEMORY_VIEW_WRITABLE";
            return Err(Failure::of_kind(XD_ERROR_READ_ONLY, text));
        }
        // SAFETY: the caller's word.
        let ptr = unsafe { view.item_pointer(index) }?;
        // SAFETY: the caller's word.
        let members = unsafe { members(value) }?;
        let write = |components: &[Component]| {
            // SAFETY: the caller's word.
            unsafe { pack::store_members(ptr, size(view), components, &members) }?;
            Ok(())
        };
        // SAFETY: the caller's word.
        match unsafe { known(view) }? {
            Some(components) => write(components)?,
            // SAFETY: the caller's word.
            None => unsafe { with_read(view, write) }?,
        }
        Ok(true)
    })
}

/// What a view without a format consists of.
static BYTE: [Component; 1] = [Component {
    format: b'C',
    native_size: false,
    little_endian: cfg!(target_endian = "little"),
    offset: 0,
    size: 1,
    repeat: 1,
}];

/// The numbers of a value: of a list, those in it.
///
/// # Safety
///
/// What the value's kind says of it is true.
unsafe fn members(value: &XdValue) -> Result<Vec<Member>> {
    let list = match value.kind() {
        // SAFETY: the caller's word.
        XD_VALUE_LIST => unsafe { items(value.payload.cast(), value.len(), "value") }?,
        _ => std::slice::from_ref(value),
    };
    list.iter().map(member).collect()
}

fn member(value: &XdValue) -> Result<Member> {
    match value.kind() {
        XD_VALUE_INT => Ok(Member::Int(value.signed())),
        XD_VALUE_UINT | XD_VALUE_BOOL => Ok(Member::UInt(value.bits())),
        XD_VALUE_FLOAT => Ok(Member::Float(value.real())),
        kind => Err(Failure::of_kind(XD_ERROR_VALUE, format!("a value of kind {kind} is no number"))),
    }
}
