//! GGUF files.

use crossdock::element::Value;
use crossdock::exchange::files::{self, Contents, Format, OpenOptions};
use crossdock::memory::{Backing, copied_bytes_here};
use crossdock::{DArray, Error};

use crate::common::{Folder, assert_says, buffer, ramp, values};

/// Numbers and texts of a file, in one of the byte orders.
#[derive(Clone, Default)]
struct Bytes {
    big: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn number<const N: usize>(&mut self, little: [u8; N]) -> &mut Self {
        match self.big {
            true => self.bytes.extend(little.iter().rev()),
            false => self.bytes.extend(little),
        }
        self
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.number(number.to_le_bytes())
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.number(number.to_le_bytes())
    }

    fn text(&mut self, text: impl AsRef<[u8]>) -> &mut Self {
        self.u64(text.as_ref().len() as u64).bytes.extend(text.as_ref());
        self
    }
}

/// A file: its metadata and its tensors, each with axes as in the file, its type and its offset.
#[derive(Clone)]
struct Gguf {
    big: bool,
    version: u32,
    metadata: Vec<(&'static str, u32, Bytes)>,
    tensors: Vec<(&'static str, Vec<u64>, u32, u64)>,
    /// The bytes of all tensors.
    data: Vec<u8>,
}

const I8: u32 = 24;
const I16: u32 = 25;
const Q4_K: u32 = 12;

impl Gguf {
    /// `b` and `a`, the first of 2 × 3 numbers.
    fn new() -> Self {
        let tensors = vec![("b", vec![3, 2], I16, 0), ("a", vec![4], I8, 32)];
        let data = (0..6u16).flat_map(u16::to_le_bytes).chain([0; 20]).chain(1..=4).collect();
        Self { big: false, version: 3, metadata: Vec::new(), tensors, data }
    }

    fn file(&self) -> Vec<u8> {
        let mut file = Bytes { big: self.big, bytes: b"GGUF".to_vec() };
        file.u32(self.version).u64(self.tensors.len() as u64).u64(self.metadata.len() as u64);
        for (key, kind, value) in &self.metadata {
            file.text(key).u32(*kind).bytes.extend(&value.bytes);
        }
        for (name, shape, kind, offset) in &self.tensors {
            file.text(name).u32(shape.len() as u32);
            for &len in shape {
                file.u64(len);
            }
            file.u32(*kind).u64(*offset);
        }
        let mut file = file.bytes;
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(&self.data);
        file
    }

    fn with<T>(mut self, key: &'static str, kind: u32, value: impl Fn(&mut Bytes) -> T) -> Self {
        let mut bytes = Bytes { big: self.big, bytes: Vec::new() };
        value(&mut bytes);
        self.metadata.push((key, kind, bytes));
        self
    }
}

fn contents(file: &Gguf) -> Result<Contents, Error> {
    OpenOptions::new().read(buffer(&file.file()))
}

fn tensor(contents: &Contents, name: &str) -> DArray {
    contents.get(name).unwrap().open().unwrap()
}

#[test]
fn tensors_are_mapped_under_their_names_with_the_fastest_axis_last() {
    let folder = Folder::new("gguf");
    let path = folder.path("a.gguf");
    for version in [2, 3] {
        std::fs::write(&path, Gguf { version, ..Gguf::new() }.file()).unwrap();
        let before = copied_bytes_here();
        let contents = files::open_all(&path).unwrap();
        assert_eq!((contents.format(), contents.format().has_names()), (Format::Gguf, true));
        assert_eq!(contents.names().collect::<Vec<_>>(), ["b", "a"]);
        let (b, a) = (tensor(&contents, "b"), tensor(&contents, "a"));
        assert_eq!((copied_bytes_here(), b.backing()), (before, Backing::File));
        assert_eq!((b.shape(), values(&b).join(" ")), (&[2, 3][..], "0 1 2 3 4 5".to_owned()));
        assert_eq!((a.shape(), values(&a).join(" ")), (&[4][..], "1 2 3 4".to_owned()));
        assert_eq!((contents.refused().len(), contents.metadata().len()), (0, 0));
    }
    let mut big = Gguf { big: true, ..Gguf::new() };
    big.data[..12].copy_from_slice(&(0..6u16).flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    let b = tensor(&contents(&big).unwrap(), "b");
    assert_eq!((b.dtype(), values(&b).join(" ")), (&">i2".parse().unwrap(), "0 1 2 3 4 5".to_owned()));
}

#[test]
fn every_number_type_has_a_dtype() {
    for (kind, name) in [
        (0, "<f4"),
        (1, "<f2"),
        (24, "int8"),
        (25, "<i2"),
        (26, "<i4"),
        (27, "<i8"),
        (28, "<f8"),
        (30, "bfloat16"),
    ] {
        let tensors =
            [("x", vec![2, 1, 2], kind, 0), ("none", vec![0, 3], kind, 32), ("one", vec![], kind, 8)];
        let file = Gguf { tensors: tensors[..2].to_vec(), data: vec![0; 32], ..Gguf::new() };
        let contents = contents(&file).unwrap();
        assert_eq!(tensor(&contents, "x").dtype(), &name.parse().unwrap());
        assert_eq!(tensor(&contents, "x").shape(), [2, 1, 2]);
        assert_eq!(tensor(&contents, "none").shape(), [3, 0]);
        let file = Gguf { tensors: tensors[2..].to_vec(), data: vec![0; 32], ..Gguf::new() };
        assert_eq!(files_single(&file).shape(), [0; 0]);
    }
}

fn files_single(file: &Gguf) -> DArray {
    contents(file).unwrap().single().unwrap().open().unwrap()
}

#[test]
fn metadata_of_every_type_is_passed_over_and_the_alignment_is_kept() {
    let nested = |depth: usize| {
        move |bytes: &mut Bytes| {
            for _ in 1..depth {
                bytes.u32(9).u64(1);
            }
            bytes.u32(8).u64(2).text("a").text("bc");
        }
    };
    let mut file = Gguf::new()
        .with("text", 8, |bytes| {
            bytes.text("words");
        })
        .with("list", 9, nested(1));
    file = file.with("numbers", 9, |bytes| {
        bytes.u32(2).u64(3).bytes.extend([0; 6]);
    });
    file = file.with("lists", 9, nested(8)).with("none", 9, |bytes| {
        bytes.u32(9).u64(0);
    });
    for (kind, nbytes) in
        [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8)]
    {
        file = file.with("number", kind, |bytes| bytes.bytes.resize(nbytes, 7));
    }
    assert_eq!(values(&tensor(&contents(&file).unwrap(), "a")).join(" "), "1 2 3 4");
    let error = contents(&file.clone().with("deep", 9, nested(9))).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["nested more than 8 levels deep"]);
    let error = contents(&file.clone().with("odd", 13, |_| {})).unwrap_err();
    assert!(error.is_malformed());
    assert_says(&error, &["a value of the unknown type 13"]);
    // The data of `new` begins at a multiple of 32, which need not be one of 64.
    let aligned = |to: u32| {
        Gguf::new().with("general.alignment", 4, |bytes| {
            bytes.u32(to);
        })
    };
    let mut bytes = aligned(128).file();
    let data = Gguf::new().data;
    bytes.truncate(bytes.len() - data.len());
    bytes.resize(bytes.len().next_multiple_of(128), 0);
    bytes.extend(data);
    let contents128 = OpenOptions::new().read(buffer(&bytes)).unwrap();
    assert_eq!(values(&tensor(&contents128, "a")).join(" "), "1 2 3 4");
    for to in [0, 3] {
        assert_says(&contents(&aligned(to)).unwrap_err(), &["which is no power of two"]);
    }
}

#[test]
fn quantized_tensors_are_refused_by_name_with_their_type_and_the_others_are_open() {
    let mut file = Gguf::new();
    file.tensors.push(("q", vec![256, 4], Q4_K, 64));
    file.tensors.push(("new", vec![4], 99, 64));
    let contents = contents(&file).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["b", "a"]);
    let refused: Vec<_> = contents.refused().map(|(name, _)| name).collect();
    assert_eq!(refused, ["q", "new"]);
    let error = contents.get("q").unwrap_err();
    assert!(error.is_unsupported());
    assert_says(
        &error,
        &["tensor \"q\": its elements are quantized as Q4_K, in blocks of 256", "; dequantize it"],
    );
    assert_says(&contents.get("new").unwrap_err(), &["its type 99 is unknown"]);
}

#[test]
fn a_tensor_is_written_in_place_while_another_is_read_and_no_file_is_saved() {
    let folder = Folder::new("gguf-write");
    let path = folder.path("a.gguf");
    std::fs::write(&path, Gguf::new().file()).unwrap();
    let open = |options: OpenOptions| options.name("a").open(&path).unwrap();
    open(OpenOptions::new().mapped(false)).set(&[0], &Value::from(9)).unwrap();
    assert_eq!(open(OpenOptions::new()).get(&[0]).unwrap().as_i64(), Some(1));
    open(OpenOptions::new().writable(true)).set(&[0], &Value::from(9)).unwrap();
    assert_eq!(open(OpenOptions::new()).get(&[0]).unwrap().as_i64(), Some(9));
    let contents = OpenOptions::new().mapped(false).open_all(&path).unwrap();
    let (mut a, b) = (tensor(&contents, "a"), tensor(&contents, "b"));
    drop(contents);
    let reading = b.buffer().unwrap().0;
    let _read = reading.read().unwrap();
    a.set(&[0], &Value::from(3)).unwrap();
    a = a.transpose().unwrap();
    assert_eq!(a.get(&[0]).unwrap().as_i64(), Some(3));
    let error = files::save(folder.path("new.gguf"), &ramp([2, 2])).unwrap_err();
    assert_says(&error, &["new.gguf: a GGUF file can be opened, but not written"]);
}

#[test]
fn bad_files_say_what_is_wrong() {
    let tensors =
        |tensors: &[(&'static str, Vec<u64>, u32, u64)]| Gguf { tensors: tensors.to_vec(), ..Gguf::new() };
    for (file, words) in [
        (tensors(&[("a", vec![1], I8, 0), ("a", vec![1], I8, 1)]), "two tensors named \"a\""),
        (tensors(&[("a", vec![4], I8, 0), ("b", vec![4], I8, 3)]), "two tensors overlap"),
        (tensors(&[("a", vec![37], I8, 0)]), "tensor \"a\": the file is truncated or damaged: its 37 bytes"),
        (tensors(&[("a", vec![1], I8, u64::MAX)]), "truncated or damaged"),
        (tensors(&[("a", vec![u64::MAX, 2], I8, 0)]), "exceeds the address space"),
        (tensors(&[("a", vec![1; 65], I8, 0)]), "tensor \"a\" has 65 axes"),
    ] {
        let error = contents(&file).unwrap_err();
        assert!(error.is_malformed(), "{error:?}");
        assert_says(&error, &[words]);
    }
    for version in [0, 1, 4] {
        let error = contents(&Gguf { version, ..Gguf::new() }).unwrap_err();
        assert!(error.is_unsupported());
        assert_says(&error, &[&format!("of version {version}; only versions 2 and 3")]);
    }
    let read = |bytes: &[u8]| OpenOptions::new().format(Format::Gguf).read(buffer(bytes)).unwrap_err();
    assert_says(&read(b"GGML\x03\0\0\0"), &["it begins with \"GGML\""]);
    let bytes = Gguf::new().file();
    let end = bytes.len();
    (0..end).for_each(|end| assert!(read(&bytes[..end]).is_malformed(), "{end}"));
    let changed = |at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        read(&bytes)
    };
    // The number of tensors, that of pairs, and the length of the first name.
    for at in [8, 16, 24] {
        assert!(changed(at, &[0xff; 8]).is_malformed());
    }
    assert_says(&changed(24, &[0xff; 8]), &["a name has 18446744073709551615 bytes; at most 65536"]);
    assert_says(&changed(32, b"\xff"), &["not UTF-8 from its byte 0 on"]);
}
