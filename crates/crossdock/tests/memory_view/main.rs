//! MemoryView: the hub with arrays, with producers that keep to the rules, and with those that do
//! not.

mod arrays;
mod bugs;
mod classes;
mod flags;
mod hostile;
mod import;
mod threads;
mod types;
mod vectors;

use std::ffi::{CStr, c_void};
use std::ptr;

use crossdock::Result;
use crossdock::bindings::memory_view::{self as memory_view, Flags, View};

fn get(obj: *mut c_void, view: &mut View, flags: Flags) -> Result<()> {
    // SAFETY: the objects of these tests are null, or live and begin with their class.
    unsafe { memory_view::get(obj, view, flags) }
}

fn release(view: &mut View) -> bool {
    // SAFETY: the view was filled in by `get`, or is empty, and is not used after this call.
    unsafe { memory_view::release(view) }
}

fn numbers<'a>(numbers: *const isize, view: &View) -> &'a [isize] {
    assert!(!numbers.is_null());
    // SAFETY: callers pass numbers of a held view, which has `ndim` of them.
    unsafe { std::slice::from_raw_parts(numbers, view.ndim as usize) }
}

fn format<'a>(view: &View) -> &'a str {
    // SAFETY: callers pass a held view, whose format is a C string.
    unsafe { CStr::from_ptr(view.format) }.to_str().unwrap()
}

/// Each byte of a struct.
fn bytes(view: &View) -> Vec<u8> {
    // SAFETY: callers pass a view that was zeroed first, so that its padding is initialised, too.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(view).cast(), size_of::<View>()) }.to_vec()
}
