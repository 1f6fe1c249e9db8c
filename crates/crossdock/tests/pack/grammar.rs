//! Valid templates, and the errors of invalid ones.

use crate::oracle::{self, Answer};
use crossdock::Error;
use crossdock::bindings::dialect::pack;
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

fn ours(format: &[u8]) -> Answer {
    let mut components = Vec::new();
    let each = pack::parse_each(format, |component| components.push(component));
    assert_eq!(pack::item_size(format), each, "{}", format.escape_ascii());
    match (pack::parse(format), each) {
        (Ok(template), Ok(item_size)) => {
            assert_eq!((template.item_size(), template.components()), (item_size, components.as_slice()));
            Answer::Item(item_size as i128, components)
        }
        (Err(error), Err(same)) => {
            assert_eq!(error, same);
            Answer::ErrorAt(error.offset())
        }
        (parsed, each) => panic!("{}: {parsed:?}, but {each:?}", format.escape_ascii()),
    }
}

#[test]
fn templates_are_read_as_a_naive_reader_does() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..crate::cases() {
        let mut format = oracle::template(&mut rng, false);
        while rng.u8(0..3) == 0 {
            format = oracle::damaged(&mut rng, format);
        }
        let answer = ours(&format);
        assert_eq!(answer, oracle::read(&format), "{}", format.escape_ascii());
        coverage.case();
        coverage.note_if(format.starts_with(b"|"), "aligned");
        coverage.note_if(format.iter().any(u8::is_ascii_whitespace), "white space");
        match answer {
            Answer::ErrorAt(_) => {
                let overflow = Error::from(pack::parse(&format).unwrap_err()).is_overflow();
                coverage.note(if overflow { "overflow" } else { "malformed" });
            }
            Answer::Item(size, components) => {
                coverage.note("template");
                coverage.note_if(size > 1 << 40, "huge");
                coverage.note_if(components.len() > 6, "many components");
                coverage
                    .note_if(components.iter().any(|component| component.repeat == 0), "none of a component");
                coverage.note_if(components.iter().any(|component| component.native_size), "native sizes");
                coverage.note_if(components.iter().any(|component| !component.little_endian), "big-endian");
            }
        }
    }
    println!("{coverage}");
    if crate::cases() >= crate::CASES {
        let common = [
            "aligned",
            "white space",
            "malformed",
            "template",
            "none of a component",
            "native sizes",
            "big-endian",
        ];
        coverage.assert_at_least(0.1, common);
        coverage.assert_at_least(0.02, ["overflow", "huge", "many components"]);
    }
}

#[test]
fn every_short_text_is_read_as_a_naive_reader_does() {
    // All texts of three bytes, from meaningful and some meaningless ones.
    let bytes = b"|cxslqjnfdE!_<>019 \x0b\0?*\xff";
    let mut format = Vec::new();
    for number in 0..bytes.len().pow(3) {
        for len in 0..=3 {
            format.clear();
            format.extend((0..len).map(|place| bytes[number / bytes.len().pow(place) % bytes.len()]));
            assert_eq!(ours(&format), oracle::read(&format), "{}", format.escape_ascii());
        }
    }
}

#[test]
fn the_largest_items_are_items_and_one_byte_more_is_an_error() {
    let largest = isize::MAX as usize;
    for (format, size) in [
        (format!("c{largest}"), largest),
        (format!("x{largest}c0"), largest),
        (format!("q{}", largest / 8), largest / 8 * 8),
        (format!("|qc{}", largest / 8 * 8 - 8), largest / 8 * 8),
        (format!("{}c{largest}", " ".repeat(100)), largest),
        (format!("c{}{largest}", "0".repeat(100)), largest),
    ] {
        assert_eq!(pack::item_size(format.as_bytes()), Ok(size), "{format}");
    }
    for (format, offset) in [
        (format!("c{}", largest + 1), 0),
        (format!("c{largest}x"), 20),
        (format!("x{largest}|"), 20),
        (format!("q{}", largest / 8 + 1), 0),
        // The item itself has room, but not up to the alignment of its last part, or of itself.
        (format!("|c{largest}d0"), 21),
        (format!("|qc{}", largest - 8), 2),
        (format!("q{}", u64::MAX), 0),
        ("cc".to_owned() + &"9".repeat(10_000), 1),
        (format!("q{}!", "9".repeat(40)), 0),
    ] {
        let error = pack::parse(format.as_bytes()).unwrap_err();
        assert_eq!(error.offset(), offset, "{format}: {error}");
        assert!(error.to_string().starts_with(&format!("byte {offset} of the item format: ")), "{error}");
    }
    assert!(Error::from(pack::parse(b"q99999999999999999999").unwrap_err()).is_overflow());
}

#[test]
fn an_error_says_what_is_wrong_and_where() {
    for (format, text) in [
        (&b"ccc4a"[..], "byte 4 of the item format: 'a' is not a letter of pack templates"),
        (b"c\xff", "byte 1 of the item format: '\\xff' is not a letter of pack templates"),
        (b"d\0", "byte 1 of the item format: '\\x00' is not a letter of pack templates"),
        (b"3c", "byte 0 of the item format: '3' is not a letter of pack templates"),
        (b"cd<", "byte 1 of the item format: 'd' does not take the modifier '<'"),
        (b"x!", "byte 0 of the item format: 'x' does not take the modifier '!'"),
        (b"|cq<_>", "byte 2 of the item format: 'q' has two byte orders; give one"),
    ] {
        let error = pack::parse(format).unwrap_err();
        assert_eq!(error.to_string(), text);
        let error = Error::from(error);
        assert!(error.is_malformed() && error.to_string() == text, "{error}");
    }
}

#[test]
fn components_of_one_number_are_constants_and_others_are_not() {
    for format in [&b"d"[..], b"c", b"q>", b"l!<", b"n", b" s_1 ", b"fx4", b"", b"|", b"x9"] {
        let template = pack::parse(format).unwrap();
        let constant = template.as_static().unwrap_or_else(|| panic!("{}", format.escape_ascii()));
        assert_eq!(constant, template.components());
        let again = pack::parse(format).unwrap();
        assert_eq!(constant.as_ptr(), again.as_static().unwrap().as_ptr(), "{}", format.escape_ascii());
    }
    for format in [&b"dd"[..], b"d2", b"d0", b"xd", b"ccccccccc"] {
        let template = pack::parse(format).unwrap();
        assert!(template.as_static().is_none(), "{}", format.escape_ascii());
    }
}

#[test]
fn any_number_of_components_is_kept() {
    for len in (0..20).chain([1000, 100_000]) {
        let format = "s>".repeat(len);
        let template = pack::parse(format.as_bytes()).unwrap();
        assert_eq!(template.components().len(), len);
        for (index, component) in template.components().iter().enumerate() {
            assert_eq!((component.offset, component.size, component.little_endian), (2 * index, 2, false));
        }
    }
}
