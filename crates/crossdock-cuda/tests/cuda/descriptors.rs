//! Device memory that leaves the process as a descriptor, and another process that imports it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;

use crossdock::buffer::Buffer;
use crossdock::device;
use crossdock::element::DType;
use crossdock::layout::Layout;
use crossdock::layout::Order;
use crossdock::memory::{Birth, DeviceKind, LeaseKind};
use crossdock::{Casting, DArray};
use crossdock_cuda::{self as cuda, DescriptorRange};

use crate::conformance::{bytes, numbers};
use crate::setting::{alone, beside, memory, mock, only_mock, shareable};

const ROLE: &str = "CROSSDOCK_TEST_DESCRIPTORS";

fn live() -> Option<(u64, u64)> {
    mock().map(|mock| (mock.count("handles"), mock.count("ranges")))
}

/// The second process, whose standard input is a socket. Does nothing unless the other tests
/// started it.
#[test]
fn the_other_process() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let here = memory(DeviceKind::CUDA, 0);
    let mut socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let part = cuda::receive(&socket).unwrap().unwrap();
    let whole = cuda::receive(&socket).unwrap().unwrap();
    assert_eq!(bytes(&part), numbers(1000)[100..300]);
    assert_eq!(bytes(&whole), numbers(1000));
    assert_eq!((whole.place(), whole.birth()), (here.place(), Birth::Aliased));
    assert_eq!(here.usage().live_count, 0, "it is not of this process");
    // Writes are refused, by leases and by what takes them.
    for kind in [LeaseKind::Write, LeaseKind::Share] {
        let error = whole.device_lease(kind).unwrap_err();
        assert!(error.is_read_only() && error.to_string().contains("read-only"), "{error}");
    }
    assert!(Buffer::zeroed(200).unwrap().copy_into(&part).unwrap_err().is_read_only());
    assert!(whole.device_lease(LeaseKind::Read).unwrap_err().is_conflict(), "the other process may write it");
    // Kernels read it in place.
    let array = DArray::from_buffer(
        whole.try_clone().unwrap(),
        DType::U8,
        Layout::contiguous(&[1000], 1, Order::RowMajor).unwrap(),
        0,
    )
    .unwrap();
    let wide = array.cast(&DType::I32, Order::RowMajor, Casting::Checked).unwrap();
    let back = wide.copy_to(&device::memory(crossdock::memory::Place::CPU).unwrap()).unwrap();
    assert_eq!(back.get(&[7]).unwrap().as_i64(), Some(i64::from(numbers(8)[7])));
    assert!(array.fill(&1.into()).unwrap_err().is_read_only());
    // What was received is sent on, and received by this process itself.
    let (ours, theirs) = UnixStream::pair().unwrap();
    cuda::export_descriptor(&whole.slice(5..10).unwrap()).unwrap().send(&ours).unwrap();
    drop(ours);
    let again = cuda::receive(&theirs).unwrap().unwrap();
    assert_eq!(bytes(&again), numbers(1000)[5..10]);
    assert!(cuda::receive(&theirs).unwrap().is_none(), "the stream has ended");
    drop((array, again, part));
    // The first process writes now, and then drops the memory.
    socket.write_all(b"1").unwrap();
    let mut answer = [0];
    socket.read_exact(&mut answer).unwrap();
    let mut expected = numbers(1000);
    expected[100..300].fill(0xEE);
    assert_eq!(bytes(&whole), expected, "the mapping keeps the memory");
    drop(whole);
    assert_eq!(live(), mock().map(|_| (0, 0)));
    assert!(device::take_release_errors().errors.is_empty());
    if let Some(mock) = mock() {
        assert_eq!(mock.misuses(), [""; 0]);
    }
    socket.write_all(b"2").unwrap();
}

#[test]
fn another_process_reads_memory_and_slices_of_it_and_keeps_them_after_the_first_dropped_them() {
    let _alone = alone();
    let Some(there) = shareable() else { return };
    let before = live();
    let sent = Buffer::from_vec(numbers(1000)).unwrap().copy_to(&there).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut other = {
        // The command keeps the socket, whose end is to be seen once the other process has ended.
        let mut other = Command::new(std::env::current_exe().unwrap());
        let role = ["--exact", "descriptors::the_other_process", "--nocapture"];
        other.args(role).env(ROLE, "1").stdin(OwnedFd::from(theirs)).spawn().unwrap()
    };
    for range in [100..300, 0..1000] {
        let export = cuda::export_descriptor(&sent.slice(range).unwrap()).unwrap();
        export.send(&ours).unwrap();
    }
    let mut answer = [0];
    ours.read_exact(&mut answer).unwrap();
    Buffer::from_vec(vec![0xEEu8; 200]).unwrap().copy_into(&sent.slice(100..300).unwrap()).unwrap();
    drop(sent);
    assert_eq!((there.usage().live_count, live()), (0, before));
    ours.write_all(b"1").unwrap();
    ours.read_exact(&mut answer).unwrap();
    assert!(other.wait().unwrap().success());
    assert_eq!(answer, *b"2");
}

#[test]
fn an_export_keeps_the_memory_and_excludes_exclusive_access_until_it_is_dropped() {
    let _alone = alone();
    let Some(there) = shareable() else { return };
    let buffer = Buffer::from_vec(numbers(100)).unwrap().copy_to(&there).unwrap();
    let export = cuda::export_descriptor(&buffer.slice(10..50).unwrap()).unwrap();
    assert_eq!((export.range().offset(), export.range().nbytes()), (10, 40));
    let range: DescriptorRange = export.range().to_string().parse().unwrap();
    assert_eq!(range, export.range());
    let flags = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", export.fd().as_raw_fd())).unwrap();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim().to_owned();
    let close_on_exec = 0o2_000_000;
    assert_ne!(u32::from_str_radix(&flags, 8).unwrap() & close_on_exec, 0, "programs do not inherit it");
    assert!(buffer.device_lease(LeaseKind::Write).unwrap_err().is_conflict());
    drop(buffer);
    assert_eq!(there.usage().live_count, 1);
    let imported = cuda::import_descriptor(export.fd(), &range).unwrap();
    assert!(cuda::has_descriptor(&imported));
    drop(export);
    assert_eq!(there.usage().live_count, 0);
    assert_eq!(bytes(&imported), numbers(100)[10..50]);
    // Read-only memory can be exported, since the importer only reads.
    let readonly = Buffer::on(&there, 10).unwrap().into_readonly();
    assert!(cuda::export_descriptor(&readonly).is_ok());
}

#[test]
fn other_memory_has_no_descriptor_and_the_error_says_which_has() {
    let _others = beside();
    let Some(shareable) = shareable() else { return };
    let kinds = [DeviceKind::CUDA, DeviceKind::CUDA_HOST, DeviceKind::CUDA_MANAGED];
    let mut others: Vec<_> = kinds.iter().map(|&kind| Buffer::on(&memory(kind, 0), 10).unwrap()).collect();
    others.push(Buffer::zeroed(10).unwrap());
    others.push(Buffer::on(&cuda::exportable_memory(0).unwrap(), 10).unwrap());
    others.push(Buffer::on(&shareable, 0).unwrap());
    for other in others {
        assert!(!cuda::has_descriptor(&other));
        let error = cuda::export_descriptor(&other).unwrap_err();
        assert!(error.is_place() && error.to_string().contains("shareable_memory"), "{error}");
    }
}

#[test]
fn descriptors_and_ranges_that_lie_are_refused_and_leave_nothing() {
    let _alone = alone();
    let Some(there) = shareable() else { return };
    let buffer = Buffer::on(&there, 1000).unwrap();
    let export = cuda::export_descriptor(&buffer).unwrap();
    let before = live();
    let import =
        |fd: &dyn AsFd, text: &str| cuda::import_descriptor(fd.as_fd(), &text.parse().unwrap()).unwrap_err();
    let null = File::open("/dev/null").unwrap();
    let range = export.range().to_string();
    assert!(import(&null, &range).is_device());
    let fd = export.fd();
    let error = import(&fd, "cuda-descriptor 0 68719476736 0 68719476736");
    assert!(error.is_device() && error.to_string().contains("68719476736"), "more than there is: {error}");
    for odd in ["cuda-descriptor 0 1000 0 1000", "cuda-descriptor 0 0 0 0"] {
        assert!(import(&fd, odd).is_malformed(), "{odd}");
    }
    assert_eq!(live(), before);
    // The driver knows the device, whatever the other process calls it.
    let elsewhere = range.replacen(" 0 ", " 3 ", 1);
    for text in [elsewhere.clone(), elsewhere.replacen(" 3 ", " 77 ", 1)] {
        let imported = cuda::import_descriptor(export.fd(), &text.parse().unwrap()).unwrap();
        assert_eq!(imported.place(), there.place(), "{text}");
    }
    let (ours, theirs) = UnixStream::pair().unwrap();
    (&ours).write_all(&[7; 16]).unwrap();
    assert!(cuda::receive(&theirs).unwrap_err().is_malformed());
}

#[test]
fn memory_that_the_device_lacks_is_refused_with_the_number_of_bytes() {
    let _alone = alone();
    if only_mock().is_none() {
        return;
    }
    let Some(there) = shareable() else { return };
    let before = live();
    let all = 16 << 30;
    let error = Buffer::on(&there, all + 1).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains(&(all + 1).to_string()), "{error}");
    let some = Buffer::on(&there, 1).unwrap();
    let error = Buffer::on(&there, all).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains("cuMemCreate"), "{error}");
    drop(some);
    assert_eq!(live(), before);
}
