//! TIFF images.

use crossdock::element::Value;
use crossdock::exchange::files::{self, Contents, Format, OpenOptions};
use crossdock::memory::{Backing, copied_bytes_here};
use crossdock::{DArray, Error};

use crate::common::{Folder, assert_says, buffer, ramp, values};

/// A file of pages, built tag by tag.
#[derive(Clone)]
struct Tiff {
    big_endian: bool,
    /// With offsets of 8 bytes.
    big: bool,
    pages: Vec<Vec<(u16, u16, Vec<u64>)>>,
    /// The bytes behind the pages.
    data: Vec<u8>,
}

const SHORT: u16 = 3;
const LONG: u16 = 4;

/// The byte of a file at which the elements begin.
const DATA: u64 = 4096;

/// A page of 2 × 3 pixels of two bytes, in a strip that begins at this byte.
fn page(strip: u64) -> Vec<(u16, u16, Vec<u64>)> {
    vec![
        (256, SHORT, vec![3]),
        (257, SHORT, vec![2]),
        (258, SHORT, vec![16]),
        (259, SHORT, vec![1]),
        (262, SHORT, vec![1]),
        (273, LONG, vec![strip]),
        (277, SHORT, vec![1]),
        (278, LONG, vec![2]),
        (279, LONG, vec![12]),
    ]
}

impl Tiff {
    fn new() -> Self {
        Self { big_endian: false, big: false, pages: vec![page(DATA)], data: Vec::new() }
    }

    /// With these values of a tag in the first page.
    fn with(mut self, number: u16, kind: u16, of: &[u64]) -> Self {
        self.pages[0].retain(|tag| tag.0 != number);
        self.pages[0].push((number, kind, of.to_vec()));
        self.pages[0].sort_by_key(|tag| tag.0);
        self
    }

    fn without(mut self, number: u16) -> Self {
        self.pages[0].retain(|tag| tag.0 != number);
        self
    }

    fn put(&self, bytes: &mut Vec<u8>, number: u64, nbytes: usize) {
        match self.big_endian {
            true => bytes.extend(&number.to_be_bytes()[8 - nbytes..]),
            false => bytes.extend(&number.to_le_bytes()[..nbytes]),
        }
    }

    /// The file, with 0, 1, 2, … as elements of two bytes.
    fn file(&self) -> Vec<u8> {
        let (word, mut bytes) = (if self.big { 8 } else { 4 }, Vec::new());
        bytes.extend(if self.big_endian { b"MM" } else { b"II" });
        self.put(&mut bytes, if self.big { 43 } else { 42 }, 2);
        if self.big {
            self.put(&mut bytes, 8, 2);
            self.put(&mut bytes, 0, 2);
        }
        // Values that do not fit their tag are behind all pages.
        let mut far = Vec::new();
        let (entry, head) = (if self.big { 20 } else { 12 }, if self.big { 8 } else { 2 });
        let tags: usize = self.pages.iter().map(|page| head + page.len() * entry + word).sum();
        let begin = bytes.len() + word;
        self.put(&mut bytes, begin as u64, word);
        for (index, page) in self.pages.iter().enumerate() {
            self.put(&mut bytes, page.len() as u64, head);
            for (number, kind, of) in page {
                let size = match *kind {
                    SHORT => 2,
                    LONG => 4,
                    16 => 8,
                    _ => 1,
                };
                self.put(&mut bytes, (*number).into(), 2);
                self.put(&mut bytes, (*kind).into(), 2);
                self.put(&mut bytes, of.len() as u64, word);
                let mut raw = Vec::new();
                of.iter().for_each(|&value| self.put(&mut raw, value, size));
                if raw.len() <= word {
                    raw.resize(word, 0);
                    bytes.extend(raw);
                } else {
                    self.put(&mut bytes, (begin + tags + far.len()) as u64, word);
                    far.extend(raw);
                }
            }
            let is_last = index + 1 == self.pages.len();
            let next = if is_last { 0 } else { bytes.len() + word };
            self.put(&mut bytes, next as u64, word);
        }
        bytes.extend(far);
        assert!(bytes.len() <= DATA as usize);
        bytes.resize(DATA as usize, 0);
        (0..24).for_each(|n| self.put(&mut bytes, n, 2));
        bytes.extend(&self.data);
        bytes
    }
}

fn contents(tiff: &Tiff) -> Result<Contents, Error> {
    OpenOptions::new().format(Format::Tiff).read(buffer(&tiff.file()))
}

fn open(tiff: &Tiff) -> DArray {
    contents(tiff).unwrap().single().unwrap().open().unwrap()
}

#[test]
fn images_are_mapped_in_either_byte_order_with_offsets_of_four_or_eight_bytes() {
    let folder = Folder::new("tiff");
    let path = folder.path("a.tif");
    for (big_endian, big) in [(false, false), (false, true), (true, false), (true, true)] {
        std::fs::write(&path, Tiff { big_endian, big, ..Tiff::new() }.file()).unwrap();
        let before = copied_bytes_here();
        let contents = files::open_all(&path).unwrap();
        assert_eq!((contents.format(), contents.format().has_names()), (Format::Tiff, false));
        assert!(contents.notes().is_empty());
        let array = contents.single().unwrap().open().unwrap();
        assert_eq!((copied_bytes_here(), array.backing()), (before, Backing::File));
        assert_eq!(array.dtype(), &if big_endian { ">u2" } else { "<u2" }.parse().unwrap());
        assert_eq!((array.shape(), values(&array).join(" ")), (&[2, 3][..], "0 1 2 3 4 5".to_owned()));
    }
}

#[test]
fn every_number_type_has_a_dtype_and_channels_are_the_last_axis() {
    for (format, bits, name) in [
        (1, 8, "uint8"),
        (1, 16, "<u2"),
        (1, 32, "<u4"),
        (1, 64, "<u8"),
        (4, 8, "uint8"),
        (2, 8, "int8"),
        (2, 16, "<i2"),
        (2, 32, "<i4"),
        (2, 64, "<i8"),
        (3, 16, "<f2"),
        (3, 32, "<f4"),
        (3, 64, "<f8"),
        (6, 64, "<c8"),
        (6, 128, "<c16"),
    ] {
        let tiff = Tiff::new().with(256, SHORT, &[1]).with(257, SHORT, &[1]).with(339, SHORT, &[format]);
        let array = open(&tiff.with(258, SHORT, &[bits]).with(279, LONG, &[16]));
        assert_eq!((array.dtype(), array.shape()), (&name.parse().unwrap(), &[1, 1][..]));
    }
    let colours = Tiff::new().with(277, SHORT, &[3]).with(258, SHORT, &[16; 3]).with(339, SHORT, &[1; 3]);
    let array = open(&colours.with(279, LONG, &[36]).with(284, SHORT, &[1]));
    assert_eq!((array.shape(), values(&array).last().unwrap().as_str()), (&[2, 3, 3][..], "17"));
}

#[test]
fn adjacent_strips_are_one_picture_and_equal_pages_one_more_axis() {
    let strips = Tiff::new().with(278, LONG, &[1]).with(273, LONG, &[DATA, DATA + 6]);
    assert_eq!(values(&open(&strips.clone().with(279, SHORT, &[6, 6]))).join(" "), "0 1 2 3 4 5");
    assert_eq!(values(&open(&strips.clone().without(279))).join(" "), "0 1 2 3 4 5");
    assert_eq!(open(&Tiff::new().without(278).without(259).without(277)).shape(), [2, 3]);
    let mut pages = Tiff::new();
    pages.pages.push(page(DATA + 12));
    let array = open(&pages);
    assert_eq!((array.shape(), values(&array).len()), (&[2, 2, 3][..], 12));
    assert!(array.layout().is_contiguous(crossdock::layout::Order::RowMajor));
    pages.pages = vec![page(DATA), page(DATA + 16), page(DATA + 32)];
    let array = open(&pages);
    assert_eq!((array.shape(), array.strides()), (&[3, 2, 3][..], &[16, 6, 2][..]));
    assert_eq!(array.get(&[2, 0, 0]).unwrap().as_i64(), Some(16));
}

#[test]
fn what_the_samples_mean_is_told() {
    for (number, value, words) in
        [(262, 0, "0 is white"), (262, 3, "indices of a palette"), (274, 6, "in orientation 6")]
    {
        let contents = contents(&Tiff::new().with(number, SHORT, &[value])).unwrap();
        assert_eq!(contents.notes().len(), 1);
        assert!(contents.notes()[0].contains(words));
    }
}

#[test]
fn elements_are_written_in_place_if_that_is_asked_for_and_no_file_is_saved() {
    let folder = Folder::new("tiff-write");
    let path = folder.path("a.tiff");
    std::fs::write(&path, Tiff::new().file()).unwrap();
    OpenOptions::new().mapped(false).open(&path).unwrap().set(&[1, 2], &Value::from(7)).unwrap();
    assert_eq!(files::open(&path).unwrap().get(&[1, 2]).unwrap().as_i64(), Some(5));
    OpenOptions::new().writable(true).open(&path).unwrap().set(&[1, 2], &Value::from(7)).unwrap();
    assert_eq!(files::open(&path).unwrap().get(&[1, 2]).unwrap().as_i64(), Some(7));
    let error = files::save(folder.path("new.tif"), &ramp([2, 2])).unwrap_err();
    assert_says(&error, &["new.tif: a TIFF file can be opened, but not written"]);
}

#[test]
fn pixels_that_are_not_in_the_file_as_in_memory_are_refused_by_name() {
    let new = Tiff::new;
    let pages = |second| Tiff { pages: vec![page(DATA), second], ..new() };
    let mut wider = page(DATA + 12);
    (wider[0].2, wider[8].2) = (vec![4], vec![16]);
    let text = |text: &str| new().with(270, 2, &text.bytes().map(u64::from).collect::<Vec<_>>());
    for (tiff, words) in [
        (new().with(259, SHORT, &[5]), "compressed by LZW (compression 5)"),
        (new().with(259, SHORT, &[8]), "compressed by Deflate"),
        (new().with(259, SHORT, &[7]), "compressed by JPEG"),
        (new().with(259, SHORT, &[99]), "an unknown method (compression 99)"),
        (new().with(322, SHORT, &[16]), "stored in tiles"),
        (new().with(277, SHORT, &[3]).with(284, SHORT, &[2]), "one after the other (planar)"),
        (new().with(258, SHORT, &[12]), "12 bits of format 1"),
        (new().with(258, SHORT, &[1]), "1 bits of format 1"),
        (new().with(339, SHORT, &[5]), "16 bits of format 5"),
        (
            new().with(277, SHORT, &[3]).with(258, SHORT, &[5, 6, 5]),
            "the bits of its channels differ: 5 and 6",
        ),
        (
            new().with(277, SHORT, &[2]).with(339, SHORT, &[1, 3]),
            "the formats of its channels differ: 1 and 3",
        ),
        (new().with(266, SHORT, &[2]), "fill order 2"),
        (new().with(262, SHORT, &[6]), "YCbCr"),
        (new().with(254, LONG, &[1]), "a reduced version"),
        (new().with(278, LONG, &[1]).with(273, LONG, &[DATA, DATA + 8]), "its strip 1 is not behind"),
        (pages(wider), "its page 1 differs from page 0"),
        (pages(page(DATA)), "its page 1 differs from page 0"),
        (pages(page(DATA + 8)), "its page 1 differs from page 0"),
        (Tiff { pages: vec![page(DATA), page(DATA + 12), page(DATA + 25)], ..new() }, "its page 2 differs"),
        (text("ImageJ=1.54\nimages=3\nslices=3\n\0"), "3 pictures, but pages for 1 of them"),
        (text("{\"shape\": [2, 2, 3], \"truncated\": true}"), "pictures without pages"),
    ] {
        let error = contents(&tiff).unwrap_err();
        assert!(error.is_unsupported(), "{words}: {error:?}");
        assert_says(&error, &["the image cannot be mapped: ", words, "; decode it with the crate tiff"]);
    }
}

#[test]
fn bad_files_say_what_is_wrong() {
    let new = Tiff::new;
    for (tiff, words) in [
        (new().with(256, LONG, &[0]), "it has 2 × 0 pixels of 1 channels, but "),
        (new().without(257), "it has 0 × 3 pixels"),
        (new().with(256, 16, &[u64::MAX]).with(257, 16, &[u64::MAX]), "it has 18446744073709551615 × "),
        (new().without(273), "it has no strip"),
        (new().with(278, LONG, &[1]).with(273, LONG, &[DATA]), "tag 273 has 1 values of type 4"),
        (new().with(256, 12, &[3]), "tag 256 has 1 values of type 12"),
        (new().with(256, SHORT, &[]), "tag 256 has 0 values of type 3"),
        (new().with(279, LONG, &[11]), "its strip 0 has 11 bytes, but the pixels take 12"),
        (
            new().with(273, LONG, &[DATA + 40]),
            "its picture takes 12 bytes from byte 4136 on, but the file has 4144",
        ),
    ] {
        let error = contents(&tiff).unwrap_err();
        assert!(error.is_malformed(), "{words}: {error:?}");
        assert_says(&error, &[words]);
    }
    let read = |bytes: &[u8]| OpenOptions::new().format(Format::Tiff).read(buffer(bytes));
    assert_says(&read(b"IM*\0\x08\0\0\0").unwrap_err(), &["it begins with \"IM\""]);
    assert_says(&read(b"II,\0\x08\0\0\0").unwrap_err(), &["its version is 44, not 42 or 43"]);
    assert_says(&read(b"II*\0\0\0\0\0").unwrap_err(), &["it has no page"]);
    let mut bytes = new().file();
    bytes[8..10].copy_from_slice(&[0xff; 2]);
    assert_says(&read(&bytes).unwrap_err(), &["its pages have more tags than it has bytes"]);
    // A page that is the one after itself.
    let mut bytes = new().file();
    let next = 8 + 2 + 12 * 9;
    bytes[next..next + 4].copy_from_slice(&8u32.to_le_bytes());
    assert_says(&read(&bytes).unwrap_err(), &["its page 1 differs"]);
    for big in [false, true] {
        let bytes = Tiff { big, ..new() }.file();
        for end in (0..300).chain(DATA as usize..DATA as usize + 12) {
            assert!(read(&bytes[..end]).unwrap_err().is_malformed(), "{end}");
        }
    }
}
