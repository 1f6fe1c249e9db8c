//! The letters of a template and their meanings, in one list.

use crate::element::value::Word;
use crate::element::{ByteOrder, ScalarKind};
use std::ffi::{c_int, c_long, c_longlong, c_short};

/// The meaning of a byte.
#[derive(Clone, Copy)]
pub(super) struct Letter {
    pub(super) class: Class,
    /// The byte order of a number, and whether marks can set it.
    pub(super) order: Order,
    /// The portable width of the letter, and C's own width, which `!` requests.
    pub(super) widths: [Width; 2],
    /// Its index among the letters of numbers.
    pub(super) index: u8,
}

/// The class of a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
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
    pub(super) word: Word,
    /// In bytes.
    pub(super) size: u8,
    /// The alignment under `|`, as in a C struct.
    pub(super) alignment: u8,
}

/// The byte order of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Set by the marks `<` and `>`, native otherwise. Only these letters also accept `!`.
    Marked,
    /// Fixed by the letter; marks are errors.
    Fixed(ByteOrder),
}

impl Order {
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
        (1, true) => Word::Int8,
        (1, false) => Word::UInt8,
        (2, true) => Word::Int16,
        (2, false) => Word::UInt16,
        (4, true) => Word::Int32,
        (4, false) => Word::UInt32,
        (8, true) => Word::Int64,
        (8, false) => Word::UInt64,
        _ => panic!("C has integers of 1, 2, 4 and 8 bytes"),
    };
    Width { word, size: size_of::<T>() as u8, alignment: align_of::<T>() as u8 }
}

const FLOAT: Width = Width { word: Word::Float32, size: 4, alignment: align_of::<f32>() as u8 };
const DOUBLE: Width = Width { word: Word::Float64, size: 8, alignment: align_of::<f64>() as u8 };

const NATIVE: Order = Order::Fixed(ByteOrder::NATIVE);
const LITTLE: Order = Order::Fixed(ByteOrder::Little);
const BIG: Order = Order::Fixed(ByteOrder::Big);

/// Letter, width, width with `!`, order. `c` is signed on every machine, unlike C's `char`. Of
/// several equivalent letters, the first is written.
const NUMBERS: [(u8, Width, Width, Order); COUNT] = [
    (b'c', width::<i8>(true), width::<i8>(true), NATIVE),
    (b'C', width::<u8>(false), width::<u8>(false), NATIVE),
    (b's', width::<i16>(true), width::<c_short>(true), Order::Marked),
    (b'S', width::<i16>(false), width::<c_short>(false), Order::Marked),
    (b'l', width::<i32>(true), width::<c_long>(true), Order::Marked),
    (b'L', width::<i32>(false), width::<c_long>(false), Order::Marked),
    (b'q', width::<i64>(true), width::<c_longlong>(true), Order::Marked),
    (b'Q', width::<i64>(false), width::<c_longlong>(false), Order::Marked),
    (b'i', width::<c_int>(true), width::<c_int>(true), Order::Marked),
    (b'I', width::<c_int>(false), width::<c_int>(false), Order::Marked),
    (b'j', width::<isize>(true), width::<isize>(true), Order::Marked),
    (b'J', width::<isize>(false), width::<isize>(false), Order::Marked),
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
    let other = Letter { class: Class::Unknown, order: NATIVE, widths: [byte, byte], index: 0 };
    let mut letters = [other; 256];
    letters[b'x' as usize].class = Class::Padding;
    let others: [(&[u8], Class); 2] =
        [(b" \t\n\x0b\x0c\r", Class::Space), (b"!_<>0123456789", Class::Suffix)];
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
            Letter { class: Class::Number, order, widths: [plain, native], index: index as u8 };
        index += 1;
    }
    letters
};

/// The table entry of a byte.
#[inline(always)]
pub(super) fn letter(byte: u8) -> &'static Letter {
    &LETTERS[usize::from(byte)]
}

/// The letter of a number by its place, and its two widths.
pub(super) const fn number(index: usize) -> (u8, [Width; 2]) {
    let (letter, plain, native, _) = NUMBERS[index];
    (letter, [plain, native])
}

/// The letter that is written for a number, and the mark of its byte order where it needs one.
pub(super) fn spelling(kind: ScalarKind, order: ByteOrder) -> Option<(char, Option<char>)> {
    let own = Order::Fixed(order);
    let means = |(_, width, _, said): &&(u8, Width, Width, Order)| {
        width.word.kind() == kind && (*said == own || *said == Order::Marked)
    };
    let (letter, _, _, said) = NUMBERS.iter().find(means)?;
    let mark = *said == Order::Marked && order != ByteOrder::NATIVE;
    Some((char::from(*letter), mark.then(|| order.symbol())))
}
