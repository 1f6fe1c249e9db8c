//! Every kind of bad `.npy` file gives one clear error that names the file and the numbers.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crossdock::buffer::Buffer;
use crossdock::exchange::files::{Format, OpenOptions, SaveOptions, npy};
use crossdock::{DArray, Error};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

/// A path for one test, which is deleted after it.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("crossdock-npy-bad-{}-{name}", std::process::id())))
    }

    fn with(name: &str, bytes: &[u8]) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.0, bytes).unwrap();
        file
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.0);
        let _was_a_file = std::fs::remove_dir(&self.0);
    }
}

fn file(version: (u8, u8), literal: &[u8], data: &[u8]) -> Vec<u8> {
    let length = literal.len().to_le_bytes();
    let length = if version == (1, 0) { &length[..2] } else { &length[..4] };
    [b"\x93NUMPY", &[version.0, version.1][..], length, literal, data].concat()
}

fn with_header(literal: &str) -> Vec<u8> {
    file((2, 0), literal.as_bytes(), &[0; 64])
}

fn with(descr: &str, shape: &str) -> Vec<u8> {
    with_header(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"))
}

type Is = fn(&Error) -> bool;

/// A name for the case, the bytes, the kind of the error, and the words of its text.
struct Case(&'static str, Vec<u8>, Is, &'static [&'static str]);

fn cases() -> Vec<Case> {
    let (malformed, unsupported): (Is, Is) = (Error::is_malformed, Error::is_unsupported);
    let good = with("'<f8'", "(8,)");
    let header = |text: &str| with_header(text);
    let dims = |count: usize| format!("({})", "1,".repeat(count));
    let nested = |depth| format!("{}'<f8'{}", "[('a', ".repeat(depth), ")]".repeat(depth));
    let mut lengths_past_end = file((2, 0), b"{}", b"");
    lengths_past_end[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    vec![
        // The file as a whole.
        Case("empty", vec![], malformed, &["empty", "0 bytes"]),
        Case("cut in the magic", good[..4].to_vec(), malformed, &["truncated", "4 bytes"]),
        Case("cut in the version", good[..7].to_vec(), malformed, &["truncated", "7 bytes", "10"]),
        Case("cut in the length", good[..11].to_vec(), malformed, &["truncated", "11 bytes", "12"]),
        Case(
            "cut in the header",
            good[..50].to_vec(),
            malformed,
            &["57 bytes", "only 38 follow", "truncated"],
        ),
        Case(
            "cut in the data",
            good[..good.len() - 1].to_vec(),
            malformed,
            &["[8]", "64 bytes", "63 follow", "69"],
        ),
        Case("no data", good[..good.len() - 64].to_vec(), malformed, &["64 bytes", "only 0 follow"]),
        Case("zip", b"PK\x03\x04rest of it".to_vec(), malformed, &["ZIP archive", ".npz"]),
        Case(
            "text",
            b"1,2,3\n4,5,6\n".to_vec(),
            malformed,
            &["not an .npy file", "the text \"1,2,3\\n4,…\""],
        ),
        Case("one wrong byte", [b"\x93NUMPX", &good[6..]].concat(), malformed, &["93 4e 55 4d 50 58"]),
        Case("version 4.0", file((4, 0), b"{}", b""), unsupported, &["version 4.0", "3.0"]),
        Case("version 1.1", file((1, 1), b"{}", b""), unsupported, &["version 1.1"]),
        Case(
            "header length past the end",
            lengths_past_end,
            malformed,
            &["4294967295 bytes", "only 2 follow"],
        ),
        Case(
            "header length past the end, version 1.0",
            b"\x93NUMPY\x01\0\xff\xff{}".to_vec(),
            malformed,
            &["65535 bytes", "only 2 follow"],
        ),
        Case(
            "huge header",
            file((2, 0), &vec![b' '; 17 << 20], b""),
            unsupported,
            &["17825792 bytes", "16777216"],
        ),
        Case("no UTF-8", file((3, 0), b"{'descr\xff", b""), malformed, &["UTF-8", "byte 7"]),
        // The dictionary.
        Case("nothing", header(""), malformed, &["byte 0"]),
        Case("blank", header("        \n"), malformed, &["the header"]),
        Case("NULs", header("\0\0\0\0"), malformed, &["the header"]),
        Case("a list", header("['<f8']"), malformed, &["a list", "dictionary"]),
        Case("cut literal", header("{'descr': '<f8', 'shape': (3"), malformed, &["byte 28"]),
        Case("code", header("{'descr': __import__('os')}"), malformed, &["'_'", "byte 10"]),
        Case("missing descr", header("{'fortran_order': False, 'shape': ()}"), malformed, &["no 'descr'"]),
        Case("missing order", header("{'descr': '<f8', 'shape': ()}"), malformed, &["no 'fortran_order'"]),
        Case("missing shape", header("{'descr': '<f8', 'fortran_order': False}"), malformed, &["no 'shape'"]),
        Case(
            "extra entry",
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'x': 1}"),
            malformed,
            &["\"x\""],
        ),
        Case(
            "twice",
            header("{'descr': '<f8', 'shape': (), 'fortran_order': False, 'shape': ()}"),
            malformed,
            &["'shape' twice"],
        ),
        Case("key 3", header("{3: 4}"), malformed, &["an integer as a key"]),
        Case(
            "order 0",
            header("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}"),
            malformed,
            &["'fortran_order' is an integer"],
        ),
        // The shape.
        Case("no tuple", with("'<f8'", "(3)"), malformed, &["'shape' is an integer", "tuple"]),
        Case("list", with("'<f8'", "[3]"), malformed, &["'shape' is a list"]),
        Case("negative", with("'<f8'", "(3, -1)"), malformed, &["dimension 1", "-1", "negative"]),
        Case("boolean", with("'<f8'", "(True,)"), malformed, &["dimension 0", "a boolean"]),
        Case("text length", with("'<f8'", "('3',)"), malformed, &["dimension 0", "a string"]),
        Case("65 dimensions", with("'<f8'", &dims(65)), unsupported, &["65 dimensions", "64"]),
        Case("many dimensions", with("'<f8'", &dims(100_000)), unsupported, &["100000 dimensions"]),
        Case(
            "beyond 64 bits",
            with("'<f8'", "(18446744073709551616,)"),
            malformed,
            &["18446744073709551616"],
        ),
        Case(
            "beyond 128 bits",
            with("'<f8'", &format!("(1{},)", "0".repeat(99))),
            malformed,
            &["100 digits"],
        ),
        Case(
            "overflowing product",
            with("'<f8'", "(4294967296, 4294967296)"),
            malformed,
            &["[4294967296, 4294967296]", "8 bytes", "9223372036854775807"],
        ),
        Case(
            "overflowing bytes",
            with("'<f8'", "(1152921504606846976,)"),
            malformed,
            &["[1152921504606846976]", "9223372036854775807"],
        ),
        Case(
            "overflow behind an empty axis",
            with("'<f8'", "(0, 9223372036854775807, 2)"),
            malformed,
            &["9223372036854775807"],
        ),
        Case(
            "more than the file",
            with("'<f8'", "(1000000000, 1000)"),
            malformed,
            &["8000000000000 bytes", "only 64 follow"],
        ),
        // The dtype.
        Case("objects", with("'|O'", "(2,)"), unsupported, &["pickle", "never executed"]),
        Case(
            "objects in a field",
            with("[('a', '<i4'), ('b', '|O')]", "(2,)"),
            unsupported,
            &["pickle", "\"b\""],
        ),
        Case("strings of any width", with("'T'", "(2,)"), unsupported, &["\"T\""]),
        Case("unknown letter", with("'<q8'", "(2,)"), malformed, &["<q8"]),
        Case("unknown width", with("[('x', '<f8'), ('y', '<f3')]", "(2,)"), malformed, &["<f3", "\"y\""]),
        Case("unknown unit", with("'<M8[fortnight]'", "(2,)"), malformed, &["fortnight"]),
        Case("no dtype", with("None", "(2,)"), malformed, &["None"]),
        Case("number as dtype", with("8", "(2,)"), malformed, &["an integer"]),
        Case("two fields of a name", with("[('a', '<i4'), ('a', '<i4')]", "(2,)"), |_| true, &["\"a\""]),
        Case("negative sub-array", with("[('a', '<i4', (-1,))]", "(2,)"), malformed, &["-1", "\"a\""]),
        Case(
            "overflowing sub-array",
            with("[('a', '<f8', (4294967296, 4294967296))]", "(2,)"),
            Error::is_overflow,
            &["4294967296"],
        ),
        Case("too wide", with("'|S99999999999'", "(2,)"), malformed, &["S99999999999"]),
        Case("deep", with(&nested(70), "(2,)"), unsupported, &["64 levels"]),
        Case("deeper", with(&nested(100), "(2,)"), unsupported, &["160 levels deep"]),
        Case("deepest", header(&"[".repeat(100_000)), unsupported, &["160"]),
    ]
}

/// Opens an `.npy` file, and no other.
fn open(path: &Path) -> crossdock::Result<DArray> {
    OpenOptions::new().format(Format::Npy).open(path)
}

#[test]
fn each_bad_file_is_told_apart_with_its_numbers() {
    let mut wrong = vec![];
    for Case(name, bytes, is_expected, fragments) in cases() {
        let temporary = Temporary::with("case.npy", &bytes);
        let from_memory = Buffer::from_vec(bytes).and_then(npy::from_buffer).unwrap_err();
        let from_file = open(&temporary.0).unwrap_err();
        let text = from_memory.to_string();
        // A file of another known format is refused as such.
        let is_other = from_file.is_unsupported();
        if !is_expected(&from_memory) || !is_expected(&from_file) && !is_other {
            wrong.push(format!("{name}: {from_memory:?} is of the wrong kind"));
        }
        for fragment in fragments.iter().filter(|&&fragment| !text.contains(fragment)) {
            wrong.push(format!("{name}: {fragment:?} is not in: {text}"));
        }
        let said = from_file.to_string().replace(&format!("{}: ", temporary.0.display()), "");
        assert!(said == text || is_other && said.ends_with("but a .npy file was expected"), "{name}: {said}");
        if text.contains('\n') || text.len() > 1500 {
            wrong.push(format!("{name}: no one clear sentence: {text}"));
        }
        // The same with the function for all formats, which refuses other formats as such.
        let by_magic = crossdock::open(&temporary.0).unwrap_err();
        assert!(is_expected(&by_magic) || by_magic.is_unsupported(), "{name}: {by_magic:?}");
        println!("{name}: {text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_formats_are_unsupported_and_named() {
    for (bytes, name) in [
        (&b"\x89HDF\r\n\x1a\n"[..], "HDF5"),
        (b"GIF89a\0\0", "GIF"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"\x80\x04\x95", "pickle"),
        (b"a text", "the text \"a text\""),
    ] {
        let temporary = Temporary::with(&format!("format-{}", bytes.len()), bytes);
        let error = crossdock::open(&temporary.0).unwrap_err();
        assert!(error.is_unsupported(), "{error:?}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}

#[test]
fn names_that_lead_to_no_file_are_told_apart() {
    let directory = Temporary::new("directory");
    std::fs::create_dir(&directory.0).unwrap();
    let pipe = Temporary::new("pipe");
    let name = CString::new(pipe.0.as_os_str().as_bytes()).unwrap();
    // SAFETY: `name` is a C string, which `mkfifo` only reads.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let file = Temporary::with("file.npy", &with("'<f8'", "(8,)"));
    let cases: [(PathBuf, Is, &str); 5] = [
        (directory.0.clone(), Error::is_unsupported, "a directory"),
        (pipe.0.clone(), Error::is_unsupported, "a pipe"),
        ("/dev/null".into(), Error::is_unsupported, "a device"),
        (directory.0.join("missing.npy"), Error::is_io, "no such file"),
        (file.0.join("inside.npy"), Error::is_io, "not a directory"),
    ];
    for (path, is_expected, fragment) in cases {
        for error in [open(&path).unwrap_err(), crossdock::open(&path).unwrap_err()] {
            assert!(is_expected(&error), "{error:?}");
            let text = error.to_string();
            assert!(text.starts_with(&format!("{}: ", path.display())) && text.contains(fragment), "{text}");
        }
    }
    let npy = SaveOptions::new().format(Format::Npy);
    let error = npy.save(&directory.0, &open(&file.0).unwrap()).unwrap_err();
    assert!(error.is_unsupported() && error.to_string().contains("a directory"), "{error}");
}

#[test]
fn a_file_without_permission_is_refused_as_such() {
    let file = Temporary::with("secret.npy", &with("'<f8'", "(8,)"));
    std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(0o400)).unwrap();
    // Root may do everything, so this thread alone becomes another user for a while.
    // SAFETY: `setfsuid` changes the user of this thread and accesses no memory.
    let before = unsafe { libc::setfsuid(65534) };
    let read = open(&file.0);
    // SAFETY: `setfsuid` restores the user of this thread and accesses no memory.
    unsafe { libc::setfsuid(u32::try_from(before).unwrap()) };
    let written = OpenOptions::new().writable(true).open(&file.0);
    // SAFETY: `geteuid` has no arguments, accesses no memory and never fails.
    if unsafe { libc::geteuid() } == 0 {
        let error = read.unwrap_err();
        assert!(error.is_io() && error.to_string().contains("no permission to read it"), "{error}");
    } else {
        assert!(read.is_ok());
        let error = written.unwrap_err();
        assert!(error.is_io() && error.to_string().contains("no permission to read and write it"), "{error}");
    }
}

#[test]
fn elements_at_an_odd_address_open_and_typed_slices_of_them_are_refused() {
    for spaces in 0..8 {
        let literal =
            format!("{{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }}{}", " ".repeat(spaces));
        let numbers = [1.5f64, -2.5].map(f64::to_le_bytes);
        let bytes = file((1, 0), literal.as_bytes(), numbers.as_flattened());
        let offset = bytes.len() - 16;
        let temporary = Temporary::with(&format!("odd-{spaces}.npy"), &bytes);
        let array = open(&temporary.0).unwrap();
        assert_eq!(array.as_ptr().addr() % 8, offset % 8);
        assert_eq!(array.get(&[1]).unwrap().as_f64(), Some(-2.5));
        // SAFETY: no process writes the temporary file while it is mapped.
        let bytes = unsafe { array.buffer().unwrap().0.assume_constant() };
        let slice = bytes.read().unwrap();
        match slice.as_slice_of::<f64>() {
            Ok(slice) => assert!(offset.is_multiple_of(8) && slice == [1.5, -2.5]),
            Err(error) => assert!(!offset.is_multiple_of(8) && error.is_alignment(), "{error}"),
        };
    }
}

#[test]
fn bytes_behind_the_last_element_are_ignored() {
    let array = npy::from_buffer(Buffer::from_vec(with("'<u2'", "(3, 2)")).unwrap()).unwrap();
    assert_eq!((array.shape(), array.nbytes()), (&[3, 2][..], 12));
}

#[test]
fn a_guarded_file_that_shrinks_is_an_error_and_not_the_end() {
    let data = vec![7u8; 64 << 10];
    let header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (65536,), }";
    let temporary = Temporary::with("shrinks.npy", &file((1, 0), header, &data));
    let array = OpenOptions::new().guarded(true).open(&temporary.0).unwrap();
    assert_eq!(array.get(&[65535]).unwrap().as_i64(), Some(7));
    assert!(array.fault().is_none());
    File::options().write(true).open(&temporary.0).unwrap().set_len(100).unwrap();
    array.get(&[65535]).unwrap();
    assert!(array.fault().unwrap().is_io());
}

/// Valid files, as seeds for mutations.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        with("'<f8'", "(8,)"),
        with("'>i2'", "(2, 0, 3)"),
        with("'|S0'", "(4611686018427387904,)"),
        with("'<U2'", "()"),
        with("'<M8[25s]'", "(2, 2)"),
        with("[('a', '<i2'), ('', '|V2'), (('t', 'b'), '>f4', (2, 1))]", "(3,)"),
        with("{'names': ['x', 'y'], 'formats': ['<u4', '|b1'], 'offsets': [4, 0], 'itemsize': 9}", "(1, 7)"),
    ];
    let ordered = b"{'descr': '<c16', 'fortran_order': True, 'shape': (2, 2)}\n";
    seeds.extend([(1, 0), (3, 0)].map(|version| file(version, ordered, &[1; 64])));
    seeds
}

const TOKENS: [&str; 24] = [
    "-1",
    "0",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    ",",
    ":",
    "\\x",
    "True",
    "None",
    "'|O'",
    "'descr'",
    "'shape': ",
    "9223372036854775807",
    "4294967296",
    "'<f8'",
    "'|V0'",
    "\u{fc}",
    "M8[",
    "(2,)",
];

/// One random change: a byte, a cut, an inserted or overwritten token, a doubled piece.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.usize(0..=bytes.len());
    let rest = bytes.len() - at;
    match rng.usize(0..10) {
        0 => bytes.truncate(at),
        1..5 if rest > 0 => bytes[at] = rng.u8(..),
        5 if rest > 0 => bytes[at] ^= 1 << rng.u8(0..8),
        6 | 7 => {
            // In place of as many bytes, so that the length stays right.
            let token = rng.choice(TOKENS).unwrap().as_bytes();
            let count = token.len().min(rest);
            bytes[at..at + count].copy_from_slice(&token[..count]);
        }
        8 => drop(bytes.splice(at..at, rng.choice(TOKENS).unwrap().bytes())),
        _ => {
            let piece = bytes[at..at + rng.usize(0..=rest)].to_vec();
            drop(bytes.splice(at..at, piece));
        }
    }
}

/// Every readable element lies in the bytes, and no access panics.
fn touch(array: &DArray, rng: &mut Rng) {
    assert_eq!(array.nbytes(), array.len() * array.dtype().itemsize());
    for _ in 0..8 {
        let index: Option<Vec<_>> =
            array.shape().iter().map(|&len| (len > 0).then(|| rng.usize(0..len))).collect();
        if let Some(index) = index {
            // The code point may be invalid.
            let value = array.get(&index);
            assert!(value.as_ref().is_ok_and(|value| !value.to_string().is_empty()) || value.is_err());
        }
    }
}

#[test]
fn mutated_files_are_errors_or_arrays_and_never_panics() {
    let cases = crossdock_testkit::cases(25_000);
    let (mut rng, mut coverage) = (Rng::with_seed(seed()), Coverage::default());
    let seeds = seeds();
    for bytes in &seeds {
        npy::from_buffer(Buffer::from_vec(bytes.clone()).unwrap()).unwrap();
    }
    for _ in 0..cases {
        coverage.case();
        let mut bytes = rng.choice(&seeds).unwrap().clone();
        for _ in 0..rng.usize(1..=3) {
            mutate(&mut rng, &mut bytes);
        }
        let range = {
            let range = bytes.as_ptr_range();
            range.start.addr()..range.end.addr()
        };
        match npy::from_buffer(Buffer::from_vec(bytes).unwrap()) {
            Ok(array) => {
                coverage.note("an array");
                let start = array.as_ptr().addr();
                assert!(range.start <= start && start + array.nbytes() <= range.end, "{array:?}");
                touch(&array, &mut rng);
            }
            Err(error) => {
                coverage.note_if(error.is_malformed(), "malformed");
                coverage.note_if(error.is_unsupported(), "unsupported");
                assert!(!error.is_bounds() && !error.is_conflict() && !error.is_io(), "{error:?}");
            }
        }
    }
    println!("{coverage}");
    coverage.assert_at_least(0.1, ["an array", "malformed"]);
    coverage.assert_at_least(0.005, ["unsupported"]);
}
