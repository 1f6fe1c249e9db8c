//! Descriptions without a lease: the content of an export, of memory on which no consumer relies.

use std::slice;

use crossdock::bindings::dlpack::abi::{DLTensor, READ_ONLY};
use crossdock::bindings::dlpack::{ExportOptions, Prepared, export_versioned};
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
    // SAFETY: the library's exports and descriptions have `ndim` lengths and strides, which live as
    // long as the array.
    unsafe { slice::from_raw_parts(pointer, tensor.ndim as usize) }.to_vec()
}

#[test]
fn a_description_is_what_an_export_says_and_lends_nothing() {
    for array in arrays() {
        let prepared = Prepared::of(&array).unwrap();
        for _ in 0..2 {
            // SAFETY: `prepared` was made from this array, and no thread writes it.
            let found = unsafe { prepared.describe(&array) }.unwrap();
            assert!(array.buffer().unwrap().0.write().is_ok());
            let exported = export_versioned(&array, &ExportOptions::new()).unwrap();
            let said = &exported.managed().dl_tensor;
            assert_eq!((found.data, found.ndim, found.dtype), (said.data, said.ndim, said.dtype));
            assert_eq!((found.device, found.byte_offset), (said.device, 0));
            assert_eq!(numbers(found.shape, &found), numbers(said.shape, said));
            assert_eq!(numbers(found.strides, &found), numbers(said.strides, said));
            drop(exported);
            // SAFETY: `prepared` was made from this very array, whose layout and memory have not
            // changed since.
            let lent = unsafe { prepared.lend(&array, &ExportOptions::new()) }.unwrap();
            assert!(array.is_empty() || array.buffer().unwrap().0.write().is_err());
            let said = &lent.managed().dl_tensor;
            assert_eq!((found.data, found.ndim, found.dtype), (said.data, said.ndim, said.dtype));
            assert_eq!(numbers(found.shape, &found), numbers(said.shape, said));
            assert_eq!(numbers(found.strides, &found), numbers(said.strides, said));
            assert!(found.ndim == 0 || found.shape != said.shape, "a lease has numbers of its own");
        }
    }
}

#[test]
fn what_others_rely_on_is_not_described() {
    let array: DArray = Array::from_vec(vec![1u8, 2, 3], [3]).unwrap().into();
    let prepared = Prepared::of(&array).unwrap();
    let (buffer, _) = array.buffer().unwrap();
    // SAFETY: `prepared` was made from this array, and no thread writes it while a description is
    // used.
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
    let array = array.into_readonly();
    let prepared = Prepared::of(&array).unwrap();
    // SAFETY: `prepared` was made from this array, and no thread writes it.
    let error = unsafe { prepared.describe(&array) }.unwrap_err();
    assert!(error.is_read_only() && error.to_string().contains("managed"), "{error}");
    // SAFETY: `prepared` was made from this very array, whose layout and memory have not changed
    // since.
    let refusal = unsafe { prepared.lend(&array, &ExportOptions::new()) }.unwrap_err();
    assert!(refusal.to_string().contains("read-only"), "{refusal}");
    // SAFETY: the only consumer is this test, which does not write the memory.
    let trusting = unsafe { ExportOptions::new().trust_readonly() };
    // SAFETY: `prepared` was made from this very array, whose layout and memory have not changed
    // since.
    let lent = unsafe { prepared.lend(&array, &trusting) }.unwrap();
    assert_eq!(lent.managed().flags, READ_ONLY);
    let swapped =
        DArray::zeros(crossdock::element::DType::F64.swapped(), &[2], crossdock::layout::Order::RowMajor);
    assert!(Prepared::of(&swapped.unwrap()).is_err());
}
