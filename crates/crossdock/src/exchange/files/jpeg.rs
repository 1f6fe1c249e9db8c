//! JPEG images (feature `jpeg`): arrays of `uint8`, of height × width where they are grey, and
//! otherwise of height × width × 3.
//!
//! The pixels are compressed with loss, so they are decoded into memory of the default pool.
//!
//! Only pixels are read and written, in the stored order: texts, colour profiles and EXIF data,
//! including the orientation, are left out. An array of height × width × 1 is read back as height
//! × width.

use std::io::Write;

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::error::{DecodingError, ImageFormatHint};
use image::{ExtendedColorType, ImageError, ImageFormat};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::ScalarKind::UInt8;
use crate::error::Result;
use crate::exchange::files::contents::{Contents, LIMIT};
use crate::exchange::files::format::Format;
use crate::exchange::files::pinned_reader::PinnedReader;
use crate::exchange::files::pixels::{self, Codec, Samples};

const CODEC: Codec = Codec {
    format: Format::Jpeg,
    what: "a JPEG image",
    // A block of 8 × 8 pixels with up to four channels takes at least one bit.
    most_expanded: 64 * 4 * 8,
    open: |stream| Ok(Box::new(JpegDecoder::new(stream)?)),
    check: has_end,
};

const COLORS: [(usize, crate::element::ScalarKind, ExtendedColorType); 2] =
    [(1, UInt8, ExtendedColorType::L8), (3, UInt8, ExtendedColorType::Rgb8)];

/// The last bytes of an image.
const END: [u8; 2] = [0xff, 0xd9];

/// The default quality of most programs.
const QUALITY: u8 = 90;

pub(super) fn read(buffer: Buffer, limit: u64) -> Result<Contents> {
    pixels::read(buffer, CODEC, limit)
}

/// The decoder replaces missing data by grey, so the end marker is required. Other bytes may follow
/// it.
fn has_end(bytes: &PinnedReader) -> Result<()> {
    let (mut offset, mut chunk, mut last) = (0, vec![0; 64 << 10], None);
    loop {
        let count = bytes.load(offset, &mut chunk)?;
        if count == 0 {
            let hint = ImageFormatHint::Exact(ImageFormat::Jpeg);
            let error = DecodingError::new(hint, "the end marker is missing");
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

/// Decodes an image in memory. Copies, and counts, the bytes of its pixels.
///
/// # Errors
///
/// `is_malformed` for truncated or damaged data; `is_unsupported` for more than 16 GiB of pixels
/// ([`OpenOptions::limit`](crate::exchange::files::OpenOptions::limit) sets another limit);
/// `is_out_of_memory`.
pub fn from_buffer(buffer: Buffer) -> Result<DArray> {
    read(buffer, LIMIT)?.single()?.open()
}

/// Writes an array of height × width, or height × width × 1 or 3 channels (grey, RGB), of `uint8`,
/// with a quality of 90 ([`SaveOptions::quality`](crate::exchange::files::SaveOptions::quality)
/// sets another one). An array that is not C-contiguous, or that another party may write, is
/// gathered first: copies, and counts, [`DArray::nbytes`] then.
///
/// # Errors
///
/// `is_shape` and `is_unsupported` for an array that is not such an image, or one with more than
/// 65,535 pixels along an axis; `is_io` if the writer fails; `is_conflict` while another party
/// holds Write; `is_place` on a device.
pub fn write(writer: impl Write, array: &DArray) -> Result<()> {
    encode(writer, array, None)
}

/// Like `write`, with a quality.
pub(super) fn encode(mut writer: impl Write, array: &DArray, quality: Option<u8>) -> Result<()> {
    let quality = quality.unwrap_or(QUALITY);
    Samples::of(array, Format::Jpeg, &COLORS)?
        .encode(JpegEncoder::new_with_quality(&mut writer, quality.clamp(1, 100)))?;
    pixels::flush(writer)
}
