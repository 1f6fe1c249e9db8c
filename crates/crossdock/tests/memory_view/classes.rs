//! Classes: producers, inherited or not, and objects that stand in for others.

use std::ffi::{c_int, c_void};
use std::ptr;

use crossdock::bindings::memory_view::{
    self, ArrayObject, Class, Entry, Flags, View, array_class, last_refusal,
};
use crossdock::{Array, DArray};

use super::{get, release};

/// An object that only has its class.
fn object_of(class: &Class) -> *const Class {
    class
}

fn class(name: &'static std::ffi::CStr, super_: *const Class) -> Class {
    Class { name: name.as_ptr(), super_ }
}

fn register(class: &Class, entry: &Entry) -> crossdock::Result<()> {
    // SAFETY: the callbacks of this file accept objects of every class that is registered with
    // them, and the classes outlive the tests.
    unsafe { memory_view::register(class, entry) }
}

macro_rules! producer {
    ($name:ident, $len:literal) => {{
        unsafe extern "C" fn $name(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
            // SAFETY: the hub passes a writable struct, and an object of a class of this file,
            // which has at least `$len` bytes.
            unsafe { *view = View::of_bytes(obj, obj, $len, true).unwrap() };
            1
        }
        Entry { get: Some($name), release: None, available: None }
    }};
}

fn len_of(mut object: *const Class) -> Option<isize> {
    let mut view = View::EMPTY;
    get((&raw mut object).cast(), &mut view, Flags::SIMPLE).ok()?;
    let len = view.byte_size;
    assert!(release(&mut view));
    Some(len)
}

#[test]
fn the_nearest_class_that_has_a_producer_has_the_say() {
    let grandparent = class(c"Grandparent", ptr::null());
    let parent = class(c"Parent", &grandparent);
    let child = class(c"Child", &parent);
    assert_eq!(len_of(object_of(&child)), None);
    register(&grandparent, &producer!(one, 1)).unwrap();
    assert_eq!([&grandparent, &parent, &child].map(|class| len_of(class)), [Some(1); 3]);
    register(&parent, &producer!(two, 2)).unwrap();
    assert_eq!([&grandparent, &parent, &child].map(|class| len_of(class)), [Some(1), Some(2), Some(2)]);
    assert!(memory_view::unregister(&parent));
    assert_eq!(len_of(&child), Some(1));
    assert!(memory_view::unregister(&grandparent));
    assert_eq!(len_of(&child), None);
    assert!(last_refusal().unwrap().contains("no producer is registered for the class Child"));
}

#[test]
fn registering_twice_leaves_the_first() {
    let class = class(c"Twice", ptr::null());
    register(&class, &producer!(first, 1)).unwrap();
    let error = register(&class, &producer!(second, 2)).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("Twice already has a producer"), "{error}");
    assert_eq!(last_refusal(), Some(error.to_string()));
    assert_eq!(len_of(&class), Some(1));
    assert!(memory_view::unregister(&class) && !memory_view::unregister(&class));
    register(&class, &producer!(third, 2)).unwrap();
    assert_eq!(len_of(&class), Some(2));
    assert!(memory_view::unregister(&class));
}

#[test]
fn a_class_that_inherits_from_itself_is_refused() {
    let mut first = class(c"Ouroboros", ptr::null());
    let second = class(c"Second", &first);
    first.super_ = &second;
    assert_eq!(len_of(object_of(&first)), None);
    let reason = last_refusal().unwrap();
    assert!(reason.contains("Ouroboros inherits from itself") && reason.contains("64"), "{reason}");
    let mut object: *const Class = &first;
    // SAFETY: `object` points to a live object, which begins with its class.
    assert!(!unsafe { memory_view::available((&raw mut object).cast()) });
}

#[test]
fn a_chain_is_followed_64_classes_deep() {
    let root = class(c"Root", ptr::null());
    register(&root, &producer!(root_get, 3)).unwrap();
    let mut chain: Vec<Box<Class>> = Vec::new();
    for _ in 0..64 {
        let super_: *const Class = chain.last().map_or(&raw const root, |class| &raw const **class);
        chain.push(Box::new(class(c"Link", super_)));
    }
    assert_eq!((len_of(&*chain[62]), len_of(&*chain[63])), (Some(3), None));
    assert!(memory_view::unregister(&root));
}

#[test]
fn what_is_no_class_is_refused() {
    let entry = producer!(any, 1);
    // SAFETY: a null class is refused before it is read.
    let error = unsafe { memory_view::register(ptr::null(), &entry) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("null"), "{error}");
    assert!(!memory_view::unregister(ptr::null()));
    assert!(register(array_class(), &entry).unwrap_err().is_conflict());
    let nameless = Class { name: ptr::null(), super_: ptr::null() };
    assert_eq!(len_of(&nameless), None);
    assert!(last_refusal().unwrap().contains("a class without a name"));
}

#[test]
fn nothing_inherits_from_arrays() {
    // Only the first word of an object of this class is known.
    let derived = class(c"Derived", array_class());
    assert_eq!(len_of(&derived), None);
    assert!(last_refusal().unwrap().contains("no producer"));
}

// ===== an object that lends another one's data

#[repr(C)]
struct Window {
    class: *const Class,
    target: *mut c_void,
}

/// Lends all but the first row of the inner object's data, with a view of it from here to the
/// release.
unsafe extern "C" fn get_window(obj: *mut c_void, view: *mut View, flags: c_int) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Window`s.
    let window = unsafe { &*obj.cast::<Window>() };
    let mut inner = Box::new(View::EMPTY);
    if get(window.target, &mut inner, Flags::from_bits(flags)).is_err() {
        return 0;
    }
    let held = Box::leak(inner);
    // SAFETY: the hub passes a writable struct, which no other code accesses during the call.
    let view = unsafe { &mut *view };
    *view = View::of_bytes(obj, held.data, held.byte_size - 1, held.is_readonly()).unwrap();
    view.data = held.data.cast::<u8>().wrapping_add(1).cast();
    view.private_data = ptr::from_mut(held).cast();
    1
}

unsafe extern "C" fn release_window(_: *mut c_void, view: *mut View) -> u8 {
    // SAFETY: the hub passes the struct that `get_window` filled in, which is readable.
    let held = unsafe { (*view).private_data }.cast::<View>();
    // SAFETY: `get_window` leaked this box, and the hub releases a view once.
    let mut held = unsafe { Box::from_raw(held) };
    u8::from(release(&mut held))
}

#[test]
fn an_object_that_lends_another_ones_data_keeps_it_by_a_view_of_its_own() {
    let class = class(c"Window", ptr::null());
    let entry = Entry { get: Some(get_window), release: Some(release_window), available: None };
    register(&class, &entry).unwrap();
    let array = Array::from_vec(b"abcdef".to_vec(), [6]).unwrap();
    let object = ArrayObject::new(DArray::from(array.clone()));
    let mut outer = Window { class: &class, target: object.as_ptr() };
    let outer: *mut c_void = (&raw mut outer).cast();
    let mut outermost = Window { class: &class, target: outer };
    let outermost: *mut c_void = (&raw mut outermost).cast();

    let mut view = View::EMPTY;
    get(outermost, &mut view, Flags::WRITABLE).unwrap();
    assert_eq!([object.as_ptr(), outer, outermost].map(memory_view::exports), [1; 3]);
    assert_eq!((view.obj, view.byte_size), (outermost, 4));
    // SAFETY: the held view describes four bytes, as asserted just before, and keeps them.
    assert_eq!(unsafe { std::slice::from_raw_parts(view.data.cast::<u8>(), 4) }, b"cdef");
    assert!(array.read().unwrap_err().is_conflict());
    assert!(release(&mut view));
    assert_eq!([object.as_ptr(), outer, outermost].map(memory_view::exports), [0; 3]);
    assert!(array.write().is_ok());

    // A refusal of the innermost producer reaches the consumer.
    let reading = array.read().unwrap();
    assert!(get(outermost, &mut view, Flags::WRITABLE).is_err());
    assert!(last_refusal().unwrap().contains("Window"));
    assert_eq!([object.as_ptr(), outer, outermost].map(memory_view::exports), [0; 3]);
    drop(reading);
    assert!(memory_view::unregister(&class));
}

/// An object whose views are those of another object.
#[repr(C)]
struct Passing {
    class: *const Class,
    of: *mut c_void,
    /// Whether the producer's `available` checks the inner object.
    asks_early: bool,
}

fn pass_on(window: *mut c_void, view: *mut View, flags: c_int) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Passing` windows.
    let of = unsafe { (*window.cast::<Passing>()).of };
    // SAFETY: `of` points to a live object, and the hub passes a writable struct.
    u8::from(unsafe { memory_view::get(of, view, Flags::from_bits(flags)) }.is_ok())
}

unsafe extern "C" fn get_through(window: *mut c_void, view: *mut View, flags: c_int) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Passing` windows.
    if unsafe { (*window.cast::<Passing>()).of }.is_null() { 0 } else { pass_on(window, view, flags) }
}

unsafe extern "C" fn look_through(window: *mut c_void) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Passing` windows.
    if !unsafe { (*window.cast::<Passing>()).asks_early } {
        return 1;
    }
    let mut view = View::EMPTY;
    pass_on(window, &mut view, Flags::WRITABLE.bits())
}

#[test]
fn what_a_producer_was_refused_itself_is_a_part_of_the_reason() {
    let (outer, inner) = (class(c"Outer", ptr::null()), class(c"Inner", ptr::null()));
    let entry = Entry { get: Some(get_through), release: None, available: Some(look_through) };
    register(&outer, &entry).unwrap();
    register(&inner, &producer!(constant, 8)).unwrap();
    let mut bytes = object_of(&inner);
    let mut window = Passing { class: &outer, of: (&raw mut bytes).cast(), asks_early: false };
    let refused = |window: &mut Passing| {
        get(ptr::from_mut(window).cast(), &mut View::EMPTY.clone(), Flags::WRITABLE).unwrap_err()
    };

    let read_only = "the class Inner: WRITABLE requests writable elements";
    let error = refused(&mut window);
    let text = error.to_string();
    assert!(
        error.is_refused() && text.starts_with("the class Outer: the producer refused a view for WRITABLE"),
        "{text}"
    );
    assert!(text.contains(read_only) && last_refusal() == Some(text.clone()), "{text}");

    // A window on a window passes the reason on.
    let mut second = Passing { class: &outer, of: ptr::from_mut(&mut window).cast(), asks_early: false };
    let text = refused(&mut second).to_string();
    assert!(text.matches("the class Outer").count() == 2 && text.contains(read_only), "{text}");

    window.asks_early = true;
    let text = refused(&mut window).to_string();
    assert!(text.contains("exports no views at present") && text.contains(read_only), "{text}");

    // Refusals from before, or on other threads, are not the reason.
    window.asks_early = false;
    window.of = ptr::null_mut();
    std::thread::spawn(|| get(ptr::null_mut(), &mut View::EMPTY.clone(), Flags::SIMPLE).unwrap_err())
        .join()
        .unwrap();
    let text = refused(&mut window).to_string();
    assert!(text.ends_with("refused a view for WRITABLE, without a reason"), "{text}");
    assert!(memory_view::unregister(&outer) && memory_view::unregister(&inner));
}
