//! The hostile producer registered with the shared library: its faults are refused with their
//! reasons, or have no effect.

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

/// The hub, called through its C functions.
fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(Functions::load)
}

impl Hub for &'static Functions {
    fn register(self, class: &Class, entry: &Entry) -> bool {
        // SAFETY: both references are valid structs of the C types, and the testkit's callbacks
        // break rules of the protocol but never of memory.
        unsafe { (self.xd_memory_view_register)(class, entry) }
    }

    fn unregister(self, class: &Class) -> bool {
        // SAFETY: the function compares the address of the class, which is valid, with those it
        // knows.
        unsafe { (self.xd_memory_view_unregister)(class) }
    }

    fn available(self, object: &Hostile) -> bool {
        // SAFETY: the pointer is to a live object of the testkit, whose class and producer may be
        // called.
        unsafe { (self.xd_memory_view_available_p)(object.as_ptr()) }
    }

    fn get(self, object: &Hostile, view: &mut Struct, flags: Flags) -> bool {
        // SAFETY: the pointer is to a live object of the testkit, and the exclusive reference makes
        // the struct writable.
        unsafe { (self.xd_memory_view_get)(object.as_ptr(), view.as_mut_ptr(), flags.0) }
    }

    fn release(self, view: &mut Struct) -> bool {
        // SAFETY: the exclusive reference makes the struct writable, and the tests use a view no
        // longer once they release it.
        unsafe { (self.xd_memory_view_release)(view.as_mut_ptr()) }
    }

    fn exports(self, object: usize) -> usize {
        // SAFETY: the function only compares the address with those of the views that it holds.
        unsafe { (self.xd_memory_view_exports)(ptr::without_provenance_mut(object)) }
    }

    fn last_refusal(self) -> String {
        // SAFETY: the function has no parameters and returns a C string in every case.
        let text = unsafe { (self.xd_last_refusal)() };
        // SAFETY: the library returned a C string that is valid until the next refusal on this
        // thread, and it is copied here.
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
