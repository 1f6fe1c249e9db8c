//! Views, chosen by bytes. Whatever a producer does, the hub returns its view if and only if the
//! view is legal and fits the flags. The elements are those of the recipe, and the producer gets
//! every view back exactly once.
//!
//! The producer guarantees that the memory exists. The recipe knows whether it stays within its
//! block of data; if not, the target follows no pointer and does not access the elements.

use std::ptr;

use crossdock::bindings::memory_view::{self, Class, Entry, Flags, View};
use crate::onward;
use crossdock_testkit::dlpack::Choices;
use crossdock_testkit::hostile::{self, Hostile, Recipe, fill};

static CLASS: Class = Class { name: c"Chosen".as_ptr(), super_: ptr::null() };

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let flags = hostile::Flags(if first < 128 { first.into() } else { i32::from(first) << (first % 24) });
    let recipe = Recipe::choose(&mut Choices(rest));
    let object = Hostile::new(ptr::from_ref(&CLASS).cast(), &recipe);
    // SAFETY: the test kit declares the same C struct with the same fields.
    let entry = unsafe { std::mem::transmute::<hostile::Entry, Entry>(object.callbacks()) };
    // SAFETY: the callbacks break every rule except memory safety: they write only within the
    // struct, and keep their memory.
    unsafe { memory_view::register(&CLASS, &entry) }.expect("nothing is registered meanwhile");
    let legal = recipe.is_legal(flags, object.block());
    view_it(&object, &recipe, Flags::from_bits(flags.0), legal);
    let counted = object.counts().releases;
    if legal && !recipe.is_indirect() && recipe.declines == 0 {
        import_it(&object, &recipe, Flags::from_bits(flags.0));
    } else {
        assert_eq!(object.counts().releases, counted);
    }
    assert!(memory_view::unregister(&CLASS));
});

fn view_it(object: &Hostile, recipe: &Recipe, flags: Flags, legal: bool) {
    let mut view = View::EMPTY;
    // SAFETY: `object` is a live object, which begins with its class, and `view` is a writable
    // struct.
    let result = unsafe { memory_view::get(object.as_ptr(), &mut view, flags) };
    assert_eq!(result.is_ok(), legal, "{recipe:?}: {result:?}");
    let given = usize::from(object.counts().gets == 1 && recipe.answer != 0 && recipe.has_release);
    if !legal {
        assert_eq!(object.counts().releases, given);
        return;
    }
    object.misbehave_later();
    let rank = view.ndim as usize;
    // SAFETY: the view is held, and its shape has `ndim` lengths.
    let shape = unsafe { std::slice::from_raw_parts(view.shape, rank) };
    let is_empty = shape.contains(&0);
    for index in [vec![0; rank], shape.iter().map(|len| len - 1).collect()] {
        if !recipe.is_indirect() && !view.data.is_null() {
            // SAFETY: the view is held, `index` has `ndim` numbers, and there are no pointers to
            // follow.
            let item = unsafe { view.item_pointer(index.as_ptr()) };
            assert_eq!(item.is_err(), is_empty, "{recipe:?} at {index:?}: {item:?}");
        }
    }
    // SAFETY: `get` filled in the view, and no code uses it after this call.
    while !unsafe { memory_view::release(&mut view) } {
        assert!(object.counts().releases <= recipe.declines);
    }
    assert_eq!(object.counts().taken_back, given);
    // SAFETY: the view was released just before, and `release` accepts a released view.
    assert!(!unsafe { memory_view::release(&mut view) });
}

fn import_it(object: &Hostile, recipe: &Recipe, flags: Flags) {
    let before = object.counts().taken_back;
    // SAFETY: `object` is alive, and elements are accessed only if the recipe stays within its
    // block.
    let result = unsafe { memory_view::import(object.as_ptr(), flags) };
    if let Ok(array) = result {
        if let Some(places) = recipe.elements() {
            let size = array.dtype().itemsize();
            let expected: Vec<u8> = places.into_iter().flat_map(|at| (at..at + size).map(fill)).collect();
            onward(&array, &expected);
        }
        assert_eq!(object.counts().taken_back, before);
    }
    assert_eq!(object.counts().taken_back, before + usize::from(recipe.has_release));
}
