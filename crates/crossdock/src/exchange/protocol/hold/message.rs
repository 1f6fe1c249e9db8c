//! The messages between a holder and its clients, as bytes.
//!
//! | bytes | contents |
//! |---|---|
//! | 0..8 | `XDOCKHLD` |
//! | 8..12 | the version, 2 |
//! | 12..16 | the kind |
//! | 16.. | the fields of the kind: numbers of 8 bytes; texts, each after its length in 8 bytes |
//!
//! Numbers are little-endian. Descriptors travel beside a message; how many there are is a field.

use crate::error::{Error, Kind, Result};
use crate::exchange::protocol::hold::socket::MOST_NBYTES;

const MAGIC: [u8; 8] = *b"XDOCKHLD";
const VERSION: u32 = 3;
const HEAD_NBYTES: usize = 16;

/// The most bytes of a text: a message of one text and some numbers fits.
const MOST_TEXT: usize = 3 << 10;

/// What a client requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HoldRequest {
    /// A version to read, or 0 for the newest.
    Connect { version: u64 },
    /// The writer's place.
    Publish,
    /// A new version: the manifest and this many regions are beside the message.
    Commit { regions: u64 },
    /// The processes that use the name.
    Who,
    /// The versions of the name.
    List,
    /// To drop a version, or with 0 the whole name.
    Drop { version: u64 },
    /// To hand the name over to this client.
    TakeOver,
    /// That the name was taken over.
    TookOver,
}

impl HoldRequest {
    /// What the client wants to do, for an error.
    pub(super) fn task(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect to a version",
            Self::Publish => "become the writer",
            Self::Commit { .. } => "commit a set",
            Self::Who => "list the processes",
            Self::List => "list the versions",
            Self::Drop { .. } => "drop a version",
            Self::TakeOver => "take the name over",
            Self::TookOver => "finish taking the name over",
        }
    }
}

/// A client as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientRow {
    pub(super) pid: u64,
    /// 1 reads, 2 writes.
    pub(super) role: u64,
    pub(super) version: u64,
    pub(super) age_ms: u64,
    pub(super) nbytes: u64,
    pub(super) is_mapped: bool,
    pub(super) program: String,
}

/// A version as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionRow {
    pub(super) version: u64,
    pub(super) arrays: u64,
    pub(super) tables: u64,
    pub(super) readers: u64,
    pub(super) age_ms: u64,
    pub(super) nbytes: u64,
    pub(super) is_mapped: bool,
}

/// What a holder answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The request failed, for a reason of this kind.
    Failed { reason: u64, text: String },
    /// The set: the manifest and this many regions are beside the message.
    Set { version: u64, regions: u64 },
    /// The client is the writer of this version.
    Writer { version: u64 },
    /// The request is done.
    Done { version: u64 },
    /// One row of a list.
    Client(ClientRow),
    /// One row of a list.
    Version(VersionRow),
    /// The end of a list, which had this many rows.
    End { rows: u64 },
    /// A version that is handed over, as a `Set` of this age.
    HandedSet { version: u64, regions: u64, age_ms: u64, publisher: u64 },
    /// A client that is handed over: its socket is beside the message.
    HandedClient { role: u64, version: u64, age_ms: u64 },
    /// The socket that listens is beside the message; the next version has this number.
    HandedName { next: u64 },
}

/// Writes the fields of a message.
struct MessageWriter(Vec<u8>);

impl MessageWriter {
    fn new(kind: u32) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        Self(bytes)
    }

    fn numbers<const N: usize>(mut self, numbers: [u64; N]) -> Vec<u8> {
        self.0.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        self.0
    }

    fn text<const N: usize>(self, numbers: [u64; N], text: &str) -> Vec<u8> {
        let mut end = text.len().min(MOST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = self.numbers(numbers);
        bytes.extend((end as u64).to_le_bytes());
        bytes.extend(&text.as_bytes()[..end]);
        bytes
    }
}

/// Reads the fields of a message.
struct MessageReader<'a> {
    kind: u32,
    rest: &'a [u8],
}

impl<'a> MessageReader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_NBYTES>() else {
            return Err(malformed(format!("has {} bytes, fewer than its head", bytes.len())));
        };
        if bytes.len() > MOST_NBYTES {
            return Err(malformed(format!("has {} bytes; at most {MOST_NBYTES} are permitted", bytes.len())));
        }
        if head[..8] != MAGIC {
            return Err(malformed(format!("begins with \"{}\"", head[..8].escape_ascii())));
        }
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| head[at + byte]));
        if number(8) != VERSION {
            let text = format!(
                "the message has version {} of the protocol; only {VERSION} is supported; use the same version of \
                Crossdock in both processes",
                number(8)
            );
            return Err(Error::new(Kind::Unsupported, text));
        }
        Ok(Self { kind: number(12), rest })
    }

    fn number(&mut self) -> Result<u64> {
        let Some((number, rest)) = self.rest.split_first_chunk() else {
            return Err(malformed("lacks a number".into()));
        };
        self.rest = rest;
        Ok(u64::from_le_bytes(*number))
    }

    fn flag(&mut self) -> Result<bool> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(malformed(format!("has {other} where 0 or 1 should be"))),
        }
    }

    fn text(&mut self) -> Result<String> {
        let nbytes = self.number()?;
        let Some((text, rest)) =
            usize::try_from(nbytes).ok().and_then(|nbytes| self.rest.split_at_checked(nbytes))
        else {
            return Err(malformed(format!("has a text of {nbytes} bytes, but {} follow", self.rest.len())));
        };
        self.rest = rest;
        match str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(malformed(format!("has a text that is not UTF-8: {error}"))),
        }
    }

    fn end<T>(self, message: T) -> Result<T> {
        match self.rest.len() {
            0 => Ok(message),
            more => Err(malformed(format!("has {more} bytes too many"))),
        }
    }
}

impl HoldRequest {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match *self {
            Self::Connect { version } => MessageWriter::new(1).numbers([version]),
            Self::Publish => MessageWriter::new(2).numbers([]),
            Self::Commit { regions } => MessageWriter::new(3).numbers([regions]),
            Self::Who => MessageWriter::new(4).numbers([]),
            Self::List => MessageWriter::new(5).numbers([]),
            Self::Drop { version } => MessageWriter::new(6).numbers([version]),
            Self::TakeOver => MessageWriter::new(7).numbers([]),
            Self::TookOver => MessageWriter::new(8).numbers([]),
        }
    }

    /// # Errors
    ///
    /// `is_malformed`; `is_unsupported` for another version of the protocol.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = MessageReader::new(bytes)?;
        let request = match reader.kind {
            1 => Self::Connect { version: reader.number()? },
            2 => Self::Publish,
            3 => Self::Commit { regions: reader.number()? },
            4 => Self::Who,
            5 => Self::List,
            6 => Self::Drop { version: reader.number()? },
            7 => Self::TakeOver,
            8 => Self::TookOver,
            other => return Err(malformed(format!("is no request: its kind is {other}"))),
        };
        reader.end(request)
    }
}

impl Reply {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Failed { reason, text } => MessageWriter::new(101).text([*reason], text),
            Self::Set { version, regions } => MessageWriter::new(102).numbers([*version, *regions]),
            Self::Writer { version } => MessageWriter::new(103).numbers([*version]),
            Self::Done { version } => MessageWriter::new(104).numbers([*version]),
            Self::Client(ClientRow { pid, role, version, age_ms, nbytes, is_mapped, program }) => {
                let numbers = [*pid, *role, *version, *age_ms, *nbytes, u64::from(*is_mapped)];
                MessageWriter::new(105).text(numbers, program)
            }
            Self::Version(VersionRow { version, arrays, tables, readers, age_ms, nbytes, is_mapped }) => {
                let is_mapped = u64::from(*is_mapped);
                let numbers = [*version, *arrays, *tables, *readers, *age_ms, *nbytes, is_mapped];
                MessageWriter::new(106).numbers(numbers)
            }
            Self::End { rows } => MessageWriter::new(107).numbers([*rows]),
            Self::HandedSet { version, regions, age_ms, publisher } => {
                MessageWriter::new(108).numbers([*version, *regions, *age_ms, *publisher])
            }
            Self::HandedClient { role, version, age_ms } => {
                MessageWriter::new(109).numbers([*role, *version, *age_ms])
            }
            Self::HandedName { next } => MessageWriter::new(110).numbers([*next]),
        }
    }

    /// # Errors
    ///
    /// `is_malformed`; `is_unsupported` for another version of the protocol.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = MessageReader::new(bytes)?;
        let reply = match reader.kind {
            101 => Self::Failed { reason: reader.number()?, text: reader.text()? },
            102 => Self::Set { version: reader.number()?, regions: reader.number()? },
            103 => Self::Writer { version: reader.number()? },
            104 => Self::Done { version: reader.number()? },
            105 => Self::Client(ClientRow {
                pid: reader.number()?,
                role: reader.number()?,
                version: reader.number()?,
                age_ms: reader.number()?,
                nbytes: reader.number()?,
                is_mapped: reader.flag()?,
                program: reader.text()?,
            }),
            106 => Self::Version(VersionRow {
                version: reader.number()?,
                arrays: reader.number()?,
                tables: reader.number()?,
                readers: reader.number()?,
                age_ms: reader.number()?,
                nbytes: reader.number()?,
                is_mapped: reader.flag()?,
            }),
            107 => Self::End { rows: reader.number()? },
            108 => Self::HandedSet {
                version: reader.number()?,
                regions: reader.number()?,
                age_ms: reader.number()?,
                publisher: reader.number()?,
            },
            109 => Self::HandedClient {
                role: reader.number()?,
                version: reader.number()?,
                age_ms: reader.number()?,
            },
            110 => Self::HandedName { next: reader.number()? },
            other => return Err(malformed(format!("is no reply: its kind is {other}"))),
        };
        reader.end(reply)
    }

    /// The failure of a request, for the client's error.
    pub(super) fn failed(error: &Error) -> Self {
        let reason = match error {
            error if error.is_bounds() => 1,
            error if error.is_conflict() => 2,
            error if error.is_malformed() => 3,
            error if error.is_unsupported() => 4,
            error if error.is_refused() => 5,
            _ => 0,
        };
        Self::Failed { reason, text: error.to_string() }
    }
}

/// The client's error for a failure that a holder reports.
pub(super) fn failure(reason: u64, text: &str) -> Error {
    let kind = match reason {
        1 => Kind::Bounds,
        2 => Kind::Conflict,
        3 => Kind::Malformed,
        4 => Kind::Unsupported,
        5 => Kind::Refused,
        _ => Kind::Io,
    };
    Error::new(kind, crate::error::shown(text))
}

#[cold]
fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, format!("the message {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_from_their_bytes() {
        for request in [
            HoldRequest::Connect { version: 7 },
            HoldRequest::Publish,
            HoldRequest::Commit { regions: u64::MAX },
            HoldRequest::Who,
            HoldRequest::List,
            HoldRequest::Drop { version: 0 },
            HoldRequest::TakeOver,
            HoldRequest::TookOver,
        ] {
            let bytes = request.to_bytes();
            assert_eq!(HoldRequest::read(&bytes).unwrap(), request);
            assert!(Reply::read(&bytes).unwrap_err().is_malformed());
            assert!(HoldRequest::read(&bytes[..bytes.len() - 1]).unwrap_err().is_malformed());
            assert!(HoldRequest::read(&[&bytes[..], &[0]].concat()).unwrap_err().is_malformed());
        }
        let (pid, role, version, age_ms, nbytes) = (1, 2, 3, 4, 5);
        for reply in [
            Reply::Failed { reason: 2, text: "größe".into() },
            Reply::Set { version, regions: 1 },
            Reply::Writer { version },
            Reply::Done { version },
            Reply::Client(ClientRow {
                pid,
                role,
                version,
                age_ms,
                nbytes,
                is_mapped: true,
                program: String::new(),
            }),
            Reply::Version(VersionRow {
                version,
                arrays: 9,
                tables: 1,
                readers: 8,
                age_ms,
                nbytes,
                is_mapped: false,
            }),
            Reply::End { rows: 1 },
            Reply::HandedSet { version, regions: 0, age_ms, publisher: 7 },
            Reply::HandedClient { role, version, age_ms },
            Reply::HandedName { next: 4 },
        ] {
            let bytes = reply.to_bytes();
            assert_eq!(Reply::read(&bytes).unwrap(), reply);
            assert!(HoldRequest::read(&bytes).unwrap_err().is_malformed());
            assert!(Reply::read(&bytes[..bytes.len() - 1]).unwrap_err().is_malformed());
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_fits_into_a_message() {
        let bytes = Reply::Failed { reason: 0, text: "ä".repeat(5000) }.to_bytes();
        assert!(bytes.len() <= MOST_NBYTES);
        let Reply::Failed { text, .. } = Reply::read(&bytes).unwrap() else { panic!() };
        assert_eq!(text, "ä".repeat(MOST_TEXT / 2));
    }

    #[test]
    fn bytes_of_other_protocols_and_versions_are_refused() {
        let good = HoldRequest::Who.to_bytes();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            HoldRequest::read(&bytes).unwrap_err()
        };
        assert!(with(0, b'x').is_malformed() && with(12, 99).is_malformed());
        assert!(
            with(8, VERSION as u8 + 1).is_unsupported() && HoldRequest::read(&[]).unwrap_err().is_malformed()
        );
        assert!(HoldRequest::read(&vec![0; MOST_NBYTES + 1]).unwrap_err().is_malformed());
    }
}
