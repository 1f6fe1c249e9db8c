//! Readers and writers of device memory, which faults on a CPU access: what is staged, and what
//! happens when it fails.

use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossdock::Error;
use crossdock::buffer::Buffer;
use crossdock::device::fenced::{FencedDevice, Operation, Ways};
use crossdock::device::{self, Device};
use crossdock::io::{BufferReader, FixedWriter};
use crossdock::memory::{LeaseKind, Place};

/// More than two blocks.
const NBYTES: usize = 2_500_000;

/// The queue of errors belongs to the process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn counted(nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|index| (index * 31 % 251) as u8).collect()
}

fn sent(bytes: Vec<u8>) -> (Arc<FencedDevice>, Buffer) {
    let device = FencedDevice::new(0);
    let buffer = Buffer::from_vec(bytes).unwrap().copy_to(&device.memory()).unwrap();
    (device, buffer)
}

fn fetched(buffer: &Buffer) -> Vec<u8> {
    buffer.copy_to(&device::memory(Place::CPU).unwrap()).unwrap().read().unwrap().to_vec()
}

fn ours(error: &io::Error) -> &Error {
    error.get_ref().unwrap().downcast_ref().unwrap()
}

#[test]
fn a_device_is_read_in_every_way_and_slices_stay_there() {
    let _alone = alone();
    let (device, buffer) = sent(counted(NBYTES));
    assert!(buffer.read().unwrap_err().is_place());
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    assert_eq!(reader.lease(), Some(LeaseKind::Read));

    let slice = reader.read_slice(1000).unwrap();
    assert_eq!((slice.place(), slice.address()), (device.place(), buffer.address()));
    assert_eq!(fetched(&slice), counted(1000));
    let mut room = vec![0; 1_300_000];
    reader.read_exact(&mut room).unwrap();
    assert!(room == counted(NBYTES)[1000..1_301_000]);
    assert_eq!(reader.fill_buf().unwrap().len(), 1 << 20, "a block of the size that is documented");
    assert_eq!(reader.copy_at(NBYTES - 5, &mut room[..5]).unwrap(), 5);
    assert_eq!(room[..5], counted(NBYTES)[NBYTES - 5..]);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert!(rest == counted(NBYTES)[1_301_000..]);
    let mut part = BufferReader::new(reader.read_exact_at(77, 1_100_000).unwrap()).unwrap();
    let mut other = Vec::new();
    assert_eq!(io::copy(&mut part, &mut other).unwrap(), 1_100_000);
    assert!(other == counted(NBYTES)[77..1_100_077]);
    reader.will_need(0, NBYTES).unwrap();
    assert!(reader.will_need(0, NBYTES + 1).unwrap_err().is_bounds());
}

#[test]
fn many_small_reads_and_writes_are_few_copies() {
    let _alone = alone();
    let (device, buffer) = sent(counted(100_000));
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    device.fail(Operation::Transfer, 2);
    for expected in counted(100_000).chunks(10) {
        let mut room = [0; 10];
        reader.read_exact(&mut room).unwrap();
        assert_eq!(room, *expected);
    }
    drop(reader);
    device.fail(Operation::Transfer, 2);
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    for byte in 0..100_000 {
        writer.write_all(&[byte as u8]).unwrap();
    }
    writer.close().unwrap();
    device.fail(Operation::Transfer, 0);
    assert!(fetched(&buffer).iter().enumerate().all(|(index, &byte)| byte == index as u8));
}

#[test]
fn a_device_is_written_in_order_over_what_is_kept_too() {
    let _alone = alone();
    let (_device, buffer) = sent(vec![0; NBYTES]);
    let mut expected = vec![0; NBYTES];
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    assert_eq!(writer.lease(), Some(LeaseKind::Share));
    writer.write_all(&[1; 100]).unwrap();
    writer.write_at(50, &[2; 10]).unwrap();
    writer.write_at(60, &[3; 10]).unwrap();
    writer.seek(SeekFrom::Start(55)).unwrap();
    writer.write_all(&[4; 2]).unwrap();
    expected[..100].fill(1);
    expected[50..60].fill(2);
    expected[60..70].fill(3);
    expected[55..57].fill(4);
    writer.flush().unwrap();
    assert!(fetched(&buffer.slice(..200).unwrap()) == expected[..200]);
    writer.seek(SeekFrom::Start(200)).unwrap();
    writer.write_all(&counted(NBYTES - 200)).unwrap();
    expected[200..].copy_from_slice(&counted(NBYTES - 200));
    assert!(writer.write_all(b"!").is_err());
    assert!(writer.write_at(NBYTES, b"!").unwrap_err().is_bounds());
    writer.write_at(NBYTES - 1, b"!").unwrap();
    expected[NBYTES - 1] = b'!';
    assert!(fetched(&writer.into_inner().unwrap()) == expected);
}

#[test]
fn what_a_device_fails_at_is_an_error_and_can_be_tried_again() {
    let _alone = alone();
    let (device, buffer) = sent(counted(1000));
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    let mut room = [0; 10];
    device.fail(Operation::Transfer, 1);
    let error = reader.read(&mut room).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(ours(&error).is_device());
    assert_eq!(reader.position(), 0);
    reader.read_exact(&mut room).unwrap();
    assert_eq!(room[..], counted(10));
    drop(reader);

    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    writer.write_all(&[7; 20]).unwrap();
    device.fail(Operation::Transfer, 1);
    assert!(ours(&writer.flush().unwrap_err()).is_device());
    device.fail(Operation::Transfer, 1);
    assert!(writer.close().unwrap_err().is_device());
    assert!(writer.lease().is_some());
    device.fail(Operation::Transfer, 1);
    let rejected = writer.into_inner().unwrap_err();
    assert!(rejected.error.is_device());
    let mut writer = rejected.value;
    writer.close().unwrap();
    assert!(writer.lease().is_none());
    assert_eq!(fetched(&buffer)[..21], [&[7; 20], &counted(21)[20..]].concat());
}

#[test]
fn a_large_write_that_fails_leaves_nothing_to_be_written_later() {
    let _alone = alone();
    let (device, buffer) = sent(vec![0; NBYTES]);
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    device.fail(Operation::Transfer, 2);
    assert!(ours(&writer.write(&vec![1; NBYTES]).unwrap_err()).is_device());
    assert_eq!(writer.position(), 0);
    writer.close().unwrap();
    let bytes = fetched(&buffer);
    assert!(bytes[..1 << 20].iter().all(|&byte| byte == 1) && bytes[1 << 20..].iter().all(|&byte| byte == 0));
}

#[test]
fn what_a_dropped_writer_could_not_write_is_told_and_its_lease_is_given_back() {
    let _alone = alone();
    let (device, buffer) = sent(counted(100));
    device::take_release_errors();
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    writer.write_all(b"lost").unwrap();
    device.fail(Operation::Transfer, 1);
    drop(writer);
    let told = device::take_release_errors();
    assert_eq!((told.errors.len(), told.lost), (1, 0));
    assert!(told.errors[0].0 == device.place() && told.errors[0].1.is_device());
    assert!(buffer.device_lease(LeaseKind::Write).is_ok());
    assert_eq!(fetched(&buffer), counted(100));
}

#[test]
fn leases_hold_on_a_device_too() {
    let _alone = alone();
    let (device, buffer) = sent(counted(100));
    let reader = BufferReader::new(buffer.clone()).unwrap();
    assert!(FixedWriter::new(buffer.clone()).unwrap_err().error.is_conflict());
    let source = Buffer::zeroed(100).unwrap();
    assert!(source.copy_into(&buffer).unwrap_err().is_conflict(), "a reader has a lease");
    drop(reader);
    let writer = FixedWriter::new(buffer.clone()).unwrap();
    assert_eq!(BufferReader::new(buffer.clone()).unwrap().lease(), Some(LeaseKind::Pin));
    drop(writer);
    let holding = buffer.device_lease(LeaseKind::Write).unwrap();
    let rejected = BufferReader::new(buffer.clone()).unwrap_err();
    assert!(rejected.error.is_conflict());
    assert_eq!(rejected.value.address(), buffer.address());
    drop(holding);
    assert!(FixedWriter::new(buffer.clone().into_readonly()).unwrap_err().error.is_read_only());

    device.set_ways(Ways::NONE);
    let mut reader = BufferReader::new(buffer).unwrap();
    assert_eq!(reader.read_at(10, 5).unwrap().nbytes(), 5, "slices need no copy");
    assert!(ours(&reader.read(&mut [0]).unwrap_err()).is_unsupported());
}

#[test]
fn a_reader_waits_for_the_work_that_is_to_write_what_it_reads() {
    let _alone = alone();
    let device = FencedDevice::new(0);
    let stream = device.stream().unwrap().unwrap();
    let paused = device.pause();
    let source = Buffer::from_vec(counted(1000)).unwrap();
    let placed = source.copy_to_in(&device.memory(), &*stream).unwrap();
    let event = placed.event.unwrap();
    let mut reader = BufferReader::new(placed.buffer).unwrap();
    assert_eq!(reader.lease(), Some(LeaseKind::Pin), "the copy shares it");
    let waiting = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        bytes
    });
    assert!(!event.is_done());
    drop(paused);
    assert!(waiting.join().unwrap() == counted(1000));
    assert!(event.is_done());
}
