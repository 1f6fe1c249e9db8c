//! Numo's structs, of `numo/narray.h`, and the functions that its extension exports.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use magnus::rb_sys::{AsRawValue, protect};
use magnus::{RClass, RModule, Ruby, Value, prelude::*};
use rb_sys::{RTYPEDDATA_GET_DATA, RTYPEDDATA_P, RTYPEDDATA_TYPE, VALUE, rb_data_type_t};

use crate::adapters::string_bytes;
use crate::error::Result;

/// `narray_t` of `numo/narray.h`.
#[repr(C)]
pub(super) struct NumoHeader {
    pub(super) ndim: u8,
    pub(super) kind: u8,
    pub(super) flag: [u8; 2],
    pub(super) elmsz: u16,
    pub(super) size: usize,
    pub(super) shape: *const usize,
    pub(super) reduce: VALUE,
}

/// `narray_data_t`.
#[repr(C)]
pub(super) struct NumoData {
    pub(super) base: NumoHeader,
    pub(super) ptr: *mut c_char,
    pub(super) owned: u8,
}

/// `narray_view_t`.
#[repr(C)]
pub(super) struct NumoView {
    pub(super) base: NumoHeader,
    pub(super) data: VALUE,
    pub(super) offset: usize,
    /// For each axis `2 * stride + 1`, or the address of a table of offsets, which is even.
    pub(super) stridx: *const isize,
}

const DATA: u8 = 1;
const VIEW: u8 = 2;
pub(super) const BIG_ENDIAN: u8 = 1;
pub(super) const COLUMN_MAJOR: u8 = 2;

/// The name of the type from which the types of all NArrays descend.
const ANCESTOR: &CStr = c"Numo::NArray";

/// An NArray's type and struct. Used until the next call that may run Ruby code, while the object
/// is on the stack.
///
/// # Invariants
///
/// 1. `kind` is the type of a live object, or an ancestor of it.
/// 2. `data` points to the struct of a live NArray, which begins with a `NumoHeader`.
#[derive(Clone, Copy)]
pub(super) struct NumoObject {
    kind: *const rb_data_type_t,
    data: *mut c_void,
}

impl NumoObject {
    /// `None` for other objects.
    pub(super) fn of(object: VALUE) -> Option<Self> {
        if rb_sys::SPECIAL_CONST_P(object)
            // SAFETY: `object` is no special constant (checked just before), so it is on the heap.
            || unsafe { rb_sys::RB_BUILTIN_TYPE(object) } != rb_sys::ruby_value_type::RUBY_T_DATA
            // SAFETY: the object has the type T_DATA (checked just before), which this requires.
            || !unsafe { RTYPEDDATA_P(object) }
        {
            return None;
        }
        // SAFETY: the object is typed data (checked above), so it has a type.
        let kind = unsafe { RTYPEDDATA_TYPE(object) };
        // SAFETY: the object is typed data (checked above).
        let data = unsafe { RTYPEDDATA_GET_DATA(object) };
        let this = Self { kind, data };
        let mut ancestor = this;
        // SAFETY: NumoObject 1.
        while let Some(parent) = NonNull::new(unsafe { (*ancestor.kind).parent }.cast_mut()) {
            ancestor.kind = parent.as_ptr();
        }
        (ancestor.name() == ANCESTOR && !data.is_null()).then_some(this)
    }

    /// The name of the type.
    fn name(&self) -> &CStr {
        // SAFETY: NumoObject 1.
        let name = unsafe { (*self.kind).wrap_struct_name };
        // SAFETY: Ruby requires every data type to have a name, a C string that lives as long as
        // the type.
        unsafe { CStr::from_ptr(name) }
    }

    pub(super) fn header(&self) -> &NumoHeader {
        // SAFETY: NumoObject 2.
        unsafe { &*self.data.cast() }
    }

    /// The struct of an NArray with data of its own.
    pub(super) fn as_data(&self) -> Option<&NumoData> {
        // SAFETY: NumoObject 2, and the header says that it is a `narray_data_t`.
        (self.header().kind == DATA).then(|| unsafe { &*self.data.cast() })
    }

    /// The struct of a view.
    pub(super) fn as_view(&self) -> Option<&NumoView> {
        // SAFETY: NumoObject 2, and the header says that it is a `narray_view_t`.
        (self.header().kind == VIEW).then(|| unsafe { &*self.data.cast() })
    }

    /// The struct of a new view, to be filled in.
    pub(super) fn into_view(self) -> Option<*mut NumoView> {
        self.as_view().is_some().then_some(self.data.cast())
    }

    /// The bytes of one element of a root of this type, if it has elements that an array can have.
    pub(super) fn itemsize(&self) -> Option<usize> {
        match self.name().to_bytes().strip_prefix(b"Numo::")? {
            b"Int8" | b"UInt8" => Some(1),
            b"Int16" | b"UInt16" => Some(2),
            b"Int32" | b"UInt32" | b"SFloat" => Some(4),
            b"Int64" | b"UInt64" | b"DFloat" | b"SComplex" => Some(8),
            b"DComplex" => Some(16),
            _ => None,
        }
    }
}

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
type Offset = unsafe extern "C" fn(VALUE) -> usize;
type NewView = unsafe extern "C" fn(VALUE, c_int, *mut usize) -> VALUE;

/// Functions of `numo/intern.h`.
#[derive(Clone, Copy)]
pub(super) struct NumoFunctions {
    pointer: Pointer,
    offset: Offset,
    new_view: NewView,
}

impl NumoFunctions {
    /// Those of the extension that defined the type of an NArray; looked up once.
    pub(super) fn of(narray: VALUE) -> Option<Self> {
        static FOUND: OnceLock<Option<NumoFunctions>> = OnceLock::new();
        let NumoObject { kind, .. } = NumoObject::of(narray)?;
        *FOUND.get_or_init(|| {
            let pointer = exported(kind, c"nary_get_pointer")?;
            let offset = exported(kind, c"nary_get_offset")?;
            let new_view = exported(kind, c"nary_view_new")?;
            Some(Self {
                // SAFETY: `numo/intern.h` declares `nary_get_pointer` with this type.
                pointer: unsafe { std::mem::transmute::<*mut c_void, Pointer>(pointer) },
                // SAFETY: `numo/intern.h` declares `nary_get_offset` with this type.
                offset: unsafe { std::mem::transmute::<*mut c_void, Offset>(offset) },
                // SAFETY: `numo/intern.h` declares `nary_view_new` with this type.
                new_view: unsafe { std::mem::transmute::<*mut c_void, NewView>(new_view) },
            })
        })
    }

    /// The first element of an NArray's root, and the bytes from there to its own first element.
    pub(super) fn place(self, narray: VALUE) -> Result<(*mut c_char, usize)> {
        let mut place = (ptr::null_mut(), 0);
        protect(|| {
            // SAFETY: `of` found the NArray's type; `protect` catches what the function raises.
            place.0 = unsafe { (self.pointer)(narray) };
            // SAFETY: `of` found the NArray's type; `protect` catches what the function raises.
            place.1 = unsafe { (self.offset)(narray) };
            narray
        })?;
        Ok(place)
    }

    /// A view without strides and data.
    pub(super) fn new_view(self, class: RClass, shape: &[usize]) -> Result<VALUE> {
        let mut shape = shape.to_vec();
        let class = class.as_raw();
        // SAFETY: `class` is one of Numo's classes, and `shape` has as many lengths as stated;
        // `protect` catches what the function raises.
        Ok(protect(|| unsafe { (self.new_view)(class, shape.len() as c_int, shape.as_mut_ptr()) })?)
    }
}

/// Whether this version of the library has the structs of this module: it uses the bytes of a
/// frozen String in place, and notes in `owned` that they are not its own.
pub(super) fn is_known(ruby: &Ruby) -> Result<bool> {
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
    // SAFETY: `string` is a live String.
    let (bytes, _) = unsafe { string_bytes(string.as_raw()) };
    let is_known = match NumoFunctions::of(narray.as_raw()) {
        Some(functions) => functions.place(narray.as_raw())?.0.addr() == bytes,
        None => false,
    };
    KNOWN.store(if is_known { 1 } else { 2 }, Ordering::Relaxed);
    Ok(is_known)
}
