//! Views on several threads: each is released once, on any thread, for any number of views.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, View};
use crossdock::{Array, DArray};

use super::{get, numbers, release};

/// A view that moves to another thread.
struct Sent(View);

// SAFETY: the library allows to release a view on any thread, and one thread has it at a time.
unsafe impl Send for Sent {}

/// The address of a struct that several threads share.
#[derive(Clone, Copy)]
struct At(*mut View);

impl At {
    fn view(self) -> *mut View {
        self.0
    }
}

// SAFETY: the pointer is only passed to functions that several threads may call with the same view.
unsafe impl Sync for At {}

fn array(len: usize) -> DArray {
    Array::from_vec((0..len as i32).collect(), [len]).unwrap().into()
}

#[repr(C)]
struct Counted {
    class: *const Class,
    given: AtomicUsize,
    taken_back: AtomicUsize,
}

// SAFETY: the counters are atomic, and the class is a static that is never written.
unsafe impl Sync for Counted {}

unsafe extern "C" fn get_counted(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Counted`s.
    unsafe { &*obj.cast::<Counted>() }.given.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the hub passes a writable struct, which no other code accesses during the call.
    unsafe { *view = View::of_bytes(obj, obj, 8, true).unwrap() };
    1
}

unsafe extern "C" fn release_counted(obj: *mut c_void, _: *mut View) -> u8 {
    // SAFETY: the hub calls this only for objects of the class, which are live `Counted`s.
    unsafe { &*obj.cast::<Counted>() }.taken_back.fetch_add(1, Ordering::Relaxed);
    1
}

#[test]
fn of_copies_on_four_threads_one_is_released() {
    const THREADS: usize = 4;
    static CLASS: Class = Class { name: c"Counted".as_ptr(), super_: ptr::null() };
    let entry = Entry { get: Some(get_counted), release: Some(release_counted), available: None };
    // SAFETY: `CLASS` is a static, and the callbacks accept its objects, which are `Counted`s.
    unsafe { memory_view::register(&CLASS, &entry) }.unwrap();
    let object = Counted { class: &CLASS, given: AtomicUsize::new(0), taken_back: AtomicUsize::new(0) };
    let own = ArrayObject::new(array(8));
    let barrier = Barrier::new(THREADS);
    let rounds = 2000;
    for obj in [ptr::from_ref(&object).cast_mut().cast(), own.as_ptr()] {
        for _ in 0..rounds / THREADS {
            let mut view = View::EMPTY;
            get(obj, &mut view, Flags::SIMPLE).unwrap();
            let copies = [(); THREADS].map(|()| Sent(view));
            let released: usize = thread::scope(|scope| {
                let threads = copies.map(|copy| {
                    scope.spawn(|| {
                        let Sent(mut copy) = { copy };
                        barrier.wait();
                        // The next view may get the record at once.
                        let done = release(&mut copy);
                        let mut next = View::EMPTY;
                        get(own.as_ptr(), &mut next, Flags::SIMPLE).unwrap();
                        assert!(!release(&mut copy) && release(&mut next));
                        usize::from(done)
                    })
                });
                threads.map(|thread| thread.join().unwrap()).into_iter().sum()
            });
            assert_eq!(released, 1);
        }
        assert_eq!(memory_view::exports(obj), 0);
    }
    assert_eq!(object.given.load(Ordering::Relaxed), rounds / THREADS);
    assert_eq!(object.taken_back.load(Ordering::Relaxed), rounds / THREADS);
    assert!(memory_view::unregister(&CLASS));
}

#[test]
fn of_threads_with_the_same_struct_one_releases_it() {
    let object = ArrayObject::new(array(8));
    for _ in 0..500 {
        let mut view = View::EMPTY;
        get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
        let at = At(&mut view);
        let barrier = Barrier::new(2);
        let released = thread::scope(|scope| {
            let threads = [(); 2].map(|()| {
                scope.spawn(|| {
                    let view = at.view();
                    barrier.wait();
                    // SAFETY: the struct outlives the threads; `release` accepts concurrent calls,
                    // and no thread uses the viewed memory.
                    unsafe { memory_view::release(view) }
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(released.iter().filter(|&&done| done).count(), 1);
    }
    assert_eq!(memory_view::exports(object.as_ptr()), 0);
}

#[test]
fn views_are_released_on_other_threads_than_they_were_given_on() {
    let object = ArrayObject::new(array(3));
    let (sender, receiver) = channel::<Sent>();
    let count = 20_000;
    thread::scope(|scope| {
        scope.spawn(move || {
            for Sent(mut view) in receiver {
                assert_eq!((numbers(view.shape, &view), numbers(view.strides, &view)), (&[3][..], &[4][..]));
                assert!(release(&mut view));
            }
        });
        for _ in 0..count {
            let mut view = View::EMPTY;
            get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
            sender.send(Sent(view)).unwrap();
        }
        drop(sender);
    });
    assert_eq!(memory_view::exports(object.as_ptr()), 0);
}

#[test]
fn thousands_of_views_are_held_at_a_time() {
    let arrays: Vec<ArrayObject> = (1..=10).map(|len| ArrayObject::new(array(len))).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut held = Vec::new();
                for number in 0..3000 {
                    let object = &arrays[number % 10];
                    let mut view = View::EMPTY;
                    get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
                    held.push((view, number % 10 + 1));
                }
                for (view, len) in &mut held {
                    assert_eq!(numbers(view.shape, view), [*len as isize]);
                    assert!(release(view));
                }
            });
        }
    });
    assert!(arrays.iter().all(|object| memory_view::exports(object.as_ptr()) == 0));
}

#[test]
fn exports_are_counted_by_object() {
    let (first, second) = (ArrayObject::new(array(1)), ArrayObject::new(array(2)));
    let mut views = [View::EMPTY; 5];
    for view in &mut views {
        get(first.as_ptr(), view, Flags::SIMPLE).unwrap();
    }
    let mut other = View::EMPTY;
    get(second.as_ptr(), &mut other, Flags::SIMPLE).unwrap();
    assert_eq!((memory_view::exports(first.as_ptr()), memory_view::exports(second.as_ptr())), (5, 1));
    for (left, view) in views.iter_mut().enumerate() {
        assert_eq!(memory_view::exports(first.as_ptr()), 5 - left);
        assert!(release(view));
    }
    assert!(release(&mut other));
    assert_eq!((memory_view::exports(first.as_ptr()), memory_view::exports(second.as_ptr())), (0, 0));
}

#[test]
fn components_are_read_by_several_threads_at_once() {
    for format in [c"iqc", c"d"] {
        for _ in 0..200 {
            let mut view = View { format: format.as_ptr(), ..View::EMPTY };
            let at = At(&mut view);
            let barrier = Barrier::new(3);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let view = at.view();
                        barrier.wait();
                        // SAFETY: the view outlives the threads, and `prepare_item_desc` accepts
                        // concurrent calls; no other code writes the view.
                        unsafe { View::prepare_item_desc(view) }.unwrap();
                    });
                }
            });
            assert_eq!(view.item_desc.length, format.count_bytes());
            // SAFETY: `prepare_item_desc` made the description, and this test frees it once, after
            // its last use.
            unsafe { view.item_desc.free() };
        }
    }
}
