//! PNG images (feature `png`): arrays of height × width where they are grey, and otherwise of
//! height × width × channels, of 8-bit or 16-bit samples.
//!
//! The pixels are compressed, so they are decoded into memory of the default pool. Samples of one,
//! two and four bits become eight bits, a palette becomes its colours, and 16-bit samples become
//! native byte order. Of an animation, the first picture is read.
//!
//! Only pixels are read and written: texts, colour profiles and resolutions are left out. An array
//! of height × width × 1 is read back as height × width.

use std::io::Write;

use image::ExtendedColorType;
use image::codecs::png::{PngDecoder, PngEncoder};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::ScalarKind::{UInt8, UInt16};
use crate::error::{Error, Kind, Result};
use crate::exchange::files::contents::{Contents, LIMIT};
use crate::exchange::files::format::Format;
use crate::exchange::files::pinned_reader::PinnedReader;
use crate::exchange::files::pixels::{self, Codec, Samples};

const CODEC: Codec = Codec {
    format: Format::Png,
    what: "a PNG image",
    // One deflated byte stands for at most 1032 bytes; with a palette and one bit per pixel, each
    // bit stands for four bytes.
    most_expanded: 1032 * 32,
    open: |stream| Ok(Box::new(PngDecoder::new(stream)?)),
    check: check_palette,
};

/// The bytes of a chunk besides its data, and those of the signature before the first chunk.
const AROUND: u64 = 12;
const SIGNATURE: u64 = 8;

/// Checks that the palette is a list of at most 256 colours of three bytes, as the decoder assumes.
///
/// # Errors
///
/// `is_malformed`, with the size of the palette.
fn check_palette(bytes: &PinnedReader) -> Result<()> {
    let mut at = SIGNATURE;
    let mut head = [0; 8];
    while bytes.load(at, &mut head)? == head.len() {
        let [a, b, c, d, name @ ..] = head;
        let nbytes = u32::from_be_bytes([a, b, c, d]);
        match &name {
            b"PLTE" if nbytes % 3 != 0 || nbytes > 3 * 256 => {
                return Err(Error::new(
                    Kind::Malformed,
                    format!("its palette has {nbytes} bytes, not 3 bytes for each of at most 256 colours"),
                ));
            }
            // The palette precedes the pixels.
            b"IDAT" => return Ok(()),
            _ => at += u64::from(nbytes) + AROUND,
        }
    }
    Ok(())
}

const COLORS: [(usize, crate::element::ScalarKind, ExtendedColorType); 8] = [
    (1, UInt8, ExtendedColorType::L8),
    (2, UInt8, ExtendedColorType::La8),
    (3, UInt8, ExtendedColorType::Rgb8),
    (4, UInt8, ExtendedColorType::Rgba8),
    (1, UInt16, ExtendedColorType::L16),
    (2, UInt16, ExtendedColorType::La16),
    (3, UInt16, ExtendedColorType::Rgb16),
    (4, UInt16, ExtendedColorType::Rgba16),
];

pub(super) fn read(buffer: Buffer, limit: u64) -> Result<Contents> {
    pixels::read(buffer, CODEC, limit)
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

/// Writes an array of height × width, or height × width × 1 to 4 channels (grey, grey and alpha,
/// RGB, RGBA), of `uint8` or `uint16`. An array that is not C-contiguous, or that another party may
/// write, is gathered first: copies, and counts, [`DArray::nbytes`] then.
///
/// # Errors
///
/// `is_shape` and `is_unsupported` for an array that is not such an image; `is_io` if the writer
/// fails; `is_conflict` while another party holds Write; `is_place` on a device.
pub fn write(mut writer: impl Write, array: &DArray) -> Result<()> {
    Samples::of(array, Format::Png, &COLORS)?.encode(PngEncoder::new(&mut writer))?;
    pixels::flush(writer)
}
