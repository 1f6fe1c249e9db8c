//! The driver is gone, or belongs to another process.

use std::sync::Arc;

use crossdock::buffer::Buffer;
use crossdock::device::{Event, Stream};
use crossdock_cuda as cuda;
use crossdock_mock_cuda::Status;

use crate::process::{alone, mock};
use crate::scenario::{Devices, queued};
use crossdock_testkit::status_of_child;

/// One object of each kind, and in-flight work.
struct Things {
    stream: Arc<dyn Stream>,
    event: Arc<dyn Event>,
    buffers: Vec<Buffer>,
}

impl Things {
    fn of(devices: &Devices, stream: Arc<dyn Stream>) -> Self {
        let source = Buffer::from_vec(vec![7u8; 5000]).unwrap();
        let memories =
            [&devices.device, &devices.pinned, &devices.managed, &devices.exportable, &devices.other];
        let mut buffers: Vec<_> =
            memories.into_iter().map(|memory| source.copy_to(memory).unwrap()).collect();
        buffers.push(cuda::pin(&Buffer::from_vec(vec![7u8; 5000]).unwrap(), 0).unwrap());
        let handle = cuda::export_ipc(&buffers[3]).unwrap().handle();
        buffers.push(source.copy_to(&devices.shareable).unwrap());
        let export = cuda::export_descriptor(&buffers[buffers.len() - 1]).unwrap();
        buffers.push(cuda::import_descriptor(export.fd(), &export.range()).unwrap());
        // SAFETY: `buffers[3]` keeps the exported memory as long as the tests use this buffer.
        buffers.push(unsafe { cuda::open_ipc(&handle, 0) }.unwrap());
        let event = buffers[0].copy_to_in(&devices.device, &*stream).unwrap().event.unwrap();
        buffers.push(source.copy_to_in(&devices.device, &*stream).unwrap().buffer);
        Self { stream, event, buffers }
    }
}

#[test]
fn a_child_of_a_fork_is_told_so_and_never_calls_the_driver() {
    alone("ends::a_child_of_a_fork_is_told_so_and_never_calls_the_driver", || {
        let mock = mock();
        mock.set("opens_own", 1);
        let devices = Devices::open();
        let stream = devices.first.stream().unwrap().unwrap();
        let paused = mock.pause(stream.raw().addr());
        let mut things = Some(Things::of(&devices, stream));
        let mut owned = Some(devices);
        let status = status_of_child(|| {
            let (Some(things), Some(devices)) = (things.take(), owned.take()) else { return false };
            let is_told = |error: crossdock::Error| error.is_device() && error.to_string().contains("forked");
            let here = Buffer::zeroed(5000).unwrap();
            let told = [
                cuda::devices().err(),
                cuda::free_nbytes(0).err(),
                cuda::trim(0, 0).err(),
                cuda::place_of(here.as_ptr()).err(),
                cuda::pin(&here, 0).err(),
                Buffer::on(&devices.device, 10).err(),
                Buffer::on(&devices.pinned, 10).err(),
                Buffer::on(&devices.shareable, 10).err(),
                cuda::shareable_memory(0).err(),
                things.buffers[0].copy_to(&devices.host).err(),
                here.copy_to(&devices.device).err(),
                devices.first.stream().err(),
                things.stream.record().err(),
                things.event.wait().err(),
                here.copy_into_in(&things.buffers[0], &*things.stream).err(),
            ];
            for (number, error) in told.into_iter().enumerate() {
                if !error.is_some_and(is_told) {
                    eprintln!("attempt {number} was not refused as it should have been");
                    return false;
                }
            }
            // Pinned memory is host memory, which the child inherits.
            let read = things.buffers[1].read().is_ok_and(|bytes| bytes[..] == [7; 5000]);
            drop((things, devices));
            let queued = queued();
            eprintln!("{queued:?}");
            read && queued.is_empty() && mock.count("calls_after_fork") == 0
        });
        assert_eq!(status, 0, "{status:#x}");
        drop(paused);
        let things = things.expect("the parent's are its own");
        things.event.wait().unwrap();
        drop((things, owned));
        assert_eq!((mock.misuses(), queued().len()), (vec![], 0));
    });
}

#[test]
fn what_is_dropped_when_the_driver_or_its_context_has_gone_is_forgotten() {
    alone("ends::what_is_dropped_when_the_driver_or_its_context_has_gone_is_forgotten", || {
        let mock = mock();
        mock.set("opens_own", 1);
        let devices = Devices::open();
        let things = Things::of(&devices, devices.first.stream().unwrap().unwrap());
        mock.settle();
        things.event.wait().unwrap();
        things.buffers.iter().for_each(|buffer| buffer.settle().unwrap());
        mock.set("gone", 1);
        let error = Buffer::on(&devices.device, 10).unwrap_err();
        assert!(
            error.is_device() && error.to_string().contains("error 4 (CUDA_ERROR_DEINITIALIZED"),
            "{error}"
        );
        drop(things);
        assert_eq!(queued().len(), 0, "at the end of a process");
        mock.set("gone", 0);
        // After a reset of the device by another library, all frees fail in this way.
        let buffer = Buffer::on(&devices.device, 10).unwrap();
        mock.fail("cuMemFreeAsync", 1, Status::CONTEXT_IS_DESTROYED);
        drop(buffer);
        assert_eq!((queued().len(), mock.failures_left()), (0, 0));
        assert_eq!(mock.misuses(), [""; 0]);
    });
}

#[test]
fn a_programs_own_context_stays_current_whatever_is_done_in_between() {
    alone("ends::a_programs_own_context_stays_current_whatever_is_done_in_between", || {
        let mock = mock();
        mock.set("opens_own", 1);
        let devices = Devices::open();
        let own = mock.enter_context(1);
        devices.round().unwrap();
        assert_eq!(mock.current_context(), own);
        mock.fail("cuMemcpyAsync", 3, Status::LAUNCH_FAILED);
        assert!(devices.round().is_err());
        assert_eq!((mock.current_context(), mock.count("current")), (own, 1));
        queued();
        mock.leave_context(own);
        assert_eq!(mock.misuses(), [""; 0]);
    });
}
