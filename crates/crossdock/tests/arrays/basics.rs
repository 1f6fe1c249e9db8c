//! Typed and dynamic arrays: constructors, refusals with their numbers, and concurrent access to
//! elements.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::array::{ArrayView, ArrayViewMut};
use crossdock::buffer::Buffer;
use crossdock::element::{ByteOrder, DType, Field, ScalarKind, Value};
use crossdock::layout::{FixedLayout, Layout, Order};
use crossdock::memory::{Birth, Conflict, DeviceKind, LeaseKind, Place, Protocols};
use crossdock::view::Request;
use crossdock::{Array, Casting, DArray, Error, s};

/// `0, 1, 2, …` under a shape.
fn counted<const D: usize>(shape: [usize; D]) -> Array<i32, D> {
    let len: usize = shape.iter().product();
    Array::from_vec((0..len as i32).collect(), shape).unwrap()
}

#[track_caller]
fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

fn conflict(error: &Error) -> &Conflict {
    std::error::Error::source(error).unwrap().downcast_ref().unwrap()
}

/// An owner that reports its drop.
struct Told<T>(Vec<T>, Arc<AtomicUsize>);

impl<T> std::ops::Deref for Told<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> Drop for Told<T> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

// ===== constructors

#[test]
fn every_owner_is_adopted_where_it_lies() {
    let vec = vec![1u16, 2, 3, 4, 5, 6];
    let address = vec.as_ptr();
    let array = Array::from_vec(vec, [2, 3]).unwrap();
    assert_eq!((array.as_ptr(), array.birth(), array.is_readonly()), (address, Birth::Sole, false));
    assert_eq!(array.get([1, 0]).unwrap(), 4);

    let shared = Arc::new(vec![1u16, 2, 3, 4]);
    let array = Array::from_owner(shared.clone(), [2, 2]).unwrap();
    assert_eq!((array.as_ptr(), array.is_readonly()), (shared.as_ptr(), true));
    assert!(array.set([0, 0], 9).unwrap_err().is_read_only());

    static NUMBERS: [f64; 3] = [0.5, 1.5, 2.5];
    let array = Array::from_static(&NUMBERS, [3]).unwrap();
    assert_eq!((array.as_ptr(), array.birth()), (NUMBERS.as_ptr(), Birth::Constant));
    assert_eq!(array.read().unwrap().as_slice(), Some(&NUMBERS[..]));

    let array = Array::<u64, 2>::zeros([3, 4]).unwrap();
    assert_eq!(array.read().unwrap().as_slice(), Some(&[0; 12][..]));
    assert!(array.write().is_ok());

    let buffer = Buffer::from_vec(vec![7u32; 10]).unwrap();
    let address = buffer.as_ptr();
    let array = Array::<u32, 2>::from_buffer(buffer, [3, 3]).unwrap();
    assert_eq!((array.as_ptr().cast(), array.len(), array.nbytes()), (address, 9, 36));

    let layout = FixedLayout::new([3], [-8], 4).unwrap();
    let buffer = Buffer::from_vec(vec![0i32, 1, 2, 3, 4, 5]).unwrap();
    let array = Array::<i32, 1>::from_buffer_with_layout(buffer, layout, 20).unwrap();
    assert_eq!(array.read().unwrap().to_vec(), [5, 3, 1]);
}

#[test]
fn a_shape_of_another_number_of_elements_is_refused_with_both_numbers() {
    let error = Array::from_vec(vec![0u8; 5], [2, 3]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["[2, 3]", "6", "5"]);
    let error = Array::from_static(&[0u8; 7], [2, 3]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["6", "7"]);
    let error = Array::from_owner(Arc::new(vec![0u16; 5]), [2, 3]).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["0..12", "10 bytes"]);
    let error = Array::<u32, 1>::from_buffer(Buffer::from_vec(vec![0u8; 15]).unwrap(), [4]).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["0..16", "15 bytes"]);
    assert!(ArrayView::from_slice(&[1, 2, 3], [2, 2]).unwrap_err().is_shape());
    assert!(ArrayViewMut::from_slice(&mut [1, 2, 3], [4]).unwrap_err().is_shape());
}

/// Majel computed the size of a shape in 32 bits, so that 65536 × 65536 floats had size 0.
#[test]
fn the_number_of_elements_does_not_wrap() {
    let square = 65_536;
    let layout = Layout::contiguous(&[square, square], 4, Order::RowMajor).unwrap();
    assert_eq!((layout.len(), layout.nbytes()), (1 << 32, 1 << 34));
    let error = Array::<f32, 2>::from_buffer(Buffer::zeroed(64).unwrap(), [square, square]).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["17179869184"]);
    let error = Array::<f32, 4>::zeros([square; 4]).unwrap_err();
    assert!(error.is_overflow());
    assert_says(&error, &["65536", "4-byte"]);
    assert!(DArray::zeros(DType::F32, &[square; 4], Order::RowMajor).unwrap_err().is_overflow());
}

#[test]
fn a_view_beyond_the_memory_is_refused_at_either_end() {
    let at = |shape, strides, offset| {
        let layout = FixedLayout::<2>::new(shape, strides, 4).unwrap();
        Array::<i32, 2>::from_buffer_with_layout(Buffer::from_vec(vec![0i32; 12]).unwrap(), layout, offset)
    };
    assert!(at([3, 4], [16, 4], 0).is_ok());
    assert!(at([3, 4], [-16, 4], 32).is_ok());
    assert!(at([3, 4], [-16, -4], 44).is_ok());
    for (strides, offset, extent) in [
        ([16, 4], 1, "1..49"),
        ([20, 4], 0, "0..56"),
        ([-16, 4], 31, "-1..47"),
        ([-16, -4], 40, "-4..44"),
        ([16, -4], 12 + 4, "4..52"),
        ([16, 4], usize::MAX - 4, "18446744073709551611.."),
    ] {
        let error = at([3, 4], strides, offset).unwrap_err();
        assert!(error.is_bounds(), "{error}");
        assert_says(&error, &[extent, "48 bytes"]);
    }
    // Without elements, no byte is accessed; but element 0 must lie in the memory, or just behind
    // it.
    assert!(at([0, 4], [1 << 40, 4], 48).is_ok());
    assert!(at([0, 4], [16, 4], 49).unwrap_err().is_bounds());
}

#[test]
fn a_layout_made_for_narrower_elements_is_checked_again() {
    let layout = FixedLayout::new([1 << 61], [1], 1).unwrap();
    let buffer = Buffer::zeroed(8).unwrap();
    assert!(Array::<u64, 1>::from_buffer_with_layout(buffer, layout, 0).unwrap_err().is_overflow());
}

#[test]
fn a_dynamic_array_wants_the_items_of_its_layout_and_no_pointers() {
    let buffer = || Buffer::zeroed(64).unwrap();
    let layout = Layout::contiguous(&[4], 4, Order::RowMajor).unwrap();
    let error = DArray::from_buffer(buffer(), DType::F64, layout, 0).unwrap_err();
    assert!(error.is_dtype());
    assert_says(&error, &["float64", "8", "4"]);
    let indirect = Layout::with_suboffsets(&[2, 2], &[8, 8], &[Some(0), None], 8).unwrap();
    let error = DArray::from_buffer(buffer(), DType::F64, indirect, 0).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["Some(0)"]);
}

// ===== rows that are padded

#[test]
fn padded_rows_are_seen_by_a_row_stride() {
    let (height, width, pitch) = (3, 5, 8);
    let pixels: Vec<u8> = (0..height * pitch).map(|byte| byte as u8).collect();
    let image = Array::from_owner(Arc::new(pixels), [height, width]).unwrap();
    let image = image.with_row_stride(pitch).unwrap();
    assert_eq!((image.shape(), image.strides()), (&[3, 5], &[8, 1]));
    assert_eq!(image.read().unwrap()[[2, 4]], 20);
    assert!(!image.is_contiguous(Order::RowMajor));
}

#[test]
fn rows_that_leave_the_memory_are_refused() {
    let image = || Array::from_owner(Arc::new(vec![0u8; 20]), [3, 4]).unwrap();
    assert!(image().with_row_stride(8).is_ok());
    let error = image().with_row_stride(9).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["0..22", "20 bytes"]);
    assert!(image().with_row_stride(usize::MAX).unwrap_err().is_overflow());
    assert!(image().with_row_stride(isize::MAX as usize).unwrap_err().is_overflow());
    let point = Array::from_vec(vec![1u8], []).unwrap();
    assert!(point.with_row_stride(1).unwrap_err().is_shape());
}

// ===== elements

#[test]
fn elements_go_in_and_out_by_value_and_wrong_indices_say_which() {
    let array = counted([2, 3]);
    array.set([1, 2], -5).unwrap();
    assert_eq!(array.get([1, 2]).unwrap(), -5);
    for (index, words) in
        [([2, 0], ["2", "axis 0"]), ([0, 3], ["3", "axis 1"]), ([usize::MAX, 9], ["axis 0", "2"])]
    {
        for error in [array.get(index).unwrap_err(), array.set(index, 0).unwrap_err()] {
            assert!(error.is_bounds());
            assert_says(&error, &words);
        }
    }
    let dynamic = DArray::from(array);
    let error = dynamic.get(&[1]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["1 indices", "rank 2"]);
    assert_says(&dynamic.get(&[1, 3]).unwrap_err(), &["index 3", "axis 1", "length 3"]);
    dynamic.set(&[0, 0], &Value::from(77)).unwrap();
    assert_eq!(dynamic.get(&[0, 0]).unwrap().as_i64(), Some(77));
    let error = dynamic.set(&[0, 0], &Value::from(i64::MAX)).unwrap_err();
    assert!(error.is_value(), "{error}");
    assert_eq!(dynamic.get(&[0, 0]).unwrap().as_i64(), Some(77), "a refused value changes nothing");
}

#[test]
fn an_array_without_axes_has_one_element() {
    let point = Array::from_vec(vec![2.5f64], []).unwrap();
    assert_eq!((point.len(), point.get([]).unwrap()), (1, 2.5));
    assert_eq!(point.read().unwrap().iter().count(), 1);
    assert_eq!(DArray::from(point).get(&[]).unwrap().as_f64(), Some(2.5));
}

#[test]
fn more_than_eight_axes_are_typed_too() {
    let array = counted([2, 1, 1, 1, 3, 1, 1, 1, 1, 2]);
    let turned = array.transpose();
    assert_eq!(turned.get([1, 0, 0, 0, 0, 2, 0, 0, 0, 1]).unwrap(), 11);
    let dynamic = DArray::from(turned);
    assert_eq!(dynamic.rank(), 10);
    assert_eq!(dynamic.squeeze().unwrap().shape(), [2, 3, 2]);
    assert_eq!(Array::<i32, 10>::try_from(dynamic).unwrap().get([0; 10]).unwrap(), 0);
}

#[test]
fn more_than_64_axes_are_refused() {
    let error = DArray::zeros(DType::U8, &[1; 65], Order::RowMajor).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["65", "64"]);
    let most = DArray::zeros(DType::U8, &[1; 64], Order::RowMajor).unwrap();
    assert!(most.insert_axis(3).unwrap_err().is_unsupported());
    assert!(most.broadcast_to(&[1; 65]).unwrap_err().is_unsupported());
    let record = DType::packed_record([("pair", DType::subarray(&[2], DType::U8).unwrap())]).unwrap();
    let records = DArray::zeros(record, &[1; 64], Order::RowMajor).unwrap();
    assert!(records.field("pair").unwrap_err().is_unsupported());
}

#[test]
fn indexing_panics_outside_as_a_slice_does() {
    let array = counted([2, 3]);
    let guard = array.read().unwrap();
    assert_eq!(guard.view().get([1, 3]), None);
    let outside = std::panic::catch_unwind(|| guard[[2, 0]]).unwrap_err();
    assert_eq!(outside.downcast_ref::<String>().unwrap(), "index [2, 0] is out of bounds for shape [2, 3]");
}

// ===== other views of the same elements

#[test]
fn views_share_the_bytes_of_their_source() {
    let array = counted([3, 4]);
    let column = array.slice(s![.., 1]).unwrap();
    column.set([2], 99).unwrap();
    assert_eq!(array.get([2, 1]).unwrap(), 99);
    let wide = column.insert_axis::<2>(0).unwrap().broadcast_to([5, 3]).unwrap();
    assert_eq!((wide.strides(), wide.get([4, 2]).unwrap()), (&[0, 16], 99));
    let row = array.drop_axis::<1>(0, 2).unwrap();
    assert_eq!(row.reverse(0).unwrap().read().unwrap().to_vec(), [11, 10, 99, 8]);
    assert!(array.drop_axis::<1>(0, 3).unwrap_err().is_bounds());
    assert!(array.drop_axis::<1>(2, 0).unwrap_err().is_bounds());
    assert!(array.insert_axis::<3>(3).unwrap_err().is_bounds());
    assert_eq!(array.reshape([2, 6]).unwrap().get([1, 3]).unwrap(), 99);
    assert_eq!(array.permute([1, 0]).unwrap().get([1, 2]).unwrap(), 99);
}

#[test]
fn shapes_that_no_strides_express_are_refused() {
    let array = counted([3, 4]);
    let error = array.reshape([5, 2]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["[3, 4]", "12", "[5, 2]", "10"]);
    let error = array.transpose().reshape([12]).unwrap_err();
    assert!(error.is_layout());
    assert_says(&error, &["[4, 3]", "[4, 16]", "copy"]);
    let copy = array.transpose().to_order(Order::RowMajor).unwrap();
    assert_eq!(copy.reshape([12]).unwrap().read().unwrap().to_vec(), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    let error = array.broadcast_to([2, 4]).unwrap_err();
    assert!(error.is_shape());
    assert_says(&error, &["[3, 4]", "[2, 4]"]);
    assert!(array.permute([0, 0]).unwrap_err().is_shape());
    assert!(array.reverse(2).unwrap_err().is_bounds());
    assert_says(&array.slice(s![1..4, ..]).unwrap_err(), &["axis 0", "1..4", "3"]);
}

#[test]
fn empty_arrays_can_be_seen_in_every_way() {
    let array = Array::from_vec(Vec::<u64>::new(), [0, 4]).unwrap();
    assert!(array.is_empty() && array.read().unwrap().iter().next().is_none());
    assert_eq!(array.read().unwrap().as_slice(), Some(&[][..]));
    assert_eq!(array.write().unwrap().view_mut().iter_mut().count(), 0);
    assert_eq!(array.to_order(Order::ColumnMajor).unwrap().shape(), &[0, 4]);
    let dynamic = DArray::from(array);
    assert!(dynamic.to_shared(Order::RowMajor).unwrap().is_empty());
    assert!(dynamic.get(&[0, 0]).unwrap_err().is_bounds());
    // An unaligned element 0 does not matter without elements.
    let layout = FixedLayout::new([0], [8], 8).unwrap();
    let odd = Buffer::from_vec(vec![0u64; 2]).unwrap();
    let array = Array::<u64, 1>::from_buffer_with_layout(odd, layout, 3).unwrap();
    assert_eq!(array.read().unwrap().view().as_slice(), Some(&[][..]));
    assert_eq!(array.write().unwrap().view_mut().as_mut_slice(), Some(&mut [][..]));
}

#[test]
fn elements_of_no_bytes_are_counted_all_the_same() {
    for array in [Array::from_vec(vec![[0f64; 0]; 5], [5]).unwrap(), Array::zeros([5]).unwrap()] {
        assert_eq!((array.len(), array.nbytes(), array.strides()), (5, 0, &[0]));
        assert_eq!(array.read().unwrap().view().as_slice().map(<[_]>::len), Some(5));
        assert_eq!(array.write().unwrap().view_mut().iter_mut().count(), 5);
        assert_eq!(array.get([4]).unwrap(), [0f64; 0]);
        assert!(array.get([5]).unwrap_err().is_bounds());
        assert_eq!(array.to_order(Order::RowMajor).unwrap().len(), 5);
    }
}

#[test]
fn the_memory_of_an_array_and_its_layout_are_the_array() {
    let array = counted([3, 4]).slice(s![1.., ..;-2]).unwrap();
    let (buffer, offset) = array.buffer().unwrap();
    assert_eq!((buffer.nbytes(), offset), (7 * 4, 8));
    let again = Array::<i32, 2>::from_buffer_with_layout(buffer, *array.layout(), offset).unwrap();
    assert_eq!(again.read().unwrap().to_vec(), [7, 5, 11, 9]);
    let dynamic = DArray::from(array);
    let (buffer, offset) = dynamic.buffer().unwrap();
    let again =
        DArray::from_buffer(buffer, dynamic.dtype().clone(), dynamic.layout().clone(), offset).unwrap();
    assert_eq!(again.as_ptr(), dynamic.as_ptr());
}

// ===== records

fn packed_trades() -> DArray {
    let dtype = DType::packed_record([
        ("kind", DType::U8),
        ("price", DType::F64),
        ("codes", DType::subarray(&[2], DType::U16).unwrap()),
    ])
    .unwrap();
    let trades = DArray::zeros(dtype, &[4], Order::RowMajor).unwrap();
    for index in 0..4 {
        trades.field("price").unwrap().set(&[index], &Value::from(index as f64 + 0.5)).unwrap();
        trades.field("codes").unwrap().set(&[index, 1], &Value::from(index as u16 + 7)).unwrap();
    }
    trades
}

#[test]
fn unaligned_fields_are_had_by_value_and_not_by_reference() {
    let prices = Array::<f64, 1>::try_from(packed_trades().field("price").unwrap()).unwrap();
    assert_eq!(prices.strides(), &[13]);
    assert_eq!(prices.get([3]).unwrap(), 3.5);
    assert_eq!(prices.pin().unwrap().to_vec(), [0.5, 1.5, 2.5, 3.5]);
    prices.share().unwrap().set([0], -1.0).unwrap();
    assert_eq!(prices.pin().unwrap().values().next(), Some(-1.0));
    let mut prices = prices;
    for error in [prices.read().unwrap_err(), prices.write().unwrap_err(), prices.as_view_mut().unwrap_err()]
    {
        assert!(error.is_alignment(), "{error}");
        assert_says(&error, &["13", "8", "by value, or copy"]);
    }
    assert_eq!(prices.to_order(Order::RowMajor).unwrap().read().unwrap()[[1]], 1.5);
}

#[test]
fn a_field_that_is_not_there_is_refused_with_those_that_are() {
    let trades = packed_trades();
    let error = trades.field("volume").unwrap_err();
    assert!(error.is_dtype());
    assert_says(&error, &["\"volume\"", "kind, price, codes"]);
    let error = trades.field("price").unwrap().field("x").unwrap_err();
    assert!(error.is_dtype());
    assert_says(&error, &["float64", "\"x\""]);
    assert_eq!(trades.at("::2, .codes, :, 1").unwrap().get(&[1]).unwrap().as_u64(), Some(9));
}

#[test]
fn storing_a_record_leaves_its_padding_alone() {
    let dtype = DType::record([Field::new("a", 1, DType::U8)], 4).unwrap();
    let layout = Layout::contiguous(&[2], 4, Order::RowMajor).unwrap();
    let buffer = Buffer::from_vec((1..=8u8).collect()).unwrap();
    let array = DArray::from_buffer(buffer.clone(), dtype, layout, 0).unwrap();
    array.set(&[1], &Value::Record(vec![("a".to_owned(), Value::from(60))])).unwrap();
    assert_eq!(&buffer.read().unwrap()[..], [1, 2, 3, 4, 5, 60, 7, 8]);
}

// ===== conversions

#[test]
fn a_refused_conversion_gives_the_source_back() {
    let array = DArray::from(counted([2, 3]));
    let address = array.as_ptr();
    let rejected = Array::<f32, 2>::try_from(array).unwrap_err();
    assert!(rejected.error.is_dtype());
    assert_says(&rejected.error, &["int32", "float32"]);
    let rejected = Array::<i32, 3>::try_from(rejected.value).unwrap_err();
    assert!(rejected.error.is_shape());
    assert_says(&rejected.error, &["[2, 3]", "rank 2", "3"]);
    let mut array = Array::<i32, 2>::try_from(rejected.value).unwrap();
    assert_eq!(array.as_ptr().cast(), address);
    assert!(array.as_view_mut().is_ok(), "no handle was left behind");
}

#[test]
fn the_other_byte_order_is_another_dtype() {
    let big = DType::scalar(ScalarKind::UInt16, ByteOrder::Big).unwrap();
    let layout = Layout::contiguous(&[2], 2, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(Buffer::from_vec(vec![1u8, 2, 3, 4]).unwrap(), big, layout, 0).unwrap();
    assert_eq!(array.get(&[1]).unwrap().as_u64(), Some(0x0304));
    let rejected = Array::<u16, 1>::try_from(array).unwrap_err();
    assert!(rejected.error.is_dtype());
    assert_says(&rejected.error, &[">uint16"]);
    let native = rejected.value.cast(&DType::U16, Order::RowMajor, Casting::Checked).unwrap();
    assert_eq!(Array::<u16, 1>::try_from(native).unwrap().read().unwrap().to_vec(), [0x0102, 0x0304]);
}

#[test]
fn bools_are_not_bytes() {
    let bools = DArray::zeros(DType::BOOL, &[3], Order::RowMajor).unwrap();
    assert!(Array::<u8, 1>::try_from(bools).unwrap_err().error.is_dtype());
}

#[test]
fn a_cast_converts_every_element_or_says_which_did_not_fit() {
    let array = DArray::from(counted([2, 3]));
    let cast = array.cast(&DType::F64, Order::ColumnMajor, Casting::Checked).unwrap();
    assert_eq!((cast.shape(), cast.strides()), (&[2, 3][..], &[8, 16][..]));
    assert_eq!(Array::<f64, 2>::try_from(cast).unwrap().read().unwrap().to_vec(), [0., 1., 2., 3., 4., 5.]);
    array.set(&[1, 1], &Value::from(300)).unwrap();
    let error = array.cast(&DType::U8, Order::RowMajor, Casting::Checked).unwrap_err();
    assert!(error.is_value(), "{error}");
    assert_says(&error, &["300", "[1, 1]"]);
    let error = array.cast(&DType::U8, Order::ColumnMajor, Casting::Checked).unwrap_err();
    assert_says(&error, &["[1, 1]"]);
    let record = DType::packed_record([("x", DType::U8)]).unwrap();
    assert!(array.cast(&record, Order::RowMajor, Casting::Checked).is_err());
    assert!(array.buffer().unwrap().0.write().is_ok(), "a failed cast leaves no lease");
}

#[test]
fn records_are_cast_field_by_field() {
    let from = DType::packed_record([("a", DType::U8), ("b", DType::I16)]).unwrap();
    let to = DType::record([Field::new("a", 4, DType::F32), Field::new("b", 8, DType::I64)], 24).unwrap();
    let array = DArray::zeros(from, &[2], Order::RowMajor).unwrap();
    array.field("a").unwrap().set(&[1], &Value::from(200)).unwrap();
    array.field("b").unwrap().set(&[1], &Value::from(-3)).unwrap();
    let cast = array.cast(&to, Order::RowMajor, Casting::Checked).unwrap();
    assert_eq!(cast.field("a").unwrap().get(&[1]).unwrap().as_f64(), Some(200.0));
    assert_eq!(cast.field("b").unwrap().get(&[1]).unwrap().as_i64(), Some(-3));
}

// ===== leases

#[test]
fn mutable_access_is_refused_while_others_have_the_memory_and_says_who() {
    let mut array = counted([2, 3]);
    array.as_view_mut().unwrap()[[0, 0]] = 10;
    let view = array.export(&Request::share()).unwrap();
    let error = array.as_view_mut().unwrap_err();
    assert!(error.is_conflict());
    assert_says(&error, &["1 share lease", "MemoryView"]);
    let found = conflict(&error);
    assert_eq!((found.leases(), found.pins()), (Some((LeaseKind::Share, 1)), 0));
    assert!(found.exported().contains(Protocols::MEMORY_VIEW));
    drop(view);
    let (one, other) = (array.pin().unwrap(), array.pin().unwrap());
    assert_says(&array.as_view_mut().unwrap_err(), &["2 pin leases"]);
    drop((one, other));
    let slice = array.slice(s![0, ..]).unwrap();
    assert_says(&array.as_view_mut().unwrap_err(), &["2 handles", "exported by MemoryView"]);
    drop(slice);
    assert_eq!(array.as_view_mut().unwrap()[[0, 0]], 10);
}

#[test]
fn overlapping_elements_are_never_had_by_mutable_reference() {
    let mut broadcast = counted([3]).broadcast_to([2, 3]).unwrap();
    let guarded = broadcast.write().unwrap_err();
    let exclusive = broadcast.as_view_mut().unwrap_err();
    for error in [guarded, exclusive] {
        assert!(error.is_layout(), "{error}");
        assert_says(&error, &["[2, 3]", "[0, 4]", "copy"]);
    }
    assert_eq!(broadcast.read().unwrap()[[1, 2]], 2);
    broadcast.share().unwrap().set([0, 1], 9).unwrap();
    assert_eq!(broadcast.get([1, 1]).unwrap(), 9);
    assert!(broadcast.to_order(Order::RowMajor).unwrap().write().is_ok());
}

#[test]
fn read_only_arrays_and_what_is_made_of_them_refuse_to_be_written() {
    let array = counted([2, 3]).into_readonly();
    let mut column = array.slice(s![.., 0]).unwrap();
    assert!(column.is_readonly());
    assert!(column.write().unwrap_err().is_read_only());
    assert!(column.share().unwrap_err().is_read_only());
    assert!(column.as_view_mut().unwrap_err().is_read_only());
    assert!(column.set([0], 1).unwrap_err().is_read_only());
    let dynamic = DArray::from(column.clone());
    assert!(dynamic.set(&[0], &Value::from(1)).unwrap_err().is_read_only());
    assert!(dynamic.buffer().unwrap().0.is_readonly());
    assert_eq!(column.read().unwrap().to_vec(), [0, 3]);
}

#[test]
fn memory_that_others_may_write_is_never_had_by_reference() {
    let shared = DArray::from(counted([2, 3])).to_shared(Order::RowMajor).unwrap();
    let mut array = Array::<i32, 2>::try_from(shared).unwrap();
    for error in [array.read().unwrap_err(), array.write().unwrap_err(), array.as_view_mut().unwrap_err()] {
        assert!(error.is_conflict() && conflict(&error).is_aliased(), "{error}");
        assert_says(&error, &["another owner", "copy"]);
    }
    array.set([0, 1], 50).unwrap();
    assert_eq!(array.pin().unwrap().to_vec(), [0, 50, 2, 3, 4, 5]);
}

#[test]
fn what_one_sharer_writes_the_others_see() {
    let array = counted([4]);
    let (one, other, pinned) = (array.share().unwrap(), array.share().unwrap(), array.pin().unwrap());
    one.set([2], 77).unwrap();
    assert_eq!((other.get([2]).unwrap(), pinned.get([2]).unwrap()), (77, 77));
    assert!(one.set([4], 0).unwrap_err().is_bounds() && pinned.get([4]).unwrap_err().is_bounds());
    let error = array.read().unwrap_err();
    assert_says(&error, &["2 share leases", "1 pin lease"]);
}

#[test]
fn parts_of_one_view_are_written_side_by_side() {
    let array = counted([4, 6]);
    let mut guard = array.write().unwrap();
    let (top, bottom) = guard.view_mut().split_at(0, 2).unwrap();
    let (mut left, mut right) = top.split_at(1, 3).unwrap();
    let mut bottom = bottom.slice(s![..;-1, ..]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| left.fill(1));
        scope.spawn(|| right.fill(2));
        scope.spawn(|| bottom.iter_mut().enumerate().for_each(|(k, element)| *element = 100 + k as i32));
    });
    assert_eq!((left[[0, 0]], right[[1, 2]], bottom[[0, 0]]), (1, 2, 100));
    let expected: Vec<i32> =
        [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2].into_iter().chain(106..112).chain(100..106).collect();
    assert_eq!(guard.view().to_vec(), expected);
    let error = guard.view_mut().split_at(1, 7).unwrap_err();
    assert_says(&error, &["axis 1", "6", "7"]);
    assert!(guard.view_mut().split_at(2, 0).unwrap_err().is_bounds());
    let (none, all) = guard.view_mut().split_at(1, 0).unwrap();
    assert_eq!((none.len(), all.len()), (0, 24));
    let (all, none) = guard.view_mut().split_at(1, 6).unwrap();
    assert_eq!((all.len(), none.len()), (24, 0));
}

#[test]
fn guards_outlive_every_handle_and_release_the_memory_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let owner = Told(vec![1u8, 2, 3, 4], drops.clone());
    let array = Array::from_owner(owner, [4]).unwrap();
    let guard = array.slice(s![1..]).unwrap().read().unwrap();
    let pinned = array.pin().unwrap();
    drop(array);
    assert_eq!(guard.iter().copied().collect::<Vec<u8>>(), [2, 3, 4]);
    drop(guard);
    assert_eq!((pinned.get([3]).unwrap(), drops.load(Ordering::Relaxed)), (4, 0));
    std::thread::spawn(move || drop(pinned)).join().unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn handles_and_guards_go_to_any_thread() {
    let array = counted([64, 64]);
    let sums: HashMap<usize, i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|quarter| {
                let part = array.slice(s![16 * quarter..16 * (quarter + 1), ..]).unwrap();
                scope.spawn(move || {
                    let guard = part.read().unwrap();
                    (quarter, guard.iter().map(|&number| i64::from(number)).sum())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sums.values().sum::<i64>(), (0..4096).sum::<i64>());
    assert_eq!(sums.len(), 4);
    assert!(array.write().is_ok(), "every lease came back");
}

// ===== devices

/// Memory that claims to be on a device: a CPU access would fault.
fn on_device() -> Array<f32, 1> {
    let nowhere = std::ptr::without_provenance_mut(0x1000);
    let place = Place::new(DeviceKind::ROCM, 1);
    // SAFETY: the place is a ROCm device, so the CPU never accesses the address, and the release
    // does nothing.
    let buffer = unsafe { Buffer::from_foreign(nowhere, 64, place, Birth::Sole, || {}) }.unwrap();
    Array::from_buffer(buffer, [16]).unwrap()
}

#[test]
fn device_memory_is_sliced_and_never_touched() {
    let mut array = on_device().slice(s![..;-2]).unwrap();
    assert_eq!(
        (array.shape(), array.strides(), array.place().to_string()),
        (&[8], &[-8], "rocm:1".to_owned())
    );
    for error in [
        array.read().unwrap_err(),
        array.write().unwrap_err(),
        array.share().unwrap_err(),
        array.pin().unwrap_err(),
        array.as_view_mut().unwrap_err(),
        array.to_order(Order::RowMajor).unwrap_err(),
        DArray::from(array.clone()).to_shared(Order::RowMajor).unwrap_err(),
        DArray::from(array.clone()).cast(&DType::F64, Order::RowMajor, Casting::Checked).unwrap_err(),
    ] {
        assert!(error.is_place(), "{error}");
        assert_says(&error, &["rocm:1", "copy it to the CPU"]);
    }
    // A registered device would copy one element.
    for error in [array.get([0]).unwrap_err(), array.set([0], 1.0).unwrap_err()] {
        assert!(error.is_unsupported(), "{error}");
        assert_says(&error, &["no device copies", "rocm:1"]);
    }
}

// ===== views named by text

/// Every text yields a view or an error.
#[test]
fn no_text_makes_the_reader_of_views_panic() {
    let array = packed_trades();
    let pieces = [
        "::2",
        "...",
        ".",
        "..",
        ".price",
        ".codes",
        ".'",
        "\"",
        "'",
        ",",
        " ",
        ":",
        "-",
        "+",
        "1",
        "-1",
        "0",
        "99999999999999999999",
        "-9223372036854775808",
        "9223372036854775807",
        "newaxis",
        "None",
        "é",
        "日",
        "\u{a0}",
        "\t",
        "\0",
        "[",
        "]",
        ".kind",
        "\u{2003}",
        ";",
        ".\"kind\"",
    ];
    let mut rng = fastrand::Rng::with_seed(crossdock_testkit::seed());
    let mut named = 0;
    for _ in 0..20_000 {
        let text: String = (0..rng.usize(0..7)).map(|_| *rng.choice(&pieces).unwrap()).collect();
        if let Ok(view) = array.at(&text) {
            named += 1;
            assert!(view.rank() <= 8, "{text:?}");
        }
    }
    assert!((1_000..19_000).contains(&named), "{named} of 20000 texts named a view");
    for _ in 0..20_000 {
        let text: String = (0..rng.usize(0..12)).map(|_| rng.char(..)).collect();
        let _either = array.at(&text);
    }
}

#[test]
fn a_slice_is_seen_through_a_layout_that_stays_within_it() {
    let mut data = [0u16, 1, 2, 3, 4, 5];
    let backwards = FixedLayout::new([2, 3], [6, -2], 2).unwrap();
    let view = ArrayView::from_slice_with_layout(&data, backwards, 4).unwrap();
    assert!(view.iter().eq(&[2, 1, 0, 5, 4, 3]));
    let mut view = ArrayViewMut::from_slice_with_layout(&mut data, backwards, 4).unwrap();
    view[[1, 0]] = 50;
    assert_eq!(data, [0, 1, 2, 3, 4, 50]);

    let repeated = FixedLayout::new([4, 2], [0, 2], 2).unwrap();
    assert_eq!(ArrayView::from_slice_with_layout(&data, repeated, 8).unwrap()[[3, 1]], 50);
    assert!(ArrayViewMut::from_slice_with_layout(&mut data, repeated, 8).unwrap_err().is_layout());
    // An empty view may begin at the end, and no farther.
    let empty = FixedLayout::new([0], [2], 2).unwrap();
    assert!(ArrayView::from_slice_with_layout(&data, empty, 12).unwrap().is_empty());
    assert_eq!(ArrayView::from_slice_with_layout(&data, empty, 3).unwrap().as_slice(), Some(&[][..]));
    assert!(ArrayView::from_slice_with_layout(&data, empty, 13).unwrap_err().is_bounds());

    let refused = |layout: FixedLayout<1>, offset| {
        let error = ArrayView::from_slice_with_layout(&data, layout, offset).unwrap_err();
        assert_eq!(
            ArrayViewMut::from_slice_with_layout(&mut data.clone(), layout, offset).unwrap_err().is_bounds(),
            error.is_bounds()
        );
        error
    };
    let row = FixedLayout::contiguous([3], 2, Order::RowMajor).unwrap();
    assert!(refused(row, 8).to_string().contains("8..14"));
    assert!(refused(FixedLayout::new([3], [-2], 2).unwrap(), 2).is_bounds());
    assert!(refused(row, usize::MAX).is_bounds());
    assert!(refused(row, 1).is_alignment());
    assert!(refused(FixedLayout::new([3], [3], 2).unwrap(), 0).is_alignment());
    let of_bytes = FixedLayout::new([2], [isize::MAX - 1], 1).unwrap();
    assert!(refused(of_bytes, 0).is_overflow());
}

#[test]
fn dates_are_cast_to_other_units_as_numpy_casts_them() {
    use crossdock::element::{NAT, TimeBase, TimeUnit};
    let days = Array::from_vec(vec![0i64, 19_723, -1, NAT], [4]).unwrap();
    let (buffer, _) = DArray::from(days).buffer().unwrap();
    let layout = Layout::contiguous(&[4], 8, Order::RowMajor).unwrap();
    let days = DArray::from_buffer(buffer, DType::datetime(TimeUnit::DAY), layout, 0).unwrap();
    let (month, seconds) = (TimeUnit::one(TimeBase::Month), DType::datetime(TimeUnit::SECOND));
    let shown = |array: &DArray| array.to_string();
    let to = |dtype: &DType, casting| days.cast(dtype, Order::RowMajor, casting);
    assert_eq!(
        shown(&to(&seconds, Casting::Checked).unwrap()),
        "['1970-01-01T00:00:00' '2024-01-01T00:00:00' '1969-12-31T00:00:00'\n                 'NaT']"
    );
    let error = to(&DType::datetime(month), Casting::Checked).unwrap_err();
    assert_eq!(
        error.to_string(),
        "element [2]: 1969-12-31 (datetime64[D]) does not fit datetime64[M]: it is not a whole number of that unit"
    );
    let months = to(&DType::datetime(month).swapped(), Casting::Saturating).unwrap();
    assert_eq!(shown(&months), "['1970-01' '2024-01' '1969-12'     'NaT']");
}

#[test]
fn saturating_floats_become_the_integer_nearer_to_zero() {
    let floats =
        DArray::from(Array::from_vec(vec![0.841f64, -1.5, 2.999, 300.7, -300.7, f64::NAN], [6]).unwrap());
    let bytes = floats.cast(&DType::I8, Order::RowMajor, Casting::Saturating).unwrap();
    assert_eq!(bytes.to_string(), "[   0   -1    2  127 -128    0]");
}
