//! The functions that all formats share: `open`, `open_all`, `save` and their options.

use std::io;

use crossdock::Array;
use crossdock::buffer::Buffer;
use crossdock::element::Value;
use crossdock::exchange::files::{self, Format, OpenOptions, SaveOptions, npy};
use crossdock::layout::Order;
use crossdock::memory::copied_bytes_here;

use crate::common::{Folder, assert_same, assert_says, ramp};

#[test]
fn the_path_names_the_format_unless_an_option_does() {
    let folder = Folder::new("doors-format");
    files::save(folder.path("a.NPY"), &ramp([2, 3])).unwrap();
    assert_eq!(files::open_all(folder.path("a.NPY")).unwrap().format(), Format::Npy);
    files::save(folder.path("a.bin"), &ramp([2, 3])).unwrap();
    assert_eq!(std::fs::read(folder.path("a.bin")).unwrap(), [0, 1, 2, 3, 4, 5]);
    for name in ["a", "a.npy.gz"] {
        let path = folder.path(name);
        let error = files::save(&path, &ramp([1])).unwrap_err();
        assert!(error.is_unsupported() && !path.exists());
        assert_says(&error, &[name, "its ending is not that of a format", ".safetensors"]);
        SaveOptions::new().format(Format::Npy).save(&path, &ramp([4])).unwrap();
        assert_same(&files::open(&path).unwrap(), &ramp([4]));
    }
    let error = SaveOptions::new().write(Vec::new(), &[("a", ramp([1]))]).unwrap_err();
    assert_says(&error, &["set the format"]);
}

#[test]
fn another_format_than_the_expected_one_is_refused_and_no_format_is_explained_by_its_reader() {
    let folder = Folder::new("doors-expected");
    let (path, other) = (folder.path("a.npy"), folder.path("other"));
    files::save(&path, &ramp([3])).unwrap();
    let expect = |format| OpenOptions::new().format(format);
    assert_same(&expect(Format::Npy).open(&path).unwrap(), &ramp([3]));
    for format in [Format::Npz, Format::Safetensors, Format::Png, Format::Jpeg] {
        let error = expect(format).open(&path).unwrap_err();
        assert!(error.is_unsupported());
        assert_says(
            &error,
            &["a.npy: ", "it is a .npy file, but a ", &format!("{format} file was expected")],
        );
    }
    assert_says(&expect(Format::Raw).open(&path).unwrap_err(), &["OpenOptions::raw"]);
    std::fs::write(&other, b"\x93NUM").unwrap();
    assert!(files::open(&other).unwrap_err().is_unsupported());
    let error = expect(Format::Npy).open(&other).unwrap_err();
    assert!(error.is_malformed());
    assert_says(&error, &["other: ", "truncated"]);
}

#[test]
fn a_file_that_is_read_has_memory_of_its_own() {
    let folder = Folder::new("doors-read");
    let path = folder.path("a.npy");
    files::save(&path, &ramp([2, 3])).unwrap();
    let before = copied_bytes_here();
    let array = OpenOptions::new().mapped(false).open(&path).unwrap();
    assert_eq!(copied_bytes_here() - before, 128 + 6);
    std::fs::write(&path, b"").unwrap();
    assert_same(&array, &ramp([2, 3]));
    array.set(&[0, 0], &Value::from(9)).unwrap();
    let array = Array::<u8, 2>::try_from(array).unwrap();
    assert_eq!(array.read().unwrap()[[0, 0]], 9);
    assert!(std::fs::read(&path).unwrap().is_empty());
    let empty = OpenOptions::new().mapped(false).open(&path).unwrap_err();
    assert!(empty.is_malformed(), "{empty:?}");
    let both = OpenOptions::new().mapped(false).writable(true).open(&path).unwrap_err();
    assert!(both.is_unsupported());
    assert_says(&both, &["a.npy: ", "map it"]);
}

#[test]
fn an_array_of_a_file_without_names_has_the_empty_one() {
    let folder = Folder::new("doors-name");
    let path = folder.path("a.npy");
    files::save(&path, &ramp([3])).unwrap();
    assert_same(&OpenOptions::new().name("").open(&path).unwrap(), &ramp([3]));
    let error = OpenOptions::new().name("b").open(&path).unwrap_err();
    assert!(error.is_bounds());
    assert_says(&error, &["a.npy: ", "no array is named \"b\""]);
}

#[cfg(all(feature = "npz", feature = "safetensors"))]
#[test]
fn an_array_is_picked_by_its_name_and_saved_under_that_of_the_file() {
    let folder = Folder::new("doors-names");
    for ending in ["npz", "safetensors"] {
        let path = folder.path(&format!("both.{ending}"));
        SaveOptions::new().save_all(&path, &[("a", ramp([3])), ("b", ramp([2, 2]))]).unwrap();
        assert_same(&OpenOptions::new().name("b").open(&path).unwrap(), &ramp([2, 2]));
        let error = OpenOptions::new().name("c").open(&path).unwrap_err();
        assert!(error.is_bounds());
        assert_says(&error, &["both.", "no array is named \"c\"", "2 arrays: \"a\", \"b\""]);
        assert!(files::open(&path).unwrap_err().is_unsupported());
        files::save(&path, &ramp([5])).unwrap();
        assert_eq!(files::open_all(&path).unwrap().names().collect::<Vec<_>>(), ["both"]);
        let read = OpenOptions::new().mapped(false).open(&path).unwrap();
        assert_eq!(Array::<u8, 1>::try_from(read).unwrap().read().unwrap()[[4]], 4);
    }
}

#[test]
fn a_format_of_one_array_takes_one_and_options_that_a_format_lacks_are_refused() {
    let one = [("a", ramp([2, 3]))];
    let write = |options: SaveOptions, format| options.format(format).write(Vec::new(), &one);
    for format in [Format::Npy, Format::Raw] {
        let several = [("a", ramp([1])), ("b", ramp([1]))];
        let error = SaveOptions::new().format(format).write(Vec::new(), &several).unwrap_err();
        assert!(error.is_unsupported());
        assert_says(&error, &["file holds one array, but 2 were given"]);
        assert!(SaveOptions::new().format(format).write::<&str>(Vec::new(), &[]).is_err());
    }
    write(SaveOptions::new().order(Order::ColumnMajor), Format::Raw).unwrap();
    for (options, words) in [
        (SaveOptions::new().order(Order::RowMajor), "an option for the order"),
        (SaveOptions::new().deflated(true), "an option to deflate"),
        (SaveOptions::new().quality(50), "an option for the quality"),
        (SaveOptions::new().metadata("k", "v"), "an option for texts"),
    ] {
        let error = write(options, Format::Npy).unwrap_err();
        assert!(error.is_unsupported());
        assert_says(&error, &["a .npy file", words, "leave the option out"]);
    }
}

#[test]
fn a_new_file_replaces_none() {
    let folder = Folder::new("doors-new");
    let path = folder.path("a.npy");
    let new = SaveOptions::new().create_new(true);
    new.save(&path, &ramp([3])).unwrap();
    let error = new.save(&path, &ramp([4])).unwrap_err();
    assert!(error.is_io());
    assert_says(&error, &["a.npy: it already exists"]);
    assert_same(&files::open(&path).unwrap(), &ramp([3]));
}

#[test]
fn bytes_that_are_no_file_are_opened_with_options_too() {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, &ramp([3])).unwrap();
    let buffer = || Buffer::from_vec(bytes.clone()).unwrap();
    assert_same(&npy::from_buffer(buffer()).unwrap(), &ramp([3]));
    let contents = OpenOptions::new().read(buffer()).unwrap();
    assert_eq!((contents.format(), contents.entries().len()), (Format::Npy, 1));
    assert_same(&contents.single().unwrap().open().unwrap(), &ramp([3]));
    let raw = OpenOptions::new().raw("dtype=uint8; shape=3; offset=128".parse().unwrap());
    let contents = raw.read(buffer()).unwrap();
    assert_eq!(contents.format(), Format::Raw);
    assert_same(&contents.single().unwrap().open().unwrap(), &ramp([3]));
}

#[test]
fn a_system_error_reads_as_a_sentence_and_its_number_is_in_the_source() {
    let folder = Folder::new("doors-system-errors");
    let said = |path: std::path::PathBuf| {
        let error = files::open(&path).unwrap_err();
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        let text = error.to_string();
        let text = text.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned();
        (text, source.and_then(io::Error::raw_os_error))
    };
    assert_eq!(said(folder.path("missing")), ("no such file; check the name".into(), Some(libc::ENOENT)));
    assert_eq!(said(folder.path("")), ("it is a directory, not a file; name a file in it".into(), None));
    std::os::unix::fs::symlink("loop", folder.path("loop")).unwrap();
    let text = "it could not be opened to read: too many levels of symbolic links";
    assert_eq!(said(folder.path("loop")), (text.into(), Some(libc::ELOOP)));
    let error = files::save(folder.path("no/a.npy"), &ramp([3])).unwrap_err();
    assert!(error.to_string().ends_with("no/a.npy: no such directory; create it first"), "{error}");
    for (error, text) in [
        (io::Error::from_raw_os_error(libc::EIO), "input/output error"),
        (io::Error::from_raw_os_error(9999), "unknown error 9999"),
        (io::Error::other("Not the system's"), "Not the system's"),
    ] {
        assert_eq!(crossdock::bindings::system_text(&error), text);
    }
}
