//! Encodes a [`NpyHeader`] as the bytes that NumPy would write.

use std::fmt::Write;

use crate::element::dialect::typestr;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::npy::header::{MAGIC, NpyHeader, Version};
use crate::layout::Order;

/// The elements begin at a multiple of this, so that a mapped file has them aligned for every type.
const ALIGN: usize = 64;

/// NumPy leaves room for this many digits of the slowest dimension, so that the file can grow in
/// place.
const GROWTH_DIGITS: usize = 21;

pub(super) struct EncodedHeader {
    pub(super) version: Version,
    pub(super) bytes: Vec<u8>,
}

impl NpyHeader {
    pub(super) fn encode(&self) -> Result<EncodedHeader> {
        let text = self.to_literal()?;
        // In Latin-1, the code point is the byte.
        let latin: Option<Vec<u8>> = text.chars().map(|letter| u8::try_from(letter).ok()).collect();
        let attempts = match &latin {
            Some(latin) => [Some((Version::One, &latin[..])), Some((Version::Two, &latin[..]))],
            None => [Some((Version::Three, text.as_bytes())), None],
        };
        let encoded = attempts.into_iter().flatten().find_map(|(version, text)| wrap(version, text));
        encoded.ok_or_else(|| {
            Error::new(
                Kind::Unsupported,
                format!("the header has {} bytes; the format permits at most {}", text.len(), u32::MAX),
            )
        })
    }

    fn to_literal(&self) -> Result<String> {
        let descr = typestr::print_descr(self.dtype())
            .map_err(|error| error.within("an .npy file cannot hold this dtype"))?;
        let (order, slowest) = match self.order() {
            Order::RowMajor => ("False", self.shape().first()),
            Order::ColumnMajor => ("True", self.shape().last()),
        };
        let mut text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': (");
        for (axis, length) in self.shape().iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{length}", if axis > 0 { ", " } else { "" });
        }
        text.push_str(if self.shape().len() == 1 { ",), }" } else { "), }" });
        if let Some(slowest) = slowest {
            let digits = slowest.to_string().len();
            text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(digits)));
        }
        Ok(text)
    }
}

/// The whole header, or `None` if the version cannot express its length.
fn wrap(version: Version, text: &[u8]) -> Option<EncodedHeader> {
    let begin = 8 + version.length_nbytes();
    let end = (begin + text.len() + 1 + 1).next_multiple_of(ALIGN);
    let length = end - begin;
    let (major, minor) = version.numbers();
    let mut bytes = Vec::with_capacity(end);
    bytes.extend_from_slice(MAGIC);
    bytes.extend([major, minor]);
    match version {
        Version::One => bytes.extend(u16::try_from(length).ok()?.to_le_bytes()),
        Version::Two | Version::Three => bytes.extend(u32::try_from(length).ok()?.to_le_bytes()),
    }
    bytes.extend_from_slice(text);
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    Some(EncodedHeader { version, bytes })
}
