//! Readers and writers of device memory, with the cases of Arrow's CUDA tests.

use std::io::{Read, Seek, SeekFrom, Write};

use crossdock::buffer::Buffer;
use crossdock::io::{BufferReader, FixedWriter};
use crossdock::memory::{DeviceKind, LeaseKind};

use crate::conformance::{bytes, numbers};
use crate::setting::{alone, beside, memory, mock};

fn on_the_device(nbytes: usize) -> Buffer {
    Buffer::from_vec(numbers(nbytes)).unwrap().copy_to(&memory(DeviceKind::CUDA, 0)).unwrap()
}

#[test]
fn a_reader_of_device_memory_clamps_seeks_and_slices_as_one_of_the_host() {
    let _others = beside();
    let pinned = on_the_device(1000).copy_to(&memory(DeviceKind::CUDA_HOST, 0)).unwrap();
    let seen = pinned.map_to(&memory(DeviceKind::CUDA, 0)).unwrap().unwrap();
    for source in [on_the_device(1000), seen, pinned] {
        let mut reader = BufferReader::new(source).unwrap();
        let mut room = [0; 600];
        assert_eq!(reader.read(&mut room[..10]).unwrap(), 10);
        assert_eq!(room[..10], numbers(10));
        assert_eq!(reader.seek(SeekFrom::Start(925)).unwrap(), 925);
        assert_eq!(reader.read(&mut room).unwrap(), 75, "no more than there is");
        assert_eq!(room[..75], numbers(1000)[925..]);
        assert_eq!(reader.read(&mut room).unwrap(), 0);
        assert!(reader.seek(SeekFrom::Start(1001)).is_err());
        assert_eq!(reader.position(), 1000);
        let part = BufferReader::new(reader.read_exact_at(100, 100).unwrap()).unwrap();
        assert_eq!(part.nbytes(), 100);
        let mut all = Vec::new();
        reader.rewind().unwrap();
        reader.read_to_end(&mut all).unwrap();
        assert!(all == numbers(1000));
    }
}

#[test]
fn a_writer_of_device_memory_keeps_small_writes_back_and_overruns_nothing() {
    let _alone = alone();
    let there = on_the_device(1000);
    let mut expected = numbers(1000);
    let mut writer = FixedWriter::new(there.slice(100..200).unwrap()).unwrap();
    let calls = || mock().map_or(0, |mock| mock.calls("cuMemcpyAsync"));
    let before = calls();
    for index in 0..90u8 {
        writer.write_all(&[index]).unwrap();
        expected[100 + usize::from(index)] = index;
    }
    assert!(calls() - before < 90, "not a copy for each byte");
    assert!(writer.write(&[0xEE; 11]).is_err() && writer.write_at(95, &[0; 6]).is_err());
    writer.write_at(97, &[0xEE, 0xEF]).unwrap();
    expected[197..199].copy_from_slice(&[0xEE, 0xEF]);
    writer.flush().unwrap();
    assert_eq!(writer.seek(SeekFrom::Start(0)).unwrap(), 0);
    writer.write_all(&[0xFF]).unwrap();
    expected[100] = 0xFF;
    assert!(there.device_lease(LeaseKind::Read).is_err(), "it holds a lease");
    drop(writer);
    assert!(bytes(&there) == expected, "and writes what it kept back when it is dropped");
}
