//! Imports memory that other parties allocated, by its address.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::DArray;
use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock_cuda as cuda;

use crate::conformance::{bytes, host, numbers};
use crate::raw::{self, Current};
use crate::setting::{beside, memory, place};

fn pointer(address: u64) -> NonNull<u8> {
    NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize)).unwrap()
}

/// A release function that counts its calls.
fn release(calls: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let calls = calls.clone();
    move || {
        calls.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn memory_of_others_is_adopted_at_the_place_that_the_driver_names() {
    let _others = beside();
    let devices = cuda::devices().map_or(0, |devices| devices.len() as i32);
    let there = memory(DeviceKind::CUDA, 0);
    for ordinal in 0..devices.clamp(1, 2) {
        let _current = Current::of(ordinal);
        let theirs = raw::allocate(1000);
        let calls = Arc::new(AtomicUsize::new(0));
        // SAFETY: the driver allocated 1000 bytes, which only `adopted` accesses until they are
        // freed below.
        let adopted =
            unsafe { cuda::import(pointer(theirs + 10), 990, Birth::Sole, release(&calls)) }.unwrap();
        assert_eq!((adopted.place(), adopted.nbytes()), (place(DeviceKind::CUDA, ordinal), 990));
        Buffer::from_vec(numbers(990)).unwrap().copy_into(&adopted).unwrap();
        let copy = adopted.slice(90..).unwrap().copy_to(&there).unwrap();
        assert_eq!(bytes(&copy), numbers(990)[90..]);
        assert!(adopted.map_to(&host()).unwrap().is_none());
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        drop(adopted);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        raw::free(theirs);
    }
}

#[test]
fn the_driver_names_the_place_of_every_kind_of_memory() {
    let _others = beside();
    for kind in [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        let buffer = Buffer::on(&memory(kind, 0), 1000).unwrap();
        assert_eq!(cuda::place_of(buffer.slice(500..).unwrap().as_ptr()).unwrap(), place(kind, 0));
        // SAFETY: the buffer keeps the 1000 bytes until after the import is dropped, and neither is
        // accessed meanwhile.
        let again = unsafe {
            cuda::import(NonNull::new(buffer.as_ptr().cast_mut()).unwrap(), 1000, Birth::Aliased, || {})
        };
        assert_eq!(again.unwrap().place(), place(kind, 0));
    }
    assert_eq!(cuda::place_of(numbers(10).as_ptr()).unwrap(), Place::CPU);
}

#[test]
fn memory_that_the_driver_does_not_know_or_that_ends_before_is_refused_and_released() {
    let _others = beside();
    memory(DeviceKind::CUDA, 0);
    let calls = Arc::new(AtomicUsize::new(0));
    let usual = numbers(100);
    let address = NonNull::from(&usual[0]);
    // SAFETY: the 100 bytes live until the end of the test, and the import is refused without an
    // access.
    let error = unsafe { cuda::import(address, 100, Birth::Aliased, release(&calls)) }.unwrap_err();
    assert!(error.is_place(), "{error}");
    let _current = Current::of(0);
    let theirs = raw::allocate(4096);
    // SAFETY: the import is refused, because the range exceeds the allocation, and accesses
    // nothing.
    let error =
        unsafe { cuda::import(pointer(theirs + 96), 4001, Birth::Aliased, release(&calls)) }.unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("4000"), "{error}");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    raw::free(theirs);
}

#[test]
fn managed_memory_comes_in_by_dlpack_at_the_device_that_the_driver_names() {
    let _others = beside();
    memory(DeviceKind::CUDA, 0);
    let devices = cuda::devices().map_or(0, |devices| devices.len() as i32);
    for ordinal in 0..devices.clamp(1, 2) {
        let buffer = Buffer::on(&memory(DeviceKind::CUDA_MANAGED, ordinal), 1000).unwrap();
        let array = DArray::from_buffer_in_order(buffer, DType::U8, &[1000], Order::RowMajor).unwrap();
        // SAFETY: the only consumer is the import below, and this test writes neither array.
        let options = unsafe { ExportOptions::new().trust_readonly() };
        let exported = dlpack::export_versioned(&array, &options).unwrap();
        let device = exported.managed().dl_tensor.device;
        assert_eq!((device.device_type, device.device_id), (DeviceKind::CUDA_MANAGED.0, 0));
        // SAFETY: the tensor was exported above, and this import alone consumes it.
        let imported = unsafe { dlpack::import_versioned(exported.into_raw()) }.unwrap();
        assert_eq!(imported.place(), place(DeviceKind::CUDA_MANAGED, ordinal));
        let parts = imported.slice(crossdock::s![500..]).unwrap();
        let exported = dlpack::export_legacy(&parts, &ExportOptions::new()).unwrap();
        // SAFETY: the tensor was exported above, and this import alone consumes it.
        let again = unsafe { dlpack::import_legacy(exported.into_raw()) }.unwrap();
        assert_eq!(again.place(), place(DeviceKind::CUDA_MANAGED, ordinal));
    }
}
