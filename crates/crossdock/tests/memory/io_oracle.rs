//! Random operations on readers and writers of every kind of memory, against `std::io::Cursor` and
//! plain slices.
//!
//! The differences from a cursor are explicit: a seek behind the end is refused, an exact read that
//! ends too early moves nothing, a write to a fixed buffer is all or nothing, and no write leaves a
//! hole. `CROSSDOCK_SEED` and `CROSSDOCK_CASES` choose the cases.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, Cursor, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crossdock::buffer::Buffer;
use crossdock::device::fenced::FencedDevice;
use crossdock::device::{self, Device};
use crossdock::io::{BufferReader, BufferWriter, FixedWriter};
use crossdock::memory::copied_bytes_here;
use crossdock::memory::{LeaseKind, MapOptions, Place};
use crossdock::pool::Pool;
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

const CASES: usize = 6_000;

fn cases() -> usize {
    crossdock_testkit::cases(CASES)
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("crossdock-io-oracle-{}-{name}", std::process::id())))
    }

    fn map(&self, bytes: &[u8], writable: bool) -> Buffer {
        fs::write(&self.0, bytes).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&self.0).unwrap();
        let buffer = Buffer::map(file, MapOptions::new().writable(writable)).unwrap();
        // The map stays valid; the next one is another file.
        fs::remove_file(&self.0).unwrap();
        buffer
    }
}

const READABLE: [&str; 8] =
    ["pool", "vec", "static", "read-only", "file map", "shared memory", "shared by another", "device"];
const WRITABLE: [&str; 6] = ["pool", "vec", "file map", "shared memory", "shared by another", "device"];

/// Some bytes as a buffer of a kind, as a slice at an odd offset of a larger one. The second value
/// must live as long as the buffer.
fn buffer_of(kind: &str, bytes: &[u8], lead: usize, scratch: &Scratch) -> (Buffer, Box<dyn std::any::Any>) {
    let mut whole = vec![0xEE; lead];
    whole.extend_from_slice(bytes);
    whole.extend_from_slice(&[0xEE; 3]);
    let mut beside: Box<dyn std::any::Any> = Box::new(());
    let buffer = match kind {
        "pool" => Pool::default().copy_from_slice(&whole).unwrap(),
        "vec" => Buffer::from_vec(whole).unwrap(),
        "static" => Buffer::from_static(leaked(bytes, lead)).unwrap(),
        "read-only" => Buffer::from_vec(whole).unwrap().into_readonly(),
        "file map" => scratch.map(&whole, true),
        "shared memory" => {
            let buffer = Buffer::shared(whole.len()).unwrap();
            buffer.share().unwrap().copy_from_slice(&whole).unwrap();
            buffer
        }
        "shared by another" => {
            let buffer = Buffer::from_vec(whole).unwrap();
            beside = Box::new(buffer.share().unwrap());
            buffer
        }
        "device" => {
            let device = FencedDevice::new(0);
            Buffer::from_vec(whole).unwrap().copy_to(&device.memory()).unwrap()
        }
        _ => unreachable!("no such kind"),
    };
    (buffer.slice(lead..lead + bytes.len()).unwrap(), beside)
}

/// The bytes of a buffer in any memory.
fn bytes_of(buffer: &Buffer) -> Vec<u8> {
    match buffer.pin() {
        Ok(guard) => guard.to_vec(),
        Err(error) => {
            assert!(error.is_place(), "{error}");
            bytes_of(&buffer.copy_to(&device::memory(Place::CPU).unwrap()).unwrap())
        }
    }
}

/// One block of static memory, shared by all static cases: it begins with the result of `content`.
fn leaked(bytes: &[u8], lead: usize) -> &'static [u8] {
    static BYTES: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| content(LARGEST + 16));
    assert!(BYTES[lead..].starts_with(bytes), "static cases are parts of the one block");
    &BYTES
}

const LARGEST: usize = 200_000;

fn content(nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|index| ((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

/// A size: mostly small, sometimes larger than one staging block.
fn size(rng: &mut Rng) -> usize {
    match rng.usize(0..40) {
        0..4 => 0,
        4..36 => rng.usize(0..300),
        36..39 => rng.usize(0..5000),
        _ => rng.usize(60_000..LARGEST),
    }
}

/// A number near another one, or anywhere.
fn number(rng: &mut Rng, near: usize) -> usize {
    match rng.usize(0..12) {
        0 => near,
        1 => near.saturating_add(1),
        2 => near.saturating_sub(1),
        3 => usize::MAX,
        4 => usize::MAX - near,
        5 => rng.usize(..),
        6 => isize::MAX as usize,
        _ => rng.usize(0..near.saturating_add(2).min(2000)),
    }
}

fn seek_to(rng: &mut Rng, nbytes: usize) -> SeekFrom {
    let far = number(rng, nbytes) as u64;
    match rng.usize(0..3) {
        0 => SeekFrom::Start(far),
        1 => SeekFrom::Current(if rng.bool() { far as i64 } else { (far as i64).wrapping_neg() }),
        _ => SeekFrom::End(if rng.bool() { (far as i64).wrapping_neg() } else { far as i64 }),
    }
}

/// Seeks both, or asserts that a position behind the end is refused.
fn seek_both<S: Seek>(stream: &mut S, model: &mut Cursor<Vec<u8>>, to: SeekFrom, seen: &mut Coverage) {
    let (before, nbytes) = (model.position(), model.get_ref().len() as u64);
    let expected = model.seek(to).ok().filter(|&target| target <= nbytes);
    let found = stream.seek(to);
    assert_eq!(found.as_ref().ok(), expected.as_ref(), "{to:?} from {before} of {nbytes}: {found:?}");
    seen.note(if expected.is_some() { "seek" } else { "seek refused" });
    if expected.is_none() {
        model.set_position(before);
    }
}

/// The expected bytes of a slice, if the slice is valid.
fn slice_of(bytes: &[u8], offset: usize, nbytes: usize, exact: bool) -> Option<&[u8]> {
    let rest = bytes.get(offset..)?;
    if exact { rest.get(..nbytes) } else { Some(&rest[..nbytes.min(rest.len())]) }
}

#[test]
fn readers_do_what_a_cursor_does_but_for_the_stated_differences() {
    let mut rng = Rng::with_seed(seed());
    let mut seen = Coverage::default();
    let scratch = Scratch::new("reader");
    let all = content(LARGEST + 16);
    for _ in 0..cases() {
        seen.case();
        let kind = rng.choice(READABLE).unwrap();
        let (nbytes, lead) = (size(&mut rng), rng.usize(0..9));
        let bytes = all[lead..lead + nbytes].to_vec();
        seen.note(kind);
        seen.note_if(nbytes == 0, "empty");
        seen.note_if(nbytes > 65_536, "more than is staged");
        seen.note_if(lead % 2 == 1, "odd offset");
        let (buffer, beside) = buffer_of(kind, &bytes, lead, &scratch);
        let address = buffer.address();
        let reader = BufferReader::new(buffer.clone()).unwrap();
        let changes = matches!(kind, "file map" | "shared memory" | "shared by another");
        assert_eq!(reader.lease(), Some(if changes { LeaseKind::Pin } else { LeaseKind::Read }), "{kind}");
        run_reader(&mut rng, reader, Cursor::new(bytes), address, &mut seen);
        drop(beside);
        assert!(!buffer.is_readonly() || buffer.read().is_ok());
        if matches!(kind, "pool" | "vec" | "shared by another") {
            assert!(buffer.write().is_ok(), "a reader is gone and left its lease");
        }
    }
    println!("{seen}");
    seen.assert_at_least(0.05, READABLE);
    seen.assert_at_least(
        0.03,
        ["empty", "odd offset", "exact", "exact refused", "part", "closed", "to the end"],
    );
    seen.assert_at_least(0.025, ["seek", "seek refused", "slice", "slice refused", "advice refused", "line"]);
    seen.assert_at_least(0.005, ["more than is staged", "shown and read"]);
}

fn run_reader(
    rng: &mut Rng,
    mut reader: BufferReader,
    mut model: Cursor<Vec<u8>>,
    mut address: usize,
    seen: &mut Coverage,
) {
    let on_device = !reader.peek(0).unwrap().is_host();
    for _ in 0..rng.usize(1..16) {
        let nbytes = model.get_ref().len();
        let at = model.position() as usize;
        assert_eq!((reader.nbytes(), reader.position()), (nbytes, at));
        let near = if rng.bool() { nbytes - at } else { nbytes };
        match rng.usize(0..13) {
            0 => {
                let room = number(rng, near).min(nbytes + 5);
                let (mut found, mut expected) = (vec![1; room], vec![1; room]);
                assert_eq!(reader.read(&mut found).unwrap(), model.read(&mut expected).unwrap());
                assert!(found == expected);
            }
            1 => {
                let room = number(rng, near).min(nbytes + 5);
                let (mut found, mut expected) = (vec![1; room], vec![1; room]);
                let (result, wanted) = (reader.read_exact(&mut found), model.read_exact(&mut expected));
                assert_eq!(
                    result.as_ref().map_err(|error| error.kind()),
                    wanted.as_ref().map_err(|e| e.kind())
                );
                if wanted.is_ok() {
                    assert!(found == expected);
                    seen.note("exact");
                } else {
                    model.set_position(at as u64);
                    seen.note("exact refused");
                }
            }
            2 => {
                let shown = reader.fill_buf().unwrap().to_vec();
                assert!(model.get_ref()[at..].starts_with(&shown));
                assert_eq!(shown.is_empty(), at == nbytes);
                let by = number(rng, shown.len()).min(shown.len());
                reader.consume(by);
                model.consume(by);
                // The peeked bytes are read next, also across their end.
                let mut room = vec![0; shown.len() - by + rng.usize(0..5)];
                let read = reader.read(&mut room).unwrap();
                assert!(room[..read] == model.get_ref()[at + by..][..read]);
                assert!(read >= shown.len() - by);
                model.set_position((at + by + read) as u64);
                seen.note_if(read > 0, "shown and read");
            }
            3 => {
                let wanted = number(rng, near);
                let read = check_slice(reader.read_slice(wanted), &model, (at, wanted, false), address, seen);
                model.set_position((at + read) as u64);
            }
            4 => {
                let wanted = number(rng, near);
                check_slice(reader.peek(wanted), &model, (at, wanted, false), address, seen);
            }
            5 => {
                let (offset, wanted, exact) = (number(rng, nbytes), number(rng, near), rng.bool());
                let before = copied_bytes_here();
                let found =
                    if exact { reader.read_exact_at(offset, wanted) } else { reader.read_at(offset, wanted) };
                assert_eq!(copied_bytes_here(), before);
                check_slice(found, &model, (offset, wanted, exact), address, seen);
            }
            6 => {
                let (offset, room) = (number(rng, nbytes), number(rng, near).min(nbytes + 5));
                let (mut found, before) = (vec![1; room], copied_bytes_here());
                let expected = slice_of(model.get_ref(), offset, room, false);
                let result = reader.copy_at(offset, &mut found);
                assert_eq!(result.as_ref().ok(), expected.map(<[u8]>::len).as_ref(), "{offset} {room}");
                let arrived = result.unwrap_or(0);
                assert!(found[..arrived] == expected.unwrap_or(&[])[..arrived]);
                assert!(found[arrived..].iter().all(|&byte| byte == 1));
                // Device memory is staged through a block, which counts, too.
                let times = if on_device { 2 } else { 1 };
                assert_eq!(copied_bytes_here() - before, times * arrived as u64);
            }
            7 => seek_both(&mut reader, &mut model, seek_to(rng, nbytes), seen),
            8 => {
                let (offset, wanted) = (number(rng, nbytes), number(rng, near));
                let expected = slice_of(model.get_ref(), offset, wanted, true).map(<[u8]>::to_vec);
                let result =
                    reader.read_exact_at(offset, wanted).and_then(|part| Ok(BufferReader::new(part)?));
                assert_eq!(result.is_ok(), expected.is_some());
                if let (Ok(part), Some(expected)) = (result, expected) {
                    (reader, model, address) = (part, Cursor::new(expected), address + offset);
                    seen.note("part");
                }
            }
            9 => {
                let (mut found, mut expected, by) = (vec![5], vec![5], rng.u8(..));
                let read = reader.read_until(by, &mut found).unwrap();
                assert_eq!(read, model.read_until(by, &mut expected).unwrap());
                assert!(found == expected);
                seen.note("line");
            }
            10 => {
                let (mut found, mut expected) = (vec![5], vec![5]);
                let read = reader.read_to_end(&mut found).unwrap();
                assert_eq!(read, model.read_to_end(&mut expected).unwrap());
                assert!(found == expected);
                seen.note("to the end");
            }
            11 => {
                let (offset, wanted) = (number(rng, nbytes), number(rng, near));
                let expected = slice_of(model.get_ref(), offset, wanted, true).is_some();
                assert_eq!(reader.will_need(offset, wanted).is_ok(), expected);
                seen.note_if(!expected, "advice refused");
            }
            _ if rng.usize(0..3) == 0 => {
                reader.close();
                assert!(reader.read(&mut [0]).is_err() && reader.read_at(0, 0).unwrap_err().is_closed());
                reader.consume(1);
                assert_eq!((reader.position(), reader.nbytes()), (at, nbytes));
                seen.note("closed");
                return;
            }
            _ => {}
        }
    }
}

/// Compares a slice with the expected one, and returns its size.
fn check_slice(
    found: crossdock::Result<Buffer>,
    model: &Cursor<Vec<u8>>,
    (offset, wanted, exact): (usize, usize, bool),
    address: usize,
    seen: &mut Coverage,
) -> usize {
    match (found, slice_of(model.get_ref(), offset, wanted, exact)) {
        (Ok(slice), Some(expected)) => {
            assert_eq!(slice.address(), address + offset, "the memory itself");
            assert!(bytes_of(&slice) == expected);
            seen.note("slice");
            slice.nbytes()
        }
        (Err(error), None) => {
            assert!(error.is_bounds());
            seen.note("slice refused");
            0
        }
        (found, expected) => panic!("{found:?}, where {expected:?} was to be"),
    }
}

/// Random bytes to write: about as many as fit, more, or fewer.
fn payload(rng: &mut Rng, near: usize) -> Vec<u8> {
    let nbytes = number(rng, near).min(near.saturating_add(100)).min(LARGEST);
    (0..nbytes).map(|_| rng.u8(..)).collect()
}

#[test]
fn fixed_writers_do_what_a_cursor_does_but_all_or_nothing() {
    let mut rng = Rng::with_seed(seed());
    let mut seen = Coverage::default();
    let scratch = Scratch::new("fixed");
    let all = content(LARGEST + 16);
    for _ in 0..cases() {
        seen.case();
        let kind = rng.choice(WRITABLE).unwrap();
        let (nbytes, lead) = (size(&mut rng), rng.usize(0..9));
        let bytes = all[..nbytes].to_vec();
        seen.note(kind);
        seen.note_if(nbytes == 0, "empty");
        let (buffer, beside) = buffer_of(kind, &bytes, lead, &scratch);
        let mut writer = FixedWriter::new(buffer.clone()).unwrap();
        let alone = matches!(kind, "pool" | "vec");
        assert_eq!(writer.lease(), Some(if alone { LeaseKind::Write } else { LeaseKind::Share }), "{kind}");
        let mut model = Cursor::new(bytes);
        for _ in 0..rng.usize(1..12) {
            let at = model.position() as usize;
            assert_eq!((writer.nbytes(), writer.position()), (nbytes, at));
            let near = if rng.bool() { nbytes - at } else { nbytes };
            let src = payload(&mut rng, near);
            let before = copied_bytes_here();
            match rng.usize(0..6) {
                0 | 1 => {
                    let result =
                        if rng.bool() { writer.write(&src).map(drop) } else { writer.write_all(&src) };
                    assert_eq!(result.is_ok(), src.len() <= nbytes - at, "{result:?}");
                    if result.is_ok() {
                        model.write_all(&src).unwrap();
                        seen.note("written");
                    } else {
                        seen.note("write refused");
                    }
                }
                2 | 3 => {
                    let offset = number(&mut rng, nbytes);
                    let room = model.get_mut().get_mut(offset..).and_then(|rest| rest.get_mut(..src.len()));
                    let result = writer.write_at(offset, &src);
                    assert_eq!(result.is_ok(), room.is_some());
                    match room {
                        Some(room) => room.copy_from_slice(&src),
                        None => assert!(result.unwrap_err().is_bounds()),
                    }
                }
                4 => seek_both(&mut writer, &mut model, seek_to(&mut rng, nbytes), &mut seen),
                _ if rng.usize(0..4) == 0 => {
                    writer.close().unwrap();
                    assert!(writer.write(&src).is_err() && writer.flush().is_err());
                    assert!(writer.write_at(0, &src).unwrap_err().is_closed());
                    seen.note("closed");
                    break;
                }
                _ => writer.flush().unwrap(),
            }
            assert!(copied_bytes_here() == before || kind == "device", "what comes in is not counted");
        }
        drop(writer);
        assert!(bytes_of(&buffer) == model.into_inner(), "{kind}");
        drop(beside);
        assert!(!alone || buffer.write().is_ok(), "a writer is gone and left its lease");
    }
    println!("{seen}");
    seen.assert_at_least(0.07, WRITABLE);
    seen.assert_at_least(0.025, ["empty", "written", "write refused", "seek", "seek refused", "closed"]);
}

#[test]
fn growing_writers_do_what_a_cursor_does_but_leave_no_hole() {
    let mut rng = Rng::with_seed(seed());
    let mut seen = Coverage::default();
    let whole = Pool::system().unwrap();
    let small = whole.capped("small", 512).unwrap();
    for _ in 0..cases() {
        seen.case();
        let limited = rng.usize(0..3) == 0;
        let pool = if limited { &small } else { &whole };
        let mut writer = BufferWriter::new(pool.mutable(rng.usize(0..100)).unwrap());
        let mut model = Cursor::new(Vec::new());
        for _ in 0..rng.usize(1..12) {
            let (at, nbytes) = (model.position() as usize, model.get_ref().len());
            assert_eq!((writer.position(), writer.bytes().nbytes()), (at, nbytes));
            assert!(writer.bytes()[..] == model.get_ref()[..]);
            let most = if rng.usize(0..20) == 0 { 70_000 } else { 200 };
            let src: Vec<u8> = (0..rng.usize(0..most)).map(|_| rng.u8(..)).collect();
            let before = copied_bytes_here();
            match rng.usize(0..8) {
                0..4 => match writer.write(&src) {
                    Ok(written) => {
                        assert_eq!(written, src.len());
                        model.write_all(&src).unwrap();
                        seen.note("written");
                    }
                    Err(error) => {
                        assert!(limited && at + src.len() > 512, "{error}");
                        assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
                        seen.note("limit");
                    }
                },
                4 | 5 => {
                    let offset = number(&mut rng, nbytes);
                    match writer.write_at(offset, &src) {
                        Ok(()) => {
                            assert!(offset <= nbytes);
                            model.set_position(offset as u64);
                            model.write_all(&src).unwrap();
                            model.set_position(at as u64);
                            seen.note("written at");
                        }
                        Err(error) if error.is_bounds() => {
                            assert!(offset > nbytes, "{error}");
                            seen.note("hole refused");
                        }
                        Err(error) => assert!(limited && error.is_out_of_memory(), "{error}"),
                    }
                }
                6 => seek_both(&mut writer, &mut model, seek_to(&mut rng, nbytes), &mut seen),
                _ if rng.usize(0..4) == 0 => {
                    writer.reset();
                    model = Cursor::new(Vec::new());
                    seen.note("reset");
                }
                _ => writer.flush().unwrap(),
            }
            assert_eq!(copied_bytes_here(), before, "what comes in is not counted");
        }
        assert_eq!(writer.finish().pin().unwrap().to_vec(), model.into_inner());
    }
    assert_eq!((whole.statistics().live_count, small.statistics().live_count), (0, 0));
    println!("{seen}");
    seen.assert_at_least(
        0.03,
        ["written", "written at", "hole refused", "limit", "seek", "seek refused", "reset"],
    );
}
