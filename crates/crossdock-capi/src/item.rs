//! One item of a view, by value: the numbers that its components name.

use std::ffi::{CStr, c_void};
use std::slice;

use crossdock::Error;
use crossdock::bindings::dialect::pack::Member;
use crossdock::bindings::dialect::pack::{self, Component, Template};
use crossdock::bindings::memory_view::View;
use crossdock::bindings::racy;

use crate::error::{
    Failure, Result, XD_ERROR_MALFORMED, XD_ERROR_OVERFLOW, XD_ERROR_READ_ONLY, XD_ERROR_VALUE,
};
use crate::foreign::{given, items};
use crate::guard::{ErrorOut, fallible, or_refusable, refusable};
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

/// What an item consists of.
enum Parts<'a> {
    /// The view has no format: one byte.
    Byte,
    /// The view has its components.
    Known(&'a [Component]),
    /// The view was made by hand, and its format was not read yet.
    Read(Template),
}

impl Parts<'_> {
    /// # Safety
    ///
    /// The format is null or a C string, and the components, where there are any, are as many as is said.
    #[inline]
    unsafe fn of(view: &View) -> Result<Self> {
        if view.format.is_null() {
            return Ok(Self::Byte);
        }
        if !view.item_desc.components.is_null() {
            // SAFETY: the caller's word.
            return Ok(Self::Known(unsafe { components(view.item_desc.components, view.item_desc.length) }?));
        }
        // SAFETY: the caller's word.
        let format = unsafe { CStr::from_ptr(view.format) };
        Ok(Self::Read(pack::parse(format.to_bytes()).map_err(Error::from)?))
    }

    /// The components; none for a byte.
    #[inline]
    fn components(&self) -> Option<&[Component]> {
        match self {
            Self::Byte => None,
            Self::Known(components) => Some(components),
            Self::Read(template) => Some(template.components()),
        }
    }
}

/// Components of C's, whose truth values are ones.
///
/// # Safety
///
/// As [`items`].
#[inline(always)]
unsafe fn components<'a>(ptr: *const Component, len: usize) -> Result<&'a [Component]> {
    // SAFETY: the caller's word.
    match unsafe { well_formed(ptr, len) } {
        Some(components) => Ok(components),
        // SAFETY: the caller's word.
        None => Err(unsafe { malformed(ptr, len) }),
    }
}

/// As [`components`], without a reason where there are none.
///
/// # Safety
///
/// As [`items`].
#[inline(always)]
unsafe fn well_formed<'a>(ptr: *const Component, len: usize) -> Option<&'a [Component]> {
    if ptr.is_null() || !ptr.is_aligned() || len > isize::MAX as usize / size_of::<Component>() {
        return None;
    }
    // Looked at as bytes first: a `bool` of a struct that was never filled in may be any byte.
    // SAFETY: not null and not too long, as just checked; the rest is the caller's word.
    let bytes = unsafe { slice::from_raw_parts(ptr.cast::<[u8; size_of::<Component>()]>(), len) };
    if bytes.iter().any(|&[_, native, little, ..]| (native | little) > 1) {
        return None;
    }
    // SAFETY: as above, aligned, and the truth values are 0 or 1.
    Some(unsafe { slice::from_raw_parts(ptr, len) })
}

/// Why components are not [`well_formed`].
///
/// # Safety
///
/// As [`items`].
#[cold]
#[inline(never)]
unsafe fn malformed(ptr: *const Component, len: usize) -> Failure {
    // SAFETY: the caller's word.
    match unsafe { items(ptr.cast::<[u64; size_of::<Component>() / 8]>(), len, "components") } {
        Err(failure) => failure,
        Ok(_) => {
            Failure::of_kind(XD_ERROR_MALFORMED, "a component has a truth value that is neither 0 nor 1")
        }
    }
}

/// Where an item is, of how many bytes.
///
/// # Safety
///
/// As [`View::item_pointer`].
#[inline]
unsafe fn find(view: &View, index: *const isize) -> Result<(*mut u8, usize)> {
    // SAFETY: the caller's word.
    let ptr = unsafe { view.item_pointer(index) }?;
    // Negative ones are refused by the components, none of which lies inside.
    Ok((ptr, usize::try_from(view.item_size).unwrap_or(0)))
}

/// All numbers of the item as one value: the number itself if it is one, otherwise a list.
///
/// # Safety
///
/// The bytes are readable, racily.
#[inline]
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
    // SAFETY: the caller's word.
    let plain = view.and_then(|view| unsafe { view.plain_item_pointer(index) });
    or_refusable(plain.map(<*mut u8>::cast), || {
        // SAFETY: the caller's word.
        Ok(unsafe { given(view, "view")?.item_pointer(index) }?.cast())
    })
}

/// The components of a view, and its item, where the view says plainly what and where they are, as most do. For what is read without the door,
/// which moves what it returns through memory: nothing here panics, and what fails is `None`, to be asked again through the door.
///
/// # Safety
///
/// As for [`xd_memory_view_get_item`].
#[inline(always)]
unsafe fn plain<'a>(view: &View, index: *const isize) -> Option<(&'a [Component], *mut u8, usize)> {
    if view.format.is_null() {
        return None;
    }
    // SAFETY: the caller's word.
    let components = unsafe { well_formed(view.item_desc.components, view.item_desc.length) }?;
    // SAFETY: the caller's word.
    let item = unsafe { view.plain_item_pointer(index) }?;
    Some((components, item, usize::try_from(view.item_size).ok()?))
}

/// An item that is one scalar, of a plain view of the hub's: its component is a constant, and need not be looked at.
///
/// # Safety
///
/// As for [`xd_memory_view_get_item`].
#[inline(always)]
unsafe fn plain_number(view: Option<&View>, index: *const isize) -> Option<XdValue> {
    let view = view.filter(|view| view.item_desc.length == 1 && !view.format.is_null())?;
    let nbytes = usize::try_from(view.item_size).ok()?;
    let number = pack::constant_reader(view.item_desc.components, nbytes)?;
    // SAFETY: the caller's word.
    let item = unsafe { view.plain_item_pointer(index) }?;
    // SAFETY: the only one; the caller's word.
    Some(unsafe { number.load(item, 0) }.into())
}

/// The numbers of an item of a plain view, each of which has a component to itself, and for which there is room.
///
/// # Safety
///
/// As for [`xd_memory_view_read_item`].
#[inline(always)]
unsafe fn plain_numbers(
    view: Option<&View>,
    index: *const isize,
    out: *mut XdValue,
    capacity: usize,
) -> Option<usize> {
    if out.is_null() || capacity == 0 {
        return None;
    }
    // SAFETY: the caller's word.
    if let Some(number) = unsafe { plain_number(view, index) } {
        // SAFETY: there is room for one (the caller's word).
        unsafe { out.write(number) };
        return Some(1);
    }
    // SAFETY: the caller's word.
    let (components, item, nbytes) = unsafe { plain(view?, index) }?;
    if components.len() > capacity {
        return None;
    }
    let mut place = out;
    for component in components {
        let number = component.reader_of_one(nbytes)?;
        // SAFETY: the only one; the caller's word.
        let member = unsafe { number.load(item, 0) };
        // SAFETY: below the capacity (the caller's word).
        unsafe { place.write(member.into()) };
        place = place.wrapping_add(1);
    }
    Some(components.len())
}

/// An item as a value.
///
/// # Safety
///
/// As [`View::item_pointer`], and the item is readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get_item(view: Option<&View>, index: *const isize) -> XdValue {
    // SAFETY: the caller's word.
    let plain = unsafe { plain_number(view, index) };
    // SAFETY: the caller's word.
    or_refusable(plain, || unsafe { get_item(view, index) })
}

/// Any item as a value.
///
/// # Safety
///
/// As for [`xd_memory_view_get_item`].
unsafe fn get_item(view: Option<&View>, index: *const isize) -> Result<XdValue> {
    let view = given(view, "view")?;
    // SAFETY: the caller's word.
    let (ptr, nbytes) = unsafe { find(view, index) }?;
    // SAFETY: the caller's word.
    match unsafe { Parts::of(view) }?.components() {
        // SAFETY: the caller's word.
        None => Ok(XdValue::uint(unsafe { racy::load(ptr) }.into())),
        // SAFETY: the caller's word.
        Some(components) => unsafe { value(ptr, nbytes, components) },
    }
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
    // SAFETY: the caller's word.
    let plain = unsafe { plain_numbers(view, index, out, capacity) };
    // SAFETY: the caller's word.
    let count = or_refusable(plain.map(Some), || unsafe { read_item(view, index, out, capacity) }.map(Some));
    count.map_or(-1, usize::cast_signed)
}

/// The numbers of any item.
///
/// # Safety
///
/// As for [`xd_memory_view_read_item`].
unsafe fn read_item(
    view: Option<&View>,
    index: *const isize,
    out: *mut XdValue,
    capacity: usize,
) -> Result<usize> {
    let view = given(view, "view")?;
    if out.is_null() && capacity > 0 {
        return Err(Failure::null("out"));
    }
    // SAFETY: the caller's word.
    let (ptr, nbytes) = unsafe { find(view, index) }?;
    let mut count = 0;
    let mut keep = |value: XdValue| {
        if count < capacity {
            // SAFETY: below the capacity (the caller's word).
            unsafe { out.wrapping_add(count).write(value) };
        }
        count += 1;
    };
    // SAFETY: the caller's word.
    match unsafe { Parts::of(view) }?.components() {
        // SAFETY: the caller's word.
        None => keep(XdValue::uint(unsafe { racy::load(ptr) }.into())),
        Some(components) => {
            // SAFETY: the caller's word.
            unsafe { pack::load_members(ptr, nbytes, components, |member| keep(member.into())) }?;
        }
    }
    Ok(count)
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
        let (ptr, nbytes) = unsafe { find(view, index) }?;
        // SAFETY: the caller's word.
        let members = unsafe { members(value) }?;
        // SAFETY: the caller's word.
        let parts = unsafe { Parts::of(view) }?;
        let (nbytes, components) = match parts.components() {
            None => (1, &BYTE[..]),
            Some(components) => (nbytes, components),
        };
        // SAFETY: the caller's word.
        unsafe { pack::store_members(ptr, nbytes, components, &members) }?;
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
