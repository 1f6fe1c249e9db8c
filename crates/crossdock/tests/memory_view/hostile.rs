//! Producers that lie, fail half-way, and misbehave later: each is refused with its reason, or its
//! action has no effect.

use std::ptr;

use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, View, last_refusal};
use crossdock_testkit::hostile::drive::{self, Hub, Struct};
use crossdock_testkit::hostile::{self, Format, Hostile, Recipe};

use super::{bytes, get, release};

/// The hub's Rust functions.
#[derive(Clone, Copy)]
struct Rust;

impl Hub for Rust {
    fn register(self, class: &hostile::Class, entry: &hostile::Entry) -> bool {
        // SAFETY: the test kit declares the same C struct with the same fields.
        let entry = unsafe { std::mem::transmute::<hostile::Entry, Entry>(*entry) };
        let class: *const Class = ptr::from_ref(class).cast();
        // SAFETY: the callbacks break every rule except memory safety: they write only within the
        // struct, and keep their memory.
        unsafe { memory_view::register(class, &entry) }.is_ok()
    }

    fn unregister(self, class: &hostile::Class) -> bool {
        memory_view::unregister(ptr::from_ref(class).cast())
    }

    fn available(self, object: &Hostile) -> bool {
        // SAFETY: `object` is a live object, which begins with its class.
        unsafe { memory_view::available(object.as_ptr()) }
    }

    fn get(self, object: &Hostile, view: &mut Struct, flags: hostile::Flags) -> bool {
        // SAFETY: `object` is a live object, and `view` is a writable struct of the same layout.
        let result =
            unsafe { memory_view::get(object.as_ptr(), view.as_mut_ptr().cast(), Flags::from_bits(flags.0)) };
        if let Err(error) = &result {
            assert_eq!(last_refusal(), Some(error.to_string()));
        }
        result.is_ok()
    }

    fn release(self, view: &mut Struct) -> bool {
        // SAFETY: the view was filled in by `get`, or never, and is not used after this call.
        unsafe { memory_view::release(view.as_mut_ptr().cast()) }
    }

    fn exports(self, object: usize) -> usize {
        memory_view::exports(ptr::without_provenance_mut(object))
    }

    fn last_refusal(self) -> String {
        last_refusal().unwrap_or_default()
    }
}

#[test]
fn every_switch_alone_is_refused_with_its_reason_or_has_no_effect() {
    drive::every_switch_alone(Rust);
}

#[test]
fn every_pair_of_switches_is_refused_or_sound() {
    drive::every_pair_of_switches(Rust);
}

#[test]
fn a_refusal_says_both_numbers() {
    drive::reasons(Rust);
}

#[test]
fn flags_that_ask_for_nothing_that_is_known_do_not_reach_the_producer() {
    drive::unknown_flags(Rust);
}

#[test]
fn a_release_within_the_release_does_nothing() {
    drive::release_within_the_release(Rust);
}

#[test]
fn structs_that_were_never_given_are_not_released() {
    let array = crossdock::Array::from_vec(vec![1u8], [1]).unwrap();
    let object = ArrayObject::new(array.clone().into());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap();
    // Of a generation that no view has, of the last one, and of a future one. (Those in between may
    // be views of other tests.)
    let generation = 1 << 24;
    let next = view.reserved.addr() + generation;
    for name in [0, 1, 31, 32, generation - 1, usize::MAX, usize::MAX - 1, next] {
        let mut forged = View { reserved: ptr::without_provenance_mut(name), ..view };
        let before = bytes(&forged);
        assert!(!release(&mut forged), "{name:#x}");
        assert_eq!(bytes(&forged), before);
    }
    assert!(array.write().is_err() && release(&mut view) && array.write().is_ok());
}

#[test]
fn a_format_of_no_bytes_has_items_of_no_bytes() {
    let recipe = Recipe { format: Format::Text(vec![], Some(0)), item_size: 0, ..Recipe::with(&[]) };
    assert!(drive::check(Rust, &recipe, hostile::Flags(0), "no bytes").is_none());
}
