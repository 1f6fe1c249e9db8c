//! The same bytes, accessed by the host and by devices.

use crossdock::buffer::Buffer;
use crossdock::device::{self, Moved};
use crossdock::memory::{Birth, DeviceKind, LeaseKind, Place};
use crossdock_cuda as cuda;

use crate::conformance::{bytes, host, numbers};
use crate::setting::{beside, memory, mock, place};

#[test]
fn pinned_memory_is_seen_by_the_device_and_from_there_by_the_host_at_its_address() {
    let _others = beside();
    let (pinned, there) = (memory(DeviceKind::CUDA_HOST, 0), memory(DeviceKind::CUDA, 0));
    let here = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&pinned).unwrap();
    assert_eq!(here.place(), place(DeviceKind::CUDA_HOST, 0));
    let seen = here.slice(100..).unwrap().map_to(&there).unwrap().unwrap();
    assert_eq!((seen.place(), seen.nbytes(), seen.birth()), (there.place(), 900, Birth::Aliased));
    assert!(seen.pin().unwrap_err().is_place());
    for memory in [&pinned, &host()] {
        let back = seen.slice(1..).unwrap().map_to(memory).unwrap().unwrap();
        assert_eq!((back.place(), back.as_ptr()), (memory.place(), here.as_ptr().wrapping_add(101)));
    }
    assert_eq!(seen.map_to(&there).unwrap().unwrap().as_ptr(), seen.as_ptr());
    // The host sees what the device writes, and the mapping keeps the memory.
    Buffer::from_vec(vec![0xCCu8; 900]).unwrap().copy_into(&seen).unwrap();
    assert_eq!(here.pin().unwrap().load::<u8>(999).unwrap(), 0xCC);
    assert!(here.read().unwrap_err().is_conflict());
    drop(here);
    assert_eq!(bytes(&seen), [0xCC; 900]);
}

#[test]
fn managed_memory_has_one_address_everywhere() {
    let _others = beside();
    let (managed, there) = (memory(DeviceKind::CUDA_MANAGED, 0), memory(DeviceKind::CUDA, 0));
    let both = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&managed).unwrap();
    let seen = both.map_to(&there).unwrap().unwrap();
    assert_eq!((seen.place(), seen.as_ptr()), (there.place(), both.as_ptr()));
    for memory in [&managed, &host()] {
        let back = seen.map_to(memory).unwrap().unwrap();
        assert_eq!((back.place(), back.as_ptr()), (memory.place(), both.as_ptr()));
    }
    assert_eq!(bytes(&seen), numbers(1000));
    assert!(both.map_to(&memory(DeviceKind::CUDA_HOST, 0)).unwrap().is_none());
}

#[test]
fn pinned_memory_is_pinned_for_every_device() {
    let _others = beside();
    let here = Buffer::on(&memory(DeviceKind::CUDA_HOST, 0), 100).unwrap();
    for device in 0..cuda::devices().unwrap().len() as i32 {
        let seen = here.map_to(&memory(DeviceKind::CUDA, device)).unwrap().unwrap();
        assert_eq!(seen.place(), place(DeviceKind::CUDA, device));
        let same = here.map_to(&memory(DeviceKind::CUDA_HOST, device)).unwrap().unwrap();
        assert_eq!(same.as_ptr(), here.as_ptr());
    }
}

#[test]
fn memory_of_a_device_and_usual_memory_of_the_host_are_not_mapped_to_each_other() {
    let _others = beside();
    let there = memory(DeviceKind::CUDA, 0);
    let sent = Buffer::from_vec(numbers(100)).unwrap().copy_to(&there).unwrap();
    let usual = Buffer::from_vec(numbers(100)).unwrap();
    for other in [DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED].map(|kind| memory(kind, 0)) {
        assert!(sent.map_to(&other).unwrap().is_none() && usual.map_to(&other).unwrap().is_none());
        assert_eq!(sent.map_or_copy_to(&other).unwrap().moved, Moved::Copied { nbytes: 100 });
    }
    assert!(usual.map_to(&there).unwrap().is_none());
    assert!(sent.map_to(&device::shared_memory()).unwrap().is_none());
    assert_eq!(usual.map_or_copy_to(&there).unwrap().moved, Moved::Copied { nbytes: 100 });
}

#[test]
fn usual_memory_is_pinned_where_it_lies_until_nobody_uses_it() {
    let _others = beside();
    let there = memory(DeviceKind::CUDA, 0);
    let usual = Buffer::from_vec(numbers(10_000)).unwrap();
    let pinned = cuda::pin(&usual.slice(10..).unwrap(), 0).unwrap();
    assert_eq!(
        (pinned.place(), pinned.as_ptr()),
        (place(DeviceKind::CUDA_HOST, 0), usual.as_ptr().wrapping_add(10))
    );
    assert!(usual.read().unwrap_err().is_conflict(), "a device may write it");
    let seen = pinned.map_to(&there).unwrap().unwrap();
    assert_eq!(bytes(&seen), numbers(10_000)[10..]);
    let error = cuda::pin(&usual, 0).unwrap_err();
    assert!(error.is_device() && error.to_string().contains("cuMemHostRegister_v2"), "{error}");
    drop(pinned);
    assert!(cuda::pin(&usual, 0).is_err(), "the mapping keeps it");
    drop(seen);
    drop(cuda::pin(&usual, 0).unwrap());
    drop(usual.write().unwrap());
    assert_eq!(cuda::pin(&Buffer::zeroed(0).unwrap(), 0).unwrap().nbytes(), 0);
}

#[test]
fn what_is_read_only_is_pinned_and_mapped_read_only() {
    let _others = beside();
    let there = memory(DeviceKind::CUDA, 0);
    let constant = Buffer::from_vec(numbers(5000)).unwrap().copy_to(&device::shared_memory()).unwrap();
    let constant = constant.into_sealed().unwrap();
    let pinned = match cuda::pin(&constant, 0) {
        Ok(pinned) => pinned,
        // Real devices differ in this; the mock driver supports it.
        Err(error) => {
            assert!(mock().is_none(), "{error}");
            return crossdock_testkit::not_run(&format!("pinning read-only memory: {error}"));
        }
    };
    assert!(pinned.is_readonly());
    assert_eq!(constant.read().unwrap()[..], numbers(5000), "others may read meanwhile");
    let seen = pinned.map_to(&there).unwrap().unwrap();
    assert!(seen.is_readonly() && seen.device_lease(LeaseKind::Share).unwrap_err().is_read_only());
    assert!(Buffer::zeroed(5000).unwrap().copy_into(&seen).unwrap_err().is_read_only());
    assert!(seen.map_to(&host()).unwrap().unwrap().is_readonly());
    assert_eq!(bytes(&seen), numbers(5000));
}

#[test]
fn only_usual_memory_of_the_host_is_pinned() {
    let _others = beside();
    for kind in [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        let error = cuda::pin(&Buffer::on(&memory(kind, 0), 10).unwrap(), 0).unwrap_err();
        assert!(error.is_place() && error.to_string().contains(&place(kind, 0).to_string()), "{error}");
    }
    let usual = Buffer::zeroed(10).unwrap();
    assert!(cuda::pin(&usual, 99).unwrap_err().is_bounds());
    let writing = usual.write().unwrap();
    assert!(cuda::pin(&usual, 0).unwrap_err().is_conflict());
    drop(writing);
    assert_eq!(usual.place(), Place::CPU);
}
