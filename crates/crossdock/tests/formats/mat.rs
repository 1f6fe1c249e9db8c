//! MATLAB's files, which SciPy wrote.

use std::path::Path;

use crossdock::exchange::files::{self, Contents, Format, OpenOptions, SaveOptions};
use crossdock::memory::{Backing, copied_bytes_here};
use crossdock::{DArray, Error};

use crate::common::{assert_says, buffer, ramp, values};

fn seed(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

fn path(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/mat").join(name)
}

fn read(bytes: &[u8]) -> Result<Contents, Error> {
    OpenOptions::new().read(buffer(bytes))
}

fn variable(contents: &Contents, name: &str) -> DArray {
    contents.get(name).unwrap().open().unwrap()
}

#[test]
fn variables_are_mapped_in_column_major_order() {
    let before = copied_bytes_here();
    let contents = files::open_all(path("arrays")).unwrap();
    assert_eq!((contents.format(), contents.format().has_names()), (Format::Mat, true));
    assert_eq!(contents.names().collect::<Vec<_>>(), ["a", "i", "b", "z.real", "z.imag", "v", "e"]);
    for (name, dtype, shape, elements) in [
        ("a", "<f8", &[2, 3][..], "0.0 0.5 1.0 1.5 2.0 2.5"),
        ("i", "<i2", &[2, 3], "0 1 2 3 4 5"),
        ("b", "bool", &[1, 2], "True False"),
        ("z.real", "<f8", &[1, 2], "1.0 3.0"),
        ("z.imag", "<f8", &[1, 2], "2.0 0.0"),
        ("v", "<f4", &[2, 2, 2], "0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0"),
        ("e", "<f8", &[0, 3], ""),
    ] {
        let array = variable(&contents, name);
        assert_eq!((array.dtype(), array.shape()), (&dtype.parse().unwrap(), shape), "{name}");
        assert_eq!(values(&array).join(" "), elements, "{name}");
        assert!(array.is_empty() || array.backing() == Backing::File, "{name}");
    }
    assert_eq!(copied_bytes_here(), before);
    let error = SaveOptions::new().format(Format::Mat).write(Vec::new(), &[("a", ramp([3]))]).unwrap_err();
    assert_says(&error, &["a MATLAB file can be opened, but not written"]);
}

#[test]
fn what_is_no_array_is_refused_by_name_and_the_rest_is_opened() {
    let contents = read(&seed("others")).unwrap();
    let refused: Vec<(&str, String)> =
        contents.refused().map(|(name, error)| (name, error.to_string())).collect();
    for ((name, error), (wanted, words)) in refused.iter().zip([
        ("s", "variable \"s\": it is text, and no array of numbers"),
        ("c", "it is a cell array"),
        ("st", "it is a structure"),
        ("sp", "it is a sparse matrix"),
    ]) {
        assert!(*name == wanted && error.contains(words), "{name}: {error}");
    }
    assert_eq!(values(&variable(&contents, "u")), ["1"]);
    let compressed = read(&seed("compressed")).unwrap();
    let (name, error) = compressed.refused().next().unwrap();
    assert_eq!(name, "#1");
    assert_says(error, &["it is compressed, and so is its name", "save -v6"]);
}

#[test]
fn numbers_in_a_narrower_type_and_the_other_byte_order_are_opened_as_they_are_stored() {
    // A double whose numbers are stored as bytes, in the tag itself.
    let mut file = vec![b' '; 124];
    file[..10].copy_from_slice(b"MATLAB 5.0");
    file.extend([1, 0, b'M', b'I']);
    let mut word = |number: u32| file.extend(number.to_be_bytes());
    [14, 48, 6, 8, 6, 0, 5, 8, 1, 3].into_iter().for_each(&mut word);
    [0x0001_0001, u32::from_be_bytes(*b"x\0\0\0"), 0x0003_0002, 0x0102_0300].into_iter().for_each(&mut word);
    let contents = read(&file).unwrap();
    assert_eq!(contents.metadata(), [("x.class".to_owned(), "double".to_owned())]);
    let x = variable(&contents, "x");
    assert_eq!(
        (x.dtype().to_string(), x.shape(), values(&x).join(" ")),
        ("uint8".into(), &[1, 3][..], "1 2 3".into())
    );
    for (at, bytes, words) in [
        (124, &[2, 0][..], "of version 0x0200"),
        (126, b"XX", "its byte order is \"XX\""),
        (131, &[99], "its variable 1 is of the unknown type 99"),
        (135, &[200], "has 200 bytes, but the room for it ends at byte 184"),
        (143, &[4], "have 4 bytes, and not 8"),
        (139, &[5], "the flags of a variable are of type 5, and not 6"),
        (147, &[99], "of an unknown class"),
        (159, &[4], "has 1 axes, and not 2 to 64"),
        (160, &[0xff], "an axis has the length -16777215"),
        (167, &[4], "has 3 bytes of uint8, but its shape is [1, 4]"),
        (172, &[0xff], "not UTF-8 from its byte 0 on"),
        (179, &[11], "are of type 11"),
    ] {
        let mut damaged = file.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        let error = read(&damaged).and_then(|contents| contents.single()?.open()).unwrap_err();
        assert_says(&error, &[words]);
    }
    let twice = [&file[..], &file[128..]].concat();
    assert_says(&read(&twice).unwrap_err(), &["two variables named \"x\""]);
}

#[test]
fn a_file_that_ends_early_is_refused() {
    let whole = seed("arrays");
    let mut lists = 0;
    for len in 10..whole.len() {
        match OpenOptions::new().format(Format::Mat).read(buffer(&whole[..len])) {
            Ok(_) => lists += 1,
            Err(error) => assert!(error.is_malformed(), "{len}: {error:?}"),
        }
    }
    // Between two variables.
    assert_eq!(lists, 6);
}

#[test]
fn variables_behind_a_compressed_one_are_padded_from_their_own_start() {
    let whole = seed("arrays");
    // Nothing is decompressed, so five bytes are a compressed variable.
    let compressed = [15_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat();
    let shifted = read(&[&whole[..128], &compressed, &[0; 5], &whole[128..]].concat()).unwrap();
    let contents = read(&whole).unwrap();
    assert_eq!(shifted.names().collect::<Vec<_>>(), contents.names().collect::<Vec<_>>());
    for name in contents.names() {
        assert_eq!(values(&variable(&shifted, name)), values(&variable(&contents, name)), "{name}");
    }
    assert_eq!(shifted.refused().map(|(name, _)| name).collect::<Vec<_>>(), ["#1"]);
}

#[test]
fn a_name_that_equals_a_part_or_a_number_is_refused() {
    let whole = seed("arrays");
    let named = |name: &str| {
        let element = |kind: u32, bytes: &[u8]| {
            let padding = vec![0; bytes.len().next_multiple_of(8) - bytes.len()];
            [&kind.to_le_bytes(), &(bytes.len() as u32).to_le_bytes(), bytes, &padding].concat()
        };
        let flags = element(6, &[6, 0, 0, 0, 0, 0, 0, 0]);
        let lens = element(5, &[1, 1].map(i32::to_le_bytes).concat());
        let parts = [flags, lens, element(1, name.as_bytes()), element(9, &1.5_f64.to_le_bytes())];
        element(14, &parts.concat())
    };
    let contents = read(&[&whole[..], &named("other")].concat()).unwrap();
    assert_eq!(values(&variable(&contents, "other")), ["1.5"]);
    let error = read(&[&whole[..], &named("z.real")].concat()).unwrap_err();
    assert_says(&error, &["it has two variables named \"z.real\""]);
    // A complex variable keeps its own name, before and after another variable that has it.
    for variables in [[&whole[128..], &named("z")[..]], [&named("z")[..], &whole[128..]]] {
        let error = read(&[&whole[..128], &variables.concat()].concat()).unwrap_err();
        assert_says(&error, &["it has two variables named \"z\""]);
    }
    let compressed = [&15_u32.to_le_bytes()[..], &[0; 4]].concat();
    let error = read(&[&whole[..128], &compressed, &named("#1")].concat()).unwrap_err();
    assert_says(&error, &["it has two variables named \"#1\""]);
}
