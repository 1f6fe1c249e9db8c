//! The letters of a template: the one list of what each of them means.

use crate::element::ByteOrder;
use crate::element::value::Word;
use std::ffi::{c_int, c_long, c_longlong, c_short};

/// What a byte is where a letter could stand.
#[derive(Clone, Copy)]
pub(super) enum Letter {
    /// Nothing that a template has there.
    Unknown,
    /// White space, which separates nothing and means nothing.
    Space,
    /// `x`: bytes of which nothing is read.
    Padding,
    /// A number.
    Number(Number),
}

/// What a letter of a number means.
#[derive(Clone, Copy)]
pub(super) struct Number {
    /// Of the width that the letter has everywhere, and of C's own, which `!` asks for.
    pub(super) widths: [Width; 2],
    /// How its bytes lie, and whether that can be said.
    pub(super) order: Order,
    /// Its place among the letters of numbers.
    pub(super) index: u8,
}

/// How wide a number is.
#[derive(Clone, Copy)]
pub(super) struct Width {
    pub(super) word: Word,
    /// What `|` aligns it to: as C does in a struct.
    pub(super) alignment: u8,
}

/// How the bytes of a number lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As the marks `<` and `>` say, or as the machine has them. These letters alone take `!`, too.
    Marked,
    /// The letter says it; nothing may be said beside it.
    Fixed(ByteOrder),
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
    Width { word, alignment: align_of::<T>() as u8 }
}

const FLOAT: Width = Width { word: Word::Float32, alignment: align_of::<f32>() as u8 };
const DOUBLE: Width = Width { word: Word::Float64, alignment: align_of::<f64>() as u8 };

const NATIVE: Order = Order::Fixed(ByteOrder::NATIVE);
const LITTLE: Order = Order::Fixed(ByteOrder::Little);
const BIG: Order = Order::Fixed(ByteOrder::Big);

/// Letter, width, width behind `!`, order. `c` is signed on every machine, whatever C's own `char` is there.
const NUMBERS: [(u8, Width, Width, Order); COUNT] = [
    (b'c', width::<i8>(true), width::<i8>(true), NATIVE),
    (b'C', width::<u8>(false), width::<u8>(false), NATIVE),
    (b's', width::<i16>(true), width::<c_short>(true), Order::Marked),
    (b'S', width::<i16>(false), width::<c_short>(false), Order::Marked),
    (b'i', width::<c_int>(true), width::<c_int>(true), Order::Marked),
    (b'I', width::<c_int>(false), width::<c_int>(false), Order::Marked),
    (b'l', width::<i32>(true), width::<c_long>(true), Order::Marked),
    (b'L', width::<i32>(false), width::<c_long>(false), Order::Marked),
    (b'q', width::<i64>(true), width::<c_longlong>(true), Order::Marked),
    (b'Q', width::<i64>(false), width::<c_longlong>(false), Order::Marked),
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

/// How many letters there are for numbers.
pub(super) const COUNT: usize = 22;

/// What each byte is.
static LETTERS: [Letter; 256] = {
    let mut letters = [Letter::Unknown; 256];
    letters[b'x' as usize] = Letter::Padding;
    let spaces = b" \t\n\x0b\x0c\r";
    let mut index = 0;
    while index < spaces.len() {
        letters[spaces[index] as usize] = Letter::Space;
        index += 1;
    }
    index = 0;
    while index < COUNT {
        let (letter, plain, native, order) = NUMBERS[index];
        letters[letter as usize] =
            Letter::Number(Number { widths: [plain, native], order, index: index as u8 });
        index += 1;
    }
    letters
};

/// What a byte is where a letter could stand.
#[inline(always)]
pub(super) fn letter(byte: u8) -> &'static Letter {
    &LETTERS[usize::from(byte)]
}

/// The number that a letter means, if it means one.
#[inline(always)]
pub(super) fn number(byte: u8) -> Option<&'static Number> {
    match letter(byte) {
        Letter::Number(number) => Some(number),
        _ => None,
    }
}

/// The letter of each number, by its place.
pub(super) const fn at(index: usize) -> (u8, Number) {
    let (letter, plain, native, order) = NUMBERS[index];
    (letter, Number { widths: [plain, native], order, index: index as u8 })
}
