//! Arrays of a static type and rank.

use crossdock::array::ArrayOptions;
use crossdock::buffer::Buffer;
use crossdock::layout::{FixedLayout, Order};
use crossdock::memory::{Allocation, Place};
use crossdock::{Array, DArray, s};

use crate::{bytes, gpu};

/// `a[i][j] = 10 i + j`.
fn table() -> Array<i32, 2> {
    Array::from_fn([2, 3], |[i, j]| (10 * i + j) as i32).unwrap()
}

#[test]
fn new_storage_is_zeroed_or_of_a_type_that_is_no_array_yet() {
    assert!(Array::<f32, 1>::zeros([0]).unwrap().is_empty());
    let zeros = Array::<f32, 2>::zeros(([2, 3], Order::ColumnMajor)).unwrap();
    assert_eq!(zeros.get([1, 2]).unwrap(), 0.0);
    let there = Array::<f32, 2>::zeros(([2, 3], gpu(0))).unwrap();
    assert_eq!((there.place(), bytes(&there.into())), (gpu(0), vec![0; 24]));
    let filled = Array::<f32, 2>::uninit([2, 3]).unwrap().fill(1.5);
    assert_eq!(filled.get([1, 2]).unwrap(), 1.5);
}

#[test]
fn an_array_over_an_allocation_has_strides_and_an_offset_that_are_checked() {
    let memory = Buffer::from(Allocation::new(24, Place::CPU).unwrap());
    let rows_of_four = FixedLayout::new([3, 2], [8, -2], 2).unwrap();
    let array = Array::<i16, 2>::from_buffer_with_layout(memory.clone(), rows_of_four, 4).unwrap();
    assert_eq!(array.as_ptr().addr() - memory.address(), 4);
    assert!(Array::<i16, 2>::from_buffer_with_layout(memory, rows_of_four, 1).unwrap_err().is_bounds());
}

#[test]
fn an_array_over_an_allocation_without_strides_lies_in_an_order() {
    let memory = Allocation::new(24, Place::CPU).unwrap();
    let array = Array::<i32, 2>::from_buffer_in_order(memory, [2, 3], Order::ColumnMajor).unwrap();
    assert_eq!(array.strides(), &[4, 8]);
}

#[test]
fn elements_are_had_and_set_by_value_with_their_index_checked() {
    let array = table();
    array.set([1, 2], 99).unwrap();
    assert_eq!(array.get([1, 2]).unwrap(), 99);
    assert!(array.get([2, 0]).unwrap_err().is_bounds() && array.set([0, 3], 1).unwrap_err().is_bounds());
}

#[test]
fn the_address_of_an_element_is_the_arrays_and_an_offset() {
    let array = table();
    let offset = array.layout().offset_of([1, 2]).unwrap();
    let read = array.read().unwrap();
    assert_eq!(
        array.as_ptr().addr().wrapping_add_signed(offset),
        std::ptr::from_ref(&read.view()[[1, 2]]).addr()
    );
}

#[test]
fn an_array_tells_what_it_is() {
    let array = table();
    assert_eq!((array.shape(), array.strides(), array.len()), (&[2, 3], &[12, 4], 6));
    assert_eq!(array.place(), Place::CPU);
    let (buffer, offset) = array.buffer().unwrap();
    assert_eq!((buffer.address() + offset, buffer.nbytes()), (array.as_ptr().addr(), 24));
}

#[test]
fn an_array_is_contiguous_in_an_order() {
    let array = table();
    assert!(array.is_contiguous(Order::RowMajor) && !array.is_contiguous(Order::ColumnMajor));
    assert!(array.transpose().is_contiguous(Order::ColumnMajor));
}

#[test]
fn strides_are_normalised_or_elements_moved_together_where_that_is_asked_for() {
    let column = table().slice(s![.., ..1]).unwrap();
    assert_eq!(column.strides(), &[12, 4]);
    assert_eq!(column.layout().normalized(4).strides(), &[12, 4]);
    let together = column.to_order(Order::RowMajor).unwrap();
    assert_eq!((together.strides(), together.get([1, 0]).unwrap()), (&[4, 4], 10));
}

#[test]
fn the_dtype_and_the_rank_are_told() {
    let array = Array::<f32, 2>::zeros([2, 3]).unwrap();
    assert_eq!(format!("{} {}", array.dtype(), array.rank()), "float32 2");
    assert_eq!(Array::<i16, 1>::zeros([2]).unwrap().dtype().to_string(), "int16");
}

#[test]
fn another_shape_of_the_same_elements_is_a_view() {
    let array = table();
    let tall = array.reshape([3, 2]).unwrap();
    assert_eq!((tall.as_ptr(), tall.get([2, 1]).unwrap()), (array.as_ptr(), 12));
    assert!(array.reshape([4]).unwrap_err().is_shape());
}

#[test]
fn all_elements_in_one_axis_are_a_view_where_strides_allow_it() {
    let array = table();
    let flat = array.flatten().unwrap();
    assert_eq!(flat.as_ptr(), array.as_ptr());
    assert_eq!(flat.read().unwrap().to_vec(), [0, 1, 2, 10, 11, 12]);
}

#[test]
fn a_slice_has_a_start_a_stop_and_a_step_for_each_axis() {
    let array = Array::from_fn([6, 8], |[i, j]| (10 * i + j) as i32).unwrap();
    let part = array.slice(s![1..5;2, ..;-3]).unwrap();
    assert_eq!((part.shape(), part.strides()), (&[2, 3], &[64, -12]));
    assert_eq!(part.read().unwrap().to_vec(), [17, 14, 11, 37, 34, 31]);
    assert!(array.slice(s![1..7, ..]).unwrap_err().is_bounds());
}

#[test]
fn two_handles_on_the_same_elements_have_one_address_and_one_layout() {
    let is_same = |a: &Array<i32, 2>, b: &Array<i32, 2>| a.as_ptr() == b.as_ptr() && a.layout() == b.layout();
    let array = table();
    assert!(is_same(&array, &array.clone()));
    assert!(!is_same(&array, &table()) && !is_same(&array, &array.slice(s![.., 1..]).unwrap()));
}

#[test]
fn a_vector_is_adopted_or_goes_to_a_place() {
    let numbers = vec![1.5f32, 2.5, 3.5];
    let address = numbers.as_ptr();
    let array = Array::from_vec(numbers, [3]).unwrap();
    assert_eq!(array.as_ptr(), address);
    let read = array.read().unwrap();
    let there = Array::from_fn(([3], ArrayOptions::from(gpu(0))), |index| read.view()[index]).unwrap();
    assert_eq!(there.place(), gpu(0));
    assert_eq!(bytes(&DArray::from(there)), bytes(&DArray::from(array.clone())));
}
