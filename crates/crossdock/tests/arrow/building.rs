//! Buffers that grow.

use crossdock::buffer::{BufferBuilder, MutableBuffer};
use crossdock::pool::Pool;

use crate::{buffer, numbers};

#[test]
fn a_buffer_that_may_be_written_is_one_that_nobody_else_has() {
    let mut growing = MutableBuffer::new().unwrap();
    growing.extend_from_slice(&numbers(10)).unwrap();
    growing[0] = 9;
    let address = growing.as_ptr();
    let frozen = growing.freeze();
    assert_eq!(frozen.as_ptr(), address);
    let other = frozen.clone();
    let rejected = frozen.try_into_mut().unwrap_err();
    assert!(rejected.error.is_conflict());
    drop(other);
    let again = rejected.value.try_into_mut().unwrap();
    assert_eq!((again.as_ptr(), again[0]), (address, 9));
}

#[test]
fn a_size_is_set_without_giving_room_back_and_new_bytes_are_zero() {
    let mut growing = Pool::default().mutable(1000).unwrap();
    growing.extend_from_slice(&[0xFFu8; 100]).unwrap();
    growing.resize(50).unwrap();
    assert_eq!(growing.capacity(), 1024);
    growing.resize(100).unwrap();
    assert_eq!(growing[..], [[0xFF; 50], [0; 50]].concat(), "what was dropped does not come back");
    growing.shrink_to_fit().unwrap();
    assert_eq!((growing.nbytes(), growing.capacity()), (100, 128));
}

#[test]
fn room_is_made_geometrically_or_exactly() {
    let mut growing = Pool::default().mutable(1000).unwrap();
    growing.resize(1000).unwrap();
    growing.reserve(100).unwrap();
    assert_eq!(growing.capacity(), 2048);
    growing.reserve_exact(1049).unwrap();
    assert_eq!(growing.capacity(), 2112);
    growing.reserve_exact(1).unwrap();
    assert_eq!(growing.capacity(), 2112, "never less");
}

#[test]
fn sizes_in_elements_are_a_builders() {
    let mut builder = BufferBuilder::<f64>::with_capacity(50).unwrap();
    assert_eq!(builder.capacity(), 56, "400 bytes are 448");
    builder.reserve(100).unwrap();
    assert!(builder.capacity() >= 100 && builder.is_empty());
    assert!(builder.reserve(usize::MAX / 2).unwrap_err().is_out_of_memory());
}

#[test]
fn a_shared_buffer_has_its_size_set_while_nobody_looks() {
    let mut here = buffer(100);
    let guard = here.read().unwrap();
    let error = here.resize(200).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains('1'), "{error}");
    drop(guard);
    here.resize(200).unwrap();
    assert_eq!(here.read().unwrap()[..], [numbers(100), vec![0; 100]].concat());
    here.resize(10).unwrap();
    assert_eq!(here.read().unwrap()[..], numbers(10));
}

#[test]
fn bytes_are_appended_and_the_capacity_doubles() {
    let mut growing = MutableBuffer::new().unwrap();
    let mut capacities = vec![];
    for byte in numbers(1000) {
        growing.push(byte).unwrap();
        if capacities.last() != Some(&growing.capacity()) {
            capacities.push(growing.capacity());
        }
    }
    growing.extend_from_slice(&numbers(24)).unwrap();
    assert_eq!(growing[..], [numbers(1000), numbers(24)].concat());
    assert!(capacities.windows(2).all(|pair| pair[1] >= 2 * pair[0]), "{capacities:?}");
}

#[test]
fn one_element_many_times_takes_no_more_room_than_it_needs() {
    let mut builder = BufferBuilder::<u32>::new().unwrap();
    builder.append_n(16, 7).unwrap();
    assert_eq!((builder.as_slice(), builder.capacity()), (&[7u32; 16][..], 16));
    assert!(builder.append_n(usize::MAX, 7).unwrap_err().is_out_of_memory());
    assert_eq!(builder.len(), 16);
}

#[test]
fn bytes_that_are_passed_over_are_zero() {
    let mut growing = MutableBuffer::with_capacity(64).unwrap();
    growing.extend_from_slice(&[0xFFu8; 64]).unwrap();
    growing.clear();
    growing.resize(10).unwrap();
    assert_eq!(growing[..], [0; 10]);
}

#[test]
fn room_is_written_directly_and_then_said_to_be_bytes() {
    let mut growing = MutableBuffer::with_capacity(64).unwrap();
    for byte in &mut growing.spare_capacity_mut()[..10] {
        byte.write(3);
    }
    // SAFETY: the loop above wrote the first ten bytes of the spare capacity, which begins at
    // length 0.
    unsafe { growing.set_nbytes(10) };
    assert_eq!(growing[..], [3; 10]);
}

#[test]
fn a_finished_buffer_keeps_its_capacity_unless_it_is_shrunk_before() {
    let fill = || {
        let mut builder = BufferBuilder::<u8>::with_capacity(1024).unwrap();
        builder.append_slice(&numbers(10)).unwrap();
        builder
    };
    let finished = fill().finish();
    assert_eq!((finished.nbytes(), finished.capacity()), (10, 1024));
    let mut bytes = fill().into_inner();
    bytes.shrink_to_fit().unwrap();
    assert_eq!(bytes.freeze().capacity(), 64);
    assert_eq!(BufferBuilder::<u8>::new().unwrap().finish().nbytes(), 0);
}

#[test]
fn a_builder_is_cut_to_a_length_before_it_is_finished() {
    let mut builder = BufferBuilder::<u16>::new().unwrap();
    builder.append_slice(&[1, 2, 3, 4]).unwrap();
    builder.truncate(9);
    assert_eq!(builder.len(), 4, "never longer");
    builder.truncate(2);
    assert_eq!(builder.finish().read().unwrap().as_slice_of::<u16>().unwrap(), [1, 2]);
}

#[test]
fn bytes_are_dropped_and_the_room_stays() {
    let mut growing = MutableBuffer::with_capacity(1000).unwrap();
    growing.extend_from_slice(&numbers(1000)).unwrap();
    let address = growing.as_ptr();
    growing.truncate(10);
    assert_eq!(growing[..], numbers(10));
    growing.clear();
    assert_eq!((growing.nbytes(), growing.capacity(), growing.as_ptr()), (0, 1024, address));
}

#[test]
fn a_builder_shows_its_elements_at_any_time() {
    let mut builder = BufferBuilder::<i32>::new().unwrap();
    builder.append(1).unwrap();
    builder.append(2).unwrap();
    builder.as_mut_slice()[0] = -1;
    assert_eq!((builder.as_slice(), builder.len()), (&[-1, 2][..], 2));
    assert_eq!(builder.into_inner()[4..], 2i32.to_ne_bytes());
}

#[test]
fn a_builder_continues_a_buffer_of_whole_elements() {
    let mut growing = MutableBuffer::new().unwrap();
    growing.extend_from_slice(&[1u32, 2]).unwrap();
    let mut builder = BufferBuilder::<u32>::over(growing).unwrap();
    builder.append(3).unwrap();
    assert_eq!(builder.as_slice(), [1, 2, 3]);
    let mut odd = builder.into_inner();
    odd.push(1u8).unwrap();
    assert!(BufferBuilder::<u32>::over(odd).unwrap_err().is_bounds());
}

#[test]
fn sizes_are_rounded_and_divided_by_the_standard_library() {
    let (nbytes, bits) = (100usize, 13usize);
    assert_eq!((nbytes.next_multiple_of(64), bits.div_ceil(8)), (128, 2));
    assert_eq!(usize::MAX.checked_next_multiple_of(64), None, "an overflow is seen");
}
