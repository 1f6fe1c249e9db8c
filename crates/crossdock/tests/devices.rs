//! Every device behaves like the others; and what each of them refuses, fails at, and reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossdock::buffer::Buffer;
use crossdock::device::fenced::{FAILURE, FencedDevice, Operation, Ways};
use crossdock::device::{self, Device, Effect, Event, MemoryManager, Moved, Signal, Transfer, Usage};
use crossdock::layout::Order;
use crossdock::memory::{Backing, Birth, DeviceKind, LeaseKind, Place};
use crossdock::pool::Pool;
use crossdock::view::{CopyPolicy, Request};
use crossdock::{Array, DArray, Error, Result};
use crossdock_conformance::{Subject, alone, beside, bytes, conforms, host, numbers};

conforms!(cpu, of_host(host()));
conforms!(pool, of_host(device::pool_memory(Pool::system().unwrap())));
conforms!(shared, Subject { is_exact: true, ..of_host(device::shared_memory()) });
conforms!(fenced, of_fenced(false));
conforms!(fenced_and_mappable, of_fenced(true));

fn of_host(memory: Arc<dyn MemoryManager>) -> Subject {
    let manager = if memory.backing() == Backing::Heap { host() } else { memory.clone() };
    Subject { manager, is_mappable: true, is_exact: false, ..Subject::new(memory) }
}

fn of_fenced(is_mappable: bool) -> Subject {
    let device = FencedDevice::new(0);
    device.set_mappable(is_mappable);
    let (pausing, failing, streaming) = (device.clone(), device.clone(), device.clone());
    Subject {
        stream: device.stream().unwrap(),
        pause: Some(Box::new(move || Box::new(pausing.pause()))),
        new_stream: Some(Box::new(move || streaming.stream().unwrap().unwrap())),
        second: Some(FencedDevice::new(1).memory()),
        is_mappable,
        fail_release: Some(Box::new(move || failing.fail(Operation::Release, 1))),
        ..Subject::new(device.memory())
    }
}

// ===== who copies: the negotiation

#[test]
fn the_processor_is_itself_and_not_another_device() {
    let _others = beside();
    let (cpu, fenced) = (device::get(Place::CPU).unwrap(), FencedDevice::new(0));
    assert!(Arc::ptr_eq(&cpu, &device::get(Place::CPU).unwrap()));
    assert!(Arc::ptr_eq(&cpu.memory(), &host()) && Arc::ptr_eq(&fenced.memory(), &fenced.memory()));
    assert_ne!(cpu.place(), fenced.place());
    assert!(cpu.place().is_host() && !fenced.place().is_host());
    assert!(cpu.stream().unwrap().is_none());
    let nowhere = std::ptr::null_mut();
    for device in [&cpu, &(fenced.clone() as Arc<dyn Device>)] {
        // SAFETY: these devices have no driver, so they return before they use the handle.
        assert!(unsafe { device.wrap_stream(nowhere) }.unwrap().is_none());
        // SAFETY: these devices have no driver, so they return before they use the handle.
        assert!(unsafe { device.wrap_event(nowhere) }.unwrap().is_none());
    }
    let stream = fenced.stream().unwrap().unwrap();
    assert!(stream.raw().is_null() && stream.record().unwrap().raw().is_null());
    assert_eq!((cpu.name(), fenced.name()), ("the processor".to_owned(), "fenced device 0".to_owned()));
}

#[test]
fn a_copy_on_the_host_has_an_address_of_its_own() {
    let _others = beside();
    let buffer = Buffer::from_vec(numbers(100)).unwrap();
    let copy = buffer.copy_to(&host()).unwrap();
    assert_ne!(copy.as_ptr(), buffer.as_ptr());
    assert_eq!(copy.place(), Place::CPU);
    assert_eq!(copy.read().unwrap()[..], buffer.read().unwrap()[..]);
    // Borrowed memory is copied as well: its slices, and memory without an owner.
    let lent = numbers(10);
    // SAFETY: `lent` has 10 bytes and outlives the buffer, and no code writes it.
    let lent_buffer = unsafe { Buffer::non_owned(lent.as_ptr().cast_mut(), 10, Place::CPU) }.unwrap();
    assert_eq!(bytes(&lent_buffer.slice(3..).unwrap()), lent[3..]);
}

#[test]
fn two_devices_copy_directly_over_a_host_copy_or_over_a_host_mapping() {
    let (first, second) = (FencedDevice::new(0), FencedDevice::new(1));
    let content = numbers(1000);
    let apart = Ways { between: false, ..Ways::ALL };
    let only_mapped = Ways { to_host: false, ..apart };
    let _alone = alone();
    for (ways, is_mappable, copies) in [(Ways::ALL, false, 1), (apart, false, 2), (only_mapped, true, 1)] {
        let source = Buffer::from_vec(content.clone()).unwrap().copy_to(&first.memory()).unwrap();
        first.set_mappable(is_mappable);
        for device in [&first, &second] {
            device.set_ways(ways);
        }
        let before = crossdock::memory::copied_bytes_here();
        let copy = source.copy_to(&second.memory()).unwrap();
        let counted = crossdock::memory::copied_bytes_here() - before;
        assert_eq!((copy.place(), counted), (second.place(), copies * 1000), "{ways:?}");
        for device in [&first, &second] {
            device.set_ways(Ways::ALL);
            device.set_mappable(false);
        }
        assert_eq!(bytes(&copy), content);
    }
}

#[test]
fn a_copy_that_nobody_makes_is_unsupported_both_ways_and_nothing_is_done() {
    let _others = beside();
    let (first, second) = (FencedDevice::new(0), FencedDevice::new(1));
    let there = Buffer::from_vec(numbers(10)).unwrap().copy_to(&first.memory()).unwrap();
    first.set_ways(Ways::NONE);
    second.set_ways(Ways::NONE);
    let here = Buffer::zeroed(10).unwrap();
    for result in [
        there.copy_to(&host()),
        here.copy_to(&first.memory()),
        there.copy_to(&second.memory()),
        there.copy_into(&here).map(|()| here.clone()),
    ] {
        let error = result.unwrap_err();
        assert!(error.is_unsupported(), "{error}");
        assert!(error.to_string().contains("ext_dev:0"), "{error}");
    }
    assert_eq!(here.read().unwrap()[..], [0; 10]);
    assert_eq!(second.memory().usage(), {
        let mut usage = Usage::default();
        usage.peak_nbytes = 10;
        usage
    });
}

#[test]
fn a_copy_that_fails_is_an_error_and_goes_no_other_way() {
    let _others = beside();
    let (first, second) = (FencedDevice::new(0), FencedDevice::new(1));
    let there = Buffer::from_vec(numbers(10)).unwrap().copy_to(&first.memory()).unwrap();
    second.fail(Operation::Transfer, 1);
    // Either the source's device or the host could have copied it.
    let error = there.copy_to(&second.memory()).unwrap_err();
    assert!(error.is_device() && !error.is_unsupported(), "{error}");
    assert!(error.to_string().contains(&FAILURE.to_string()), "{error}");
    assert_eq!(bytes(&there.copy_to(&second.memory()).unwrap()), numbers(10));
    first.fail(Operation::Transfer, 2);
    assert_eq!(bytes(&there), numbers(10));
    assert!(there.copy_to(&host()).unwrap_err().is_device(), "the second from then on");
}

#[test]
fn a_mapping_that_fails_is_an_error_and_not_a_copy() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let there = Buffer::from_vec(numbers(10)).unwrap().copy_to(&device.memory()).unwrap();
    device.set_mappable(true);
    device.fail(Operation::Map, 1);
    assert!(there.map_or_copy_to(&host()).unwrap_err().is_device());
    assert_eq!(there.map_or_copy_to(&host()).unwrap().moved, Moved::Mapped);
    device.set_mappable(false);
    assert_eq!(there.map_or_copy_to(&host()).unwrap().moved, Moved::Copied { nbytes: 10 });
    assert!(there.map_to(&host()).unwrap().is_none());
}

#[test]
fn a_mapping_is_on_the_place_it_was_asked_for_and_comes_back_to_its_address() {
    let _others = beside();
    let device = FencedDevice::new(2);
    device.set_mappable(true);
    let here = Buffer::from_vec(numbers(100)).unwrap();
    assert_eq!(here.map_to(&host()).unwrap().unwrap().as_ptr(), here.as_ptr());
    let there = here.map_to(&device.memory()).unwrap().unwrap();
    assert_eq!((there.place(), there.birth()), (device.place(), Birth::Aliased));
    assert!(there.pin().unwrap_err().is_place());
    let back = there.slice(10..).unwrap().map_to(&host()).unwrap().unwrap();
    assert_eq!((back.place(), back.as_ptr()), (Place::CPU, here.as_ptr().wrapping_add(10)));
    // The host sees what the device writes.
    Buffer::from_vec(vec![0xCCu8; 100]).unwrap().copy_into(&there).unwrap();
    assert_eq!(back.pin().unwrap().to_vec(), [0xCC; 90]);
    // While the memory is mapped, it is not constant; afterwards it may be.
    assert!(here.read().unwrap_err().is_conflict());
    drop((there, back));
    assert_eq!(here.read().unwrap()[..], [0xCC; 100]);
}

#[test]
fn what_is_read_only_is_mapped_read_only() {
    let _others = beside();
    let device = FencedDevice::new(0);
    device.set_mappable(true);
    let constant = Buffer::from_static(b"constant").unwrap();
    let there = constant.map_to(&device.memory()).unwrap().unwrap();
    assert!(there.is_readonly());
    assert!(Buffer::zeroed(8).unwrap().copy_into(&there).unwrap_err().is_read_only());
    assert!(there.device_lease(LeaseKind::Share).unwrap_err().is_read_only());
    let direct = device.memory().map(&constant, &*device.memory()).unwrap().unwrap();
    assert!(direct.is_readonly());
    assert_eq!(bytes(&there), b"constant");
    assert_eq!(constant.read().unwrap()[..], *b"constant", "others may read meanwhile");
    let back = there.map_to(&host()).unwrap().unwrap();
    assert!(back.is_readonly() && back.share().is_err());
}

#[test]
fn only_shared_memory_is_mapped_to_shared_memory() {
    let _others = beside();
    let (shared, device) = (device::shared_memory(), FencedDevice::new(0));
    device.set_mappable(true);
    let heap = Buffer::from_vec(numbers(10)).unwrap();
    assert!(heap.map_to(&shared).unwrap().is_none());
    let placed = heap.map_or_copy_to(&shared).unwrap();
    assert_eq!(placed.moved, Moved::Copied { nbytes: 10 });
    assert_eq!((placed.buffer.backing(), placed.buffer.place()), (Backing::Shared, Place::CPU));
    assert!(placed.buffer.descriptor().is_some());
    assert!(placed.buffer.map_to(&host()).unwrap().is_some(), "to the host, it is memory as any");
    let made = Buffer::shared(10).unwrap();
    assert_eq!(made.map_to(&shared).unwrap().unwrap().as_ptr(), made.as_ptr());
    let there = heap.copy_to(&device.memory()).unwrap();
    assert!(there.map_to(&shared).unwrap().is_none());
    assert!(there.map_or_copy_to(&shared).unwrap().buffer.descriptor().is_some());
    assert_eq!(made.map_to(&device.memory()).unwrap().unwrap().place(), device.place());
}

#[test]
fn a_copy_in_shared_memory_can_be_sealed_and_is_constant_then() {
    let _others = beside();
    let copy = Buffer::from_vec(numbers(5000)).unwrap().copy_to(&device::shared_memory()).unwrap();
    let sealed = copy.into_sealed().unwrap();
    assert_eq!((sealed.birth(), sealed.place()), (Birth::Constant, Place::CPU));
    assert_eq!(sealed.read().unwrap()[..], numbers(5000));
    assert!(Buffer::zeroed(5000).unwrap().copy_into(&sealed).unwrap_err().is_read_only());
    assert!(sealed.map_to(&device::shared_memory()).unwrap().unwrap().is_readonly());
}

#[test]
fn a_pools_memory_manager_charges_the_pool() {
    let _others = beside();
    let pool = Pool::system().unwrap();
    let memory = device::pool_memory(pool.clone());
    let buffer = Buffer::from_vec(numbers(100)).unwrap().copy_to(&memory).unwrap();
    assert_eq!((pool.statistics().live_count, memory.usage().live_count), (1, 1));
    drop((pool, memory));
    assert_eq!(bytes(&buffer), numbers(100), "a buffer outlives its pool's handles");
}

// ===== the registry

#[test]
fn a_kind_is_registered_once_and_an_unknown_one_is_unsupported() {
    let _others = beside();
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    let kind = DeviceKind(4242);
    assert!(device::get(Place::new(kind, 0)).unwrap_err().is_unsupported());
    assert!(device::unregister(kind).unwrap_err().is_unsupported());
    struct Other(Arc<FencedDevice>, Place);
    impl std::fmt::Debug for Other {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "Other")
        }
    }
    impl Device for Other {
        fn place(&self) -> Place {
            self.1
        }
        fn name(&self) -> String {
            "other".to_owned()
        }
        fn memory(&self) -> Arc<dyn MemoryManager> {
            self.0.memory()
        }
    }
    let open = move |place: Place| -> Result<Arc<dyn Device>> {
        OPENED.fetch_add(1, Ordering::Relaxed);
        match place.ordinal() {
            0..4 => Ok(Arc::new(Other(FencedDevice::new(place.ordinal()), place))),
            7 => Ok(FencedDevice::new(7)),
            ordinal => Err(Error::device(format!("there is no device {ordinal}"))),
        }
    };
    let driver = Arc::new((kind, open));
    device::register(driver.clone()).unwrap();
    device::register(driver).unwrap(); // registering the same driver again changes nothing
    let error = device::register(Arc::new((kind, open))).unwrap_err();
    assert!(error.is_conflict() && error.to_string().contains("4242"), "{error}");
    let device = device::get(Place::new(kind, 1)).unwrap();
    assert!(Arc::ptr_eq(&device, &device::get(Place::new(kind, 1)).unwrap()));
    assert_eq!(OPENED.load(Ordering::Relaxed), 1);
    for _ in 0..2 {
        let error = device::get(Place::new(kind, -1)).unwrap_err();
        assert!(error.is_device() && error.to_string().contains("-1"), "{error}");
    }
    assert_eq!(OPENED.load(Ordering::Relaxed), 3, "what failed is tried again");
    assert!(device::get(Place::new(kind, 7)).unwrap_err().is_device(), "another place than was asked for");
    assert!(device::kinds().contains(&kind) && device::kinds()[0] == DeviceKind::CPU);
    let kept = Buffer::from_vec(numbers(9)).unwrap().copy_to(&device.memory()).unwrap();
    assert!(device::opened().iter().any(|opened| Arc::ptr_eq(opened, &device)));
    let row = device::usage().into_iter().find(|(name, ..)| name == "other").unwrap();
    assert_eq!((row.1, row.2.live_nbytes, row.2.live_count), (Place::new(kind, 1), 9, 1));
    // SAFETY: no device is registered for the place, and the CPU never accesses memory of such a
    // place.
    let lost = unsafe { Buffer::non_owned(std::ptr::without_provenance_mut(4096), 9, Place::new(kind, 99)) };
    let error = lost.unwrap().copy_to(&host()).unwrap_err();
    assert!(error.is_device() && error.to_string().contains("99"), "not opened is not unsupported: {error}");
    device::unregister(kind).unwrap();
    assert!(device::get(Place::new(kind, 1)).unwrap_err().is_unsupported());
    drop(device);
    assert_eq!(bytes(&kept), numbers(9), "memory outlives its device's registration");
}

#[test]
fn the_processor_is_always_there_under_the_number_0() {
    let _others = beside();
    let never = |_: Place| -> Result<Arc<dyn Device>> { Err(Error::device("never")) };
    assert!(device::register(Arc::new((DeviceKind::CPU, never))).unwrap_err().is_conflict());
    assert!(device::unregister(DeviceKind::CPU).unwrap_err().is_unsupported());
    let error = device::get(Place::new(DeviceKind::CPU, 3)).unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("cpu:3"), "{error}");
    let usage = device::usage();
    assert_eq!((usage[0].1, usage[1].1), (Place::CPU, Place::CPU));
    assert_eq!(usage[1].0, "shared memory");
}

#[test]
fn memory_of_a_place_that_nobody_registered_is_not_copied_and_not_touched() {
    let _others = beside();
    let place = Place::new(DeviceKind::METAL, 0);
    // SAFETY: no device is registered for the place, and the CPU never accesses memory of such a
    // place.
    let buffer = unsafe { Buffer::non_owned(std::ptr::without_provenance_mut(4096), 100, place) }.unwrap();
    assert!(buffer.memory_manager().unwrap().is_none());
    assert!(buffer.copy_to(&host()).unwrap_err().is_unsupported());
    assert!(Buffer::zeroed(100).unwrap().copy_into(&buffer).unwrap_err().is_unsupported());
    assert!(buffer.map_to(&host()).unwrap().is_none());
    assert!(buffer.copy_to(&FencedDevice::new(0).memory()).unwrap_err().is_unsupported());
}

#[test]
fn memory_of_the_same_place_that_another_device_made_is_refused_and_not_misread() {
    let _others = beside();
    let device = FencedDevice::new(5);
    device.set_mappable(true);
    // SAFETY: the fenced device refuses memory that it did not allocate, and the CPU never accesses
    // this place.
    let stranger =
        unsafe { Buffer::non_owned(std::ptr::without_provenance_mut(4096), 100, device.place()) }.unwrap();
    assert!(stranger.copy_to(&device.memory()).unwrap_err().is_device());
    assert!(stranger.map_to(&host()).unwrap().is_none());
    assert!(device.memory().map(&stranger, &*host()).unwrap().is_none());
}

// ===== memory

#[test]
fn a_device_out_of_memory_says_so_and_has_it_again_after_a_release() {
    let _others = beside();
    let device = FencedDevice::new(0);
    device.set_limit(1000);
    let first = Buffer::on(&device.memory(), 600).unwrap();
    let before = device.memory().usage();
    let error = Buffer::on(&device.memory(), 401).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    let numbers = "401 bytes were requested under a limit of 1000, of which 600 are in use";
    assert!(error.to_string().contains(numbers), "{error}");
    assert!(Buffer::zeroed(401).unwrap().copy_to(&device.memory()).unwrap_err().is_out_of_memory());
    assert_eq!(device.memory().usage(), before);
    let second = Buffer::on(&device.memory(), 400).unwrap();
    assert_eq!(device.memory().usage().live_nbytes, 1000);
    drop(first);
    drop(Buffer::on(&device.memory(), 600).unwrap());
    drop(second);
    let usage = device.memory().usage();
    assert_eq!((usage.live_nbytes, usage.live_count, usage.peak_nbytes), (0, 0, 1000));
}

#[test]
fn errors_of_releases_are_kept_up_to_a_bound_and_counted_beyond() {
    let _alone = alone();
    device::take_release_errors();
    let device = FencedDevice::new(3);
    for _ in 0..300 {
        device.fail(Operation::Release, 1);
        drop(Buffer::on(&device.memory(), 1).unwrap());
    }
    let queued = device::take_release_errors();
    assert_eq!((queued.errors.len(), queued.lost), (256, 44));
    assert!(queued.errors.iter().all(|(place, error)| *place == device.place() && error.is_device()));
    assert_eq!(device.memory().usage().live_count, 0);
}

/// A manager that violates its contract.
#[derive(Debug)]
struct Liar(Arc<dyn MemoryManager>);

impl MemoryManager for Liar {
    fn place(&self) -> Place {
        Place::new(DeviceKind(99), 0)
    }
    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer, Error> {
        Buffer::on(&self.0, nbytes)
    }
    fn can_copy(&self, _: Place, _: Place) -> bool {
        true
    }
    fn copy(&self, transfer: &Transfer) -> Result<(), Error> {
        // The host's engine gets addresses that are not the host's.
        host().copy(transfer)
    }
    fn map(&self, buffer: &Buffer, _: &dyn MemoryManager) -> Result<Option<Buffer>, Error> {
        Ok(Some(buffer.clone()))
    }
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

#[test]
fn a_manager_that_lies_is_found_out() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let there = Buffer::from_vec(numbers(10)).unwrap().copy_to(&device.memory()).unwrap();
    let liar: Arc<dyn MemoryManager> = Arc::new(Liar(device.memory()));
    assert!(Buffer::on(&liar, 10).unwrap_err().is_device());
    assert!(there.map_to(&liar).unwrap_err().is_device());
    let other = FencedDevice::new(1);
    other.set_ways(Ways::NONE);
    let liar = Liar(host());
    assert!(liar.can_copy(there.place(), Place::CPU));
    let far: Arc<dyn MemoryManager> = Arc::new(Reaching(Arc::new(liar)));
    assert!(
        there.copy_to(&far).unwrap_err().is_unsupported(),
        "the processor does not follow such an address"
    );
}

/// Claims to be the host, and copies by the manager above.
#[derive(Debug)]
struct Reaching(Arc<Liar>);

impl MemoryManager for Reaching {
    fn place(&self) -> Place {
        Place::CPU
    }
    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer, Error> {
        // The object of a device allocation, which no code dereferences.
        let object = std::ptr::without_provenance_mut(4096);
        let charge = device::Meter::charge(&Arc::new(device::Meter::new(u64::MAX)), nbytes)?;
        let base = Buffer::zeroed(nbytes)?;
        let address = std::ptr::NonNull::new(base.as_ptr().cast_mut()).unwrap();
        let region =
            device::DeviceRegion { address: Some(address), nbytes, object, birth: Birth::Sole, aliases: &[] };
        // SAFETY: the bytes belong to `base`, which the release drops, and no other code accesses
        // them.
        unsafe {
            device::adopt(self, region, charge, move || {
                drop(base);
                Ok(())
            })
        }
    }
    fn can_copy(&self, _: Place, _: Place) -> bool {
        true
    }
    fn copy(&self, transfer: &Transfer) -> Result<(), Error> {
        assert_eq!(transfer.dst().object().unwrap().1, 0);
        self.0.copy(transfer)
    }
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

#[test]
fn a_hold_tells_a_driver_its_object_and_the_offset_in_it() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let buffer = Buffer::on(&device.memory(), 100).unwrap();
    let whole = buffer.device_lease(LeaseKind::Pin).unwrap();
    let part = buffer.slice(30..).unwrap().slice(5..10).unwrap().device_lease(LeaseKind::Pin).unwrap();
    assert_eq!(whole.object().unwrap().1, 0);
    assert_eq!(part.object().unwrap(), (whole.object().unwrap().0, 35));
    assert_eq!((part.nbytes(), part.address()), (5, whole.address().wrapping_add(35)));
    assert!(Arc::ptr_eq(&part.manager().unwrap(), &device.memory()));
    drop((whole, part));
    let parts = buffer.partition(&[0..10, 40..60]).unwrap();
    assert_eq!(parts[1].slice(3..).unwrap().device_lease(LeaseKind::Write).unwrap().object().unwrap().1, 43);
    let here = Buffer::zeroed(1).unwrap().device_lease(LeaseKind::Read).unwrap();
    assert!(here.object().is_none() && here.manager().is_none());
}

// ===== events

#[test]
fn work_that_failed_is_told_to_everyone_who_would_touch_its_destination_until_it_is_settled() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let (there, mut here) =
        (Buffer::on(&device.memory(), 10).unwrap(), Buffer::from_vec(numbers(10)).unwrap());
    device.fail(Operation::Transfer, 1);
    let event = there.copy_into_in(&here, &*stream).unwrap().unwrap();
    for _ in 0..2 {
        let text = FAILURE.to_string();
        for error in [
            event.wait().unwrap_err(),
            here.read().unwrap_err(),
            here.slice(2..).unwrap().write().unwrap_err(),
            here.share().unwrap_err(),
            here.pin().unwrap_err(),
            here.as_mut_slice().unwrap_err(),
            here.clone().try_into_mut().unwrap_err().error,
            here.clone().into_sealed().unwrap_err().error,
            here.copy_to(&host()).unwrap_err(),
            here.map_to(&device.memory()).unwrap_err(),
            here.clone().partition(&[0..1, 1..2]).unwrap_err().error,
        ] {
            assert!(error.is_device() && error.to_string().contains(&text), "{error}");
        }
    }
    assert_eq!(here.events().unwrap().len(), 1);
    assert!(there.events().unwrap().is_empty(), "a source is not harmed");
    assert_eq!(bytes(&there), [0; 10]);
    assert!(here.settle().unwrap_err().is_device());
    here.settle().unwrap();
    assert_eq!(here.read().unwrap()[..], numbers(10), "this device fails before it writes");
    assert!(here.try_into_mut().is_err(), "a vector's memory is no pool's");
}

#[test]
fn who_depends_on_failed_work_fails_too() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let (stream, other) = (device.stream().unwrap().unwrap(), device.stream().unwrap().unwrap());
    let here = Buffer::from_vec(numbers(10)).unwrap();
    device.fail(Operation::Transfer, 1);
    let paused = device.pause();
    let there = here.copy_to_in(&device.memory(), &*stream).unwrap().buffer;
    let next = there.copy_to_in(&device.memory(), &*other).unwrap();
    drop(paused);
    let error = next.event.unwrap().wait().unwrap_err();
    assert!(error.is_device() && error.to_string().contains(&FAILURE.to_string()), "{error}");
    assert!(next.buffer.copy_to(&host()).unwrap_err().is_device());
    assert!(there.copy_to(&host()).unwrap_err().is_device());
    assert_eq!(here.read().unwrap()[..], numbers(10));
    // The first stream continues: only its one copy failed.
    let fine = here.copy_to_in(&device.memory(), &*stream).unwrap();
    assert_eq!(bytes(&fine.buffer), numbers(10));
}

#[test]
fn events_of_a_users_own_are_awaited_as_a_devices_are() {
    let _others = beside();
    let buffer = Buffer::zeroed(8).unwrap();
    let (signal, completion) = Signal::new();
    buffer.slice(4..).unwrap().note_event(signal, Effect::Writes).unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| buffer.read().map(|bytes| bytes[0]));
        std::thread::yield_now();
        assert!(!reading.is_finished());
        completion.finish(Ok(()));
        assert_eq!(reading.join().unwrap().unwrap(), 0);
    });
    // Reads do not wait for other reads.
    let (signal, completion) = Signal::new();
    buffer.note_event(signal, Effect::Reads).unwrap();
    assert_eq!(buffer.read().unwrap()[..], [0; 8]);
    assert_eq!(buffer.pin().unwrap().to_vec(), [0; 8]);
    drop(completion);
    drop(buffer.write().expect("that a reader gave up is no business of a writer"));
    assert!(buffer.events().unwrap().is_empty());
}

#[test]
fn one_event_for_both_effects_is_noted_twice_and_its_failure_stays_known() {
    let _others = beside();
    let buffer = Buffer::zeroed(8).unwrap();
    let (signal, completion) = Signal::new();
    // Like a copy from one part of an allocation to another.
    buffer.note_event(signal.clone(), Effect::Writes).unwrap();
    buffer.note_event(signal, Effect::Reads).unwrap();
    drop(completion);
    assert_eq!(buffer.events().unwrap().len(), 1, "that it read is over");
    assert!(buffer.read().unwrap_err().is_device(), "that it did not write has to be told");
    assert!(buffer.settle().is_err());
    assert!(buffer.read().is_ok());
}

#[test]
fn memory_is_released_though_an_event_of_it_panics_when_it_is_dropped() {
    #[derive(Debug)]
    struct Grudge;

    impl Drop for Grudge {
        fn drop(&mut self) {
            panic!("not yet");
        }
    }

    impl Event for Grudge {
        fn poll(&self) -> Option<crossdock::Result<()>> {
            Some(Ok(()))
        }

        fn wait(&self) -> crossdock::Result<()> {
            Ok(())
        }
    }

    let _others = beside();
    let pool = Pool::system().unwrap();
    let buffer = pool.zeroed(100).unwrap();
    buffer.note_event(Arc::new(Grudge), Effect::Writes).unwrap();
    drop(buffer);
    assert_eq!(pool.statistics().live_count, 0);
}

#[test]
fn events_go_with_their_allocation_and_not_to_the_next_at_its_address() {
    let _others = beside();
    for _ in 0..200 {
        let buffer = Buffer::zeroed(64).unwrap();
        assert!(buffer.events().unwrap().is_empty());
        let (signal, completion) = Signal::new();
        let signal: Arc<dyn Event> = signal;
        buffer.note_event(signal.clone(), Effect::Writes).unwrap();
        drop(buffer);
        assert_eq!(Arc::strong_count(&signal), 2, "this test, and the work that signals it");
        drop(completion);
    }
}

#[test]
fn a_thousand_copies_into_one_allocation_are_noted_as_one_and_arrive() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let content = numbers(4000);
    let (here, back) = (Buffer::from_vec(content.clone()).unwrap(), Buffer::zeroed(4000).unwrap());
    let there = Buffer::on(&device.memory(), 4000).unwrap();
    let paused = device.pause();
    for start in (0..4000).step_by(4) {
        let range = start..start + 4;
        here.slice(range.clone()).unwrap().copy_into_in(&there.slice(range).unwrap(), &*stream).unwrap();
    }
    assert_eq!(there.events().unwrap().len(), 1, "the last one comes after all the others");
    assert_eq!(here.events().unwrap().len(), 1000, "readers have no order among themselves");
    there.copy_into_in(&back, &*stream).unwrap();
    drop(paused);
    assert!(back.read().unwrap()[..] == content);
    assert!(here.events().unwrap().is_empty());
}

#[test]
fn work_on_memory_that_failed_work_was_to_write_is_refused_and_the_stream_goes_on() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let here = Buffer::from_vec(numbers(10)).unwrap();
    device.fail(Operation::Transfer, 1);
    let there = here.copy_to_in(&device.memory(), &*stream).unwrap();
    assert!(there.event.unwrap().wait().is_err());
    for (source, destination) in [(&here, &there.buffer), (&there.buffer, &here)] {
        assert!(source.copy_into_in(destination, &*stream).unwrap_err().is_device());
        assert!(source.copy_into(destination).unwrap_err().is_device());
    }
    assert!(there.buffer.settle().is_err());
    here.copy_into_in(&there.buffer, &*stream).unwrap();
    assert_eq!(bytes(&there.buffer), numbers(10));
}

#[test]
fn many_events_on_one_allocation_do_not_pile_up() {
    let _others = beside();
    let buffer = Buffer::zeroed(64).unwrap();
    let mut alive = Vec::new();
    for number in 0..1000 {
        let (signal, completion) = Signal::new();
        let signal: Arc<dyn Event> = signal;
        buffer.note_event(signal.clone(), Effect::Reads).unwrap();
        alive.push(Arc::downgrade(&signal));
        if number != 500 {
            completion.finish(Ok(()));
        } else {
            std::mem::drop(std::thread::spawn(move || completion.finish(Ok(()))).join());
        }
    }
    let held = alive.iter().filter(|event| event.strong_count() > 0).count();
    assert!(held <= 9, "{held} events are held");
    buffer.settle().unwrap();
    assert_eq!(alive.iter().filter(|event| event.strong_count() > 0).count(), 0);
}

#[test]
fn a_stream_of_another_device_is_waited_for_and_the_copy_made_at_once() {
    let _others = beside();
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let (here, there) = (Buffer::from_vec(numbers(10)).unwrap(), Buffer::zeroed(10).unwrap());
    // Between two host buffers, no manager works in such a stream.
    assert!(here.copy_into_in(&there, &*stream).unwrap().is_none());
    assert_eq!(there.read().unwrap()[..], numbers(10));
    let placed = here.copy_to_in(&host(), &*stream).unwrap();
    assert!(placed.event.is_none());
    assert_eq!(placed.moved, Moved::Copied { nbytes: 10 });
}

#[test]
fn a_dropped_stream_loses_no_work_and_its_thread_ends() {
    let _others = beside();
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim() == "fenced-4711").count()
    };
    let device = FencedDevice::new(4711);
    let here = Buffer::from_vec(numbers(1000)).unwrap();
    let stream = device.stream().unwrap().unwrap();
    assert_eq!(threads(), 0, "a thread is started by the first work");
    let paused = device.pause();
    let placed = here.copy_to_in(&device.memory(), &*stream).unwrap();
    drop(stream);
    drop(paused);
    assert_eq!(bytes(&placed.buffer), numbers(1000));
    // The thread only has to end; how long that takes is up to the system.
    while threads() > 0 {
        std::thread::yield_now();
    }
}

// ===== lent to the processor

#[test]
fn an_array_of_a_device_is_lent_to_the_processor_by_a_map_or_by_one_copy() {
    for is_mappable in [false, true] {
        let device = FencedDevice::new(0);
        device.set_mappable(is_mappable);
        let array = DArray::from(Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], [2, 3]).unwrap());
        let array = array.copy_to(&device.memory()).unwrap();
        // Memory that another process maps is not constant, so a Read lease needs a copy.
        for (request, is_lent_by_map) in [
            (Request::pin(), true),
            (Request::share(), true),
            (Request::read(), false),
            (Request::pin().order(Order::RowMajor), true),
            (Request::pin().copy(CopyPolicy::Always), false),
        ] {
            let policy = request.copy_policy();
            let policy = if policy == CopyPolicy::Always { policy } else { CopyPolicy::IfNeeded };
            let view = array.export(&request.place(Place::CPU).copy(policy)).unwrap();
            let copied = if is_mappable && is_lent_by_map { 0 } else { 24 };
            assert_eq!(view.grant().copied_nbytes(), copied, "mappable: {is_mappable}, {:?}", view.grant());
            assert_eq!(view.get(&[1, 2]).unwrap().as_i64(), Some(6));
        }
    }
}
