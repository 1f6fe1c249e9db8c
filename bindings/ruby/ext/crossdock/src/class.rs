//! The class `Crossdock::Array`, and how it gets methods that Ruby calls directly.

use core::ffi::{CStr, c_int};

use magnus::rb_sys::{AsRawValue, protect};
use magnus::value::Lazy;
use magnus::{Error, RClass, prelude::*};
use rb_sys::VALUE;

use crate::error::CROSSDOCK;

/// `Crossdock::Array`.
pub(crate) static ARRAY: Lazy<RClass> = Lazy::new(|ruby| {
    // Defined before anything asks for it.
    ruby.get_inner(&CROSSDOCK).const_get("Array").unwrap_or_else(|_| ruby.class_object())
});

/// A method that Ruby calls with a number of arguments.
type Method = unsafe extern "C" fn(c_int, *const VALUE, VALUE) -> VALUE;

/// Defines a method that is called without anything between.
pub(crate) fn define(class: RClass, name: &'static CStr, method: Method) -> Result<(), Error> {
    protect(|| {
        // SAFETY: Ruby casts it back to what the number of arguments says: -1 for a number and a list.
        let method = unsafe { core::mem::transmute::<Method, unsafe extern "C" fn() -> VALUE>(method) };
        // SAFETY: a class, a name and a method.
        unsafe { rb_sys::rb_define_method(class.as_raw(), name.as_ptr(), Some(method), -1) };
        class.as_raw()
    })?;
    Ok(())
}
