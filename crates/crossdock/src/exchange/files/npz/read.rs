//! The directory of an archive, and its arrays.

use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::ops::Range;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipFileHeaderRecord, ZipLocator};

use crate::array::DArray;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::contents::{Contents, Encoded, Entry};
use crate::exchange::files::format::Format;
use crate::exchange::files::npy;
use crate::exchange::files::pinned::{Pinned, decode_error};
use crate::memory::{Buffer, count_copied};

/// No deflated byte stands for more than so many.
const MOST_INFLATED: u64 = 1032;

/// How many bytes are inflated, and summed up, at a time.
const CHUNK: usize = 128 << 10;

/// What the directory says of an array.
struct Member {
    name: String,
    /// Where its bytes lie: within the archive.
    range: Range<usize>,
    is_deflated: bool,
    /// Of the `.npy` file; not believed of a deflated one.
    nbytes: u64,
    crc: u32,
}

/// Divides the archive into its arrays. What is inflated may have `limit` bytes.
pub(in crate::exchange::files) fn read(buffer: Buffer, limit: u64) -> Result<Contents> {
    let (members, mut refused) = list(&buffer)?;
    let ranges: Vec<Range<usize>> = members.iter().map(|member| member.range.clone()).collect();
    let parts = buffer.partition(&ranges).map_err(|rejected| match rejected.error {
        error if error.is_bounds() => {
            Error::new(Kind::Malformed, format!("two arrays of the archive lie over each other: {error}"))
        }
        error => error.within("the archive could not be divided into its arrays"),
    })?;
    let mut entries = Vec::with_capacity(members.len());
    for (member, part) in members.into_iter().zip(parts) {
        let name = member.name.clone();
        match entry(member, part, limit) {
            Ok(entry) => entries.push(entry),
            Err(error) => refused.add(name, error)?,
        }
    }
    Ok(Contents::new(Format::Npz, entries, Vec::new()).with_refused(refused.0))
}

/// Arrays that cannot be opened, each with the reason. The other arrays of the archive can.
struct Refused(Vec<(String, Error)>);

impl Refused {
    /// An error in one member is listed with that member; out of memory and I/O errors fail the
    /// whole call.
    fn add(&mut self, name: String, error: Error) -> Result<()> {
        let error = error.within(format_args!("array {}", short(&name)));
        if !error.is_unsupported() && !error.is_malformed() {
            return Err(error);
        }
        self.0.push((name, error));
        Ok(())
    }
}

fn entry(member: Member, bytes: Buffer, limit: u64) -> Result<Entry> {
    if !member.is_deflated {
        return Ok(Entry::mapped(member.name, npy::from_buffer(bytes)?));
    }
    let most = MOST_INFLATED.saturating_mul(bytes.nbytes() as u64 + 1);
    let nbytes = usize::try_from(member.nbytes).ok().filter(|_| member.nbytes <= most).ok_or_else(|| {
        malformed(format!(
            "the archive lies: {} deflated bytes cannot become {}, but {most} at most",
            bytes.nbytes(),
            member.nbytes
        ))
    })?;
    let deflated = Deflated { bytes, nbytes, crc: member.crc, limit };
    let mut stream = deflated.stream()?;
    let header = npy::Header::read(nbytes, |_, dst| stream.read_exact(dst).map_err(damaged))?;
    header.check_fits(nbytes)?;
    Ok(Entry::encoded(member.name, header.dtype().clone(), header.shape().to_vec(), deflated))
}

/// A deflated member.
struct Deflated {
    bytes: Buffer,
    nbytes: usize,
    crc: u32,
    limit: u64,
}

impl Deflated {
    fn stream(&self) -> Result<DeflateDecoder<BufReader<Pinned>>> {
        Ok(DeflateDecoder::new(BufReader::with_capacity(CHUNK / 2, Pinned::new(&self.bytes)?)))
    }
}

impl Encoded for Deflated {
    fn what(&self) -> &'static str {
        "deflated"
    }

    fn decode(&self) -> Result<DArray> {
        let Self { nbytes, limit, .. } = *self;
        if nbytes as u64 > limit {
            return Err(Error::new(
                Kind::Unsupported,
                format!(
                    "inflating it takes {nbytes} bytes, more than the limit of {limit}: raise the limit with which it is opened"
                ),
            ));
        }
        let mut stream = self.stream()?;
        let mut buffer = Buffer::zeroed(nbytes)?;
        let mut crc = flate2::Crc::new();
        for chunk in buffer.as_mut_slice()?.chunks_mut(CHUNK) {
            stream.read_exact(chunk).map_err(damaged)?;
            crc.update(chunk);
        }
        if stream.read(&mut [0]).map_err(damaged)? > 0 {
            return Err(malformed(format!("the archive lies: inflated, it has more than {nbytes} bytes")));
        }
        if crc.sum() != self.crc {
            return Err(malformed(format!(
                "damaged: the checksum of its {nbytes} bytes is {:08x}, where the archive says {:08x}",
                crc.sum(),
                self.crc
            )));
        }
        count_copied(nbytes);
        npy::from_buffer(buffer)
    }
}

/// Reads the directory, and where the bytes of each array begin.
fn list(buffer: &Buffer) -> Result<(Vec<Member>, Refused)> {
    let stream = Pinned::new(buffer)?;
    let mut window = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipLocator::new()
        .locate_in_reader(&stream, &mut window, buffer.nbytes() as u64)
        .map_err(|(_, error)| bad_archive(error, buffer))?;
    let (mut members, mut names, mut count) = (Vec::new(), HashSet::new(), 0u64);
    let mut refused = Refused(Vec::new());
    let mut entries = archive.entries(&mut window);
    while let Some(record) = entries.next_entry().map_err(|error| bad_archive(error, buffer))? {
        count += 1;
        let Some(bytes) = record.file_path().as_bytes().strip_suffix(b".npy").map(<[u8]>::to_vec) else {
            continue;
        };
        let name = String::from_utf8_lossy(&bytes).into_owned();
        let within = |error: Error| error.within(format_args!("array {}", short(&name)));
        if !names.insert(bytes.clone()) {
            return Err(malformed(format!("the archive has two arrays of the name {}", short(&name))));
        }
        let checked = check_name(&bytes).and_then(|()| check(&record));
        let is_deflated = match checked {
            Ok(is_deflated) => is_deflated,
            Err(error) => {
                refused.add(name, error)?;
                continue;
            }
        };
        let entry =
            archive.get_entry(record.wayfinder()).map_err(|error| within(bad_archive(error, buffer)))?;
        let (start, end) = entry.compressed_data_range();
        let range = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start <= end && end <= buffer.nbytes() => start..end,
            _ => {
                return Err(within(malformed(format!(
                    "its bytes are {start}..{end} of an archive of {}: the archive is truncated or damaged",
                    buffer.nbytes()
                ))));
            }
        };
        let nbytes = record.uncompressed_size_hint();
        if !is_deflated && nbytes != range.len() as u64 {
            return Err(within(malformed(format!(
                "it is stored in {} bytes, where the archive says {nbytes}",
                range.len()
            ))));
        }
        members.push(Member { name, range, is_deflated, nbytes, crc: record.crc32() });
    }
    if count != archive.entries_hint() {
        return Err(malformed(format!(
            "the archive says that it has {} files, and lists {count}",
            archive.entries_hint()
        )));
    }
    if members.is_empty() && refused.0.is_empty() && count > 0 {
        return Err(Error::new(
            Kind::Unsupported,
            format!(
                "a ZIP archive of {count} files, none of which is an array with a name that ends in .npy"
            ),
        ));
    }
    Ok((members, refused))
}

fn check_name(name: &[u8]) -> Result<()> {
    std::str::from_utf8(name).map(drop).map_err(|error| {
        malformed(format!("its name is not UTF-8 from byte {} on: rename it", error.valid_up_to()))
    })
}

/// Whether it is deflated; else it is stored.
fn check(record: &ZipFileHeaderRecord<'_>) -> Result<bool> {
    let flags = record.flags();
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
        return Err(Error::new(Kind::Unsupported, "it is encrypted: decrypt the archive first"));
    }
    match record.compression_method() {
        CompressionMethod::STORE => Ok(false),
        CompressionMethod::DEFLATE => Ok(true),
        other => Err(Error::new(
            Kind::Unsupported,
            format!(
                "it is compressed by method {}; 0 (stored) and 8 (deflated) are supported",
                other.as_u16()
            ),
        )),
    }
}

fn malformed(text: String) -> Error {
    Error::new(Kind::Malformed, text)
}

fn damaged(error: std::io::Error) -> Error {
    decode_error(error, |said| format!("its deflated bytes are truncated or damaged: {said}"))
}

fn bad_archive(error: rawzip::Error, buffer: &Buffer) -> Error {
    let damaged = |said: String| {
        format!(
            "the {} bytes are no whole ZIP archive, but truncated or damaged: {}",
            buffer.nbytes(),
            said.to_lowercase()
        )
    };
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => decode_error(error, damaged),
        kind => malformed(damaged(kind.to_string())),
    }
}
