//! Shapes, indices and strides.

use crossdock::layout::{FixedLayout, Layout, MAX_RANK, Order};
use crossdock::{Array, dispatch_rank, s};

use crate::assert_says;

fn columns<const D: usize>(shape: [usize; D]) -> FixedLayout<D> {
    FixedLayout::contiguous(shape, 1, Order::ColumnMajor).unwrap()
}

#[test]
fn a_shape_is_an_array_of_lengths() {
    let layout = FixedLayout::contiguous([2, 3, 4], 8, Order::RowMajor).unwrap();
    assert_eq!(layout.shape(), &[2, 3, 4]);
    assert_eq!(FixedLayout::contiguous([5; 3], 8, Order::RowMajor).unwrap().shape(), &[5, 5, 5]);
    assert_eq!(FixedLayout::contiguous([], 8, Order::RowMajor).unwrap().shape(), &[0usize; 0]);
}

#[test]
fn an_axis_is_put_in_front_of_others() {
    let tail = Array::<u8, 2>::zeros(([3, 4], Order::ColumnMajor)).unwrap();
    let whole: Array<u8, 3> = tail.insert_axis(0).unwrap();
    assert_eq!(whole.shape(), &[1, 3, 4]);
}

#[test]
fn the_index_of_an_elements_number_is_checked_on_every_axis() {
    let layout = columns([4, 5, 2]);
    // The first index runs fastest, as in Majel.
    assert_eq!(layout.unravel_index(23, Order::ColumnMajor).unwrap(), [3, 0, 1]);
    assert_eq!(layout.unravel_index(23, Order::RowMajor).unwrap(), [2, 1, 1]);
    let error = layout.unravel_index(40, Order::ColumnMajor).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["40", "[4, 5, 2]"]);
}

#[test]
fn lengths_are_read_by_index_and_replaced_by_making_another_layout() {
    let layout = Layout::contiguous(&[2, 3, 4], 8, Order::RowMajor).unwrap();
    assert_eq!((layout.shape()[1], layout.shape().get(3)), (3, None));
    let mut shape = layout.shape().to_vec();
    shape[1] = 30;
    assert_eq!(Layout::contiguous(&shape, 8, Order::RowMajor).unwrap().shape(), [2, 30, 4]);
}

#[test]
fn an_index_times_the_strides_is_an_offset() {
    let layout = columns([2, 3, 4]);
    assert_eq!(layout.offset_of([1, 2, 3]).unwrap(), 1 + 2 * 2 + 3 * 6);
    assert_eq!(layout.ravel_index([1, 2, 3], Order::ColumnMajor).unwrap(), 23);
    for refused in [
        layout.offset_of([2, 0, 0]).unwrap_err(),
        layout.ravel_index([0, 3, 0], Order::RowMajor).unwrap_err(),
    ] {
        assert!(refused.is_bounds());
    }
}

#[test]
fn the_product_of_a_shape_is_a_length_that_cannot_wrap() {
    assert_eq!(columns([2, 3, 4]).len(), 24);
    assert_eq!(columns([]).len(), 1);
    assert!(FixedLayout::contiguous([1 << 40, 1 << 40], 1, Order::RowMajor).unwrap_err().is_overflow());
}

#[test]
fn an_index_is_inside_or_not_on_every_axis() {
    let layout = columns([2, 3]);
    for i in 0..4 {
        for j in 0..4 {
            assert_eq!(layout.contains([i, j]), i < 2 && j < 3);
        }
    }
    assert!(!layout.to_dynamic(1).unwrap().contains(&[0]));
}

#[test]
fn a_layout_is_asked_for_its_order() {
    let layout = columns([2, 3]);
    assert!(layout.is_contiguous(1, Order::ColumnMajor) && !layout.is_contiguous(1, Order::RowMajor));
    let array = Array::<u8, 2>::zeros(([2, 3], Order::ColumnMajor)).unwrap();
    assert!(!array.slice(s![..1, ..]).unwrap().layout().is_contiguous(1, Order::ColumnMajor));
}

#[test]
fn contiguous_strides_are_those_of_a_new_layout_in_bytes() {
    assert_eq!(columns([2, 3, 4]).strides(), &[1, 2, 6]);
    let wide = FixedLayout::contiguous([2, 3, 4], 8, Order::ColumnMajor).unwrap();
    assert_eq!(wide.strides(), &[8, 16, 48]);
    let rows = FixedLayout::contiguous([2, 3, 4], 8, Order::RowMajor).unwrap();
    assert_eq!(rows.strides(), &[96, 32, 8]);
}

#[test]
fn arithmetic_of_shapes_is_that_of_numbers_and_checked() {
    let (a, b) = ([2usize, 3], [10usize, 20]);
    let add = |a: [usize; 2], b: [usize; 2]| Some([a[0].checked_add(b[0])?, a[1].checked_add(b[1])?]);
    let mul = |a: [usize; 2], b: [usize; 2]| Some([a[0].checked_mul(b[0])?, a[1].checked_mul(b[1])?]);
    assert_eq!((add(a, b), mul(a, b)), (Some([12, 23]), Some([20, 60])));
    assert_eq!((add(a, [0, usize::MAX]), mul(a, [0, usize::MAX])), (None, None));
}

#[test]
fn strides_that_nobody_uses_are_made_the_ordinary_ones() {
    let layout = FixedLayout::new([4, 1, 5], [40, 0, 8], 8).unwrap();
    assert_eq!(layout.normalized(8).strides(), &[40, 40, 8]);
}

#[test]
fn shapes_are_shown_as_rust_shows_arrays() {
    let layout = FixedLayout::contiguous([2, 3], 8, Order::RowMajor).unwrap();
    assert_eq!(format!("{:?}", layout.shape()), "[2, 3]");
    assert_eq!(format!("{layout:?}"), "FixedLayout { shape: [2, 3], strides: [24, 8] }");
}

#[test]
fn a_dynamic_shape_has_any_rank_from_0_to_64() {
    for rank in [0, 1, 9, 10, MAX_RANK] {
        assert_eq!(Layout::contiguous(&vec![1; rank], 8, Order::RowMajor).unwrap().rank(), rank);
    }
    let error = Layout::contiguous(&[1; MAX_RANK + 1], 8, Order::RowMajor).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["65", "64"]);
}

#[test]
fn static_and_dynamic_shapes_become_each_other() {
    let layout = columns([2, 3]);
    let dynamic = layout.to_dynamic(1).unwrap();
    assert_eq!(dynamic.to_fixed::<2>().unwrap(), layout);
    let error = dynamic.to_fixed::<3>().unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["rank 2", "3"]);
}

#[test]
fn dynamic_shapes_are_compared_as_slices() {
    let layout = |shape: &[usize]| Layout::contiguous(shape, 1, Order::RowMajor).unwrap();
    assert!(layout(&[2, 3]).shape() == layout(&[2, 3]).shape());
    assert!(layout(&[2, 3]).shape() != layout(&[2, 3, 1]).shape());
    assert!(layout(&[2, 3]) != layout(&[3, 2]));
}

#[test]
fn a_dynamic_shape_becomes_a_vector() {
    let layout = Layout::contiguous(&[2, 3, 4], 8, Order::RowMajor).unwrap();
    assert_eq!(layout.shape().to_vec(), vec![2, 3, 4]);
}

#[test]
fn a_dynamic_shape_tells_rank_and_length() {
    let layout = Layout::contiguous(&[2, 3, 4], 8, Order::RowMajor).unwrap();
    assert_eq!((layout.rank(), layout.len()), (3, 24));
}

#[test]
fn code_for_every_rank_is_run_by_a_macro() {
    for rank in 0..=8 {
        let layout = Layout::contiguous(&vec![2; rank], 1, Order::RowMajor).unwrap();
        let len = dispatch_rank!(layout.rank(), D => layout.to_fixed::<D>().unwrap().len()).unwrap();
        assert_eq!(len, 1 << rank);
    }
    assert_says(&dispatch_rank!(9, D => D).unwrap_err(), &["rank 9"]);
}
