//! The structure of a TIFF file: pages, their tags, and the values of tags.

use crate::buffer::Buffer;
use crate::element::ByteOrder;
use crate::error::{Advice, Error, Kind, Result};
use crate::exchange::files::fields::Fields;

/// The tags that are read.
pub(super) mod tag {
    pub(in crate::exchange::files::tiff) const SUBFILE_TYPE: u16 = 254;
    pub(in crate::exchange::files::tiff) const WIDTH: u16 = 256;
    pub(in crate::exchange::files::tiff) const HEIGHT: u16 = 257;
    pub(in crate::exchange::files::tiff) const BITS: u16 = 258;
    pub(in crate::exchange::files::tiff) const COMPRESSION: u16 = 259;
    pub(in crate::exchange::files::tiff) const PHOTOMETRIC: u16 = 262;
    pub(in crate::exchange::files::tiff) const FILL_ORDER: u16 = 266;
    pub(in crate::exchange::files::tiff) const DESCRIPTION: u16 = 270;
    pub(in crate::exchange::files::tiff) const STRIP_OFFSETS: u16 = 273;
    pub(in crate::exchange::files::tiff) const ORIENTATION: u16 = 274;
    pub(in crate::exchange::files::tiff) const SAMPLES: u16 = 277;
    pub(in crate::exchange::files::tiff) const ROWS_PER_STRIP: u16 = 278;
    pub(in crate::exchange::files::tiff) const STRIP_NBYTES: u16 = 279;
    pub(in crate::exchange::files::tiff) const PLANAR: u16 = 284;
    pub(in crate::exchange::files::tiff) const TILE_WIDTH: u16 = 322;
    pub(in crate::exchange::files::tiff) const SAMPLE_FORMAT: u16 = 339;

    pub(in crate::exchange::files::tiff) const ALL: [u16; 16] = [
        SUBFILE_TYPE,
        WIDTH,
        HEIGHT,
        BITS,
        COMPRESSION,
        PHOTOMETRIC,
        FILL_ORDER,
        DESCRIPTION,
        STRIP_OFFSETS,
        ORIENTATION,
        SAMPLES,
        ROWS_PER_STRIP,
        STRIP_NBYTES,
        PLANAR,
        TILE_WIDTH,
        SAMPLE_FORMAT,
    ];
}

/// A tag of a page: the type of its values, their number, and the byte of the first.
#[derive(Clone, Copy)]
pub(super) struct TiffTag {
    number: u16,
    kind: u16,
    pub(super) count: u64,
    pub(super) at: u64,
}

/// A page: its tags, at most one of each number.
pub(super) struct TiffPage {
    tags: Vec<TiffTag>,
}

/// A file, at the position of the next field.
pub(super) struct TiffFile {
    pub(super) fields: Fields,
    /// Whether offsets have 8 bytes.
    is_big: bool,
    /// The byte of the first page.
    pub(super) first: u64,
    /// The bytes of the file without the tags that were read: the tags of two pages do not overlap,
    /// which bounds the work for all pages by the bytes of the file.
    left: u64,
}

impl TiffFile {
    pub(super) fn open(buffer: &Buffer) -> Result<Self> {
        let start = Fields::new(buffer, ByteOrder::Little)?.array(HEADER)?;
        let order = match &start {
            b"II" => ByteOrder::Little,
            b"MM" => ByteOrder::Big,
            _ => {
                let text = format!("it is not a TIFF file: it begins with \"{}\"", start.escape_ascii());
                return Err(malformed(text));
            }
        };
        let mut fields = Fields::new(buffer, order)?;
        fields.skip(2, HEADER)?;
        let version = fields.u16(HEADER)?;
        let is_big = version == 43;
        if is_big {
            // The size of an offset, and padding.
            fields.skip(4, HEADER)?;
        } else if version != 42 {
            return Err(malformed(format!("it is not a TIFF file: its version is {version}, not 42 or 43")));
        }
        let first = if is_big { fields.u64(HEADER)? } else { fields.u32(HEADER)?.into() };
        Ok(Self { left: fields.nbytes(), fields, is_big, first })
    }

    /// A count or an offset.
    fn number(&mut self, what: &str) -> Result<u64> {
        if self.is_big { self.fields.u64(what) } else { self.fields.u32(what).map(u64::from) }
    }

    /// The page at this byte, and the byte of the next page, which is 0 if there is none.
    pub(super) fn page(&mut self, at: u64) -> Result<(TiffPage, u64)> {
        const PAGE: &str = "a page";
        self.fields.seek(at);
        let count = if self.is_big { self.fields.u64(PAGE)? } else { self.fields.u16(PAGE)?.into() };
        let entry = if self.is_big { 20 } else { 12 };
        let left = count.checked_mul(entry).and_then(|nbytes| self.left.checked_sub(nbytes));
        self.left = left.ok_or_else(|| {
            malformed("the file is damaged: its pages have more tags than it has bytes".into())
        })?;
        let mut tags: Vec<TiffTag> = Vec::new();
        for _ in 0..count {
            let (number, kind, count) = (self.fields.u16(PAGE)?, self.fields.u16(PAGE)?, self.number(PAGE)?);
            let inline = self.fields.at();
            // The values themselves if they fit, or the byte of the first.
            let offset = self.number(PAGE)?;
            if tag::ALL.contains(&number) && tags.iter().all(|tag| tag.number != number) {
                let fits =
                    count.checked_mul(size(kind)).is_some_and(|nbytes| nbytes <= self.fields.at() - inline);
                tags.push(TiffTag { number, kind, count, at: if fits { inline } else { offset } });
            }
        }
        Ok((TiffPage { tags }, self.number(PAGE)?))
    }

    /// The value of a tag at an index.
    pub(super) fn value(&mut self, tag: TiffTag, index: u64) -> Result<u64> {
        const VALUE: &str = "a tag";
        let lacks = || malformed(format!("tag {} has {} values of type {}", tag.number, tag.count, tag.kind));
        let at = index.checked_mul(size(tag.kind)).and_then(|far| tag.at.checked_add(far));
        self.fields.seek(at.filter(|_| index < tag.count).ok_or_else(lacks)?);
        match tag.kind {
            1 => self.fields.array(VALUE).map(|[byte]| byte.into()),
            3 => self.fields.u16(VALUE).map(u64::from),
            4 | 13 => self.fields.u32(VALUE).map(u64::from),
            16 | 18 => self.fields.u64(VALUE),
            _ => Err(lacks()),
        }
    }

    /// The only value of a tag, or its default.
    pub(super) fn one(&mut self, page: &TiffPage, number: u16, default: u64) -> Result<u64> {
        page.tag(number).map_or(Ok(default), |tag| self.value(tag, 0))
    }

    /// The value of a tag that each channel has, which must be equal.
    pub(super) fn each(&mut self, page: &TiffPage, number: u16, samples: u64, default: u64) -> Result<u64> {
        let Some(tag) = page.tag(number) else { return Ok(default) };
        let first = self.value(tag, 0)?;
        for index in 1..tag.count.min(samples) {
            let other = self.value(tag, index)?;
            if other != first {
                let what = if number == tag::BITS { "bits" } else { "formats" };
                return Err(refused(format!("the {what} of its channels differ: {first} and {other}")));
            }
        }
        Ok(first)
    }
}

impl TiffPage {
    pub(super) fn tag(&self, number: u16) -> Option<TiffTag> {
        self.tags.iter().find(|tag| tag.number == number).copied()
    }
}

const HEADER: &str = "the header";

/// The bytes of a value of this type; 1 for types that are not read as numbers.
fn size(kind: u16) -> u64 {
    match kind {
        3 => 2,
        4 | 13 => 4,
        16 | 18 => 8,
        _ => 1,
    }
}

pub(super) fn refused(why: String) -> Error {
    Error::new(Kind::Unsupported, format!("the image cannot be mapped: {why}")).advising(Advice::OpenTiff)
}

pub(super) fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}
