//! Readers and writers: their guarantees on every kind of memory, their refusals, and their leases.

use std::error::Error as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, LineWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crossdock::buffer::{Buffer, MutableBuffer};
use crossdock::element::DType;
use crossdock::io::{BufferReader, BufferWriter, FixedWriter};
use crossdock::layout::{Layout, Order};
use crossdock::memory::{Conflict, LeaseKind, MapOptions};
use crossdock::pool::{ALIGNMENT, Pool};
use crossdock::{Array, DArray, Error, Rejected};

/// A file that exists as long as this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("crossdock-io-{}-{name}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn map(&self, options: MapOptions) -> Buffer {
        let file = OpenOptions::new().read(true).write(true).open(&self.0).unwrap();
        Buffer::map(file, options).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn counted(nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|index| (index * 31 % 251) as u8).collect()
}

fn reader(bytes: &[u8]) -> BufferReader {
    BufferReader::new(Buffer::from_vec(bytes.to_vec()).unwrap()).unwrap()
}

/// A reader of a part, with a separate position and lease.
fn part_of(reader: &BufferReader, offset: usize, nbytes: usize) -> crossdock::Result<BufferReader> {
    Ok(BufferReader::new(reader.read_exact_at(offset, nbytes)?)?)
}

fn bytes_of(buffer: &Buffer) -> Vec<u8> {
    buffer.pin().unwrap().to_vec()
}

/// The error of this library within an `io::Error`.
fn ours(error: &io::Error) -> &Error {
    let inner = error.get_ref().unwrap_or_else(|| panic!("{error:?} has nothing inside"));
    inner.downcast_ref().unwrap_or_else(|| panic!("{inner:?} is not this library's"))
}

// ===== reading

#[test]
fn a_reader_of_a_string_owns_it_and_gives_its_bytes() {
    let buffer = Buffer::from_string("data from a string".to_owned()).unwrap();
    let mut reader = BufferReader::new(buffer).unwrap();
    assert_eq!((reader.nbytes(), reader.position()), (18, 0));
    assert_eq!(reader.lease(), Some(LeaseKind::Read));
    let mut text = String::new();
    assert_eq!(reader.read_to_string(&mut text).unwrap(), 18);
    assert_eq!(text, "data from a string");
    assert_eq!(reader.position(), 18);
    assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);
}

#[test]
fn a_reader_of_nothing_is_at_its_end() {
    for empty in [Buffer::zeroed(0).unwrap(), Buffer::from_vec(Vec::<u8>::new()).unwrap()] {
        let mut reader = BufferReader::new(empty).unwrap();
        assert_eq!((reader.nbytes(), reader.position()), (0, 0));
        assert_eq!(reader.read(&mut [0; 10]).unwrap(), 0);
        assert_eq!(reader.read_at(0, 10).unwrap().nbytes(), 0);
        assert_eq!(reader.peek(10).unwrap().nbytes(), 0);
        assert!(reader.fill_buf().unwrap().is_empty());
        assert_eq!(reader.seek(SeekFrom::End(0)).unwrap(), 0);
        assert!(reader.seek(SeekFrom::Start(1)).is_err());
        reader.will_need(0, 0).unwrap();
        assert_eq!(part_of(&reader, 0, 0).unwrap().nbytes(), 0);
    }
}

#[test]
fn seeking_outside_is_an_error_and_the_position_stays() {
    let mut reader = reader(b"0123456789");
    assert_eq!(reader.seek(SeekFrom::Start(9)).unwrap(), 9);
    assert_eq!(reader.seek(SeekFrom::Start(10)).unwrap(), 10);
    assert_eq!(reader.seek(SeekFrom::End(-3)).unwrap(), 7);
    let before_and_behind =
        [SeekFrom::Start(11), SeekFrom::Start(u64::MAX), SeekFrom::Current(-8), SeekFrom::Current(4)];
    for to in before_and_behind.into_iter().chain([SeekFrom::End(1), SeekFrom::End(i64::MIN)]) {
        let error = reader.seek(to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{to:?}");
        assert!(ours(&error).is_bounds(), "{to:?}");
        assert_eq!(reader.position(), 7, "{to:?}");
        assert_eq!(reader.stream_position().unwrap(), 7);
    }
    reader.rewind().unwrap();
    assert_eq!(reader.position(), 0);
}

#[test]
fn peeking_clamps_and_moves_nothing() {
    let mut reader = reader(b"data to be peeked at");
    assert_eq!(bytes_of(&reader.peek(4).unwrap()), b"data");
    reader.seek(SeekFrom::Start(15)).unwrap();
    assert_eq!(bytes_of(&reader.peek(100).unwrap()), b"ed at");
    assert_eq!(bytes_of(&reader.peek(usize::MAX).unwrap()), b"ed at");
    assert_eq!(reader.position(), 15);
    reader.seek(SeekFrom::End(0)).unwrap();
    assert_eq!(reader.peek(1).unwrap().nbytes(), 0);
}

#[test]
fn reads_by_position_are_short_at_the_end_exact_on_request_and_errors_behind_it() {
    let reader = reader(b"0123456789");
    assert_eq!(bytes_of(&reader.read_at(8, 10).unwrap()), b"89");
    assert_eq!(bytes_of(&reader.read_at(2, usize::MAX).unwrap()), b"23456789");
    assert_eq!(reader.read_at(10, 1).unwrap().nbytes(), 0);
    assert_eq!(bytes_of(&reader.read_exact_at(8, 2).unwrap()), b"89");
    let mut room = [0; 4];
    assert_eq!(reader.copy_at(7, &mut room).unwrap(), 3);
    assert_eq!(&room, b"789\0");
    assert_eq!(reader.copy_at(6, &mut room).unwrap(), 4);
    assert_eq!(&room, b"6789");
    for offset in [11, usize::MAX / 2, usize::MAX] {
        for nbytes in [0, 1, usize::MAX] {
            assert!(reader.read_at(offset, nbytes).unwrap_err().is_bounds());
            assert!(reader.read_exact_at(offset, nbytes).unwrap_err().is_bounds());
        }
        assert!(reader.copy_at(offset, &mut room).unwrap_err().is_bounds());
    }
    let error = reader.read_exact_at(8, 3).unwrap_err();
    assert!(error.is_bounds());
    assert_eq!(error.to_string(), "3 bytes at byte 8 are out of bounds for a stream of 10 bytes");
    assert_eq!(&room, b"6789", "a refused read writes nothing");
    assert_eq!(reader.position(), 0, "positional reads move nothing");
}

#[test]
fn an_exact_read_that_ends_too_early_moves_nothing() {
    let mut reader = reader(b"0123456789");
    reader.seek(SeekFrom::Start(6)).unwrap();
    let error = reader.read_exact(&mut [0; 5]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(ours(&error).is_bounds());
    assert_eq!(reader.position(), 6);
    reader.read_exact(&mut [0; 4]).unwrap();
    assert_eq!(reader.position(), 10);
}

#[test]
fn slices_keep_the_memory_when_buffer_and_reader_are_gone() {
    let pool = Pool::system().unwrap();
    let buffer = pool.copy_from_slice(&counted(1000)).unwrap();
    let address = buffer.address();
    let mut reader = BufferReader::new(buffer).unwrap();
    reader.seek(SeekFrom::Start(100)).unwrap();
    let (sequential, positional, part) = (
        reader.read_slice(10).unwrap(),
        reader.read_at(500, 7).unwrap(),
        part_of(&reader, 900, 100).unwrap(),
    );
    drop(reader);
    assert_eq!(pool.statistics().live_count, 1);
    assert_eq!((sequential.address(), positional.address()), (address + 100, address + 500));
    assert_eq!(bytes_of(&sequential), counted(1000)[100..110]);
    assert_eq!(bytes_of(&positional), counted(1000)[500..507]);
    assert_eq!(part.read_at(0, 1).unwrap().address(), address + 900);
    drop((sequential, positional, part));
    assert_eq!(pool.statistics().live_count, 0);
}

#[test]
fn readers_of_parts_have_positions_extents_and_ends_of_their_own() {
    let mut whole = reader(b"0123456789");
    let (mut first, mut second) = (part_of(&whole, 0, 6).unwrap(), part_of(&whole, 4, 6).unwrap());
    let mut room = [0; 4];
    first.read_exact(&mut room).unwrap();
    assert_eq!(&room, b"0123");
    second.read_exact(&mut room).unwrap();
    assert_eq!(&room, b"4567");
    assert_eq!((first.position(), second.position(), whole.position()), (4, 4, 0));
    assert_eq!(first.read(&mut room).unwrap(), 2, "it ends where its part does");
    assert!(first.seek(SeekFrom::Start(7)).is_err());
    assert!(first.read_at(7, 1).unwrap_err().is_bounds());
    assert!(part_of(&first, 5, 2).unwrap_err().is_bounds());
    assert_eq!(bytes_of(&part_of(&second, 1, 2).unwrap().read_slice(9).unwrap()), b"56", "a part of a part");
    whole.close();
    assert_eq!(bytes_of(&second.read_slice(9).unwrap()), b"89", "a part stays open");
    second.close();
    second.close();
    assert!(ours(&second.read(&mut room).unwrap_err()).is_closed());
}

#[test]
fn after_closing_everything_that_reads_is_an_error_and_closing_again_is_nothing() {
    let buffer = Buffer::from_vec(counted(100)).unwrap();
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    reader.read_exact(&mut [0; 7]).unwrap();
    assert!(reader.lease().is_some());
    reader.close();
    reader.close();
    assert!(reader.lease().is_none());
    assert_eq!((reader.nbytes(), reader.position()), (100, 7));
    for error in [
        reader.read(&mut []).unwrap_err(),
        reader.read(&mut [0; 3]).unwrap_err(),
        reader.read_exact(&mut []).unwrap_err(),
        reader.read_to_end(&mut Vec::new()).unwrap_err(),
        reader.fill_buf().unwrap_err(),
        reader.read_line(&mut String::new()).unwrap_err(),
        reader.seek(SeekFrom::Start(0)).unwrap_err(),
        reader.stream_position().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(ours(&error).is_closed(), "{error}");
        assert_eq!(error.to_string(), "the reader is closed");
    }
    reader.consume(5);
    assert_eq!(reader.position(), 7);
    for result in [reader.read_slice(1), reader.peek(1), reader.read_at(0, 1), reader.read_exact_at(0, 1)] {
        assert!(result.unwrap_err().is_closed());
    }
    assert!(reader.copy_at(0, &mut [0]).unwrap_err().is_closed());
    assert!(reader.will_need(0, 1).unwrap_err().is_closed());
    assert!(reader.into_inner().unwrap_err().is_closed());
    assert!(buffer.write().is_ok(), "closing gave the lease back");
}

#[test]
fn advice_is_taken_within_the_stream_only() {
    let file = Scratch::new("advice", &counted(20_000));
    for buffer in
        [Buffer::zeroed(20_000).unwrap(), file.map(MapOptions::new()), Buffer::shared(20_000).unwrap()]
    {
        let reader = BufferReader::new(buffer.slice(3..).unwrap()).unwrap();
        for (offset, nbytes) in [(0, 19_997), (5000, 1), (0, 0), (19_997, 0)] {
            reader.will_need(offset, nbytes).unwrap();
        }
        for (offset, nbytes) in [(0, 19_998), (19_998, 0), (1, usize::MAX), (usize::MAX, 1)] {
            assert!(reader.will_need(offset, nbytes).unwrap_err().is_bounds());
        }
    }
}

// ===== leases

#[test]
fn a_reader_of_constant_memory_holds_read_until_it_ends() {
    let mut buffer = Buffer::from_vec(counted(100)).unwrap();
    let reader = BufferReader::new(buffer.clone()).unwrap();
    let error = buffer.write().unwrap_err();
    let conflict: &Conflict = error.source().unwrap().downcast_ref().unwrap();
    assert_eq!(conflict.leases(), Some((LeaseKind::Read, 1)));
    assert!(buffer.share().unwrap_err().is_conflict());
    assert!(buffer.as_mut_slice().unwrap_err().is_conflict());
    let part = part_of(&reader, 10, 10).unwrap();
    assert_eq!(reader.into_inner().unwrap().nbytes(), 100);
    assert!(buffer.write().unwrap_err().is_conflict(), "the reader of a part holds its own");
    drop(part);
    buffer.as_mut_slice().unwrap()[0] = 1;
}

#[test]
fn a_growing_buffer_cannot_be_had_back_while_somebody_reads() {
    let mut writer = BufferWriter::new(MutableBuffer::new().unwrap());
    writer.write_all(b"abc").unwrap();
    let buffer = writer.finish();
    let reader = BufferReader::new(buffer.clone()).unwrap();
    let Rejected { value: buffer, error } = buffer.try_into_mut().unwrap_err();
    assert!(error.is_conflict());
    assert!(error.to_string().contains("1 read lease"), "{error}");
    drop(reader);
    assert_eq!(&buffer.try_into_mut().unwrap()[..], b"abc");
}

#[test]
fn where_somebody_writes_or_reads_the_buffer_comes_back_with_the_reason() {
    let buffer = Buffer::from_vec(counted(10)).unwrap();
    let writing = buffer.write().unwrap();
    let Rejected { value, error } = BufferReader::new(buffer.clone()).unwrap_err();
    assert_eq!(value.as_ptr(), buffer.as_ptr());
    assert!(error.is_conflict() && error.to_string().contains("1 write lease"), "{error}");
    assert!(FixedWriter::new(value).unwrap_err().error.is_conflict());
    drop(writing);

    let reading = buffer.read().unwrap();
    let Rejected { value, error } = FixedWriter::new(buffer.clone()).unwrap_err();
    assert_eq!(value.as_ptr(), buffer.as_ptr());
    assert!(error.is_conflict() && error.to_string().contains("1 read lease"), "{error}");
    drop(reading);

    for readonly in [buffer.into_readonly(), Buffer::from_static(b"constant").unwrap()] {
        let Rejected { value, error } = FixedWriter::new(readonly).unwrap_err();
        assert!(error.is_read_only());
        assert!(BufferReader::new(value).is_ok());
    }
}

#[test]
fn where_somebody_shares_a_reader_pins_and_a_writer_shares() {
    let buffer = Buffer::from_vec(vec![0u8; 8]).unwrap();
    let sharing = buffer.share().unwrap();
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    assert_eq!((writer.lease(), reader.lease()), (Some(LeaseKind::Share), Some(LeaseKind::Pin)));
    writer.write_all(b"abcd").unwrap();
    sharing.store(4, b'e').unwrap();
    let mut room = [0; 8];
    reader.read_exact(&mut room).unwrap();
    assert_eq!(&room, b"abcde\0\0\0");
    drop(sharing);
    assert!(buffer.read().unwrap_err().is_conflict(), "the writer shares");
    drop(writer);
    assert!(buffer.write().unwrap_err().is_conflict(), "the reader pins");
    drop(reader);

    let pinning = buffer.pin().unwrap();
    assert_eq!(FixedWriter::new(buffer.clone()).unwrap().lease(), Some(LeaseKind::Share));
    drop(pinning);
    assert_eq!(FixedWriter::new(buffer).unwrap().lease(), Some(LeaseKind::Write));
}

#[test]
fn what_a_reader_of_changing_memory_has_shown_is_what_it_then_reads() {
    let buffer = Buffer::shared(200_000).unwrap();
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    assert_eq!(reader.lease(), Some(LeaseKind::Pin));
    let shown = reader.fill_buf().unwrap().len();
    assert_eq!(shown, 65_536, "a block of the size that is documented");
    buffer.share().unwrap().copy_from_slice(&vec![7; 200_000]).unwrap();

    assert_eq!(bytes_of(&reader.peek(1).unwrap()), [7], "slices are the memory itself");
    let mut room = vec![1; 100_000];
    reader.consume(6);
    assert_eq!(reader.read(&mut room).unwrap(), 100_000);
    assert!(room[..shown - 6].iter().all(|&byte| byte == 0), "as it was shown");
    assert!(room[shown - 6..].iter().all(|&byte| byte == 7), "and then as it is");
    reader.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(reader.fill_buf().unwrap()[0], 7, "a seek forgets what was shown");
}

#[test]
fn a_file_that_shrinks_under_its_reader_or_writer_is_an_error_where_the_map_is_guarded() {
    let file = Scratch::new("shrinks", &counted(40_000));
    let buffer = file.map(MapOptions::new().guarded(true).writable(true));
    let array = DArray::from_buffer(
        buffer.clone(),
        DType::U8,
        Layout::contiguous(&[40_000][..], 1, Order::RowMajor).unwrap(),
        0,
    )
    .unwrap();
    array.fill(&7.into()).unwrap();
    let mut reader = BufferReader::new(buffer.clone()).unwrap();
    let mut writer = FixedWriter::new(buffer).unwrap();
    reader.read_exact(&mut [0; 100]).unwrap();
    OpenOptions::new().write(true).open(&file.0).unwrap().set_len(10).unwrap();
    let mut room = vec![0; 30_000];
    for error in [
        reader.read(&mut room).unwrap_err(),
        reader.read_to_end(&mut Vec::new()).unwrap_err(),
        reader.fill_buf().unwrap_err(),
        writer.write(b"lost").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(ours(&error).is_fault(), "{error}");
    }
    assert!(reader.copy_at(0, &mut room).unwrap_err().is_fault());
    assert_eq!((reader.position(), writer.position()), (100, 0));
    assert!(array.set(&[39_999], &7.into()).unwrap_err().is_fault());
    assert!(array.fill(&7.into()).unwrap_err().is_fault());
    assert!(Array::<u8, 1>::try_from(array).unwrap().fill(7).unwrap_err().is_fault());
}

// ===== writing

#[test]
fn a_finished_buffer_has_just_the_bytes_written_and_zeros_behind() {
    let pool = Pool::default().guarded("guarded").unwrap(); // its new memory is not zero
    for nbytes in [0, 1, 63, 64, 65, 1000] {
        let mut writer = BufferWriter::new(pool.mutable(0).unwrap());
        writer.write_all(&counted(nbytes)).unwrap();
        assert_eq!(writer.position(), nbytes);
        assert_eq!(writer.bytes()[..], counted(nbytes));
        let buffer = writer.finish();
        assert_eq!(buffer.nbytes(), nbytes);
        assert_eq!(bytes_of(&buffer), counted(nbytes));
        let mut bytes = buffer.try_into_mut().unwrap();
        let padding = nbytes.next_multiple_of(ALIGNMENT) - nbytes;
        // SAFETY: the buffer was frozen before, which zeroed its padding, so these bytes are
        // initialised.
        unsafe { bytes.set_nbytes(nbytes + padding) };
        assert!(bytes[nbytes..].iter().all(|&byte| byte == 0), "{nbytes}");
    }
    assert_eq!(pool.statistics().live_count, 0);
}

#[test]
fn a_writer_that_is_dropped_gives_its_memory_back() {
    let pool = Pool::system().unwrap();
    let mut writer = BufferWriter::new(pool.mutable(100).unwrap());
    writer.write_all(&[1; 1000]).unwrap();
    assert_eq!(pool.statistics().live_count, 1);
    drop(writer);
    assert_eq!(pool.statistics().live_nbytes, 0);
}

#[test]
fn a_writer_that_is_reset_is_empty_and_keeps_its_capacity() {
    let mut writer = BufferWriter::new(MutableBuffer::with_capacity(10).unwrap());
    writer.write_all(&[1; 1000]).unwrap();
    let capacity = writer.bytes().capacity();
    writer.reset();
    assert_eq!((writer.bytes().nbytes(), writer.position(), writer.bytes().capacity()), (0, 0, capacity));
    writer.write_all(b"anew").unwrap();
    assert_eq!(bytes_of(&writer.finish()), b"anew");
}

#[test]
fn a_growing_writer_overwrites_extends_and_leaves_no_hole() {
    let mut bytes = Pool::default().mutable(0).unwrap();
    bytes.extend_from_slice(b"0123").unwrap();
    let mut writer = BufferWriter::new(bytes);
    assert_eq!(writer.position(), 4);
    writer.write_all(b"456789").unwrap();
    assert_eq!(writer.seek(SeekFrom::Start(8)).unwrap(), 8);
    writer.write_all(b"abcd").unwrap(); // half over, half behind
    writer.write_at(1, b"XY").unwrap();
    writer.write_at(12, b"e").unwrap(); // at the end
    assert_eq!((&writer.bytes()[..], writer.position()), (&b"0XY34567abcde"[..], 12));
    for offset in [14, usize::MAX / 2, usize::MAX] {
        assert!(writer.write_at(offset, b"!").unwrap_err().is_bounds());
    }
    assert!(writer.seek(SeekFrom::End(1)).is_err());
    assert!(writer.seek(SeekFrom::Current(-13)).is_err());
    assert_eq!(writer.position(), 12);
    assert_eq!(&writer.bytes()[..], b"0XY34567abcde");
}

#[test]
fn the_limit_of_a_pool_is_an_error_with_its_numbers_and_nothing_is_written() {
    let pool = Pool::system().unwrap().capped("small", 1024).unwrap();
    let mut writer = BufferWriter::new(pool.mutable(0).unwrap());
    writer.write_all(&[1; 1000]).unwrap();
    writer.seek(SeekFrom::Start(990)).unwrap();
    let error = writer.write(&[2; 40]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(ours(&error).is_out_of_memory() && error.to_string().contains("1024"), "{error}");
    assert!(writer.write_at(0, &[2; 2000]).unwrap_err().is_out_of_memory());
    assert_eq!((&writer.bytes()[..], writer.position()), (&[1; 1000][..], 990));
    writer.write_all(&[2; 34]).unwrap(); // to the limit, by a byte
    assert_eq!(writer.bytes().nbytes(), 1024);
    // If the system itself is out of memory, the error has no number: storing one would allocate.
    let error = writer.into_inner().reserve(isize::MAX as usize).unwrap_err();
    assert_eq!(io::Error::from(error).kind(), ErrorKind::OutOfMemory);
}

#[test]
fn a_fixed_writer_fills_its_buffer_and_no_more() {
    let buffer = Buffer::zeroed(10).unwrap();
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    assert_eq!((writer.nbytes(), writer.position()), (10, 0));
    assert_eq!(writer.write(b"01234").unwrap(), 5);
    assert_eq!(writer.seek(SeekFrom::Start(8)).unwrap(), 8);
    writer.write_all(b"89").unwrap();
    assert_eq!(writer.seek(SeekFrom::End(0)).unwrap(), 10);
    assert_eq!(writer.write(b"").unwrap(), 0);
    let error = writer.write(b"!").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    assert_eq!(error.to_string(), "1 bytes at byte 10 are out of bounds for a stream of 10 bytes");
    assert!(writer.seek(SeekFrom::End(1)).is_err() && writer.seek(SeekFrom::Current(-11)).is_err());
    assert_eq!(writer.position(), 10);
    writer.seek(SeekFrom::Start(4)).unwrap();
    assert!(writer.write_all(b"all or nothing").is_err());
    assert_eq!(writer.position(), 4);
    writer.write_at(5, b"567").unwrap();
    writer.flush().unwrap();
    assert_eq!(bytes_of(&writer.into_inner().unwrap()), b"0123456789");
    assert!(buffer.write().is_ok());
}

#[test]
fn a_positional_write_outside_is_refused_where_its_end_overflows_too() {
    for buffer in [Buffer::zeroed(10).unwrap(), Buffer::shared(10).unwrap()] {
        let mut writer = FixedWriter::new(buffer.clone()).unwrap();
        for offset in [9, 10, 11, isize::MAX as usize, usize::MAX - 1, usize::MAX] {
            assert!(writer.write_at(offset, b"ab").unwrap_err().is_bounds(), "{offset}");
        }
        assert!(writer.write_at(11, b"").unwrap_err().is_bounds());
        writer.write_at(10, b"").unwrap();
        drop(writer);
        assert_eq!(bytes_of(&buffer), [0; 10]);
    }
}

#[test]
fn after_closing_everything_that_writes_is_an_error() {
    let buffer = Buffer::zeroed(10).unwrap();
    let mut writer = FixedWriter::new(buffer.clone()).unwrap();
    writer.write_all(b"abc").unwrap();
    writer.close().unwrap();
    writer.close().unwrap();
    assert!(writer.lease().is_none());
    assert_eq!((writer.nbytes(), writer.position()), (10, 3));
    for error in [
        writer.write(b"").unwrap_err(),
        writer.write(b"x").unwrap_err(),
        writer.write_all(b"x").unwrap_err(),
        writer.flush().unwrap_err(),
        writer.seek(SeekFrom::Start(0)).unwrap_err(),
    ] {
        assert!(ours(&error).is_closed());
        assert_eq!(error.to_string(), "the writer is closed");
    }
    assert!(writer.write_at(0, b"x").unwrap_err().is_closed());
    assert!(writer.into_inner().unwrap_err().error.is_closed());
    assert_eq!(&buffer.read().unwrap()[..], b"abc\0\0\0\0\0\0\0", "closing gave the lease back");
}

#[test]
fn what_is_written_to_a_map_is_in_the_file() {
    let file = Scratch::new("written", &[0; 5000]);
    let mut writer = FixedWriter::new(file.map(MapOptions::new().range(100, 300).writable(true))).unwrap();
    assert_eq!(writer.lease(), Some(LeaseKind::Share));
    writer.write_all(&counted(300)).unwrap();
    drop(writer);
    assert_eq!(fs::read(&file.0).unwrap()[99..401], [&[0], &counted(300)[..], &[0]].concat());
    let readonly = Buffer::map(File::open(&file.0).unwrap(), MapOptions::new()).unwrap();
    assert!(FixedWriter::new(readonly).unwrap_err().error.is_read_only());
}

// ===== beside others

#[test]
fn copies_of_odd_sizes_by_several_threads_are_exact() {
    for nbytes in [1, 4095, 123_457, 1_000_003] {
        let whole = Buffer::zeroed(4 * nbytes).unwrap();
        let ranges: Vec<_> = (0..4).map(|part| part * nbytes..(part + 1) * nbytes).collect();
        let parts = whole.partition(&ranges).unwrap();
        let source = reader(&counted(4 * nbytes));
        let threads: Vec<_> = (0..4)
            .zip(parts)
            .map(|(index, part)| {
                let mut reader = part_of(&source, index * nbytes, nbytes).unwrap();
                std::thread::spawn(move || {
                    let mut writer = FixedWriter::new(part).unwrap();
                    assert_eq!(io::copy(&mut reader, &mut writer).unwrap(), nbytes as u64);
                    writer.into_inner().unwrap()
                })
            })
            .collect();
        let copied: Vec<u8> =
            threads.into_iter().flat_map(|thread| bytes_of(&thread.join().unwrap())).collect();
        assert!(copied == counted(4 * nbytes), "{nbytes}");
    }
}

#[test]
fn the_standard_library_s_adaptors_work_over_them() {
    let text = "first\nsecond\nthird";
    let source = Buffer::from_string(text.to_owned()).unwrap();
    for buffer in [source.clone(), shared_with(text.as_bytes())] {
        let reader = BufferReader::new(buffer).unwrap();
        let lines: Vec<String> = part_of(&reader, 0, 18).unwrap().lines().collect::<io::Result<_>>().unwrap();
        assert_eq!(lines, ["first", "second", "third"]);
        let mut buffered = BufReader::with_capacity(5, part_of(&reader, 6, 12).unwrap());
        buffered.seek_relative(7).unwrap();
        assert_eq!(io::read_to_string(buffered).unwrap(), "third");
        let split: Vec<_> = reader.take(9).split(b's').collect::<io::Result<_>>().unwrap();
        assert_eq!(split, [&b"fir"[..], b"t\n", b"ec"]);
    }

    let mut lines = LineWriter::new(BufferWriter::new(MutableBuffer::new().unwrap()));
    writeln!(lines, "one").unwrap();
    write!(lines, "tw").unwrap();
    assert_eq!(&lines.get_ref().bytes()[..], b"one\n");
    assert_eq!(lines.into_inner().unwrap().finish().nbytes(), 6);

    let target = Buffer::zeroed(18).unwrap();
    let mut writer = BufWriter::new(FixedWriter::new(target.clone()).unwrap());
    io::copy(&mut BufferReader::new(source).unwrap(), &mut writer).unwrap();
    drop(writer);
    assert_eq!(&target.read().unwrap()[..], text.as_bytes());
}

fn shared_with(bytes: &[u8]) -> Buffer {
    let buffer = Buffer::shared(bytes.len()).unwrap();
    buffer.share().unwrap().copy_from_slice(bytes).unwrap();
    buffer
}

#[test]
fn readers_and_writers_go_to_other_threads_and_readers_are_read_from_many() {
    fn goes<T: Send + Sync + 'static>(_: &T) {}
    let reader = reader(&counted(10_000));
    goes(&reader);
    goes(&BufferWriter::new(MutableBuffer::new().unwrap()));
    goes(&FixedWriter::new(Buffer::zeroed(1).unwrap()).unwrap());
    std::thread::scope(|scope| {
        for start in 0..4 {
            let reader = &reader;
            scope.spawn(move || {
                let mut room = [0; 100];
                for offset in (start * 100..10_000).step_by(400) {
                    assert_eq!(reader.copy_at(offset, &mut room).unwrap(), 100);
                    assert_eq!(room, counted(10_000)[offset..offset + 100]);
                }
            });
        }
    });
}

#[test]
fn errors_are_carried_whole_into_the_standard_library_s() {
    let buffer = Buffer::from_vec(vec![0u8; 4]).unwrap();
    let reading = buffer.read().unwrap();
    let error = io::Error::from(buffer.write().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    assert!(ours(&error).is_conflict());
    assert!(error.source().unwrap().downcast_ref::<Conflict>().is_some(), "and the cause of the cause");
    drop(reading);
    let error = io::Error::from(buffer.into_readonly().write().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let folder = File::open(std::env::temp_dir()).unwrap();
    assert_eq!(
        io::Error::from(Buffer::map(folder, MapOptions::new()).unwrap_err()).kind(),
        ErrorKind::Unsupported
    );
}
