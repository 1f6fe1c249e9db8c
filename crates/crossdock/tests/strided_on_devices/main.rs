//! What devices do with strided elements, against the processor's own work and a naive copy. Without a device nothing is run, unless
//! `CROSSDOCK_REQUIRE_COUNTERPARTS` is set: then that is a failure.

mod casts;
mod moves;

use std::sync::Arc;

use crossdock::memory::device::{self, Device, opencl};
use crossdock_testkit::missing;

/// The devices that do strided work here.
fn devices() -> Vec<Arc<dyn Device>> {
    let mut found = Vec::new();
    match opencl::devices().map(|devices| devices.first().map(|first| device::get(first.place))) {
        Ok(Some(device)) => found.push(device.unwrap()),
        Ok(None) => missing("a device of OpenCL"),
        Err(error) => missing(&format!("a device of OpenCL ({error})")),
    }
    found
}

/// How many random cases: `CROSSDOCK_CASES`, or so many.
fn cases(usual: usize) -> usize {
    match std::env::var("CROSSDOCK_CASES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("CROSSDOCK_CASES is {text:?}, not a number")),
        Err(_) => usual,
    }
}
