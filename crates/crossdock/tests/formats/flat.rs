//! PGM and PPM images, and FITS files: few bytes of header, and plain elements.

use crossdock::exchange::files::{Contents, Format, OpenOptions, SaveOptions};
use crossdock::memory::copied_bytes_here;
use crossdock::{DArray, Error};

use crate::common::{assert_says, buffer, ramp, values};

fn read(bytes: &[u8]) -> Result<Contents, Error> {
    let (bytes, before) = (buffer(bytes), copied_bytes_here());
    let contents = OpenOptions::new().read(bytes);
    assert_eq!(copied_bytes_here(), before);
    contents
}

fn opened(contents: &Contents, name: &str) -> DArray {
    contents.get(name).unwrap().open().unwrap()
}

// ===== PGM and PPM

#[test]
fn pixels_of_pgm_and_ppm_are_mapped() {
    for (header, shape, dtype, first) in [
        (&b"P5 3 2 255\n"[..], &[2, 3][..], "uint8", "1"),
        (b"P6\n# by hand # again\n2\t1\n255 ", &[1, 2, 3], "uint8", "1"),
        (b"P5\n3\n1\n65535\n", &[1, 3], ">uint16", "258"),
        (b"P6 1 1\r# \xff\r1023\n", &[1, 1, 3], ">uint16", "258"),
        (b"P5 0 7 1 ", &[7, 0], "uint8", ""),
    ] {
        let contents = read(&[header, &[1, 2, 3, 4, 5, 6]].concat()).unwrap();
        assert_eq!((contents.format(), contents.format().has_names()), (Format::Pnm, false));
        let array = contents.single().unwrap().open().unwrap();
        assert_eq!((array.shape(), &*array.dtype().to_string()), (shape, dtype));
        assert_eq!(values(&array).first().map_or("", String::as_str), first);
        let has_note = header.ends_with(b"1023\n") || header.ends_with(b" 1 ");
        assert_eq!(contents.notes().len(), usize::from(has_note), "{:?}", contents.notes());
        assert_eq!(contents.ignored().len(), usize::from(first.is_empty()));
    }
}

#[test]
fn damaged_pixels_are_refused_with_the_reason() {
    for (bytes, words) in [
        (&b"P5 3 2 255\n12345"[..], "2 × 3 pixels of 1 × uint8 begin at byte 11, but the file has 16 bytes"),
        (b"P5 3 -2 255\n", "byte 5 of its header is \"-\""),
        (b"P5 3 2 0\n", "its greatest value is 0"),
        (b"P5 3 2 65536\n", "its greatest value is 65536"),
        (b"P5 4294967296 1 1\n", "a number of its header is too large"),
        (b"P6 4294967295 4294967295 65535\n", "the header is damaged"),
        (b"P5 3 2", "the file is truncated"),
        (b"P5", "the file is truncated"),
    ] {
        let error = read(bytes).unwrap_err();
        assert!(error.is_malformed(), "{error:?}");
        assert_says(&error, &[words]);
    }
    let comments = [&b"P5 #"[..], &[b'x'; 70_000]].concat();
    assert_says(&read(&comments).unwrap_err(), &["its header has more than 65536 bytes"]);
    let error = OpenOptions::new().format(Format::Pnm).read(buffer(b"P3 1 1 1 0 0 0")).unwrap_err();
    assert!(error.is_unsupported());
    assert_says(&error, &["of the kind P3", "only P5 and P6 are supported"]);
}

// ===== FITS

/// A header of these cards in whole blocks, and data.
fn unit(cards: &[&str], data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for card in cards.iter().chain(&["END"]) {
        bytes.extend(format!("{card:<80}").bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(2880), 0);
    bytes
}

fn primary(more: &[&str], data: &[u8]) -> Vec<u8> {
    unit(&[&["SIMPLE  =                    T / standard"], more].concat(), data)
}

fn image(bitpix: i32, more: &[&str]) -> Vec<u8> {
    let bitpix = format!("BITPIX  = {bitpix:>20}");
    let axes =
        ["NAXIS   = 2", "NAXIS1  =                    3 / the fastest", "NAXIS2  =                    1"];
    let data: Vec<u8> = (1..=24).collect();
    primary(&[&[&*bitpix], &axes[..], more].concat(), &data[..3 * (bitpix_bytes(&bitpix))])
}

fn bitpix_bytes(card: &str) -> usize {
    card.split('=').next_back().unwrap().trim().parse::<i32>().unwrap().unsigned_abs() as usize / 8
}

#[test]
fn units_of_a_fits_file_are_arrays_under_their_names() {
    for (bitpix, dtype) in
        [(8, "uint8"), (16, ">int16"), (32, ">int32"), (64, ">int64"), (-32, ">float32"), (-64, ">float64")]
    {
        let contents = read(&image(bitpix, &[])).unwrap();
        assert_eq!((contents.format(), contents.notes().len()), (Format::Fits, 0));
        let array = opened(&contents, "PRIMARY");
        assert_eq!((array.shape(), &*array.dtype().to_string()), (&[1, 3][..], dtype));
    }
    assert_eq!(values(&opened(&read(&image(16, &[])).unwrap(), "PRIMARY")), ["258", "772", "1286"]);
    let extension = |name: &str, more: &[&str]| {
        let named = format!("EXTNAME = '{name}'");
        let cards = ["XTENSION= 'IMAGE   '", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 2", &named];
        unit(&[&cards[..], more].concat(), &[7, 8])
    };
    let bytes = [
        primary(&["BITPIX  = 8", "NAXIS   = 0"], &[]),
        extension("SCI", &[]),
        extension("SCI", &["EXTVER  = 2"]),
        extension("it''s", &["BSCALE  = 2.5D0", "BZERO   = 1"]),
        extension("", &[]),
    ]
    .concat();
    let contents = read(&bytes).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["SCI", "SCI,2", "it's", "4"]);
    assert_eq!(values(&opened(&contents, "SCI,2")), ["7", "8"]);
    assert_eq!(
        contents.metadata(),
        [("it's.BSCALE", "2.5"), ("it's.BZERO", "1")].map(|(a, b)| (a.into(), b.into()))
    );
    assert!(contents.notes()[0].contains("\"it's\": the elements are as they are stored"));
}

#[test]
fn rows_of_a_fits_table_are_records() {
    let table = |forms: &[&str], row: usize, data: &[u8]| {
        let (row, fields) = (format!("NAXIS1  = {row}"), format!("TFIELDS = {}", forms.len()));
        let mut cards: Vec<String> = [
            "XTENSION= 'BINTABLE'",
            "BITPIX  = 8",
            "NAXIS   = 2",
            &row,
            "NAXIS2  = 2",
            "PCOUNT  = 0",
            "GCOUNT  = 1",
            &fields,
        ]
        .map(str::to_owned)
        .to_vec();
        for (at, form) in forms.iter().enumerate() {
            cards.push(format!("TFORM{:<3}= '{form}'", at + 1));
            cards.push(format!("TTYPE{:<3}= 'c{at}'", at + 1));
        }
        let cards: Vec<&str> = cards.iter().map(String::as_str).collect();
        read(&[primary(&["BITPIX  = 8", "NAXIS   = 0"], &[]), unit(&cards, data)].concat())
    };
    let contents =
        table(&["I", "2B", "3A", "0J", "L"], 8, b"\x01\x02\x03\x04abcT\x05\x06\x07\x08de\0F").unwrap();
    let array = opened(&contents, "1");
    assert_eq!(array.shape(), [2]);
    assert_eq!(values(&array.field("c0").unwrap()), ["258", "1286"]);
    assert_eq!(values(&array.at(".c1").unwrap()), ["3", "4", "7", "8"]);
    assert_eq!(values(&array.field("c2").unwrap()), ["b'abc'", "b'de'"]);
    assert_eq!(values(&array.field("c4").unwrap()), ["b'T'", "b'F'"]);
    for (form, words) in [("PE(3)", "variable length"), ("9X", "a column has bits")] {
        let contents = table(&["I", form], 10, &[0; 20]).unwrap();
        assert_eq!(contents.entries().len(), 0);
        assert_says(contents.refused().next().unwrap().1, &["unit \"1\": TFORM2: ", words]);
    }
    assert_says(
        &table(&["9I"], 10, &[0; 20]).unwrap_err(),
        &["column 1 of 18 bytes ends after its row of 10"],
    );
    assert_says(&table(&["?"], 10, &[0; 20]).unwrap_err(), &["TFORM1: \"?\" is not the form of a column"]);
}

#[test]
fn damaged_fits_files_are_refused_and_others_told() {
    for (bytes, words) in [
        (image(16, &[])[..2000].to_vec(), "a header takes 2880 bytes from byte 0 on, but the file has 2000"),
        (image(16, &[])[..2884].to_vec(), "the data of a unit takes 6 bytes from byte 2880 on"),
        (primary(&["BITPIX  = 9", "NAXIS   = 0"], &[]), "BITPIX is 9, and not 8, 16, 32, 64, -32 or -64"),
        (primary(&["BITPIX  = 8"], &[]), "its header has no NAXIS"),
        (primary(&["BITPIX  = 8", "NAXIS   = 1000"], &[]), "NAXIS is 1000, and at most 999 are allowed"),
        (primary(&["BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = -1"], &[]), "NAXIS1 is -1"),
        (
            primary(&["BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = x"], &[]),
            "NAXIS1 is \"x\", and not a whole number",
        ),
        (
            primary(&["BITPIX  = 64", "NAXIS   = 2", "NAXIS1  = 4294967296", "NAXIS2  = 4294967296"], &[]),
            "exceeds the address space",
        ),
        ([image(8, &[]), vec![b'x'; 2880]].concat(), "unit 1: "),
    ] {
        let error = read(&bytes).unwrap_err();
        assert!(error.is_malformed(), "{error:?}");
        assert_says(&error, &[words]);
    }
    let compressed = unit(
        &["XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 1", "ZIMAGE  = T"],
        &[0; 8],
    );
    let contents = read(&[image(8, &[]), compressed].concat()).unwrap();
    assert_eq!(contents.names().collect::<Vec<_>>(), ["PRIMARY"]);
    let (name, error) = contents.refused().next().unwrap();
    assert_eq!(name, "1");
    assert_says(error, &["it is an image whose pixels are compressed; read it with a crate for FITS files"]);
    for format in [Format::Fits, Format::Pnm] {
        let error = SaveOptions::new().format(format).write(Vec::new(), &[("a", ramp([2]))]).unwrap_err();
        assert_says(&error, &["can be opened, but not written"]);
    }
}

// ===== All of them

/// Changes a few of the bytes.
fn mutate(bytes: &mut Vec<u8>, rng: &mut fastrand::Rng) {
    for _ in 0..rng.usize(1..=4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..6) {
            0 => bytes[at] ^= 1 << rng.u8(..8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'0'][rng.usize(..6)],
            2 => bytes.truncate(at),
            3 => {
                let piece = bytes[at..(at + rng.usize(1..64)).min(bytes.len())].to_vec();
                let to = rng.usize(..=bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => drop(bytes.drain(at..(at + rng.usize(1..16)).min(bytes.len()))),
            _ => {
                let count = [2, 4, 8][rng.usize(..3)].min(bytes.len() - at);
                let number = [0, u64::MAX, 1 << 31, rng.u64(..)][rng.usize(..4)].to_le_bytes();
                bytes[at..at + count].copy_from_slice(&number[..count]);
            }
        }
    }
}

#[test]
fn mutants_are_errors_or_arrays_within_their_file() {
    let mut rng = fastrand::Rng::with_seed(crossdock_testkit::seed());
    let mut formats = vec![("fits", Format::Fits), ("pnm", Format::Pnm), ("mat", Format::Mat)];
    if cfg!(feature = "torch") {
        formats.push(("torch", Format::Torch));
    }
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (folder, format) in formats {
        let seeds = std::fs::read_dir(corpus.join(folder)).unwrap();
        let mut seeds: Vec<_> = seeds.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
        seeds.sort();
        for _ in 0..crossdock_testkit::cases(400) {
            let mut bytes = seeds[rng.usize(..seeds.len())].clone();
            mutate(&mut bytes, &mut rng);
            let file = buffer(&bytes);
            let range = file.as_ptr().addr()..file.as_ptr().addr() + file.nbytes();
            match OpenOptions::new().format(format).read(file) {
                Ok(contents) => {
                    for array in contents.entries().iter().map(|entry| entry.open().unwrap()) {
                        let span = array.layout().span();
                        let first = array.as_ptr().addr().wrapping_add_signed(span.low());
                        let is_within = range.start <= first && first + span.nbytes() <= range.end;
                        assert!(array.is_empty() || is_within, "{array:?} leaves the file");
                    }
                }
                Err(error) => assert!(error.is_malformed() || error.is_unsupported(), "{error:?}"),
            }
        }
    }
}
