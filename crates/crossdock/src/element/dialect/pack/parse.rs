//! The grammar: one pass over the bytes.

use crate::element::ByteOrder;
use crate::element::dialect::pack::error::{Cause, FormatError};
use crate::element::dialect::pack::letters::{Letter, Number, Order, letter};
use crate::element::dialect::pack::{Component, MAX_ITEM_SIZE};

/// A template that is being read.
struct Reader<'a> {
    format: &'a [u8],
    /// The byte that comes next.
    at: usize,
    /// Whether each part is aligned as C aligns it in a struct.
    aligned: bool,
    /// Where the part that was read last ends in the item. Not above [`MAX_ITEM_SIZE`].
    end: usize,
}

/// Reads a template, hands over each of its components in order, and gives the size of an item. On an error, what was
/// handed over is void.
#[inline]
pub(super) fn walk(format: &[u8], mut found: impl FnMut(Component)) -> Result<usize, FormatError> {
    let aligned = format.first() == Some(&b'|');
    let mut reader = Reader { format, at: usize::from(aligned), aligned, end: 0 };
    let (mut start, mut alignment) = (reader.at, 1);
    while let Some(byte) = reader.peek() {
        match letter(byte) {
            Letter::Number(number) => {
                start = reader.at;
                let (component, own) = reader.number(byte, number)?;
                alignment = alignment.max(own);
                found(component);
            }
            Letter::Padding => {
                start = reader.at;
                reader.padding(byte)?;
            }
            Letter::Space => reader.at += 1,
            Letter::Unknown => return Err(FormatError::new(reader.at, Cause::Unknown(byte))),
        }
    }
    if aligned {
        reader.align(alignment, start)?;
    }
    Ok(reader.end)
}

impl Reader<'_> {
    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// A letter of a number, what stands behind it, and what it is aligned to.
    #[inline(always)]
    fn number(&mut self, byte: u8, number: &Number) -> Result<(Component, usize), FormatError> {
        let start = self.at;
        self.at += 1;
        let (mut native, mut mark) = (false, None);
        while let Some(modifier @ (b'!' | b'_' | b'<' | b'>')) = self.peek() {
            if number.order != Order::Marked {
                return Err(FormatError::new(start, Cause::Modifier(byte, modifier)));
            }
            match modifier {
                b'!' | b'_' => native = true,
                _ if mark.is_some() => return Err(FormatError::new(start, Cause::TwoOrders(byte))),
                b'<' => mark = Some(ByteOrder::Little),
                _ => mark = Some(ByteOrder::Big),
            }
            self.at += 1;
        }
        let repeat = self.count(start)?;
        let order = match number.order {
            Order::Fixed(order) => order,
            Order::Marked => mark.unwrap_or(ByteOrder::NATIVE),
        };
        let width = &number.widths[usize::from(native)];
        let (size, alignment) = (width.word.size(), usize::from(width.alignment));
        if self.aligned {
            self.align(alignment, start)?;
        }
        let component = Component {
            format: byte,
            native_size: native,
            little_endian: order == ByteOrder::Little,
            offset: self.end,
            size,
            repeat,
        };
        self.advance(size, repeat, start)?;
        Ok((component, alignment))
    }

    fn padding(&mut self, byte: u8) -> Result<(), FormatError> {
        let start = self.at;
        self.at += 1;
        if let Some(modifier @ (b'!' | b'_' | b'<' | b'>')) = self.peek() {
            return Err(FormatError::new(start, Cause::Modifier(byte, modifier)));
        }
        let nbytes = self.count(start)?;
        self.advance(1, nbytes, start)
    }

    /// The digits behind a letter, if there are any.
    #[inline(always)]
    fn count(&mut self, start: usize) -> Result<usize, FormatError> {
        match self.peek() {
            Some(b'0'..=b'9') => self.digits(start),
            _ => Ok(1),
        }
    }

    fn digits(&mut self, start: usize) -> Result<usize, FormatError> {
        let mut count = 0_usize;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            count = count
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(usize::from(digit - b'0')))
                .ok_or_else(|| FormatError::new(start, Cause::Overflow))?;
            self.at += 1;
        }
        Ok(count)
    }

    #[inline(always)]
    fn advance(&mut self, size: usize, count: usize, start: usize) -> Result<(), FormatError> {
        let end = size.checked_mul(count).and_then(|nbytes| self.end.checked_add(nbytes));
        match end {
            Some(end) if end <= MAX_ITEM_SIZE => self.end = end,
            _ => return Err(FormatError::new(start, Cause::Overflow)),
        }
        Ok(())
    }

    /// Rounds the end up to a multiple of a power of two.
    #[inline(always)]
    fn align(&mut self, alignment: usize, start: usize) -> Result<(), FormatError> {
        let missing = self.end.wrapping_neg() & (alignment - 1);
        self.advance(1, missing, start)
    }
}
