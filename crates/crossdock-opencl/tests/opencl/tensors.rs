//! DLPack on OpenCL: exports and imports memory objects with the offset of the first element, and
//! streams by their handles.

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::element::DType;
use crossdock::exchange::protocol::dlpack::abi::{DLManagedTensorVersioned, IS_COPIED, READ_ONLY};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions, Exported};
use crossdock::layout::Order;
use crossdock::memory::{Birth, LeaseKind, Place};
use crossdock::view::{CopyPolicy, Synchronization};
use crossdock::{Array, DArray, s};

use crate::{first, raw};

fn there() -> Option<DArray> {
    let (description, _) = first()?;
    let memory = Buffer::from_vec((0..24).collect::<Vec<i32>>()).unwrap();
    let memory = memory.copy_to(&device::memory(description.place).unwrap()).unwrap();
    Some(DArray::from_buffer_in_order(memory, DType::I32, &[4, 6], Order::RowMajor).unwrap())
}

fn lend(array: &DArray) -> Exported<DLManagedTensorVersioned> {
    // SAFETY: the tests in this file never write a tensor that was exported from a read-only array.
    let options = unsafe { ExportOptions::new().trust_readonly() };
    dlpack::export_versioned(array, &options).unwrap()
}

fn import(exported: Exported<DLManagedTensorVersioned>) -> crossdock::Result<DArray> {
    // SAFETY: the tensor was just exported, and this import alone consumes it.
    unsafe { dlpack::import_versioned(exported.into_raw()) }
}

fn value(array: &DArray, index: &[usize]) -> i64 {
    array.get(index).unwrap().as_i64().unwrap()
}

#[test]
fn memory_objects_go_out_with_the_byte_of_element_0_and_come_back_in_place() {
    let Some(array) = there() else { return };
    let (object, _) = array.buffer().unwrap().0.device_lease(LeaseKind::Pin).unwrap().object().unwrap();
    for (view, offset) in [
        (array.clone(), 0),
        (array.slice(s![1.., 2..]).unwrap(), 32),
        (array.slice(s![..;-1, ..;-1]).unwrap(), 92),
        (array.transpose().unwrap().into_readonly(), 0),
    ] {
        let exported = lend(&view);
        let managed = exported.managed();
        let tensor = managed.dl_tensor;
        assert_eq!((tensor.data, tensor.byte_offset), (object.as_ptr(), offset));
        assert_eq!((tensor.device.device_type, managed.flags & READ_ONLY != 0), (4, view.is_readonly()));
        let back = import(exported).unwrap();
        assert_eq!(
            (back.place(), back.shape(), back.strides()),
            (view.place(), view.shape(), view.strides())
        );
        assert_eq!((back.is_readonly(), back.birth()), (view.is_readonly(), Birth::Aliased));
        assert_eq!(value(&back, &[1, 2]), value(&view, &[1, 2]));
        assert!(array.buffer().unwrap().0.device_lease(LeaseKind::Write).is_err(), "it is still lent");
        drop(back);
        assert!(array.buffer().unwrap().0.device_lease(LeaseKind::Write).is_ok(), "given back once");
    }
    let nothing = array.slice(s![2..2, ..]).unwrap();
    let exported = lend(&nothing);
    assert!(exported.managed().dl_tensor.data.is_null());
    let back = import(exported).unwrap();
    assert_eq!((back.place(), back.shape()), (array.place(), &[0, 6][..]));
}

#[test]
fn elements_outside_of_the_object_are_refused_and_released() {
    let Some(array) = there() else { return };
    for (offset, kind) in [(4, "bounds"), (u64::MAX, "overflow")] {
        let tensor = lend(&array).into_raw();
        // SAFETY: the tensor was exported above, and only this test has its pointer until the
        // import below.
        unsafe { (*tensor).dl_tensor.byte_offset = offset };
        // SAFETY: the offset that was written is checked by the import, which alone consumes the
        // tensor.
        let error = unsafe { dlpack::import_versioned(tensor) }.unwrap_err();
        assert!(error.is_bounds() || error.is_overflow(), "{kind}: {error}");
        assert!(array.buffer().unwrap().0.device_lease(LeaseKind::Write).is_ok(), "{kind}");
    }
    let tensor = lend(&array).into_raw();
    // SAFETY: the tensor was exported above, and only this test has its pointer until the import
    // below.
    unsafe { (*tensor).dl_tensor.data = std::ptr::null_mut() };
    // SAFETY: the null pointer that was written is checked by the import, which alone consumes the
    // tensor.
    assert!(unsafe { dlpack::import_versioned(tensor) }.unwrap_err().is_malformed());
    assert!(array.buffer().unwrap().0.device_lease(LeaseKind::Write).is_ok());
}

#[test]
fn elements_are_brought_to_another_place_as_the_options_permit() {
    let Some(array) = there() else { return };
    let here = ExportOptions::new().place(Place::CPU);
    let copied = dlpack::export_versioned(&array, &here.copy(CopyPolicy::Always)).unwrap();
    let managed = copied.managed();
    assert_eq!((managed.dl_tensor.device.device_type, managed.flags), (1, IS_COPIED));
    assert_eq!(copied.copied_nbytes(), 96);
    assert_eq!(value(&import(copied).unwrap(), &[3, 5]), 23);
    // Memory shared with the device is exported in place; any other export needs a copy.
    let seen = dlpack::export_versioned(&array, &here);
    let (description, _) = first().unwrap();
    assert_eq!(seen.is_ok(), description.is_unified);
    drop(seen);
    let sent = DArray::from(Array::from_vec(vec![1.5f32, 2.5], [2]).unwrap());
    for policy in [CopyPolicy::IfNeeded, CopyPolicy::Always] {
        let options = ExportOptions::new().place(array.place()).copy(policy);
        let sent = import(dlpack::export_versioned(&sent, &options).unwrap()).unwrap();
        assert_eq!((sent.place(), sent.get(&[1]).unwrap().to_string()), (array.place(), "2.5".to_owned()));
    }
    // A read-only array is copied on its own device.
    let beside = ExportOptions::new().copy(CopyPolicy::IfNeeded);
    let copied = dlpack::export_versioned(&array.clone().into_readonly(), &beside).unwrap();
    assert_eq!((copied.copied_nbytes(), copied.managed().dl_tensor.device.device_type), (96, 4));
    assert_eq!(value(&import(copied).unwrap(), &[3, 5]), 23);
}

#[test]
fn queues_are_waited_for_by_their_handles() {
    let Some((_, device)) = first() else { return };
    let library = raw::Library::open();
    let (ours, theirs) = (device.stream().unwrap().unwrap(), device.stream().unwrap().unwrap());
    let gate = library.user_event(ours.raw());
    // SAFETY: `gate` keeps the event alive during the call, which retains it.
    ours.wait(&unsafe { device.wrap_event(gate.event()) }.unwrap().unwrap()).unwrap();
    let source = Buffer::from_vec(vec![1i32, 2, 3]).unwrap();
    let written = source.copy_to_in(&device.memory(), &*ours).unwrap().buffer;
    let array = DArray::from_buffer_in_order(written, DType::I32, &[3], Order::RowMajor).unwrap();
    let number = theirs.raw().expose_provenance() as i64;
    let asked = Synchronization::asked(array.place().kind(), Some(number)).unwrap();
    assert_eq!(asked, Synchronization::Stream(theirs.raw().addr()));
    // SAFETY: the queue belongs to this device, and `theirs` keeps it alive during the call.
    unsafe { asked.order(&array, LeaseKind::Share) }.unwrap();
    let lent = dlpack::export_versioned(&array, &ExportOptions::new().ordered()).unwrap();
    let reached = theirs.record().unwrap();
    assert!(!reached.is_done(), "no thread has waited");
    drop(gate);
    reached.wait().unwrap();
    assert!(array.buffer().unwrap().0.events().unwrap().iter().all(|(event, _)| event.is_done()));
    drop(lent);
}
