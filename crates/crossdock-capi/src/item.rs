//! One item of a view, by value: the numbers that its components describe.

use std::ffi::{CStr, c_void};
use std::mem::offset_of;
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

/// The components of an item.
enum Parts<'a> {
    /// The view has no format: one byte.
    Byte,
    /// The view has its components.
    Known(&'a [Component]),
    /// The view was filled in by hand, and its format is parsed here.
    Read(Template),
}

impl Parts<'_> {
    /// # Safety
    ///
    /// 1. The format is null or a C string.
    /// 2. The components are null, or as many as the length beside them says.
    /// 3. Nothing writes either while the result is used.
    #[inline]
    unsafe fn of(view: &View) -> Result<Self> {
        if view.format.is_null() {
            return Ok(Self::Byte);
        }
        if !view.item_desc.components.is_null() {
            // SAFETY: the pointer is not null by the check above, and clauses 2 and 3 of `# Safety`
            // say that `item_desc.length` components are there, unwritten.
            return Ok(Self::Known(unsafe { components(view.item_desc.components, view.item_desc.length) }?));
        }
        // SAFETY: the format is not null by the check above, and clause 1 of `# Safety` says that
        // it is a C string; it is parsed here.
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

/// Components from C, whose truth values are checked to be 0 or 1.
///
/// # Safety
///
/// The pointer is null, or to `len` components that nothing writes for as long as the result is
/// used.
#[inline(always)]
unsafe fn components<'a>(ptr: *const Component, len: usize) -> Result<&'a [Component]> {
    // SAFETY: `# Safety` is the contract of `well_formed`: the pointer is null, or to `len`
    // components that stay unwritten.
    match unsafe { well_formed(ptr, len) } {
        Some(components) => Ok(components),
        None => Err(malformed(ptr, len)),
    }
}

/// As [`components`], without the reason for a failure.
///
/// # Safety
///
/// The pointer is null, or to `len` components that nothing writes for as long as the result is
/// used.
#[inline(always)]
unsafe fn well_formed<'a>(ptr: *const Component, len: usize) -> Option<&'a [Component]> {
    if ptr.is_null() || !ptr.is_aligned() || len > MOST_COMPONENTS {
        return None;
    }
    // The truth values are read as bytes first, which may be any in a struct that C filled in; the
    // padding, which C need not initialise, is not read.
    for at in 0..len {
        let component = ptr.wrapping_add(at).cast::<u8>();
        let native = component.wrapping_add(offset_of!(Component, native_size));
        let little = component.wrapping_add(offset_of!(Component, little_endian));
        // SAFETY: the pointer is not null (checked above), so by `# Safety` `len` components are
        // there, of which this is a byte.
        let native = unsafe { native.read() };
        // SAFETY: by `# Safety` `len` components are there, of which this is a byte.
        if native | unsafe { little.read() } > 1 {
            return None;
        }
    }
    // SAFETY: the checks above exclude null, misalignment and excess length, and the loop excludes
    // truth values other than 0 and 1; `# Safety` says that `len` components are there.
    Some(unsafe { slice::from_raw_parts(ptr, len) })
}

/// The most components that memory can hold.
const MOST_COMPONENTS: usize = isize::MAX as usize / size_of::<Component>();

/// The reason why components are not [`well_formed`].
#[cold]
#[inline(never)]
fn malformed(ptr: *const Component, len: usize) -> Failure {
    if ptr.is_null() {
        return Failure::null("components");
    }
    if !ptr.is_aligned() || len > MOST_COMPONENTS {
        return Failure::argument(format!("the argument `components` cannot have {len} items"));
    }
    Failure::of_kind(XD_ERROR_MALFORMED, "a component has a boolean that is neither 0 nor 1")
}

/// The address of an item, and its size in bytes.
///
/// # Safety
///
/// The contract of [`View::item_pointer`] holds for `view` and `index`.
#[inline]
unsafe fn find(view: &View, index: *const isize) -> Result<(*mut u8, usize)> {
    // SAFETY: `# Safety` is the contract of `item_pointer` for this view and this index.
    let ptr = unsafe { view.item_pointer(index) }?;
    // A negative size becomes 0, which `load_members` refuses: no component lies inside.
    Ok((ptr, usize::try_from(view.item_size).unwrap_or(0)))
}

/// All numbers of an item as one value: the number itself if there is one, otherwise a list.
///
/// # Safety
///
/// Those of the `nbytes` bytes from `ptr` that the components reach are valid for [`racy::load`].
#[inline]
unsafe fn value(ptr: *const u8, nbytes: usize, components: &[Component]) -> Result<XdValue> {
    match components {
        [] => Ok(XdValue::NIL),
        [one] if one.repeat == 1 => {
            let mut value = XdValue::NIL;
            // SAFETY: `# Safety`: the bytes that the components reach within `nbytes` are valid for
            // racy loads, and `load_members` reads no others.
            unsafe { pack::load_members(ptr, nbytes, components, |member| value = member.into()) }?;
            Ok(value)
        }
        // SAFETY: `# Safety` is the contract of `list`: the bytes that the components reach within
        // `nbytes` are valid for racy loads.
        _ => unsafe { list(ptr, nbytes, components) },
    }
}

/// # Safety
///
/// The contract of [`value`] holds.
unsafe fn list(ptr: *const u8, nbytes: usize, components: &[Component]) -> Result<XdValue> {
    let count = count(components)?;
    let mut values = Vec::new();
    let nbytes_of_list = count.saturating_mul(size_of::<XdValue>());
    values
        .try_reserve_exact(count)
        .map_err(|_| Error::out_of_memory(nbytes_of_list, align_of::<XdValue>()))?;
    // SAFETY: the contract of `value`: the bytes that the components reach within `nbytes` are
    // valid for racy loads, and `load_members` reads no others.
    unsafe { pack::load_members(ptr, nbytes, components, |member| values.push(member.into())) }?;
    Owned::of_numbers(values)
}

/// The number of numbers in an item.
fn count(components: &[Component]) -> Result<usize> {
    let sum = components.iter().try_fold(0_usize, |sum, component| sum.checked_add(component.repeat));
    sum.ok_or_else(|| Failure::of_kind(XD_ERROR_OVERFLOW, "one item has more numbers than can be counted"))
}

/// The address of an item.
///
/// # Safety
///
/// `view` is null, or the contract of [`View::item_pointer`] holds for it and `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get_item_pointer(
    view: Option<&View>,
    index: *const isize,
) -> *mut c_void {
    // SAFETY: `# Safety` is the contract of `plain_item_pointer`, which is that of `item_pointer`,
    // for this view and this index.
    let plain = view.and_then(|view| unsafe { view.plain_item_pointer(index) });
    or_refusable(plain.map(<*mut u8>::cast), || {
        // SAFETY: `# Safety` is the contract of `item_pointer` for this view, which is not null
        // here, and this index.
        Ok(unsafe { given(view, "view")?.item_pointer(index) }?.cast())
    })
}

/// The components of a view, and an item, where the view states plainly what and where they are, as
/// most do. Callers use it before the guard, which returns its result through memory: nothing here
/// panics, and a failure is `None`, after which the caller asks again inside the guard.
///
/// # Safety
///
/// The contract of [`xd_memory_view_get_item`] holds.
#[inline(always)]
unsafe fn plain<'a>(view: &View, index: *const isize) -> Option<(&'a [Component], *mut u8, usize)> {
    if view.format.is_null() {
        return None;
    }
    // SAFETY: clause 2 of `xd_memory_view_get_item`: the components are null, or as many as
    // `length` says, and nothing writes them during the call.
    let components = unsafe { well_formed(view.item_desc.components, view.item_desc.length) }?;
    // SAFETY: clause 1 of `xd_memory_view_get_item`: the contract of `item_pointer` holds for this
    // view and this index.
    let item = unsafe { view.plain_item_pointer(index) }?;
    Some((components, item, usize::try_from(view.item_size).ok()?))
}

/// An item that is one scalar, in a plain view that the hub filled in. Its component is in a
/// constant table, so its address identifies it, unread.
///
/// # Safety
///
/// The contract of [`xd_memory_view_get_item`] holds.
#[inline(always)]
unsafe fn plain_number(view: Option<&View>, index: *const isize) -> Option<XdValue> {
    let view = view.filter(|view| view.item_desc.length == 1 && !view.format.is_null())?;
    let nbytes = usize::try_from(view.item_size).ok()?;
    let number = pack::constant_reader(view.item_desc.components, nbytes)?;
    // SAFETY: clause 1 of `xd_memory_view_get_item`: the contract of `item_pointer` holds for this
    // view and this index.
    let item = unsafe { view.plain_item_pointer(index) }?;
    // SAFETY: the component has one number, so index 0 is below `repeat`; it lies within `nbytes`,
    // which clause 3 of `xd_memory_view_get_item` makes valid for racy loads.
    Some(unsafe { number.load(item, 0) }.into())
}

/// The numbers of an item in a plain view, where each component has one number and `out` has room
/// for all.
///
/// # Safety
///
/// The contract of [`xd_memory_view_read_item`] holds.
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
    // SAFETY: clause 1 of `xd_memory_view_read_item` is the contract of `plain_number` for this
    // view and this index.
    if let Some(number) = unsafe { plain_number(view, index) } {
        // SAFETY: `out` is not null and `capacity` is at least 1 by the check above; clause 2 of
        // `xd_memory_view_read_item` says that there is room.
        unsafe { out.write(number) };
        return Some(1);
    }
    // SAFETY: clause 1 of `xd_memory_view_read_item` is the contract of `plain` for this view and
    // this index.
    let (components, item, nbytes) = unsafe { plain(view?, index) }?;
    if components.len() > capacity {
        return None;
    }
    let mut place = out;
    for component in components {
        let number = component.reader_of_one(nbytes)?;
        // SAFETY: `reader_of_one` checks that the component has one number, within `nbytes`; clause
        // 1 of `xd_memory_view_read_item` makes those bytes valid for racy loads.
        let member = unsafe { number.load(item, 0) };
        // SAFETY: there are at most `capacity` components by the check above, so `place` is below
        // the `capacity` values that clause 2 of `xd_memory_view_read_item` grants.
        unsafe { place.write(member.into()) };
        place = place.wrapping_add(1);
    }
    Some(components.len())
}

/// An item as a value.
///
/// # Safety
///
/// 1. `view` is null, or the contract of [`View::item_pointer`] holds for it and `index`.
/// 2. The format of the view is null or a C string, and its components are null or as many as the
///    length beside them says; nothing writes either during the call.
/// 3. The item's `item_size` bytes, or one byte if the view has no format, are valid for
///    [`racy::load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_get_item(view: Option<&View>, index: *const isize) -> XdValue {
    // SAFETY: `# Safety` is the contract of `plain_number`, which is that of this function, for the
    // same arguments.
    let plain = unsafe { plain_number(view, index) };
    // SAFETY: `# Safety` is the contract of `get_item`, which is that of this function, for the
    // same arguments.
    or_refusable(plain, || unsafe { get_item(view, index) })
}

/// Any item as a value.
///
/// # Safety
///
/// The contract of [`xd_memory_view_get_item`] holds.
unsafe fn get_item(view: Option<&View>, index: *const isize) -> Result<XdValue> {
    let view = given(view, "view")?;
    // SAFETY: clause 1 of `xd_memory_view_get_item`: the contract of `item_pointer` holds for this
    // view, which is not null here, and this index.
    let (ptr, nbytes) = unsafe { find(view, index) }?;
    // SAFETY: clause 2 of `xd_memory_view_get_item` is the contract of `Parts::of`: a C string or
    // null, and as many components as stated.
    match unsafe { Parts::of(view) }?.components() {
        // SAFETY: the view has no format, so clause 3 of `xd_memory_view_get_item` makes one byte
        // at the item valid for a racy load.
        None => Ok(XdValue::uint(unsafe { racy::load(ptr) }.into())),
        // SAFETY: clause 3 of `xd_memory_view_get_item`: all `nbytes` bytes of the item are valid
        // for racy loads.
        Some(components) => unsafe { value(ptr, nbytes, components) },
    }
}

/// Writes the numbers of an item to the caller's list, and returns how many there are. Allocates
/// nothing.
///
/// # Safety
///
/// 1. The contract of [`xd_memory_view_get_item`] holds for `view` and `index`.
/// 2. `out` is null or has room for `capacity` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xd_memory_view_read_item(
    view: Option<&View>,
    index: *const isize,
    out: *mut XdValue,
    capacity: usize,
) -> isize {
    // SAFETY: `# Safety` is the contract of `plain_numbers`, which is that of this function, for
    // the same arguments.
    let plain = unsafe { plain_numbers(view, index, out, capacity) };
    // SAFETY: `# Safety` is the contract of `read_item`, which is that of this function, for the
    // same arguments.
    let count = or_refusable(plain.map(Some), || unsafe { read_item(view, index, out, capacity) }.map(Some));
    count.map_or(-1, usize::cast_signed)
}

/// The numbers of any item.
///
/// # Safety
///
/// The contract of [`xd_memory_view_read_item`] holds.
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
    // SAFETY: clause 1 of `xd_memory_view_read_item`: the contract of `item_pointer` holds for this
    // view, which is not null here, and this index.
    let (ptr, nbytes) = unsafe { find(view, index) }?;
    let mut count = 0;
    let mut keep = |value: XdValue| {
        if count < capacity {
            // SAFETY: `count` is below `capacity`, so `out` is not null by the check above; clause
            // 2 of `xd_memory_view_read_item` says that there is room.
            unsafe { out.wrapping_add(count).write(value) };
        }
        count += 1;
    };
    // SAFETY: clause 1 of `xd_memory_view_read_item` includes the contract of `Parts::of`: a C
    // string or null, and as many components as stated.
    match unsafe { Parts::of(view) }?.components() {
        // SAFETY: the view has no format, so clause 1 of `xd_memory_view_read_item` makes one byte
        // at the item valid for a racy load.
        None => keep(XdValue::uint(unsafe { racy::load(ptr) }.into())),
        Some(components) => {
            // SAFETY: clause 1 of `xd_memory_view_read_item`: all `nbytes` bytes of the item are
            // valid for racy loads.
            unsafe { pack::load_members(ptr, nbytes, components, |member| keep(member.into())) }?;
        }
    }
    Ok(count)
}

/// The numbers that components describe, from the bytes of one item.
///
/// # Safety
///
/// 1. `ptr` is null, or the bytes that the components reach from it are valid for [`racy::load`].
/// 2. `members` is null or points to `n` components that nothing writes during the call.
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
        // SAFETY: clause 2 of `# Safety`: `members`, which is not null here, points to `n`
        // components, which nothing writes during the call.
        let members = unsafe { components(members, n) }?;
        // SAFETY: clause 1 of `# Safety`: the bytes that the components reach are valid for racy
        // loads. The size of the item is unknown here, so `nbytes` sets no limit.
        unsafe { value(ptr.cast(), usize::MAX, members) }
    })
}

/// Writes an item.
///
/// # Safety
///
/// 1. The contract of [`xd_memory_view_get_item`] holds for `view` and `index`.
/// 2. Unless the view is read-only, the bytes of the item are valid for [`racy::store`].
/// 3. The payload of `value` is what its kind says, and so are its items.
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
            let text = "the view is read-only; request one with XD_MEMORY_VIEW_WRITABLE";
            return Err(Failure::of_kind(XD_ERROR_READ_ONLY, text));
        }
        // SAFETY: clause 1 of `# Safety`: the contract of `item_pointer` holds for this view, which
        // is not null here, and this index.
        let (ptr, nbytes) = unsafe { find(view, index) }?;
        // SAFETY: clause 3 of `# Safety` is the contract of `members`: the payload of `value`, and
        // of its items, is what its kind says.
        let members = unsafe { members(value) }?;
        // SAFETY: clause 1 of `# Safety` includes the contract of `Parts::of`: a C string or null,
        // and as many components as stated.
        let parts = unsafe { Parts::of(view) }?;
        let (nbytes, components) = match parts.components() {
            None => (1, &BYTE[..]),
            Some(components) => (nbytes, components),
        };
        // SAFETY: the view is not read-only by the check above, so clause 2 of `# Safety` makes the
        // `nbytes` bytes of the item, or its one byte, valid for racy stores.
        unsafe { pack::store_members(ptr, nbytes, components, &members) }?;
        Ok(true)
    })
}

/// The components of a view without a format: one byte.
static BYTE: [Component; 1] = [Component {
    format: b'C',
    native_size: false,
    little_endian: cfg!(target_endian = "little"),
    offset: 0,
    size: 1,
    repeat: 1,
}];

/// The numbers of a value, or of its items if it is a list.
///
/// # Safety
///
/// The payload of `value` is what its kind says.
unsafe fn members(value: &XdValue) -> Result<Vec<Member>> {
    let list = match value.kind() {
        // SAFETY: the kind is a list, so by `# Safety` the payload is null or points to `len`
        // values, which nothing writes during the call.
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
        kind => Err(Failure::of_kind(XD_ERROR_VALUE, format!("a value of kind {kind} is not a number"))),
    }
}
