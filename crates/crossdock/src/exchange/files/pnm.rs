//! PGM and PPM images: one array of pixels, mapped in place, read only.
//!
//! ```text
//!   P5 or P6, width, height, greatest value │ rows of pixels: 1 or 3 samples of 1 or 2 bytes each
//! ```
//!
//! Samples of two bytes are big-endian. Images in text (P1 to P3) and of single bits (P4) are
//! refused. Bytes after the pixels, such as further images, are not read.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{ByteOrder, DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::contents::Contents;
use crate::exchange::files::fields::Fields;
use crate::exchange::files::format::Format;
use crate::layout::{Layout, Order};

/// A longer header, of comments, is refused.
const MOST_HEADER: u64 = 1 << 16;

pub(super) fn read(buffer: Buffer) -> Result<Contents> {
    let mut fields = Fields::new(&buffer, ByteOrder::Big)?;
    let channels = match &fields.array(HEADER)? {
        b"P5" => 1,
        b"P6" => 3,
        other => {
            let text = format!(
                "it is a Netpbm image of the kind {}, which is text or single bits; only P5 and P6 are supported",
                other.escape_ascii()
            );
            return Err(Error::new(Kind::Unsupported, text).advising(Advice::OpenImage));
        }
    };
    let [width, height, greatest] = [number(&mut fields)?, number(&mut fields)?, number(&mut fields)?];
    let kind = match greatest {
        1..=255 => ScalarKind::UInt8,
        256..=65535 => ScalarKind::UInt16,
        _ => return Err(malformed(format!("its greatest value is {greatest}, and not 1 to 65535"))),
    };
    let dtype = DType::scalar(kind, ByteOrder::Big)?;
    let shape = [height as usize, width as usize, channels];
    let shape = if channels == 1 { &shape[..2] } else { &shape };
    let layout = Layout::contiguous(shape, dtype.itemsize(), Order::RowMajor)
        .map_err(|error| malformed(format!("the header is damaged: {error}")))?;
    let (start, nbytes) = (fields.at() as usize, buffer.nbytes());
    let end = start.checked_add(layout.nbytes()).filter(|&end| end <= nbytes).ok_or_else(|| {
        malformed(format!(
            "the file is truncated or damaged: {height} × {width} pixels of {channels} × {dtype} begin at byte \
            {start}, but the file has {nbytes} bytes"
        ))
    })?;
    let array = DArray::from_buffer(buffer, dtype, layout, start)?;
    let contents = Contents::of_array(Format::Pnm, array, nbytes - end);
    if [255, 65535].contains(&greatest) {
        return Ok(contents);
    }
    Ok(contents.with_note(format!("the greatest value of a pixel is {greatest}")))
}

const HEADER: &str = "the header";

/// The next number of the header, and the one byte after it. Spaces and comments come before it.
fn number(fields: &mut Fields) -> Result<u32> {
    let (mut number, mut is_comment): (Option<u32>, _) = (None, false);
    while fields.at() < MOST_HEADER {
        let [byte] = fields.array(HEADER)?;
        match byte {
            b'\n' | b'\r' if is_comment => is_comment = false,
            _ if is_comment => {}
            b'#' if number.is_none() => is_comment = true,
            b'0'..=b'9' => {
                let digit = u32::from(byte - b'0');
                let next = number.unwrap_or(0).checked_mul(10).and_then(|tens| tens.checked_add(digit));
                number = Some(next.ok_or_else(|| malformed("a number of its header is too large".into()))?);
            }
            _ if byte.is_ascii_whitespace() => {
                if let Some(number) = number {
                    return Ok(number);
                }
            }
            other => {
                let byte = other.escape_ascii();
                return Err(malformed(format!("byte {} of its header is \"{byte}\"", fields.at() - 1)));
            }
        }
    }
    Err(malformed(format!("its header has more than {MOST_HEADER} bytes")))
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}
