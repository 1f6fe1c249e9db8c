//! The table of functions for extensions in C: `crossdock/ruby.h`, field by field.

use core::ffi::{CStr, c_char, c_void};
use core::mem::offset_of;
use std::slice;

use crossdock::DArray;
use crossdock::bindings::memory_view::View;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Birth, Place};
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RModule, Ruby, Value, kwargs, prelude::*};
use rb_sys::{VALUE, rb_data_typed_object_wrap, rb_memory_view_t, rbimpl_typeddata_flags};

use crate::entry::entered;
use crate::error::{CROSSDOCK, Failure, Result, text};
use crate::handle::{self, Wrapped};
use crate::import;
use crate::keep::{self, ObjectLease};
use crate::typed::{Functions, Type};

/// The C struct `xdr_memory`.
#[repr(C)]
struct Memory {
    data: *mut c_void,
    dtype: *const c_char,
    ndim: isize,
    shape: *const isize,
    strides: *const isize,
    readonly: bool,
    owner: VALUE,
    release: Option<unsafe extern "C" fn(context: *mut c_void)>,
    context: *mut c_void,
}

/// The C struct `xdr_api`.
#[repr(C)]
struct Api {
    version: u32,
    nbytes: u32,
    array_from_memory: unsafe extern "C" fn(memory: *const Memory) -> VALUE,
    view: unsafe extern "C" fn(object: VALUE, writable: bool) -> VALUE,
    is_array: unsafe extern "C" fn(object: VALUE) -> bool,
    item_pointer: unsafe extern "C" fn(view: *const rb_memory_view_t, indices: *const isize) -> *mut c_void,
}

// The tests compare these with the header.
const _: () = assert!(size_of::<Memory>() == 72 && offset_of!(Memory, owner) == 48 && size_of::<Api>() == 40);

static API: Api =
    Api { version: 1, nbytes: size_of::<Api>() as u32, array_from_memory, view, is_array, item_pointer };

/// An extension's function that is called after the memory was last used.
struct Told {
    release: unsafe extern "C" fn(context: *mut c_void),
    context: *mut c_void,
}

// SAFETY: only `give_back` uses the pointers, on a thread that holds Ruby's lock, as `xdr_memory`
// documents.
unsafe impl Send for Told {}

impl ObjectLease for Told {
    fn give_back(&mut self, _: VALUE) {
        let told = protect(|| {
            // SAFETY: the extension passed this function for this context; a lease is released
            // once, so it is called once.
            unsafe { (self.release)(self.context) };
            rb_sys::Qnil as VALUE
        });
        // No caller could handle an exception of the function.
        drop(told);
    }
}

unsafe extern "C" fn array_from_memory(memory: *const Memory) -> VALUE {
    entered(|ruby| {
        // SAFETY: the header requires `memory` to point to a valid `xdr_memory` for the duration of
        // the call.
        let memory = unsafe { &*memory };
        let lease = memory
            .release
            .map(|release| Box::new(Told { release, context: memory.context }) as Box<dyn ObjectLease>);
        // From here on, `held` releases the memory on every error.
        let held = keep::hold(memory.owner, lease);
        // SAFETY: the header requires `dtype` to be a C string, which outlives this call.
        let dtype = unsafe { CStr::from_ptr(memory.dtype) }.to_string_lossy();
        let dtype: DType =
            dtype.parse().map_err(|error| Failure::argument(ruby, format!("dtype: {}", text(&error))))?;
        let layout = layout(ruby, memory, dtype.itemsize())?;
        let span = layout.span();
        let begin = memory.data.cast::<u8>().wrapping_offset(span.low());
        // SAFETY: the header requires the bytes that the layout reaches to be valid until `release`
        // is called or `owner` goes. Other code may write them, which `Birth::Aliased` says.
        let buffer = unsafe {
            Buffer::from_foreign(begin, span.nbytes(), Place::CPU, Birth::Aliased, move || drop(held))
        }?;
        let array = DArray::from_buffer(buffer, dtype, layout, span.low().unsigned_abs())?;
        let array = if memory.readonly { array.into_readonly() } else { array };
        // The array reports the memory that a function releases; an owner reports its own memory.
        let wrapped = match memory.release {
            Some(_) => Wrapped::new(ruby, array)?,
            None => Wrapped::sharing(ruby, array, None)?,
        };
        Ok(wrapped.as_value().as_raw())
    })
}

fn layout(ruby: &Ruby, memory: &Memory, itemsize: usize) -> Result<Layout> {
    let rank = usize::try_from(memory.ndim).ok().filter(|&rank| rank == 0 || !memory.shape.is_null());
    let Some(rank) = rank else {
        return Err(Failure::argument(ruby, format!("{} axes without a shape", memory.ndim)));
    };
    let shape = if rank == 0 {
        &[]
    } else {
        // SAFETY: the header requires `shape` to have `ndim` lengths; it is not null, since `rank`
        // is `Some` and not 0.
        unsafe { slice::from_raw_parts(memory.shape, rank) }
    };
    let length = |&len: &isize| {
        usize::try_from(len)
            .map_err(|_| Failure::argument(ruby, format!("an axis of length {len}: {shape:?}")))
    };
    let lengths = shape.iter().map(length).collect::<Result<Vec<_>>>()?;
    if rank == 0 || memory.strides.is_null() {
        return Ok(Layout::contiguous(&lengths, itemsize, Order::RowMajor)?);
    }
    // SAFETY: the header requires `strides` to be null, which was checked above, or to have `ndim`
    // numbers.
    let strides = unsafe { slice::from_raw_parts(memory.strides, rank) };
    Ok(Layout::new(&lengths, strides, itemsize)?)
}

unsafe extern "C" fn view(object: VALUE, writable: bool) -> VALUE {
    entered(|ruby| {
        // SAFETY: the C caller passes a live object, which is on its stack during the call.
        let object = unsafe { Value::from_raw(object) };
        if Wrapped::of(object).is_none() && !import::is_exporter(object) {
            // Adapters are written in Ruby.
            let crossdock = ruby.get_inner(&CROSSDOCK);
            let array: Value = crossdock.funcall("view", (object, kwargs!("writable" => writable)))?;
            return Ok(array.as_raw());
        }
        Ok(import::view(ruby, object, writable)?.as_value().as_raw())
    })
}

unsafe extern "C" fn is_array(object: VALUE) -> bool {
    handle::find(object).is_some()
}

unsafe extern "C" fn item_pointer(view: *const rb_memory_view_t, indices: *const isize) -> *mut c_void {
    entered(|_| {
        // SAFETY: the header requires a valid view from Ruby; `export` asserts that its struct has
        // the layout of `View`.
        let view = unsafe { &*view.cast::<View>() };
        // SAFETY: the header requires a view that its producer filled in and has not released, and
        // `indices` with one number for each axis.
        let item = unsafe { view.item_pointer(indices) }?;
        Ok(item.cast())
    })
}

static HOLDER: Type = Type::new(
    c"crossdock/api",
    Functions::NONE,
    rbimpl_typeddata_flags::RUBY_TYPED_FROZEN_SHAREABLE as VALUE,
);

/// `Crossdock::API`.
pub(crate) fn init(module: RModule) -> std::result::Result<(), magnus::Error> {
    let holder = protect(|| {
        let class = &raw const rb_sys::rb_cObject;
        // SAFETY: Ruby initialises `rb_cObject` at start and never changes it, so the static can be
        // read.
        let class = unsafe { class.read() };
        // SAFETY: `API` is a static that is never written, and `HOLDER` has no `free` function and
        // no `mark` function.
        unsafe { rb_data_typed_object_wrap(class, (&raw const API).cast_mut().cast(), HOLDER.as_ptr()) }
    })?;
    // SAFETY: `rb_data_typed_object_wrap` just returned this object, and it is on the stack.
    let holder = unsafe { Value::from_raw(holder) };
    holder.freeze();
    module.const_set("API", holder)
}
