//! Exports and imports of memory on which a device works: the consumer is ordered after that work,
//! by a stream, by an event, or by waiting on the host.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use crossdock::bindings::array_interface::{self, Described, cuda};
use crossdock::buffer::Buffer;
use crossdock::device::fenced::{FencedDevice, Paused};
use crossdock::device::{self, Completion, Device, Effect, Event, MemoryManager, Signal, Stream};
use crossdock::element::DType;
use crossdock::exchange::protocol::{arrow, dlpack};
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, LeaseKind, Place};
use crossdock::view::Synchronization;
use crossdock::{DArray, Result};

// ===== a device whose driver has handles

/// The objects behind a driver's handles.
static STREAMS: LazyLock<Mutex<HashMap<usize, Arc<dyn Stream>>>> = LazyLock::new(Default::default);
static EVENTS: LazyLock<Mutex<HashMap<usize, Arc<dyn Event>>>> = LazyLock::new(Default::default);

fn new_handle() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
    NEXT.fetch_add(16, Ordering::Relaxed)
}

fn pointer(handle: usize) -> *mut c_void {
    ptr::without_provenance_mut(handle)
}

#[derive(Debug)]
struct Handled {
    fenced: Arc<FencedDevice>,
}

#[derive(Debug)]
struct HandledStream(Arc<dyn Stream>, usize);

#[derive(Debug)]
struct HandledEvent(Arc<dyn Event>, usize);

impl Device for Handled {
    fn place(&self) -> Place {
        self.fenced.place()
    }

    fn name(&self) -> String {
        "a device whose driver has handles".to_owned()
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.fenced.memory()
    }

    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        let Some(stream) = self.fenced.stream()? else { return Ok(None) };
        let handle = new_handle();
        STREAMS.lock().unwrap().insert(handle, stream.clone());
        Ok(Some(Arc::new(HandledStream(stream, handle))))
    }

    unsafe fn wrap_stream(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Stream>>> {
        let known = STREAMS.lock().unwrap().get(&raw.addr()).cloned();
        Ok(known.map(|stream| Arc::new(HandledStream(stream, raw.addr())) as Arc<dyn Stream>))
    }

    unsafe fn wrap_event(&self, raw: *mut c_void) -> Result<Option<Arc<dyn Event>>> {
        Ok(EVENTS.lock().unwrap().get(&raw.addr()).cloned())
    }
}

impl Stream for HandledStream {
    fn place(&self) -> Place {
        self.0.place()
    }

    fn record(&self) -> Result<Arc<dyn Event>> {
        let (event, handle) = (self.0.record()?, new_handle());
        EVENTS.lock().unwrap().insert(handle, event.clone());
        Ok(Arc::new(HandledEvent(event, handle)))
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        self.0.wait(event)
    }

    fn raw(&self) -> *mut c_void {
        pointer(self.1)
    }
}

impl Event for HandledEvent {
    fn wait(&self) -> Result<()> {
        self.0.wait()
    }

    fn poll(&self) -> Option<Result<()>> {
        self.0.poll()
    }

    fn raw(&self) -> *mut c_void {
        pointer(self.1)
    }
}

/// A registered device for each test.
struct Fixture {
    fenced: Arc<FencedDevice>,
    device: Arc<dyn Device>,
}

impl Fixture {
    fn new() -> Self {
        static FENCED: LazyLock<Mutex<Vec<Arc<FencedDevice>>>> = LazyLock::new(|| {
            let open = |place: Place| {
                let fenced = FENCED.lock().unwrap()[place.ordinal() as usize].clone();
                Ok(Arc::new(Handled { fenced }) as Arc<dyn Device>)
            };
            device::register(Arc::new((DeviceKind::EXT_DEV, open))).unwrap();
            Mutex::default()
        });
        let fenced = {
            let mut all = FENCED.lock().unwrap();
            let fenced = FencedDevice::new(all.len() as i32);
            all.push(fenced.clone());
            fenced
        };
        let device = device::get(fenced.place()).unwrap();
        Self { fenced, device }
    }

    fn stream(&self) -> Arc<dyn Stream> {
        self.device.stream().unwrap().unwrap()
    }

    /// Three numbers.
    fn array(&self) -> DArray {
        let memory = Buffer::from_vec(vec![1i32, 2, 3]).unwrap().copy_to(&self.device.memory()).unwrap();
        DArray::from_buffer_in_order(memory, DType::I32, &[3], Order::RowMajor).unwrap()
    }

    /// An array that a stream is still writing, until the second value is dropped.
    fn written(&self) -> (DArray, Paused, Arc<dyn Event>) {
        let array = self.array();
        let paused = self.fenced.pause();
        let source = Buffer::from_vec(vec![4i32, 5, 6]).unwrap();
        let stream = self.fenced.stream().unwrap().unwrap();
        let event = source.copy_into_in(&array.buffer().unwrap().0, &*stream).unwrap().unwrap();
        assert!(!event.is_done());
        (array, paused, event)
    }

    /// An array with a noted event of foreign work, which ends when the second value completes it.
    fn noted(&self) -> (DArray, Completion) {
        let array = self.array();
        let (signal, completion) = Signal::new();
        array.buffer().unwrap().0.note_event(signal, Effect::Writes).unwrap();
        (array, completion)
    }
}

fn numbers(array: &DArray) -> Vec<u8> {
    let host = device::memory(Place::CPU).unwrap();
    let bytes = array.buffer().unwrap().0.copy_to(&host).unwrap();
    let bytes = bytes.read().unwrap();
    bytes.chunks(4).map(|number| number[0]).collect()
}

/// # Safety
///
/// `stream` is `None`, a number that names no handle, or the handle of a live stream of the array's
/// device.
unsafe fn order(array: &DArray, stream: Option<i64>) -> Result<()> {
    let synchronization = Synchronization::asked(array.place().kind(), stream)?;
    // SAFETY: `# Safety`: if `stream` is a handle, it is that of a live stream of the array's
    // device.
    unsafe { synchronization.order(array, LeaseKind::Share) }
}

fn lend(array: &DArray) -> dlpack::Exported<dlpack::abi::DLManagedTensorVersioned> {
    dlpack::export_versioned(array, &dlpack::ExportOptions::new().ordered()).unwrap()
}

// ===== streams

#[test]
fn the_consumers_stream_waits_and_the_host_does_not() {
    let fixture = Fixture::new();
    let (array, paused, written) = fixture.written();
    let theirs = fixture.stream();
    // SAFETY: `theirs` is a live stream of the array's device.
    unsafe { order(&array, Some(theirs.raw().addr() as i64)) }.unwrap();
    let lent = lend(&array);
    let reached = theirs.record().unwrap();
    assert!(!written.is_done() && !reached.is_done(), "no thread has waited");
    drop(paused);
    reached.wait().unwrap();
    assert!(written.is_done(), "what comes in the stream comes after the work");
    drop(lent);
    assert_eq!(numbers(&array), [4, 5, 6]);
}

#[test]
fn a_consumer_without_a_stream_is_waited_for_by_the_host() {
    let fixture = Fixture::new();
    let (array, paused, written) = fixture.written();
    thread::scope(|scope| {
        let exported = scope.spawn(|| {
            // SAFETY: `None` names no stream handle, so none can be invalid.
            unsafe { order(&array, None) }.unwrap();
            assert!(written.is_done());
            drop(lend(&array));
        });
        drop(paused);
        exported.join().unwrap();
    });
}

#[test]
fn a_consumer_that_asks_for_no_synchronization_gets_none() {
    let fixture = Fixture::new();
    let (array, paused, written) = fixture.written();
    // SAFETY: -1 asks for no synchronization and names no stream handle.
    unsafe { order(&array, Some(-1)) }.unwrap();
    let lent = lend(&array);
    assert!(!written.is_done());
    drop(paused);
    drop(lent);
}

#[test]
fn work_that_failed_is_told_to_every_consumer_that_would_read_it() {
    let fixture = Fixture::new();
    let (array, completion) = fixture.noted();
    completion.finish(Err(crossdock::Error::device("error 719")));
    let stream = fixture.stream();
    for number in [None, Some(stream.raw().addr() as i64)] {
        // SAFETY: the number is absent, or the handle of `stream`, which is a live stream of the
        // array's device.
        let error = unsafe { order(&array, number) }.unwrap_err();
        assert!(error.is_device() && error.to_string().contains("error 719"), "{error}");
    }
    array.buffer().unwrap().0.settle().unwrap_err();
    // SAFETY: `None` names no stream handle, so none can be invalid.
    unsafe { order(&array, None) }.unwrap();
}

#[test]
fn what_comes_in_is_waited_for_by_whoever_touches_it_next() {
    let fixture = Fixture::new();
    let (array, theirs) = (fixture.array(), fixture.stream());
    let synchronization = Synchronization::Stream(theirs.raw().addr());
    // SAFETY: `theirs` is a live stream of the array's device.
    unsafe { synchronization.note(&array) }.unwrap();
    thread::scope(|scope| {
        let paused = fixture.fenced.pause();
        // SAFETY: `theirs` is a live stream of the array's device.
        unsafe { synchronization.note(&array) }.unwrap();
        let noted = array.buffer().unwrap().0.events().unwrap();
        let (event, effect) = noted.last().expect("work is under way in the stream").clone();
        assert_eq!((event.is_done(), effect), (false, Effect::Writes));
        let array = &array;
        let read = scope.spawn(move || (numbers(array), event.is_done()));
        drop(paused);
        assert_eq!(read.join().unwrap(), (vec![1, 2, 3], true));
    });
    assert!(array.buffer().unwrap().0.events().unwrap().is_empty());
    for other in [Synchronization::Host, Synchronization::Nobody] {
        // SAFETY: `Host` and `Nobody` contain no stream handle, so none can be invalid.
        unsafe { other.note(&array) }.unwrap();
    }
    assert!(array.buffer().unwrap().0.events().unwrap().is_empty());
}

#[test]
fn memory_of_a_device_that_nobody_knows_goes_on_in_the_order_in_which_it_came() {
    let place = Place::new(DeviceKind::ONEAPI, 1);
    // SAFETY: the place is a device, so the CPU never accesses the address, and nothing frees it.
    let memory = unsafe { Buffer::non_owned(4096 as *mut u8, 12, place) }.unwrap();
    let array = DArray::from_buffer_in_order(memory, DType::I32, &[3], Order::RowMajor).unwrap();
    for fine in [Synchronization::Host, Synchronization::Nobody, Synchronization::LEGACY_DEFAULT] {
        // SAFETY: no driver is registered for the device, so no code uses a stream handle.
        unsafe { fine.order(&array, LeaseKind::Share) }.unwrap();
    }
    let other = Synchronization::Stream(4096);
    // SAFETY: no driver is registered for the device, so the handle is refused and not used.
    assert!(unsafe { other.order(&array, LeaseKind::Share) }.unwrap_err().is_unsupported());
    // SAFETY: no driver is registered for the device, so the handle is refused and not used.
    assert!(unsafe { other.note(&array) }.unwrap_err().is_unsupported());
}

#[test]
fn rocm_and_cuda_tensors_go_on_with_the_default_stream_where_there_is_no_driver() {
    for kind in [DeviceKind::ROCM, DeviceKind::CUDA] {
        let place = Place::new(kind, 61);
        // SAFETY: the place is a device, so the CPU never accesses the address, and nothing frees
        // it.
        let memory = unsafe { Buffer::non_owned(4096 as *mut u8, 12, place) }.unwrap();
        let array = DArray::from_buffer_in_order(memory, DType::I32, &[3], Order::RowMajor).unwrap();
        let usual = Synchronization::asked(kind, None).unwrap();
        // SAFETY: without a driver for the device, no code uses the handle.
        unsafe { usual.order(&array, LeaseKind::Share) }.unwrap();
        let lent = dlpack::export_versioned(&array, &dlpack::ExportOptions::new().ordered()).unwrap();
        let device = lent.managed().dl_tensor.device;
        assert_eq!((device.device_type, device.device_id), (kind.0, 61));
        // The stream in the request to the producer is the same one.
        assert_eq!(Synchronization::asked(kind, Synchronization::to_ask(kind)).unwrap(), usual);
        // SAFETY: without a driver for the device, no code uses the handle.
        let error = unsafe { Synchronization::Stream(4096).order(&array, LeaseKind::Share) }.unwrap_err();
        assert!(error.is_unsupported() || error.is_device() || error.is_io(), "{error:?}");
    }
}

// ===== CUDA's array interface

fn described(shape: &[isize]) -> Described<'_> {
    Described { typestr: "<i4", descr: None, name: None, data: pointer(4096).cast(), shape, strides: None }
}

#[test]
fn memory_that_cuda_describes_is_known_as_its_own() {
    let place = Place::new(DeviceKind::CUDA_MANAGED, 3);
    let (dropped, inside) = (Arc::new(()), Arc::new(()));
    let release = {
        let inside = inside.clone();
        move || drop(inside)
    };
    // SAFETY: the place is CUDA memory at a made-up address, which neither the library nor the test
    // dereferences.
    let array = unsafe { cuda::import(&described(&[2, 3]), place, Synchronization::Nobody, true, release) };
    let array = array.unwrap();
    assert_eq!((array.place(), array.shape(), array.as_ptr().addr()), (place, &[2, 3][..], 4096));
    assert!(array.is_readonly() && array.birth() == Birth::Aliased);
    assert_eq!((Arc::strong_count(&inside), Arc::strong_count(&dropped)), (2, 1));
    drop(array);
    assert_eq!(Arc::strong_count(&inside), 1, "given back");
    let release = {
        let dropped = dropped.clone();
        move || drop(dropped)
    };
    let here = Place::CPU;
    // SAFETY: the description is refused before any byte is read.
    let error = unsafe { cuda::import(&described(&[3]), here, Synchronization::Nobody, false, release) };
    let error = error.unwrap_err();
    assert!(error.is_place() && error.to_string().contains("cpu"), "{error}");
    assert_eq!(Arc::strong_count(&dropped), 1, "given back");
}

#[test]
fn streams_of_cudas_array_interface_are_numbers_but_for_zero() {
    assert_eq!(cuda::synchronization(None).unwrap(), Synchronization::Nobody);
    for number in [1, 2, 3, 0x5000_0000] {
        assert_eq!(cuda::synchronization(Some(number)).unwrap(), Synchronization::Stream(number as usize));
    }
    for number in [0, -1, i64::MIN] {
        let error = cuda::synchronization(Some(number)).unwrap_err();
        assert!(error.is_malformed() && error.to_string().contains(&number.to_string()), "{error}");
    }
}

#[test]
fn the_words_of_arrays_are_the_same_wherever_they_are() {
    let fixture = Fixture::new();
    let array = fixture.array();
    assert_eq!(array_interface::InterfaceType::of(array.dtype()).unwrap().typestr(), "<i4");
    assert!(!array_interface::lend(&array).unwrap().is_readonly());
}

// ===== Arrow's events

type Pair = (arrow::abi::ArrowSchema, arrow::abi::ArrowDeviceArray);

fn export_device(array: &DArray) -> Pair {
    arrow::export_device(array, &arrow::ExportOptions::new()).unwrap().into_raw()
}

fn import_device((mut schema, mut column): Pair) -> Result<DArray> {
    // SAFETY: both structs were exported just now, match, and are consumed once.
    unsafe { arrow::import_device(&mut schema, &mut column) }
}

/// The handle behind an event pointer of the interface.
fn handle_at(column: &arrow::abi::ArrowDeviceArray) -> usize {
    // SAFETY: the export is not released, so the event pointer leads to its handle.
    unsafe { column.sync_event.cast::<*mut c_void>().read() }.addr()
}

#[test]
fn a_column_comes_with_one_event_after_all_work_on_its_memory() {
    let fixture = Fixture::new();
    let (array, first) = fixture.noted();
    let (second, completion) = Signal::new();
    array.buffer().unwrap().0.note_event(second, Effect::Writes).unwrap();
    let pair = export_device(&array);
    assert!(!pair.1.sync_event.is_null());
    let event = EVENTS.lock().unwrap()[&handle_at(&pair.1)].clone();
    first.finish(Ok(()));
    assert!(!event.is_done());
    completion.finish(Ok(()));
    event.wait().unwrap();
    drop(import_device(pair).unwrap());
}

#[test]
fn a_column_on_which_nothing_is_under_way_has_no_event() {
    let fixture = Fixture::new();
    let array = fixture.array();
    let pair = export_device(&array);
    assert!(pair.1.sync_event.is_null());
    assert_eq!(pair.1.device_type, 12);
    drop(import_device(pair).unwrap());
}

#[test]
fn work_of_ours_that_writes_is_over_before_anybody_relies_on_the_memory() {
    let fixture = Fixture::new();
    let (array, paused, written) = fixture.written();
    thread::scope(|scope| {
        let exported = scope.spawn(|| {
            let pair = export_device(&array);
            // Between the last byte and the event there is a moment in which the column has a
            // separate event.
            assert!(written.is_done() || !pair.1.sync_event.is_null());
            drop(import_device(pair).unwrap());
            assert_eq!(numbers(&array), [4, 5, 6]);
        });
        drop(paused);
        exported.join().unwrap();
    });
}

#[test]
fn the_event_of_a_column_outlives_it_and_is_waited_for() {
    let fixture = Fixture::new();
    let (array, completion) = fixture.noted();
    let imported = import_device(export_device(&array)).unwrap();
    let events = imported.buffer().unwrap().0.events().unwrap();
    assert_eq!(events.len(), 1);
    let (event, effect) = &events[0];
    assert_eq!((event.is_done(), *effect), (false, Effect::Writes));
    // The lease is released; the event belongs to the library.
    drop(imported);
    assert!(!event.is_done());
    completion.finish(Ok(()));
    event.wait().unwrap();
    assert_eq!(numbers(&array), [1, 2, 3]);
}

#[test]
fn the_event_of_work_that_failed_is_an_error_of_the_import() {
    let fixture = Fixture::new();
    let (array, completion) = fixture.noted();
    let pair = export_device(&array);
    completion.finish(Err(crossdock::Error::device("error 719")));
    EVENTS.lock().unwrap()[&handle_at(&pair.1)].clone().wait().unwrap_err();
    let error = import_device(pair).unwrap_err();
    assert!(error.is_device() && error.to_string().contains("error 719"), "{error}");
    assert!(array.buffer().unwrap().0.settle().unwrap_err().is_device());
}

#[test]
fn an_event_that_the_device_does_not_know_is_refused() {
    let fixture = Fixture::new();
    let array = fixture.array();
    let (schema, mut column) = export_device(&array);
    let unknown: *mut c_void = pointer(8);
    column.sync_event = ptr::from_ref(&unknown).cast_mut().cast();
    let error = import_device((schema, column)).unwrap_err();
    let place = array.place().to_string();
    assert!(error.is_unsupported() && error.to_string().contains(&place), "{error}");
    assert!(array.buffer().unwrap().0.device_lease(LeaseKind::Write).is_ok(), "the column was released");
}
