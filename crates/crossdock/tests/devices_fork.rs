//! After a fork the child uses and drops the devices that it inherited, whatever other threads of
//! the parent did with them.

use std::sync::atomic::{AtomicBool, Ordering};

use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::memory::Place;
use crossdock_testkit::{rounds, status_of_child};

/// The child's use of an inherited device, while in-flight work of its parent will never complete
/// in the child.
fn uses_and_drops(
    device: &FencedDevice,
    under_way: &Buffer,
    at_rest: &Buffer,
) -> Result<bool, crossdock::Error> {
    let host = device::memory(Place::CPU)?;
    let told = under_way.read().is_err_and(|error| error.is_device());
    let settled = under_way.settle().is_err() && under_way.pin().is_ok();
    let lost = under_way.write().is_err_and(|error| error.is_conflict()); // by the work that no thread of the child completes
    // A new stream works, and the inherited memory is intact.
    let stream = device.stream()?.ok_or_else(|| crossdock::Error::device("no stream"))?;
    let placed = at_rest.copy_to_in(&host, &*stream)?;
    let arrived = placed.buffer.read()?[99] == 7;
    let fresh = Buffer::from_vec(vec![9u8; 50])?.copy_to(&device.memory())?.copy_to(&host)?.read()?[49] == 9;
    Ok(told && settled && lost && arrived && fresh)
}

#[test]
fn a_child_uses_devices_that_it_inherited_while_another_thread_and_a_stream_had_them() {
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let at_rest = Buffer::from_vec(vec![7u8; 100]).unwrap().copy_to(&device.memory()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // This thread and a stream's thread acquire every lock of the devices repeatedly.
            let busy = FencedDevice::new(2);
            let stream = busy.stream().unwrap().unwrap();
            let (there, here) = (Buffer::on(&busy.memory(), 10).unwrap(), Buffer::zeroed(10).unwrap());
            while !over.load(Ordering::Relaxed) {
                let event = there.copy_into_in(&here, &*stream).unwrap();
                assert!(here.events().is_ok() && event.is_some());
                drop((busy.pause(), device.pause()));
                assert!(device::take_release_errors().errors.is_empty());
                drop(Buffer::on(&busy.memory(), 1).unwrap());
                here.settle().unwrap();
            }
        });
        for _ in 0..rounds(200) {
            let under_way = Buffer::zeroed(100).unwrap();
            let paused = device.pause();
            at_rest.copy_into_in(&under_way, &*stream).unwrap();
            let status = status_of_child(|| {
                let own = FencedDevice::new(1);
                let refused = stream.record().is_err_and(|error| error.is_device());
                // The device itself is paused, in the child as in the parent, but another one is
                // not.
                let at_rest = at_rest.copy_to(&own.memory());
                let works =
                    at_rest.is_ok_and(|at_rest| uses_and_drops(&own, &under_way, &at_rest).unwrap_or(false));
                refused && works
            });
            drop(paused);
            if status != 0 {
                over.store(true, Ordering::Relaxed);
                panic!("the child ended with status {status:#x}");
            }
            assert_eq!(under_way.read().unwrap()[..], [7; 100], "the parent's work goes on");
        }
        over.store(true, Ordering::Relaxed);
    });
}
