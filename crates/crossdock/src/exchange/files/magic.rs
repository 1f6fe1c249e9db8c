//! The first bytes of file formats: recognises the supported ones, and describes others.

use crate::exchange::files::format::Format;

/// The number of bytes that [`format`] and [`describe`] examine.
pub(super) const NBYTES: usize = 12;

/// First bytes of the supported formats. (`.safetensors` files have no fixed ones.)
const OURS: [(&[u8], Format); 5] = [
    (b"\x93NUMPY", Format::Npy),
    (b"PK\x03\x04", Format::Npz),
    // An empty archive.
    (b"PK\x05\x06", Format::Npz),
    (b"\x89PNG\r\n\x1a\n", Format::Png),
    (b"\xff\xd8\xff", Format::Jpeg),
];

/// The longest header that the format allows.
const SAFETENSORS_HEADER: u64 = 100_000_000;

/// The supported format of a file with these first bytes.
pub(super) fn format(start: &[u8]) -> Option<Format> {
    if let Some((_, format)) = OURS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(*format);
    }
    // The length of the header, and its first byte: a JSON object.
    let (length, header) = start.split_first_chunk()?;
    let known = u64::from_le_bytes(*length) <= SAFETENSORS_HEADER && header.first() == Some(&b'{');
    known.then_some(Format::Safetensors)
}

/// First bytes, the format that they indicate, and a suggestion.
const FORMATS: [(&[u8], &str); 24] = [
    (b"\x93NUMPY", "a NumPy .npy file"),
    (b"PK\x03\x04", "a ZIP archive (a .npz is one)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image, whose pixels are compressed"),
    (b"\xff\xd8\xff", "a JPEG image, whose pixels are compressed"),
    (b"GIF8", "a GIF image, whose pixels are compressed"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"ARROW1", "an Arrow IPC file"),
    (b"PAR1", "a Parquet file"),
    (b"MATLAB 5.0", "a MATLAB file"),
    (b"SIMPLE  =", "a FITS file"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive; unpack it first"),
    (b"\xfd7zXZ\0", "an xz archive; unpack it first"),
    (b"BZh", "a bzip2 archive; unpack it first"),
    (b"\x80\x02", "a Python pickle, which is never executed"),
    (b"\x80\x03", "a Python pickle, which is never executed"),
    (b"\x80\x04", "a Python pickle, which is never executed"),
    (b"\x80\x05", "a Python pickle, which is never executed"),
    (b"version http", "a Git LFS pointer in place of the file; run `git lfs pull`"),
];

/// Describes a file by its first bytes: `it is a PNG image, …`, or the bytes themselves.
pub(super) fn describe(start: &[u8]) -> String {
    if let Some((_, what)) = FORMATS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return format!("it is {what}");
    }
    const MOST: usize = 8;
    let first = &start[..start.len().min(MOST)];
    let more = if start.len() > MOST { "…" } else { "" };
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if !first.is_empty() && first.iter().all(is_text) {
        return format!("it begins with the text \"{}{more}\"", first.escape_ascii());
    }
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("it begins with the bytes {}{more}", bytes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_formats_are_named_and_others_shown() {
        assert!(describe(b"PK\x03\x04\x14\0\0\0").contains(".npz"));
        assert!(describe(b"\xff\xd8\xff\xe0\0\x10JFIF").contains("JPEG"));
        assert!(describe(b"\x80\x04\x95").contains("never executed"));
        assert!(describe(b"version https://").contains("Git LFS"));
        assert_eq!(describe(b"P\xff"), "it begins with the bytes 50 ff");
        assert_eq!(describe(b"\x01,2,3,4,5,6"), "it begins with the bytes 01 2c 32 2c 33 2c 34 2c…");
        assert_eq!(describe(b"1,2\n3,4,5,6"), "it begins with the text \"1,2\\n3,4,…\"");
    }

    #[test]
    fn our_formats_are_told() {
        assert_eq!(format(b"PK\x03\x04\x14\0\0\0"), Some(Format::Npz));
        assert_eq!(format(b"\x20\0\0\0\0\0\0\0{\"a\""), Some(Format::Safetensors));
        for other in [&b""[..], b"{", b"\x20\0\0\0\0\0\0\0[", b"\x20\0\0\0\0\0\0\x01{", b"GIF89a"] {
            assert_eq!(format(other), None, "{other:?}");
        }
    }

    #[test]
    fn no_format_hides_another() {
        for (index, (magic, _)) in FORMATS.iter().enumerate() {
            assert!(magic.len() <= NBYTES, "{magic:?}");
            assert!(FORMATS[..index].iter().all(|(before, _)| !magic.starts_with(before)), "{magic:?}");
        }
    }
}
