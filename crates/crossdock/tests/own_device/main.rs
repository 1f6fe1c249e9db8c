//! A device that a third party brings does all that a device does, strided work among it: that of
//! the page `docs/device.md`, and the fenced device with an engine from outside.

use std::sync::{Arc, Once, OnceLock};

use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::memory::{DeviceKind, Place};
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
