//! Archives.

use std::io::Write;

use crossdock::exchange::files::npz;
use crossdock::exchange::files::{self, Format, OpenOptions, SaveOptions, npy};
use crossdock::layout::Order;
use crossdock::memory::Backing;
use crossdock::memory::copied_bytes_here;
use crossdock::{Array, DArray, Error};
use flate2::write::DeflateEncoder;

use crate::common::{Folder, assert_same, assert_says, buffer, pattern, ramp, values};

fn several() -> Vec<(&'static str, DArray)> {
    vec![
        ("a", pattern("<f8", &[3, 5], Order::RowMajor)),
        ("column-major", pattern("<i4", &[4, 3], Order::ColumnMajor)),
        ("scalar", pattern(">u2", &[], Order::RowMajor)),
        ("empty", pattern("<c16", &[0, 7], Order::RowMajor)),
        ("größe/текст", pattern("S5", &[9], Order::RowMajor)),
        ("a:b/./c", ramp([2])),
        ("strided", ramp([6, 4]).at("::-2, 1::2").unwrap()),
        ("", pattern("|b1", &[3], Order::RowMajor)),
    ]
}

fn archive(arrays: &[(&str, DArray)], deflated: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    SaveOptions::new().format(Format::Npz).deflated(deflated).write(&mut bytes, arrays).unwrap();
    bytes
}

#[test]
fn stored_arrays_come_back_in_place_and_aligned() {
    let folder = Folder::new("npz-stored");
    let (path, arrays) = (folder.path("a.npz"), several());
    SaveOptions::new().save_all(&path, &arrays).unwrap();
    let copied = copied_bytes_here();
    let contents = files::open_all(&path).unwrap();
    assert_eq!((contents.format(), contents.entries().len()), (Format::Npz, arrays.len()));
    let mut opened = Vec::new();
    for (entry, (name, array)) in contents.entries().iter().zip(&arrays) {
        assert_eq!((entry.name(), entry.copied_because()), (*name, None));
        assert_eq!(
            (entry.dtype(), entry.shape(), entry.nbytes()),
            (array.dtype(), array.shape(), array.nbytes())
        );
        let got = entry.open().unwrap();
        assert!(got.backing() == Backing::File && got.is_readonly());
        assert!(got.is_empty() || got.as_ptr().addr().is_multiple_of(64), "{name:?} at {:p}", got.as_ptr());
        opened.push(got);
    }
    assert_eq!(copied_bytes_here(), copied);
    for (got, (_, array)) in opened.iter().zip(&arrays) {
        assert_same(got, array);
    }
    // The map outlives the contents, and knows the position of each array in the file.
    drop(contents);
    let (buffer, within) = opened[0].buffer().unwrap();
    let offset = (buffer.descriptor().unwrap().1 + within as u64) as usize;
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[offset..offset + 8], (0..8).map(|n| (n * 37 % 61) as u8).collect::<Vec<u8>>());
}

#[test]
fn deflated_arrays_are_inflated_once_when_they_are_opened() {
    let arrays = several();
    let contents = npz::from_buffer(buffer(&archive(&arrays, true))).unwrap();
    for (entry, (name, array)) in contents.entries().iter().zip(&arrays) {
        assert_eq!((entry.name(), entry.copied_because()), (*name, Some("deflated")));
        assert_eq!((entry.dtype(), entry.shape()), (array.dtype(), array.shape()));
        let copied = copied_bytes_here();
        let got = entry.open().unwrap();
        // The header is copied, too, since it precedes the elements.
        let more = copied_bytes_here() - copied - array.nbytes() as u64;
        assert!(more.is_multiple_of(64) && more > 0, "{more}");
        assert!(got.as_ptr().addr().is_multiple_of(64) && got.backing() != Backing::File);
        assert_same(&got, array);
    }
}

#[test]
fn a_large_array_survives_deflation() {
    let numbers: Vec<u32> = (0..300_000u32).map(|n| n.wrapping_mul(2_654_435_761) >> (n % 17)).collect();
    let array: DArray = Array::from_vec(numbers, [300, 1000]).unwrap().into();
    let bytes = archive(&[("a", array.transpose().unwrap())], true);
    assert!(bytes.len() < array.nbytes());
    let got = npz::from_buffer(buffer(&bytes)).unwrap().single().unwrap().open().unwrap();
    assert_eq!(got.transpose().unwrap().buffer().unwrap().0.nbytes(), array.nbytes());
    for index in [[0, 0], [299, 999], [123, 456]] {
        assert_eq!(got.transpose().unwrap().get(&index).unwrap(), array.get(&index).unwrap());
    }
}

#[test]
fn parts_of_an_archive_have_leases_of_their_own() {
    let arrays = [("a", ramp([4])), ("b", ramp([4]))];
    let contents = npz::from_buffer(buffer(&archive(&arrays, false))).unwrap();
    let [a, b] = ["a", "b"].map(|name| contents.get(name).unwrap().open().unwrap());
    let (a, b) = (Array::<u8, 1>::try_from(a).ok().unwrap(), Array::<u8, 1>::try_from(b).ok().unwrap());
    let _reading = a.read().unwrap();
    assert!(b.write().is_ok() && a.write().unwrap_err().is_conflict());
}

#[test]
fn one_array_is_opened_by_itself_and_several_are_named() {
    let folder = Folder::new("npz-open");
    let path = folder.path("one.npz");
    SaveOptions::new().save_all(&path, &[("only", ramp([3]))]).unwrap();
    assert_eq!(values(&crossdock::open(&path).unwrap()), ["0", "1", "2"]);
    let path = folder.path("two.npz");
    SaveOptions::new().save_all(&path, &[("x", ramp([3])), ("y", ramp([2]))]).unwrap();
    let error = crossdock::open(&path).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["two.npz: ", "2 arrays: \"x\", \"y\""]);
    let contents = files::open_all(&path).unwrap();
    assert_says(&contents.get("z").unwrap_err(), &["\"z\"", "\"x\", \"y\""]);
    assert_eq!(contents.get("y").unwrap().shape(), [2]);
    let path = folder.path("none.npz");
    SaveOptions::new().save_all::<&str>(&path, &[]).unwrap();
    assert!(files::open_all(&path).unwrap().entries().is_empty());
    assert_says(&crossdock::open(&path).unwrap_err(), &["the file has no arrays"]);
    let error = OpenOptions::new().writable(true).open_all(&path).unwrap_err();
    assert!(error.is_unsupported());
    files::save(folder.path("a.npy"), &ramp([3])).unwrap();
    assert_says(
        &OpenOptions::new().format(Format::Npz).open_all(folder.path("a.npy")).unwrap_err(),
        &["a.npy: ", "a .npz file was expected"],
    );
}

#[test]
fn names_that_are_paths_or_twice_there_are_not_written() {
    for name in ["ä:b", "../a", "/etc/passwd", "a/../../b", "a\\b", "a\0b", &"n".repeat(70_000)] {
        let error = npz::write(Vec::new(), &[(name, ramp([1]))]).unwrap_err();
        assert!(error.is_unsupported(), "{name:?}: {error:?}");
        assert_says(&error, &["cannot hold an array named"]);
    }
    let twice = [("a", ramp([1])), ("a", ramp([1]))];
    assert_says(&npz::write(Vec::new(), &twice).unwrap_err(), &["two arrays have this name"]);
    // In an archive of another program, such a path is a plain name.
    let bytes = Zip::default().file("../../a.npy", 0, &npy_bytes(), None).finish();
    let contents = npz::from_buffer(buffer(&bytes)).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["../../a"]);
}

#[test]
fn a_truncated_archive_is_an_error_wherever_it_ends() {
    for deflated in [false, true] {
        let bytes = archive(&[("a", ramp([5])), ("b", ramp([2]))], deflated);
        for end in 0..bytes.len() {
            let error = npz::from_buffer(buffer(&bytes[..end])).unwrap_err();
            assert!(error.is_malformed(), "{end} of {}: {error:?}", bytes.len());
        }
    }
}

#[test]
fn any_changed_byte_is_an_error_or_another_archive_and_never_a_panic() {
    for deflated in [false, true] {
        let good = archive(&[("a", ramp([5])), ("b", ramp([2]))], deflated);
        for at in 0..good.len() {
            for change in [1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                let Ok(contents) = npz::from_buffer(buffer(&bytes)) else { continue };
                for entry in contents.entries() {
                    if let Ok(array) = entry.open() {
                        assert!(array.nbytes() <= 1 << 20);
                    }
                }
            }
        }
    }
}

/// An archive that is written byte by byte, as the format's description requires, and may lie.
#[derive(Default)]
struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

struct Lie {
    /// The number of inflated bytes.
    nbytes: u32,
    crc: u32,
    flags: u16,
    /// The position of the member according to the directory.
    offset: Option<u32>,
}

impl Zip {
    fn file(mut self, name: &str, method: u16, data: &[u8], lie: Option<Lie>) -> Self {
        let mut crc = flate2::Crc::new();
        crc.update(data);
        let lie = lie.unwrap_or(Lie { nbytes: data.len() as u32, crc: crc.sum(), flags: 0, offset: None });
        let packed = if method == 8 {
            let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        } else {
            data.to_vec()
        };
        let offset = lie.offset.unwrap_or(self.bytes.len() as u32);
        let mut fixed = Vec::new();
        for half in [20, lie.flags, method, 0, 0x21] {
            fixed.extend(u16::to_le_bytes(half));
        }
        for word in [lie.crc, packed.len() as u32, lie.nbytes] {
            fixed.extend(u32::to_le_bytes(word));
        }
        fixed.extend((name.len() as u16).to_le_bytes());
        fixed.extend([0; 2]);
        self.bytes.extend([&b"PK\x03\x04"[..], &fixed, name.as_bytes(), &packed].concat());
        let place = [&[0; 10][..], &offset.to_le_bytes()].concat();
        self.directory.extend([&b"PK\x01\x02\x14\0"[..], &fixed, &place, name.as_bytes()].concat());
        self.count += 1;
        self
    }

    fn finish(self) -> Vec<u8> {
        let (start, size) = (self.bytes.len() as u32, self.directory.len() as u32);
        let counts = [self.count.to_le_bytes(), self.count.to_le_bytes()].concat();
        let end = [&b"PK\x05\x06\0\0\0\0"[..], &counts, &size.to_le_bytes(), &start.to_le_bytes(), &[0; 2]];
        [self.bytes, self.directory, end.concat()].concat()
    }
}

fn npy_bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, &ramp([3])).unwrap();
    bytes
}

#[test]
fn an_archive_that_lies_is_refused_with_numbers() {
    let data = npy_bytes();
    let crc = {
        let mut crc = flate2::Crc::new();
        crc.update(&data);
        crc.sum()
    };
    let truth = || Lie { nbytes: data.len() as u32, crc, flags: 0, offset: None };
    let file = |method, lie| Zip::default().file("a.npy", method, &data, Some(lie)).finish();
    let malformed: fn(&Error) -> bool = Error::is_malformed;
    let unsupported: fn(&Error) -> bool = Error::is_unsupported;
    // The directory points to `b` within the bytes of `a`, which contain it whole.
    let inner = Zip::default().file("b.npy", 0, &data, None).bytes;
    let outer = [&data[..], &inner].concat();
    let within = Lie { offset: Some((30 + "a.npy".len() + data.len()) as u32), ..truth() };
    let nested = Zip::default().file("a.npy", 0, &outer, None).file("b.npy", 0, &data, Some(within)).finish();
    let odd = [b"\x93NUMPY\x01\0\x02\0{}".to_vec(), vec![0; 80]].concat();
    let cases = [
        (file(8, Lie { nbytes: 4_000_000_000, ..truth() }), malformed, &["array \"a\"", "4000000000"][..]),
        (file(8, Lie { nbytes: data.len() as u32 - 1, ..truth() }), malformed, &["more than 130 bytes"]),
        (file(8, Lie { nbytes: data.len() as u32 + 1, ..truth() }), malformed, &["array \"a\""]),
        (file(8, Lie { crc: crc ^ 1, ..truth() }), malformed, &["checksum", &format!("{crc:08x}")]),
        (file(0, Lie { nbytes: 7, ..truth() }), malformed, &["stored in 131 bytes", "7"]),
        (file(0, Lie { offset: Some(1 << 30), ..truth() }), malformed, &["array \"a\""]),
        (file(0, Lie { flags: 1, ..truth() }), unsupported, &["encrypted"]),
        (file(12, truth()), unsupported, &["method 12"]),
        (nested, malformed, &["overlap"]),
        (
            Zip::default().file("a.npy", 0, &data, None).file("a.npy", 0, &data, None).finish(),
            malformed,
            &["two arrays named \"a\""],
        ),
        (Zip::default().file("a.txt", 0, b"text", None).finish(), unsupported, &["1 files", ".npy"]),
        (
            Zip::default().file("a.npy", 0, b"not one", None).finish(),
            malformed,
            &["array \"a\"", "not an .npy"],
        ),
        (Zip::default().file("a.npy", 8, &odd, None).finish(), malformed, &["no 'descr'"]),
        (Zip::default().file("a.npy", 0, b"", None).finish(), malformed, &["empty"]),
    ];
    for (index, (bytes, is_expected, words)) in cases.into_iter().enumerate() {
        let error =
            npz::from_buffer(buffer(&bytes)).and_then(|contents| contents.single()?.open()).unwrap_err();
        assert!(is_expected(&error), "case {index}: {error:?}");
        assert_says(&error, words);
    }
    let mut count = file(0, truth());
    let at = count.len() - 14;
    count[at] = 2;
    count[at + 2] = 2;
    assert!(npz::from_buffer(buffer(&count)).unwrap_err().is_malformed());
}

#[test]
fn an_array_that_cannot_be_opened_keeps_nobody_from_the_others() {
    let object = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".to_vec();
    let object = [&b"\x93NUMPY\x01\0"[..], &(object.len() as u16).to_le_bytes(), &object, b"pickle"].concat();
    let data = npy_bytes();
    let encrypted = Lie { nbytes: data.len() as u32, crc: 0, flags: 1, offset: None };
    let bytes = Zip::default()
        .file("objects.npy", 0, &object, None)
        .file("good.npy", 0, &data, None)
        .file("deflated objects.npy", 8, &object, None)
        .file("secret.npy", 0, &data, Some(encrypted))
        .file("bzip2.npy", 12, &data, None)
        .file("short.npy", 0, &data[..data.len() - 1], None)
        .file("deflated.npy", 8, &data, None)
        .finish();
    let contents = npz::from_buffer(buffer(&bytes)).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["good", "deflated"]);
    for name in ["good", "deflated"] {
        assert_same(&contents.get(name).unwrap().open().unwrap(), &ramp([3]));
    }
    let mut refused: Vec<&str> = contents.refused().map(|(name, _)| name).collect();
    refused.sort_unstable();
    assert_eq!(refused, ["bzip2", "deflated objects", "objects", "secret", "short"]);
    for (name, words) in [
        ("objects", "pickle"),
        ("deflated objects", "pickle"),
        ("secret", "encrypted"),
        ("bzip2", "method 12"),
        ("short", "truncated"),
    ] {
        assert_says(&contents.get(name).unwrap_err(), &[&format!("array {name:?}"), words]);
    }
    // If the only array cannot be opened, its error is returned.
    let bytes = Zip::default().file("objects.npy", 0, &object, None).finish();
    let error = npz::from_buffer(buffer(&bytes)).unwrap().single().unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["array \"objects\"", "pickle"]);
}

#[test]
fn a_long_name_is_shown_to_be_cut() {
    let name = |end: &str| format!("{}{end}", "n".repeat(80));
    let bytes = archive(&[(name("a").as_str(), ramp([3])), (name("b").as_str(), ramp([3]))], false);
    let error = npz::from_buffer(buffer(&bytes)).unwrap().single().unwrap_err();
    let cut = format!("\"{}…\" (81 bytes)", "n".repeat(80));
    assert_says(&error, &[&format!("{cut}, {cut}")]);
    let error = npz::write(Vec::new(), &[("x".repeat(70_000), ramp([3]))]).unwrap_err();
    assert_says(&error, &["…\" (70000 bytes)"]);
    assert!(error.to_string().len() < 300);
}

#[test]
fn what_is_no_array_is_left_alone() {
    let bytes = Zip::default()
        .file("notes.txt", 0, b"text", None)
        .file("folder/", 0, b"", None)
        .file("folder/a.npy", 8, &npy_bytes(), None)
        .finish();
    let contents = npz::from_buffer(buffer(&bytes)).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["folder/a"]);
    assert_same(&contents.single().unwrap().open().unwrap(), &ramp([3]));
}

#[test]
fn a_bomb_stops_at_the_limit_and_can_still_be_listed() {
    let zeros = DArray::zeros("u1".parse().unwrap(), &[1 << 20], Order::RowMajor).unwrap();
    let bytes = archive(&[("zeros", zeros)], true);
    assert!(bytes.len() < 3000, "{}", bytes.len());
    let contents = OpenOptions::new().limit(1 << 19).read(buffer(&bytes)).unwrap();
    assert_eq!(contents.entries()[0].nbytes(), 1 << 20);
    let error = contents.single().unwrap().open().unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["array \"zeros\"", "524288", "the limit is"]);
    assert!(npz::from_buffer(buffer(&bytes)).unwrap().single().unwrap().open().is_ok());
}

#[test]
fn a_shared_buffer_is_not_divided() {
    let bytes = buffer(&archive(&[("a", ramp([5]))], false));
    let other = bytes.clone();
    assert!(npz::from_buffer(bytes).unwrap_err().is_conflict());
    assert!(npz::from_buffer(other).is_ok());
}

/// The position of the last byte of an array.
fn last_byte(bytes: &[u8], name: &str) -> usize {
    let contents = npz::from_buffer(buffer(bytes)).unwrap();
    let array = contents.get(name).unwrap().open().unwrap();
    let elements = array.buffer().unwrap().0.pin().unwrap().to_vec();
    let last = &elements[elements.len() - array.nbytes()..];
    let at = bytes.windows(last.len()).position(|window| window == last).unwrap();
    at + last.len() - 1
}

#[test]
fn a_damaged_array_does_not_pass_its_checksum_and_the_others_do() {
    let arrays: [(&str, DArray); 3] = [
        ("a", ramp([1000, 300])),
        ("b", Array::from_vec(vec![201u8, 99, 6], [3]).unwrap().into()),
        ("empty", ramp([0])),
    ];
    let good = archive(&arrays, false);
    for entry in npz::from_buffer(buffer(&good)).unwrap().entries() {
        entry.verify().unwrap();
    }
    let mut bytes = good.clone();
    bytes[last_byte(&good, "b")] ^= 4;
    let contents = npz::from_buffer(buffer(&bytes)).unwrap();
    // Opening reads no elements.
    assert_eq!(contents.get("b").unwrap().open().unwrap().get(&[2]).unwrap().as_i64(), Some(2));
    let error = contents.get("b").unwrap().verify().unwrap_err();
    assert!(error.is_malformed());
    assert_says(&error, &["array \"b\"", "checksum of its 131 bytes is "]);
    contents.get("a").unwrap().verify().unwrap();
    // Far from the beginning, too.
    let mut bytes = good.clone();
    bytes[last_byte(&good, "a")] ^= 1;
    assert!(npz::from_buffer(buffer(&bytes)).unwrap().get("a").unwrap().verify().unwrap_err().is_malformed());

    let verified = OpenOptions::new().verified(true);
    assert_eq!(verified.read(buffer(&good)).unwrap().names().collect::<Vec<_>>(), ["a", "b", "empty"]);
    let contents = verified.read(buffer(&bytes)).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["b", "empty"]);
    assert_says(&contents.get("a").unwrap_err(), &["array \"a\": it is damaged"]);
}

#[test]
fn a_deflated_array_is_verified_without_being_kept() {
    let array: DArray = Array::from_vec((0..100_000u32).collect(), [100_000]).unwrap().into();
    let good = archive(&[("a", array)], true);
    let copied = copied_bytes_here();
    npz::from_buffer(buffer(&good)).unwrap().get("a").unwrap().verify().unwrap();
    assert_eq!(copied_bytes_here(), copied);
    let mut bytes = good.clone();
    bytes[good.len() / 2] ^= 0x10;
    let contents = OpenOptions::new().verified(true).read(buffer(&bytes)).unwrap();
    assert_eq!((contents.entries().len(), contents.refused().len()), (0, 1));
    assert!(contents.get("a").unwrap_err().is_malformed());
}

#[test]
fn an_array_whose_name_is_damaged_in_the_directory_is_refused_and_not_left_out() {
    let data = npy_bytes();
    let good = Zip::default().file("a.npy", 0, &data, None).file("b.npy", 8, &data, None).finish();
    let name = good.windows(5).rposition(|part| part == b"a.npy").unwrap();
    for (at, byte) in [(1, b'_'), (2, b'm'), (3, b'q'), (4, b'x'), (4, b'/')] {
        let mut bytes = good.clone();
        bytes[name + at] = byte;
        let contents = npz::from_buffer(buffer(&bytes)).unwrap();
        let refused: Vec<_> = contents.refused().collect();
        assert_eq!(refused.len(), 1, "byte {at}");
        assert_says(refused[0].1, &["is inconsistent", "its name is \"a.npy\""]);
        assert_eq!(contents.ignored().len(), 0, "byte {at}");
    }
}

#[test]
fn a_header_in_front_of_an_array_that_contradicts_the_directory_is_refused() {
    let data = npy_bytes();
    let good = Zip::default().file("a.npy", 0, &data, None).file("b.npy", 0, &data, None).finish();
    for (at, words) in [
        (8, "method is 1 in the header before it, but 0"),
        (14, "its checksum is "),
        (18, "its packed size is 130 in the header before it, but 131 in the directory"),
        (22, "its size is 130 in the header"),
        (30, "its name is \"`.npy\" in the header before it, but \"a.npy\" in the directory"),
    ] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let contents = npz::from_buffer(buffer(&bytes)).unwrap();
        assert_eq!(contents.names().collect::<Vec<_>>(), ["b"], "byte {at}");
        let error = contents.get("a").unwrap_err();
        assert!(error.is_malformed());
        assert_says(&error, &["array \"a\"", "is inconsistent", words]);
    }
    // An archive that was written to a pipe has zeros there, and flags it.
    let mut streamed = good.clone();
    streamed[6] |= 8;
    streamed[14..26].fill(0);
    let contents = npz::from_buffer(buffer(&streamed)).unwrap();
    assert_eq!(contents.entries().len(), 2);
    contents.get("a").unwrap().verify().unwrap();
}

#[test]
fn what_is_not_read_is_listed_with_its_size() {
    let data = npy_bytes();
    let longer = [&data[..], b"more"].concat();
    let bytes = Zip::default()
        .file("readme.txt", 0, b"text", None)
        .file("folder/", 0, b"", None)
        .file("a.npy", 0, &data, None)
        .file("b.npy", 0, &longer, None)
        .file("c.npy", 8, &longer, None)
        .finish();
    let contents = npz::from_buffer(buffer(&bytes)).unwrap();
    assert_eq!(contents.ignored().collect::<Vec<_>>(), [("readme.txt", 4), ("b.npy", 4), ("c.npy", 4)]);
    // Arrays that were saved one after another.
    let two = [&data[..], &data].concat();
    let contents = OpenOptions::new().read(buffer(&two)).unwrap();
    assert_eq!(contents.ignored().collect::<Vec<_>>(), [("", data.len() as u64)]);
    assert_eq!(OpenOptions::new().read(buffer(&data)).unwrap().ignored().len(), 0);
}
