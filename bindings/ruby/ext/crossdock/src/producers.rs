//! Finds the MemoryView producer of an object, without the cases that crash Ruby's own search:
//! `BasicObject.new`, and functions that a producer omitted.

use core::ffi::CStr;

use magnus::rb_sys::protect;
use rb_sys::{
    ID, RTYPEDDATA_GET_DATA, RTYPEDDATA_P, RTYPEDDATA_TYPE, VALUE, rb_class_get_superclass, rb_intern,
    rb_ivar_get, rb_memory_view_available_p, rb_memory_view_entry_t, rb_obj_class,
};

use crate::error::Result;

/// What is known about the producer of an object's class.
#[derive(Clone, Copy)]
pub(crate) enum Producer {
    /// Neither the class nor its ancestors have one.
    None,
    /// `BasicObject` itself: Ruby's search ends one class above it.
    BasicObject,
    /// A registered producer, with these functions.
    Registered(rb_memory_view_entry_t),
    /// Ruby reports a producer, but this version of Ruby keeps the registration in an unknown
    /// place.
    Hidden,
}

/// The name under which Ruby keeps the registration in a class. Programs cannot use such a name.
const REGISTRATION: &CStr = c"__memory_view__";
/// Ruby's name for the type of that object.
const TYPE: &CStr = c"memory_view/entry";

/// The producer of an object.
pub(crate) fn find(object: VALUE) -> Result<Producer> {
    let mut found = Producer::None;
    protect(|| {
        found = search(object);
        object
    })?;
    Ok(found)
}

/// May raise, and has nothing to drop.
fn search(object: VALUE) -> Producer {
    let mut class = class_of(object);
    let basic = &raw const rb_sys::rb_cBasicObject;
    // SAFETY: Ruby initialises `rb_cBasicObject` at start and never changes it, so the static can
    // be read.
    let basic = unsafe { basic.read() };
    if class == basic {
        return Producer::BasicObject;
    }
    // SAFETY: `REGISTRATION` is a static C string, and `protect` in `find` catches exceptions.
    let name = unsafe { rb_intern(REGISTRATION.as_ptr()) };
    let root = &raw const rb_sys::rb_cObject;
    // SAFETY: Ruby initialises `rb_cObject` at start and never changes it, so the static can be
    // read.
    let root = unsafe { root.read() };
    // As in Ruby's search, `Object` counts only for its direct instances, and the search ends
    // there.
    loop {
        if let Some(entry) = registration(class, name) {
            return Producer::Registered(entry);
        }
        // SAFETY: `class` is a live class, and not `BasicObject`, at which the loop and the check
        // above end.
        class = unsafe { rb_class_get_superclass(class) };
        if class == root || class == basic || class == 0 {
            break;
        }
    }
    // SAFETY: the class of `object` is below `BasicObject`. The loop found no registration, whose
    // missing function Ruby would call.
    if unsafe { rb_memory_view_available_p(object) } { Producer::Hidden } else { Producer::None }
}

/// The class at which the search begins: the singleton class, if there is one.
fn class_of(object: VALUE) -> VALUE {
    if rb_sys::SPECIAL_CONST_P(object) {
        // SAFETY: a special constant (a number, a Symbol, nil, true or false) has a class, which
        // this call looks up.
        return unsafe { rb_obj_class(object) };
    }
    let basic = object as *const rb_sys::RBasic;
    // SAFETY: `object` is no special constant (checked above), and every object on the heap begins
    // with `RBasic`.
    unsafe { (*basic).klass }
}

/// The registration of a class itself, without its ancestors.
fn registration(class: VALUE, name: ID) -> Option<rb_memory_view_entry_t> {
    // SAFETY: `class` is a live class; a missing variable reads as nil.
    let kept = unsafe { rb_ivar_get(class, name) };
    if rb_sys::SPECIAL_CONST_P(kept) {
        return None;
    }
    // SAFETY: `kept` is no special constant (checked above), so it points to an object on the heap,
    // which its class keeps alive.
    if unsafe { rb_sys::RB_BUILTIN_TYPE(kept) } != rb_sys::ruby_value_type::RUBY_T_DATA {
        return None;
    }
    // SAFETY: the object has the type T_DATA (checked above), which this function requires.
    if !unsafe { RTYPEDDATA_P(kept) } {
        return None;
    }
    // SAFETY: the object is typed data (checked above), so it has a type.
    let kind = unsafe { RTYPEDDATA_TYPE(kept) };
    // SAFETY: `kind` is the type of a live object, which must outlive the object.
    let name = unsafe { (*kind).wrap_struct_name };
    // SAFETY: Ruby requires every data type to have a name, which is a C string that lives as long
    // as the type.
    if unsafe { CStr::from_ptr(name) } != TYPE {
        return None;
    }
    // SAFETY: the object is typed data, as the checks above confirmed.
    let entry = unsafe { RTYPEDDATA_GET_DATA(kept) };
    // SAFETY: the type's name is Ruby's own for registrations, whose data is null or the producer's
    // entry, which lives forever.
    unsafe { entry.cast::<rb_memory_view_entry_t>().as_ref() }.copied()
}
