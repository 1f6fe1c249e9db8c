//! NIfTI volumes.

use crossdock::element::Value;
use crossdock::exchange::files::{self, Format, OpenOptions, SaveOptions};
use crossdock::memory::{Backing, copied_bytes_here};
use crossdock::{DArray, Error};

use crate::common::{Folder, assert_says, buffer, ramp, values};

/// The fields of a header, in one of the versions and byte orders.
#[derive(Clone)]
struct Header {
    second: bool,
    big: bool,
    dim: [i64; 8],
    datatype: i16,
    vox_offset: f64,
    slope: f64,
    inter: f64,
    magic: &'static [u8],
}

impl Header {
    fn new() -> Self {
        Self {
            second: false,
            big: false,
            dim: [2, 2, 3, 1, 1, 1, 1, 1],
            datatype: 4,
            vox_offset: 352.0,
            slope: 1.0,
            inter: 0.0,
            magic: b"n+1\0",
        }
    }

    /// The same in the second version.
    fn second(mut self) -> Self {
        (self.second, self.vox_offset, self.magic) = (true, 544.0, b"n+2\0\r\n\x1a\n");
        self
    }

    /// The header, the bytes up to the elements, and 0, 1, 2, … as elements of two bytes.
    fn file(&self) -> Vec<u8> {
        let mut bytes = vec![0; if self.second { 544 } else { 352 }];
        let mut put = |at: usize, little: &[u8]| {
            let mut field = little.to_vec();
            if self.big {
                field.reverse();
            }
            bytes[at..at + field.len()].copy_from_slice(&field);
        };
        if self.second {
            put(0, &540u32.to_le_bytes());
            put(12, &self.datatype.to_le_bytes());
            self.dim.iter().enumerate().for_each(|(index, len)| put(16 + 8 * index, &len.to_le_bytes()));
            put(168, &(self.vox_offset as i64).to_le_bytes());
            put(176, &self.slope.to_le_bytes());
            put(184, &self.inter.to_le_bytes());
        } else {
            put(0, &348u32.to_le_bytes());
            put(70, &self.datatype.to_le_bytes());
            let dim = self.dim.map(|len| len as i16);
            dim.iter().enumerate().for_each(|(index, len)| put(40 + 2 * index, &len.to_le_bytes()));
            put(108, &(self.vox_offset as f32).to_le_bytes());
            put(112, &(self.slope as f32).to_le_bytes());
            put(116, &(self.inter as f32).to_le_bytes());
        }
        let magic = if self.second { 4 } else { 344 };
        bytes[magic..magic + self.magic.len()].copy_from_slice(self.magic);
        let elements = (0..6u16).flat_map(|n| if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        bytes.extend(elements);
        bytes
    }
}

fn open(bytes: &[u8]) -> Result<DArray, Error> {
    OpenOptions::new().read(buffer(bytes))?.single()?.open()
}

fn refused(bytes: &[u8]) -> Error {
    OpenOptions::new().format(Format::Nifti).read(buffer(bytes)).unwrap_err()
}

#[test]
fn both_versions_are_mapped_in_either_byte_order_and_column_major() {
    let folder = Folder::new("nifti");
    let path = folder.path("a.nii");
    for (second, big) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut header = Header::new();
        if second {
            header = header.second();
        }
        header.big = big;
        std::fs::write(&path, header.file()).unwrap();
        let before = copied_bytes_here();
        let contents = files::open_all(&path).unwrap();
        assert_eq!((contents.format(), contents.format().has_names()), (Format::Nifti, false));
        let array = contents.single().unwrap().open().unwrap();
        assert_eq!(copied_bytes_here(), before);
        assert_eq!(array.backing(), Backing::File);
        assert_eq!(array.dtype(), &if big { ">i2" } else { "<i2" }.parse().unwrap());
        assert_eq!((array.shape(), values(&array).join(" ")), (&[2, 3][..], "0 2 4 1 3 5".to_owned()));
        assert!(contents.metadata().is_empty() && contents.notes().is_empty());
        assert_eq!(contents.ignored().len(), 0);
    }
}

#[test]
fn every_number_type_has_a_dtype() {
    for (code, name) in [
        (2, "uint8"),
        (4, "<i2"),
        (8, "<i4"),
        (16, "<f4"),
        (32, "<c8"),
        (64, "<f8"),
        (256, "int8"),
        (512, "<u2"),
        (768, "<u4"),
        (1024, "<i8"),
        (1280, "<u8"),
        (1792, "<c16"),
    ] {
        let mut header = Header { datatype: code, ..Header::new() };
        header.dim = [1, 0, 1, 1, 1, 1, 1, 1];
        assert_eq!(open(&header.file()).unwrap().dtype(), &name.parse().unwrap());
    }
}

#[test]
fn a_scale_is_told_and_the_elements_stay_as_they_are() {
    let header = Header { slope: 0.5, inter: -2.0, ..Header::new() };
    let contents = OpenOptions::new().read(buffer(&header.file())).unwrap();
    let texts = contents.metadata().iter().map(|(key, text)| format!("{key}={text}"));
    assert_eq!(texts.collect::<Vec<_>>(), ["scl_slope=0.5", "scl_inter=-2"]);
    assert_eq!(contents.notes().len(), 1);
    assert!(contents.notes()[0].contains("element × 0.5 + -2"));
    assert_eq!(values(&contents.single().unwrap().open().unwrap())[1], "2");
    for (slope, inter) in [(1.0, 0.0), (0.0, 3.0), (f64::NAN, 3.0), (f64::INFINITY, 0.0)] {
        let header = Header { slope, inter, ..Header::new() }.second();
        let contents = OpenOptions::new().read(buffer(&header.file())).unwrap();
        assert!(contents.metadata().is_empty() && contents.notes().is_empty(), "{slope} {inter}");
    }
}

#[test]
fn elements_are_written_in_place_if_that_is_asked_for_and_no_file_is_saved() {
    let folder = Folder::new("nifti-write");
    let path = folder.path("a.nii");
    std::fs::write(&path, Header::new().file()).unwrap();
    OpenOptions::new().mapped(false).open(&path).unwrap().set(&[1, 2], &Value::from(7)).unwrap();
    assert_eq!(files::open(&path).unwrap().get(&[1, 2]).unwrap().as_i64(), Some(5));
    OpenOptions::new().writable(true).open(&path).unwrap().set(&[1, 2], &Value::from(7)).unwrap();
    assert_eq!(files::open(&path).unwrap().get(&[1, 2]).unwrap().as_i64(), Some(7));
    let error = files::save(folder.path("new.nii"), &ramp([2])).unwrap_err();
    assert!(error.is_unsupported() && !folder.path("new.nii").exists());
    assert_says(&error, &["new.nii: a NIfTI file can be opened, but not written; use .npy, .npz,"]);
    let error = SaveOptions::new().format(Format::Nifti).write(Vec::new(), &[("a", ramp([2]))]).unwrap_err();
    assert!(error.is_unsupported());
}

#[test]
fn bad_headers_say_what_is_wrong() {
    let header = Header::new();
    let dim = |dim: [i64; 8]| Header { dim, ..header.clone() };
    let offset = |vox_offset| Header { vox_offset, ..header.clone() };
    for (header, words) in [
        (dim([0, 2, 3, 1, 1, 1, 1, 1]), "dim is [0, 2, 3"),
        (dim([8, 2, 3, 1, 1, 1, 1, 1]), "dim is [8, 2, 3"),
        (dim([2, -1, 3, 1, 1, 1, 1, 1]), "dim is [2, -1, 3"),
        (dim([7, 30000, 30000, 30000, 30000, 30000, 30000, 30000]), "the header is damaged"),
        (dim([2, i64::MAX, 2, 1, 1, 1, 1, 1]).second(), "the header is damaged"),
        (dim([2, 4, 3, 1, 1, 1, 1, 1]), "truncated or damaged: 12 elements of "),
        (offset(0.0), "vox_offset is 0, but "),
        (offset(347.0), "vox_offset is 347, but "),
        (offset(352.5), "vox_offset is 352.5, but "),
        (offset(f64::NAN), "vox_offset is NaN, but "),
        (offset(1e30), "vox_offset is 1"),
        (offset(353.0), "begin at byte 353, but the file has 364 bytes"),
        (Header { magic: b"n+3\0", ..header.clone() }, "its magic is \"n+3\\x00\""),
    ] {
        let error = refused(&header.file());
        assert!(error.is_malformed(), "{error:?}");
        assert_says(&error, &[words]);
    }
    for (header, words) in [
        (Header { magic: b"ni1\0", ..header.clone() }, &["a NIfTI pair", ".img", "the crate nifti"][..]),
        (Header { datatype: 128, ..header.clone() }, &["colours of 3 bytes (RGB24) (datatype 128)"]),
        (Header { datatype: 1, ..header.clone() }, &["single bits"]),
        (Header { datatype: 3, ..header.clone() }, &["its datatype 3 is unknown"]),
    ] {
        let error = refused(&header.file());
        assert!(error.is_unsupported(), "{error:?}");
        assert_says(&error, words);
    }
    assert_says(&refused(b"\x01\x02\0\0"), &["its header has 513 bytes, not 348 or 540"]);
    let bytes = header.file();
    for end in 0..bytes.len() {
        assert!(refused(&bytes[..end]).is_malformed(), "{end}");
    }
    assert_eq!(OpenOptions::new().read(buffer(&[&bytes[..], b"more"].concat())).unwrap().ignored().len(), 1);
}
