//! `Crossdock::Array` as a producer of Ruby's MemoryView.
//!
//! The library's own hub creates the view: it evaluates the flags, holds the lease and has a record
//! of each view. Ruby's struct also needs the object to pin, and a place for the record's name,
//! which is `private_data`. `release` uses the name alone: at the end of the process, the object
//! may be gone before its consumers, and a view that they still have then stays valid.

use core::ffi::c_int;
use core::mem::{MaybeUninit, offset_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crossdock::bindings::memory_view::{self, CachedExport, Flags, View};
use magnus::rb_sys::{AsRawValue, protect};
use magnus::{RClass, Ruby};
use rb_sys::{VALUE, rb_memory_view_entry_t, rb_memory_view_register, rb_memory_view_t};

use crate::handle;

/// The static entry to which Ruby keeps a pointer.
static ENTRY: rb_memory_view_entry_t = rb_memory_view_entry_t {
    get_func: Some(get),
    release_func: Some(release),
    available_p_func: Some(available),
};

// Ruby's struct equals the library's, field by field, in every supported version: 3.1 and newer,
// with 64-bit pointers.
const _: () = {
    assert!(size_of::<rb_memory_view_t>() == size_of::<View>());
    assert!(offset_of!(rb_memory_view_t, obj) == offset_of!(View, obj));
    assert!(offset_of!(rb_memory_view_t, data) == offset_of!(View, data));
    assert!(offset_of!(rb_memory_view_t, byte_size) == offset_of!(View, byte_size));
    assert!(offset_of!(rb_memory_view_t, readonly) == offset_of!(View, readonly));
    assert!(offset_of!(rb_memory_view_t, format) == offset_of!(View, format));
    assert!(offset_of!(rb_memory_view_t, item_size) == offset_of!(View, item_size));
    assert!(offset_of!(rb_memory_view_t, item_desc) == offset_of!(View, item_desc));
    assert!(offset_of!(rb_memory_view_t, ndim) == offset_of!(View, ndim));
    assert!(offset_of!(rb_memory_view_t, shape) == offset_of!(View, shape));
    assert!(offset_of!(rb_memory_view_t, strides) == offset_of!(View, strides));
    assert!(offset_of!(rb_memory_view_t, sub_offsets) == offset_of!(View, sub_offsets));
    assert!(offset_of!(rb_memory_view_t, private_data) == offset_of!(View, private_data));
    assert!(offset_of!(rb_memory_view_t, _memory_view_entry) == offset_of!(View, reserved));
};

/// Fills in a view; Ruby's `rb_memory_view_get` leaves it uninitialised.
unsafe extern "C" fn get(obj: VALUE, view: *mut rb_memory_view_t, flags: c_int) -> bool {
    catch_unwind(AssertUnwindSafe(|| {
        let Some(export) = handle::find(obj).and_then(handle::Handle::export) else {
            memory_view::keep_refusal("the array was released".into());
            return false;
        };
        let is_frozen = handle::is_frozen(obj);
        if Flags::from_bits(flags).contains(Flags::WRITABLE) && is_frozen {
            memory_view::keep_refusal("the Crossdock::Array is frozen, and WRITABLE was asked for".into());
            return false;
        }
        // SAFETY: clause 1 of `lend`: Ruby passes the consumer's writable struct. Clause 2: an
        // object that is not frozen belongs to one Ractor, whose threads run one at a time.
        unsafe { lend(export, obj, view, flags, !is_frozen) }
    }))
    .unwrap_or(false)
}

/// Fills in a view of an export that belongs to an object.
///
/// # Safety
///
/// 1. `view` points to a writable struct, which need not be initialised.
/// 2. If `is_alone`, no other thread uses the export during the call.
pub(crate) unsafe fn lend(
    export: &CachedExport,
    obj: VALUE,
    view: *mut rb_memory_view_t,
    flags: c_int,
    is_alone: bool,
) -> bool {
    let flags = Flags::from_bits(flags);
    // SAFETY: clause 1 of `# Safety`: a writable struct, whose layout equals that of `View`
    // (asserted above).
    let view = unsafe { &mut *view.cast::<MaybeUninit<View>>() };
    let lent = if is_alone {
        // SAFETY: clause 2 of `# Safety`: no other thread uses the export.
        unsafe { export.lend_alone(view, flags) }
    } else {
        export.lend(view, flags)
    };
    let Ok(view) = lent else { return false };
    // Ruby pins this object, and uses the last field itself.
    view.obj = ptr::without_provenance_mut(obj as usize);
    view.private_data = view.reserved;
    true
}

/// Releases a view by its name alone, since the object may be gone.
pub(crate) unsafe extern "C" fn release(_: VALUE, view: *mut rb_memory_view_t) -> bool {
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: Ruby passes the consumer's struct, which `get` filled in, so the address of the
        // field is in bounds.
        let name = unsafe { &raw mut (*view).private_data };
        // SAFETY: the field belongs to the consumer's struct, which no other code uses during the
        // release.
        let name = unsafe { name.replace(ptr::null_mut()) };
        // SAFETY: views of an unfrozen array belong to its only Ractor, whose threads run one at a
        // time. Views of frozen arrays, which several Ractors may have, are released by atomic
        // operations. A sweep stops all Ractors.
        unsafe { memory_view::take_back(name) }
    }))
    .unwrap_or(false)
}

unsafe extern "C" fn available(obj: VALUE) -> bool {
    handle::find(obj).and_then(handle::Handle::export).is_some()
}

/// Registers the producer for `Crossdock::Array` and its subclasses.
pub(crate) fn init(_: &Ruby, class: RClass) -> Result<(), magnus::Error> {
    protect(|| {
        // SAFETY: `class` is a live class, and `ENTRY` is a static, which outlives the
        // registration.
        unsafe { rb_memory_view_register(class.as_raw(), &ENTRY) };
        class.as_raw()
    })?;
    Ok(())
}
