//! Arbitrary text as a view of an array of records: an error, or a view whose elements all lie
//! within the array's bytes.

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Field};
use crossdock::layout::Layout;
use crate::{bytes_of, onward};

const SHAPE: [usize; 3] = [5, 4, 3];

/// A record in a record, a field whose name needs quotes, and one whose elements are arrays.
fn array() -> crossdock::Result<DArray> {
    let point = DType::packed_record([("x", DType::I16), ("y", DType::I16)])?;
    let pair = DType::subarray(&[2], DType::I32)?;
    let fields =
        [Field::new("p", 0, point), Field::new("unit price", 4, DType::F64), Field::new("pair", 12, pair)];
    let dtype = DType::record(fields, 20)?;
    let nbytes = SHAPE.iter().product::<usize>() * dtype.itemsize();
    let layout = Layout::new(&SHAPE, &[240, 60, 20], 20)?;
    DArray::from_buffer(
        Buffer::from_vec((0..nbytes).map(|byte| byte as u8).collect::<Vec<u8>>())?,
        dtype,
        layout,
        0,
    )
}

fuzz_target!(|text: &str| {
    let array = array().expect("a legal array");
    let view = match array.at(text) {
        Ok(view) => view,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_inside(&view, &array);
    let again = array.at(text).expect("what was a view once is one again");
    assert_eq!(
        (again.shape(), again.strides(), again.as_ptr()),
        (view.shape(), view.strides(), view.as_ptr())
    );
    assert_eq!(view.at("").expect("no step").shape(), view.shape());
    onward(&view, &bytes_of(&view));
});

/// By the ends of each axis.
fn assert_inside(view: &DArray, array: &DArray) {
    if view.is_empty() {
        return;
    }
    let first = array.as_ptr().addr() as i128;
    let end = first + array.nbytes() as i128;
    let (mut low, mut high) = (view.as_ptr().addr() as i128, view.as_ptr().addr() as i128);
    for (&len, &stride) in view.shape().iter().zip(view.strides()) {
        let reach = (len as i128 - 1) * stride as i128;
        (low, high) = (low + reach.min(0), high + reach.max(0));
    }
    let high = high + view.dtype().itemsize() as i128;
    assert!(
        first <= low && high <= end,
        "{view:?} leaves its array: {low:#x}..{high:#x} of {first:#x}..{end:#x}"
    );
    // The same, with bounds checks.
    for index in [vec![0; view.rank()], view.shape().iter().map(|len| len - 1).collect()] {
        assert!(view.get(&index).is_ok());
    }
}
