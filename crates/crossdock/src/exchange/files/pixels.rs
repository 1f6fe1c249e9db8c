//! Images: decodes them to arrays of height × width, or height × width × channels if there are
//! several, and encodes them.

use std::io::{BufReader, Write};

use image::{ColorType, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError};

use crate::array::{Casting, DArray};
use crate::buffer::Buffer;
use crate::element::{DType, ScalarKind};
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::contents::{Contents, Encoded, Entry};
use crate::exchange::files::format::Format;
use crate::exchange::files::new_file::write_error;
use crate::exchange::files::pinned_reader::{PinnedReader, decode_error};
use crate::layout::{Layout, Order};
use crate::memory::count_copied;

/// Reads the part in front of the pixels.
type OpenDecoder = fn(BufReader<PinnedReader>) -> Result<Box<dyn ImageDecoder>, ImageError>;

/// How to read an image format.
#[derive(Clone, Copy)]
pub(super) struct Codec {
    pub(super) format: Format,
    /// What it is, such as `a PNG image`.
    pub(super) what: &'static str,
    /// The most bytes of samples for which one byte of the file can stand.
    pub(super) most_expanded: u64,
    pub(super) open: OpenDecoder,
    /// Checks for errors that the decoder does not detect.
    pub(super) check: fn(&PinnedReader) -> Result<()>,
}

/// An image that must be decoded.
struct Picture {
    bytes: Buffer,
    codec: Codec,
    limit: u64,
}

/// Reads the size of an image. Opening the entry decodes its pixels, into at most `limit` bytes.
pub(super) fn read(bytes: Buffer, codec: Codec, limit: u64) -> Result<Contents> {
    let picture = Picture { bytes, codec, limit };
    let (dtype, shape) = samples(&*picture.decoder()?)?;
    let nbytes = Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor)?.nbytes() as u64;
    let most = codec.most_expanded.saturating_mul(picture.bytes.nbytes() as u64);
    if nbytes > most {
        return Err(Error::new(
            Kind::Malformed,
            format!(
                "the image is invalid: shape {shape:?} takes {nbytes} bytes, but {} compressed bytes expand \
                to at most {most}",
                picture.bytes.nbytes()
            ),
        ));
    }
    let entry = Entry::encoded(String::new(), dtype, shape, picture);
    Ok(Contents::new(codec.format, vec![entry], Vec::new()))
}

impl Picture {
    fn decoder(&self) -> Result<Box<dyn ImageDecoder>> {
        let stream = BufReader::with_capacity(64 << 10, PinnedReader::new(&self.bytes)?);
        (self.codec.open)(stream).map_err(bad_image)
    }
}

impl Encoded for Picture {
    fn what(&self) -> &'static str {
        self.codec.what
    }

    fn decode(&self) -> Result<DArray> {
        (self.codec.check)(&PinnedReader::new(&self.bytes)?)?;
        let decoder = self.decoder()?;
        let (dtype, shape) = samples(&*decoder)?;
        let layout = Layout::contiguous(&shape, dtype.itemsize(), Order::RowMajor)?;
        let nbytes = layout.nbytes();
        if nbytes as u64 > self.limit {
            let text =
                format!("an image of shape {shape:?} takes {nbytes} bytes, and the limit is {}", self.limit);
            return Err(Error::new(Kind::Unsupported, text).advising(Advice::RaiseOpenLimit));
        }
        let mut buffer = Buffer::zeroed(nbytes)?;
        decoder.read_image_boxed(buffer.as_mut_slice()?).map_err(bad_image)?;
        count_copied(nbytes);
        DArray::from_buffer(buffer, dtype, layout, 0)
    }
}

/// The type of the samples, and height × width × channels, without the axis of a single channel.
fn samples(decoder: &dyn ImageDecoder) -> Result<(DType, Vec<usize>)> {
    let color = decoder.color_type();
    let dtype = match color {
        ColorType::L8 | ColorType::La8 | ColorType::Rgb8 | ColorType::Rgba8 => DType::U8,
        ColorType::L16 | ColorType::La16 | ColorType::Rgb16 | ColorType::Rgba16 => DType::U16,
        other => {
            return Err(Error::new(
                Kind::Unsupported,
                format!("images of {other:?} samples are not supported"),
            ));
        }
    };
    let (width, height) = decoder.dimensions();
    let mut shape = vec![height as usize, width as usize];
    shape.extend(Some(usize::from(color.channel_count())).filter(|&channels| channels > 1));
    Ok((dtype, shape))
}

/// An array in the form that an encoder requires.
pub(super) struct Samples {
    bytes: Buffer,
    width: u32,
    height: u32,
    color: ExtendedColorType,
}

impl Samples {
    /// The samples of an array of height × width, or height × width × channels. They are gathered
    /// if they are not contiguous, in native byte order and constant: copies, and counts,
    /// [`DArray::nbytes`] then. `colors` lists the supported numbers of channels and sample types.
    pub(super) fn of(
        array: &DArray,
        format: Format,
        colors: &[(usize, ScalarKind, ExtendedColorType)],
    ) -> Result<Self> {
        let (height, width, channels) = match *array.shape() {
            [height, width] => (height, width, 1),
            [height, width, channels] => (height, width, channels),
            _ => {
                return Err(Error::new(
                    Kind::Shape,
                    format!(
                        "an array of shape {:?} is not an image, whose axes are height, width and channels; \
                        slice or reshape it",
                        array.shape()
                    ),
                ));
            }
        };
        let kind = array.dtype().as_scalar().map(|scalar| scalar.kind());
        let known = colors.iter().find(|color| (color.0, Some(color.1)) == (channels, kind));
        let Some(&(.., color)) = known else {
            let mut kinds: Vec<String> = colors.iter().map(|(_, kind, _)| kind.to_string()).collect();
            kinds.dedup();
            let mut counts: Vec<usize> = colors.iter().map(|(count, ..)| *count).collect();
            counts.sort_unstable();
            counts.dedup();
            let counts = match counts[..] {
                [first, .., last] if last - first + 1 == counts.len() => format!("{first} to {last}"),
                _ => counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
            };
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "{format} stores {} with {counts} channels, but this array is {} with {channels} channel{}",
                    kinds.join(" or "),
                    array.dtype().brief(),
                    if channels == 1 { "" } else { "s" }
                ),
            )
            .advising(Advice::CastOrPickChannels));
        };
        let size = |len: usize| u32::try_from(len).ok().filter(|&len| len > 0);
        let (Some(width), Some(height)) = (size(width), size(height)) else {
            return Err(Error::new(
                Kind::Unsupported,
                format!("an image cannot have {height} x {width} pixels; each must be 1 to {}", u32::MAX),
            ));
        };
        Ok(Self { bytes: gathered(array)?, width, height, color })
    }

    pub(super) fn encode(&self, encoder: impl ImageEncoder) -> Result<()> {
        let bytes = self.bytes.read()?;
        encoder.write_image(&bytes, self.width, self.height, self.color).map_err(|error| match error {
            ImageError::IoError(error) => write_error(error),
            other => Error::new(Kind::Unsupported, format!("the image cannot be written: {other}")),
        })
    }
}

fn gathered(array: &DArray) -> Result<Buffer> {
    if !array.dtype().is_native() {
        let native = array.dtype().swapped();
        return Ok(array.cast(&native, Order::RowMajor, Casting::Checked)?.buffer()?.0);
    }
    if array.layout().is_contiguous(Order::RowMajor) {
        let (buffer, _) = array.buffer()?;
        if buffer.read().is_ok() {
            return Ok(buffer);
        }
    }
    Ok(array.to_order(Order::RowMajor)?.buffer()?.0)
}

pub(super) fn flush(mut writer: impl Write) -> Result<()> {
    writer.flush().map_err(write_error)
}

pub(super) fn bad_image(error: ImageError) -> Error {
    let damaged = |said: String| format!("the image is truncated or damaged: {said}");
    match error {
        ImageError::IoError(error) => decode_error(error, damaged),
        ImageError::Unsupported(error) => {
            Error::new(Kind::Unsupported, format!("the image cannot be decoded: {error}"))
        }
        ImageError::Limits(error) => {
            Error::new(Kind::Unsupported, format!("the image is too large: {error}"))
        }
        other => Error::new(Kind::Malformed, damaged(bare_chunk(&other.to_string()))),
    }
}

/// The text with the bare name of a chunk in place of the decoder's description of it.
fn bare_chunk(text: &str) -> String {
    let parts = text.split_once("ChunkType { type: ").and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some(format!("{before}{}{after}", inside.split(',').next()?))
    });
    parts.unwrap_or_else(|| text.to_owned())
}
