//! A third-party device supports everything that a device does, including strided work: the device
//! of the page `docs/device.md`, and the fenced device with an external engine.

use std::sync::{Arc, Once, OnceLock};

use crossdock::array::ArrayOptions;
use crossdock::buffer::Buffer;
use crossdock::device::engine::{Engine, Start, Work};
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device, DeviceLease, Driver, MemoryManager};
use crossdock::element::DType;
use crossdock::exchange::protocol::arrow;
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::layout::Order;
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Array, Casting, DArray, Result};
use crossdock_conformance::{Subject, beside, bytes, conforms, host};

#[path = "../../examples/own_device/main.rs"]
#[expect(dead_code, reason = "the example's `main` is not called here")]
mod example;

conforms!(own, own());
conforms!(fenced, fenced());

fn own() -> Subject {
    let device = own_device(0);
    Subject {
        strided: Some(device.clone()),
        second: Some(own_device(1).memory()),
        missing: Some(Place::new(example::KIND, 2)),
        ..Subject::new(device.memory())
    }
}

fn own_device(ordinal: i32) -> Arc<dyn Device> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| device::register(Arc::new(example::OwnDriver)).unwrap());
    device::get(Place::new(example::KIND, ordinal)).unwrap()
}

fn fenced() -> Subject {
    static FENCED: OnceLock<Arc<FencedDevice>> = OnceLock::new();
    let device = FENCED.get_or_init(|| {
        let engine = Arc::new(OfFenced::default());
        let device = FencedDevice::with_engine(0, engine.clone());
        engine.0.set(example::Compiled::new(Arc::downgrade(&device.memory()))).unwrap();
        let opened = device.clone();
        let open = move |_: Place| Ok(opened.clone() as Arc<dyn Device>);
        device::register(Arc::new((DeviceKind::EXT_DEV, open))).unwrap();
        device
    });
    Subject {
        stream: device.stream().unwrap(),
        pause: Some(Box::new(|| Box::new(device.pause()))),
        new_stream: Some(Box::new(|| device.stream().unwrap().unwrap())),
        second: Some(FencedDevice::new(1).memory()),
        strided: Some(device.clone()),
        ..Subject::new(device.memory())
    }
}

#[test]
fn memory_that_its_driver_knows_by_an_object_is_not_lent_by_address() {
    let device = own().strided.unwrap();
    let numbers = DArray::from(Array::from_vec((0..12_i32).collect(), [3, 4]).unwrap());
    let there = numbers.copy_to(&device.memory()).unwrap();
    let refusal = dlpack::export_versioned(&there, &ExportOptions::new()).unwrap_err();
    assert!(refusal.to_string().contains("a driver object"), "{refusal}");
    assert!(dlpack::export_versioned(&numbers, &ExportOptions::new()).is_ok());
    assert!(arrow::export_device(&there, &Default::default()).is_err());
}

#[test]
fn copies_with_options_go_to_the_host_where_it_is_named() {
    let device = own().strided.unwrap();
    let numbers = DArray::from(Array::from_vec((0..12_i32).collect(), [3, 4]).unwrap());
    let there = numbers.copy_to(&device.memory()).unwrap();
    assert_eq!(there.to_order(Order::ColumnMajor).unwrap().place(), there.place());
    let here = there.to_order(ArrayOptions::new().order(Order::ColumnMajor).place(Place::CPU)).unwrap();
    assert!(here.place() == Place::CPU && here.equals(&numbers).unwrap());
    let cast = there.cast(&DType::F64, Place::CPU, Casting::Checked).unwrap();
    assert!(cast.place() == Place::CPU && cast.get(&[2, 3]).unwrap().as_f64() == Some(11.0));
}

/// The example's engine, which learns its memory after the fenced device got the engine.
#[derive(Debug, Default)]
struct OfFenced(OnceLock<example::Compiled>);

impl Engine for OfFenced {
    fn start(&self, lease: &DeviceLease) -> Result<Start> {
        self.0.wait().start(lease)
    }

    fn run(&self, work: &Work) -> Result<()> {
        self.0.wait().run(work)
    }

    fn reaches(&self, memory: &dyn MemoryManager) -> bool {
        self.0.wait().reaches(memory)
    }
}

/// Registering a driver again opens another device at the same place.
#[test]
fn memory_of_another_manager_of_the_same_place_is_refused() {
    let _others = beside();
    let open = || example::OwnDriver.open(Place::new(example::KIND, 0)).unwrap().memory();
    let (before, after) = (open(), open());
    let old = Buffer::copy_from_slice(&[1u8; 10]).unwrap().copy_to(&before).unwrap();
    let error = old.copy_to(&after).unwrap_err();
    assert!(error.is_place() && error.to_string().contains("10 bytes"), "{error}");
    assert_eq!(bytes(&old), [1; 10], "its own manager copies it");
    let engine = after.clone().engine().unwrap().unwrap();
    assert!(engine.reaches(&*after) && !engine.reaches(&*before));
    let lease = old.device_lease(crossdock::memory::LeaseKind::Pin).unwrap();
    assert!(engine.start(&lease).unwrap_err().is_place());
    // Memory of the place that no manager allocated has no object.
    // SAFETY: the place is a device, whose memory the CPU never accesses, and the device refuses
    // memory without an object.
    let foreign = unsafe { Buffer::non_owned(64 as *mut u8, 10, after.place()) }.unwrap();
    let into = Buffer::on(&after, 10).unwrap();
    assert!(foreign.copy_into(&into).unwrap_err().is_place());
}

#[test]
fn devices_that_do_not_exist_are_out_of_bounds() {
    let _others = beside();
    for ordinal in [-5, -1, 2, i32::MAX] {
        let Err(error) = example::OwnDriver.open(Place::new(example::KIND, ordinal)) else {
            panic!("{ordinal} opened")
        };
        assert!(error.is_bounds() && error.to_string().contains(&ordinal.to_string()), "{error}");
    }
}

#[test]
fn two_devices_compile_their_kernels_at_the_same_time() {
    let _others = beside();
    let turn = |device: Arc<dyn Device>| {
        let array = Array::from_vec((0..12_i32).collect(), [3, 4]).unwrap();
        let there = DArray::from(array).copy_to(&device.memory()).unwrap();
        let turned = there.transpose().unwrap().to_order(Order::RowMajor).unwrap();
        turned.copy_to(&host()).unwrap().to_string()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = [0, 1].map(|ordinal| scope.spawn(move || turn(own_device(ordinal)))).into();
        let turned: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(turned[0], turned[1]);
    });
}

/// The page shows the files as they are.
#[test]
fn the_page_has_the_sources_of_the_example() {
    let page = include_str!("../../../../docs/device.md");
    let sources = [
        ("rust", include_str!("../../examples/own_device/main.rs")),
        ("cpp", include_str!("../../examples/own_device/launch.cpp")),
    ];
    let mut lines = 0;
    for (language, source) in sources {
        assert!(
            page.contains(&format!("```{language}\n{source}```\n")),
            "docs/device.md differs: {language}"
        );
        let is_code = |line: &&str| {
            !["", "//", "/*"].iter().any(|&no| {
                let line = line.trim_start();
                if no.is_empty() { line.is_empty() } else { line.starts_with(no) }
            })
        };
        lines += source.lines().filter(is_code).count();
    }
    assert!(lines <= 240, "{lines} lines of code");
}
