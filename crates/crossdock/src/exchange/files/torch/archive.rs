//! The ZIP archive around a checkpoint: its pickle, its byte order, and where its storages are.

use std::collections::HashMap;
use std::ops::Range;

use rawzip::{CompressionMethod, ZipLocator};

use crate::buffer::Buffer;
use crate::element::ByteOrder;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::pinned_reader::{PinnedReader, decode_error};

/// A longer pickle is refused: it is read as a whole.
const MOST_PICKLED: usize = 64 << 20;

/// The pickle, and the records of an archive.
pub(super) struct Archive {
    pub(super) pickle: Vec<u8>,
    /// The byte order of the elements.
    pub(super) order: ByteOrder,
    /// The bytes of each record, by its name without that of the archive; `None` if they are
    /// compressed.
    records: HashMap<String, Option<Range<usize>>>,
}

impl Archive {
    pub(super) fn read(buffer: &Buffer) -> Result<Self> {
        let stream = PinnedReader::new(buffer)?;
        let records = records(buffer, &stream)?;
        let mut archive = Self { pickle: Vec::new(), order: ByteOrder::Little, records };
        archive.pickle = archive.bytes("data.pkl", &stream, MOST_PICKLED)?;
        if archive.records.contains_key("byteorder") {
            archive.order = match archive.bytes("byteorder", &stream, 16)?.as_slice() {
                b"little" => ByteOrder::Little,
                b"big" => ByteOrder::Big,
                other => {
                    let text = format!("its byte order is \"{}\"", other.escape_ascii());
                    return Err(Error::new(Kind::Malformed, text));
                }
            };
        }
        Ok(archive)
    }

    /// The range of a storage in the file.
    pub(super) fn storage(&self, key: &str) -> Result<Range<usize>> {
        self.range(&format!("data/{key}"))
    }

    fn range(&self, name: &str) -> Result<Range<usize>> {
        match self.records.get(name) {
            Some(Some(range)) => Ok(range.clone()),
            Some(None) => {
                let text = format!("its record {} is compressed; save it again with torch.save", short(name));
                Err(Error::new(Kind::Unsupported, text))
            }
            None => Err(Error::new(Kind::Malformed, format!("the archive has no record {}", short(name)))),
        }
    }

    fn bytes(&self, name: &str, stream: &PinnedReader, most: usize) -> Result<Vec<u8>> {
        let range = self.range(name)?;
        if range.len() > most {
            let text =
                format!("its record {} has {} bytes; at most {most} are read", short(name), range.len());
            return Err(Error::new(Kind::Unsupported, text));
        }
        let mut bytes = vec![0; range.len()];
        stream.load(range.start as u64, &mut bytes)?;
        Ok(bytes)
    }
}

/// The records below the folder of the archive, which has the name of the file that was saved.
fn records(buffer: &Buffer, stream: &PinnedReader) -> Result<HashMap<String, Option<Range<usize>>>> {
    let damaged = |error: rawzip::Error| {
        let nbytes = buffer.nbytes();
        let text = |said: String| {
            format!("the ZIP archive of {nbytes} bytes is truncated or damaged: {}", said.to_lowercase())
        };
        match error.into_kind() {
            rawzip::ErrorKind::IO(error) => decode_error(error, text),
            kind => Error::new(Kind::Malformed, text(kind.to_string())),
        }
    };
    let mut window = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipLocator::new()
        .locate_in_reader(stream, &mut window, buffer.nbytes() as u64)
        .map_err(|(_, error)| damaged(error))?;
    let (mut records, mut folder) = (HashMap::new(), None);
    let mut entries = archive.entries(&mut window);
    while let Some(record) = entries.next_entry().map_err(damaged)? {
        let path = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
        let Some((first, name)) = path.split_once('/') else { continue };
        let folder = folder.get_or_insert_with(|| first.to_owned());
        if folder.as_str() != first {
            continue;
        }
        let (start, end) = archive.get_entry(record.wayfinder()).map_err(damaged)?.compressed_data_range();
        let is_plain = record.compression_method() == CompressionMethod::STORE
            && !record.flags().is_encrypted()
            && end.checked_sub(start) == Some(record.uncompressed_size_hint());
        let range = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start <= end && end <= buffer.nbytes() => start..end,
            _ => {
                return Err(Error::new(
                    Kind::Malformed,
                    format!(
                        "the bytes of its record {} are {start}..{end}, but the archive has {}",
                        short(name),
                        buffer.nbytes()
                    ),
                ));
            }
        };
        if records.insert(name.to_owned(), is_plain.then_some(range)).is_some() {
            let text = format!("the archive has two records named {}", short(name));
            return Err(Error::new(Kind::Malformed, text));
        }
    }
    Ok(records)
}
