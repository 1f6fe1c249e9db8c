//! An array through every protocol and file format.

use std::ops::Range;

use crossdock::bindings::description::Frame;
use crossdock::bindings::memory_view::{self, Flags};
use crossdock::bindings::shm;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::files::{Contents, npy, raw, safetensors};
use crossdock::exchange::protocol::{arrow, dlpack};
use crossdock::layout::Order;
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Casting, DArray};

/// Larger arrays are left alone: elements of size 0 can be of any number.
const FEW: usize = 1 << 11;

/// Types that arrays are cast to.
const TYPES: [&str; 6] = ["uint8", "int64", ">float32", "float64", "complex64", "bool"];

/// The bytes of the elements in row-major order.
///
/// # Panics
///
/// If an array on the host cannot be copied.
pub(crate) fn bytes_of(array: &DArray) -> Vec<u8> {
    let copy = array.to_order(Order::RowMajor).expect("small arrays on the host are copied");
    let (buffer, _) = copy.buffer().expect("one more handle");
    buffer.pin().expect("no Write lease").to_vec()
}

/// Checks the arrays of a file that is only read: each is in place, within the bytes of the file at
/// `range`, and the first few go [`onward`].
///
/// # Panics
///
/// If an array is decoded, differs from its description, or is outside the file.
pub(crate) fn mapped(contents: &Contents, range: Range<usize>) {
    for (index, entry) in contents.entries().iter().enumerate() {
        let array = entry.open().expect("all was checked");
        assert_eq!((array.dtype(), array.shape()), (entry.dtype(), entry.shape()));
        assert_eq!(entry.copied_because(), None);
        if array.nbytes() == 0 {
            continue;
        }
        let (part, _) = array.buffer().expect("few handles");
        let first = part.as_ptr().addr();
        assert!(range.start <= first && first + part.nbytes() <= range.end, "{array:?} leaves the file");
        if index < 4 && array.nbytes() <= FEW {
            onward(&array, &bytes_of(&array));
        }
    }
}

/// Runs what can be done with an array on the host, if it is small: views it in other ways,
/// converts it, and exports it through every protocol that can import it again. Each result has the
/// same elements, or is an error. `wanted` are their bytes, in row-major order.
///
/// # Panics
///
/// If the elements differ.
pub(crate) fn onward(array: &DArray, wanted: &[u8]) {
    if array.len() > FEW || array.nbytes() > FEW || !array.place().is_host() {
        return;
    }
    assert_eq!(bytes_of(array), wanted, "{array:?}");
    views(array, wanted);
    conversions(array);
    protocols(array, wanted);
    files(array, wanted);
}

/// Applies inverse pairs of operations, and operations with a predictable result.
fn views(array: &DArray, wanted: &[u8]) {
    let size = array.dtype().itemsize();
    // A text without axes is shown as it is, and may be empty.
    assert!(!array.to_string().is_empty() || array.rank() == 0);
    if let Ok(turned) = array.transpose() {
        let again = turned.transpose().expect("axes that were moved");
        assert_eq!(bytes_of(&again), wanted);
        assert_eq!(turned.to_order(Order::ColumnMajor).map(|copy| copy.len()).ok(), Some(array.len()));
    }
    if let (true, Ok(reversed)) = (array.rank() > 0, array.reverse(0)) {
        let row = if array.shape()[0] == 0 { 0 } else { array.len() / array.shape()[0] * size };
        let rows: Vec<u8> =
            if row == 0 { vec![] } else { wanted.chunks(row).rev().flatten().copied().collect() };
        assert_eq!(bytes_of(&reversed), rows, "{array:?}");
    }
    if let Ok(flat) = array.flatten() {
        assert_eq!((flat.shape(), bytes_of(&flat)), (&[array.len()][..], wanted.to_vec()));
        if let Ok(letters) = flat.view_as(&DType::U8) {
            assert_eq!(bytes_of(&letters), wanted);
        }
    }
    if let Ok(more) = array.insert_axis(0).and_then(|more| more.squeeze()) {
        assert_eq!(bytes_of(&more), wanted);
    }
    if array.dtype().as_record().is_some()
        && let Ok(columns) = array.to_columns()
    {
        for (name, column) in &columns {
            let field = array.field(name).expect("a column is a field");
            assert_eq!(bytes_of(&field), bytes_of(column), "{name:?}");
        }
    }
    // Invalid code points cannot be compared or read.
    if let Ok(equal) = array.equals(&array.clone()) {
        // A float may be NaN, and a date NaT.
        assert!(
            equal || !array.dtype().to_string().trim_start_matches(['u', '>']).starts_with("int"),
            "{array:?}"
        );
    }
    if !array.is_empty() {
        let last: Vec<usize> = array.shape().iter().map(|len| len - 1).collect();
        if let Ok(value) = array.get(&last) {
            assert!(!value.display(array.dtype()).to_string().is_empty());
        }
        assert!(array.get(array.shape()).is_err() || array.rank() == 0);
    }
}

/// A checked conversion that succeeds equals the saturating one.
fn conversions(array: &DArray) {
    for name in TYPES {
        let dtype: DType = name.parse().expect("the name of a dtype");
        let Ok(checked) = array.cast(&dtype, Order::RowMajor, Casting::Checked) else { continue };
        let nearest =
            array.cast(&dtype, Order::RowMajor, Casting::Saturating).expect("it was converted before");
        assert_eq!(bytes_of(&checked), bytes_of(&nearest), "{array:?} to {name}");
    }
    let other = array.dtype().swapped();
    if let Ok(swapped) = array.cast(&other, Order::ColumnMajor, Casting::Checked) {
        let back = swapped.cast(array.dtype(), Order::RowMajor, Casting::Checked).expect("its own dtype");
        // Padding between fields is zero now.
        assert!(array.dtype().as_scalar().is_none() || bytes_of(&back) == bytes_of(array), "{array:?}");
    }
}

fn same(again: &DArray, array: &DArray, wanted: &[u8]) {
    // Fields become packed records, and sub-arrays become axes.
    if array.dtype().as_scalar().is_none() {
        return;
    }
    assert_eq!((again.shape(), again.dtype()), (array.shape(), array.dtype()));
    assert!(bytes_of(again) == wanted, "{array:?} became {again:?}");
}

fn protocols(array: &DArray, wanted: &[u8]) {
    for options in [dlpack::ExportOptions::new(), dlpack::ExportOptions::new().copy(CopyPolicy::IfNeeded)] {
        if let Ok(exported) = dlpack::export_versioned(array, &options) {
            // SAFETY: the tensor was exported just now, and this import is its only consumer.
            let again = unsafe { dlpack::import_versioned(exported.into_raw()) };
            same(&again.expect("what was exported"), array, wanted);
        }
        if let Ok(exported) = dlpack::export_legacy(array, &options) {
            // SAFETY: the tensor was exported just now, and this import is its only consumer.
            let again = unsafe { dlpack::import_legacy(exported.into_raw()) };
            same(&again.expect("what was exported"), array, wanted);
        }
    }
    if let Ok(exported) = arrow::export(array, &arrow::ExportOptions::new().copy(CopyPolicy::IfNeeded)) {
        let (mut schema, mut column) = exported.into_raw();
        // SAFETY: both structs were exported just now, match, and are consumed once.
        match unsafe { arrow::import(&mut schema, &mut column) } {
            Ok(again) => same(&again, array, wanted),
            // Fields of a record become separate columns.
            Err(error) => assert!(array.dtype().as_record().is_some(), "{error:?}"),
        }
    }
    let object = memory_view::ArrayObject::new(array.clone());
    for flags in [Flags::from_bits(0), Flags::from_bits(i32::MAX)] {
        // SAFETY: `object` is a live object of a class of this library, and outlives the views of
        // it.
        if let Ok(again) = unsafe { memory_view::import(object.as_ptr(), flags) } {
            // Ruby's templates have no axes within an element.
            assert!(array.dtype().as_scalar().is_none() || again.shape() == array.shape(), "{again:?}");
            assert_eq!(again.nbytes(), array.nbytes());
        }
    }
    if let Ok(lent) = shm::export(array, &Request::pin().copy(CopyPolicy::IfNeeded)) {
        let fd = lent.fd().try_clone_to_owned().expect("few descriptors");
        same(&shm::import(fd, lent.description()).expect("what was lent"), array, wanted);
    }
    for frame in [Frame::new(array), Frame::without_gaps(array)].into_iter().flatten() {
        same(&frame.into_array().expect("its own bytes"), array, wanted);
    }
}

fn files(array: &DArray, wanted: &[u8]) {
    let mut file = Vec::new();
    if npy::write(&mut file, array).is_ok() {
        let again = npy::from_buffer(Buffer::from_vec(file).expect("few bytes")).expect("what was written");
        assert!(array.dtype().as_scalar().is_none() || bytes_of(&again) == wanted);
    }
    let mut file = Vec::new();
    // Sub-arrays become further axes in a file.
    if array.dtype().as_scalar().is_some() && safetensors::write(&mut file, &[("x", array.clone())]).is_ok() {
        let contents = safetensors::from_buffer(Buffer::from_vec(file).expect("few bytes"));
        let again =
            contents.expect("what was written").single().and_then(|entry| entry.open()).expect("one tensor");
        assert_eq!(again.shape(), array.shape());
    }
    let mut file = Vec::new();
    raw::write(&mut file, array).expect("a vector takes everything");
    let described = raw::Description::new(array.dtype().clone(), array.shape());
    let again = raw::from_buffer(Buffer::from_vec(file).expect("few bytes"), &described);
    assert_eq!(bytes_of(&again.expect("what was written")), wanted);
}
