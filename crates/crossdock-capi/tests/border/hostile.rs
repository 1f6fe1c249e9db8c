//! The hostile producer in front of the functions of the shared library: what it does is refused with its reason, or has no effect.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crossdock_testkit::hostile::drive::{self, Hub, Struct};
use crossdock_testkit::hostile::{Class, Entry, Flags, Hostile, View};

use crate::loaded::library;

library! {
    Functions:
    xd_memory_view_register: fn(*const Class, *const Entry) -> bool;
    xd_memory_view_unregister: fn(*const Class) -> bool;
    xd_memory_view_available_p: fn(*mut c_void) -> bool;
    xd_memory_view_get: fn(*mut c_void, *mut View, c_int) -> bool;
    xd_memory_view_release: fn(*mut View) -> bool;
    xd_memory_view_exports: fn(*mut c_void) -> usize;
    xd_last_refusal: fn() -> *const c_char;
}

/// The hub by its functions in C.
fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(Functions::load)
}

impl Hub for &'static Functions {
    fn register(self, class: &Class, entry: &Entry) -> bool {
        // SAFETY: a class and its callbacks, which do anything but what breaks memory.
        unsafe { (self.xd_memory_view_register)(class, entry) }
    }

    fn unregister(self, class: &Class) -> bool {
        // SAFETY: a class.
        unsafe { (self.xd_memory_view_unregister)(class) }
    }

    fn available(self, object: &Hostile) -> bool {
        // SAFETY: an object.
        unsafe { (self.xd_memory_view_available_p)(object.as_ptr()) }
    }

    fn get(self, object: &Hostile, view: &mut Struct, flags: Flags) -> bool {
        // SAFETY: an object, and a struct that may be written.
        unsafe { (self.xd_memory_view_get)(object.as_ptr(), view.as_mut_ptr(), flags.0) }
    }

    fn release(self, view: &mut Struct) -> bool {
        // SAFETY: a struct, whose view nobody uses any more.
        unsafe { (self.xd_memory_view_release)(view.as_mut_ptr()) }
    }

    fn exports(self, object: usize) -> usize {
        // SAFETY: an address that is compared.
        unsafe { (self.xd_memory_view_exports)(ptr::without_provenance_mut(object)) }
    }

    fn last_refusal(self) -> String {
        // SAFETY: nothing is given.
        let text = unsafe { (self.xd_last_refusal)() };
        // SAFETY: a C string until this thread is refused something else.
        unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned()
    }
}

#[test]
fn every_switch_alone_is_refused_with_its_reason_or_has_no_effect() {
    drive::every_switch_alone(functions());
}

#[test]
fn every_pair_of_switches_is_refused_or_sound() {
    drive::every_pair_of_switches(functions());
}

#[test]
fn a_refusal_says_both_numbers() {
    drive::reasons(functions());
}

#[test]
fn flags_that_ask_for_nothing_that_is_known_do_not_reach_the_producer() {
    drive::unknown_flags(functions());
}

#[test]
fn a_release_within_the_release_does_nothing() {
    drive::release_within_the_release(functions());
}
