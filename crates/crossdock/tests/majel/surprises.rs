//! Surprising or unchecked behaviour of Majel, and the behaviour here.

use crossdock::array::{Native, Visitor};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock::layout::{FixedLayout, Layout, Order};
use crossdock::memory::{Allocation, Place, default_place};
use crossdock::{Array, Casting, DArray, s};

use crate::{DEFAULT_PLACE, assert_says, bytes, gpu};

fn table(order: Order) -> Array<i32, 2> {
    Array::from_fn(([2, 3], order), |[i, j]| (10 * i + j) as i32).unwrap()
}

#[test]
fn the_order_is_row_major_and_column_major_is_one_argument_away() {
    let in_memory = |array: Array<i32, 2>| {
        let memory = array.buffer().unwrap().0;
        memory.read().unwrap().as_slice_of::<i32>().unwrap().to_vec()
    };
    assert_eq!(in_memory(table(Order::ColumnMajor)), [0, 10, 1, 11, 2, 12]);
    assert_eq!(in_memory(table(Order::RowMajor)), [0, 1, 2, 10, 11, 12]);
    // Indices do not depend on the order of the elements in memory.
    assert_eq!(table(Order::ColumnMajor).read().unwrap().to_vec(), [0, 1, 2, 10, 11, 12]);
}

#[test]
fn axes_of_length_1_have_ordinary_strides_and_do_not_count() {
    let layout = FixedLayout::contiguous([10, 1, 10], 1, Order::ColumnMajor).unwrap();
    assert_eq!(layout.strides(), &[1, 10, 10]);
    for stride in [0, 4, -77] {
        let layout = FixedLayout::new([4, 1, 5], [1, stride, 4], 1).unwrap();
        assert!(layout.is_contiguous(1, Order::ColumnMajor), "{stride}");
    }
}

#[test]
fn a_product_that_does_not_fit_is_an_error() {
    let layout = FixedLayout::contiguous([65_536, 65_536], 1, Order::RowMajor).unwrap();
    assert_eq!(layout.len(), 4_294_967_296);
    let error = Layout::contiguous(&[65_536; 4], 1, Order::RowMajor).unwrap_err();
    assert!(error.is_overflow());
    assert_says(&error, &["65536"]);
}

#[test]
fn an_element_that_is_not_there_has_no_index_at_either_end() {
    // A negative number is not a `usize`: it does not compile.
    let layout = FixedLayout::contiguous([4, 5, 2], 1, Order::ColumnMajor).unwrap();
    for number in [40, 41, usize::MAX] {
        assert!(layout.unravel_index(number, Order::ColumnMajor).unwrap_err().is_bounds());
        assert!(
            layout.to_dynamic(1).unwrap().unravel_index(number, Order::RowMajor).unwrap_err().is_bounds()
        );
    }
}

#[test]
fn there_are_arrays_without_axes_and_with_more_than_nine() {
    let point = DArray::full(DType::F32, &[], 2, Order::RowMajor).unwrap();
    assert_eq!((point.len(), point.get(&[]).unwrap()), (1, Value::Float(2.0)));
    let many = DArray::full(DType::F32, &[1; 12], 2, Order::RowMajor).unwrap();
    assert_eq!(many.get(&[0; 12]).unwrap(), Value::Float(2.0));
    let error = DArray::zeros(DType::F32, &[1; 65], Order::RowMajor).unwrap_err();
    assert_says(&error, &["rank 65", "64"]);
}

#[test]
fn a_view_that_is_larger_than_its_memory_is_refused() {
    let memory = Buffer::from(Allocation::new(24, Place::CPU).unwrap());
    let error = Array::<f32, 2>::from_buffer(memory.clone(), [20, 30]).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["0..2400", "0..24"]);
    let error = DArray::from_buffer_in_order(memory, DType::F32, &[20, 30], Order::RowMajor).unwrap_err();
    assert!(error.is_bounds());
}

#[test]
fn an_index_outside_on_any_axis_is_refused() {
    let array = table(Order::ColumnMajor);
    for (index, axis) in [([5, 5], 0), ([0, 3], 1), ([2, 0], 0), ([usize::MAX, 0], 0)] {
        let axis = format!("axis {axis}");
        assert_says(&array.get(index).unwrap_err(), &["out of bounds", &axis]);
        assert_says(&array.set(index, 1).unwrap_err(), &["out of bounds", &axis]);
        assert_says(&array.layout().offset_of(index).unwrap_err(), &["out of bounds", &axis]);
    }
}

#[test]
fn an_index_of_another_rank_is_refused_with_both() {
    let array = DArray::from(table(Order::RowMajor));
    for error in [array.get(&[0]).unwrap_err(), array.set(&[0, 0, 0], &1.into()).unwrap_err()] {
        assert!(error.is_shape());
        assert_says(&error, &["rank 2"]);
    }
}

#[test]
fn no_element_is_seen_that_was_not_written() {
    let fresh = Array::<u64, 1>::uninit([1000]).unwrap().fill_with(|[i]| i as u64);
    assert!(fresh.read().unwrap().iter().copied().eq(0..1000));
    for place in [Place::CPU, gpu(0)] {
        for _ in 0..3 {
            let zeros = DArray::zeros(DType::U64, &[1000], place).unwrap();
            assert_eq!(bytes(&zeros), vec![0; 8000]);
        }
    }
}

#[test]
fn an_array_that_is_read_only_stays_as_it_is_while_it_is_read() {
    let array = table(Order::RowMajor);
    let constant = array.clone().into_readonly();
    assert!(constant.set([0, 0], 1).unwrap_err().is_read_only());
    // Another handle may write, but not during a read.
    let reading = constant.read().unwrap();
    assert!(array.set([0, 0], 1).unwrap_err().is_conflict());
    assert_eq!(reading.view()[[0, 0]], 0);
    drop(reading);
    array.set([0, 0], 1).unwrap();
    assert_eq!(constant.get([0, 0]).unwrap(), 1);
}

#[test]
fn what_normalises_returns_what_it_made() {
    let layout = FixedLayout::new([1, 3], [0, 4], 4).unwrap();
    assert_eq!(layout.normalized(4).strides(), &[12, 4]);
}

#[test]
fn the_rank_is_the_rank() {
    assert_eq!(table(Order::RowMajor).rank(), 2);
    assert_eq!(Array::<u8, 0>::zeros([]).unwrap().rank(), 0);
}

#[test]
fn what_no_strides_express_is_refused_with_a_word_on_what_to_do() {
    let holes = table(Order::RowMajor).slice(s![.., ..2]).unwrap();
    let error = holes.reshape([4]).unwrap_err();
    assert!(error.is_layout());
    assert_says(&error, &["[2, 2]", "[4]", "copy"]);
    let error = holes.reshape([3, 2]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["4", "6"]);
    // Axes that can be merged are reshaped although the array is not contiguous.
    let padded = Array::<i32, 2>::zeros([4, 6]).unwrap().slice(s![.., ..4]).unwrap();
    assert_eq!(padded.reshape([2, 2, 4]).unwrap().strides(), &[48, 24, 4]);
}

#[test]
fn an_index_in_a_slice_drops_its_axis_and_a_range_keeps_it() {
    let array = table(Order::RowMajor);
    let (row, rows) = (array.slice(s![1, ..]).unwrap(), array.slice(s![1..2, ..]).unwrap());
    assert_eq!((row.shape(), rows.shape()), (&[3], &[1, 3]));
    assert!(array.slice(s![..;0, ..]).is_err());
}

#[test]
fn every_dtype_can_be_in_a_dynamic_array() {
    for dtype in
        [DType::I32, DType::BOOL, DType::BF16, DType::C128, DType::bytes(5).unwrap(), DType::U16.swapped()]
    {
        let array = DArray::zeros(dtype.clone(), &[2; 7], Order::RowMajor).unwrap();
        assert_eq!((array.dtype(), array.rank(), array.len()), (&dtype, 7, 128));
    }
}

#[test]
fn the_tag_is_no_value_and_the_value_is_another_argument() {
    let zeros = DArray::zeros(DType::F32, &[2], Order::RowMajor).unwrap();
    assert_eq!(zeros.get(&[1]).unwrap(), Value::Float(0.0));
    let sevens = DArray::full(DType::F32, &[2], 7, Order::RowMajor).unwrap();
    assert_eq!(sevens.get(&[1]).unwrap(), Value::Float(7.0));
}

#[test]
fn memory_for_strides_is_as_large_as_they_reach() {
    let padded = Layout::new(&[2, 3], &[20, 4], 4).unwrap();
    let array = DArray::zeros_with_layout(DType::F32, padded, Place::CPU).unwrap();
    assert_eq!(array.buffer().unwrap().0.nbytes(), 32);
    array.set(&[1, 2], &Value::Float(1.0)).unwrap();
    let huge = Layout::new(&[2], &[isize::MAX - 4], 4).unwrap();
    assert!(DArray::zeros_with_layout(DType::F32, huge, Place::CPU).unwrap_err().is_out_of_memory());
    assert!(Layout::new(&[3], &[isize::MAX / 2], 4).unwrap_err().is_overflow());
}

#[test]
fn negative_strides_are_given_with_the_offset_of_element_0() {
    let memory = Buffer::from_vec((0..6).collect::<Vec<i32>>()).unwrap();
    let backwards = FixedLayout::new([6], [-4], 4).unwrap();
    let array = Array::<i32, 1>::from_buffer_with_layout(memory.clone(), backwards, 20).unwrap();
    assert_eq!(array.read().unwrap().to_vec(), [5, 4, 3, 2, 1, 0]);
    for offset in [0, 16, 21, 24] {
        let error = Array::<i32, 1>::from_buffer_with_layout(memory.clone(), backwards, offset).unwrap_err();
        assert!(error.is_bounds());
    }
}

#[test]
fn memory_that_is_not_to_be_had_is_an_error_and_not_the_end_of_the_process() {
    assert!(Allocation::new(1 << 62, Place::CPU).unwrap_err().is_out_of_memory());
    assert!(Array::<u8, 1>::zeros([1 << 62]).unwrap_err().is_out_of_memory());
    assert!(Array::<u8, 1>::uninit([1 << 62]).unwrap_err().is_out_of_memory());
}

#[test]
fn an_allocation_of_no_bytes_has_an_address_and_can_be_on_a_device() {
    for place in [Place::CPU, gpu(0)] {
        let empty = Allocation::new(0, place).unwrap();
        assert!(!empty.ptr().is_null() && empty.nbytes() == 0);
        let array = Array::<f64, 2>::from_buffer(empty, [0, 3]).unwrap();
        assert!(array.is_empty());
    }
}

#[test]
fn a_pointer_of_others_comes_with_its_length() {
    let mut theirs = [0f32; 6];
    // SAFETY: `theirs` has 24 bytes and outlives the buffer, which is its only user meanwhile.
    let buffer = unsafe { Buffer::non_owned(theirs.as_mut_ptr().cast(), 24, Place::CPU) }.unwrap();
    assert!(Array::<f32, 2>::from_buffer(buffer.clone(), [2, 3]).is_ok());
    assert!(Array::<f32, 2>::from_buffer(buffer, [2, 4]).unwrap_err().is_bounds());
}

#[test]
fn the_default_place_is_the_host_and_typed_arrays_do_not_go_by_it() {
    let _alone = DEFAULT_PLACE.lock().unwrap();
    assert_eq!(default_place(), Place::CPU);
    let before = crossdock::memory::set_default_place(gpu(0));
    let (typed, dynamic) = (Array::<u8, 1>::zeros([3]), DArray::zeros(DType::U8, &[3], default_place()));
    crossdock::memory::set_default_place(before);
    assert_eq!((typed.unwrap().place(), dynamic.unwrap().place()), (Place::CPU, gpu(0)));
}

#[test]
fn a_cast_that_loses_an_element_says_which() {
    let array = DArray::from_vec(vec![1.0, 2.0, 2.5, 3.5], &[2, 2]).unwrap();
    let error = array.cast(&DType::I32, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.is_value());
    assert_says(&error, &["[1, 0]", "2.5", "int32"]);
}

#[test]
fn a_wrong_type_or_rank_is_an_error_that_loses_nothing() {
    struct Any;
    impl Visitor for Any {
        type Output = ();
        fn visit<T: Native, const D: usize>(self, _: Array<T, D>) {}
    }
    let array = DArray::full(DType::F16, &[3], 5, Order::RowMajor).unwrap();
    let address = array.as_ptr();
    let refused = Array::<f32, 1>::try_from(array).unwrap_err();
    assert_says(&refused.error, &["float16", "float32"]);
    let refused = refused.value.visit(Any).unwrap_err();
    assert_says(&refused.error, &["float16", "rank 1"]);
    assert_eq!(refused.value.as_ptr(), address);
}
