//! A device that a third party brings does all that a device does, strided work among it: that of
//! the page `docs/device.md`, and the fenced device with an engine from outside.

use std::sync::{Arc, Once, OnceLock};

use crossdock::array::ArrayOptions;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::element::DType;
use crossdock::exchange::protocol::arrow;
use crossdock::exchange::protocol::dlpack::{self, ExportOptions};
use crossdock::layout::Order;
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Array, Casting, DArray};
use crossdock_conformance::{Subject, conforms};

#[path = "../../examples/own_device/main.rs"]
#[expect(dead_code, reason = "the example's `main` is not called here")]
mod example;

conforms!(own, own());
conforms!(fenced, fenced());

fn own() -> Subject {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| device::register(Arc::new(example::OwnDriver)).unwrap());
    let device = device::get(Place::new(example::KIND, 0)).unwrap();
    Subject { strided: Some(device.clone()), ..Subject::new(device.memory()) }
}

fn fenced() -> Subject {
    static FENCED: OnceLock<Arc<FencedDevice>> = OnceLock::new();
    let device = FENCED.get_or_init(|| {
        let engine = Arc::new(example::Compiled::new(Place::new(DeviceKind::EXT_DEV, 0)));
        let device = FencedDevice::with_engine(0, engine);
        let opened = device.clone();
        let open = move |_: Place| Ok(opened.clone() as Arc<dyn Device>);
        device::register(Arc::new((DeviceKind::EXT_DEV, open))).unwrap();
        device
    });
    Subject {
        stream: device.stream().unwrap(),
        pause: Some(Box::new(|| Box::new(device.pause()))),
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
    assert!(refusal.to_string().contains("by an object"), "{refusal}");
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
    assert!(lines <= 200, "{lines} lines of code");
}
