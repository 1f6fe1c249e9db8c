//! The grammar: one pass over the bytes.

use crate::element::ByteOrder;
use crate::element::dialect::pack::component::{Component, MAX_ITEM_SIZE};
use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::letters::{Letter, LetterClass, LetterOrder, letter};

/// Reads a template from byte `at` on, where the item so far has `end` bytes, passes each further
/// component to `found` in order, and returns the size of an item. The bytes before are letters of
/// numbers. On an error, components passed before are void.
#[inline(always)]
pub(super) fn walk(
    format: &[u8],
    mut at: usize,
    mut end: usize,
    mut found: impl FnMut(Component),
) -> Result<usize, FormatError> {
    // This mark is no letter, so nothing was read before it.
    let aligned = format.first() == Some(&b'|');
    at += usize::from(aligned);
    // The last part, and the strictest alignment so far.
    let (mut start, mut strictest) = (at, 1);
    while let Some(&byte) = format.get(at) {
        let letter = letter(byte);
        match letter.class {
            LetterClass::Number | LetterClass::Padding => start = at,
            LetterClass::Space => {
                at += 1;
                continue;
            }
            LetterClass::Suffix | LetterClass::Unknown => {
                return Err(FormatError::new(at, Cause::Unknown(byte)));
            }
        }
        let suffix = Suffix::read(format, start, letter)?;
        at = suffix.end;
        let width = &letter.widths[usize::from(suffix.native)];
        let (size, alignment) = (usize::from(width.size), usize::from(width.alignment));
        let offset = if aligned { round_up(end, alignment) } else { end };
        // `offset` is at most one alignment beyond what an item may have, and nothing overflows.
        match size.checked_mul(suffix.repeat) {
            Some(nbytes) if offset <= MAX_ITEM_SIZE && nbytes <= MAX_ITEM_SIZE - offset => {
                end = offset + nbytes
            }
            _ => return Err(FormatError::new(start, Cause::Overflow)),
        }
        if letter.class == LetterClass::Number {
            strictest = strictest.max(alignment);
            let component = Component {
                format: byte,
                native_size: suffix.native,
                little_endian: suffix.order == ByteOrder::Little,
                offset,
                size,
                repeat: suffix.repeat,
            };
            found(component);
        }
    }
    if aligned {
        end = round_up(end, strictest);
        if end > MAX_ITEM_SIZE {
            return Err(FormatError::new(start, Cause::Overflow));
        }
    }
    Ok(end)
}

/// The next multiple of a power of two, for what is at most `isize::MAX`.
#[inline(always)]
fn round_up(offset: usize, alignment: usize) -> usize {
    (offset + (alignment - 1)) & !(alignment - 1)
}

/// The modifiers and the count after a letter.
struct Suffix {
    native: bool,
    order: ByteOrder,
    repeat: usize,
    /// The end of the part.
    end: usize,
}

impl Suffix {
    /// Reads the suffix of the letter at `start`.
    #[inline(always)]
    fn read(format: &[u8], start: usize, of: &Letter) -> Result<Self, FormatError> {
        let none = Self { native: false, order: of.order.without_marks(), repeat: 1, end: start + 1 };
        match format.get(none.end) {
            // Most letters stand alone.
            Some(&next) if letter(next).class == LetterClass::Suffix => none.modified(format, start, of),
            _ => Ok(none),
        }
    }

    #[inline(always)]
    fn modified(self, format: &[u8], start: usize, of: &Letter) -> Result<Self, FormatError> {
        let Self { mut native, mut order, mut repeat, end: mut at } = self;
        let mut is_ordered = false;
        while let Some(&modifier @ (b'!' | b'_' | b'<' | b'>')) = format.get(at) {
            if of.order != LetterOrder::Marked {
                return Err(FormatError::new(start, Cause::Modifier(format[start], modifier)));
            }
            match modifier {
                b'!' | b'_' => native = true,
                _ if is_ordered => return Err(FormatError::new(start, Cause::TwoOrders(format[start]))),
                mark => {
                    is_ordered = true;
                    order = if mark == b'<' { ByteOrder::Little } else { ByteOrder::Big };
                }
            }
            at += 1;
        }
        if let Some(b'0'..=b'9') = format.get(at) {
            repeat = 0;
        }
        while let Some(&digit @ b'0'..=b'9') = format.get(at) {
            // Saturates on overflow: every part has bytes, so no valid template reaches that count.
            repeat = repeat.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
            at += 1;
        }
        Ok(Self { native, order, repeat, end: at })
    }
}
