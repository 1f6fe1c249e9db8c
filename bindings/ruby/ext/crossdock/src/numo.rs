//! The memory of a `Numo::NArray`, zero-copy: what its header describes, checked against the
//! functions that its extension exports.
//!
//! ```text
//!   NArray with data ── ptr ──> elements, row-major      the root: it owns the elements
//!   view ── data ──> root; offset and strides in bytes, or a table of offsets for each axis
//! ```
//!
//! Numo allocates the elements at the first write and then never moves them. Three methods free
//! them while the object lives: `free`, and with a frozen String `store_binary` and `marshal_load`.
//! `lib/crossdock/adapters/numo.rb` guards these, by [`obstacle`]. Elements that a root does not
//! own belong to a frozen String: the first write copies them, and the String keeps the
//! originals.
//!
//! Reasons: `DESIGN.md`, "Numo's elements are lent from the root that owns them".

use core::ffi::{CStr, c_char, c_int, c_void};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};

use crossdock::layout::{Layout, Order as AxisOrder};
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RClass, RModule, Ruby, Value, function, prelude::*};
use rb_sys::{RTYPEDDATA_GET_DATA, RTYPEDDATA_P, RTYPEDDATA_TYPE, VALUE, rb_data_type_t};

use crate::adapters::{contains, lent, string_bytes};
use crate::error::{Failure, Result, parse_dtype};
use crate::handle::{self, Wrapped};
use crate::keep::{self, ObjectLease};

/// `narray_t` of `numo/narray.h`.
#[repr(C)]
struct NumoHeader {
    ndim: u8,
    kind: u8,
    flag: [u8; 2],
    elmsz: u16,
    size: usize,
    shape: *const usize,
    reduce: VALUE,
}

/// `narray_data_t`.
#[repr(C)]
struct NumoData {
    base: NumoHeader,
    ptr: *mut c_char,
    owned: u8,
}

/// `narray_view_t`.
#[repr(C)]
struct NumoView {
    base: NumoHeader,
    data: VALUE,
    offset: usize,
    /// For each axis `2 * stride + 1`, or the address of a table of offsets, which is even.
    stridx: *const isize,
}

const DATA: u8 = 1;
const VIEW: u8 = 2;
const BIG_ENDIAN: u8 = 1;
const COLUMN_MAJOR: u8 = 2;

/// The name of the type from which the types of all NArrays descend.
const ANCESTOR: &CStr = c"Numo::NArray";

/// The number of arrays on the elements of each root that owns them.
static LENT: Mutex<BTreeMap<VALUE, usize>> = Mutex::new(BTreeMap::new());

/// Never locked during a call to Ruby.
fn all_lent() -> MutexGuard<'static, BTreeMap<VALUE, usize>> {
    LENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// One array on the elements of a root, which is counted in `LENT`.
struct Loan;

impl Loan {
    fn take(root: VALUE) -> keep::Held {
        *all_lent().entry(root).or_insert(0) += 1;
        keep::hold(root, Some(Box::new(Self)))
    }
}

impl ObjectLease for Loan {
    fn give_back(&mut self, root: VALUE) {
        let mut lent = all_lent();
        if let Some(count) = lent.get_mut(&root) {
            *count -= 1;
            if *count == 0 {
                lent.remove(&root);
            }
        }
    }
}

/// The type of an NArray, and the address of its struct; `None` for other objects.
fn typed(object: VALUE) -> Option<(*const rb_data_type_t, *mut c_void)> {
    if rb_sys::SPECIAL_CONST_P(object)
        // SAFETY: `object` is no special constant (checked just before), so it is on the heap.
        || unsafe { rb_sys::RB_BUILTIN_TYPE(object) } != rb_sys::ruby_value_type::RUBY_T_DATA
        // SAFETY: the object has the type T_DATA (checked just before), which this requires.
        || !unsafe { RTYPEDDATA_P(object) }
    {
        return None;
    }
    // SAFETY: the object is typed data (checked above), so it has a type.
    let own = unsafe { RTYPEDDATA_TYPE(object) };
    let mut kind = own;
    // SAFETY: `kind` is the type of a live object or an ancestor of it, which live as long as the
    // extension that defined them.
    while let Some(description) = unsafe { kind.as_ref() } {
        if description.parent.is_null() {
            break;
        }
        kind = description.parent;
    }
    if name(kind) != ANCESTOR {
        return None;
    }
    // SAFETY: the object is typed data (checked above).
    Some((own, unsafe { RTYPEDDATA_GET_DATA(object) }))
}

fn name<'a>(kind: *const rb_data_type_t) -> &'a CStr {
    // SAFETY: the callers pass the type of a live object or an ancestor of it.
    let name = unsafe { (*kind).wrap_struct_name };
    // SAFETY: Ruby requires every data type to have a name, a C string that lives as long as the
    // type.
    unsafe { CStr::from_ptr(name) }
}

/// The bytes of one element of a root of this type, if it has elements that an array can have.
fn itemsize(kind: *const rb_data_type_t) -> Option<usize> {
    match name(kind).to_bytes().strip_prefix(b"Numo::")? {
        b"Int8" | b"UInt8" => Some(1),
        b"Int16" | b"UInt16" => Some(2),
        b"Int32" | b"UInt32" | b"SFloat" => Some(4),
        b"Int64" | b"UInt64" | b"DFloat" | b"SComplex" => Some(8),
        b"DComplex" => Some(16),
        _ => None,
    }
}

/// Where Numo's elements are. Only read from a live object, before the next call to Ruby.
struct Place {
    shape: Vec<usize>,
    /// `None` for row-major without gaps.
    strides: Option<Vec<isize>>,
    /// In bytes, from the root's first element.
    offset: usize,
    root: VALUE,
    /// The root's first element; null before the first write.
    first: *mut c_char,
    /// The bytes of all elements of the root.
    nbytes: usize,
    /// Whether the root allocated its elements.
    is_owned: bool,
    is_big_endian: bool,
}

/// Reads the structs of an NArray and its root.
///
/// # Errors
///
/// The reason why strides cannot describe the elements, as a sentence.
fn read(object: VALUE) -> std::result::Result<Place, &'static str> {
    const OTHER: &str = "its struct is not that of numo/narray.h";
    let (kind, data) = typed(object).ok_or(OTHER)?;
    // SAFETY: the data of an NArray is null or a `narray_t`, with which its structs begin.
    let base = unsafe { data.cast::<NumoHeader>().as_ref() }.ok_or(OTHER)?;
    let rank = usize::from(base.ndim);
    let shape = match rank {
        0 => Vec::new(),
        _ if base.shape.is_null() => return Err(OTHER),
        // SAFETY: `shape` has `ndim` lengths and is not null (checked above).
        _ => unsafe { std::slice::from_raw_parts(base.shape, rank) }.to_vec(),
    };
    if base.flag[0] & COLUMN_MAJOR != 0 {
        return Err("its column-major flag is set, which its own methods follow in part");
    }
    if shape.iter().try_fold(1_usize, |size, &len| size.checked_mul(len)) != Some(base.size) {
        return Err(OTHER);
    }
    let (mut strides, mut offset, mut root, mut root_kind) = (None, 0, object, kind);
    if base.kind == VIEW {
        // SAFETY: `kind` says that the data is a `narray_view_t`.
        let view = unsafe { &*data.cast::<NumoView>() };
        (offset, root) = (view.offset, view.data);
        if !view.stridx.is_null() {
            // SAFETY: `stridx` has `ndim` entries and is not null (checked just before).
            let entries = unsafe { std::slice::from_raw_parts(view.stridx, rank) };
            if entries.iter().any(|entry| entry & 1 == 0) {
                return Err(
                    "an axis selects its elements by a table of indices, which strides cannot describe",
                );
            }
            strides = Some(entries.iter().map(|entry| entry >> 1).collect::<Vec<_>>());
        }
        root_kind = typed(root).ok_or(OTHER)?.0;
    }
    let (_, data) = typed(root).ok_or(OTHER)?;
    // SAFETY: the data of an NArray is null or a `narray_t`, with which its structs begin.
    if unsafe { data.cast::<NumoHeader>().as_ref() }.ok_or(OTHER)?.kind != DATA {
        return Err(OTHER);
    }
    // SAFETY: `kind` says that the data is a `narray_data_t` (checked just before).
    let data = unsafe { &*data.cast::<NumoData>() };
    let Some(itemsize) = itemsize(root_kind) else {
        return Err("it is a view of elements of another kind");
    };
    Ok(Place {
        shape,
        strides,
        offset,
        root,
        first: data.ptr,
        nbytes: data.base.size.checked_mul(itemsize).ok_or(OTHER)?,
        is_owned: data.owned != 0,
        is_big_endian: base.flag[0] & BIG_ENDIAN != 0,
    })
}

// ===== the functions that Numo's extension exports

/// `Dl_info` of `dlfcn.h`.
#[repr(C)]
struct LibraryOf {
    path: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut LibraryOf) -> c_int;
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
}

const RTLD_LAZY: c_int = 1;
/// Only a library that is loaded already.
const RTLD_NOLOAD: c_int = 4;

/// A function of the extension that defined a type. Extensions of Ruby may be loaded so that a
/// search by name alone does not find them.
fn exported(kind: *const rb_data_type_t, name: &CStr) -> Option<*mut c_void> {
    let mut found =
        LibraryOf { path: ptr::null(), base: ptr::null_mut(), symbol: ptr::null(), address: ptr::null_mut() };
    // SAFETY: `dladdr` compares the address with those of the loaded libraries, and writes the
    // local struct.
    if unsafe { dladdr(kind.cast(), &mut found) } == 0 || found.path.is_null() {
        return None;
    }
    // SAFETY: `dladdr` returned the path of a loaded library, a C string; nothing is loaded.
    let library = unsafe { dlopen(found.path, RTLD_LAZY | RTLD_NOLOAD) };
    if library.is_null() {
        return None;
    }
    // SAFETY: `library` is a handle that `dlopen` returned, and `name` a C string.
    let function = unsafe { dlsym(library, name.as_ptr()) };
    // SAFETY: `library` is a handle that `dlopen` returned; the type belongs to the library, so it
    // stays loaded.
    unsafe { dlclose(library) };
    (!function.is_null()).then_some(function)
}

type Pointer = unsafe extern "C" fn(VALUE) -> *mut c_char;

/// Whether the extension's own functions see the same pointer and offset.
fn is_confirmed(object: VALUE, place: &Place) -> Result<bool> {
    type Offset = unsafe extern "C" fn(VALUE) -> usize;
    let Some((kind, _)) = typed(object) else { return Ok(false) };
    let functions = (exported(kind, c"nary_get_pointer"), exported(kind, c"nary_get_offset"));
    let (Some(pointer), Some(offset)) = functions else { return Ok(false) };
    // SAFETY: `numo/intern.h` declares `nary_get_pointer` with this type.
    let pointer = unsafe { std::mem::transmute::<*mut c_void, Pointer>(pointer) };
    // SAFETY: `numo/intern.h` declares `nary_get_offset` with this type.
    let offset = unsafe { std::mem::transmute::<*mut c_void, Offset>(offset) };
    let mut seen = (ptr::null_mut(), 0);
    protect(|| {
        // SAFETY: `object` is an NArray (`typed`); `protect` catches what the function raises.
        seen.0 = unsafe { pointer(object) };
        // SAFETY: `object` is an NArray (`typed`); `protect` catches what the function raises.
        seen.1 = unsafe { offset(object) };
        object
    })?;
    Ok(seen == (place.first, place.offset))
}

/// Whether this version of the library has the structs of this module: it uses the bytes of a
/// frozen String in place, and notes in `owned` that they are not its own.
fn is_known(ruby: &Ruby) -> Result<bool> {
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 {
        return Ok(known == 1);
    }
    let numo: RModule = ruby.class_object().const_get("Numo")?;
    let class: RClass = numo.const_get("Int8")?;
    let string = ruby.str_new("1");
    string.freeze();
    let narray: Value = class.funcall("from_binary", (string,))?;
    let mut seen = ptr::null_mut();
    if let Some(pointer) = typed(narray.as_raw()).and_then(|(kind, _)| exported(kind, c"nary_get_pointer")) {
        // SAFETY: `numo/intern.h` declares `nary_get_pointer` with this type.
        let pointer = unsafe { std::mem::transmute::<*mut c_void, Pointer>(pointer) };
        protect(|| {
            // SAFETY: `narray` is an NArray (`typed`); `protect` catches what the function raises.
            seen = unsafe { pointer(narray.as_raw()) };
            narray.as_raw()
        })?;
    }
    let is_known = !seen.is_null() && seen.addr() == string_bytes(string.as_raw()).0;
    KNOWN.store(if is_known { 1 } else { 2 }, Ordering::Relaxed);
    Ok(is_known)
}

// ===== for the adapter in Ruby

/// The elements of an NArray as an array, or the reason why strides cannot describe them. The
/// dtype is that of the NArray's class.
fn numo(ruby: &Ruby, narray: Value, dtype: Value, writable: bool) -> Result<Value> {
    keep::give_back();
    let dtype = parse_dtype(ruby, dtype)?;
    let reason = |reason: &str| Ok(ruby.str_new(reason).as_value());
    let place = match read(narray.as_raw()) {
        Ok(place) => place,
        Err(why) => return reason(why),
    };
    if !is_confirmed(narray.as_raw(), &place)? {
        return reason("its struct does not agree with the functions of its extension");
    }
    let is_empty = place.shape.contains(&0);
    if place.first.is_null() && !is_empty {
        let text = format!(
            "this {} of shape {:?} has no memory before its first write: fill it first",
            narray.class(),
            place.shape
        );
        return Err(Failure::refused(ruby, text));
    }
    let itemsize = dtype.itemsize();
    let dtype = match place.is_big_endian == cfg!(target_endian = "big") || itemsize == 1 {
        true => dtype,
        // Numo reverses the bytes of a complex number as a whole.
        false if dtype.to_string().starts_with("complex") => {
            return reason("both parts of its complex numbers are byte-swapped as one");
        }
        false => format!("{}{dtype}", if place.is_big_endian { '>' } else { '<' }).parse()?,
    };
    let layout = match &place.strides {
        None => Layout::contiguous(&place.shape, itemsize, AxisOrder::RowMajor)?,
        Some(strides) => Layout::new(&place.shape, strides, itemsize)?,
    };
    let span = layout.span();
    let begin = place.offset.checked_add_signed(span.low());
    let end = place.offset.checked_add_signed(span.high());
    if !is_empty && (begin.is_none() || end.is_none_or(|end| end > place.nbytes)) {
        return reason("its strides leave the memory of its elements");
    }
    let held = if place.is_owned || is_empty {
        (Loan::take(place.root), None)
    } else {
        let Some(string) = source(&place)? else {
            return reason("another library has its memory");
        };
        (keep::hold(place.root, None), Some(keep::hold(string, None)))
    };
    let address = if is_empty { 0 } else { place.first.expose_provenance() + place.offset };
    // SAFETY: clause 1 of `lent`: the bytes lie within the root's elements (checked above), which
    // are freed only by the methods that `obstacle` stops while `LENT` counts the root, or belong
    // to the String that `source` found; `held` keeps both. Clause 2: `constant` is not set.
    let array = unsafe { lent(ruby, address, dtype, layout, false, held) }?;
    let array = if writable { array } else { array.into_readonly() };
    Ok(Wrapped::sharing(ruby, array, None)?.as_value())
}

/// The frozen String that has the elements of a root that does not own them. Numo keeps it under a
/// name that programs cannot use.
fn source(place: &Place) -> Result<Option<VALUE>> {
    let mut string = rb_sys::Qnil as VALUE;
    protect(|| {
        // SAFETY: the name is a static C string; `protect` catches exceptions.
        let name = unsafe { rb_sys::rb_intern(c"source".as_ptr()) };
        // SAFETY: `root` is a live object; a missing variable reads as nil.
        string = unsafe { rb_sys::rb_ivar_get(place.root, name) };
        string
    })?;
    let is_string = !rb_sys::SPECIAL_CONST_P(string)
        // SAFETY: `string` is no special constant (checked before), and the root keeps it.
        && unsafe { rb_sys::RB_BUILTIN_TYPE(string) } == rb_sys::ruby_value_type::RUBY_T_STRING
        && handle::is_frozen(string);
    // A compaction may have moved short Strings, which Numo does not pin in every version of Ruby.
    let elements = (place.first.addr(), place.nbytes);
    Ok((is_string && contains(string_bytes(string), elements)).then_some(string))
}

/// Whether a writable array would see what Numo writes: false for elements of a frozen String,
/// which Numo copies before it writes, and for frozen objects.
fn is_writable(narray: Value) -> bool {
    read(narray.as_raw()).is_ok_and(|place| {
        // SAFETY: `narray`, which is on the stack, is the root or marks it.
        let root = unsafe { Value::from_raw(place.root) };
        (place.is_owned || place.first.is_null()) && !root.is_frozen() && !narray.is_frozen()
    })
}

/// Why the elements of an NArray must not be freed now, as a sentence.
fn obstacle(narray: Value) -> Option<String> {
    keep::give_back();
    let root = root(narray.as_raw())?;
    let count = all_lent().get(&root).copied()?;
    Some(match count {
        1 => "a Crossdock::Array uses the memory".into(),
        count => format!("{count} instances of Crossdock::Array use the memory"),
    })
}

/// The object that has the elements.
fn root(object: VALUE) -> Option<VALUE> {
    let (_, data) = typed(object)?;
    // SAFETY: the data of an NArray is null or a `narray_t`, with which its structs begin.
    let base = unsafe { data.cast::<NumoHeader>().as_ref() }?;
    match base.kind {
        // SAFETY: `kind` says that the data is a `narray_view_t`.
        VIEW => Some(unsafe { &*data.cast::<NumoView>() }.data),
        _ => Some(object),
    }
}

pub(crate) fn init(module: RModule) -> std::result::Result<(), magnus::Error> {
    let adapters = module.define_module("Adapters")?;
    adapters.define_singleton_method("numo_known?", function!(is_known, 0))?;
    adapters.define_singleton_method("lend_numo", function!(numo, 3))?;
    adapters.define_singleton_method("numo_writable?", function!(is_writable, 1))?;
    adapters.define_singleton_method("numo_obstacle", function!(obstacle, 1))?;
    Ok(())
}
