//! Messages: their framing, and what each is.
//!
//! ```text
//!   ff ff ff ff │ length │ metadata (FlatBuffers) │ padding │ body
//! ```
//!
//! Before version 0.15 of Arrow, a message began with its length.

use crate::error::Result;
use crate::exchange::files::arrow_ipc::flatbuffer::{Table, malformed, unsupported};
use crate::table::Metadata;

/// The four bytes before the length of a message.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// The number of bytes that the length of a message takes, with those before it.
pub(super) const PREFIX: usize = 8;

/// Versions 4 and 5 of the metadata, as the format numbers them.
pub(super) const V4: i16 = 3;
pub(super) const V5: i16 = 4;

/// The number of each kind of message.
pub(super) const SCHEMA: u8 = 1;
pub(super) const DICTIONARY: u8 = 2;
pub(super) const RECORDS: u8 = 3;

/// A message without its body.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpcMessage<'a> {
    pub(super) version: i16,
    pub(super) kind: u8,
    pub(super) header: Table<'a>,
    /// The number of bytes after the metadata.
    pub(super) body: u64,
}

impl<'a> IpcMessage<'a> {
    /// Reads the metadata of a message, without what precedes them.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let table = Table::root(bytes)?;
        let version = checked_version(table.i16(0, 0)?)?;
        let body = table.i64(3)?;
        let body = u64::try_from(body).map_err(|_| malformed(format!("a body has {body} bytes")))?;
        let header = table.table(2)?.ok_or_else(|| malformed("a message has no header"))?;
        Ok(Self { version, kind: table.u8(1)?, header, body })
    }

    /// The same message, if it is of this kind.
    pub(super) fn expecting(self, kind: u8) -> Result<Self> {
        match self.kind == kind {
            true => Ok(self),
            false => {
                let (found, wanted) = (name(self.kind), name(kind));
                Err(malformed(format!("a message is {found}, but {wanted} was expected")))
            }
        }
    }
}

/// What a message is.
pub(super) fn name(kind: u8) -> String {
    match kind {
        SCHEMA => "a schema".into(),
        DICTIONARY => "a dictionary".into(),
        RECORDS => "a batch".into(),
        4 | 5 => "a tensor".into(),
        _ => format!("of kind {kind}"),
    }
}

pub(super) fn checked_version(version: i16) -> Result<i16> {
    match version {
        V4 | V5 => Ok(version),
        _ => Err(unsupported(format!(
            "its metadata have version {}, and versions 4 and 5 are supported; write it again with Arrow 1.0 or later",
            i32::from(version) + 1
        ))),
    }
}

/// The pairs of keys and values in a table. `spend` is told of their bytes.
pub(super) fn metadata(
    table: Table<'_>,
    slot: usize,
    mut spend: impl FnMut(usize) -> Result<()>,
) -> Result<Metadata> {
    let mut pairs = Vec::new();
    for pair in table.tables(slot)? {
        let pair = pair?;
        let (key, value) = (pair.bytes(0)?.unwrap_or_default(), pair.bytes(1)?.unwrap_or_default());
        spend(1 + key.len() + value.len())?;
        pairs.push((key, value));
    }
    Ok(Metadata::new(pairs))
}

/// The length of the metadata of the message that begins with these bytes, and the number of bytes
/// before them; `None` at the end of a stream.
pub(super) fn length(start: &[u8; PREFIX]) -> Result<Option<(usize, usize)>> {
    let (first, second) = start.split_at(4);
    let (number, before) = if first == CONTINUATION { (second, PREFIX) } else { (first, 4) };
    let number = number.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
    match usize::try_from(number) {
        Ok(0) => Ok(None),
        Ok(length) => Ok(Some((length, before))),
        Err(_) => Err(malformed(format!("a message has {number} bytes of metadata"))),
    }
}
