//! TIFF images (feature `tiff`) whose pixels are not compressed: an array of height × width, or of
//! height × width × channels, mapped in place.
//!
//! ```text
//!   II or MM, 42 or 43 │ pages: tags with the size, the type and the place of the strips │ strips
//! ```
//!
//! The rows of a page must follow one another (one strip, or adjacent ones). Pages of one size and
//! type at equal distances are one more axis, in front; other files of several pages are refused,
//! as are compressed, tiled and planar images. The samples are given as they are stored: a note
//! says whether they are indices of a palette, count from white, or are to be turned.

mod page;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::element::{DType, ScalarKind};
use crate::error::{Error, Result};
use crate::exchange::files::contents::Contents;
use crate::exchange::files::format::Format;
use crate::exchange::files::tiff::page::{TiffFile, TiffPage, malformed, refused, tag};
use crate::layout::Layout;

/// The names of methods of compression.
const COMPRESSIONS: [(u64, &str); 15] = [
    (2, "CCITT run lengths"),
    (3, "CCITT fax"),
    (4, "CCITT fax"),
    (5, "LZW"),
    (6, "JPEG"),
    (7, "JPEG"),
    (8, "Deflate"),
    (32773, "PackBits"),
    (32946, "Deflate"),
    (33003, "JPEG 2000"),
    (34887, "LERC"),
    (34892, "JPEG"),
    (34925, "LZMA"),
    (50000, "Zstandard"),
    (50001, "WebP"),
];

/// The most bytes of a description that are examined.
const MOST_DESCRIBED: u64 = 4096;

/// What a page describes. Pages with equal pictures can be one array.
#[derive(Debug, PartialEq)]
struct TiffPicture {
    dtype: DType,
    /// Height and width, and the channels if there are several.
    shape: Vec<usize>,
    nbytes: u64,
}

pub(in crate::exchange::files) fn read(buffer: Buffer) -> Result<Contents> {
    let mut file = TiffFile::open(&buffer)?;
    let mut next = file.first;
    let (mut first, mut count, mut distance) = (None, 0u64, 0);
    let mut notes = Vec::new();
    let mut description = Vec::new();
    while next != 0 {
        let (page, after) = file.page(next)?;
        let within = |error: Error| match count {
            0 => error,
            _ => error.within(format_args!("page {count}")),
        };
        let (picture, start) = file.picture(&page).map_err(within)?;
        match &first {
            None => {
                notes = file.notes(&page)?;
                description = file.description(&page)?;
                first = Some((picture, start));
            }
            Some((wanted, origin)) => {
                // Each page begins behind the one before it, so a chain without an end is refused.
                distance = if count == 1 { start.saturating_sub(*origin) } else { distance };
                let expected = distance.checked_mul(count).and_then(|far| origin.checked_add(far));
                if picture != *wanted || distance < wanted.nbytes || expected != Some(start) {
                    return Err(apart(count));
                }
            }
        }
        (count, next) = (count + 1, after);
    }
    let Some((picture, start)) = first else { return Err(malformed("it has no page".into())) };
    check_described(&description, count)?;
    let TiffPicture { dtype, mut shape, .. } = picture;
    let mut strides = contiguous(&shape, dtype.itemsize());
    if count > 1 {
        shape.insert(0, count as usize);
        strides.insert(0, distance as isize);
    }
    // Each page is in the file, so all numbers fit.
    let layout = Layout::new(&shape, &strides, dtype.itemsize())?;
    let array = DArray::from_buffer(buffer, dtype, layout, start as usize)?;
    let contents = Contents::of_array(Format::Tiff, array, 0);
    Ok(notes.into_iter().fold(contents, |contents, note| contents.with_note(note)))
}

/// The strides of a page.
fn contiguous(shape: &[usize], itemsize: usize) -> Vec<isize> {
    let mut stride = itemsize as isize;
    let mut strides = vec![0; shape.len()];
    for (axis, &len) in shape.iter().enumerate().rev() {
        (strides[axis], stride) = (stride, stride.wrapping_mul(len as isize));
    }
    strides
}

impl TiffFile {
    /// What a page describes, and the byte of its first pixel.
    fn picture(&mut self, page: &TiffPage) -> Result<(TiffPicture, u64)> {
        self.check_mapped(page)?;
        let [width, height, samples] = [(tag::WIDTH, 0), (tag::HEIGHT, 0), (tag::SAMPLES, 1)]
            .map(|(number, or)| self.one(page, number, or));
        let (width, height, samples) = (width?, height?, samples?);
        if samples > 1 && self.one(page, tag::PLANAR, 1)? != 1 {
            return Err(refused("its channels are stored one after the other (planar)".into()));
        }
        // Also bounds the work for a page by the bytes of its picture, which no other page has.
        let pixels = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(samples));
        if !pixels.is_some_and(|pixels| (1..=self.fields.nbytes()).contains(&pixels)) {
            return Err(malformed(format!(
                "the file is damaged: it has {height} × {width} pixels of {samples} channels, but {} bytes",
                self.fields.nbytes()
            )));
        }
        let bits = self.each(page, tag::BITS, samples, 1)?;
        let format = self.each(page, tag::SAMPLE_FORMAT, samples, 1)?;
        let dtype = self.dtype(bits, format)?;
        let lens = [height, width, samples].map(|len| usize::try_from(len).unwrap_or(usize::MAX));
        let shape = lens[..if samples == 1 { 2 } else { 3 }].to_vec();
        // The products of a damaged file saturate, and are then outside it.
        let row = (width * samples).saturating_mul(dtype.itemsize() as u64);
        let start = self.first_byte(page, height, row)?;
        Ok((TiffPicture { dtype, shape, nbytes: row.saturating_mul(height) }, start))
    }

    /// Refuses pixels that are not in the file as they are in memory.
    fn check_mapped(&mut self, page: &TiffPage) -> Result<()> {
        let compression = self.one(page, tag::COMPRESSION, 1)?;
        if compression != 1 {
            let name =
                COMPRESSIONS.iter().find(|row| row.0 == compression).map_or("an unknown method", |row| row.1);
            return Err(refused(format!("its pixels are compressed by {name} (compression {compression})")));
        }
        if page.tag(tag::TILE_WIDTH).is_some() {
            return Err(refused("its pixels are stored in tiles".into()));
        }
        if self.one(page, tag::SUBFILE_TYPE, 0)? & 1 != 0 {
            return Err(refused("it is a reduced version of another picture in the file".into()));
        }
        if self.one(page, tag::FILL_ORDER, 1)? != 1 {
            return Err(refused("the bits of its bytes are reversed (fill order 2)".into()));
        }
        if self.one(page, tag::PHOTOMETRIC, 1)? == 6 {
            return Err(refused("its colours are YCbCr, which pixels may share".into()));
        }
        Ok(())
    }

    fn dtype(&self, bits: u64, format: u64) -> Result<DType> {
        use ScalarKind::*;
        let kind = match (format, bits) {
            (1 | 4, 8) => UInt8,
            (1 | 4, 16) => UInt16,
            (1 | 4, 32) => UInt32,
            (1 | 4, 64) => UInt64,
            (2, 8) => Int8,
            (2, 16) => Int16,
            (2, 32) => Int32,
            (2, 64) => Int64,
            (3, 16) => Float16,
            (3, 32) => Float32,
            (3, 64) => Float64,
            (6, 64) => Complex64,
            (6, 128) => Complex128,
            _ => {
                return Err(refused(format!(
                    "its samples have {bits} bits of format {format}, which no dtype has"
                )));
            }
        };
        DType::scalar(kind, self.fields.order())
    }

    /// The byte of the first pixel, if each strip follows the one before it.
    fn first_byte(&mut self, page: &TiffPage, height: u64, row: u64) -> Result<u64> {
        let rows = self.one(page, tag::ROWS_PER_STRIP, height)?.clamp(1, height);
        let offsets = page.tag(tag::STRIP_OFFSETS).ok_or_else(|| malformed("it has no strip".into()))?;
        let start = self.value(offsets, 0)?;
        self.fields.seek(start);
        self.fields.skip(height.saturating_mul(row), "its picture")?;
        for strip in 0..height.div_ceil(rows) {
            // At most the bytes of the picture.
            let (before, nbytes) = (strip * rows * row, rows.min(height - strip * rows) * row);
            let at = self.value(offsets, strip)?;
            if start.checked_add(before) != Some(at) {
                return Err(refused(format!(
                    "its strip {strip} is not behind the one before it, but at byte {at}"
                )));
            }
            if let Some(tag) = page.tag(tag::STRIP_NBYTES) {
                let stored = self.value(tag, strip)?;
                if stored < nbytes {
                    let text = format!("its strip {strip} has {stored} bytes, but the pixels take {nbytes}");
                    return Err(malformed(text));
                }
            }
        }
        Ok(start)
    }

    /// How the samples differ from what they mean.
    fn notes(&mut self, page: &TiffPage) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        match self.one(page, tag::PHOTOMETRIC, 1)? {
            0 => notes.push("the samples are as they are stored: 0 is white".to_owned()),
            3 => notes.push("the samples are as they are stored: indices of a palette".to_owned()),
            _ => {}
        }
        let orientation = self.one(page, tag::ORIENTATION, 1)?;
        if orientation != 1 {
            notes.push(format!("the rows are as they are stored, to be shown in orientation {orientation}"));
        }
        Ok(notes)
    }

    /// The beginning of a page's description.
    fn description(&mut self, page: &TiffPage) -> Result<Vec<u8>> {
        let Some(tag) = page.tag(tag::DESCRIPTION) else { return Ok(Vec::new()) };
        self.fields.seek(tag.at);
        self.fields.bytes(tag.count.min(MOST_DESCRIBED) as usize, "the description")
    }
}

/// Refuses a file that says that it has more pictures than pages: ImageJ and tifffile can write one
/// page for a stack.
fn check_described(description: &[u8], pages: u64) -> Result<()> {
    let text = String::from_utf8_lossy(description);
    let images = text.strip_prefix("ImageJ=").and_then(|text| text.split("images=").nth(1));
    let images: Option<u64> =
        images.and_then(|text| text.lines().next()?.trim_end_matches('\0').parse().ok());
    match images {
        Some(images) if images > pages => {
            Err(refused(format!("it has {images} pictures, but pages for {pages} of them")))
        }
        _ if text.contains("\"truncated\": true") => Err(refused("it has pictures without pages".into())),
        _ => Ok(()),
    }
}

fn apart(page: u64) -> Error {
    refused(format!("its page {page} differs from page 0 in size or type, or is not at the same distance"))
}
