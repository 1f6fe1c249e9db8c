//! Answers of Ruby's MemoryView about formats and items, recorded from Ruby 3.1.2 on x86-64 Linux.
//! The current development version gives the same ones.
//!
//! Where the recorded answer is a known bug of the original, the sound answer differs.
//! [`DEVIATIONS`] lists these cases, and [`check_formats`] enforces the list: every difference must
//! be in it, and every entry must differ.

use serde_json::Value;

/// Contiguous strides, contiguity and item pointers of the original, as they were recorded.
pub(crate) const LAYOUTS: &str = include_str!("../vectors/memory_view_layouts.json");
const FORMATS: &str = include_str!("../vectors/memory_view_formats.json");
const ITEMS: &str = include_str!("../vectors/memory_view_items.json");

/// A format, and the answer of the original's parser.
#[derive(Clone, Debug)]
pub struct Format {
    /// The input.
    pub format: String,
    /// The output.
    pub answer: Answer,
    /// Whether the answer wraps, and no components were recorded.
    pub wraps: bool,
    /// Whether the original's components are corrupt; recorded are those of the same format without
    /// white space.
    pub corrupt: bool,
}

/// The answer of a parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The size of an item, and the components if they were requested.
    Item(i128, Option<Vec<Component>>),
    /// The position of the invalid part.
    ErrorAt(usize),
}

/// A component, field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The letter.
    pub format: u8,
    /// Whether the format requests C's native size.
    pub native_size: bool,
    /// Whether the least significant byte comes first.
    pub little_endian: bool,
    /// The offset in the item, in bytes.
    pub offset: usize,
    /// The size, in bytes.
    pub size: usize,
    /// The number of repetitions.
    pub repeat: usize,
}

/// An item, and the values that the original reads from it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The format of the item.
    pub format: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The values.
    pub value: Extracted,
}

/// The values that the original reads from an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// Nothing: there are no components.
    Nil,
    /// The single number.
    One(Number),
    /// All numbers.
    List(Vec<Number>),
}

/// A number; a float by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// An integer of any type.
    Int(i128),
    /// The bits of a double.
    Float(u64),
}

/// Wrong answers of the original, and the reason.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// A short name.
    pub id: &'static str,
    /// The bug.
    pub bug: &'static str,
    /// The formats concerned, and their sound answers.
    pub formats: &'static [(&'static str, Sound)],
}

/// The sound answer where the original is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sound {
    /// An error at this place.
    ErrorAt(usize),
    /// The recorded answer for the same format without white space.
    AsRecorded,
}

/// Each bug of the original's parser that a recorded format triggers.
pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        id: "count-overflow",
        bug: "the digits of a count, and the bytes of one part, are computed without a look at overflow, so that sizes are negative, zero or arbitrary",
        formats: &[
            ("c9223372036854775808", Sound::ErrorAt(0)),
            ("c18446744073709551615", Sound::ErrorAt(0)),
            ("c99999999999999999999", Sound::ErrorAt(0)),
            ("q2305843009213693952", Sound::ErrorAt(0)),
        ],
    },
    Deviation {
        id: "total-overflow",
        bug: "the bytes of all parts are summed up without a look at overflow, so that sizes are negative and no error is reported",
        formats: &[
            ("|c9223372036854775807q", Sound::ErrorAt(21)),
            ("x9223372036854775807x", Sound::ErrorAt(20)),
        ],
    },
    Deviation {
        id: "whitespace-components",
        bug: "components are counted without white space and written with it, beyond the end of what was allocated",
        formats: &[
            (" ", Sound::AsRecorded),
            (" d", Sound::AsRecorded),
            ("c\tC", Sound::AsRecorded),
            ("|\tcq", Sound::AsRecorded),
            ("d\t", Sound::AsRecorded),
            ("c\nC", Sound::AsRecorded),
            ("|\ncq", Sound::AsRecorded),
            ("d\n", Sound::AsRecorded),
            ("c\x0bC", Sound::AsRecorded),
            ("\x0bd", Sound::AsRecorded),
            ("\x0c", Sound::AsRecorded),
            ("|\x0ccq", Sound::AsRecorded),
            ("\x0cd", Sound::AsRecorded),
            ("d\x0c", Sound::AsRecorded),
            ("c\rC", Sound::AsRecorded),
            ("|\rcq", Sound::AsRecorded),
            ("\rd", Sound::AsRecorded),
            ("d\r", Sound::AsRecorded),
            ("c c", Sound::AsRecorded),
            ("| i q c", Sound::AsRecorded),
            ("i  q", Sound::AsRecorded),
            ("d\td", Sound::AsRecorded),
        ],
    },
];

/// The deviation of a format.
pub fn deviation(format: &str) -> Option<(&'static Deviation, Sound)> {
    DEVIATIONS.iter().find_map(|deviation| {
        let (_, sound) = deviation.formats.iter().find(|(concerned, _)| *concerned == format)?;
        Some((deviation, *sound))
    })
}

/// Asserts that a parser answers each recorded format as the original does, except for
/// [`DEVIATIONS`], where it must give the sound answer.
///
/// # Panics
///
/// With the format, where it does not; and where an entry of the list matches no recorded format,
/// or no wrong answer.
pub fn check_formats(mut parse: impl FnMut(&str) -> Answer) {
    let formats = formats();
    for Format { format, answer, wraps, corrupt } in &formats {
        let ours = parse(format);
        match deviation(format) {
            Some((Deviation { id, .. }, Sound::ErrorAt(offset))) => {
                assert!(wraps, "{id}: {format:?} is none that wraps around");
                assert_eq!(ours, Answer::ErrorAt(offset), "{id}: {format:?}");
                assert_ne!(ours, *answer, "{id}: {format:?} is answered as by the original");
            }
            Some((Deviation { id, .. }, Sound::AsRecorded)) => {
                assert!(corrupt, "{id}: the components of {format:?} are not damaged");
                assert_eq!(ours, *answer, "{id}: {format:?}");
            }
            None => {
                assert!(!corrupt, "{format:?} damages memory in the original, and is no known deviation");
                match (&ours, answer) {
                    // No components were recorded.
                    (Answer::Item(ours, Some(_)), Answer::Item(theirs, None)) if *wraps => {
                        assert_eq!(ours, theirs, "{format:?}");
                    }
                    _ => assert_eq!(ours, *answer, "{format:?}"),
                }
            }
        }
    }
    for Deviation { id, formats: concerned, .. } in DEVIATIONS {
        assert!(!concerned.is_empty(), "{id} concerns nothing");
        for (format, _) in *concerned {
            assert!(formats.iter().any(|known| known.format == *format), "{id}: {format:?} was not recorded");
        }
    }
}

/// The recorded formats.
///
/// # Panics
///
/// If the record has an unknown structure.
pub fn formats() -> Vec<Format> {
    let component = |value: &Value| Component {
        format: value["format"].as_str().unwrap().as_bytes()[0],
        native_size: value["native_size_p"].as_bool().unwrap(),
        little_endian: value["little_endian_p"].as_bool().unwrap(),
        offset: index(&value["offset"]),
        size: index(&value["size"]),
        repeat: index(&value["repeat"]),
    };
    let format = |value: &Value| Format {
        format: value["format"].as_str().unwrap().to_owned(),
        answer: match (value["item_size"].as_i64(), value["error_offset"].as_u64()) {
            (Some(size), None) => Answer::Item(
                size.into(),
                value["components"].as_array().map(|list| list.iter().map(component).collect()),
            ),
            (None, Some(offset)) => Answer::ErrorAt(offset as usize),
            other => panic!("a format with {other:?}"),
        },
        wraps: value.get("oracle_wraps").is_some(),
        corrupt: value.get("oracle_components_corrupt").is_some(),
    };
    vectors(FORMATS).iter().map(format).collect()
}

/// The recorded items.
///
/// # Panics
///
/// If the record has an unknown structure.
pub fn items() -> Vec<Item> {
    let number = |value: &Value| match (value["int"].as_str(), value["f64_bits"].as_str()) {
        (Some(digits), None) => Number::Int(digits.parse().unwrap()),
        (None, Some(bits)) => Number::Float(u64::from_str_radix(bits, 16).unwrap()),
        other => panic!("a number with {other:?}"),
    };
    let item = |value: &Value| Item {
        format: value["format"].as_str().unwrap().to_owned(),
        bytes: bytes(value["bytes_hex"].as_str().unwrap()),
        value: match &value["value"] {
            Value::Null => Extracted::Nil,
            Value::Array(list) => Extracted::List(list.iter().map(number).collect()),
            one => Extracted::One(number(one)),
        },
    };
    vectors(ITEMS).iter().map(item).collect()
}

fn vectors(text: &str) -> Vec<Value> {
    let mut record: Value = serde_json::from_str(text).unwrap();
    match record["vectors"].take() {
        Value::Array(vectors) => vectors,
        other => panic!("no list of vectors, but {other}"),
    }
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
