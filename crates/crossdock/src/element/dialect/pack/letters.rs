//! The letters of a template and their meanings, in one list.

use crate::element::value::RegisterKind;
use crate::element::{ByteOrder, ScalarKind};
use std::ffi::{c_int, c_long, c_longlong, c_short};

/// The meaning of a byte.
#[derive(Clone, Copy)]
pub(super) struct Letter {
    pub(super) class: LetterClass,
    /// The byte order of a number, and whether marks can set it.
    pub(super) order: LetterOrder,
    /// The portable width of the letter, and C's own width, which `!` requests.
    pub(super) widths: [Width; 2],
    /// Its index among the letters of numbers.
    pub(super) index: u8,
}

/// The class of a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterClass {
    /// Not valid in a template.
    Unknown,
    /// White space, which is ignored.
    Space,
    /// Bytes that are not read.
    Padding,
    /// A number.
    Number,
    /// A modifier or a digit, valid only after a letter.
    Suffix,
}

/// The width of a number.
#[derive(Clone, Copy)]
pub(super) struct Width {
    pub(super) word: RegisterKind,
    /// In bytes.
    pub(super) size: u8,
    /// The alignment under `|`, as in a C struct.
    pub(super) alignment: u8,
}

/// The byte order of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterOrder {
    /// Set by the marks `<` and `>`, native otherwise. Only these letters also accept `!`.
    Marked,
    /// Fixed by the letter; marks are errors.
    Fixed(ByteOrder),
}

impl LetterOrder {
    /// The order of a number without a mark.
    #[inline(always)]
    pub(super) const fn without_marks(self) -> ByteOrder {
        match self {
            Self::Marked => ByteOrder::NATIVE,
            Self::Fixed(order) => order,
        }
    }
}

const fn width<T>(signed: bool) -> Width {
    let word = match (size_of::<T>(), signed) {
        (1, true) => RegisterKind::Int8,
        (1, false) => RegisterKind::UInt8,
        (2, true) => RegisterKind::Int16,
        (2, false) => RegisterKind::UInt16,
        (4, true) => RegisterKind::Int32,
        (4, false) => RegisterKind::UInt32,
        (8, true) => RegisterKind::Int64,
        (8, false) => RegisterKind::UInt64,
        _ => panic!("C has integers of 1, 2, 4 and 8 bytes"),
    };
    Width { word, size: size_of::<T>() as u8, alignment: align_of::<T>() as u8 }
}

const FLOAT: Width = Width { word: RegisterKind::Float32, size: 4, alignment: align_of::<f32>() as u8 };
const DOUBLE: Width = Width { word: RegisterKind::Float64, size: 8, alignment: align_of::<f64>() as u8 };

const NATIVE: LetterOrder = LetterOrder::Fixed(ByteOrder::NATIVE);
const LITTLE: LetterOrder = LetterOrder::Fixed(ByteOrder::Little);
const BIG: LetterOrder = LetterOrder::Fixed(ByteOrder::Big);

/// Letter, width, width with `!`, order. `c` is signed on every machine, unlike C's `char`. Of
/// several equivalent letters, the first is written.
const NUMBERS: [(u8, Width, Width, LetterOrder); COUNT] = [
    (b'c', width::<i8>(true), width::<i8>(true), NATIVE),
    (b'C', width::<u8>(false), width::<u8>(false), NATIVE),
    (b's', width::<i16>(true), width::<c_short>(true), LetterOrder::Marked),
    (b'S', width::<i16>(false), width::<c_short>(false), LetterOrder::Marked),
    (b'l', width::<i32>(true), width::<c_long>(true), LetterOrder::Marked),
    (b'L', width::<i32>(false), width::<c_long>(false), LetterOrder::Marked),
    (b'q', width::<i64>(true), width::<c_longlong>(true), LetterOrder::Marked),
    (b'Q', width::<i64>(false), width::<c_longlong>(false), LetterOrder::Marked),
    (b'i', width::<c_int>(true), width::<c_int>(true), LetterOrder::Marked),
    (b'I', width::<c_int>(false), width::<c_int>(false), LetterOrder::Marked),
    (b'j', width::<isize>(true), width::<isize>(true), LetterOrder::Marked),
    (b'J', width::<isize>(false), width::<isize>(false), LetterOrder::Marked),
    (b'n', width::<u16>(false), width::<u16>(false), BIG),
    (b'v', width::<u16>(false), width::<u16>(false), LITTLE),
    (b'N', width::<u32>(false), width::<u32>(false), BIG),
    (b'V', width::<u32>(false), width::<u32>(false), LITTLE),
    (b'f', FLOAT, FLOAT, NATIVE),
    (b'e', FLOAT, FLOAT, LITTLE),
    (b'g', FLOAT, FLOAT, BIG),
    (b'd', DOUBLE, DOUBLE, NATIVE),
    (b'E', DOUBLE, DOUBLE, LITTLE),
    (b'G', DOUBLE, DOUBLE, BIG),
];

/// The number of letters for numbers.
pub(super) const COUNT: usize = 22;

/// The meaning of each byte.
static LETTERS: [Letter; 256] = {
    let byte = width::<u8>(false);
    let other = Letter { class: LetterClass::Unknown, order: NATIVE, widths: [byte, byte], index: 0 };
    let mut letters = [other; 256];
    letters[b'x' as usize].class = LetterClass::Padding;
    let others: [(&[u8], LetterClass); 2] =
        [(b" \t\n\x0b\x0c\r", LetterClass::Space), (b"!_<>0123456789", LetterClass::Suffix)];
    let mut index = 0;
    while index < others.len() {
        let (mut bytes, class) = others[index];
        while let [byte, rest @ ..] = bytes {
            letters[*byte as usize].class = class;
            bytes = rest;
        }
        index += 1;
    }
    index = 0;
    while index < COUNT {
        let (letter, plain, native, order) = NUMBERS[index];
        letters[letter as usize] =
            Letter { class: LetterClass::Number, order, widths: [plain, native], index: index as u8 };
        index += 1;
    }
    letters
};

/// The table entry of a byte.
#[inline(always)]
pub(super) const fn letter(byte: u8) -> &'static Letter {
    &LETTERS[byte as usize]
}

/// The letter of a number by its place, and its two widths.
pub(super) const fn number(index: usize) -> (u8, [Width; 2]) {
    let (letter, plain, native, _) = NUMBERS[index];
    (letter, [plain, native])
}

/// The letter that is written for a number, and the mark of its byte order where it needs one.
pub(super) fn spelling(kind: ScalarKind, order: ByteOrder) -> Option<(char, Option<char>)> {
    let own = LetterOrder::Fixed(order);
    let means = |(_, width, _, said): &&(u8, Width, Width, LetterOrder)| {
        width.word.kind() == kind && (*said == own || *said == LetterOrder::Marked)
    };
    let (letter, _, _, said) = NUMBERS.iter().find(means)?;
    let mark = *said == LetterOrder::Marked && order != ByteOrder::NATIVE;
    Some((char::from(*letter), mark.then(|| order.symbol())))
}
