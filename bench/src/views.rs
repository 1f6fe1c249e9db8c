//! Views of objects: the cost of a request and a release, beside `Arc::clone` and drop.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::Arc;

use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, View};
use crossdock::{Array, DArray};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::threads;
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[Measure { group: "hand-over", name: "views", run: views }];

const PEER: &str = "Arc::clone + drop";

/// Lends eight bytes, as the simplest producer does.
unsafe extern "C" fn lend(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
    let Ok(bytes) = View::of_bytes(obj, obj, 8, true) else { return 0 };
    // SAFETY: the hub passes a valid struct.
    unsafe { *view = bytes };
    1
}

unsafe extern "C" fn take_back(_: *mut c_void, _: *mut View) -> u8 {
    1
}

/// Requests a view and releases it: the number of its items.
#[inline(always)]
fn get_and_release(obj: *mut c_void, view: &mut View, flags: Flags) -> usize {
    // SAFETY: the object is valid, and the view is writable memory.
    if unsafe { memory_view::get(black_box(obj), black_box(view), black_box(flags)) }.is_err() {
        return 0;
    }
    let nbytes = black_box(&*view).byte_size;
    // SAFETY: the view was filled in by `get` and is released once; no code uses it afterwards.
    let released = unsafe { memory_view::release(black_box(view)) };
    if released { nbytes as usize } else { 0 }
}

fn views(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    static CLASS: Class = Class { name: c"Lender".as_ptr(), super_: ptr::null() };
    let arc = Arc::new(41usize);
    let array = || -> Result<DArray> { Ok(Array::from_vec(vec![7u16; 4096], [16, 16, 16])?.into()) };
    let object = ArrayObject::new(array()?);
    let pair = [ArrayObject::new(array()?), ArrayObject::new(array()?)];
    let entry = Entry { get: Some(lend), release: Some(take_back), available: None };
    // SAFETY: the callbacks are for objects of this class.
    unsafe { memory_view::register(&CLASS, &entry) }?;
    let mut lent: [*const Class; 1] = [&CLASS];
    let lent: *mut c_void = lent.as_mut_ptr().cast();
    let (obj, mut view, mut held) = (object.as_ptr(), View::EMPTY, View::EMPTY);
    let (mut demanding, mut foreign) = (View::EMPTY, View::EMPTY);
    // SAFETY: the object is valid, and the view is writable memory.
    unsafe { memory_view::get(obj, &mut held, Flags::SIMPLE) }?;
    let on_both = |count: usize| {
        let next = std::sync::atomic::AtomicUsize::new(0);
        threads::on_two(count, |count| {
            // The first two calls warm up each thread; the others are timed.
            let object = &pair[next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2];
            let mut view = View::EMPTY;
            (0..count).map(|_| get_and_release(object.as_ptr(), &mut view, Flags::SIMPLE)).sum()
        })
    };

    let cases: Vec<Case<'_>> = vec![
        Case::new(PEER, 41, || **black_box(&Arc::clone(black_box(&arc)))),
        Case::new("get + release, an array", 8192, || get_and_release(obj, &mut view, Flags::SIMPLE))
            .reaching(Reach::ratio(2.4, PEER)),
        Case::new("get + release, an array, WRITABLE | ROW_MAJOR", 8192, || {
            get_and_release(obj, &mut demanding, Flags::WRITABLE | Flags::ROW_MAJOR)
        }),
        Case::timed("get + release, two arrays on two threads", 8192, on_both).threaded(),
        Case::new("get + release, bytes of a producer", 8, || {
            get_and_release(lent, &mut foreign, Flags::SIMPLE)
        }),
        Case::new("item_pointer, three axes", 546, || {
            // SAFETY: the view is held, and the index has one number for each axis.
            let item = unsafe { black_box(&held).item_pointer(black_box([1, 1, 1].as_ptr())) };
            item.map_or(0, |item| item.addr() - held.data.addr())
        }),
    ];
    let table = harness::measure("views of objects", Scale::NANOSECONDS, &[PEER], cases);
    // SAFETY: the view was filled in by `get`, and is released once.
    unsafe { memory_view::release(&mut held) };
    memory_view::unregister(&CLASS);
    table
}
