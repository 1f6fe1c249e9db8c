//! Parts of buffers.

use crossdock::buffer::Buffer;
use crossdock::device::Device;
use crossdock::pool::Pool;

use crate::{buffer, fenced, numbers};

#[test]
fn the_constructor_of_a_slice_is_a_method_that_checks() {
    let here = buffer(100);
    let slice = here.slice(10..30).unwrap();
    assert_eq!((slice.as_ptr(), slice.nbytes()), (here.as_ptr().wrapping_add(10), 20));
    drop(here);
    assert_eq!(slice.read().unwrap()[..], numbers(100)[10..30]);
}

#[test]
fn a_slice_of_which_one_is_sure_panics_with_the_numbers() {
    let here = buffer(18);
    assert_eq!(here.slice(8..).unwrap().nbytes(), 10);
    let panicked = std::panic::catch_unwind(|| here.slice(10..1010).unwrap()).unwrap_err();
    let text = panicked.downcast_ref::<String>().unwrap();
    assert!(text.contains("10..1010") && text.contains("18 bytes"), "{text}");
}

#[test]
fn a_range_that_does_not_fit_is_an_error_with_the_numbers() {
    let here = buffer(100);
    assert_eq!(here.slice(100..).unwrap().nbytes(), 0);
    #[expect(clippy::reversed_empty_ranges, reason = "the refused ones")]
    let refused = [(0..101), (101..101), (50..49), (usize::MAX..usize::MAX), (1..usize::MAX)];
    for range in refused {
        let error = here.slice(range.clone()).unwrap_err();
        assert!(error.is_bounds(), "{range:?}");
        for number in [range.start.to_string(), range.end.to_string(), "100".to_owned()] {
            assert!(error.to_string().contains(&number), "{range:?}: {error}");
        }
    }
    assert!(here.slice(0..=usize::MAX).unwrap_err().is_bounds(), "an end that no number says");
}

#[test]
fn parts_are_written_at_once_and_keep_their_place() {
    let whole = buffer(100);
    let parts = whole.partition(&[0..40, 64..100]).unwrap();
    let (mut left, mut right) = (parts[0].write().unwrap(), parts[1].write().unwrap());
    left[0] = 1;
    right[35] = 2;
    let rejected = buffer(10).partition(&[0..6, 5..10]).unwrap_err();
    assert!(rejected.error.is_bounds() && rejected.value.nbytes() == 10);
    let (device, there) = fenced(10);
    let parts = there.partition(&[0..5, 5..10]).unwrap();
    assert!(parts.iter().all(|part| part.place() == device.place() && !part.is_readonly()));
    let constant = Buffer::from_static(b"constant").unwrap();
    assert!(constant.partition(&[0..4, 4..8]).unwrap().iter().all(Buffer::is_readonly));
}

#[test]
fn what_a_slice_keeps_alive_beside_its_own_is_given_up_on_request() {
    let pool = Pool::system().unwrap();
    let slice = pool.zeroed(1 << 20).unwrap().slice(5..15).unwrap();
    assert_eq!(slice.retained_nbytes(), 1 << 20);
    let tight = slice.compact(&pool).unwrap();
    assert_eq!((tight.nbytes(), tight.retained_nbytes()), (10, 64));
    assert_eq!(pool.statistics().live_nbytes, 64);
}
