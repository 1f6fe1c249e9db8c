//! Objects of other libraries, and objects for other libraries.

use std::ffi::c_void;

use crossdock::buffer::Buffer;
use crossdock::element::DType;
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Birth, DeviceKind, LeaseKind, Place};
use crossdock::{Casting, DArray, s};
use crossdock_opencl as opencl;

use crate::conformance::{beside, bytes, host, numbers};
use crate::first;
use crate::raw::Library;

#[test]
fn another_programs_object_comes_in_and_is_retained_until_the_last_holder_goes() {
    let _others = beside();
    let Some((description, device)) = first() else { return };
    let (library, stream) = (Library::open(), device.stream().unwrap().unwrap());
    let foreign = library.context_beside(stream.raw(), 0);
    let object = foreign.buffer(&numbers(1000));
    // SAFETY: the memory object is alive, and `foreign`, its owner, does not access it while
    // holders of the buffer do.
    let buffer = unsafe { opencl::import(object, description.place, Birth::Sole) }.unwrap();
    assert_eq!((buffer.nbytes(), buffer.place()), (1000, description.place));
    library.await_references(object, 2);
    let part = buffer.slice(10..20).unwrap();
    let lease = part.device_lease(LeaseKind::Pin).unwrap();
    assert_eq!(lease.object().map(|(raw, offset)| (raw.as_ptr(), offset)), Some((object, 10)));
    drop((buffer, lease));
    // Between two contexts, in both directions, and to the host and back.
    let ours = part.copy_to(&device.memory()).unwrap();
    assert_eq!(
        (bytes(&part), bytes(&ours)),
        (numbers(1000)[10..20].to_vec(), numbers(1000)[10..20].to_vec())
    );
    Buffer::from_vec(vec![0xAAu8; 10]).unwrap().copy_to(&device.memory()).unwrap().copy_into(&part).unwrap();
    let mut expected = numbers(1000);
    expected[10..20].fill(0xAA);
    assert_eq!(foreign.read(object, 1000), expected);
    assert!(
        ours.copy_into_in(&part, &*stream).unwrap().unwrap().is_done(),
        "no queue has objects of two contexts"
    );
    expected[10..20].copy_from_slice(&numbers(1000)[10..20]);
    assert_eq!(foreign.read(object, 1000), expected);
    drop(part);
    library.await_references(object, 1);
    foreign.release(object);
}

#[test]
fn an_object_that_comes_back_is_the_same_bytes_under_leases_of_their_own() {
    let _others = beside();
    let Some((description, device)) = first() else { return };
    let ours = Buffer::from_vec(numbers(300)).unwrap().copy_to(&device.memory()).unwrap();
    let (raw, _) = ours.device_lease(LeaseKind::Pin).unwrap().object().unwrap();
    // SAFETY: `ours` keeps the memory object alive, and the import is aliased, since other leases
    // of its memory exist.
    let again = unsafe { opencl::import(raw.as_ptr(), description.place, Birth::Aliased) }.unwrap();
    assert!(again.device_lease(LeaseKind::Read).unwrap_err().is_conflict());
    Buffer::from_vec(vec![0xBBu8; 3]).unwrap().copy_into(&again.slice(0..3).unwrap()).unwrap();
    assert_eq!(bytes(&ours)[..4], [0xBB, 0xBB, 0xBB, numbers(4)[3]]);
    drop(ours);
    assert_eq!(bytes(&again)[3..], numbers(300)[3..]);
    // SAFETY: `again` keeps the memory object alive, and no code writes it from here on.
    let constant = unsafe { opencl::import(raw.as_ptr(), description.place, Birth::Constant) }.unwrap();
    assert!(constant.is_readonly() && constant.device_lease(LeaseKind::Read).is_ok());
    assert!(Buffer::zeroed(300).unwrap().copy_into(&constant).unwrap_err().is_read_only());
}

#[test]
fn an_object_that_came_in_twice_and_a_part_of_it_are_one_memory() {
    let _others = beside();
    let Some((description, device)) = first() else { return };
    let count = description.alignment;
    let counting = Buffer::from_vec((0..2 * count as u32).collect::<Vec<_>>()).unwrap();
    let ours = counting.copy_to(&device.memory()).unwrap();
    let import = |raw: *mut c_void| {
        // SAFETY: the callers keep the memory object alive, and the import is aliased, since other
        // leases of its memory exist.
        unsafe { opencl::import(raw, description.place, Birth::Aliased) }.unwrap()
    };
    let again = import(ours.device_lease(LeaseKind::Pin).unwrap().object().unwrap().0.as_ptr());
    let half = opencl::sub_buffer(&again.slice(4 * count..).unwrap(), LeaseKind::Share).unwrap();
    let half = import(half.raw());

    let refused = |from: &Buffer, to: &Buffer| from.copy_into(to).unwrap_err().is_bounds();
    assert!(refused(&ours, &again) && refused(&again, &ours));
    let (low, high) = (ours.slice(..4 * count).unwrap(), ours.slice(4 * count..).unwrap());
    assert!(refused(&high, &half) && refused(&half, &high));
    assert!(refused(&ours.slice(4 * count - 4..8 * count - 4).unwrap(), &half));
    low.copy_into(&half).unwrap();
    half.copy_into(&low).unwrap();

    // The numbers of the first half move by one, to the start of the part.
    let array = |buffer: &Buffer| {
        let layout = Layout::contiguous(&[buffer.nbytes() / 4], 4, Order::RowMajor).unwrap();
        DArray::from_buffer(buffer.clone(), DType::U32, layout, 0).unwrap()
    };
    array(&counting).copy_to(&device.memory()).unwrap().buffer().unwrap().0.copy_into(&ours).unwrap();
    let (ours, again, half) = (array(&ours), array(&again), array(&half));
    let values = |array: &DArray| -> Vec<u64> {
        let here = array.copy_to(&host()).unwrap();
        (0..here.len()).map(|index| here.get(&[index]).unwrap().as_u64().unwrap()).collect()
    };
    ours.slice(s![1..]).unwrap().assign(&again.slice(s![..-1]).unwrap(), Casting::Checked).unwrap();
    assert!(values(&ours).iter().enumerate().all(|(k, &number)| number == k.saturating_sub(1) as u64));
    let (before, last) = (values(&again), 2 * count as isize);
    let shifted = again.slice(s![last / 2 - 3..last - 3]).unwrap();
    half.assign(&shifted, Casting::Checked).unwrap();
    assert_eq!(values(&ours)[count..], before[count - 3..2 * count - 3]);
    assert_eq!(values(&ours)[..count], before[..count]);
}

#[test]
fn what_is_no_memory_object_of_the_device_does_not_come_in() {
    let _others = beside();
    let Some((description, _)) = first() else { return };
    let nothing = std::ptr::null_mut();
    // SAFETY: the object is null, which clause 1 of the contract of `import` permits; the call is
    // refused.
    let error = unsafe { opencl::import(nothing, description.place, Birth::Aliased) }.unwrap_err();
    assert!(error.is_malformed(), "{error}");
    // SAFETY: the object is null, which clause 1 of the contract of `import` permits; the call is
    // refused.
    let error = unsafe { opencl::import(nothing, Place::CPU, Birth::Aliased) }.unwrap_err();
    assert!(error.is_place() && error.to_string().contains("cpu"), "{error}");
    let nowhere = Place::new(DeviceKind::OPENCL, 4000);
    // SAFETY: the object is null, which clause 1 of the contract of `import` permits; the call is
    // refused.
    let error = unsafe { opencl::import(nothing, nowhere, Birth::Aliased) }.unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("4000"), "{error}");
}

#[test]
fn a_slice_is_an_object_of_its_own_where_its_first_byte_permits_that() {
    let _others = beside();
    let Some((description, device)) = first() else { return };
    let (library, alignment) = (Library::open(), description.alignment);
    let buffer = Buffer::from_vec(numbers(4 * alignment)).unwrap().copy_to(&device.memory()).unwrap();
    let whole = opencl::sub_buffer(&buffer, LeaseKind::Share).unwrap();
    assert_eq!(whole.lease().object().unwrap().0.as_ptr(), whole.raw(), "all of an object is that object");
    library.await_references(whole.raw(), 2);
    drop(whole);
    let middle = buffer.slice(2 * alignment..2 * alignment + 5).unwrap();
    let part = opencl::sub_buffer(&middle, LeaseKind::Pin).unwrap();
    assert_eq!((library.origin(part.raw()), library.nbytes(part.raw())), (2 * alignment, 5));
    assert_eq!((part.lease().kind(), part.lease().nbytes()), (LeaseKind::Pin, 5));
    assert!(buffer.device_lease(LeaseKind::Write).unwrap_err().is_conflict(), "the memory is held");
    drop((buffer, middle));
    // SAFETY: `part` keeps the memory object alive during the call, and the import is aliased.
    let again = unsafe { opencl::import(part.raw(), description.place, Birth::Aliased) }.unwrap();
    drop(part);
    assert_eq!(bytes(&again), numbers(4 * alignment)[2 * alignment..][..5]);
}

#[test]
fn a_slice_that_cannot_be_an_object_is_refused_with_the_number() {
    let _others = beside();
    let Some((description, device)) = first() else { return };
    let buffer = Buffer::on(&device.memory(), 1000).unwrap();
    let error = opencl::sub_buffer(&buffer.slice(3..).unwrap(), LeaseKind::Pin).unwrap_err();
    assert!(error.is_alignment(), "{error}");
    assert!(error.to_string().contains(&description.alignment.to_string()), "{error}");
    assert!(opencl::sub_buffer(&buffer.slice(5..5).unwrap(), LeaseKind::Pin).unwrap_err().is_bounds());
    let error = opencl::sub_buffer(&Buffer::zeroed(10).unwrap(), LeaseKind::Pin).unwrap_err();
    assert!(error.is_place() && error.to_string().contains("cpu"), "{error}");
    let held = buffer.device_lease(LeaseKind::Read).unwrap();
    assert!(opencl::sub_buffer(&buffer, LeaseKind::Share).unwrap_err().is_conflict());
    drop(held);
    // Memory of another library on this place is distinguished from the library's own.
    // SAFETY: the address is on a device place, so no code dereferences it, and the driver does not
    // know it.
    let stranger =
        unsafe { Buffer::non_owned(std::ptr::without_provenance_mut(4096), 10, description.place) }.unwrap();
    assert!(opencl::sub_buffer(&stranger, LeaseKind::Pin).unwrap_err().is_device());
    assert!(stranger.copy_to(&host()).unwrap_err().is_device());
    assert!(stranger.copy_to(&device.memory()).unwrap_err().is_device());
    assert!(stranger.map_to(&host()).unwrap().is_none());
}
