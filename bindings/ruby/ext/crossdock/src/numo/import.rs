//! The elements of an NArray as an array, which keeps them from being freed.

use core::ffi::c_char;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use crossdock::layout::{Layout, Order};
use crossdock::memory::Birth;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{Ruby, Value, prelude::*};
use rb_sys::VALUE;

use super::library::{BIG_ENDIAN, COLUMN_MAJOR, NumoFunctions, NumoObject};
use crate::adapters::{contains, lent, string_bytes};
use crate::dtype::parse_dtype;
use crate::error::{Failure, Result};
use crate::handle::{self, Wrapped};
use crate::keep::{self, ObjectLease};

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
    let narray = NumoObject::of(object).ok_or(OTHER)?;
    let header = narray.header();
    let rank = usize::from(header.ndim);
    let shape = match rank {
        0 => Vec::new(),
        _ if header.shape.is_null() => return Err(OTHER),
        // SAFETY: `shape` has `ndim` lengths and is not null (checked above).
        _ => unsafe { std::slice::from_raw_parts(header.shape, rank) }.to_vec(),
    };
    if header.flag[0] & COLUMN_MAJOR != 0 {
        return Err("its column-major flag is set, which its own methods follow in part");
    }
    if shape.iter().try_fold(1_usize, |size, &len| size.checked_mul(len)) != Some(header.size) {
        return Err(OTHER);
    }
    let (mut strides, mut offset, mut root) = (None, 0, object);
    if let Some(view) = narray.as_view() {
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
    }
    let elements = NumoObject::of(root).ok_or(OTHER)?;
    let data = elements.as_data().ok_or(OTHER)?;
    let Some(itemsize) = elements.itemsize() else {
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
        is_big_endian: header.flag[0] & BIG_ENDIAN != 0,
    })
}

/// Whether the extension's own functions see the same pointer and offset.
fn is_confirmed(narray: VALUE, place: &Place) -> Result<bool> {
    let Some(functions) = NumoFunctions::of(narray) else { return Ok(false) };
    Ok(functions.place(narray)? == (place.first, place.offset))
}

/// The elements of an NArray as an array, or the reason why strides cannot describe them. The
/// dtype is that of the NArray's class. A private NArray is one that the program does not know.
pub(super) fn lend(
    ruby: &Ruby,
    narray: Value,
    dtype: Value,
    writable: bool,
    is_private: bool,
) -> Result<Value> {
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
        None => Layout::contiguous(&place.shape, itemsize, Order::RowMajor)?,
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
    let birth = if is_private { Birth::Sole } else { Birth::Aliased };
    let address = if is_empty { 0 } else { place.first.expose_provenance() + place.offset };
    // SAFETY: clause 1 of `lent`: the bytes lie within the root's elements (checked above), which
    // are freed only by the methods that `obstacle` stops while `LENT` counts the root, or belong
    // to the String that `source` found; `held` keeps both. Clause 2: a program does not know a
    // private NArray.
    let array = unsafe { lent(ruby, address, dtype, layout, birth, held) }?;
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
    if !is_string {
        return Ok(None);
    }
    // SAFETY: `string` is a String (checked above), which the root keeps alive.
    let bytes = unsafe { string_bytes(string) };
    Ok(contains(bytes, elements).then_some(string))
}

/// Whether a writable array would see what Numo writes: false for elements of a frozen String,
/// which Numo copies before it writes, and for frozen objects.
pub(super) fn is_writable(narray: Value) -> bool {
    read(narray.as_raw()).is_ok_and(|place| {
        // SAFETY: `narray`, which is on the stack, is the root or marks it.
        let root = unsafe { Value::from_raw(place.root) };
        (place.is_owned || place.first.is_null()) && !root.is_frozen() && !narray.is_frozen()
    })
}

/// Why the elements of an NArray must not be freed now, as a sentence.
pub(super) fn obstacle(narray: Value) -> Option<String> {
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
    let narray = NumoObject::of(object)?;
    Some(narray.as_view().map_or(object, |view| view.data))
}

/// Whether an NArray is a view of another.
pub(super) fn is_view(narray: Value) -> bool {
    root(narray.as_raw()).is_some_and(|root| root != narray.as_raw())
}

/// Whether an NArray has memory that its root did not allocate, which `free` would free all the
/// same.
pub(super) fn is_foreign(narray: Value) -> bool {
    let elements = root(narray.as_raw()).and_then(NumoObject::of);
    elements.is_some_and(|root| root.as_data().is_some_and(|data| data.owned == 0 && !data.ptr.is_null()))
}
