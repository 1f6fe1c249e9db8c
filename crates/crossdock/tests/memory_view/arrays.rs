//! Views of the library's arrays, and of C objects whose producers keep to the rules.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::bindings::memory_view::{
    self as memory_view, ArrayObject, Class, Entry, Flags, View, last_refusal,
};
use crossdock::element::DType;
use crossdock::{Array, DArray, s};

use super::{bytes, format, get, numbers, release};

fn ramp(shape: &[usize]) -> DArray {
    let len = shape.iter().product::<usize>() as i32;
    let flat = DArray::from(Array::from_vec((0..len).collect::<Vec<i32>>(), [len as usize]).unwrap());
    flat.reshape(shape).unwrap()
}

#[test]
fn a_view_of_an_array_says_what_the_array_is() {
    let array = ramp(&[2, 3]).slice(s![.., ..;-1]).unwrap();
    let object = ArrayObject::new(array.clone());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
    assert_eq!((view.obj, view.data.cast_const().cast()), (object.as_ptr(), array.as_ptr()));
    assert_eq!((view.byte_size, view.item_size, view.ndim, view.readonly), (24, 4, 2, 1));
    assert_eq!(format(&view), "l");
    assert_eq!((numbers(view.shape, &view), numbers(view.strides, &view)), (&[2, 3][..], &[12, -4][..]));
    assert!(view.sub_offsets.is_null() && view.private_data.is_null() && !view.reserved.is_null());
    assert_eq!(view.item_desc.length, 1);
    assert_eq!(memory_view::exports(object.as_ptr()), 1);
    drop(object);
    assert!(release(&mut view));
    assert_eq!(bytes(&view), [0; 112]);
}

#[test]
fn a_view_holds_the_lease_that_its_flags_need() {
    let array = Array::from_vec(vec![1, 2, 3, 4], [4]).unwrap();
    let object = ArrayObject::new(array.clone().into());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
    assert!(array.read().is_ok() && array.write().is_err());
    assert!(release(&mut view));
    get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap();
    assert!(array.read().unwrap_err().is_conflict());
    assert_eq!(view.readonly, 0);
    assert!(release(&mut view));
    let reading = array.read().unwrap();
    let before = bytes(&view);
    assert!(get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap_err().is_conflict());
    assert_eq!(bytes(&view), before);
    drop(reading);
    let constant = ArrayObject::new(array.into_readonly().into());
    assert!(get(constant.as_ptr(), &mut view, Flags::WRITABLE).unwrap_err().is_read_only());
}

#[test]
fn a_view_is_released_once_whatever_happened_to_the_struct() {
    let array = Array::from_vec(vec![1, 2, 3, 4], [4]).unwrap();
    let object = ArrayObject::new(array.clone().into());
    let mut view = View::EMPTY;
    get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap();
    let mut copy = view;
    // All fields except the hub's own.
    view = View { reserved: view.reserved, ..View::EMPTY };
    view.ndim = -7;
    assert!(release(&mut view));
    assert!(array.write().is_ok());
    assert!(!release(&mut copy) && !release(&mut view));
    assert!(last_refusal().unwrap().contains("released"));
    // The record may belong to another view now.
    get(object.as_ptr(), &mut view, Flags::WRITABLE).unwrap();
    assert!(!release(&mut copy));
    assert!(array.write().is_err());
    assert!(release(&mut view));
    assert_eq!(memory_view::exports(object.as_ptr()), 0);
}

#[repr(C)]
struct Bytes {
    class: *const Class,
    released: AtomicUsize,
    data: [u8; 8],
}

unsafe extern "C" fn get_bytes(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
    let object = obj.cast::<Bytes>();
    // SAFETY: the hub calls this only for objects of the class, which are `Bytes`, so the field is
    // in bounds.
    let data = unsafe { &raw mut (*object).data };
    // SAFETY: the hub passes a writable struct, which no other code accesses during the call.
    unsafe { *view = View::of_bytes(obj, data.cast(), 8, false).unwrap() };
    1
}

unsafe extern "C" fn release_bytes(obj: *mut c_void, _: *mut View) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Bytes`.
    unsafe { &*obj.cast::<Bytes>() }.released.fetch_add(1, Ordering::Relaxed);
    1
}

static BYTES: Entry = Entry { get: Some(get_bytes), release: Some(release_bytes), available: None };

#[test]
fn a_producer_of_bytes_is_found_by_class_and_inherited() {
    let base = Class { name: c"Base".as_ptr(), super_: ptr::null() };
    let derived = Class { name: c"Derived".as_ptr(), super_: &base };
    let mut object = Bytes { class: &derived, released: AtomicUsize::new(0), data: *b"abcdefgh" };
    let obj: *mut c_void = (&raw mut object).cast();
    let mut view = View::EMPTY;
    let error = get(obj, &mut view, Flags::SIMPLE).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("Derived"), "{error}");
    // SAFETY: the class outlives the registration, and the callbacks accept its objects, which are
    // `Bytes`.
    unsafe { memory_view::register(&base, &BYTES) }.unwrap();
    // SAFETY: the class outlives the registration, and the callbacks accept its objects, which are
    // `Bytes`.
    assert!(unsafe { memory_view::register(&base, &BYTES) }.unwrap_err().is_conflict());
    get(obj, &mut view, Flags::FORMAT).unwrap();
    assert_eq!((numbers(view.shape, &view), numbers(view.strides, &view)), (&[8][..], &[1][..]));
    assert_eq!((format(&view), view.item_size, memory_view::exports(obj)), ("C", 1, 1));
    assert!(memory_view::unregister(&base) && !memory_view::unregister(&base));
    assert!(release(&mut view));
    assert_eq!((object.released.load(Ordering::Relaxed), memory_view::exports(obj)), (1, 0));
    assert!(get(obj, &mut view, Flags::SIMPLE).is_err());
}

#[test]
fn a_foreign_view_as_an_array_is_released_with_its_last_handle() {
    let class = Class { name: c"Imported".as_ptr(), super_: ptr::null() };
    // SAFETY: the class outlives the registration, and the callbacks accept its objects, which are
    // `Bytes`.
    unsafe { memory_view::register(&class, &BYTES) }.unwrap();
    let mut object = Bytes { class: &class, released: AtomicUsize::new(0), data: *b"abcdefgh" };
    let obj: *mut c_void = (&raw mut object).cast();
    // SAFETY: `object` is a `Bytes` of the registered class, and outlives the array.
    let array = unsafe { memory_view::import(obj, Flags::SIMPLE) }.unwrap();
    assert_eq!((array.dtype(), array.shape()), (&DType::U8, &[8][..]));
    let part = array.slice(s![2..4]).unwrap();
    drop(array);
    assert_eq!(object.released.load(Ordering::Relaxed), 0);
    assert_eq!(part.get(&[1]).unwrap().as_u64(), Some(u64::from(b'd')));
    drop(part);
    assert_eq!(object.released.load(Ordering::Relaxed), 1);
    assert!(memory_view::unregister(&class));
}
