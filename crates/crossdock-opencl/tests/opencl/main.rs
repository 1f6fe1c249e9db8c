//! Tests on the loader's first OpenCL device: it conforms to the device tests, imports objects of
//! other libraries, and reports what is missing. Without a device no test runs, or each fails if
//! `CROSSDOCK_REQUIRE_COUNTERPARTS` is set.

mod failures;
mod mappings;
mod objects;
mod processes;
mod raw;
mod streams;
mod tensors;

use std::sync::Arc;

use crossdock::device::{self, Device};
use crossdock_conformance::{self as conformance, Subject, conforms};
use crossdock_opencl as opencl;
use crossdock_testkit::missing;

/// The first device.
fn first() -> Option<(opencl::Description, Arc<dyn Device>)> {
    opencl::register().unwrap();
    match opencl::devices() {
        Ok(devices) => {
            let first = devices.into_iter().next().unwrap();
            let device = device::get(first.place).unwrap();
            Some((first, device))
        }
        Err(error) => {
            missing(&format!("a device of OpenCL ({error})"));
            None
        }
    }
}

/// Waits for the effect of another thread, up to a limit.
fn eventually(is_so: impl Fn() -> bool) -> bool {
    (0..20_000).any(|_| {
        let is_so = is_so();
        if !is_so {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        is_so
    })
}

fn subject() -> Option<Subject> {
    let (description, device) = first()?;
    let (stream, strided) = (device.stream().unwrap().unwrap(), device.clone());
    let (paused, streaming, raw) = (stream.clone(), device.clone(), raw::Library::open());
    let pause = move || -> Box<dyn std::any::Any> {
        let gate = raw.user_event(paused.raw());
        // SAFETY: `gate` keeps the event alive during the call, which retains it.
        let event = unsafe { device.wrap_event(gate.event()) }.unwrap().unwrap();
        paused.wait(&event).unwrap();
        Box::new(gate)
    };
    Some(Subject {
        memory: device::memory(description.place).unwrap(),
        manager: device::memory(description.place).unwrap(),
        stream: Some(stream),
        pause: Some(Box::new(pause)),
        new_stream: Some(Box::new(move || streaming.stream().unwrap().unwrap())),
        // Most installations have one device.
        second: None,
        missing: Some(crossdock::memory::Place::new(description.place.kind(), 9999)),
        // True where the device is the CPU, as on the driver that the tests install.
        is_mappable: description.is_mappable,
        // A failing release would be a fault of this program, after which a driver may crash.
        fail_release: None,
        is_exact: true,
        strided: Some(strided),
    })
}

conforms!(as_others, subject());
