//! The arrays of Majel compared with these: every row of `docs/evidence/majel.md` has a test, and
//! every test here has a row there (`page.rs` checks it).

mod arrays;
mod dims;
mod dynamic;
mod page;
#[path = "../pages/mod.rs"]
mod pages;
mod places;
mod references;
mod surprises;

use std::sync::{Arc, Mutex, Once};

use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device, MemoryManager};
use crossdock::memory::{DeviceKind, Place};
use crossdock::{DArray, Error};

/// Held by tests that set or use the default place: the process has one.
static DEFAULT_PLACE: Mutex<()> = Mutex::new(());

/// A registered device whose memory is not accessible from the CPU.
fn gpu(ordinal: i32) -> Place {
    static REGISTERED: Once = Once::new();
    let open = |place: Place| Ok(FencedDevice::new(place.ordinal()) as Arc<dyn Device>);
    REGISTERED.call_once(|| device::register(Arc::new((DeviceKind::EXT_DEV, open))).unwrap());
    Place::new(DeviceKind::EXT_DEV, ordinal)
}

fn host() -> Arc<dyn MemoryManager> {
    device::memory(Place::CPU).unwrap()
}

/// The bytes of an array in any memory.
fn bytes(array: &DArray) -> Vec<u8> {
    array.buffer().unwrap().0.copy_to(&host()).unwrap().pin().unwrap().to_vec()
}

#[track_caller]
fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}
