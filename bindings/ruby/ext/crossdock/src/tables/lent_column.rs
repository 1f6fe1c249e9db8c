//! `Crossdock::Column` as a producer of Ruby's MemoryView: elements of a fixed width, without
//! nulls, in place and read-only where their memory is.

use core::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossdock::bindings::memory_view;
use magnus::rb_sys::{AsRawValue, FromRawValue, protect};
use magnus::{RClass, TryConvert, Value};
use rb_sys::{VALUE, rb_memory_view_entry_t, rb_memory_view_register, rb_memory_view_t};

use crate::export;
use crate::tables::column::RubyColumn;

/// The static entry to which Ruby keeps a pointer.
static ENTRY: rb_memory_view_entry_t = rb_memory_view_entry_t {
    get_func: Some(get),
    release_func: Some(export::release),
    available_p_func: Some(available),
};

/// The column of an object.
///
/// # Safety
///
/// The object is alive, and stays so while the result is used.
unsafe fn column<'a>(obj: VALUE) -> Option<&'a RubyColumn> {
    // SAFETY: `# Safety`: a live object.
    let value = unsafe { Value::from_raw(obj) };
    <&RubyColumn>::try_convert(value).ok()
}

/// Fills in a view; Ruby's `rb_memory_view_get` leaves it uninitialised.
unsafe extern "C" fn get(obj: VALUE, view: *mut rb_memory_view_t, flags: c_int) -> bool {
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: Ruby calls the producer with a live object of the class, which the caller keeps.
        let Some(column) = (unsafe { column(obj) }) else { return false };
        let Some(column) = column.unless_released() else {
            memory_view::keep_refusal("the column was released".into());
            return false;
        };
        match column.export() {
            // SAFETY: Ruby passes the consumer's writable struct, and the object that it asks for.
            Ok(lent) => unsafe { export::lend(lent, obj, view, flags, false) },
            Err(why) => {
                memory_view::keep_refusal(why.into());
                false
            }
        }
    }))
    .unwrap_or(false)
}

unsafe extern "C" fn available(obj: VALUE) -> bool {
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: Ruby calls the producer with a live object of the class, which the caller keeps.
        let column = unsafe { column(obj) };
        column.and_then(RubyColumn::unless_released).is_some_and(|column| column.export().is_ok())
    }))
    .unwrap_or(false)
}

/// Registers the producer for `Crossdock::Column` and its subclasses.
pub(super) fn init(class: RClass) -> Result<(), magnus::Error> {
    protect(|| {
        // SAFETY: `class` is a live class, and `ENTRY` is a static, which outlives the
        // registration.
        unsafe { rb_memory_view_register(class.as_raw(), &ENTRY) };
        class.as_raw()
    })?;
    Ok(())
}
