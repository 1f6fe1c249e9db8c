//! Readers, writers, and file maps.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::device::Device;
use crossdock::io::{BufferReader, BufferWriter, FixedWriter};
use crossdock::memory::{Backing, Birth, LeaseKind, MapOptions};
use crossdock::pool::Pool;

use crate::{buffer, bytes, fenced, numbers};

fn reader(nbytes: usize) -> BufferReader {
    BufferReader::new(buffer(nbytes)).unwrap()
}

#[test]
fn a_reader_keeps_writers_away_and_works_on_a_device_too() {
    let here = buffer(100);
    let reading = BufferReader::new(here.clone()).unwrap();
    assert_eq!(reading.lease(), Some(LeaseKind::Read));
    assert!(here.write().unwrap_err().is_conflict());
    let (_device, there) = fenced(100);
    let mut room = [0; 10];
    BufferReader::new(there).unwrap().read_exact(&mut room).unwrap();
    assert_eq!(room[..], numbers(10));
}

#[test]
fn a_writer_of_read_only_memory_is_an_error_and_the_buffer_comes_back() {
    let rejected = FixedWriter::new(Buffer::from_static(b"constant").unwrap()).unwrap_err();
    assert!(rejected.error.is_read_only());
    assert_eq!(rejected.value.read().unwrap()[..], *b"constant");
}

#[test]
fn the_next_bytes_are_a_slice_that_keeps_the_memory() {
    let here = buffer(100);
    let address = here.address();
    let mut reading = BufferReader::new(here).unwrap();
    let first = reading.read_slice(10).unwrap();
    let rest = reading.read_slice(usize::MAX).unwrap();
    drop(reading);
    assert_eq!((first.address(), rest.address()), (address, address + 10), "nothing was copied");
    assert_eq!([bytes(&first), bytes(&rest)].concat(), numbers(100));
}

#[test]
fn bytes_are_read_into_memory_of_the_callers_as_from_anything() {
    let mut reading = reader(100);
    let mut room = [0; 60];
    assert_eq!((reading.read(&mut room).unwrap(), reading.read(&mut room).unwrap()), (60, 40));
    assert_eq!(room[..40], numbers(100)[60..]);
    assert_eq!(reading.read(&mut room).unwrap(), 0);
}

#[test]
fn a_read_by_position_is_short_at_the_end_and_an_error_behind_it() {
    let reading = reader(100);
    assert_eq!(bytes(&reading.read_at(90, 20).unwrap()), numbers(100)[90..]);
    assert!(reading.read_at(101, 0).unwrap_err().is_bounds());
    let mut room = [0; 20];
    assert_eq!(reading.copy_at(90, &mut room).unwrap(), 10);
    assert_eq!(room[..10], numbers(100)[90..]);
}

#[test]
fn a_read_that_must_not_be_short_is_another_function() {
    let mut reading = reader(100);
    assert!(reading.read_exact_at(90, 11).unwrap_err().is_bounds());
    assert_eq!(bytes(&reading.read_exact_at(90, 10).unwrap()), numbers(100)[90..]);
    reading.seek(SeekFrom::Start(90)).unwrap();
    assert!(reading.read_exact(&mut [0; 11]).is_err());
    assert_eq!(reading.position(), 90);
}

#[test]
fn a_peek_is_a_slice_and_never_longer_than_what_is_left() {
    let mut reading = reader(100);
    reading.seek(SeekFrom::Start(95)).unwrap();
    for nbytes in [6, usize::MAX] {
        assert_eq!(bytes(&reading.peek(nbytes).unwrap()), numbers(100)[95..]);
    }
    assert_eq!(reading.position(), 95);
}

#[test]
fn a_position_is_within_the_bytes_or_at_their_end() {
    let mut reading = reader(100);
    assert_eq!(reading.seek(SeekFrom::End(0)).unwrap(), 100);
    assert!(reading.seek(SeekFrom::Start(101)).is_err() && reading.seek(SeekFrom::Current(-101)).is_err());
    assert_eq!(reading.position(), 100);
}

#[test]
fn the_size_of_a_stream_is_known_also_after_it_was_closed() {
    let mut reading = reader(100);
    reading.close();
    assert_eq!(reading.nbytes(), 100);
}

#[test]
fn closing_gives_the_memory_back_and_reading_after_it_is_an_error() {
    let pool = Pool::system().unwrap();
    let mut reading = BufferReader::new(pool.zeroed(100).unwrap()).unwrap();
    reading.close();
    assert!(reading.lease().is_none() && pool.statistics().live_count == 0);
    assert!(reading.read_slice(1).unwrap_err().is_closed());
    assert!(reading.read(&mut [0]).is_err());
}

#[test]
fn advice_is_checked_and_its_effect_is_the_systems_matter() {
    let reading = reader(100);
    reading.will_need(0, 100).unwrap();
    reading.will_need(100, 0).unwrap();
    for (offset, nbytes) in [(101, 0), (50, 51), (1, usize::MAX)] {
        assert!(reading.will_need(offset, nbytes).unwrap_err().is_bounds());
    }
}

#[test]
fn a_reader_of_a_part_has_a_position_and_an_end_of_its_own() {
    let mut whole = reader(100);
    let mut part = BufferReader::new(whole.read_exact_at(10, 20).unwrap()).unwrap();
    assert!(whole.read_exact_at(90, 11).unwrap_err().is_bounds());
    whole.close();
    let mut read = Vec::new();
    part.read_to_end(&mut read).unwrap();
    assert_eq!(read, numbers(100)[10..30]);
    part.close();
    part.close();
    assert!(part.read_slice(1).unwrap_err().is_closed());
}

#[test]
fn a_write_into_a_buffer_is_all_or_nothing() {
    let here = Buffer::zeroed(10).unwrap();
    let mut writing = FixedWriter::new(here.clone()).unwrap();
    writing.write_all(&numbers(8)).unwrap();
    assert_eq!(writing.write(&[1; 3]).unwrap_err().kind(), ErrorKind::WriteZero);
    assert_eq!((writing.position(), writing.nbytes()), (8, 10));
    writing.close().unwrap();
    assert_eq!(here.read().unwrap()[..], [numbers(8), vec![0; 2]].concat());
}

#[test]
fn a_write_by_position_is_checked_without_overflow() {
    let here = Buffer::zeroed(10).unwrap();
    let mut writing = FixedWriter::new(here.clone()).unwrap();
    writing.write_at(8, &[1, 2]).unwrap();
    for offset in [9, 11, usize::MAX, usize::MAX - 1] {
        assert!(writing.write_at(offset, &[3, 3]).unwrap_err().is_bounds(), "{offset}");
    }
    drop(writing);
    assert_eq!(here.read().unwrap()[7..], [0, 1, 2]);
}

#[test]
fn a_closed_writer_writes_nothing() {
    let here = Buffer::zeroed(10).unwrap();
    let mut writing = FixedWriter::new(here.clone()).unwrap();
    writing.close().unwrap();
    writing.close().unwrap();
    assert!(writing.lease().is_none() && writing.write(&[1]).is_err());
    assert!(writing.write_at(0, &[1]).unwrap_err().is_closed());
    assert_eq!(here.read().unwrap()[..], [0; 10]);
}

#[test]
fn a_growing_writer_takes_memory_of_any_pool() {
    let pool = Pool::system().unwrap().capped("stream", 1024).unwrap();
    let mut writing = BufferWriter::new(pool.mutable(100).unwrap());
    assert_eq!(writing.bytes().capacity(), 128);
    writing.write_all(&numbers(1000)).unwrap();
    assert!(writing.write(&[0; 100]).is_err(), "the limit of the pool");
    assert_eq!(writing.bytes()[..], numbers(1000));
}

#[test]
fn finishing_ends_the_writer_and_gives_just_what_was_written() {
    let mut writing = BufferWriter::new(MutableBuffer::new().unwrap());
    writing.write_all(&numbers(100)).unwrap();
    let finished = writing.finish(); // the writer is consumed
    assert_eq!(bytes(&finished), numbers(100));
    for at in 100..128 {
        // SAFETY: pools round 100 bytes up to a block of 128, and finishing a buffer zeroes the
        // padding.
        assert_eq!(unsafe { finished.as_ptr().wrapping_add(at).read() }, 0);
    }
}

#[test]
fn a_writer_that_is_reset_is_empty_and_keeps_its_room() {
    let mut writing = BufferWriter::new(MutableBuffer::with_capacity(1000).unwrap());
    writing.write_all(&numbers(1000)).unwrap();
    writing.reset();
    assert_eq!((writing.bytes().nbytes(), writing.position(), writing.bytes().capacity()), (0, 0, 1024));
}

/// A file that is deleted after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-arrow-{name}-{}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn open(&self) -> File {
        File::options().read(true).write(true).open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A temporary file: it does not matter if it stays.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_range_of_a_file_is_mapped_at_any_byte_and_checked_against_its_size() {
    let file = Scratch::new("range", &numbers(10_000));
    let map = Buffer::map(file.open(), MapOptions::new().range(4097, 100).guarded(true)).unwrap();
    assert_eq!((map.backing(), map.birth(), map.is_readonly()), (Backing::File, Birth::Aliased, true));
    assert_eq!(map.pin().unwrap().to_vec(), numbers(10_000)[4097..4197]);
    let error = Buffer::map(file.open(), MapOptions::new().range(9_999, 2)).unwrap_err();
    assert!(error.is_bounds() && error.to_string().contains("10000"), "{error}");
    file.open().set_len(0).unwrap();
    assert_eq!(map.pin().unwrap().to_vec(), [0; 100], "zeros, and not the end of the process");
    assert!(map.fault().is_some());
}

#[test]
fn a_map_for_writing_and_its_slices_write_the_file() {
    let file = Scratch::new("writing", &numbers(100));
    let map = Buffer::map(file.open(), MapOptions::new().writable(true)).unwrap();
    map.slice(10..12).unwrap().share().unwrap().copy_from_slice(&[0xAA, 0xBB]).unwrap();
    let mut expected = numbers(100);
    expected[10..12].copy_from_slice(&[0xAA, 0xBB]);
    assert_eq!(std::fs::read(&file.0).unwrap(), expected);
}

#[test]
fn a_reader_and_a_writer_of_device_memory_obey_the_same_bounds_and_the_writer_flushes() {
    let (device, there) = fenced(100);
    let part = there.slice(10..20).unwrap();
    let mut writing = FixedWriter::new(part.clone()).unwrap();
    assert_eq!(writing.seek(SeekFrom::End(0)).unwrap(), 10, "the end is a position, as on the host");
    assert!(writing.write(&[1]).is_err() && writing.write_at(9, &[1, 2]).unwrap_err().is_bounds());
    writing.write_at(0, &[7; 10]).unwrap();
    drop(writing);
    let mut expected = numbers(100);
    expected[10..20].fill(7);
    assert_eq!(bytes(&there), expected, "it was there when the writer was dropped, and nothing beside");
    // Host memory that the device can access is a stream nevertheless.
    device.set_mappable(true);
    let mapped = buffer(100).map_to(&device.memory()).unwrap().unwrap();
    let mut read = Vec::new();
    BufferReader::new(mapped).unwrap().read_to_end(&mut read).unwrap();
    assert_eq!(read, numbers(100));
}
