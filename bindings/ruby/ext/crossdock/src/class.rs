//! The class `Crossdock::Array`, and methods that Ruby calls without a wrapper.

use core::ffi::{CStr, c_int};

use magnus::rb_sys::{AsRawValue, protect};
use magnus::value::Lazy;
use magnus::{Error, RClass, prelude::*};
use rb_sys::VALUE;

use crate::error::CROSSDOCK;

/// `Crossdock::Array`.
pub(crate) static ARRAY: Lazy<RClass> = Lazy::new(|ruby| {
    // The class is defined before its first use.
    ruby.get_inner(&CROSSDOCK).const_get("Array").unwrap_or_else(|_| ruby.class_object())
});

/// A method with a variable number of arguments.
type Method = unsafe extern "C" fn(c_int, *const VALUE, VALUE) -> VALUE;

/// Defines a method that Ruby calls without a wrapper.
pub(crate) fn define(class: RClass, name: &'static CStr, method: Method) -> Result<(), Error> {
    protect(|| {
        // SAFETY: both are function pointers. Ruby casts it back to the type that the arity -1
        // means, which is `Method`.
        let method = unsafe { core::mem::transmute::<Method, unsafe extern "C" fn() -> VALUE>(method) };
        // SAFETY: `class` is a live class, `name` is static, and `method` has the signature for the
        // arity -1.
        unsafe { rb_sys::rb_define_method(class.as_raw(), name.as_ptr(), Some(method), -1) };
        class.as_raw()
    })?;
    Ok(())
}
