//! Writes arrays to archives.

use std::collections::HashSet;
use std::io::Write;

use flate2::write::DeflateEncoder;
use rawzip::extra_fields::ExtraFieldId;
use rawzip::path::{EntryPath, ZipFilePath};
use rawzip::{CompressionMethod, Header, ZipArchiveWriter};

use crate::array::DArray;
use crate::error::{Error, Kind, Result, short};
use crate::exchange::files::new_file::write_error;
use crate::exchange::files::npy::NpyMember;
use crate::exchange::files::outgoing::outgoing;

/// Stored members begin at a multiple of this, like the elements within an `.npy` file, so that a
/// mapped archive has both aligned for every type.
const ALIGN: u64 = 64;

/// The extra field that Android's `zipalign` defined for such padding: the alignment, and zeros.
const PADDING: ExtraFieldId = ExtraFieldId::new(0xd935);

/// The size of the fixed part of a member's header, before its name.
const LOCAL_HEADER: u64 = 30;

/// The longest name, including the ending.
const MAX_NAME: usize = u16::MAX as usize;

/// Writes arrays as an archive, each under its name, in this order. Members are stored, so that
/// they can be opened in place
/// ([`SaveOptions::deflated`](crate::exchange::files::SaveOptions::deflated) deflates them).
/// Copies, and counts, as [`npy::write`](fn@crate::exchange::files::npy::write).
///
/// # Errors
///
/// `is_unsupported` for two arrays of one name, and for a name that ZIP cannot hold or that would
/// be a path out of a folder; otherwise as [`npy::write`](fn@crate::exchange::files::npy::write).
/// Bytes written before an error stay written.
pub fn write<N: AsRef<str>>(writer: impl Write, arrays: &[(N, DArray)]) -> Result<()> {
    encode(writer, &outgoing(arrays), false)
}

/// Like `write`; deflates the members if `deflated` is set.
pub(in crate::exchange::files) fn encode<N: AsRef<str>>(
    writer: impl Write,
    arrays: &[(N, impl NpyMember)],
    is_deflated: bool,
) -> Result<()> {
    check_names(arrays)?;
    let mut archive = ZipArchiveWriter::new(writer);
    for (name, array) in arrays {
        let name = name.as_ref();
        let member = if is_deflated { deflate } else { store };
        let written = member(&mut archive, &file_name(name), array as &dyn NpyMember);
        written.map_err(|error| error.within(format_args!("array {}", short(name))))?;
    }
    archive.finish().map_err(zip_error)?.flush().map_err(write_error)
}

fn file_name(name: &str) -> String {
    format!("{name}.npy")
}

/// An ASCII name is stored as it is; any other name is marked as UTF-8, which leaves its bytes
/// unchanged (`check_names` checked that).
fn path(file: &str) -> EntryPath<'_> {
    if file.is_ascii() { EntryPath::verbatim(file.as_bytes()) } else { EntryPath::conformant(file) }
}

fn check_names<N: AsRef<str>>(arrays: &[(N, impl NpyMember)]) -> Result<()> {
    let mut seen = HashSet::new();
    for (name, _) in arrays {
        let name = name.as_ref();
        let file = file_name(name);
        let refused = |why: &str| {
            let text = format!("an archive cannot hold an array named {}: {why}", short(name));
            Err(Error::new(Kind::Unsupported, text))
        };
        if file.len() > MAX_NAME {
            return refused(&format!("the name has {} bytes; at most {MAX_NAME} are possible", file.len()));
        }
        let leads_out = name.starts_with('/') || name.split('/').any(|part| part == "..");
        if leads_out || name.contains(['\\', '\0']) {
            return refused("the name could be read as a path out of a directory, or it contains a NUL");
        }
        if !file.is_ascii() && ZipFilePath::from_str(&file).as_str() != file {
            return refused("a name that is not ASCII cannot contain a colon, an empty part or a part `.`");
        }
        if !seen.insert(name) {
            return refused("two arrays have this name");
        }
    }
    Ok(())
}

fn store(archive: &mut ZipArchiveWriter<impl Write>, file: &str, array: &dyn NpyMember) -> Result<()> {
    // The member's header, its name, and this one field precede the member. The field has 4 bytes,
    // the alignment, and zeros.
    let taken = archive.stream_offset() + LOCAL_HEADER + file.len() as u64 + 4 + 2;
    let mut field = (ALIGN as u16).to_le_bytes().to_vec();
    field.resize(2 + (taken.next_multiple_of(ALIGN) - taken) as usize, 0);
    let (mut entry, config) = archive
        .new_file(path(file))
        .extra_field(PADDING, &field, Header::LOCAL)
        .and_then(|member| member.start())
        .map_err(zip_error)?;
    debug_assert!(entry.stream_offset().is_multiple_of(ALIGN), "at {}", entry.stream_offset());
    let mut writer = config.wrap(&mut entry);
    array.encode(&mut writer)?;
    let (_, sums) = writer.finish().map_err(zip_error)?;
    entry.finish(sums).map_err(zip_error)?;
    Ok(())
}

fn deflate(archive: &mut ZipArchiveWriter<impl Write>, file: &str, array: &dyn NpyMember) -> Result<()> {
    let (mut entry, config) = archive
        .new_file(path(file))
        .compression_method(CompressionMethod::DEFLATE)
        .start()
        .map_err(zip_error)?;
    let encoder = DeflateEncoder::new(&mut entry, flate2::Compression::default());
    let mut writer = config.wrap(encoder);
    array.encode(&mut writer)?;
    let (encoder, sums) = writer.finish().map_err(zip_error)?;
    encoder.finish().map_err(write_error)?;
    entry.finish(sums).map_err(zip_error)?;
    Ok(())
}

fn zip_error(error: rawzip::Error) -> Error {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => write_error(error),
        kind => Error::new(Kind::Unsupported, format!("the archive cannot be written: {kind}")),
    }
}
