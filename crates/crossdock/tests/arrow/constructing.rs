//! Constructors of buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::buffer::{Buffer, UninitBuffer};
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::pool::{ALIGNMENT, AllocOptions, Pool};

use crate::{buffer, fenced, host, numbers};

#[test]
fn a_pointer_without_an_owner_is_checked_and_lent_as_memory_that_others_write() {
    let mut storage = *b"wrapped";
    let ptr = storage.as_mut_ptr();
    // SAFETY: `storage` has 7 bytes, outlives the buffer, and is only accessed through it
    // meanwhile.
    let wrapped = unsafe { Buffer::non_owned(ptr, 7, Place::CPU) }.unwrap();
    assert_eq!((wrapped.as_ptr(), wrapped.birth()), (ptr.cast_const(), Birth::Aliased));
    assert!(wrapped.read().unwrap_err().is_conflict());
    assert_eq!(wrapped.pin().unwrap().to_vec(), *b"wrapped");
    // SAFETY: a null pointer with a length above 0 is refused before anything is read.
    let null = unsafe { Buffer::non_owned(std::ptr::null_mut(), 1, Place::CPU) };
    assert!(null.unwrap_err().is_malformed());
    // SAFETY: a length above `isize::MAX` is refused before anything is read.
    let huge = unsafe { Buffer::non_owned(ptr, usize::MAX, Place::CPU) };
    assert!(huge.unwrap_err().is_overflow());
}

#[test]
fn text_that_lives_as_long_as_the_program_is_wrapped_in_place() {
    static TEXT: &str = "for ever";
    let wrapped = Buffer::from_static(TEXT.as_bytes()).unwrap();
    assert_eq!(wrapped.as_ptr(), TEXT.as_ptr());
    assert!(wrapped.is_readonly() && wrapped.birth() == Birth::Constant);
    assert_eq!(wrapped.read().unwrap().as_str().unwrap(), TEXT);
}

#[test]
fn foreign_memory_has_a_place_that_its_slices_keep_and_a_release_that_is_called_once() {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    let pinned = Place::new(DeviceKind::CUDA_HOST, 0);
    let storage = numbers(100);
    let ptr = storage.as_ptr().cast_mut();
    let release = move || {
        drop(storage);
        RELEASED.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: the closure owns the vector of 100 bytes until the release, and no code writes it.
    let foreign = unsafe { Buffer::from_foreign(ptr, 100, pinned, Birth::Constant, release) }.unwrap();
    let slice = foreign.slice(10..20).unwrap().slice(5..).unwrap();
    assert_eq!((foreign.place(), slice.place()), (pinned, pinned));
    drop(foreign);
    assert_eq!(RELEASED.load(Ordering::Relaxed), 0);
    assert_eq!(slice.read().unwrap()[..], numbers(100)[15..20]);
    drop(slice);
    assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
}

#[test]
fn a_string_is_adopted_and_writable_while_nobody_else_has_it() {
    let text = "a string of its own, on the heap".to_owned();
    let address = text.as_ptr();
    let mut adopted = Buffer::from_string(text).unwrap();
    assert_eq!(adopted.as_ptr(), address);
    adopted.as_mut_slice().unwrap()[0] = b'A';
    assert_eq!(adopted.to_text().unwrap(), "A string of its own, on the heap");
    let other = adopted.clone();
    assert!(adopted.as_mut_slice().unwrap_err().is_conflict());
    drop(other);
    let empty = Buffer::from_string(String::new()).unwrap();
    assert!(empty.nbytes() == 0 && !empty.as_ptr().is_null());
}

#[test]
fn a_vector_is_adopted_with_its_block() {
    let vec = vec![1u32, 2, 3];
    let address = vec.as_ptr();
    let adopted = Buffer::from_vec(vec).unwrap();
    assert_eq!((adopted.as_ptr(), adopted.nbytes()), (address.cast(), 12));
    assert!(!adopted.is_readonly());
    assert_eq!(Buffer::from_vec(Vec::<f64>::new()).unwrap().nbytes(), 0);
}

#[test]
fn an_owner_that_others_may_have_too_is_kept_and_never_written() {
    let owner = Arc::new(vec![1u16, 2, 3]);
    let adopted = Buffer::from_owner(owner.clone()).unwrap();
    assert_eq!(adopted.as_ptr(), owner.as_ptr().cast());
    assert!(adopted.is_readonly() && adopted.write().unwrap_err().is_read_only());
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(adopted);
    assert_eq!(Arc::strong_count(&owner), 1);

    let shared = bytes::Bytes::from(vec![4u8, 5, 6]);
    let adopted = Buffer::from_owner(shared.slice(1..)).unwrap();
    assert_eq!(adopted.as_ptr(), shared[1..].as_ptr());
    assert!(!shared.is_unique());
    assert_eq!(adopted.read().unwrap()[..], [5, 6]);
    drop(adopted);
    assert!(shared.is_unique());
}

#[test]
fn new_memory_is_written_before_it_is_a_buffer() {
    let pool = Pool::system().unwrap();
    let mut fresh: UninitBuffer = pool.uninit(100).unwrap();
    for (byte, value) in fresh.as_uninit_mut().iter_mut().zip(numbers(100)) {
        byte.write(value);
    }
    // SAFETY: the loop above wrote all 100 bytes of the new block.
    let filled = unsafe { fresh.assume_init() };
    assert_eq!(filled.read().unwrap()[..], numbers(100));
    assert_eq!((filled.pool_name(), filled.capacity()), (Some("system"), 128));
    assert_eq!(pool.zeroed(100).unwrap().read().unwrap()[..], [0; 100]);
}

#[test]
fn an_alignment_is_a_power_of_two_up_to_a_page_in_every_pool() {
    for pool in [Pool::system().unwrap(), Pool::default(), Pool::default().proxy("aligned").unwrap()] {
        for align in [1, 2, 8, 64, 512, 1024, 4096] {
            let aligned = AllocOptions::new().align(align).zeroed(&pool, 1000).unwrap();
            assert!(aligned.is_aligned_to(align.max(ALIGNMENT)), "{align}");
        }
        for align in [0, 3, 63, 96, 8192, usize::MAX] {
            let error = AllocOptions::new().align(align).zeroed(&pool, 1000).unwrap_err();
            assert!(error.is_alignment(), "{align}: {error}");
        }
    }
}

#[test]
fn a_buffer_that_grows_begins_with_room_and_no_bytes() {
    let mut growing = Pool::default().mutable(100).unwrap();
    assert_eq!((growing.nbytes(), growing.capacity()), (0, 128));
    growing.resize(100).unwrap();
    assert_eq!(growing[..], [0; 100]);
}

#[test]
fn memory_for_bits_is_zero_throughout() {
    let bits: usize = 100;
    let bitmap = Pool::default().zeroed(bits.div_ceil(8)).unwrap();
    assert_eq!((bitmap.nbytes(), bitmap.capacity()), (13, 64));
    assert_eq!(bitmap.read().unwrap()[..], [0; 13]);
}

#[test]
fn whatever_has_no_owner_is_copied_like_anything_else() {
    let storage = numbers(100);
    // SAFETY: `storage` has 100 bytes and outlives the buffer, and no code writes it.
    let wrapped = unsafe { Buffer::non_owned(storage.as_ptr().cast_mut(), 100, Place::CPU) }.unwrap();
    let copy = wrapped.copy_to(&host()).unwrap();
    assert_ne!(copy.as_ptr(), wrapped.as_ptr());
    drop(wrapped);
    drop(storage);
    assert_eq!(copy.read().unwrap()[..], numbers(100));
}

#[test]
fn a_copy_is_made_to_any_memory_and_also_to_the_same() {
    let (device, there) = fenced(100);
    let (here, memory) = (buffer(100), there.memory_manager().unwrap().unwrap());
    let copy = here.copy_to(&host()).unwrap();
    assert_ne!(copy.as_ptr(), here.as_ptr());
    let second = there.copy_to(&memory).unwrap();
    assert_ne!(second.as_ptr(), there.as_ptr());
    assert_eq!(second.place(), crossdock::device::Device::place(&*device));
    assert_eq!(second.copy_to(&host()).unwrap().read().unwrap()[..], numbers(100));
}

#[test]
fn buffers_are_joined_by_appending_them() {
    let (first, second, none) = (buffer(100), buffer(3), Buffer::zeroed(0).unwrap());
    let pool = Pool::system().unwrap();
    let mut joined = pool.mutable(0).unwrap();
    for part in [&first, &none, &second] {
        joined.extend_from_slice::<u8>(&part.read().unwrap()).unwrap();
    }
    let joined = joined.freeze();
    assert_eq!(joined.read().unwrap()[..], [numbers(100), numbers(3)].concat());
    assert_eq!(pool.statistics().live_count, 1);
}
