//! Queues of this library, and of other libraries.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::Stream;
use opencl_sys::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE};

use crate::conformance::{beside, bytes, numbers};
use crate::first;
use crate::raw::{Gate, Library};

/// Makes a stream wait for a user event.
fn gated(stream: &Arc<dyn Stream>) -> Option<Gate> {
    let (_, device) = first()?;
    let gate = Library::open().user_event(stream.raw());
    // SAFETY: `gate` keeps the event alive during the call, which retains it.
    let event = unsafe { device.wrap_event(gate.event()) }.unwrap().unwrap();
    assert_eq!(event.raw(), gate.event());
    assert!(event.poll().is_none() && !event.is_done());
    stream.wait(&event).unwrap();
    Some(gate)
}

#[test]
fn another_programs_queue_does_our_copies_in_the_order_in_which_they_were_put() {
    let _others = beside();
    let Some((_, device)) = first() else { return };
    let (library, own) = (Library::open(), device.stream().unwrap().unwrap());
    for properties in [0, CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let foreign = library.context_beside(own.raw(), properties);
        // SAFETY: `foreign` keeps the queue alive, and is dropped after the stream.
        let stream = unsafe { device.wrap_stream(foreign.queue()) }.unwrap().unwrap();
        assert_eq!((stream.raw(), stream.place()), (foreign.queue(), device.place()));
        let object = foreign.buffer(&[0; 50_000]);
        // SAFETY: the memory object is alive, and `foreign`, its owner, does not access it until it
        // is released.
        let there =
            unsafe { crossdock_opencl::import(object, device.place(), crossdock::memory::Birth::Sole) }
                .unwrap();
        let (here, back) = (Buffer::from_vec(numbers(50_000)).unwrap(), Buffer::zeroed(50_000).unwrap());
        let gate = gated(&stream).unwrap();
        let first = here.copy_into_in(&there, &*stream).unwrap().unwrap();
        let second = there.copy_into_in(&back, &*stream).unwrap().unwrap();
        let recorded = stream.record().unwrap();
        assert!(!first.is_done() && !second.is_done() && !recorded.is_done());
        drop(gate);
        recorded.wait().unwrap();
        assert_eq!(back.read().unwrap()[..], numbers(50_000), "properties {properties:#x}");
        assert!(first.is_done() && second.is_done());
        drop((stream, there, first, second, recorded));
        foreign.release(object);
    }
}

#[test]
fn memory_of_another_context_is_copied_when_the_stream_is_done_with_what_it_has() {
    let _others = beside();
    let Some((_, device)) = first() else { return };
    let (library, own) = (Library::open(), device.stream().unwrap().unwrap());
    let foreign = library.context_beside(own.raw(), 0);
    // SAFETY: `foreign` keeps the queue alive, and is dropped after the stream, which was created
    // later.
    let stream = unsafe { device.wrap_stream(foreign.queue()) }.unwrap().unwrap();
    let there = Buffer::from_vec(numbers(100)).unwrap().copy_to(&device.memory()).unwrap();
    let placed = there.copy_to_in(&device.memory(), &*stream).unwrap();
    assert!(placed.event.is_some_and(|event| event.is_done()));
    assert_eq!(bytes(&placed.buffer), numbers(100));
    // An event of another context is awaited synchronously.
    stream.wait(&own.record().unwrap()).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn a_stream_that_is_dropped_loses_no_work() {
    let _others = beside();
    let Some((_, device)) = first() else { return };
    let stream = device.stream().unwrap().unwrap();
    let (here, back) = (Buffer::from_vec(numbers(100_000)).unwrap(), Buffer::zeroed(100_000).unwrap());
    let gate = gated(&stream).unwrap();
    let there = here.copy_to_in(&device.memory(), &*stream).unwrap().buffer;
    there.copy_into_in(&back, &*stream).unwrap();
    drop((stream, there, here));
    drop(gate);
    assert!(back.read().unwrap()[..] == numbers(100_000));
}

#[test]
fn streams_of_one_device_wait_for_each_other_without_the_host() {
    let _others = beside();
    let Some((_, device)) = first() else { return };
    let (first, second) = (device.stream().unwrap().unwrap(), device.stream().unwrap().unwrap());
    let (here, back) = (Buffer::from_vec(numbers(1000)).unwrap(), Buffer::zeroed(1000).unwrap());
    let gate = gated(&first).unwrap();
    let there = here.copy_to_in(&device.memory(), &*first).unwrap();
    // The copy back waits for the copy to the device, which is noted on the memory; the host does
    // not wait.
    there.buffer.copy_into_in(&back, &*second).unwrap();
    second.wait(&there.event.unwrap()).unwrap();
    let end = second.record().unwrap();
    assert!(!end.is_done());
    drop(gate);
    end.wait().unwrap();
    assert_eq!(back.read().unwrap()[..], numbers(1000));
    second.wait(&end).unwrap();
    second.synchronize().unwrap();
}
