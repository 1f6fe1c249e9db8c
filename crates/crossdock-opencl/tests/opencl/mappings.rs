//! Memory that the host and the device share.

use crossdock::buffer::Buffer;
use crossdock::device::{self, Moved};
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{Birth, LeaseKind, Place};
use crossdock_opencl as opencl;

use crate::conformance::{beside, bytes, host, numbers};
use crate::raw::Library;

/// The first device, if its memory can be mapped.
fn mappable() -> Option<(opencl::Description, std::sync::Arc<dyn device::Device>)> {
    let first = crate::first()?;
    if !first.0.is_mappable {
        crossdock_testkit::not_run("mapping memory of OpenCL: the device here cannot");
        return None;
    }
    Some(first)
}

/// Host memory with the device's alignment, which large blocks have.
fn aligned(nbytes: usize) -> Buffer {
    let block = Buffer::zeroed(2 << 20).unwrap();
    block.write().unwrap()[..nbytes].copy_from_slice(&numbers(nbytes));
    block.slice(..nbytes).unwrap()
}

#[test]
fn the_devices_memory_is_the_hosts_without_a_copy_and_shows_what_either_writes() {
    let _others = beside();
    let Some((_, device)) = mappable() else { return };
    let there = Buffer::from_vec(numbers(5000)).unwrap().copy_to(&device.memory()).unwrap();
    let before = copied_bytes_here();
    let mapped = there.slice(3..).unwrap().map_to(&host()).unwrap().unwrap();
    assert_eq!((mapped.place(), mapped.birth(), mapped.nbytes()), (Place::CPU, Birth::Aliased, 4997));
    assert_eq!(copied_bytes_here(), before);
    assert_eq!(mapped.pin().unwrap().to_vec(), numbers(5000)[3..]);
    assert!(
        there.device_lease(LeaseKind::Read).unwrap_err().is_conflict(),
        "a read lease is refused meanwhile"
    );
    Buffer::from_vec(vec![0x11u8; 5000]).unwrap().copy_into(&there).unwrap();
    assert_eq!(mapped.pin().unwrap().to_vec(), [0x11; 4997]);
    mapped.share().unwrap().store(9, 0x22u8).unwrap();
    assert_eq!(bytes(&there)[12], 0x22);
    let again = there.map_to(&host()).unwrap().unwrap();
    assert_eq!(again.as_ptr().wrapping_add(3), mapped.as_ptr());
    drop((mapped, again));
    drop(there.device_lease(LeaseKind::Write).unwrap());
    assert!(there.map_to(&device::shared_memory()).unwrap().is_none(), "it is no shared memory");
}

#[test]
fn host_memory_is_the_devices_without_a_copy_and_comes_back_to_its_address() {
    let _others = beside();
    let Some((_, device)) = mappable() else { return };
    let (here, before) = (aligned(5000), copied_bytes_here());
    let there = here.slice(100..).unwrap().map_to(&device.memory()).unwrap().unwrap();
    assert_eq!((there.place(), there.birth(), there.nbytes()), (device.place(), Birth::Aliased, 4900));
    assert_eq!(copied_bytes_here(), before);
    assert!(there.pin().unwrap_err().is_place());
    assert_eq!(bytes(&there), numbers(5000)[100..]);
    let back = there.slice(10..).unwrap().map_to(&host()).unwrap().unwrap();
    assert_eq!(back.as_ptr(), here.as_ptr().wrapping_add(110));
    Buffer::from_vec(vec![0xCCu8; 4900]).unwrap().copy_into(&there).unwrap();
    assert_eq!(back.pin().unwrap().to_vec(), [0xCC; 4890]);
    assert!(here.device_lease(LeaseKind::Write).unwrap_err().is_conflict());
    drop((there, back));
    let mut expected = numbers(5000);
    expected[100..].fill(0xCC);
    assert_eq!(here.write().unwrap()[..], expected);
}

#[test]
fn a_mapping_is_an_object_that_other_consumers_of_opencl_take() {
    let _others = beside();
    let Some((_, device)) = mappable() else { return };
    let there = aligned(1000).map_to(&device.memory()).unwrap().unwrap();
    let whole = opencl::sub_buffer(&there, LeaseKind::Share).unwrap();
    assert_eq!(Library::open().nbytes(whole.raw()), 1000);
    drop(there);
    assert_eq!(whole.lease().nbytes(), 1000);
}

#[test]
fn what_is_mapped_twice_is_one_memory_on_either_side() {
    let _others = beside();
    let Some((_, device)) = mappable() else { return };
    let here = aligned(4000);
    let [one, two] = [(), ()].map(|()| here.map_to(&device.memory()).unwrap().unwrap());
    let back = two.map_to(&host()).unwrap().unwrap();
    let object = opencl::sub_buffer(&one, LeaseKind::Share).unwrap();
    // SAFETY: `object` keeps the memory object alive, and the import is aliased, since other leases
    // of its memory exist.
    let came = unsafe { opencl::import(object.raw(), one.place(), Birth::Aliased) }.unwrap();
    let all = [&here, &one, &two, &back, &came];
    for (number, from) in all.iter().enumerate() {
        for to in &all[number + 1..] {
            for (from, to) in [(from, to), (to, from)] {
                let error = from.slice(..3000).unwrap().copy_into(&to.slice(1000..).unwrap()).unwrap_err();
                assert!(error.is_bounds(), "{from:?} to {to:?}: {error}");
                from.slice(..2000).unwrap().copy_into(&to.slice(2000..).unwrap()).unwrap();
            }
        }
    }
    assert_eq!(back.pin().unwrap().to_vec(), [&numbers(4000)[..2000], &numbers(4000)[..2000]].concat());
}

#[test]
fn what_is_read_only_is_mapped_read_only_both_ways() {
    let _others = beside();
    let Some((_, device)) = mappable() else { return };
    let sealed = aligned(3000).copy_to(&device::shared_memory()).unwrap().into_sealed().unwrap();
    let there = sealed.map_to(&device.memory()).unwrap().unwrap();
    assert!(there.is_readonly() && there.device_lease(LeaseKind::Share).unwrap_err().is_read_only());
    assert!(Buffer::zeroed(3000).unwrap().copy_into(&there).unwrap_err().is_read_only());
    assert_eq!(sealed.read().unwrap()[..], numbers(3000), "others may rely on it meanwhile");
    let back = there.map_to(&host()).unwrap().unwrap();
    assert!(back.is_readonly() && back.pin().unwrap().to_vec() == numbers(3000));
    drop((back, there));
    let there = Buffer::from_vec(numbers(10)).unwrap().copy_to(&device.memory()).unwrap().into_readonly();
    let mapped = there.map_to(&host()).unwrap().unwrap();
    assert!(mapped.is_readonly() && mapped.share().is_err());
    assert_eq!(mapped.pin().unwrap().to_vec(), numbers(10));
}

#[test]
fn memory_that_begins_elsewhere_than_the_device_wants_it_is_copied() {
    let _others = beside();
    let Some((description, device)) = mappable() else { return };
    assert!(description.alignment > 1);
    static SEVENS: [u8; 1 << 16] = [7; 1 << 16];
    let at = SEVENS.as_ptr().align_offset(description.alignment) + 1;
    // The bytes before the buffer do not belong to its allocation.
    let buffer = Buffer::from_static(&SEVENS[at..at + 90]).unwrap();
    assert!(buffer.map_to(&device.memory()).unwrap().is_none());
    let placed = buffer.map_or_copy_to(&device.memory()).unwrap();
    assert_eq!(placed.moved, Moved::Copied { nbytes: 90 });
    assert_eq!(bytes(&placed.buffer), [7; 90]);
}

#[test]
fn a_mapping_waits_for_what_is_under_way_and_is_refused_while_somebody_relies_on_constancy() {
    let _others = beside();
    let Some((_, device)) = mappable() else { return };
    let stream = device.stream().unwrap().unwrap();
    let there =
        Buffer::from_vec(numbers(200_000)).unwrap().copy_to_in(&device.memory(), &*stream).unwrap().buffer;
    let mapped = there.map_to(&host()).unwrap().unwrap();
    assert!(mapped.pin().unwrap().to_vec() == numbers(200_000));
    drop(mapped);
    let held = there.device_lease(LeaseKind::Read).unwrap();
    assert!(there.map_to(&host()).unwrap_err().is_conflict());
    drop(held);
    let here = aligned(100);
    let reading = here.read().unwrap();
    assert!(here.map_to(&device.memory()).unwrap_err().is_conflict());
    drop(reading);
}
