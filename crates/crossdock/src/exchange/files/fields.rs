//! The fields of a binary header, in either byte order. Every read is checked against the file, so
//! no count or offset of a file can lead outside it.

use crate::buffer::Buffer;
use crate::element::ByteOrder;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::pinned_reader::PinnedReader;

/// A position in the bytes of a file, from which fields are read one after the other.
#[derive(Debug)]
pub(super) struct Fields {
    bytes: PinnedReader,
    nbytes: u64,
    order: ByteOrder,
    at: u64,
    /// The end of what the system was asked to read.
    fetched: u64,
}

/// A header that is longer than this is fetched in larger parts than pages.
const LONG: u64 = 64 << 10;

impl Fields {
    /// From the first byte on, under a new lease. Errors as [`Buffer::pin`].
    pub(super) fn new(buffer: &Buffer, order: ByteOrder) -> Result<Self> {
        Ok(Self {
            bytes: PinnedReader::new(buffer)?,
            nbytes: buffer.nbytes() as u64,
            order,
            at: 0,
            fetched: LONG,
        })
    }

    /// The bytes of the file.
    pub(super) fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// The byte order of the fields, and of the elements.
    pub(super) fn order(&self) -> ByteOrder {
        self.order
    }

    /// The byte at which the next field begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Continues at another byte. The next read checks it.
    pub(super) fn seek(&mut self, at: u64) {
        self.at = at;
    }

    /// Passes over bytes, which must exist.
    pub(super) fn skip(&mut self, nbytes: u64, what: &str) -> Result<()> {
        match self.at.checked_add(nbytes) {
            Some(end) if end <= self.nbytes => {
                if self.at >= self.fetched {
                    self.bytes.fetch(self.at, 4 * LONG);
                    self.fetched = self.at + 4 * LONG;
                }
                self.at = end;
                Ok(())
            }
            _ => Err(Error::new(
                Kind::Malformed,
                format!(
                    "the file is truncated or damaged: {what} takes {nbytes} bytes from byte {} on, but the \
                    file has {}",
                    self.at, self.nbytes
                ),
            )),
        }
    }

    /// The next bytes, as they are in the file.
    pub(super) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let (start, mut bytes) = (self.at, [0; N]);
        self.skip(N as u64, what)?;
        self.bytes.load(start, &mut bytes)?;
        Ok(bytes)
    }

    /// As many of the next bytes, as they are in the file.
    pub(super) fn bytes(&mut self, nbytes: usize, what: &str) -> Result<Vec<u8>> {
        let start = self.at;
        self.skip(nbytes as u64, what)?;
        let mut bytes = vec![0; nbytes];
        self.bytes.load(start, &mut bytes)?;
        Ok(bytes)
    }

    /// The next bytes, with the least significant one first.
    fn little<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = self.array(what)?;
        if self.order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16> {
        self.little(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        self.little(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        self.little(what).map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self, what: &str) -> Result<i64> {
        self.little(what).map(i64::from_le_bytes)
    }

    pub(super) fn i16(&mut self, what: &str) -> Result<i16> {
        self.little(what).map(i16::from_le_bytes)
    }

    pub(super) fn f32(&mut self, what: &str) -> Result<f32> {
        self.little(what).map(f32::from_le_bytes)
    }

    pub(super) fn f64(&mut self, what: &str) -> Result<f64> {
        self.little(what).map(f64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_byte_order_of_the_file_and_end_with_it() {
        let buffer = Buffer::from_vec((1..=9u8).collect()).unwrap();
        for (order, next) in [(ByteOrder::Little, 0x0605_0403), (ByteOrder::Big, 0x0304_0506)] {
            let mut fields = Fields::new(&buffer, order).unwrap();
            assert_eq!(fields.array("a").unwrap(), [1, 2]);
            assert_eq!((fields.u32("b").unwrap(), fields.at), (next, 6));
            let error = fields.u32("the length").unwrap_err();
            assert!(error.is_malformed());
            assert!(
                error.to_string().contains("the length takes 4 bytes from byte 6 on, but the file has 9")
            );
            assert_eq!(fields.array("c").unwrap(), [7, 8, 9]);
        }
        let mut fields = Fields::new(&buffer, ByteOrder::Little).unwrap();
        fields.seek(u64::MAX);
        assert!(fields.u32("far").is_err() && fields.skip(u64::MAX, "far").is_err());
    }
}
