//! Allocations with one owner, and the default place of new ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::memory::{Allocation, Birth, DeviceKind, Place, default_place, set_default_place};

/// A kind that no other test of this program registers.
const KIND: DeviceKind = DeviceKind::EXT_DEV;

#[test]
fn an_owned_allocation_is_zeroed_on_the_host_and_tells_its_bounds() {
    let mut allocation = Allocation::new(100, Place::CPU).unwrap();
    assert_eq!((allocation.nbytes(), allocation.place()), (100, Place::CPU));
    assert_eq!(allocation.nbytes(), 100);
    assert_eq!(allocation.as_mut_slice().unwrap(), [0; 100]);
    assert!(Allocation::new(usize::MAX, Place::CPU).unwrap_err().is_out_of_memory());
    let empty = Allocation::new(0, Place::CPU).unwrap();
    assert_eq!(empty.nbytes(), 0);
    assert!(format!("{allocation:?}").contains("100 bytes"));
}

#[test]
fn new_memory_is_made_on_the_default_place_and_what_exists_stays() {
    let unserved = Place::new(DeviceKind::METAL, 7);
    let there = Place::new(KIND, 5);
    let open = |place: Place| Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>);
    device::register(Arc::new((KIND, open))).unwrap();
    assert_eq!(default_place(), Place::CPU);
    let here = Allocation::new(10, default_place()).unwrap();
    assert_eq!(set_default_place(there), Place::CPU);
    let mut far = Allocation::new(10, default_place()).unwrap();
    assert_eq!((here.place(), far.place()), (Place::CPU, there));
    assert!(far.as_mut_slice().unwrap_err().is_place());
    assert_eq!(set_default_place(unserved), there);
    let error = Allocation::new(10, default_place()).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("metal"), "{error}");
    assert_eq!(set_default_place(Place::CPU), unserved);
    device::unregister(KIND).unwrap();
    assert_eq!(Buffer::from(far).nbytes(), 10, "memory outlives the registration of its device");
}

#[test]
fn adopted_memory_is_released_once_and_by_its_last_holder() {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    let mut storage = vec![3u8; 10];
    let ptr = storage.as_mut_ptr();
    let release = move || {
        drop(storage);
        RELEASED.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: the closure owns the vector, so its 10 bytes live until the release, and only the
    // allocation accesses them.
    let mut allocation = unsafe { Allocation::adopt(ptr, 10, Place::CPU, release) }.unwrap();
    allocation.as_mut_slice().unwrap()[0] = 4;
    let buffer = Buffer::from(allocation);
    let slice = buffer.slice(0..1).unwrap();
    drop(buffer);
    assert_eq!((RELEASED.load(Ordering::Relaxed), slice.read().unwrap()[0]), (0, 4));
    drop(slice);
    assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
}

#[test]
fn memory_that_is_not_owned_is_left_to_its_owner() {
    let mut storage = [1u8, 2, 3];
    let ptr = storage.as_mut_ptr();
    {
        // SAFETY: `storage` outlives the block in which the allocation lives, and is only accessed
        // through the allocation meanwhile.
        let mut allocation = unsafe { Allocation::non_owned(ptr, 3, Place::CPU) }.unwrap();
        assert!(allocation.as_mut_slice().unwrap_err().is_conflict(), "others may have it, too");
        let buffer = Buffer::from(allocation);
        assert_eq!(buffer.birth(), Birth::Aliased);
        buffer.share().unwrap().store(1, 9u8).unwrap();
    }
    assert_eq!(storage, [1, 9, 3]);
}

#[test]
fn a_buffer_becomes_an_allocation_only_whole_writable_and_alone() {
    let refused = |buffer: Buffer, nbytes: usize| {
        let rejected = Allocation::try_from(buffer).unwrap_err();
        assert_eq!(rejected.value.nbytes(), nbytes, "the buffer comes back");
        rejected.error
    };
    let buffer = Buffer::zeroed(100).unwrap();
    let other = buffer.clone();
    assert!(refused(buffer, 100).is_conflict());
    assert!(refused(other.slice(1..).unwrap(), 99).is_conflict());
    let part = other.slice(1..).unwrap();
    drop(other);
    assert!(refused(part, 99).is_bounds());
    assert!(refused(Buffer::from_static(b"constant").unwrap(), 8).is_read_only());
    let leased = Buffer::zeroed(10).unwrap();
    let guard = leased.read().unwrap();
    assert!(refused(leased, 10).is_conflict());
    drop(guard);
    assert_eq!(Allocation::try_from(Buffer::zeroed(10).unwrap()).unwrap().nbytes(), 10);
}
