//! Reads the directory of an archive, and its arrays.

use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::ops::Range;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipFileHeaderRecord, ZipLocalFileHeader, ZipLocator};

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Advice, Error, Kind, Result, short};
use crate::exchange::files::contents::{Checked, Contents, Encoded, Entry};
use crate::exchange::files::format::Format;
use crate::exchange::files::npy;
use crate::exchange::files::pinned_reader::{PinnedReader, decode_error};
use crate::memory::count_copied;

/// The most bytes for which one deflated byte can stand.
const MOST_INFLATED: u64 = 1032;

/// The bytes that are inflated, and summed, at a time.
const CHUNK: usize = 128 << 10;

/// The directory's description of an array.
struct ArchiveMember {
    name: String,
    /// The range of its bytes in the archive.
    range: Range<usize>,
    is_deflated: bool,
    /// The size of the `.npy` file; not trusted for a deflated member.
    nbytes: u64,
    crc: u32,
}

/// The contents of the directory.
#[derive(Default)]
struct Listed {
    members: Vec<ArchiveMember>,
    refused: RefusedMembers,
    /// The names and sizes of files that are not arrays.
    ignored: Vec<(String, u64)>,
}

/// Divides the archive into its arrays. An inflated array may have `limit` bytes.
pub(in crate::exchange::files) fn read(buffer: Buffer, limit: u64) -> Result<Contents> {
    let Listed { members, mut refused, mut ignored } = list(&buffer)?;
    let ranges: Vec<Range<usize>> = members.iter().map(|member| member.range.clone()).collect();
    let parts = buffer.partition(&ranges).map_err(|rejected| match rejected.error {
        error if error.is_bounds() => {
            Error::new(Kind::Malformed, format!("two arrays of the archive overlap: {error}"))
        }
        error => error.within("the archive could not be divided into its arrays"),
    })?;
    let mut entries = Vec::with_capacity(members.len());
    for (member, part) in members.into_iter().zip(parts) {
        let name = member.name.clone();
        match entry(member, part, limit) {
            Ok((entry, rest)) => {
                entries.push(entry);
                if rest > 0 {
                    ignored.push((format!("{name}.npy"), rest as u64));
                }
            }
            Err(error) => refused.add(name, error)?,
        }
    }
    Ok(Contents::new(Format::Npz, entries, Vec::new()).with_refused(refused.0).with_ignored(ignored))
}

/// Arrays that cannot be opened, each with the reason. The other arrays of the archive can.
#[derive(Default)]
struct RefusedMembers(Vec<(String, Error)>);

impl RefusedMembers {
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

/// The entry, and the number of bytes after the last element of the member.
fn entry(member: ArchiveMember, bytes: Buffer, limit: u64) -> Result<(Entry, usize)> {
    if !member.is_deflated {
        let stored = StoredMember { bytes: bytes.try_clone()?, crc: member.crc };
        let (array, rest) = npy::read(bytes).map_err(|error| cause(error, || stored.verify()))?;
        return Ok((Entry::mapped_and_checked(member.name, array, stored), rest));
    }
    let most = MOST_INFLATED.saturating_mul(bytes.nbytes() as u64 + 1);
    let nbytes = usize::try_from(member.nbytes).ok().filter(|_| member.nbytes <= most).ok_or_else(|| {
        malformed(format!(
            "the archive is invalid: {} deflated bytes inflate to at most {most}, not {}",
            bytes.nbytes(),
            member.nbytes
        ))
    })?;
    let deflated = Deflated { bytes, nbytes, crc: member.crc, limit };
    let mut stream = deflated.stream()?;
    let header = npy::NpyHeader::read(nbytes, |_, dst| stream.read_exact(dst).map_err(damaged))
        .and_then(|header| Ok((header.check_fits(nbytes)?, header)));
    let (rest, header) = header.map_err(|error| cause(error, || deflated.verify()))?;
    let entry = Entry::encoded(member.name, header.dtype().clone(), header.shape().to_vec(), deflated);
    Ok((entry, rest))
}

/// Why a header is malformed: that the member is damaged, if its checksum is wrong.
fn cause(error: Error, verify: impl FnOnce() -> Result<()>) -> Error {
    match error.is_malformed().then(verify) {
        Some(Err(damage)) if damage.is_malformed() => damage,
        _ => error,
    }
}

/// A stored member. Its bytes are those of the array, so opening it reads none of them.
struct StoredMember {
    bytes: Buffer,
    crc: u32,
}

impl Checked for StoredMember {
    fn verify(&self) -> Result<()> {
        let stream = PinnedReader::new(&self.bytes)?;
        let mut sum = MemberChecksum::new(self.bytes.nbytes());
        let mut chunk = vec![0; CHUNK.min(self.bytes.nbytes())];
        loop {
            match stream.load(sum.nbytes_seen(), &mut chunk)? {
                0 => return sum.check(self.crc),
                count => sum.update(&chunk[..count]),
            }
        }
    }
}

/// The checksum of a member, computed as its bytes are read.
struct MemberChecksum {
    crc: flate2::Crc,
    seen: u64,
    /// The size of the whole member.
    nbytes: usize,
}

impl MemberChecksum {
    fn new(nbytes: usize) -> Self {
        Self { crc: flate2::Crc::new(), seen: 0, nbytes }
    }

    fn nbytes_seen(&self) -> u64 {
        self.seen
    }

    fn update(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.seen += bytes.len() as u64;
    }

    /// Compares it with the checksum in the archive.
    fn check(&self, expected: u32) -> Result<()> {
        let found = self.crc.sum();
        if found == expected {
            return Ok(());
        }
        Err(malformed(format!(
            "it is damaged: the checksum of its {} bytes is {found:08x}, but the archive says \
            {expected:08x}",
            self.nbytes
        )))
    }
}

/// A deflated member.
struct Deflated {
    bytes: Buffer,
    nbytes: usize,
    crc: u32,
    limit: u64,
}

impl Deflated {
    fn stream(&self) -> Result<DeflateDecoder<BufReader<PinnedReader>>> {
        Ok(DeflateDecoder::new(BufReader::with_capacity(CHUNK / 2, PinnedReader::new(&self.bytes)?)))
    }

    /// Fails if inflating it takes more bytes than the limit.
    fn check_limit(&self) -> Result<()> {
        let Self { nbytes, limit, .. } = *self;
        if nbytes as u64 <= limit {
            return Ok(());
        }
        let text = format!("inflating it takes {nbytes} bytes, and the limit is {limit}");
        Err(Error::new(Kind::Unsupported, text).advising(Advice::RaiseOpenLimit))
    }

    /// Fails if the stream continues after the last byte, or if the checksum differs.
    fn check_end(&self, mut stream: impl Read, sum: &MemberChecksum) -> Result<()> {
        if stream.read(&mut [0]).map_err(damaged)? > 0 {
            return Err(malformed(format!(
                "the archive is invalid: inflated, the array has more than {} bytes",
                self.nbytes
            )));
        }
        sum.check(self.crc)
    }
}

impl Encoded for Deflated {
    fn what(&self) -> &'static str {
        "deflated"
    }

    fn decode(&self) -> Result<DArray> {
        self.check_limit()?;
        let mut stream = self.stream()?;
        let mut buffer = Buffer::zeroed(self.nbytes)?;
        let mut sum = MemberChecksum::new(self.nbytes);
        for chunk in buffer.as_mut_slice()?.chunks_mut(CHUNK) {
            stream.read_exact(chunk).map_err(damaged)?;
            sum.update(chunk);
        }
        self.check_end(stream, &sum)?;
        count_copied(self.nbytes);
        npy::from_buffer(buffer)
    }

    fn verify(&self) -> Result<()> {
        let mut stream = self.stream()?;
        let mut sum = MemberChecksum::new(self.nbytes);
        let mut chunk = vec![0; CHUNK.min(self.nbytes)];
        let mut left = self.nbytes;
        while left > 0 {
            let part = &mut chunk[..left.min(CHUNK)];
            stream.read_exact(part).map_err(damaged)?;
            sum.update(part);
            left -= part.len();
        }
        self.check_end(stream, &sum)
    }
}

/// Reads the directory, and the position of each array.
fn list(buffer: &Buffer) -> Result<Listed> {
    let stream = PinnedReader::new(buffer)?;
    let mut window = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipLocator::new()
        .locate_in_reader(&stream, &mut window, buffer.nbytes() as u64)
        .map_err(|(_, error)| bad_archive(error, buffer))?;
    let (mut names, mut count) = (HashSet::new(), 0u64);
    let Listed { mut members, mut refused, mut ignored } = Listed::default();
    let mut front = vec![0; MOST_IN_FRONT];
    let mut entries = archive.entries(&mut window);
    while let Some(record) = entries.next_entry().map_err(|error| bad_archive(error, buffer))? {
        count += 1;
        let Some(bytes) = record.file_path().as_bytes().strip_suffix(b".npy").map(<[u8]>::to_vec) else {
            let name = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
            // A member whose name is damaged in the directory may still be an array.
            let entry = archive.get_entry(record.wayfinder()).ok();
            let local = entry.as_ref().and_then(|entry| entry.local_header(&mut front).ok());
            let array = local.filter(|local| local.file_path().as_bytes().ends_with(b".npy"));
            if let Some(Err(error)) = array.map(|local| check_local(&record, &local)) {
                refused.add(name, error)?;
            } else if !record.is_dir() {
                ignored.push((name, record.uncompressed_size_hint()));
            }
            continue;
        };
        let name = String::from_utf8_lossy(&bytes).into_owned();
        let within = |error: Error| error.within(format_args!("array {}", short(&name)));
        if !names.insert(bytes.clone()) {
            return Err(malformed(format!(
                "the archive has two arrays named {}, of which NumPy reads only the last; save each under \
                its own name",
                short(&name)
            )));
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
        let local = entry.local_header(&mut front).map_err(|error| within(bad_archive(error, buffer)))?;
        if let Err(error) = check_local(&record, &local) {
            refused.add(name, error)?;
            continue;
        }
        let (start, end) = entry.compressed_data_range();
        let range = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start <= end && end <= buffer.nbytes() => start..end,
            _ => {
                return Err(within(malformed(format!(
                    "its bytes are {start}..{end}, but the archive has {}: the archive is truncated or \
                    damaged",
                    buffer.nbytes()
                ))));
            }
        };
        let nbytes = record.uncompressed_size_hint();
        if !is_deflated && nbytes != range.len() as u64 {
            return Err(within(malformed(format!(
                "it is stored in {} bytes, but the archive says {nbytes}",
                range.len()
            ))));
        }
        members.push(ArchiveMember { name, range, is_deflated, nbytes, crc: record.crc32() });
    }
    if count != archive.entries_hint() {
        return Err(malformed(format!(
            "the archive says that it has {} files, but lists {count}",
            archive.entries_hint()
        )));
    }
    if members.is_empty() && refused.0.is_empty() && count > 0 {
        return Err(Error::new(
            Kind::Unsupported,
            format!("it is a ZIP archive of {count} files, but none of their names ends in .npy"),
        ));
    }
    Ok(Listed { members, refused, ignored })
}

fn check_name(name: &[u8]) -> Result<()> {
    std::str::from_utf8(name).map(drop).map_err(|error| {
        malformed(format!("its name is not UTF-8 from byte {} on; rename it", error.valid_up_to()))
    })
}

/// The longest name and extra fields in front of a member.
const MOST_IN_FRONT: usize = 2 * u16::MAX as usize;

/// Checks that the header in front of a member agrees with the directory. A header with a data
/// descriptor was written before the sizes and the checksum were known.
fn check_local(record: &ZipFileHeaderRecord<'_>, local: &ZipLocalFileHeader<'_>) -> Result<()> {
    if local.file_path().as_bytes() != record.file_path().as_bytes() {
        let [here, there] = [local.file_path(), record.file_path()]
            .map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
        return Err(malformed(format!(
            "the archive is inconsistent: its name is {} in the header before it, but {} in the directory",
            short(&here),
            short(&there)
        )));
    }
    let has_sizes = !local.flags().has_data_descriptor();
    let method = |method: CompressionMethod| u64::from(method.as_u16());
    let pairs = [
        ("its method is", method(local.compression_method()), method(record.compression_method()), true),
        ("its packed size is", local.compressed_size_hint(), record.compressed_size_hint(), has_sizes),
        ("its size is", local.uncompressed_size_hint(), record.uncompressed_size_hint(), has_sizes),
        ("its checksum is", local.crc32().into(), record.crc32().into(), has_sizes),
    ];
    match pairs.into_iter().find(|&(_, here, there, is_known)| is_known && here != there) {
        None => Ok(()),
        Some((what, here, there, _)) => Err(malformed(format!(
            "the archive is inconsistent: {what} {here} in the header before it, but {there} in the \
            directory"
        ))),
    }
}

/// Whether the member is deflated; otherwise it is stored.
fn check(record: &ZipFileHeaderRecord<'_>) -> Result<bool> {
    let flags = record.flags();
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.is_masked() {
        return Err(Error::new(Kind::Unsupported, "it is encrypted; decrypt the archive first"));
    }
    match record.compression_method() {
        CompressionMethod::STORE => Ok(false),
        CompressionMethod::DEFLATE => Ok(true),
        other => Err(Error::new(
            Kind::Unsupported,
            format!(
                "it is compressed by method {}, which is not supported, only 0 (stored) and 8 (deflated)",
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
            "the ZIP archive of {} bytes is truncated or damaged: {}",
            buffer.nbytes(),
            said.to_lowercase()
        )
    };
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => decode_error(error, damaged),
        kind => malformed(damaged(kind.to_string())),
    }
}
