//! Device memory in two processes: opened by another process, and after a fork.

use std::process::Command;

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::memory::{DeviceKind, LeaseKind};
use crossdock_cuda::{self as cuda, IpcHandle};

use crate::conformance::{bytes, numbers};
use crate::gate;
use crate::setting::{alone, beside, memory, mock, place};
use crossdock_testkit::status_of_child;

const ROLE: &str = "CROSSDOCK_TEST_HANDLES";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn handle(hex: &str) -> IpcHandle {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    IpcHandle::from_bytes(&(0..hex.len()).step_by(2).map(digits).collect::<Vec<_>>()).unwrap()
}

/// The second process. Does nothing unless the other tests started it.
#[test]
fn the_other_process() {
    let Ok(text) = std::env::var(ROLE) else { return };
    let handles: Vec<IpcHandle> = text.split(' ').map(handle).collect();
    memory(DeviceKind::CUDA, 0);
    let opened = || mock().map(|mock| mock.calls("cuIpcOpenMemHandle_v2"));
    let buffers: Vec<Buffer> = handles
        .iter()
        // SAFETY: the first process keeps the exported memory, because it waits for this one to
        // exit.
        .map(|handle| unsafe { cuda::open_ipc(handle, 0) }.unwrap())
        .collect();
    assert_eq!(opened(), mock().map(|_| 1), "one allocation is opened once");
    assert_eq!(bytes(&buffers[0]), numbers(1000)[100..300]);
    assert_eq!(bytes(&buffers[1]), numbers(1000));
    assert_eq!(buffers[0].as_ptr(), buffers[1].as_ptr().wrapping_add(100));
    assert_eq!(memory(DeviceKind::CUDA, 0).usage().live_count, 0, "it is not of this process");
    Buffer::from_vec(vec![0xEEu8; 200]).unwrap().copy_into(&buffers[0]).unwrap();
    let closed = || mock().map(|mock| mock.calls("cuIpcCloseMemHandle"));
    let mut buffers = buffers.into_iter();
    drop(buffers.next());
    assert_eq!(closed(), mock().map(|_| 0));
    drop(buffers);
    assert_eq!(closed(), mock().map(|_| 1));
    // Opens it again after all was closed. The range of a handle is not trusted.
    // SAFETY: the first process keeps the exported memory, because it waits for this one to exit.
    drop(unsafe { cuda::open_ipc(&handles[1], 0) }.unwrap());
    let mut beyond = handles[1].to_bytes();
    beyond[64..72].copy_from_slice(&u64::MAX.to_le_bytes());
    // SAFETY: the call is refused, because the range of the handle exceeds the allocation, so no
    // memory is accessed.
    let error = unsafe { cuda::open_ipc(&IpcHandle::from_bytes(&beyond).unwrap(), 0) }.unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains(&u64::MAX.to_string()), "{error}");
    let nonsense = IpcHandle::from_bytes(&[7; IpcHandle::LEN]).unwrap();
    // SAFETY: the driver refuses a handle that it never exported, so no memory is accessed.
    let error = unsafe { cuda::open_ipc(&nonsense, 0) }.unwrap_err();
    assert!(error.is_device() && error.to_string().contains("cuIpcOpenMemHandle_v2"), "{error}");
    assert!(device::take_release_errors().errors.is_empty());
}

#[test]
fn memory_and_slices_of_it_are_opened_by_another_process_which_writes_them() {
    let _alone = alone();
    memory(DeviceKind::CUDA, 0);
    let there = cuda::exportable_memory(0).unwrap();
    let sent = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&there).unwrap();
    let exports = [100..300, 0..1000].map(|range| cuda::export_ipc(&sent.slice(range).unwrap()).unwrap());
    assert_eq!((exports[0].handle().offset(), exports[0].handle().nbytes()), (100, 200));
    assert_eq!(exports[0].handle().driver(), exports[1].handle().driver());
    assert!(sent.device_lease(LeaseKind::Read).unwrap_err().is_conflict(), "others may write it");
    let handles = exports.iter().map(|export| hex(&export.handle().to_bytes())).collect::<Vec<_>>().join(" ");
    let mut other = Command::new(std::env::current_exe().unwrap());
    let role = ["--exact", "processes::the_other_process", "--nocapture"];
    let output = other.args(role).env(ROLE, handles).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut expected = numbers(1000);
    expected[100..300].fill(0xEE);
    assert_eq!(bytes(&sent), expected);
    // An export keeps the memory, and excludes leases that need constancy.
    drop(sent);
    assert_eq!(there.usage().live_count, 1);
    drop(exports);
    assert_eq!(there.usage().live_count, 0);
}

#[test]
fn only_memory_that_can_be_opened_elsewhere_is_exported() {
    let _others = beside();
    for kind in [DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED] {
        let error = cuda::export_ipc(&Buffer::on(&memory(kind, 0), 10).unwrap()).unwrap_err();
        assert!(error.is_place() && error.to_string().contains(&place(kind, 0).to_string()), "{error}");
    }
    let there = cuda::exportable_memory(0).unwrap();
    let export = cuda::export_ipc(&Buffer::on(&there, 10).unwrap()).unwrap();
    // SAFETY: `export` keeps the memory during the call, which the driver refuses in the same
    // process.
    let error = unsafe { cuda::open_ipc(&export.handle(), 0) }.unwrap_err();
    assert!(error.is_device(), "a process does not open its own memory: {error}");
    let readonly = Buffer::on(&there, 10).unwrap().into_readonly();
    assert!(cuda::export_ipc(&readonly).unwrap_err().is_read_only());
}

#[test]
fn memory_of_the_pool_is_not_exported_and_the_error_says_what_is() {
    let _alone = alone();
    let error = cuda::export_ipc(&Buffer::on(&memory(DeviceKind::CUDA, 0), 10).unwrap()).unwrap_err();
    assert!(error.is_device() && error.to_string().contains("allocated to be exportable"), "{error}");
    if let Some(mock) = mock() {
        assert!(error.to_string().contains("cuIpcGetMemHandle failed with error 1"), "{error}");
        mock.reset();
        crate::setting::set(mock);
    }
}

#[test]
fn a_forked_child_is_told_that_the_driver_is_its_parents_and_drops_what_it_inherited() {
    let _alone = alone();
    let there = memory(DeviceKind::CUDA, 0);
    let kinds = [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED];
    let mut buffers = Some(kinds.map(|kind| Buffer::on(&memory(kind, 0), 1000).unwrap()));
    let stream = device::get(there.place()).unwrap().stream().unwrap().unwrap();
    let here = Buffer::from_vec(numbers(1000)).unwrap();
    let paused = gate::pause(&stream);
    let under_way = here.copy_to_in(&there, &*stream).unwrap();
    let event = under_way.event.as_ref().unwrap();
    let mut child = || {
        let [there_too, _, managed] = buffers.as_ref()?;
        let refused = [
            Buffer::on(&there, 10).err(),
            Buffer::on(&memory(DeviceKind::CUDA_HOST, 0), 10).err(),
            there_too.copy_to(&there).err(),
            there_too.copy_into(&here).err(),
            here.copy_into_in(there_too, &*stream).err(),
            here.copy_into(managed).err(),
            stream.record().err(),
            event.wait().err(),
            event.poll().and_then(Result::err),
            cuda::devices().err(),
            cuda::free_nbytes(0).err(),
            cuda::trim(0, 0).err(),
            cuda::exportable_memory(0).err(),
            cuda::pin(&Buffer::zeroed(10).ok()?, 0).err(),
            device::get(place(DeviceKind::CUDA, 1)).err().or_else(|| cuda::free_nbytes(1).err()),
        ];
        let told = refused.iter().all(|error| error.as_ref().is_some_and(crossdock::Error::is_device));
        drop(buffers.take());
        let calls = mock().map_or(0, |mock| mock.count("calls_after_fork"));
        Some(told && calls == 0 && device::take_release_errors().errors.is_empty())
    };
    assert_eq!(status_of_child(|| child() == Some(true)), 0);
    drop(paused);
    event.wait().unwrap();
    assert_eq!(bytes(&under_way.buffer), numbers(1000), "the parent's work goes on");
}
