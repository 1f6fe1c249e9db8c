//! Exports of arrays by Arrow's structs: zero-copy, or refused with the reason.

use std::sync::Arc;
use std::thread;

use crossdock::bindings::arrow::abi::{ArrowArray, ArrowSchema};
use crossdock::bindings::arrow::{self, ExportOptions};
use crossdock::buffer::Buffer;
use crossdock::device::Device as _;
use crossdock::device::fenced::FencedDevice;
use crossdock::element::{DType, Field, NAT, ScalarKind, TimeUnit};
use crossdock::layout::{Layout, Order};
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, DeviceKind, Place, Protocols};
use crossdock::table::{self, Checks, Column};
use crossdock::view::{CopyPolicy, Reason, Refusal, Request, view};
use crossdock::{Array, DArray, s};

use crate::{described, metadata, options, relayed, take_over, trade};

fn numbers() -> DArray {
    DArray::from_vec((0..24).collect::<Vec<i32>>(), &[4, 6]).unwrap()
}

fn copying() -> ExportOptions {
    options().copy(CopyPolicy::IfNeeded)
}

// ===== what the structs say

#[test]
fn one_axis_is_a_column_at_its_address() {
    let array = numbers().slice(s![2, 1..]).unwrap();
    let exported = arrow::export(&array, &options().name("n")).unwrap();
    assert_eq!(described(exported.schema()), "n:i");
    let (schema, column) = (exported.schema(), exported.array());
    assert_eq!((schema.flags, schema.metadata.is_null(), schema.dictionary.is_null()), (0, true, true));
    assert!(schema.children.is_null() && column.children.is_null() && column.dictionary.is_null());
    assert_eq!((column.length, column.null_count, column.offset), (5, 0, 0));
    assert_eq!((column.n_buffers, column.n_children), (2, 0));
    // SAFETY: `n_buffers` is 2, as asserted just before, and the export is alive.
    let buffers = unsafe { std::slice::from_raw_parts(column.buffers, 2) };
    assert!(buffers[0].is_null() && buffers[1] == array.as_ptr().cast());
    assert_eq!(take_over(exported).into_array().unwrap().as_ptr(), array.as_ptr());
}

#[test]
fn more_axes_are_tensors_in_lists() {
    let array = DArray::from_vec((0..24).collect::<Vec<i32>>(), &[2, 3, 4]).unwrap();
    let exported = arrow::export(&array, &options()).unwrap();
    assert_eq!(described(exported.schema()), ":+w:12<item:i>");
    assert_eq!(metadata(exported.schema()), r#"arrow.fixed_shape_tensor {"shape":[3,4]}"#);
    assert_eq!((exported.array().length, exported.array().n_buffers), (2, 1));
    let back = take_over(exported).into_array().unwrap();
    assert_eq!(
        (back.shape(), back.strides(), back.as_ptr()),
        (array.shape(), array.strides(), array.as_ptr())
    );
}

#[test]
fn axes_behind_the_first_lie_in_any_order() {
    let array = DArray::from_vec((0..120).collect::<Vec<i16>>(), &[2, 3, 4, 5]).unwrap();
    for (axes, says) in [
        ([0, 2, 3, 1], r#"{"shape":[3,4,5],"permutation":[1,2,0]}"#),
        ([0, 3, 1, 2], r#"{"shape":[3,4,5],"permutation":[2,0,1]}"#),
        ([0, 3, 2, 1], r#"{"shape":[3,4,5],"permutation":[2,1,0]}"#),
    ] {
        let permuted = array.permute(&axes).unwrap();
        let exported = arrow::export(&permuted, &options()).unwrap();
        assert_eq!(metadata(exported.schema()), format!("arrow.fixed_shape_tensor {says}"));
        let back = take_over(exported).into_array().unwrap();
        assert_eq!((back.shape(), back.strides()), (permuted.shape(), permuted.strides()));
        assert_eq!(back.as_ptr(), array.as_ptr());
    }
    // If axis 0 is not the slowest, the rows do not lie one after another.
    let refusal = arrow::export(&array.permute(&[1, 0, 2, 3]).unwrap(), &options()).unwrap_err();
    assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal}");
}

#[test]
fn an_array_goes_out_whole_whatever_the_order_of_its_axes() {
    let array = numbers().transpose().unwrap();
    let exported = arrow::export(&array, &options().whole()).unwrap();
    assert_eq!(
        metadata(exported.schema()),
        r#"arrow.fixed_shape_tensor {"shape":[4,6],"permutation":[1,0]}"#
    );
    assert_eq!((exported.array().length, exported.copied_nbytes()), (1, 0));
    let back = take_over(exported).into_array().unwrap();
    assert_eq!((back.shape(), &back.strides()[1..]), (&[1, 6, 4][..], array.strides()));
    assert!(back.drop_axis(0, 0).unwrap().equals(&array).unwrap());
    // A single element is one tensor without axes, hence a column of one row.
    let one = numbers().slice(s![1, 2]).unwrap();
    let back = relayed(&one, &options().whole());
    assert_eq!((back.shape(), back.get(&[0]).unwrap().to_string()), (&[1][..], "8".to_owned()));
    let vector = relayed(&numbers().slice(s![1, ..]).unwrap(), &options().whole());
    assert_eq!(vector.shape(), [1, 6]);
}

#[test]
fn sub_arrays_are_axes() {
    let pixels = DArray::from(Array::from_vec(vec![[[1u8, 2], [3, 4], [5, 6]]; 4], [2, 2]).unwrap());
    let back = relayed(&pixels, &options());
    assert_eq!((back.shape(), back.dtype(), back.as_ptr()), (&[2, 2, 3, 2][..], &DType::U8, pixels.as_ptr()));
}

#[test]
fn truth_values_have_the_name_of_their_extension() {
    let array = DArray::zeros(DType::BOOL, &[3], Order::RowMajor).unwrap();
    let exported = arrow::export(&array, &options()).unwrap();
    assert_eq!(
        (described(exported.schema()), metadata(exported.schema())),
        (":c".to_owned(), "arrow.bool8 ".to_owned())
    );
    assert_eq!(*take_over(exported).into_array().unwrap().dtype(), DType::BOOL);
}

#[test]
fn without_elements_there_are_no_addresses() {
    for shape in [&[0][..], &[0, 3], &[3, 0, 2], &[0, 1 << 20]] {
        let array = DArray::from_vec(Vec::<u64>::new(), shape).unwrap();
        let exported = arrow::export(&array, &options()).unwrap();
        assert_eq!(exported.array().length, shape[0] as i64);
        assert_eq!(take_over(exported).into_array().unwrap().shape(), shape);
    }
    let nothing = DArray::zeros(DType::void(0).unwrap(), &[5], Order::RowMajor).unwrap();
    assert_eq!(relayed(&nothing, &options()).shape(), [5]);
    // At an address that is unaligned for elements.
    let bytes = Buffer::from_vec(vec![0u8; 9]).unwrap().slice(1..1).unwrap();
    let nowhere = DArray::from_buffer_in_order(bytes, DType::F64, &[0], Order::RowMajor).unwrap();
    assert!(arrow::export(&nowhere, &options()).is_ok());
}

// ===== records

#[test]
fn one_record_and_one_field_are_structs_in_place() {
    let records = DArray::zeros(trade(), &[4], Order::RowMajor).unwrap();
    let exported = arrow::export(&records.slice(s![..1]).unwrap(), &options()).unwrap();
    assert_eq!(described(exported.schema()), ":+s<price:g, kind:C>");
    let columns = take_over(exported).into_columns().unwrap();
    assert_eq!(columns[0].1.as_ptr(), records.as_ptr());
    assert_eq!(columns[1].1.as_ptr().addr(), records.as_ptr().addr() + 8);
    let wrapped = DType::packed_record([("xyz", DType::subarray(&[3], DType::F32).unwrap())]).unwrap();
    let wrapped = DArray::zeros(wrapped, &[5], Order::RowMajor).unwrap();
    let exported = arrow::export(&wrapped, &options()).unwrap();
    assert_eq!(described(exported.schema()), ":+s<xyz:+w:3<item:f>>");
    let columns = take_over(exported).into_columns().unwrap();
    assert_eq!((columns[0].1.shape(), columns[0].1.as_ptr()), (&[5, 3][..], wrapped.as_ptr()));
}

#[test]
fn records_are_refused_or_copied_to_columns() {
    let records = DArray::zeros(trade(), &[100], Order::RowMajor).unwrap();
    records.field("kind").unwrap().set(&[3], &7u8.into()).unwrap();
    let copied = copied_bytes_here();
    let refusal = arrow::export(&records, &options()).unwrap_err();
    assert!(
        matches!(refusal.reason(), Reason::Layout(_)) && refusal.to_string().contains("\"price\""),
        "{refusal}"
    );
    assert_eq!((refusal.would_copy(), copied_bytes_here()), (Some(900), copied));
    let exported = arrow::export(&records, &copying()).unwrap();
    assert_eq!((exported.copied_nbytes(), copied_bytes_here() - copied), (900, 900));
    assert!(matches!(exported.copied_because().unwrap().reason(), Reason::Layout(_)));
    assert!(view(&records, Request::write()).is_ok(), "the records are not leased");
    let back = take_over(exported).into_records().unwrap();
    assert!(back.equals(&records).unwrap());
}

#[test]
fn records_of_records_and_sub_arrays_keep_their_names_and_values() {
    let point = DType::packed_record([("x", DType::I16), ("y", DType::I16)]).unwrap();
    let deep = DType::record(
        [
            Field::new("corners", 0, DType::subarray(&[2], point.clone()).unwrap()),
            Field::new("at", 12, point),
            Field::new("rgb", 8, DType::subarray(&[3], DType::U8).unwrap()),
        ],
        20,
    )
    .unwrap();
    for shape in [&[6][..], &[2, 3]] {
        let bytes: Vec<u8> = (0..120).collect();
        let records = DArray::from_buffer_in_order(
            Buffer::from_vec(bytes).unwrap(),
            deep.clone(),
            shape,
            Order::RowMajor,
        );
        let records = records.unwrap();
        let copied = copied_bytes_here();
        let exported = arrow::export(&records, &copying()).unwrap();
        assert_eq!(exported.copied_nbytes() as u64, copied_bytes_here() - copied);
        let says = "+s<corners:+w:2<item:+s<x:s, y:s>>, at:+s<x:s, y:s>, rgb:+w:3<item:C>>";
        let says = if shape.len() == 1 { format!(":{says}") } else { format!(":+w:3<item:{says}>") };
        assert_eq!(described(exported.schema()), says);
        let imported = take_over(exported);
        let columns = imported.into_columns().unwrap();
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["corners.x", "corners.y", "at.x", "at.y", "rgb"]);
        assert_eq!(columns[0].1.shape(), [shape, &[2]].concat());
        let back = take_over(arrow::export(&records, &copying()).unwrap()).into_records().unwrap();
        assert_eq!((back.shape(), back.dtype().itemsize()), (shape, 8 + 4 + 3));
        for name in ["rgb", "at", "corners"] {
            let (ours, theirs) = (records.field(name).unwrap(), back.field(name).unwrap());
            assert!(ours.equals(&theirs).unwrap(), "{name}");
        }
    }
}

// ===== nulls

fn mask(len: usize, shape: &[usize]) -> DArray {
    let bits: Vec<u8> = (0..len).map(|i| u8::from(i % 3 != 1)).collect();
    DArray::from_vec(bits, shape).unwrap().view_as(&DType::BOOL).unwrap()
}

#[test]
fn a_mask_goes_out_as_a_bitmap_and_comes_back_as_a_mask() {
    let array = numbers();
    let valid = mask(24, &[4, 6]);
    for (array, valid, options) in [
        (array.flatten().unwrap(), valid.flatten().unwrap(), options()),
        (array.clone(), valid.clone(), options()),
        (array.transpose().unwrap(), valid.transpose().unwrap(), options().whole()),
        (array.transpose().unwrap(), valid.transpose().unwrap(), copying()),
        (array.reverse(1).unwrap(), valid.reverse(1).unwrap(), copying()),
    ] {
        let exported = arrow::export(&array, &options.validity(valid.clone())).unwrap();
        let (back, again) = take_over(exported).into_array_with_validity().unwrap();
        let again = again.unwrap();
        let (back, again) = match back.rank() > array.rank() {
            true => (back.drop_axis(0, 0).unwrap(), again.drop_axis(0, 0).unwrap()),
            false => (back, again),
        };
        assert!(back.equals(&array).unwrap() && again.equals(&valid).unwrap());
    }
    let axes =
        DArray::from_vec((0..24).collect::<Vec<i32>>(), &[2, 3, 4]).unwrap().permute(&[0, 2, 1]).unwrap();
    let valid = mask(24, &[2, 4, 3]);
    let exported = arrow::export(&axes, &options().validity(valid.clone())).unwrap();
    assert_eq!(exported.copied_nbytes(), 0, "the elements are where they were");
    let (back, again) = take_over(exported).into_array_with_validity().unwrap();
    assert!(back.equals(&axes).unwrap() && again.unwrap().equals(&valid).unwrap());
}

#[test]
fn a_mask_without_nulls_is_no_bitmap() {
    let all = DArray::from_vec(vec![1u8; 24], &[4, 6]).unwrap().view_as(&DType::BOOL).unwrap();
    let exported = arrow::export(&numbers(), &options().validity(all)).unwrap();
    assert!(take_over(exported).into_array().is_ok());
    let column = numbers().flatten().unwrap();
    let exported = arrow::export(&column, &options().validity(mask(24, &[24]))).unwrap();
    assert_eq!((exported.array().null_count, exported.schema().flags), (8, 2));
    let records = DArray::zeros(trade(), &[6], Order::RowMajor).unwrap();
    let exported = arrow::export(&records, &copying().validity(mask(6, &[6]))).unwrap();
    assert_eq!(exported.array().null_count, 2);
    let error = take_over(exported).into_columns().unwrap_err();
    assert!(error.is_value() && error.to_string().contains("2 of 6"), "{error}");
}

fn moments(counts: &[i64], shape: &[usize]) -> DArray {
    let counts = DArray::from_vec(counts.to_vec(), shape).unwrap();
    counts.view_as(&DType::datetime(TimeUnit::NANOSECOND)).unwrap()
}

#[test]
fn moments_that_are_not_a_time_are_null_and_come_back_as_they_are() {
    let counts: Vec<i64> = (0..20).map(|count| if count % 7 == 3 { NAT } else { count }).collect();
    for array in [moments(&counts, &[20]), moments(&counts, &[5, 4]).permute(&[0, 1]).unwrap()] {
        let copied = copied_bytes_here();
        let exported = arrow::export(&array, &options()).unwrap();
        assert_eq!((exported.copied_nbytes(), copied_bytes_here() - copied), (0, 3), "the bitmap alone");
        let back = take_over(exported).into_array().unwrap();
        let numbers = |array: &DArray| array.view_as(&DType::I64).unwrap();
        assert!(numbers(&back).equals(&numbers(&array)).unwrap() && back.as_ptr() == array.as_ptr());
        let valid =
            take_over(arrow::export(&array, &options()).unwrap()).into_array_with_validity().unwrap().1;
        let valid = valid.unwrap().flatten().unwrap();
        assert!((0..20).all(|index| valid.get(&[index]).unwrap().as_bool() == Some(index % 7 != 3)));
    }
    let all = moments(&[1, 2, 3], &[3]);
    let copied = copied_bytes_here();
    let exported = arrow::export(&all, &options()).unwrap();
    assert_eq!((exported.array().null_count, exported.schema().flags), (0, 0));
    assert_eq!(copied_bytes_here(), copied, "no bitmap is made");
}

#[test]
fn a_mask_adds_nulls_to_those_that_are_not_a_time() {
    let array = moments(&[1, NAT, 3, 4], &[4]);
    let valid = |truth: [bool; 4]| {
        DArray::from_vec(truth.map(u8::from).to_vec(), &[4]).unwrap().view_as(&DType::BOOL).unwrap()
    };
    for (mask, nulls) in [([true; 4], 1), ([false, true, true, true], 2), ([true, false, true, false], 2)] {
        let exported = arrow::export(&array, &options().validity(valid(mask))).unwrap();
        assert_eq!(exported.array().null_count, nulls);
        let (_, again) = take_over(exported).into_array_with_validity().unwrap();
        let again = again.unwrap();
        for (index, is_valid) in mask.into_iter().enumerate() {
            assert_eq!(again.get(&[index]).unwrap().as_bool(), Some(is_valid && index != 1));
        }
    }
    // A null is a valid time as a number, so the array is refused.
    let exported = arrow::export(&array, &options().validity(valid([false, true, true, true]))).unwrap();
    assert!(take_over(exported).into_array().unwrap_err().is_value());
    let durations = array.view_as(&DType::timedelta(TimeUnit::SECOND)).unwrap();
    assert_eq!(arrow::export(&durations, &options()).unwrap().array().null_count, 1);
    let numbers = array.view_as(&DType::I64).unwrap();
    assert_eq!(arrow::export(&numbers, &options()).unwrap().array().null_count, 0);
}

#[test]
fn moments_of_a_device_are_refused_since_nulls_cannot_be_read_there() {
    let device = FencedDevice::new(4);
    let array = moments(&[1, NAT], &[2]).copy_to(&device.memory()).unwrap();
    let refusal = arrow::export_device(&array, &options()).unwrap_err();
    assert!(refusal.to_string().contains("NaT"), "{refusal}");
}

#[test]
fn masks_that_say_nothing_of_the_elements_are_refused() {
    let pixels = DArray::from(Array::from_vec(vec![[1u8, 2]; 4], [4]).unwrap());
    for (array, valid, says) in [
        (numbers(), mask(24, &[24]), "[24], but the array has [4, 6]"),
        (numbers(), numbers(), "int32"),
        (pixels, mask(4, &[4]), "(2,)uint8"),
    ] {
        let refusal = arrow::export(&array, &copying().validity(valid)).unwrap_err();
        assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal}");
        assert!(refusal.to_string().contains(says), "{refusal}");
    }
}

// ===== what is refused

#[track_caller]
fn assert_unsupported(array: &DArray, part: &str) {
    let copied = copied_bytes_here();
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let refusal = arrow::export(array, &options().copy(policy)).unwrap_err();
        assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal}");
        assert!(refusal.to_string().contains(part), "{part:?} is not in: {refusal}");
        assert_eq!(refusal.would_copy(), None);
    }
    assert_eq!(copied_bytes_here(), copied, "a refusal copies nothing");
}

#[test]
fn what_arrow_cannot_say_is_named() {
    for (dtype, part) in [
        (DType::F64.swapped(), "byte order"),
        (DType::native(ScalarKind::LongDouble), "no such dtype"),
        (DType::C64, "complex64"),
        (DType::text(3).unwrap(), "text"),
        (DType::datetime(TimeUnit::DAY), "datetime64[D]"),
        (DType::packed_record([("x", DType::U8), ("z", DType::C128)]).unwrap(), "complex128"),
        (DType::packed_record([("x\0y", DType::U8)]).unwrap(), "NUL"),
        (DType::subarray(&[2], DType::BF16).unwrap(), "bfloat16"),
    ] {
        // Not even if a copy is needed for another reason.
        let array = DArray::zeros(dtype, &[4], Order::RowMajor).unwrap();
        assert_unsupported(&array, part);
        assert_unsupported(&array.slice(s![..;2]).unwrap(), part);
    }
    assert_unsupported(&numbers().slice(s![0, 0]).unwrap(), "rank 0");
    let long =
        DArray::from_buffer_in_order(Buffer::zeroed(0).unwrap(), DType::U8, &[0, 1 << 31], Order::RowMajor);
    assert_unsupported(&long.unwrap(), "2147483648");
    let nul = arrow::export(&numbers(), &options().name("a\0b")).unwrap_err();
    assert!(nul.to_string().contains("NUL"), "{nul}");
}

#[test]
fn what_does_not_lie_one_after_the_other_is_refused_or_copied() {
    let array = numbers();
    for (strided, says) in [
        (array.transpose().unwrap(), "[4, 24]"),
        (array.slice(s![.., ..3]).unwrap(), "[24, 4]"),
        (array.reverse(0).unwrap(), "-24"),
        (array.slice(s![.., 0]).unwrap(), "[24]"),
        (array.slice(s![..1, ..]).unwrap().broadcast_to(&[3, 6]).unwrap(), "[0, 4]"),
    ] {
        let refusal = arrow::export(&strided, &options()).unwrap_err();
        assert!(matches!(refusal.reason(), Reason::Layout(_)), "{refusal}");
        assert!(refusal.to_string().contains(says), "{refusal}");
        assert_eq!(refusal.would_copy(), Some(strided.nbytes()));
        let before = copied_bytes_here();
        let exported = arrow::export(&strided, &copying()).unwrap();
        assert_eq!(
            (exported.copied_nbytes() as u64, exported.copied_nbytes()),
            (copied_bytes_here() - before, strided.nbytes())
        );
        assert!(take_over(exported).into_array().unwrap().equals(&strided).unwrap());
    }
}

#[test]
fn unaligned_elements_are_refused_or_copied() {
    let bytes = Buffer::from_vec(vec![0u8; 17]).unwrap().slice(1..).unwrap();
    let array = DArray::from_buffer_in_order(bytes, DType::F64, &[2], Order::RowMajor).unwrap();
    let refusal = arrow::export(&array, &options()).unwrap_err();
    assert!(refusal.to_string().contains("multiple of 8"), "{refusal}");
    assert_eq!(arrow::export(&array, &copying()).unwrap().copied_nbytes(), 16);
}

#[test]
fn indirect_arrays_are_refused_or_copied() {
    let array = DArray::from_rows(vec![vec![1u8, 2, 3], vec![4, 5, 6]]).unwrap();
    let refusal = arrow::export(&array, &options()).unwrap_err();
    assert!(refusal.to_string().contains("pointers"), "{refusal}");
    assert!(relayed(&array, &copying()).equals(&array).unwrap());
}

// ===== leases

#[test]
fn nobody_writes_until_the_column_is_released() {
    let array = numbers();
    let (mut schema, mut column) = arrow::export(&array, &options()).unwrap().into_raw();
    for request in [Request::write(), Request::share()] {
        let refusal = view(&array, request).unwrap_err();
        assert!(
            matches!(refusal.reason(), Reason::Lease(_)) && refusal.to_string().contains("Arrow"),
            "{refusal}"
        );
    }
    assert!(view(&array, Request::read()).is_ok() && view(&array, Request::pin()).is_ok());
    assert!(array.exported().contains(Protocols::ARROW));
    drop(array);
    release(&mut schema, &mut column);
    assert!(schema.release.is_none() && column.release.is_none());
    assert!(schema.private_data.is_null() && column.private_data.is_null());
}

/// Releases both structs, as a consumer does.
fn release(schema: &mut ArrowSchema, column: &mut ArrowArray) {
    // SAFETY: the caller has not released the schema, and `release` is called once.
    unsafe { schema.release.unwrap()(schema) };
    // SAFETY: the caller has not released the array, and `release` is called once.
    unsafe { column.release.unwrap()(column) };
}

#[test]
fn a_child_that_was_moved_away_outlives_its_parent() {
    let wrapped = DType::packed_record([("x", DType::F32)]).unwrap();
    let array = DArray::zeros(wrapped, &[5], Order::RowMajor).unwrap();
    let (mut schema, mut column) = arrow::export(&array, &options()).unwrap().into_raw();
    // SAFETY: a record with one field is exported as a struct with one child, so the list has an
    // entry.
    let child = unsafe { column.children.read() };
    // SAFETY: the entry points to a child of the live export, to which only this test refers.
    let mut moved = std::mem::replace(unsafe { &mut *child }, ArrowArray::empty());
    // SAFETY: the schema of a record with one field has one child, so the list has an entry.
    let child = unsafe { schema.children.read() };
    // SAFETY: the entry points to a child of the live schema, to which only this test refers.
    let mut moved_schema = std::mem::replace(unsafe { &mut *child }, ArrowSchema::empty());
    release(&mut schema, &mut column);
    assert!(view(&array, Request::write()).is_err(), "the child holds the lease");
    // SAFETY: both structs were moved out of an export, are unreleased, and are consumed once.
    let column = unsafe { arrow::import(&mut moved_schema, &mut moved) }.unwrap();
    assert_eq!((column.as_ptr(), column.shape()), (array.as_ptr(), &[5][..]));
    drop(column);
    assert!(view(&array, Request::write()).is_ok());
}

#[test]
fn an_export_that_nobody_takes_gives_its_lease_back_on_any_thread() {
    let array = numbers();
    let exported = arrow::export(&array, &options()).unwrap();
    assert!(format!("{exported:?}").contains("Arrow"));
    std::thread::spawn(move || drop(exported)).join().unwrap();
    assert!(view(&array, Request::write()).is_ok());
}

#[test]
fn memory_that_others_may_write_is_refused_or_copied() {
    let shared =
        DArray::from_buffer_in_order(Buffer::shared(8).unwrap(), DType::I32, &[2], Order::RowMajor).unwrap();
    let refusal = arrow::export(&shared, &options()).unwrap_err();
    assert!(
        matches!(refusal.reason(), Reason::Lease(_)) && refusal.to_string().contains("another owner"),
        "{refusal}"
    );
    assert_eq!(arrow::export(&shared, &copying()).unwrap().copied_nbytes(), 8);
    assert!(arrow::export(&shared.into_sealed().unwrap(), &options()).is_ok());
    // This also holds while other code may write the array.
    let array = numbers();
    let lease = view(&array, Request::share()).unwrap();
    assert!(matches!(arrow::export(&array, &options()).unwrap_err().reason(), Reason::Lease(_)));
    assert_eq!(arrow::export(&array, &copying()).unwrap().copied_nbytes(), 96);
    drop(lease);
    assert_eq!(arrow::export(&array, &copying()).unwrap().copied_nbytes(), 0);
    // Consumers require read-only memory.
    assert!(arrow::export(&array.into_readonly(), &options()).is_ok());
}

#[test]
fn a_copy_that_was_asked_for_is_the_consumers_alone() {
    let array = numbers();
    let exported = arrow::export(&array, &options().copy(CopyPolicy::Always)).unwrap();
    assert_eq!(exported.copied_nbytes(), 96);
    assert!(exported.copied_because().is_none() && view(&array, Request::write()).is_ok());
    let back = take_over(exported).into_array().unwrap();
    assert_ne!(back.as_ptr(), array.as_ptr());
    assert!(back.equals(&array).unwrap());
}

// ===== devices

fn refused_for_place(refusal: &Refusal) -> String {
    assert!(matches!(refusal.reason(), Reason::Unsupported(_)), "{refusal}");
    refusal.to_string()
}

#[test]
fn the_processors_memory_goes_out_by_the_device_struct_too() {
    let array = numbers();
    let exported = arrow::export_device(&array, &options()).unwrap();
    let device = exported.array();
    assert_eq!((device.device_type, device.device_id, device.reserved), (1, -1, [0; 3]));
    assert!(device.sync_event.is_null());
    let (mut schema, mut column) = exported.into_raw();
    // SAFETY: both structs were exported just now, match, and are consumed once.
    let back = unsafe { arrow::import_device(&mut schema, &mut column) }.unwrap();
    assert_eq!((back.as_ptr(), back.place(), back.birth()), (array.as_ptr(), Place::CPU, Birth::Constant));
    assert!(column.array.release.is_none());
}

#[test]
fn memory_of_a_device_goes_out_by_the_device_struct_alone() {
    let device = FencedDevice::new(3);
    let there = Buffer::from_vec(vec![1i32, 2]).unwrap().copy_to(&device.memory()).unwrap();
    let there = DArray::from_buffer_in_order(there, DType::I32, &[2], Order::RowMajor).unwrap();
    assert!(refused_for_place(&arrow::export(&there, &copying()).unwrap_err()).contains("ext_dev:3"));
    let exported = arrow::export_device(&there, &options()).unwrap();
    assert_eq!((exported.array().device_type, exported.array().device_id), (12, 3));
    let (mut schema, mut column) = exported.into_raw();
    // SAFETY: both structs were exported just now, match, and are consumed once.
    let back = unsafe { arrow::import_device(&mut schema, &mut column) }.unwrap();
    assert_eq!((back.as_ptr(), back.place()), (there.as_ptr(), there.place()));
    assert!(view(&back, Request::read()).is_err(), "it cannot be touched from here");
}

#[test]
fn devices_whose_buffers_are_handles_are_named() {
    // SAFETY: the place is an OpenCL device, so the CPU never accesses the address, and nothing
    // frees it.
    let buffer = unsafe { Buffer::non_owned(64 as *mut u8, 8, Place::new(DeviceKind::OPENCL, 2)) }.unwrap();
    let layout = Layout::contiguous(&[1], 8, Order::RowMajor).unwrap();
    let array = DArray::from_buffer(buffer, DType::F64, layout, 0).unwrap();
    assert!(refused_for_place(&arrow::export_device(&array, &copying()).unwrap_err()).contains("opencl:2"));
}

#[test]
fn a_column_that_was_moved_out_of_the_schema_on_offer_is_told_and_not_read() {
    let trades = DArray::zeros(trade(), &[2], Order::RowMajor).unwrap();
    let export = || arrow::export(&trades, &copying()).unwrap();
    let wanted = export();
    for column in [0, 1] {
        let (mut schema, mut array) = export().into_raw();
        // SAFETY: the schema was exported just now with two children, and `column` is 0 or 1.
        let child = unsafe { *schema.children.wrapping_add(column) };
        // SAFETY: the child belongs to a schema that is not released, and only this test refers to
        // it.
        let child = unsafe { &mut *child };
        // Moved as the specification requires: the struct is copied, and the original is marked.
        // SAFETY: the struct is readable, and from here on only the copy is used, since the
        // original is marked as moved.
        let mut moved = unsafe { std::ptr::read(child) };
        child.release = None;
        // SAFETY: neither schema is released, and the child that was moved out is marked as such.
        let error = unsafe { arrow::requested(&schema, wanted.schema()) }.unwrap_err();
        let text = error.to_string();
        assert!(error.is_malformed() && text.contains(&format!("column {column} was moved out")), "{text}");
        // SAFETY: neither schema is released, and the child that was moved out is marked as such.
        let error = unsafe { arrow::requested(wanted.schema(), &schema) }.unwrap_err();
        let text = error.to_string();
        assert!(
            error.is_malformed() && text.contains(&format!("column {column} was already released")),
            "{text}"
        );
        // SAFETY: `moved` was moved out of the schema, which no longer owns it, and its `release`
        // is called once.
        unsafe { moved.release.unwrap()(&mut moved) };
        // SAFETY: the schema is not released before, and the child that was moved out is marked as
        // such.
        unsafe { schema.release.unwrap()(&mut schema) };
        // SAFETY: the array is not released before, and its `release` is called once.
        unsafe { array.release.unwrap()(&mut array) };
    }
}

#[test]
fn what_went_to_and_fro_many_times_is_freed_on_a_short_stack() {
    let owner = Arc::new(vec![1i32, 2, 3]);
    let mut array =
        DArray::from(Array::<i32, 1>::from_buffer(Buffer::from_owner(owner.clone()).unwrap(), [3]).unwrap());
    for _ in 0..20_000 {
        array = relayed(&array, &options());
    }
    let mut column = Column::from_array(array).unwrap();
    let field = table::Field::new("n", column.column_type().clone()).unwrap();
    for _ in 0..20_000 {
        let (mut schema, mut array) = arrow::export_column(&field, &column).unwrap().into_raw();
        // SAFETY: both structs were exported just now, match, and are consumed once.
        column = unsafe { arrow::import_column(&mut schema, &mut array, Checks::Full) }.unwrap().1;
    }
    assert_eq!(Arc::strong_count(&owner), 2);
    thread::spawn(move || drop(column)).join().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1);
}
