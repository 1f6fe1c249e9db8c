//! Properties of a buffer, and its content.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{Device, Effect, Signal};
use crossdock::memory::{DeviceKind, Place, copied_bytes};
use crossdock::pool::Pool;

use crate::{buffer, bytes, fenced, host, numbers};

#[test]
fn bytes_are_read_under_a_lease_or_refused_with_a_reason() {
    let here = buffer(10);
    let guard = here.read().unwrap();
    assert_eq!(guard.as_ptr(), here.as_ptr());
    assert!(here.write().unwrap_err().is_conflict(), "what is read does not change meanwhile");
    let (_device, there) = fenced(10);
    assert!(there.read().unwrap_err().is_place());
    assert!(!there.as_ptr().is_null(), "the address is known, and gives no access");
}

#[test]
fn bytes_are_written_under_a_lease_or_by_the_only_handle() {
    let mut here = buffer(10);
    here.write().unwrap()[0] = 1;
    here.as_mut_slice().unwrap()[1] = 2;
    assert_eq!(here.read().unwrap()[..2], [1, 2]);
    let mut readonly = here.clone().into_readonly();
    assert!(readonly.write().unwrap_err().is_read_only());
    assert!(readonly.as_mut_slice().unwrap_err().is_read_only());
    assert!(here.as_mut_slice().unwrap_err().is_conflict(), "there are two handles");
}

#[test]
fn elements_are_seen_where_size_and_alignment_permit() {
    let here = Buffer::from_vec(vec![1u64, 2, 3]).unwrap();
    assert_eq!(here.read().unwrap().as_slice_of::<u64>().unwrap(), [1, 2, 3]);
    let (odd, short) = (here.slice(1..9).unwrap(), here.slice(0..9).unwrap());
    assert!(odd.read().unwrap().as_slice_of::<u64>().unwrap_err().is_alignment());
    assert!(short.read().unwrap().as_slice_of::<u64>().unwrap_err().is_bounds());
    here.write().unwrap().as_mut_slice_of::<u64>().unwrap()[1] = 7;
    assert_eq!(here.read().unwrap().as_slice_of::<u64>().unwrap(), [1, 7, 3]);
}

#[test]
fn the_address_is_that_of_its_place() {
    let (device, there) = fenced(10);
    assert_eq!(there.address(), there.as_ptr().addr());
    assert_eq!(there.slice(3..).unwrap().address(), there.address() + 3);
    assert_eq!(there.place(), device.place());
}

#[test]
fn the_address_for_writing_is_an_error_where_nothing_may_be_written() {
    let (_device, there) = fenced(10);
    assert_eq!(there.mutable_address().unwrap(), there.address());
    assert!(there.into_readonly().mutable_address().unwrap_err().is_read_only());
}

#[test]
fn sizes_are_counts_of_bytes_and_never_negative() {
    let here = Buffer::from_vec(vec![1u16, 2, 3]).unwrap();
    let nbytes: usize = here.nbytes();
    assert_eq!(nbytes, 6);
}

#[test]
fn the_capacity_is_the_blocks_at_its_beginning_and_a_slices_own_elsewhere() {
    let whole = Buffer::zeroed(100).unwrap();
    assert_eq!(whole.capacity(), 128);
    assert_eq!(whole.slice(0..10).unwrap().capacity(), 128, "it begins where the block does");
    assert_eq!(whole.slice(1..11).unwrap().capacity(), 10);
    assert_eq!(buffer(100).capacity(), 100, "a vector's memory is no pool's");
}

#[test]
fn host_memory_is_what_the_processor_can_address() {
    let (_device, there) = fenced(1);
    assert!(buffer(1).is_host() && !there.is_host());
    let pinned = Place::new(DeviceKind::CUDA_HOST, 0);
    // SAFETY: the buffer has no bytes, so a null pointer is valid.
    let empty = unsafe { Buffer::non_owned(std::ptr::null_mut(), 0, pinned) }.unwrap();
    assert!(empty.is_host());
}

#[test]
fn a_slice_may_write_if_its_parent_may() {
    let mut here = buffer(10);
    let slice = here.slice(2..4).unwrap();
    assert!(!here.is_readonly() && !slice.is_readonly());
    slice.write().unwrap().fill(0xFF);
    assert!(!here.is_exclusive());
    drop(slice);
    assert!(here.is_exclusive());
    assert_eq!(here.read().unwrap()[2..4], [0xFF; 2]);
    assert!(here.into_readonly().slice(2..4).unwrap().is_readonly());
}

#[test]
fn the_place_tells_kind_and_number_and_slices_keep_it() {
    let (device, there) = fenced(10);
    let place = there.slice(3..5).unwrap().place();
    assert_eq!(place, device.place());
    assert_eq!((place.kind(), place.ordinal()), (DeviceKind::EXT_DEV, 0));
}

#[test]
fn the_manager_is_who_copies_the_memory_or_nobody() {
    let (device, there) = fenced(10);
    assert!(Arc::ptr_eq(&there.memory_manager().unwrap().unwrap(), &device.memory()));
    assert!(Arc::ptr_eq(&buffer(1).memory_manager().unwrap().unwrap(), &host()));
    let unknown = Place::new(DeviceKind::VULKAN, 0);
    // SAFETY: the buffer has no bytes, so a null pointer is valid.
    let stranger = unsafe { Buffer::non_owned(std::ptr::null_mut(), 0, unknown) }.unwrap();
    assert!(stranger.memory_manager().unwrap().is_none());
}

#[test]
fn a_slice_has_no_parent_and_keeps_the_memory_which_it_says_the_size_of() {
    let pool = Pool::system().unwrap();
    let slice = pool.zeroed(1000).unwrap().slice(10..20).unwrap().slice(1..3).unwrap();
    assert_eq!((slice.nbytes(), slice.retained_nbytes()), (2, 1024));
    assert_eq!(pool.statistics().live_nbytes, 1024);
}

#[test]
fn events_are_the_memorys_and_waited_for_by_every_slice() {
    let here = buffer(10);
    let early = here.slice(0..5).unwrap();
    let (signal, completion) = Signal::new();
    here.note_event(signal, Effect::Writes).unwrap();
    let late = here.slice(5..).unwrap();
    assert_eq!((early.events().unwrap().len(), late.events().unwrap().len()), (1, 1));
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| late.read().unwrap().to_vec());
        std::thread::yield_now();
        assert!(!reading.is_finished());
        completion.finish(Ok(()));
        assert_eq!(reading.join().unwrap(), numbers(10)[5..]);
    });
}

#[test]
fn one_byte_is_asked_for_with_its_bound() {
    let here = buffer(10);
    let guard = here.read().unwrap();
    assert_eq!((guard[9], guard.get(10)), (numbers(10)[9], None));
    assert!(here.pin().unwrap().load::<u8>(10).unwrap_err().is_bounds());
}

#[test]
fn text_is_checked_where_it_is_asked_for() {
    let text = Buffer::from_string("größer".to_owned()).unwrap();
    assert_eq!(text.read().unwrap().as_str().unwrap(), "größer");
    assert_eq!(text.to_text().unwrap(), "größer");
    let torn = text.slice(0..3).unwrap();
    for error in [torn.to_text().unwrap_err(), torn.read().unwrap().as_str().map(str::len).unwrap_err()] {
        assert!(error.is_malformed() && error.to_string().contains("byte 2"), "{error}");
    }
    assert!(fenced(3).1.to_text().unwrap_err().is_place());
}

#[test]
fn hexadecimal_digits_are_upper_case_and_refused_for_a_device() {
    let here = Buffer::from_vec(vec![0x00u8, 0xA9, 0xFF, 0x1b]).unwrap();
    assert_eq!(here.to_hex_string().unwrap(), "00A9FF1B");
    assert_eq!(here.slice(4..).unwrap().to_hex_string().unwrap(), "");
    let large = buffer(100_003);
    let naive: String = numbers(100_003).iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(large.to_hex_string().unwrap(), naive);
    assert!(fenced(3).1.to_hex_string().unwrap_err().is_place());
}

#[test]
fn equality_looks_at_the_bytes_and_says_where_it_cannot() {
    let here = buffer(100_003);
    let (same, mut other) = (buffer(100_003), numbers(100_003));
    assert!(here.equals(&same).unwrap() && here.equals(&here.clone()).unwrap());
    other[100_002] ^= 1;
    assert!(!here.equals(&Buffer::from_vec(other).unwrap()).unwrap());
    assert!(!here.equals(&buffer(100_002)).unwrap(), "of another size");
    let (_device, there) = fenced(10);
    assert!(there.equals(&buffer(10)).unwrap_err().is_place());
    assert!(there.equals(&there.clone()).unwrap(), "the same memory needs no look");
}

#[test]
fn the_first_bytes_are_equal_only_where_both_have_so_many() {
    let (long, short) = (buffer(10), buffer(6));
    assert!(long.equals_prefix(&short, 6).unwrap());
    assert!(!long.equals_prefix(&short, 7).unwrap());
    assert!(!long.equals_prefix(&long, 11).unwrap(), "not even of itself");
    assert!(long.equals_prefix(&Buffer::zeroed(0).unwrap(), 0).unwrap());
}

#[test]
fn a_part_is_copied_into_a_pool_with_its_bounds_checked() {
    let pool = Pool::system().unwrap();
    let here = buffer(100);
    let before = copied_bytes();
    let copy = here.copy_slice(10..20, &pool).unwrap();
    assert!(copied_bytes() - before >= 10, "it is counted");
    assert_eq!(copy.read().unwrap()[..], numbers(100)[10..20]);
    assert_eq!((copy.pool_name(), copy.capacity()), (Some("system"), 64));
    assert!(here.copy_slice(10..101, &pool).unwrap_err().is_bounds());
    assert!(fenced(3).1.copy_slice(.., &pool).unwrap_err().is_place());
}

#[test]
fn padding_is_zero_when_a_buffer_is_finished_and_can_be_zeroed_again() {
    let mut growing = Pool::default().mutable(128).unwrap();
    growing.extend_from_slice(&[0xFFu8; 128]).unwrap();
    growing.truncate(10);
    let mut finished = growing.freeze();
    let behind = |buffer: &Buffer, at: usize| {
        assert!(at < buffer.capacity());
        // SAFETY: `at` is below the capacity (asserted just before), and finishing a buffer
        // initialises its padding.
        unsafe { buffer.as_ptr().wrapping_add(at).read() }
    };
    assert!(
        (10..64).all(|at| behind(&finished, at) == 0),
        "up to the next multiple of 64 without being told"
    );
    finished.zero_padding().unwrap();
    assert!((10..128).all(|at| behind(&finished, at) == 0));
    assert_eq!(finished.read().unwrap()[..], [0xFF; 10]);
    let other = finished.clone();
    assert!(finished.zero_padding().unwrap_err().is_conflict());
    drop(other);
}

#[test]
fn misaligned_bytes_are_copied_and_others_are_not() {
    let pool = Pool::system().unwrap();
    let whole = pool.zeroed(100).unwrap();
    assert!(whole.is_aligned_to(64) && whole.alignment() >= 64);
    let same = whole.ensure_alignment(64, &pool).unwrap();
    assert_eq!(same.as_ptr(), whole.as_ptr());
    let odd = whole.slice(1..).unwrap();
    assert_eq!((odd.alignment(), odd.is_aligned_to(2)), (1, false));
    let copy = odd.ensure_alignment(4096, &pool).unwrap();
    assert!(copy.is_aligned_to(4096) && copy.equals(&odd).unwrap());
    assert!(odd.ensure_alignment(3, &pool).unwrap_err().is_alignment());
}

#[test]
fn only_the_range_that_is_asked_for_comes_from_a_device() {
    let (_device, there) = fenced(1000);
    let room = Buffer::zeroed(10).unwrap();
    there.slice(500..510).unwrap().copy_into(&room).unwrap();
    assert_eq!(bytes(&room), numbers(1000)[500..510]);
    assert!(there.slice(995..1005).unwrap_err().is_bounds());
    assert!(there.slice(0..9).unwrap().copy_into(&room).unwrap_err().is_bounds());
}
