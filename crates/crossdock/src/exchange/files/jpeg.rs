//! JPEG images (feature `jpeg`): arrays of height × width × channels (1 or 3) of `uint8`.
//!
//! The pixels are compressed, and with loss: decoded, once, into memory of the default pool.
//!
//! Only pixels are read and written, in the order in which they are stored: texts, colour profiles
//! and EXIF data are left out, the orientation among them. An array of height × width comes back as
//! height × width × 1.

use std::io::Write;
use std::path::Path;

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::error::{DecodingError, ImageFormatHint};
use image::{ExtendedColorType, ImageError, ImageFormat};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::ScalarKind::UInt8;
use crate::error::Result;
use crate::exchange::files::contents::Contents;
use crate::exchange::files::format::Format;
use crate::exchange::files::new_file;
use crate::exchange::files::options::OpenOptions;
use crate::exchange::files::pinned::Pinned;
use crate::exchange::files::pixels::{self, Codec, Samples};

const CODEC: Codec = Codec {
    format: Format::Jpeg,
    what: "a JPEG image",
    // 8 × 8 pixels of up to four channels take one bit at least.
    most_expanded: 64 * 4 * 8,
    open: |stream| Ok(Box::new(JpegDecoder::new(stream)?)),
    check: has_end,
};

const COLORS: [(usize, crate::element::ScalarKind, ExtendedColorType); 2] =
    [(1, UInt8, ExtendedColorType::L8), (3, UInt8, ExtendedColorType::Rgb8)];

/// What an image ends with.
const END: [u8; 2] = [0xff, 0xd9];

/// The quality that most programs write unless they are told otherwise.
pub const QUALITY: u8 = 90;

pub(super) fn read(buffer: Buffer, limit: u64) -> Result<Contents> {
    pixels::read(buffer, CODEC, limit)
}

/// The decoder makes grey of what is missing. So the marker at the end is looked for; behind it there may be anything.
fn has_end(bytes: &Pinned) -> Result<()> {
    let (mut offset, mut chunk, mut last) = (0, vec![0; 64 << 10], None);
    loop {
        let count = bytes.load(offset, &mut chunk)?;
        if count == 0 {
            let hint = ImageFormatHint::Exact(ImageFormat::Jpeg);
            let error = DecodingError::new(hint, "the marker at its end is missing");
            return Err(pixels::bad_image(ImageError::Decoding(error)));
        }
        let chunk = &chunk[..count];
        if last == Some(END[0]) && chunk[0] == END[1] || chunk.windows(2).any(|pair| pair == END) {
            return Ok(());
        }
        last = chunk.last().copied();
        offset += count as u64;
    }
}

/// Decodes an image. Copies, and counts, the bytes of its pixels; the file itself is mapped.
///
/// # Errors
///
/// As [`from_buffer`], naming the path, and `is_io`; `is_unsupported` for a file of another format.
pub fn open(path: impl AsRef<Path>) -> Result<DArray> {
    super::open::open_as(path.as_ref(), Format::Jpeg)?.into_array()
}

/// Decodes an image that is in memory already. Copies, and counts, the bytes of its pixels.
///
/// # Errors
///
/// `is_malformed` for what is truncated or damaged; `is_unsupported` for more than 16 GiB of pixels ([`OpenOptions::limit`] sets another limit);
/// `is_out_of_memory`.
pub fn from_buffer(buffer: Buffer) -> Result<DArray> {
    read(buffer, OpenOptions::new().decoded_limit())?.into_array()
}

/// Writes an array of height × width, or height × width × 1 or 3 channels (grey, RGB), of `uint8`, with a quality of 1 to 100, such as
/// [`QUALITY`]. Where it is not row-major without gaps, or others may write it, it is gathered first: copies, and counts, [`DArray::nbytes`] then.
///
/// # Errors
///
/// `is_shape` and `is_unsupported` for an array that is no such image, or one of more than 65,535 pixels along an axis; `is_io` where the writer
/// refuses; `is_conflict` while somebody holds Write; `is_place` on a device.
pub fn write(mut writer: impl Write, array: &DArray, quality: u8) -> Result<()> {
    Samples::of(array, &COLORS)?.encode(JpegEncoder::new_with_quality(&mut writer, quality.clamp(1, 100)))?;
    pixels::flush(writer)
}

/// Writes an array to a file, as [`write`](fn@write) does. The file appears, or is replaced, when all of it is on disk; where anything
/// fails, whatever was there before is untouched.
///
/// # Errors
///
/// As [`write`](fn@write), with the path named.
pub fn save(path: impl AsRef<Path>, array: &DArray, quality: u8) -> Result<()> {
    new_file::save(path.as_ref(), |file| write(std::io::BufWriter::new(file), array, quality))
}
