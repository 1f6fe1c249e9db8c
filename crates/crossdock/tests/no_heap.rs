//! Handing memory over allocates nothing: counted by the allocator itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use crossdock::memory::Buffer;

/// The system's allocator, which counts what a thread asks of it.
struct Counting;

thread_local! {
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ending = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: all of it is the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's word.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's word.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's word.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `operation` twice, and panics if it allocated, resized or freed anything on the heap in either run: neither what
/// it makes the first time, nor what it makes every time.
#[track_caller]
fn assert_no_heap<T>(name: &str, mut operation: impl FnMut() -> T) {
    for run in ["first", "second"] {
        let before = REQUESTS.get();
        black_box(operation());
        let requests = REQUESTS.get() - before;
        assert_eq!(requests, 0, "{name}: calls of the allocator in the {run} run");
    }
}

#[test]
fn the_counter_counts() {
    let before = REQUESTS.get();
    drop(black_box(vec![1u8; 10]));
    assert_eq!(REQUESTS.get() - before, 2);
}

#[test]
#[should_panic(expected = "calls of the allocator")]
fn an_operation_that_allocates_is_found() {
    assert_no_heap("a box", || drop(black_box(Box::new(1u8))));
}

#[test]
fn handles_and_leases_of_a_buffer_allocate_nothing() {
    let aliased = Buffer::shared(64).unwrap();
    let mut sole = Buffer::from_vec(vec![0u32; 16]).unwrap();
    for buffer in [&sole, &aliased] {
        assert_no_heap("clone", || drop(buffer.clone()));
        assert_no_heap("try_clone", || drop(buffer.try_clone().unwrap()));
        assert_no_heap("slice", || drop(buffer.slice(3..20).unwrap()));
        assert_no_heap("slice of a slice", || drop(buffer.slice(3..20).unwrap().slice(1..).unwrap()));
        assert_no_heap("read-only", || drop(buffer.clone().into_readonly()));
        assert_no_heap("share", || drop(buffer.share().unwrap()));
        assert_no_heap("pin", || drop(buffer.pin().unwrap()));
        assert_no_heap("cells", || buffer.share().unwrap().as_cells_of::<u32>().unwrap()[3].store(1));
        assert_no_heap("load", || buffer.pin().unwrap().load::<u32>(5).unwrap());
        assert_no_heap("place", || (buffer.place(), buffer.backing(), buffer.birth(), buffer.exported()));
        assert_no_heap("descriptor", || buffer.descriptor().map(|(_, offset)| offset));
    }
    assert_no_heap("read", || drop(sole.read().unwrap()));
    assert_no_heap("elements", || sole.read().unwrap().as_slice_of::<u32>().unwrap()[3]);
    assert_no_heap("write", || drop(sole.write().unwrap()));
    assert_no_heap("mutable elements", || sole.write().unwrap().as_mut_slice_of::<u32>().unwrap()[3] = 7);
    assert_no_heap("as_mut_slice", || sole.as_mut_slice().unwrap()[0] = 1);
    assert_no_heap("is_exclusive", || sole.is_exclusive());
}
