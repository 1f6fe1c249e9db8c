//! Foreign code that the library calls may use all of the library: no lock is held while it runs.
//!
//! Each test has one kind of such code (an owner's release, an event, a factory, an allocator, a C
//! deleter, …), which does everything in [`everything`]. If a lock is held, the process hangs.

use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossdock::bindings::memory_view;
use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device, DeviceRegion, Effect, Event, Meter, Signal};
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::ledger;
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::pool::{Pool, take_damage};
use crossdock::view::{self, MemoryView, Request};
use crossdock::{Array, DArray};
use crossdock_testkit::status_of_child;

/// Serialises the tests, which look at state of the whole process. Switches the ledger on.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    ledger::switch_on();
    alone
}

/// Uses every part of the library that has a lock: called in the middle of another call.
fn everything(pool: &Pool) {
    thread_local! {
        static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    }
    // This may call the code that called it.
    if IS_INSIDE.replace(true) {
        return;
    }
    // Memory of the same pool: a small block, a mapped and cached one, a debugged one.
    let small = pool.zeroed(100).unwrap();
    drop((pool.zeroed(4 << 20).unwrap(), Pool::default().zeroed(4 << 20).unwrap()));
    drop(pool.guarded("inside").unwrap().zeroed(10).unwrap());
    drop((pool.statistics(), pool.trim(), take_damage()));
    // Leases, a refused one, and the holders in its way.
    let reading = small.read().unwrap();
    assert!(small.write().unwrap_err().to_string().contains("a guard"));
    drop(reading);
    assert!(!ledger::live().is_empty());
    drop(ledger::report().to_string());
    // Events.
    let (signal, completion) = Signal::new();
    small.note_event(signal, Effect::Writes).unwrap();
    assert_eq!(small.events().unwrap().len(), 1);
    completion.finish(Ok(()));
    small.settle().unwrap();
    // Devices, their streams, and their factories.
    let fenced = FencedDevice::new(9);
    let stream = fenced.stream().unwrap().unwrap();
    let there = small.copy_to_in(&fenced.memory(), &*stream).unwrap().buffer;
    there.copy_into_in(&small, &*stream).unwrap();
    assert_eq!(small.read().unwrap()[99], 0);
    let inside = DeviceKind::METAL;
    let open = |place: Place| Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>);
    device::register(Arc::new((inside, open))).unwrap();
    assert!(device::kinds().contains(&inside));
    drop((
        device::opened(),
        device::usage(),
        device::get(Place::CPU).unwrap(),
        device::take_release_errors(),
    ));
    device::unregister(inside).unwrap();
    // Producers.
    struct Mine;
    view::register::<Mine>(|_, request| Array::from_vec(vec![1u8], [1])?.export(request)).unwrap();
    let lent: MemoryView = view::view_any(&Mine, Request::read()).unwrap();
    assert_eq!(lent.as_slice::<u8>().unwrap(), [1]);
    assert!(view::unregister::<Mine>());
    drop(memory_view::last_refusal());
    // A forked process.
    assert_eq!(status_of_child(|| Buffer::zeroed(100).is_ok_and(|fresh| fresh.read().is_ok())), 0);
    IS_INSIDE.set(false);
}

/// Runs [`everything`] when it is called, and counts the calls.
#[derive(Clone)]
struct Calls {
    pool: Pool,
    count: Arc<AtomicUsize>,
}

impl Calls {
    fn new() -> Self {
        Self { pool: Pool::system().unwrap().capped("reentered", 64 << 20).unwrap(), count: Arc::default() }
    }

    fn call(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        everything(&self.pool);
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Memory whose owner calls back when it is released.
fn owned(calls: &Calls) -> Buffer {
    struct Owner(Vec<u8>, Calls);

    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.call();
        }
    }

    Buffer::from_owner(Box::new(Owner(vec![7; 100], calls.clone()))).unwrap()
}

fn array(buffer: Buffer) -> DArray {
    let len = buffer.nbytes();
    Array::<u8, 1>::from_buffer(buffer, [len]).unwrap().into()
}

#[test]
fn an_owner_that_is_released_by_the_last_handle_or_lease() {
    let _alone = alone();
    let calls = Calls::new();
    drop(owned(&calls));
    let buffer = owned(&calls);
    let reading = buffer.read().unwrap();
    drop(buffer);
    assert_eq!(calls.count(), 1, "the lease keeps it");
    drop(reading);
    let view = crossdock::view(&array(owned(&calls)), Request::pin()).unwrap();
    drop(view);
    // With events noted on it, which are dropped first.
    let buffer = owned(&calls);
    let (signal, completion) = Signal::new();
    buffer.note_event(signal, Effect::Reads).unwrap();
    drop(buffer);
    drop(completion);
    assert_eq!(calls.count(), 4);
}

#[test]
fn an_owner_whose_memory_is_refused() {
    let _alone = alone();
    let calls = Calls::new();
    // 200 of 100 bytes are requested: the error drops the buffer.
    drop(Array::<u16, 1>::from_buffer(owned(&calls), [100]).err());
    assert_eq!(calls.count(), 1);
}

/// Calls back when it is polled, waited for, shown or dropped.
struct Meddling(Calls);

impl Event for Meddling {
    fn wait(&self) -> crossdock::Result<()> {
        self.0.call();
        Ok(())
    }

    fn poll(&self) -> Option<crossdock::Result<()>> {
        self.0.call();
        None
    }
}

impl fmt::Debug for Meddling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.call();
        f.write_str("Meddling")
    }
}

impl Drop for Meddling {
    fn drop(&mut self) {
        self.0.call();
    }
}

#[test]
fn an_event_that_is_asked_waited_for_shown_and_dropped() {
    let _alone = alone();
    let calls = Calls::new();
    let buffer = calls.pool.zeroed(100).unwrap();
    // Enough that the list is searched for finished events.
    for _ in 0..40 {
        buffer.note_event(Arc::new(Meddling(calls.clone())), Effect::Writes).unwrap();
    }
    assert_eq!(buffer.events().unwrap().len(), 40);
    assert!(ledger::report().to_string().contains("writes: Meddling"));
    drop(buffer.slice(1..2).unwrap().read().unwrap());
    buffer.note_event(Arc::new(Meddling(calls.clone())), Effect::Reads).unwrap();
    buffer.settle().unwrap();
    buffer.note_event(Arc::new(Meddling(calls.clone())), Effect::Reads).unwrap();
    let before = calls.count();
    drop(buffer);
    assert_eq!(calls.count(), before + 1, "dropped with the memory");
}

#[test]
fn a_stream_that_waits_for_such_an_event() {
    let _alone = alone();
    let calls = Calls::new();
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let event: Arc<dyn Event> = Arc::new(Meddling(calls.clone()));
    stream.wait(&event).unwrap();
    drop(event);
    stream.synchronize().unwrap();
    let owned = owned(&calls);
    let there = owned.copy_to_in(&device.memory(), &*stream).unwrap();
    drop(owned);
    there.event.unwrap().wait().unwrap();
    drop(there.buffer);
    assert!(calls.count() >= 2);
}

#[test]
fn a_factory_of_devices_when_it_opens_one_and_when_it_goes() {
    let _alone = alone();
    let calls = Calls::new();
    struct Last(Calls);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.call();
        }
    }
    let last = Last(calls.clone());
    let open = move |place: Place| {
        last.0.call();
        Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>)
    };
    device::register(Arc::new((DeviceKind::EXT_DEV, open))).unwrap();
    let opened = device::get(Place::new(DeviceKind::EXT_DEV, 4)).unwrap();
    assert_eq!((calls.count(), opened.place().ordinal()), (1, 4));
    device::unregister(DeviceKind::EXT_DEV).unwrap();
    assert_eq!(calls.count(), 2);
}

#[test]
fn memory_of_a_device_that_is_released() {
    let _alone = alone();
    let calls = Calls::new();
    let meter = Arc::new(Meter::new(1 << 20));
    let mut bytes = vec![0u8; 64];
    let region = DeviceRegion {
        address: NonNull::new(bytes.as_mut_ptr()),
        aliases: &[],
        nbytes: 64,
        object: std::ptr::null_mut(),
        birth: Birth::Sole,
    };
    let charge = Meter::charge(&meter, 64).unwrap();
    let (manager, called) = (FencedDevice::new(0).memory(), calls.clone());
    let release = move || {
        called.call();
        drop(bytes);
        Ok(())
    };
    // SAFETY: the region is the 64 bytes of a vector that `release` owns, and no other code
    // accesses them.
    let buffer = unsafe { device::adopt(manager, region, charge, release) }.unwrap();
    drop(buffer);
    assert_eq!(calls.count(), 1);
}

#[test]
fn a_deleter_of_a_tensor_and_a_release_of_foreign_memory() {
    let _alone = alone();
    let calls = Calls::new();
    let array = array(owned(&calls));
    // SAFETY: the only consumer is the import below, and this test does not write through it.
    let options = unsafe { ExportOptions::default().trust_readonly() };
    let lent = dlpack::export_versioned(&array, &options).unwrap();
    // SAFETY: the tensor was exported just now, and this import is its only consumer.
    let back = unsafe { dlpack::import_versioned(lent.into_raw()) }.unwrap();
    drop(array);
    drop(back);
    assert_eq!(calls.count(), 1, "the deleter gives the last lease back");
    let called = calls.clone();
    let mut bytes = vec![0u8; 8];
    let ptr = bytes.as_mut_ptr();
    let release = move || {
        called.call();
        drop(bytes);
    };
    // SAFETY: `ptr` leads to 8 bytes of a vector that `release` owns, and no other code accesses
    // them.
    let foreign = unsafe { Buffer::from_foreign(ptr, 8, Place::CPU, Birth::Sole, release) }.unwrap();
    drop(foreign);
    assert_eq!(calls.count(), 2);
}
