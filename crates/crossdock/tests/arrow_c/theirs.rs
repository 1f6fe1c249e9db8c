//! `arrow-rs` as the counterpart: its structs equal this library's, bit for bit.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array as _, ArrayRef, Float64Array, Int32Array, StructArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, Exported, Imported};
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, Protocols};
use crossdock::view::CopyPolicy;
use crossdock::{Array, DArray, s};

use crate::{options, trade};

/// An export of this library as arrow-rs structs. Both declare the structs of the same header.
pub(crate) fn to_theirs(exported: Exported<ArrowArray>) -> (ArrayData, Field) {
    let (schema, array) = exported.into_raw();
    // SAFETY: both types are the C struct `ArrowArray` of the specification, and the value is
    // moved.
    let array = unsafe { std::mem::transmute::<ArrowArray, FFI_ArrowArray>(array) };
    // SAFETY: both types are the C struct `ArrowSchema` of the specification, and the value is
    // moved.
    let schema = unsafe { std::mem::transmute::<ArrowSchema, FFI_ArrowSchema>(schema) };
    let field = Field::try_from(&schema).unwrap();
    // SAFETY: the library exports a column as the specification requires, and the schema matches.
    (unsafe { from_ffi(array, &schema) }.unwrap(), field)
}

/// Imports an export of `arrow-rs`.
fn from_theirs(data: &ArrayData, field: &Field) -> crossdock::Result<Imported> {
    let (mut array, _) = to_ffi(data).unwrap();
    let mut schema = FFI_ArrowSchema::try_from(field).unwrap();
    // SAFETY: both structs were exported just now; the import marks them as moved, so their drops
    // release nothing.
    unsafe { arrow::take_over((&raw mut schema).cast(), (&raw mut array).cast()) }
}

fn numbers() -> Int32Array {
    (0..24).collect::<Vec<i32>>().into()
}

fn item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Int32, true))
}

#[test]
fn a_column_of_ours_is_theirs_until_they_drop_it() {
    let ours = Array::from_vec(vec![1.5f64, 2.5, 3.5], [3]).unwrap();
    let copied = copied_bytes_here();
    let (data, field) = to_theirs(arrow::export(&ours, &options().name("price")).unwrap());
    assert_eq!(
        (field.name().as_str(), field.data_type(), field.is_nullable()),
        ("price", &DataType::Float64, false)
    );
    data.validate_full().unwrap();
    assert_eq!(data.buffers()[0].as_ptr(), ours.as_ptr().cast());
    let theirs = Float64Array::from(data);
    assert_eq!(theirs.values(), &[1.5, 2.5, 3.5]);
    assert_eq!((theirs.null_count(), copied_bytes_here()), (0, copied));
    let slice = theirs.slice(1, 2);
    drop(theirs);
    let error = ours.write().unwrap_err();
    assert!(error.to_string().contains("Arrow"), "{error}");
    assert!(ours.exported().contains(Protocols::ARROW));
    drop(slice);
    ours.write().unwrap();
}

#[test]
fn a_column_of_theirs_is_ours_until_the_last_handle_goes() {
    let theirs = numbers();
    let buffer = theirs.values().inner().clone();
    let (before, copied) = (buffer.strong_count(), copied_bytes_here());
    let data = theirs.slice(3, 20).to_data();
    let imported = from_theirs(&data, &Field::new("numbers", DataType::Int32, true)).unwrap();
    drop(data);
    assert_eq!(imported.name(), "numbers");
    let ours = imported.into_array().unwrap();
    assert_eq!((ours.shape(), ours.birth(), ours.is_readonly()), (&[20][..], Birth::Constant, true));
    assert_eq!(ours.as_ptr().addr(), buffer.as_ptr().addr() + 12);
    let slice = Array::<i32, 1>::try_from(ours.slice(s![4..6]).unwrap()).unwrap();
    drop(ours);
    assert_eq!(buffer.strong_count(), before + 1);
    assert_eq!(slice.read().unwrap().as_slice(), Some(&[7, 8][..]));
    assert!(slice.write().unwrap_err().is_read_only() && slice.share().is_err());
    drop(slice);
    assert_eq!((buffer.strong_count(), copied_bytes_here()), (before, copied));
}

#[test]
fn lists_of_theirs_are_axes_and_every_offset_counts() {
    let pairs = DataType::FixedSizeList(item(), 2);
    let inner = ArrayData::builder(pairs.clone()).len(10).add_child_data(numbers().slice(4, 20).to_data());
    let rows = DataType::FixedSizeList(Arc::new(Field::new("item", pairs, true)), 2);
    let outer = ArrayData::builder(rows.clone()).len(4).add_child_data(inner.build().unwrap().slice(2, 8));
    let data = outer.build().unwrap().slice(2, 2);
    let ours = from_theirs(&data, &Field::new("rows", rows, true)).unwrap().into_array().unwrap();
    let ours = Array::<i32, 3>::try_from(ours).unwrap();
    assert_eq!(ours.shape(), &[2, 2, 2]);
    let first = 4 + 2 * 2 + 2 * 4;
    assert!(ours.read().unwrap().iter().copied().eq(first..first + 8));
}

#[test]
fn nulls_of_theirs_are_refused_with_their_number_or_carried() {
    let field = Field::new("numbers", DataType::Int32, true);
    let theirs: Int32Array = (0..20).map(|i| (i % 3 != 0).then_some(i)).collect();
    let data = theirs.slice(5, 10).to_data();
    let error = from_theirs(&data, &field).unwrap().into_array().unwrap_err();
    assert!(error.is_value() && error.to_string().contains("3 of 10"), "{error}");
    let (array, valid) = from_theirs(&data, &field).unwrap().into_array_with_validity().unwrap();
    let valid = valid.unwrap();
    assert_eq!((array.shape(), valid.shape(), valid.dtype()), (&[10][..], &[10][..], &DType::BOOL));
    for i in 0..10 {
        assert_eq!(valid.get(&[i]).unwrap().as_bool(), Some((5 + i) % 3 != 0));
    }
    // A slice without nulls has a bitmap, too.
    let data = theirs.slice(1, 2).to_data();
    assert!(from_theirs(&data, &field).unwrap().into_array().is_ok());
    let (_, valid) = from_theirs(&data, &field).unwrap().into_array_with_validity().unwrap();
    assert!(valid.is_none());
}

#[test]
fn nulls_of_ours_are_theirs() {
    let ours = Array::from_vec((0..20).collect::<Vec<i32>>(), [20]).unwrap();
    let mask: Vec<u8> = (0..20).map(|i| u8::from(i % 3 != 0)).collect();
    let mask = DArray::from_vec(mask, &[20]).unwrap().view_as(&DType::BOOL).unwrap();
    let (data, field) = to_theirs(arrow::export(&ours, &options().validity(mask)).unwrap());
    data.validate_full().unwrap();
    assert!(field.is_nullable());
    assert_eq!(data.buffers()[0].as_ptr(), ours.as_ptr().cast());
    let expected: Int32Array = (0..20).map(|i| (i % 3 != 0).then_some(i)).collect();
    assert_eq!(Int32Array::from(data), expected);
}

#[test]
fn nulls_among_lists_make_all_their_elements_null() {
    let pairs = DataType::FixedSizeList(item(), 3);
    let theirs: Int32Array = (0..12).map(|i| (i != 7).then_some(i)).collect();
    let nulls = NullBuffer::from(vec![true, false, true, true]);
    let data = ArrayData::builder(pairs.clone()).len(4).add_child_data(theirs.to_data()).nulls(Some(nulls));
    let data = data.build().unwrap();
    let field = Field::new("pairs", pairs, true);
    let (array, valid) = from_theirs(&data, &field).unwrap().into_array_with_validity().unwrap();
    assert_eq!(array.shape(), [4, 3]);
    let valid = valid.unwrap();
    for (i, j) in (0..4).flat_map(|i| (0..3).map(move |j| (i, j))) {
        assert_eq!(valid.get(&[i, j]).unwrap().as_bool(), Some(i != 1 && (i, j) != (2, 1)));
    }
}

#[test]
fn a_struct_of_theirs_is_columns_in_place_or_records_by_a_copy() {
    let kinds: ArrayRef = Arc::new(Int32Array::from(vec![7, 8, 9]));
    let prices: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5, 3.5]));
    let theirs = StructArray::from(vec![
        (Arc::new(Field::new("kind", DataType::Int32, true)), kinds.clone()),
        (Arc::new(Field::new("price", DataType::Float64, true)), prices),
    ]);
    let data = theirs.slice(1, 2).to_data();
    let field = Field::new("", data.data_type().clone(), true);
    let error = from_theirs(&data, &field).unwrap().into_array().unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("2 columns"), "{error}");

    let copied = copied_bytes_here();
    let imported = from_theirs(&data, &field).unwrap();
    assert_eq!(imported.child_names(), Some(vec!["kind", "price"]));
    let columns = imported.into_columns().unwrap();
    assert_eq!(copied_bytes_here(), copied);
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["kind", "price"]);
    assert_eq!(columns[0].1.get(&[0]).unwrap().to_string(), "8");
    assert_eq!(columns[0].1.as_ptr().addr(), kinds.to_data().buffers()[0].as_ptr().addr() + 4);

    let records = from_theirs(&data, &field).unwrap().into_records().unwrap();
    assert_eq!(copied_bytes_here() - copied, 24);
    assert_eq!(records.dtype().to_string(), "{kind: int32 @0, price: float64 @4; 12}");
    assert_eq!(records.get(&[1]).unwrap().to_string(), "(9, 3.5)");
}

#[test]
fn tensors_of_ours_are_lists_with_the_name_of_the_extension() {
    let ours = Array::from_vec((0..24).collect::<Vec<i32>>(), [2, 3, 4]).unwrap().permute([0, 2, 1]).unwrap();
    let (data, field) = to_theirs(arrow::export(&ours, &options()).unwrap());
    data.validate_full().unwrap();
    assert_eq!(field.data_type(), &DataType::FixedSizeList(item(), 12));
    assert_eq!(field.extension_type_name(), Some("arrow.fixed_shape_tensor"));
    assert_eq!(field.extension_type_metadata(), Some(r#"{"shape":[3,4],"permutation":[1,0]}"#));
    let back = from_theirs(&data, &field).unwrap().into_array().unwrap();
    assert_eq!((back.shape(), back.strides()), (&[2, 4, 3][..], &[48, 4, 16][..]));
    assert_eq!(back.as_ptr(), ours.as_ptr().cast());
    // A consumer that does not know the name sees one axis.
    let plain = field.with_metadata(HashMap::<String, String>::new());
    assert_eq!(from_theirs(&data, &plain).unwrap().into_array().unwrap().shape(), [2, 12]);
}

#[test]
fn records_of_ours_are_a_struct_of_theirs() {
    let ours = DArray::from_columns(&[
        ("price", &DArray::from_vec(vec![1.5f64, 2.5], &[2]).unwrap()),
        ("kind", &DArray::from_vec(vec![7u8, 8], &[2]).unwrap()),
    ])
    .unwrap();
    assert_eq!(*ours.dtype(), trade());
    let exported = arrow::export(&ours, &options().copy(CopyPolicy::IfNeeded)).unwrap();
    assert_eq!(exported.copied_nbytes(), 18);
    let (data, field) = to_theirs(exported);
    data.validate_full().unwrap();
    let theirs = StructArray::from(data.clone());
    assert_eq!(theirs.column_names(), ["price", "kind"]);
    assert_eq!(theirs.column(0).to_data(), Float64Array::from(vec![1.5, 2.5]).to_data());
    let back = from_theirs(&data, &field).unwrap().into_records().unwrap();
    assert!(back.equals(&ours).unwrap());
}

#[test]
fn a_child_may_be_moved_away_from_its_parent() {
    let ours = DArray::zeros(trade(), &[4], Order::RowMajor).unwrap();
    let (data, _) = to_theirs(arrow::export(&ours, &options().copy(CopyPolicy::Always)).unwrap());
    let column = make_array(data.child_data()[0].clone());
    drop(data);
    assert_eq!(column.len(), 4);
}

#[test]
fn every_type_of_ours_is_one_of_theirs_and_back() {
    use crossdock::element::TimeUnit;
    for dtype in [
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::BOOL,
        DType::void(5).unwrap(),
        DType::datetime(TimeUnit::SECOND),
        DType::datetime(TimeUnit::MILLISECOND),
        DType::datetime(TimeUnit::MICROSECOND),
        DType::datetime(TimeUnit::NANOSECOND),
        DType::timedelta(TimeUnit::SECOND),
        DType::timedelta(TimeUnit::MILLISECOND),
        DType::timedelta(TimeUnit::MICROSECOND),
        DType::timedelta(TimeUnit::NANOSECOND),
    ] {
        let ours = DArray::zeros(dtype.clone(), &[3], Order::RowMajor).unwrap();
        let (data, field) = to_theirs(arrow::export(&ours, &options()).unwrap());
        data.validate_full().unwrap();
        assert_eq!(field.data_type().primitive_width().unwrap_or(5), dtype.itemsize(), "{field:?}");
        let back = from_theirs(&data, &field).unwrap().into_array().unwrap();
        assert_eq!((back.dtype(), back.as_ptr()), (&dtype, ours.as_ptr()), "{field:?}");
    }
}
