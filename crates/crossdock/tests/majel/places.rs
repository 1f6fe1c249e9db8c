//! Places, allocations, buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::buffer::Buffer;
use crossdock::memory::{Allocation, Backing, DeviceKind, Place, default_place, set_default_place};

use crate::{DEFAULT_PLACE, assert_says, gpu, host};

#[test]
fn a_place_is_a_kind_of_device_and_a_number() {
    let (cpu, second) = (Place::CPU, Place::new(DeviceKind::CUDA, 1));
    assert_eq!((second.kind(), second.ordinal()), (DeviceKind::CUDA, 1));
    assert!(cpu != second && second == Place::new(DeviceKind::CUDA, 1));
    assert_eq!((cpu.to_string(), second.to_string()), ("cpu".to_owned(), "cuda:1".to_owned()));
}

#[test]
fn the_places_that_majel_names_are_a_constant_and_a_number_0() {
    assert_eq!(Place::CPU, Place::new(DeviceKind::CPU, 0));
    assert_eq!(Place::new(DeviceKind::CUDA, 0).to_string(), "cuda:0");
}

#[test]
fn the_default_place_is_the_processs_and_setting_it_returns_the_one_before() {
    let _alone = DEFAULT_PLACE.lock().unwrap();
    assert_eq!(default_place(), Place::CPU);
    assert_eq!(set_default_place(gpu(1)), Place::CPU);
    assert_eq!(default_place(), gpu(1));
    let seen = std::thread::spawn(default_place).join().unwrap();
    assert_eq!(seen, gpu(1));
    assert_eq!(set_default_place(Place::CPU), gpu(1));
}

#[test]
fn whether_a_place_is_the_hosts_and_of_which_class_is_asked_of_it() {
    assert!(Place::CPU.is_host() && !gpu(0).is_host());
    // Memory that a driver pinned is host memory.
    assert!(Place::new(DeviceKind::CUDA_HOST, 0).is_host());
    assert!(gpu(0) != gpu(1) && gpu(0).kind() == gpu(1).kind());
}

#[test]
fn code_for_places_matches_on_their_kind() {
    let name = |place: Place| match place.kind() {
        DeviceKind::CPU => "the processor",
        DeviceKind::CUDA => "a card",
        _ => "something else",
    };
    assert_eq!(
        [Place::CPU, Place::new(DeviceKind::CUDA, 3), gpu(0)].map(name),
        ["the processor", "a card", "something else"]
    );
}

#[test]
fn memory_is_had_of_a_place_and_goes_back_by_itself() {
    let memory = crossdock::device::memory(gpu(2)).unwrap();
    for place in [Place::CPU, gpu(2)] {
        let allocation = Allocation::new(100, place).unwrap();
        assert_eq!(allocation.place(), place);
        assert!(allocation.ptr().addr().is_multiple_of(64));
        assert_eq!(memory.usage().live_count, usize::from(place == gpu(2)) as u64);
    }
    assert_eq!(memory.usage().live_count, 0);
}

#[test]
fn an_allocation_is_on_the_default_place_or_on_one_that_is_named() {
    let _alone = DEFAULT_PLACE.lock().unwrap();
    assert_eq!(Allocation::new(10, default_place()).unwrap().place(), Place::CPU);
    set_default_place(gpu(1));
    let there = Allocation::new(10, default_place());
    let here = Allocation::new(10, Place::CPU);
    set_default_place(Place::CPU);
    assert_eq!((there.unwrap().place(), here.unwrap().place()), (gpu(1), Place::CPU));
    assert_eq!(Allocation::new(0, Place::CPU).unwrap().nbytes(), 0);
}

#[test]
fn memory_of_others_is_pointed_at_or_adopted_with_a_callback() {
    let released = Arc::new(AtomicUsize::new(0));
    let mut theirs = [1u8, 2, 3, 4];
    // SAFETY: `theirs` has 4 bytes and outlives the allocation, which is its only user meanwhile.
    let pointed = unsafe { Allocation::non_owned(theirs.as_mut_ptr(), 4, Place::CPU) }.unwrap();
    assert_eq!((pointed.nbytes(), pointed.ptr()), (4, theirs.as_ptr()));
    drop(pointed);
    let counted = released.clone();
    let release = move || {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: `theirs` has 4 bytes and outlives the buffer; no other code accesses it until the
    // release.
    let adopted = unsafe { Allocation::adopt(theirs.as_mut_ptr(), 4, Place::CPU, release) }.unwrap();
    let buffer = Buffer::from(adopted);
    let slice = buffer.slice(2..).unwrap();
    drop(buffer);
    assert_eq!((slice.read().unwrap()[..].to_vec(), released.load(Ordering::Relaxed)), (vec![3, 4], 0));
    drop(slice);
    assert_eq!(released.load(Ordering::Relaxed), 1);
}

#[test]
fn an_allocation_tells_its_bounds_and_its_place() {
    let allocation = Allocation::new(24, Place::CPU).unwrap();
    assert_eq!((allocation.ptr().is_null(), allocation.nbytes()), (false, 24));
    assert_eq!((allocation.nbytes(), allocation.place()), (24, Place::CPU));
}

#[test]
fn a_buffer_is_made_of_an_allocation_or_of_a_pointer_with_a_length() {
    let allocation = Allocation::new(24, Place::CPU).unwrap();
    let address = allocation.ptr();
    let buffer = Buffer::from(allocation);
    assert_eq!((buffer.as_ptr(), buffer.nbytes(), buffer.backing()), (address, 24, Backing::Heap));
    let mut theirs = [0u8; 8];
    // SAFETY: `theirs` has 8 bytes and outlives the buffer, which is its only user meanwhile.
    let buffer = unsafe { Buffer::non_owned(theirs.as_mut_ptr(), 8, Place::CPU) }.unwrap();
    assert_eq!((buffer.nbytes(), buffer.backing()), (8, Backing::Foreign));
}

#[test]
fn a_buffer_tells_address_and_place_and_its_clones_keep_the_memory() {
    let buffer = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    assert_eq!((buffer.address(), buffer.place()), (buffer.as_ptr().addr(), Place::CPU));
    let kept = buffer.clone();
    drop(buffer);
    assert_eq!(kept.read().unwrap()[..], [1, 2, 3]);
}

#[test]
fn work_of_a_device_is_waited_for_by_whoever_touches_the_bytes() {
    let there = Buffer::from_vec(vec![1u8, 2, 3]).unwrap();
    let there = there.copy_to(&crossdock::device::memory(gpu(0)).unwrap()).unwrap();
    there.settle().unwrap();
    assert_eq!(there.copy_to(&host()).unwrap().read().unwrap()[..], [1, 2, 3]);
    assert_says(&there.read().unwrap_err(), &["ext_dev:0"]);
}
