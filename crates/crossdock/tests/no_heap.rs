//! Exports and imports allocate nothing: the allocator itself counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;

use crossdock::bindings::dialect::pack::{self, Member};
use crossdock::bindings::memory_view::{self, ArrayObject, Class, Entry, Flags, View};
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{AxisSlice, Order};
use crossdock::view::Request;
use crossdock::{Array, Casting, DArray, s};

/// The system's allocator, with a count of each thread's requests.
struct Counting;

thread_local! {
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // An ending thread has no counter any more.
    let _ending = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

// SAFETY: every call is passed to `System`; counting uses a thread-local cell and allocates
// nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc` for `layout`, and `System`
        // has the same one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed` for `layout`, and
        // `System` has the same one.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: `ptr` came from `System` by one of the functions above, with this layout, and
        // `new_size` is valid by the caller's contract.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count();
        // SAFETY: `ptr` came from `System` by one of the functions above, with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `operation` twice, and panics if it allocated, resized or freed heap memory in either run:
/// neither the first run nor a later one may.
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

/// A scalar, and a record whose fields are shared by the clones of its dtype.
fn dtypes() -> [DType; 2] {
    let fields = [("price", DType::F64), ("codes", DType::subarray(&[2], DType::U16).unwrap())];
    [DType::F64, DType::packed_record(fields).unwrap()]
}

#[test]
fn small_copies_fills_and_comparisons_allocate_nothing_up_to_four_axes() {
    for rank in 0..=4 {
        let made = |dtype| DArray::zeros(dtype, &[2; 4][..rank], Order::RowMajor).unwrap();
        let (to, from, narrow) = (made(DType::F64), made(DType::F64), made(DType::F32));
        let (flipped, one) = (from.transpose().unwrap(), 1.into());
        let name = |what: &str| format!("{what} of {rank} axes");
        let assign = |source| to.assign(source, Casting::Checked).unwrap();
        assert_no_heap(&name("assign"), || assign(&from));
        assert_no_heap(&name("assign, transposed"), || assign(&flipped));
        assert_no_heap(&name("assign, converted"), || assign(&narrow));
        assert_no_heap(&name("equals"), || to.equals(&flipped).unwrap());
        assert_no_heap(&name("fill"), || to.fill(&one).unwrap());
    }
}

#[test]
fn views_of_dynamic_arrays_allocate_nothing_up_to_four_axes() {
    for dtype in dtypes() {
        for rank in 0..=4 {
            let shape = [2; 4];
            let array = DArray::zeros(dtype.clone(), &shape[..rank], Order::RowMajor).unwrap();
            let steps: Vec<AxisSlice> =
                (0..rank).map(|_| AxisSlice::Range { start: None, stop: None, step: -1 }).collect();
            let axes: Vec<usize> = (0..rank).rev().collect();
            let index = vec![1; rank];
            let name = |what: &str| format!("{what} of {rank} axes of {dtype}");
            assert_no_heap(&name("clone"), || drop(array.clone()));
            assert_no_heap(&name("slice"), || drop(array.slice(&steps[..]).unwrap()));
            assert_no_heap(&name("slice_numpy"), || drop(array.slice_numpy(&steps[..]).unwrap()));
            assert_no_heap(&name("permute"), || drop(array.permute(&axes).unwrap()));
            assert_no_heap(&name("transpose"), || drop(array.transpose()));
            assert_no_heap(&name("broadcast"), || drop(array.broadcast_to(array.shape()).unwrap()));
            assert_no_heap(&name("reshape"), || drop(array.reshape(&[1 << rank]).unwrap()));
            assert_no_heap(&name("squeeze"), || drop(array.squeeze()));
            assert_no_heap(&name("read-only"), || drop(array.clone().into_readonly()));
            assert_no_heap(&name("buffer"), || drop(array.buffer().unwrap()));
            if rank > 0 {
                assert_no_heap(&name("reverse"), || drop(array.reverse(rank - 1).unwrap()));
                assert_no_heap(&name("drop_axis"), || drop(array.drop_axis(0, 1).unwrap()));
            }
            if rank < 4 {
                assert_no_heap(&name("insert_axis"), || drop(array.insert_axis(rank).unwrap()));
            }
            if dtype.as_record().is_some() {
                assert_no_heap(&name("field"), || drop(array.field("price").unwrap()));
                if rank < 4 {
                    assert_no_heap(&name("sub-array field"), || drop(array.field("codes").unwrap()));
                }
            } else {
                assert_no_heap(&name("get"), || drop(array.get(&index).unwrap()));
            }
        }
    }
}

#[test]
fn clones_of_more_axes_share_their_block() {
    for rank in [5, 8, 9, 64] {
        let array = DArray::zeros(DType::F64, &[1; 64][..rank], Order::RowMajor).unwrap();
        let name = |what: &str| format!("{what} of {rank} axes");
        assert_no_heap(&name("clone"), || drop(array.clone()));
        assert_no_heap(&name("export"), || drop(array.export(&Request::pin()).unwrap()));
        assert_no_heap(&name("get"), || drop(array.get(&[0; 64][..rank]).unwrap()));
        assert_no_heap(&name("array of a view"), || {
            array.export(&Request::pin()).unwrap().into_array().unwrap().rank()
        });
    }
}

#[test]
fn a_view_is_lent_and_given_back_without_the_heap_under_every_lease() {
    for dtype in dtypes() {
        for rank in 0..=4 {
            let array = DArray::zeros(dtype.clone(), &[2; 4][..rank], Order::RowMajor).unwrap();
            for request in [Request::read(), Request::write(), Request::share(), Request::pin()] {
                let request = request.order(Order::RowMajor).dtype(dtype.clone());
                let name = format!("{:?} view of {rank} axes of {dtype}", request.lease());
                assert_no_heap(&name, || drop(array.export(&request).unwrap()));
                assert_no_heap(&name, || drop(crossdock::view(&array, request.clone()).unwrap()));
                assert_no_heap(&name, || drop(array.export(&request).unwrap().into_array().unwrap()));
                assert_no_heap(&name, || drop(array.export(&request).unwrap().to_array().unwrap()));
            }
        }
    }
}

#[test]
fn item_formats_and_the_numbers_of_items_need_no_heap() {
    for format in
        [&b""[..], b"d", b"iqc", b"| c s>2 l!<", b"ccc2f3x2d4q!<", b"c9223372036854775807", b"x99c0"]
    {
        let name = format!("'{}'", format.escape_ascii());
        assert_no_heap(&name, || pack::item_size(format).unwrap());
        assert_no_heap(&name, || pack::parse(format).unwrap().components().len());
        assert_no_heap(&name, || pack::parse_each(format, |component| _ = black_box(component)).unwrap());
    }
    for format in [&b"?"[..], b"ccc4a", b"cq<>", b"c9223372036854775808"] {
        assert_no_heap("a format that is none", || pack::parse(format).unwrap_err().offset());
    }
    assert_no_heap("the dtype of one number", || pack::parse(b"n").unwrap().to_dtype().unwrap());

    let template = pack::parse(b"iqc").unwrap();
    let mut item = [1; 13];
    assert_no_heap("read an item", || {
        pack::read_members(&item, template.components(), |member| _ = black_box(member)).unwrap();
    });
    let members = [Member::Int(1), Member::UInt(2), Member::Float(3.0)];
    assert_no_heap("write an item", || {
        pack::write_members(&mut item, template.components(), &members).unwrap();
    });
}

/// Everything that a typed array of one rank does for each element and, up to four axes, export.
fn check_typed<const D: usize>() {
    let mut array = Array::<f32, D>::zeros([2; D]).unwrap();
    let name = |what: &str| format!("{what} of {D} axes");
    assert_no_heap(&name("clone"), || drop(array.clone()));
    assert_no_heap(&name("transpose"), || drop(array.transpose()));
    assert_no_heap(&name("permute"), || drop(array.permute(std::array::from_fn(|k| k)).unwrap()));
    assert_no_heap(&name("reshape"), || drop(array.reshape([1 << D]).unwrap()));
    assert_no_heap(&name("broadcast"), || drop(array.broadcast_to(*array.shape()).unwrap()));
    assert_no_heap(&name("get"), || array.get([1; D]).unwrap());
    assert_no_heap(&name("set"), || array.set([1; D], 2.0).unwrap());
    assert_no_heap(&name("read"), || array.read().unwrap()[[1; D]]);
    assert_no_heap(&name("iteration"), || array.read().unwrap().iter().sum::<f32>());
    assert_no_heap(&name("slice of elements"), || array.read().unwrap().as_slice().map(<[f32]>::len));
    assert_no_heap(&name("write"), || array.write().unwrap()[[1; D]] = 3.0);
    assert_no_heap(&name("fill"), || array.write().unwrap().view_mut().fill(1.0));
    assert_no_heap(&name("share"), || array.share().unwrap().set([0; D], 4.0).unwrap());
    assert_no_heap(&name("pin"), || array.pin().unwrap().get([0; D]).unwrap());
    assert_no_heap(&name("values"), || array.pin().unwrap().values().sum::<f32>());
    assert_no_heap(&name("exclusive"), || array.as_view_mut().unwrap()[[1; D]] = 5.0);
    if D > 4 {
        return;
    }
    assert_no_heap(&name("to dynamic and back"), || {
        Array::<f32, D>::try_from(DArray::from(array.clone())).unwrap().len()
    });
    for request in [Request::read(), Request::write(), Request::share(), Request::pin()] {
        assert_no_heap(&name("export"), || drop(array.export(&request).unwrap()));
        let typed = || Array::<f32, D>::try_from(array.export(&request).unwrap()).unwrap();
        assert_no_heap(&name("export to a typed array"), || drop(typed()));
    }
    let view = array.export(&Request::read()).unwrap();
    assert_no_heap(&name("typed view"), || view.as_view::<f32, D>().unwrap().len());
    assert_no_heap(&name("typed slice"), || view.as_slice::<f32>().unwrap().len());
    assert_no_heap(&name("element of a view"), || view.get(&[1; D]).unwrap().as_f64());
}

#[test]
fn typed_arrays_allocate_nothing_and_their_exports_up_to_four_axes() {
    check_typed::<0>();
    check_typed::<1>();
    check_typed::<2>();
    check_typed::<3>();
    check_typed::<4>();
    check_typed::<5>();
    check_typed::<6>();
    check_typed::<7>();
    check_typed::<8>();
    let array = Array::<f32, 4>::zeros([4, 4, 4, 4]).unwrap();
    assert_no_heap("slice", || drop(array.slice(s![1.., ..;-1, 2, ..;2]).unwrap()));
    let guard = array.read().unwrap();
    assert_no_heap("slice of a view", || guard.view().slice(s![1.., ..;-1, 2, ..;2]).unwrap().len());
    drop(guard);
    assert_no_heap("split", || {
        let mut guard = array.write().unwrap();
        let (left, right) = guard.view_mut().split_at(2, 1).unwrap();
        (left.len(), right.len())
    });
    assert_no_heap("drop_axis", || drop(array.drop_axis::<3>(1, 2).unwrap()));
    assert_no_heap("insert_axis", || drop(array.insert_axis::<5>(1).unwrap()));
}

#[test]
fn views_of_objects_come_and_go_without_the_heap() {
    unsafe extern "C" fn lend(obj: *mut c_void, view: *mut View, _: c_int) -> u8 {
        static SHAPE: [isize; 8] = [1, 1, 1, 1, 1, 1, 1, 8];
        // SAFETY: the hub passes a writable struct, and an object of the class, which has at least
        // eight bytes.
        unsafe { *view = View::of_bytes(obj, obj, 8, true).unwrap() };
        // SAFETY: the hub passes a writable struct, initialised just before, which no other code
        // accesses during the call.
        let view = unsafe { &mut *view };
        (view.ndim, view.shape, view.format) = (8, SHAPE.as_ptr(), c"C".as_ptr());
        1
    }
    let class = Class { name: c"Lent".as_ptr(), super_: std::ptr::null() };
    // SAFETY: the class outlives the registration, and the callback accepts its objects.
    unsafe { memory_view::register(&class, &Entry { get: Some(lend), release: None, available: None }) }
        .unwrap();
    // The process remembers a new format in a block that stays allocated.
    let _met = ArrayObject::new(DArray::zeros(DType::U8, &[1], Order::RowMajor).unwrap());
    let mut foreign: [*const Class; 3] = [&class; 3];
    let record = DType::packed_record([("a", DType::I32), ("b", DType::U8)]).unwrap();
    let shape = [1, 2, 1, 3, 1, 4, 1, 5];
    let objects = [DType::F64, record]
        .map(|dtype| ArrayObject::new(DArray::zeros(dtype, &shape, Order::RowMajor).unwrap()));
    let objects = [objects[0].as_ptr(), objects[1].as_ptr(), foreign.as_mut_ptr().cast()];
    for (name, obj) in ["numbers", "records", "a producer's"].into_iter().zip(objects) {
        assert_no_heap(name, || {
            let mut view = View::EMPTY;
            // SAFETY: `obj` is a live object, which begins with its class, and `view` is a writable
            // struct.
            unsafe { memory_view::get(black_box(obj), &mut view, Flags::SIMPLE) }.unwrap();
            let index = [0; 8];
            // SAFETY: the view is held, and `index` has eight numbers, at least one for each axis.
            black_box(unsafe { view.item_pointer(index.as_ptr()) }.unwrap());
            // SAFETY: `get` filled in the view, which is released once, after its last use.
            assert!(unsafe { memory_view::release(&mut view) });
        });
    }
    assert!(memory_view::unregister(&class));
}
