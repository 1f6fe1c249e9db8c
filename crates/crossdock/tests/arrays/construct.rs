//! Constructors of arrays: over existing memory, in new memory, in either order, in pools and on
//! devices.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use crossdock::array::ArrayOptions;
use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::element::{DType, Field, Value};
use crossdock::layout::{FixedLayout, Layout, Order};
use crossdock::memory::{Allocation, DeviceKind, Place};
use crossdock::pool::Pool;
use crossdock::{Array, DArray, Error, s};

const ORDERS: [Order; 2] = [Order::RowMajor, Order::ColumnMajor];

/// A registered device whose memory is not accessible from the CPU.
fn there() -> Place {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let open = |place: Place| Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>);
        device::register(Arc::new((DeviceKind::EXT_DEV, open))).unwrap();
    });
    Place::new(DeviceKind::EXT_DEV, 3)
}

/// The array's memory, copied to the host, with the same layout.
fn brought(array: &DArray) -> DArray {
    let (buffer, offset) = array.buffer().unwrap();
    let buffer = buffer.copy_to(&device::memory(Place::CPU).unwrap()).unwrap();
    DArray::from_buffer(buffer, array.dtype().clone(), array.layout().clone(), offset).unwrap()
}

/// The elements in row-major order, by value.
fn elements(array: &DArray) -> Vec<Value> {
    let layout = Layout::contiguous(array.shape(), 1, Order::RowMajor).unwrap();
    let index = |number| layout.unravel_index(number, Order::RowMajor).unwrap();
    (0..array.len()).map(|number| array.get(&index(number)).unwrap()).collect()
}

#[track_caller]
fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

// ===== over memory that is there

#[test]
fn a_vector_is_adopted_in_either_order() {
    let numbers: Vec<i32> = (0..6).collect();
    let address = numbers.as_ptr();
    let rows = Array::from_vec(numbers, [2, 3]).unwrap();
    assert_eq!(rows.as_ptr(), address);
    let columns = Array::from_vec((0..6).collect::<Vec<i32>>(), [3, 2]).unwrap().transpose();
    for i in 0..2 {
        for j in 0..3 {
            assert_eq!(rows.get([i, j]).unwrap(), (3 * i + j) as i32);
            assert_eq!(columns.get([i, j]).unwrap(), (i + 2 * j) as i32);
        }
    }
    let dynamic = DArray::from_vec((0..6).collect::<Vec<i32>>(), &[2, 3]).unwrap();
    assert_eq!((dynamic.dtype(), dynamic.strides()), (&DType::I32, &[12, 4][..]));
    for error in [
        Array::from_vec(vec![1u8; 5], [2, 3]).unwrap_err(),
        DArray::from_vec(vec![1u8; 5], &[2, 3]).unwrap_err(),
    ] {
        assert!(error.is_shape());
        assert_says(&error, &["[2, 3]", "6", "5"]);
    }
    assert!(DArray::from_vec(vec![1u8], &[1; 65]).unwrap_err().is_unsupported());
}

#[test]
fn allocations_and_buffers_of_every_kind_are_taken() {
    let allocation = Allocation::new(24, Place::CPU).unwrap();
    let address = allocation.ptr();
    let array = Array::<u32, 2>::from_buffer(allocation, [2, 3]).unwrap();
    assert_eq!(array.as_ptr().cast(), address);
    let mutable: MutableBuffer = Pool::default().copy_from_slice(&[7u8; 24]).unwrap().try_into_mut().unwrap();
    let array = DArray::from_buffer_in_order(mutable, DType::U8, &[4, 6], Order::ColumnMajor).unwrap();
    assert_eq!(array.strides(), [1, 4]);
    assert_eq!(array.get(&[3, 5]).unwrap(), Value::UInt(7));
    let buffer = Buffer::zeroed(24).unwrap();
    let columns = Array::<u16, 2>::from_buffer_in_order(buffer.clone(), [3, 4], Order::ColumnMajor).unwrap();
    assert_eq!(columns.strides(), &[2, 6]);
    for error in [
        Array::<u16, 2>::from_buffer_in_order(buffer.clone(), [3, 5], Order::ColumnMajor).unwrap_err(),
        DArray::from_buffer_in_order(buffer.clone(), DType::U16, &[3, 5], Order::RowMajor).unwrap_err(),
    ] {
        assert!(error.is_bounds());
        assert_says(&error, &["0..30", "24 bytes"]);
    }
    let overflow = DArray::from_buffer_in_order(buffer, DType::U16, &[1 << 40, 1 << 40], Order::RowMajor);
    assert!(overflow.unwrap_err().is_overflow());
}

#[test]
fn a_view_has_to_lie_within_the_memory_at_both_ends() {
    let memory = Buffer::zeroed(40).unwrap();
    // Rows of 5 two-byte elements, upside down: element 0 is 30 bytes in.
    let layout = Layout::new(&[4, 5], &[-10, 2], 2).unwrap();
    assert!(DArray::from_buffer(memory.clone(), DType::I16, layout.clone(), 30).is_ok());
    for (offset, covered) in [(29, "-1..39"), (31, "1..41"), (0, "-30..10"), (usize::MAX, "1844674407")] {
        let error = DArray::from_buffer(memory.clone(), DType::I16, layout.clone(), offset).unwrap_err();
        assert!(error.is_bounds());
        assert_says(&error, &[covered, "40 bytes"]);
    }
}

// ===== nested lists

#[test]
fn lists_in_lists_become_arrays_of_their_depth() {
    assert_eq!(Array::<_, 0>::from_nested(5u8).unwrap().get([]).unwrap(), 5);
    let line = Array::<_, 1>::from_nested([1.5f32, 2.5]).unwrap();
    assert_eq!(line.read().unwrap().view().iter().copied().collect::<Vec<_>>(), [1.5, 2.5]);
    let lists = vec![[&[1i64, 2][..], &[3, 4]], [&[5, 6], &[7, 8]], [&[9, 10], &[11, 12]]];
    let cube = Array::<_, 3>::from_nested(lists).unwrap();
    assert_eq!((cube.shape(), cube.strides()), (&[3, 2, 2], &[32, 16, 8]));
    for (number, index) in cube.layout().indices(Order::RowMajor).enumerate() {
        assert_eq!(cube.get(index).unwrap(), number as i64 + 1);
    }
    // The elements may be arrays themselves: the rank decides.
    let points = Array::<[u8; 2], 1>::from_nested([[1, 2], [3, 4]]).unwrap();
    assert_eq!((points.shape(), points.get([1]).unwrap()), (&[2], [3, 4]));
    let deepest = Array::<_, 8>::from_nested([[[[[[[[1u8, 2]]]]]]]]).unwrap();
    assert_eq!(deepest.shape(), &[1, 1, 1, 1, 1, 1, 1, 2]);
}

#[test]
fn ragged_lists_are_refused_and_empty_ones_are_empty() {
    let error = Array::<u8, 3>::from_nested([vec![vec![1, 2], vec![3]], vec![vec![1, 2]]]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["2", "1", "axis 2"]);
    let error = Array::<u8, 3>::from_nested([vec![vec![1], vec![3]], vec![vec![1]]]).unwrap_err();
    assert_says(&error, &["2", "1", "axis 1"]);
    assert_eq!(Array::<u8, 2>::from_nested([[0u8; 0]; 3]).unwrap().shape(), &[3, 0]);
    assert_eq!(Array::<u8, 2>::from_nested(Vec::<Vec<u8>>::new()).unwrap().shape(), &[0, 0]);
}

// ===== in new memory

#[test]
fn zeros_and_one_value_are_made_in_either_order() {
    for order in ORDERS {
        let zeros = Array::<f64, 3>::zeros(([2, 3, 4], order)).unwrap();
        assert!(zeros.is_contiguous(order));
        assert!(zeros.read().unwrap().view().iter().all(|&x| x == 0.0));
        let sevens = Array::<u16, 3>::full(([2, 3, 4], order), 7).unwrap();
        assert!(sevens.is_contiguous(order));
        assert!(sevens.read().unwrap().view().iter().all(|&x| x == 7));
        let dynamic = DArray::zeros(DType::C64, &[2, 3, 4], order).unwrap();
        assert_eq!(dynamic.layout(), &Layout::contiguous(&[2, 3, 4], 8, order).unwrap());
        assert!(elements(&dynamic).iter().all(|x| *x == Value::Complex { re: 0.0, im: 0.0 }));
        for dtype in [DType::U8, DType::I32, DType::F16, DType::F64, DType::F32.swapped()] {
            let full = DArray::full(dtype.clone(), &[5, 1, 7], 3, order).unwrap();
            assert_eq!(full.layout(), &Layout::contiguous(&[5, 1, 7], dtype.itemsize(), order).unwrap());
            assert!(elements(&full).iter().all(|x| x.as_f64() == Some(3.0)), "{dtype}");
        }
    }
    assert!(Array::<u8, 1>::zeros([4]).unwrap().is_contiguous(Order::RowMajor));
    assert_eq!(Array::full([2, 2], 9i8).unwrap().get([1, 1]).unwrap(), 9);
}

#[test]
fn records_are_filled_as_a_whole_with_zeroed_padding() {
    let dtype = DType::record([Field::new("a", 0, DType::U8), Field::new("b", 4, DType::U16)], 7).unwrap();
    let value = Value::Record(vec![("a".into(), 1u8.into()), ("b".into(), 2u8.into())]);
    let array = DArray::full(dtype, &[3], value.clone(), Order::RowMajor).unwrap();
    assert_eq!(elements(&array), [value.clone(), value.clone(), value]);
    let bytes = array.buffer().unwrap().0;
    let two = 2u16.to_ne_bytes();
    assert_eq!(bytes.read().unwrap()[..], [1, 0, 0, 0, two[0], two[1], 0].repeat(3));
}

#[test]
fn a_function_is_asked_once_for_each_index_in_the_order_of_the_elements() {
    for order in ORDERS {
        let layout = FixedLayout::contiguous([3, 1, 4], 4, order).unwrap();
        let expected: Vec<[usize; 3]> = layout.indices(order).collect();
        let mut asked = vec![];
        let value = |[i, j, k]: [usize; 3]| (100 * i + 10 * j + k) as i32;
        let array = Array::from_fn(([3, 1, 4], order), |index| {
            asked.push(index);
            value(index)
        })
        .unwrap();
        assert_eq!(asked, expected);
        assert_eq!(array.layout(), &layout);
        let mut asked_too = vec![];
        let dynamic = DArray::from_fn(DType::I16, &[3, 1, 4], order, |index| {
            asked_too.push(<[usize; 3]>::try_from(index).unwrap());
            Value::from(value([index[0], index[1], index[2]]))
        })
        .unwrap();
        assert_eq!(asked_too, expected);
        for index in expected {
            assert_eq!(array.get(index).unwrap(), value(index));
            assert_eq!(dynamic.get(&index).unwrap().as_i64(), Some(value(index).into()));
        }
    }
    assert_eq!(Array::from_fn([], |[]| 5u8).unwrap().get([]).unwrap(), 5);
    let none = Array::<u8, 2>::from_fn([2, 0], |_| panic!("there is no element")).unwrap();
    assert!(none.is_empty());
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_its_index() {
    let error = DArray::from_fn(DType::U8, &[2, 3], Order::RowMajor, |index| {
        Value::from(100 * (index[0] + index[1]) as u64)
    });
    let error = error.unwrap_err();
    assert!(error.is_value());
    assert_says(&error, &["[1, 2]", "300", "uint8"]);
    assert!(DArray::full(DType::U8, &[0], -1, Order::RowMajor).unwrap_err().is_value());
}

#[test]
fn elements_are_written_before_there_is_an_array() {
    let mut fresh = Array::<u32, 2>::uninit(([2, 3], Order::ColumnMajor)).unwrap();
    assert_eq!(fresh.as_uninit_mut().len(), 6);
    assert_eq!(fresh.layout().strides(), &[4, 8]);
    assert!(format!("{fresh:?}").contains("[2, 3]"));
    for (number, element) in fresh.as_uninit_mut().iter_mut().enumerate() {
        *element = MaybeUninit::new(number as u32);
    }
    // SAFETY: the loop above wrote every element of `fresh`, so all of its memory is initialised.
    let array = unsafe { fresh.assume_init() };
    assert_eq!(array.get([1, 2]).unwrap(), 5);
    assert_eq!(array.get([0, 1]).unwrap(), 2);
    let point = Array::<f32, 0>::uninit([]).unwrap().fill(0.5);
    assert_eq!(point.get([]).unwrap(), 0.5);
    let like = Array::<u8, 2>::uninit((*array.shape(), array.options())).unwrap();
    assert_eq!(like.layout().strides(), &[1, 2]);
    let nothing = Array::<[u8; 0], 2>::full([1 << 30, 1 << 30], []).unwrap();
    assert_eq!((nothing.len(), nothing.nbytes()), (1 << 60, 0));
}

#[test]
fn a_panic_while_elements_are_written_gives_the_memory_back() {
    let pool = Pool::default().proxy("panic").unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        Array::<u8, 1>::from_fn(([100], &pool), |[i]| if i == 50 { panic!("halfway") } else { 0 })
    }));
    assert!(panicked.is_err());
    assert_eq!(pool.statistics().live_count, 0);
}

#[test]
fn memory_for_strides_is_as_large_as_the_strides_reach() {
    for (shape, strides, nbytes, offset) in [
        ([3, 5], [16, 2], 42, 0),
        ([3, 5], [-16, 2], 42, 32),
        ([3, 5], [16, -2], 42, 8),
        ([3, 5], [0, 2], 10, 0),
        ([1, 5], [-4000, 2], 10, 0),
        ([0, 5], [16, 2], 0, 0),
    ] {
        let layout = Layout::new(&shape, &strides, 2).unwrap();
        let array = DArray::zeros_with_layout(DType::I16, layout, Place::CPU).unwrap();
        assert_eq!(array.strides(), strides);
        let (buffer, at) = array.buffer().unwrap();
        assert_eq!((buffer.nbytes(), at), (nbytes, offset), "{shape:?} {strides:?}");
        assert!(buffer.retained_nbytes() >= nbytes);
        let fixed = FixedLayout::new(shape, strides, 2).unwrap();
        let typed = Array::<i16, 2>::zeros_with_layout(fixed, ArrayOptions::new()).unwrap();
        assert_eq!(typed.layout(), &fixed);
        if nbytes > 0 {
            array.set(&[shape[0] - 1, 4], &Value::Int(-3)).unwrap();
            assert_eq!(array.get(&[shape[0] - 1, 4]).unwrap(), Value::Int(-3));
            typed.set([0, 4], 7).unwrap();
        }
    }
    let wrong = Layout::new(&[3], &[4], 4).unwrap();
    assert!(DArray::zeros_with_layout(DType::I16, wrong, Place::CPU).unwrap_err().is_dtype());
    let pointers = Layout::with_suboffsets(&[2, 2], &[8, 2], &[Some(0), None], 2).unwrap();
    assert!(DArray::zeros_with_layout(DType::I16, pointers, Place::CPU).unwrap_err().is_unsupported());
    let narrow = FixedLayout::new([2], [isize::MAX - 8], 1).unwrap();
    assert!(Array::<u64, 1>::zeros_with_layout(narrow, Order::RowMajor).is_err_and(|e| e.is_out_of_memory()));
    let narrow = FixedLayout::new([2], [isize::MAX - 4], 1).unwrap();
    assert!(Array::<u64, 1>::zeros_with_layout(narrow, Order::RowMajor).unwrap_err().is_overflow());
}

#[test]
fn arrays_like_others_have_their_shape_order_and_place() {
    let columns = Array::<u16, 2>::full(([3, 4], Order::ColumnMajor), 5).unwrap();
    let rows = columns.transpose();
    let holes = columns.slice(s![..;2, ..]).unwrap();
    let like = Array::<f64, 2>::zeros((*columns.shape(), columns.options())).unwrap();
    assert!(like.is_contiguous(Order::ColumnMajor) && like.shape() == columns.shape());
    assert!(Array::<u8, 2>::full((*rows.shape(), rows.options()), 1).unwrap().is_contiguous(Order::RowMajor));
    assert_eq!(Array::<u8, 2>::zeros((*holes.shape(), holes.options())).unwrap().strides(), &[4, 1]);
    let dynamic = DArray::from(columns);
    let like = DArray::zeros(dynamic.dtype().clone(), dynamic.shape(), dynamic.options()).unwrap();
    assert_eq!((like.layout(), like.dtype()), (dynamic.layout(), dynamic.dtype()));
    assert_ne!(like.as_ptr(), dynamic.as_ptr());
    let ones = DArray::full(dynamic.dtype().clone(), dynamic.shape(), 1, dynamic.options()).unwrap();
    assert_eq!((ones.layout(), ones.get(&[2, 3]).unwrap()), (dynamic.layout(), Value::UInt(1)));
}

#[test]
fn a_pool_is_charged_for_what_is_made_in_it() {
    let pool = Pool::default().capped("constructors", 4096).unwrap();
    let options = ArrayOptions::new().pool(&pool).order(Order::ColumnMajor);
    let arrays = (
        Array::<u8, 2>::zeros(([3, 5], &pool)).unwrap(),
        Array::<u8, 2>::full(([3, 5], options), 1).unwrap(),
        Array::<u8, 2>::from_fn(([3, 5], options), |[i, j]| (i * j) as u8).unwrap(),
        DArray::zeros(DType::F32, &[3], &pool).unwrap(),
        DArray::full(DType::F32, &[3], 0.5, options).unwrap(),
        DArray::from_fn(DType::F32, &[3], &pool, |_| 1.into()).unwrap(),
    );
    assert_eq!(pool.statistics().live_count, 6);
    assert!(arrays.1.is_contiguous(Order::ColumnMajor) && arrays.2.get([2, 4]).unwrap() == 8);
    let error = Array::<u8, 1>::zeros(([4096], &pool)).unwrap_err();
    assert!(error.is_out_of_memory());
    drop(arrays);
    assert_eq!(pool.statistics().live_count, 0);
    // The later option decides the place.
    let here = ArrayOptions::new().pool(&pool).place(Place::CPU);
    let array = DArray::zeros(DType::U8, &[4096], here).unwrap();
    assert_eq!((pool.statistics().live_count, array.place()), (0, Place::CPU));
}

#[test]
fn on_a_device_everything_is_made_but_what_the_processor_would_write() {
    let place = there();
    let options = ArrayOptions::from(place).order(Order::ColumnMajor);
    // More than one chunk of the copy through the host, and not a multiple of a chunk.
    let many = DArray::zeros(DType::U8, &[3, 1_000_003], place).unwrap();
    assert_eq!(many.place(), place);
    assert!(brought(&many).buffer().unwrap().0.read().unwrap().iter().all(|&byte| byte == 0));

    let full = Array::<u16, 2>::full(([2, 3], options), 7).unwrap();
    let table = Array::<u16, 2>::from_fn(([2, 3], options), |[i, j]| (10 * i + j) as u16).unwrap();
    let dynamic =
        DArray::from_fn(DType::F32, &[2, 3], options, |i| Value::from((i[0] + i[1]) as u64)).unwrap();
    let ones = DArray::full(DType::F32, &[2, 3], 1, place).unwrap();
    for array in [&DArray::from(full), &dynamic, &ones] {
        assert_eq!(array.place(), place);
        assert!(array.buffer().unwrap().0.read().unwrap_err().is_place());
        assert_eq!(array.get(&[0, 0]).unwrap(), brought(array).get(&[0, 0]).unwrap());
    }
    assert!(table.is_contiguous(Order::ColumnMajor));
    let table = brought(&DArray::from(table));
    assert_eq!(table.get(&[1, 2]).unwrap(), Value::UInt(12));
    assert_eq!(brought(&dynamic).get(&[1, 2]).unwrap(), Value::Float(3.0));
    assert!(elements(&brought(&ones)).iter().all(|x| *x == Value::Float(1.0)));

    let strided = Layout::new(&[3, 5], &[-16, 2], 2).unwrap();
    let strided = DArray::zeros_with_layout(DType::I16, strided, place).unwrap();
    assert_eq!(strided.buffer().unwrap().0.nbytes(), 42);
    let like = DArray::zeros(strided.dtype().clone(), strided.shape(), strided.options()).unwrap();
    assert_eq!((like.place(), like.strides()), (place, &[10, 2][..]));

    let error = Array::<u8, 1>::uninit(([4], place)).unwrap_err();
    assert!(error.is_place());
    assert_says(&error, &["ext_dev:3", "on the CPU"]);
    let error = DArray::zeros(DType::U8, &[4], Place::new(DeviceKind::METAL, 2)).unwrap_err();
    assert_says(&error, &["metal"]);
}

#[test]
fn sizes_that_do_not_fit_are_refused_in_every_constructor() {
    let huge = [1usize << 40, 1 << 40];
    let errors = [
        Array::<u8, 2>::zeros(huge).unwrap_err(),
        Array::<u8, 2>::full(huge, 1).unwrap_err(),
        Array::<u8, 2>::from_fn(huge, |_| 1).unwrap_err(),
        Array::<u8, 2>::uninit(huge).unwrap_err(),
        Array::<u8, 2>::full((huge, there()), 1).unwrap_err(),
        DArray::zeros(DType::U8, &huge, Order::RowMajor).unwrap_err(),
        DArray::full(DType::U8, &huge, 1, Order::RowMajor).unwrap_err(),
        DArray::from_fn(DType::U8, &huge, Order::RowMajor, |_| 1.into()).unwrap_err(),
        DArray::zeros(DType::U8, &huge, there()).unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_overflow(), "{error}");
        assert_says(&error, &["1099511627776"]);
    }
    assert!(Array::<u8, 1>::zeros([1 << 60]).unwrap_err().is_out_of_memory());
    let ranks: [(usize, bool); 5] = [(0, true), (1, true), (9, true), (64, true), (65, false)];
    for (rank, taken) in ranks {
        let made = DArray::zeros(DType::U8, &vec![1; rank], Order::ColumnMajor);
        match made {
            Ok(array) => assert!(taken && array.rank() == rank && array.len() == 1),
            Err(error) => assert!(!taken && error.is_unsupported() && error.to_string().contains("65")),
        }
    }
}

#[test]
fn elements_that_want_more_than_the_pools_alignment_get_it() {
    // At most a page: the alignment that pools support.
    #[derive(Clone, Copy)]
    #[repr(C, align(512))]
    struct Block([u8; 512]);
    // SAFETY: `Block` is 512 bytes without padding, and every bit pattern is a valid value.
    unsafe impl crossdock::memory::Pod for Block {}
    // SAFETY: the dtype describes all 512 bytes as bytes, which have no byte order.
    unsafe impl crossdock::element::Element for Block {
        fn dtype() -> DType {
            DType::void(512).unwrap()
        }
    }
    let pool = Pool::default().proxy("aligned").unwrap();
    for options in [ArrayOptions::new(), ArrayOptions::from(&pool)] {
        for _ in 0..4 {
            let array = Array::<Block, 1>::zeros(([3], options)).unwrap();
            assert_eq!(array.as_ptr().addr() % 512, 0);
            assert!(array.read().is_ok());
            let array = Array::full(([3], options), Block([7; 512])).unwrap();
            assert_eq!(array.read().unwrap().view()[[2]].0, [7; 512]);
        }
    }
}
