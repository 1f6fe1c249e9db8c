//! Which producer an object has, found out without what crashes Ruby's own search: that of `BasicObject.new`, and functions that a producer
//! left out.

use core::ffi::CStr;

use magnus::rb_sys::protect;
use rb_sys::{
    ID, RTYPEDDATA_GET_DATA, RTYPEDDATA_P, RTYPEDDATA_TYPE, VALUE, rb_class_get_superclass, rb_intern,
    rb_ivar_get, rb_memory_view_available_p, rb_memory_view_entry_t, rb_obj_class,
};

use crate::error::Result;

/// What is known of the producer of an object's class.
#[derive(Clone, Copy)]
pub(crate) enum Producer {
    /// The class, and all that it inherits from, have none.
    None,
    /// `BasicObject` itself: Ruby's search ends only one class above it.
    BasicObject,
    /// Registered, with these functions.
    Registered(rb_memory_view_entry_t),
    /// Where the registration is kept is not known of this Ruby, which says that there is one.
    Hidden,
}

/// The name under which Ruby keeps the registration in a class: no name that a program could write.
const REGISTRATION: &CStr = c"__memory_view__";
/// What Ruby calls the type of the object that it keeps there.
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
    // SAFETY: Ruby's own.
    let basic = unsafe { basic.read() };
    if class == basic {
        return Producer::BasicObject;
    }
    // SAFETY: a constant.
    let name = unsafe { rb_intern(REGISTRATION.as_ptr()) };
    let root = &raw const rb_sys::rb_cObject;
    // SAFETY: as above.
    let root = unsafe { root.read() };
    // As Ruby does: what stands in `Object` is for its own instances, and nothing is looked for above.
    loop {
        if let Some(entry) = registration(class, name) {
            return Producer::Registered(entry);
        }
        // SAFETY: a class below `BasicObject`.
        class = unsafe { rb_class_get_superclass(class) };
        if class == root || class == basic || class == 0 {
            break;
        }
    }
    // SAFETY: its class is below `BasicObject`. A function that it lacks would have been found above.
    if unsafe { rb_memory_view_available_p(object) } { Producer::Hidden } else { Producer::None }
}

/// The class at which the search begins: the object's own, if it has one.
fn class_of(object: VALUE) -> VALUE {
    if rb_sys::SPECIAL_CONST_P(object) {
        // SAFETY: a number, a Symbol, nil, true or false.
        return unsafe { rb_obj_class(object) };
    }
    let basic = object as *const rb_sys::RBasic;
    // SAFETY: an object on the heap begins so.
    unsafe { (*basic).klass }
}

/// What is registered for a class itself.
fn registration(class: VALUE, name: ID) -> Option<rb_memory_view_entry_t> {
    // SAFETY: a class; one that has none says nil.
    let kept = unsafe { rb_ivar_get(class, name) };
    if rb_sys::SPECIAL_CONST_P(kept) {
        return None;
    }
    // SAFETY: an object on the heap.
    if unsafe { rb_sys::RB_BUILTIN_TYPE(kept) } != rb_sys::ruby_value_type::RUBY_T_DATA {
        return None;
    }
    // SAFETY: of this type.
    if !unsafe { RTYPEDDATA_P(kept) } {
        return None;
    }
    // SAFETY: with a type, which stays.
    let kind = unsafe { RTYPEDDATA_TYPE(kept) };
    // SAFETY: as above.
    let name = unsafe { (*kind).wrap_struct_name };
    // SAFETY: types have names.
    if unsafe { CStr::from_ptr(name) } != TYPE {
        return None;
    }
    // SAFETY: as above.
    let entry = unsafe { RTYPEDDATA_GET_DATA(kept) };
    // SAFETY: an entry, which its producer keeps for ever.
    unsafe { entry.cast::<rb_memory_view_entry_t>().as_ref() }.copied()
}
