//! A consumer gets what it requests, for any array: every flag over every class of layout.

use std::ffi::c_void;

use crossdock::bindings::memory_view::{ArrayObject, Flags, View};
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Array, DArray, s};

use super::{bytes, get, numbers, release};

const FLAGS: [Flags; 9] = [
    Flags::SIMPLE,
    Flags::WRITABLE,
    Flags::FORMAT,
    Flags::MULTI_DIMENSIONAL,
    Flags::STRIDES,
    Flags::ROW_MAJOR,
    Flags::COLUMN_MAJOR,
    Flags::ANY_CONTIGUOUS,
    Flags::INDIRECT,
];

/// A class of layouts, and for each of [`FLAGS`] whether the view is granted.
struct Row {
    name: &'static str,
    array: DArray,
    given: &'static str,
}

fn zeros(shape: &[usize], order: Order) -> DArray {
    DArray::zeros(DType::I16, shape, order).unwrap()
}

fn table() -> Vec<Row> {
    let rows = zeros(&[2, 3], Order::RowMajor);
    let row = |name, array: DArray, given| Row { name, array, given };
    // The last three columns: row-major, column-major, either; then indirect.
    vec![
        row("row-major", rows.clone(), "yyyyy y-y y"),
        row("column-major", zeros(&[2, 3], Order::ColumnMajor), "yyyyy -yy y"),
        row("both", zeros(&[1, 3], Order::RowMajor), "yyyyy yyy y"),
        row("neither", rows.slice(s![.., ..2]).unwrap(), "yyyyy --- y"),
        row("negative strides", rows.slice(s![..;-1, ..]).unwrap(), "yyyyy --- y"),
        row("zero strides", zeros(&[3], Order::RowMajor).broadcast_to(&[2, 3]).unwrap(), "yyyyy --- y"),
        row("without axes", zeros(&[], Order::RowMajor), "yyyyy yyy y"),
        row("empty", zeros(&[2, 0, 3], Order::RowMajor), "yyyyy yyy y"),
        row("nine axes", zeros(&[1, 2, 1, 1, 1, 1, 1, 1, 3], Order::RowMajor), "yyyyy y-y y"),
        row("indirect", DArray::from_rows(vec![vec![1i16, 2, 3], vec![4, 5, 6]]).unwrap(), "----- --- y"),
        row("read-only", rows.into_readonly(), "y-yyy y-y y"),
    ]
}

#[test]
fn every_flag_over_every_class_of_layout() {
    for Row { name, array, given } in table() {
        let object = ArrayObject::new(array.clone());
        let given: Vec<bool> = given.bytes().filter(|&mark| mark != b' ').map(|mark| mark == b'y').collect();
        assert_eq!(given.len(), FLAGS.len());
        for (flags, given) in FLAGS.into_iter().zip(given) {
            let mut view = View { ndim: 77, ..View::EMPTY };
            let before = bytes(&view);
            match get(object.as_ptr(), &mut view, flags) {
                Ok(()) => {
                    assert!(given, "{name} under {flags}");
                    check(&mut view, &object, flags, name);
                }
                Err(error) => {
                    assert!(!given, "{name} under {flags}: {error}");
                    assert_eq!(bytes(&view), before, "{name} under {flags}");
                    assert!(error.is_layout() || error.is_read_only(), "{name} under {flags}: {error:?}");
                }
            }
        }
    }
}

#[track_caller]
fn check(view: &mut View, object: &ArrayObject, flags: Flags, name: &str) {
    let what = format!("{name} under {flags}");
    let array = object.array();
    let shape: Vec<isize> = array.shape().iter().map(|&len| len as isize).collect();
    assert_eq!(
        (numbers(view.shape, view), numbers(view.strides, view)),
        (&shape[..], array.strides()),
        "{what}"
    );
    assert!(!view.format.is_null() && view.item_size == 2 && view.item_desc.length == 1, "{what}");
    assert_eq!(view.is_readonly(), !flags.contains(Flags::WRITABLE), "{what}");
    assert_eq!(view.byte_size, 2 * shape.iter().product::<isize>(), "{what}");
    if array.is_indirect() {
        assert_eq!(numbers(view.sub_offsets, view), [0, -1], "{what}");
    } else {
        assert!(view.sub_offsets.is_null(), "{what}");
    }
    let has = |order| array.layout().is_contiguous(order);
    // SAFETY: the view is held, so its shape and strides are null or have `ndim` numbers.
    assert_eq!(unsafe { view.is_row_major_contiguous() }, has(Order::RowMajor), "{what}");
    // SAFETY: the view is held, so its shape and strides are null or have `ndim` numbers.
    assert_eq!(unsafe { view.is_column_major_contiguous() }, has(Order::ColumnMajor), "{what}");
    assert!(release(view), "{what}");
}

#[test]
fn every_item_of_every_class_is_found() {
    for Row { name, array, .. } in table() {
        let object = ArrayObject::new(array.clone());
        let mut view = View::EMPTY;
        get(object.as_ptr(), &mut view, Flags::INDIRECT).unwrap();
        let len = array.shape().iter().product();
        for position in 0..len {
            let index = array.layout().unravel_index(position, Order::RowMajor).unwrap();
            let in_c: Vec<isize> = index.iter().map(|&at| at as isize).collect();
            // SAFETY: the view is held, and `in_c` has one index for each axis.
            let item = unsafe { view.item_pointer(in_c.as_ptr()) }.unwrap();
            // SAFETY: `item` is the address of an element of a held view, and no code writes it;
            // the read is unaligned.
            let read = unsafe { item.cast::<i16>().read_unaligned() };
            assert_eq!(i64::from(read), array.get(&index).unwrap().as_i64().unwrap(), "{name} at {index:?}");
            for axis in 0..index.len() {
                for outside in [-1, view_len(&view, axis), isize::MAX, isize::MIN] {
                    let mut outside_of = in_c.clone();
                    outside_of[axis] = outside;
                    // SAFETY: the view is held, and `outside_of` has one index for each axis;
                    // bounds are checked.
                    let error = unsafe { view.item_pointer(outside_of.as_ptr()) }.unwrap_err();
                    assert!(error.is_bounds() && error.to_string().contains(&outside.to_string()), "{error}");
                }
            }
        }
        assert!(release(&mut view));
    }
}

fn view_len(view: &View, axis: usize) -> isize {
    numbers(view.shape, view)[axis]
}

#[test]
fn an_array_whose_dtype_no_template_says_is_refused_by_the_part_or_approximated_on_request() {
    let array = DArray::zeros(DType::BOOL, &[3], Order::RowMajor).unwrap();
    let mut view = View::EMPTY;
    let error = get(ArrayObject::new(array.clone()).as_ptr(), &mut view, Flags::SIMPLE).unwrap_err();
    assert!(error.to_string().contains("bool"), "{error}");
    let object = ArrayObject::approximated(array);
    get(object.as_ptr(), &mut view, Flags::SIMPLE).unwrap();
    assert_eq!((super::format(&view), view.item_size), ("C", 1));
    assert!(release(&mut view));
}

#[test]
fn records_have_components_that_outlive_the_object() {
    let array = Array::from_vec(vec![0u8; 26], [26]).unwrap();
    let (buffer, _) = DArray::from(array).buffer().unwrap();
    let trade = DType::packed_record([("a", DType::I32), ("b", DType::I64), ("c", DType::I8)]).unwrap();
    let layout = crossdock::layout::Layout::contiguous(&[2], 13, Order::RowMajor).unwrap();
    let object = Box::new(ArrayObject::new(DArray::from_buffer(buffer, trade, layout, 0).unwrap()));
    let obj: *mut c_void = object.as_ptr();
    let mut view = View::EMPTY;
    get(obj, &mut view, Flags::FORMAT).unwrap();
    drop(object);
    assert_eq!((super::format(&view), view.item_size, view.item_desc.length), ("lqc", 13, 3));
    // SAFETY: the item description has three components, as asserted just before, and the held view
    // keeps them.
    let components = unsafe { std::slice::from_raw_parts(view.item_desc.components, 3) };
    assert_eq!(components.iter().map(|component| component.offset).collect::<Vec<_>>(), [0, 4, 12]);
    assert!(release(&mut view));
}
