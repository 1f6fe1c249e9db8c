//! The known bugs of the original: what crashes or is wrong there has a sound result here. The
//! numbers are positions in the list of [`BUGS`].

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;

use crossdock::bindings::dialect::pack::{self, Component, Member};
use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, ItemDesc, View};
use crossdock::{Array, DArray};
use crossdock_testkit::bugs::BUGS;

use super::{get, release};

fn of_bytes(bytes: &[u8]) -> View {
    let data = bytes.as_ptr().cast_mut().cast();
    View::of_bytes(ptr::null_mut(), data, bytes.len() as isize, true).unwrap()
}

fn item(view: &View, index: &[isize]) -> crossdock::Result<*mut u8> {
    // SAFETY: the views of this file describe live memory, and callers pass one index for each
    // axis.
    unsafe { view.item_pointer(index.as_ptr()) }
}

#[test]
fn every_bug_has_a_test() {
    let tests = include_str!("bugs.rs").split("#[test]\nfn bug_").skip(1);
    let numbers: Vec<usize> = tests.map(|test| test.split('_').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (1..=BUGS.len()).collect::<Vec<_>>());
}

#[test]
fn bug_1_null_strides_are_not_followed_by_contiguity() {
    let view = of_bytes(b"abc");
    // SAFETY: the shapes and strides of these views are null or have `ndim` numbers.
    let answers = |view: &View| unsafe { view.is_row_major_contiguous() };
    assert!(answers(&view) && answers(&View { ndim: 2, ..view }));
    let shape = [2, 3];
    let two = View { ndim: 2, shape: shape.as_ptr(), ..view };
    assert!(answers(&two));
    // SAFETY: `shape` has two lengths, which is `ndim`, and the strides are null.
    assert!(!unsafe { two.is_column_major_contiguous() });
}

#[test]
fn bug_2_white_space_is_counted_as_it_is_read() {
    let mut view = View { format: c" f x2\td ".as_ptr(), item_size: 14, ..of_bytes(&[0; 14]) };
    // SAFETY: the view describes live memory, its format is a C string, and only this test accesses
    // it.
    unsafe { View::prepare_item_desc(&mut view) }.unwrap();
    assert_eq!(view.item_desc.length, 2);
    // SAFETY: `length` is 2, as asserted just before, and the components live until they are freed.
    let components = unsafe { std::slice::from_raw_parts(view.item_desc.components, 2) };
    let placed: Vec<_> = components.iter().map(|part| (part.format, part.offset, part.size)).collect();
    assert_eq!(placed, [(b'f', 0, 4), (b'd', 6, 8)]);
    let desc = std::mem::replace(&mut view.item_desc, ItemDesc { components: ptr::null(), length: 0 });
    // SAFETY: `prepare_item_desc` made the description, which was moved out of the view and is
    // freed once.
    unsafe { desc.free() };
}

#[test]
fn bug_3_an_object_without_a_class_is_refused() {
    let mut object: *const Class = ptr::null();
    let obj: *mut c_void = (&raw mut object).cast();
    let mut view = View::EMPTY;
    let error = get(obj, &mut view, Flags::SIMPLE).unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("class"), "{error}");
    assert!(
        get(ptr::null_mut(), &mut view, Flags::SIMPLE).unwrap_err().to_string().contains("object is null")
    );
    // SAFETY: `obj` points to a live object, whose class pointer is null.
    assert!(!unsafe { memory_view::available(obj) });
    // SAFETY: the function accepts a null object, for which it returns before it reads a class.
    assert!(!unsafe { memory_view::available(ptr::null_mut()) });
}

#[test]
fn bug_4_an_axis_of_length_0_is_not_divided_by() {
    let shape = [2, 0, 3];
    let view = View { ndim: 3, shape: shape.as_ptr(), ..of_bytes(b"") };
    let view = View { data: ptr::dangling_mut::<u8>().cast(), ..view };
    let error = item(&view, &[0, 0, 0]).unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("axis 1 of length 0"), "{error}");
}

#[test]
fn bug_5_suboffsets_are_followed_with_one_axis() {
    let words = *b"abcdefgh";
    let table = [words.as_ptr(), words.as_ptr().wrapping_add(4)];
    let (shape, strides, sub_offsets) = ([2], [8], [3]);
    let view = View {
        data: table.as_ptr().cast_mut().cast(),
        shape: shape.as_ptr(),
        strides: strides.as_ptr(),
        sub_offsets: sub_offsets.as_ptr(),
        ..of_bytes(&words)
    };
    for (index, letter) in [(0, b'd'), (1, b'h')] {
        let item = item(&view, &[index]).unwrap();
        // SAFETY: `item` is the address of a letter of a static string, which the view describes.
        assert_eq!(unsafe { *item }, letter);
    }
    let null: [*const u8; 2] = [ptr::null(); 2];
    let error = item(&View { data: null.as_ptr().cast_mut().cast(), ..view }, &[1]).unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("null"), "{error}");
}

#[test]
fn bug_6_a_format_that_overflows_is_an_error_with_its_place() {
    for (format, place) in [
        (c"c9223372036854775808", 0),
        (c"cc18446744073709551616", 1),
        (c"cq2305843009213693952", 1),
        (c"|c9223372036854775807q", 21),
    ] {
        assert_eq!(pack::item_size(format.to_bytes()).unwrap_err().offset(), place);
        let mut view = View { format: format.as_ptr(), ..of_bytes(b"abc") };
        // SAFETY: the view describes live memory, its format is a C string, and only this test
        // accesses it.
        let error = unsafe { View::prepare_item_desc(&mut view) }.unwrap_err();
        assert!(error.is_overflow() && error.to_string().contains(&format!("byte {place}")), "{error}");
        assert!(view.item_desc.components.is_null());
    }
}

#[test]
fn bug_7_a_second_release_does_nothing_and_nothing_dangles_after_the_first() {
    let object = ArrayObject::new(Array::from_vec(vec![1.5f64, 2.5], [2]).unwrap().into());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::FORMAT).unwrap();
    // SAFETY: the view is held and only this thread accesses it.
    unsafe { View::prepare_item_desc(&mut view) }.unwrap();
    let mut copy = view;
    assert!(release(&mut view));
    assert!(view.item_desc.components.is_null() && view.shape.is_null() && view.obj.is_null());
    assert!(!release(&mut view) && !release(&mut copy));
    assert_eq!(memory_view::exports(object.as_ptr()), 0);
}

#[test]
fn bug_8_a_struct_that_was_not_initialised_is_no_danger() {
    /// Writes only the required fields.
    unsafe extern "C" fn sparing(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
        // SAFETY: the hub passes a writable struct, which no other code accesses during the call.
        let view = unsafe { &mut *view };
        (view.data, view.byte_size, view.item_size) = (obj, 8, 1);
        view.ndim = 1;
        1
    }
    let class = Class { name: c"Sparing".as_ptr(), super_: ptr::null() };
    let entry = Entry { get: Some(sparing), release: None, available: None };
    // SAFETY: the class outlives the registration, and the callbacks accept its objects.
    unsafe { memory_view::register(&class, &entry) }.unwrap();
    let mut object: *const Class = &class;
    let garbage = ptr::without_provenance(0x5a5a_5a5a_5a5a_5a5a);
    let mut view = View {
        item_desc: ItemDesc { components: garbage, length: 1 << 60 },
        shape: garbage.cast(),
        sub_offsets: garbage.cast(),
        reserved: garbage.cast::<c_void>().cast_mut(),
        ..View::EMPTY
    };
    get((&raw mut object).cast(), &mut view, Flags::SIMPLE).unwrap();
    assert!(view.sub_offsets.is_null() && view.item_desc.length == 1);
    assert!(release(&mut view));
    assert!(memory_view::unregister(&class));
}

#[test]
fn bug_9_null_callbacks_are_refused_or_mean_nothing_to_do() {
    unsafe extern "C" fn never(_: *mut c_void, _: *mut View) -> u8 {
        0
    }
    let class = Class { name: c"Nothing".as_ptr(), super_: ptr::null() };
    let entry = Entry { get: None, release: Some(never), available: None };
    // SAFETY: an entry without `get` is refused before it is stored.
    let error = unsafe { memory_view::register(&class, &entry) }.unwrap_err();
    assert!(error.is_malformed() && error.to_string().contains("Nothing has no `get`"), "{error}");
    assert!(!memory_view::unregister(&class));
    // The hostile producer omits everything optional.
}

#[test]
fn bug_10_indices_out_of_bounds_are_refused_also_in_views_made_by_hand() {
    let view = of_bytes(b"abc");
    assert_eq!(item(&view, &[2]).unwrap(), view.data.cast::<u8>().wrapping_add(2));
    for index in [-1, 3, 1 << 40, isize::MIN, isize::MAX] {
        let error = item(&view, &[index]).unwrap_err();
        assert!(error.is_bounds() && error.to_string().contains("axis 0 of length 3"), "{error}");
    }
}

#[test]
fn bug_11_what_is_viewed_is_neither_moved_nor_freed() {
    let array = Array::from_vec(vec![7u8; 100], [100]).unwrap();
    let object = ArrayObject::new(array.clone().into());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
    drop(object);
    // The producer wants exclusive access, and the error names the holders.
    let error = array.write().unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("MemoryView"), "{error}");
    drop(array);
    let last = item(&view, &[99]).unwrap();
    // SAFETY: the held view keeps its memory, and `item` checked the index.
    assert_eq!(unsafe { *last }, 7);
    assert!(release(&mut view));
}

#[test]
fn bug_12_a_product_that_wraps_is_not_contiguous_and_axes_of_length_1_do_not_matter() {
    let (shape, strides) = ([2, 1 << 61, 8], [0, 64, 8]);
    let view =
        View { ndim: 3, item_size: 8, shape: shape.as_ptr(), strides: strides.as_ptr(), ..of_bytes(b"") };
    // SAFETY: `shape` and `strides` have three numbers each, which is `ndim`.
    assert!(!unsafe { view.is_row_major_contiguous() });
    // SAFETY: `shape` and `strides` have three numbers each, which is `ndim`.
    assert!(!unsafe { view.is_row_major_contiguous_strictly() });
    let (shape, strides) = ([1, 3], [999, 8]);
    let view = View { ndim: 2, shape: shape.as_ptr(), strides: strides.as_ptr(), ..view };
    // SAFETY: `shape` and `strides` have two numbers each, which is `ndim`.
    assert!(unsafe { view.is_row_major_contiguous() });
    // SAFETY: `shape` and `strides` have two numbers each, which is `ndim`.
    assert!(!unsafe { view.is_row_major_contiguous_strictly() });
}

#[test]
fn bug_13_a_view_is_released_after_its_object_is_gone() {
    let array = Array::from_vec(vec![1u8, 2], [2]).unwrap();
    let object = Box::new(ArrayObject::new(array.clone().into()));
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap();
    drop(object);
    assert!(release(&mut view) && array.write().is_ok());
}

#[test]
fn bug_14_small_c_is_signed_everywhere() {
    let template = pack::parse(b"c").unwrap();
    let mut read = Vec::new();
    pack::read_members(&[0xff], template.components(), |member| read.push(member)).unwrap();
    assert_eq!(read, [Member::Int(-1)]);
    let array = DArray::from(Array::from_vec(vec![-1i8], [1]).unwrap());
    let mut view = View::EMPTY;
    get(ArrayObject::new(array).as_ptr(), &mut view, Flags::FORMAT).unwrap();
    assert_eq!(super::format(&view), "c");
    assert!(release(&mut view));
}

#[test]
fn bug_15_components_have_bytes_for_their_flags() {
    assert_eq!((size_of::<Component>(), offset_of!(Component, format)), (32, 0));
    assert_eq!((offset_of!(Component, native_size), offset_of!(Component, little_endian)), (1, 2));
    assert_eq!((offset_of!(Component, offset), offset_of!(Component, repeat)), (8, 24));
}
