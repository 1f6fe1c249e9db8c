//! What is described without being lent: what an export says, of memory that nobody relies on.

use std::slice;

use crossdock::exchange::protocol::dlpack::abi::DLTensor;
use crossdock::exchange::protocol::dlpack::{ExportOptions, Prepared, export_versioned};
use crossdock::{Array, DArray, s};

fn arrays() -> Vec<DArray> {
    let cube = Array::from_vec((0..60).collect::<Vec<i32>>(), [3, 4, 5]).unwrap();
    let single = Array::from_vec(vec![1.5f64], [1]).unwrap();
    vec![
        cube.clone().into(),
        cube.slice(s![..;2, ..;-1, 1..4]).unwrap().into(),
        cube.permute([2, 0, 1]).unwrap().into(),
        cube.slice(s![..0, .., ..]).unwrap().into(),
        DArray::from(single.clone()).slice(s![0]).unwrap(),
        DArray::from(single).broadcast_to(&[1; 64]).unwrap(),
    ]
}

fn numbers(pointer: *const i64, tensor: &DLTensor) -> Vec<i64> {
    // SAFETY: an export of ours, and what was made of one, have as many numbers as axes.
    unsafe { slice::from_raw_parts(pointer, tensor.ndim as usize) }.to_vec()
}

#[test]
fn a_description_is_what_an_export_says_and_lends_nothing() {
    for array in arrays() {
        let prepared = Prepared::of(&array).unwrap();
        for _ in 0..2 {
            // SAFETY: of this array, and nobody writes it.
            let found = unsafe { prepared.describe(&array) }.unwrap();
            assert!(array.buffer().unwrap().0.write().is_ok());
            let exported = export_versioned(&array, &ExportOptions::new()).unwrap();
            let said = &exported.managed().dl_tensor;
            assert_eq!((found.data, found.ndim, found.dtype), (said.data, said.ndim, said.dtype));
            assert_eq!((found.device, found.byte_offset), (said.device, 0));
            assert_eq!(numbers(found.shape, &found), numbers(said.shape, said));
            assert_eq!(numbers(found.strides, &found), numbers(said.strides, said));
        }
    }
}

#[test]
fn what_others_rely_on_is_not_described() {
    let array: DArray = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().into();
    let prepared = Prepared::of(&array).unwrap();
    let (buffer, _) = array.buffer().unwrap();
    // SAFETY: of this array, and nobody writes it.
    let describe = || unsafe { prepared.describe(&array) };
    let reading = buffer.read().unwrap();
    assert!(describe().unwrap_err().is_conflict());
    drop(reading);
    let writing = buffer.write().unwrap();
    assert!(describe().unwrap_err().is_conflict());
    drop(writing);
    let others = (buffer.share().unwrap(), buffer.pin().unwrap());
    assert!(describe().is_ok());
    drop(others);
}

#[test]
fn what_a_tensor_cannot_say_is_refused() {
    let array: DArray = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().into();
    let refusal = Prepared::of(&array.into_readonly()).unwrap_err();
    assert!(refusal.to_string().contains("read-only"), "{refusal}");
    let swapped =
        DArray::zeros(crossdock::element::DType::F64.swapped(), &[2], crossdock::layout::Order::RowMajor);
    assert!(Prepared::of(&swapped.unwrap()).is_err());
}
