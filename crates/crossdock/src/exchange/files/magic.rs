//! The first bytes of file formats: recognises the supported ones, and describes others.

use crate::error::{Advice, Explanation};
use crate::exchange::files::format::Format;

/// The number of bytes that [`format`] and [`describe`] examine: a NIfTI header ends with its
/// magic.
pub(super) const NBYTES: usize = 348;

/// First bytes of the supported formats. (`.safetensors` and NIfTI files and streams of Arrow have
/// no fixed ones.)
const OURS: [(&[u8], Format); 15] = [
    (b"\x93NUMPY", Format::Npy),
    (b"PK\x03\x04", Format::Npz),
    // An empty archive.
    (b"PK\x05\x06", Format::Npz),
    (b"\x89PNG\r\n\x1a\n", Format::Png),
    (b"\xff\xd8\xff", Format::Jpeg),
    (b"II*\0", Format::Tiff),
    (b"MM\0*", Format::Tiff),
    (b"II+\0", Format::Tiff),
    (b"MM\0+", Format::Tiff),
    (b"GGUF", Format::Gguf),
    (b"ARROW1", Format::Arrow),
    (b"P5", Format::Pnm),
    (b"P6", Format::Pnm),
    (b"SIMPLE  =", Format::Fits),
    (b"MATLAB 5.0", Format::Mat),
];

/// The longest header that the format allows.
const SAFETENSORS_HEADER: u64 = 100_000_000;

/// The sizes of the headers of a NIfTI file, and the byte of the magic in each.
const NIFTI: [(u32, usize); 2] = [(348, 344), (540, 4)];

/// The magic of a NIfTI file, and of the header of a pair of files.
const NIFTI_MAGIC: [&[u8]; 4] = [b"n+1\0", b"ni1\0", b"n+2\0", b"ni2\0"];

/// The supported format of a file with these first bytes.
pub(super) fn format(start: &[u8]) -> Option<Format> {
    if is_torch(start) {
        return Some(Format::Torch);
    }
    if let Some((_, format)) = OURS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(*format);
    }
    if is_nifti(start) {
        return Some(Format::Nifti);
    }
    if is_arrow_stream(start) {
        return Some(Format::Arrow);
    }
    // The length of the header, and its first byte: a JSON object.
    let (length, header) = start.split_first_chunk()?;
    let known = u64::from_le_bytes(*length) <= SAFETENSORS_HEADER && header.first() == Some(&b'{');
    known.then_some(Format::Safetensors)
}

/// Whether bytes begin with a message of Arrow: four of them, and a length.
fn is_arrow_stream(start: &[u8]) -> bool {
    let length = start.strip_prefix(&[0xff; 4]).and_then(|rest| rest.first_chunk());
    length.is_some_and(|length| matches!(i32::from_le_bytes(*length), 8.. if length[0] % 8 == 0))
}

/// Whether bytes begin a ZIP archive whose first file is the pickle of a checkpoint, or a storage.
fn is_torch(start: &[u8]) -> bool {
    const NAME: usize = 30;
    let name = start.strip_prefix(b"PK\x03\x04").and_then(|_| start.get(NAME - 4..)?.first_chunk());
    let name = name.and_then(|len| start.get(NAME..NAME + usize::from(u16::from_le_bytes(*len))));
    name.is_some_and(|name| [&b"/data.pkl"[..], b"/data/0"].iter().any(|end| name.ends_with(end)))
}

fn is_nifti(start: &[u8]) -> bool {
    let Some(&size) = start.first_chunk() else { return false };
    let is_at = |at: usize| NIFTI_MAGIC.iter().any(|magic| start.get(at..at + 4) == Some(*magic));
    NIFTI.iter().any(|&(nbytes, at)| {
        [u32::to_le_bytes, u32::to_be_bytes].map(|to| to(nbytes)).contains(&size) && is_at(at)
    })
}

/// The first bytes of another format, after the byte at which they are; its name, and what to do.
struct Other(usize, &'static [u8], &'static str, Option<Advice>);

const OTHERS: [Other; 38] = [
    Other(0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", Some(Advice::OpenHdf5)),
    Other(0, b"MATLAB 7.3", "a MATLAB file of version 7.3, which is HDF5", Some(Advice::OpenHdf5)),
    Other(0, b"CDF\x01", "a netCDF file", Some(Advice::OpenNetCdf)),
    Other(0, b"CDF\x02", "a netCDF file", Some(Advice::OpenNetCdf)),
    Other(0, b"CDF\x05", "a netCDF file", Some(Advice::OpenNetCdf)),
    Other(0, b"FEA1", "a Feather file of version 1", Some(Advice::OpenColumns)),
    Other(0, b"PAR1", "a Parquet file", Some(Advice::OpenColumns)),
    Other(0, b"ORC", "an ORC file", Some(Advice::OpenColumns)),
    Other(0, b"Obj\x01", "an Avro file", Some(Advice::OpenColumns)),
    Other(0, b"GIF8", "a GIF image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(8, b"WEBP", "a WebP image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(8, b"WAVE", "a WAV file, which is sound", None),
    Other(0, b"\xff\x0a", "a JPEG XL image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(0, b"\0\0\0\x0cJXL ", "a JPEG XL image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(0, b"\0\0\0\x0cjP  ", "a JPEG 2000 image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(4, b"ftypavif", "an AVIF image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(4, b"ftypheic", "a HEIC image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(0, b"qoif", "a QOI image, whose pixels are compressed", Some(Advice::OpenImage)),
    Other(0, b"\x76\x2f\x31\x01", "an OpenEXR image", Some(Advice::OpenImage)),
    Other(0, b"BM", "a BMP image", Some(Advice::OpenImage)),
    Other(128, b"DICM", "a DICOM file", Some(Advice::OpenImage)),
    Other(0, b"%PDF-", "a PDF document", None),
    Other(0, b"SQLite format 3\0", "an SQLite database", None),
    Other(0, b"\x7fELF", "a program", None),
    Other(0, b"#!", "a script", None),
    Other(0, b"\x1f\x8b", "compressed by gzip (a .nii.gz or .csv.gz file is)", Some(Advice::Decompress)),
    Other(0, b"\x28\xb5\x2f\xfd", "compressed by Zstandard", Some(Advice::Decompress)),
    Other(0, b"\xfd7zXZ\0", "compressed by xz", Some(Advice::Decompress)),
    Other(0, b"BZh", "compressed by bzip2", Some(Advice::Decompress)),
    Other(0, b"\x04\x22\x4d\x18", "compressed by LZ4", Some(Advice::Decompress)),
    Other(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", Some(Advice::Decompress)),
    Other(257, b"ustar", "a tar archive", Some(Advice::Decompress)),
    Other(0, b"\x80\x02", "a Python pickle, which is never executed", Some(Advice::OpenPickle)),
    Other(0, b"\x80\x03", "a Python pickle, which is never executed", Some(Advice::OpenPickle)),
    Other(0, b"\x80\x04", "a Python pickle, which is never executed", Some(Advice::OpenPickle)),
    Other(0, b"\x80\x05", "a Python pickle, which is never executed", Some(Advice::OpenPickle)),
    Other(0, b"ggml", "a file of GGML, older than GGUF", None),
    Other(0, b"version http", "a Git LFS pointer in place of the file; run `git lfs pull`", None),
];

/// Describes a file by its first bytes: `it is an HDF5 file`, or the bytes themselves.
pub(super) fn describe(start: &[u8]) -> Explanation {
    let is = |&&Other(at, magic, ..): &&Other| start.get(at..).is_some_and(|from| from.starts_with(magic));
    if let Some(&Other(_, _, what, advice)) = OTHERS.iter().find(is) {
        return Explanation::new(format!("it is {what}"), advice);
    }
    match format(start) {
        None => {}
        Some(Format::Npz) => return "it is a ZIP archive (a .npz is one)".into(),
        Some(format) => return format!("it is {} {format} file", format.article()).into(),
    }
    const MOST: usize = 8;
    let first = &start[..start.len().min(MOST)];
    let more = if start.len() > MOST { "…" } else { "" };
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if !first.is_empty() && first.iter().all(is_text) {
        let text = format!("it begins with the text \"{}{more}\"", first.escape_ascii());
        let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let is_table = line.iter().any(|byte| b",;\t".contains(byte)) && !b"{[<".contains(&first[0]);
        return match is_table {
            true => Explanation::new(format!("{text}, like a table (CSV)"), Advice::OpenTable),
            false => text.into(),
        };
    }
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("it begins with the bytes {}{more}", bytes.join(" ")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_formats_are_named_with_advice_and_others_shown() {
        for (start, name, advice) in [
            (&b"\x89HDF\r\n\x1a\n\0"[..], "it is an HDF5 file", Some(Advice::OpenHdf5)),
            (b"RIFF\0\0\0\0WEBPVP8 ", "WebP", Some(Advice::OpenImage)),
            (b"\x1f\x8b\x08", "gzip (a .nii.gz", Some(Advice::Decompress)),
            (b"\x80\x04\x95", "never executed", Some(Advice::OpenPickle)),
            (b"PK\x03\x04\x14\0", "ZIP archive (a .npz is one)", None),
            (b"\x93NUMPY\x01\0", "it is a .npy file", None),
            (b"PAR1", "Parquet", Some(Advice::OpenColumns)),
            (b"version https://", "Git LFS", None),
            (b"P\xff", "it begins with the bytes 50 ff", None),
            (b"\x01,2,3,4,5,6", "it begins with the bytes 01 2c 32 2c 33 2c 34 2c…", None),
            (
                b"1,2\n3,4,5,6",
                "it begins with the text \"1,2\\n3,4,…\", like a table",
                Some(Advice::OpenTable),
            ),
            (b"{\"a\":[1,2]}", "it begins with the text \"{\\\"a\\\":[1,…\"", None),
            (b"hello world\n1,2", "it begins with the text \"hello wo…\"", None),
            (b"", "it begins with the bytes ", None),
        ] {
            let found = describe(start);
            assert!(found.fact().contains(name), "{name}: {found:?}");
            assert_eq!(found.advice(), advice, "{found:?}");
        }
        let tar = [&[b'x'; 257][..], b"ustar"].concat();
        assert_eq!(describe(&tar).fact(), "it is a tar archive");
    }

    #[test]
    fn our_formats_are_told() {
        assert_eq!(format(b"PK\x03\x04\x14\0\0\0"), Some(Format::Npz));
        let archive =
            |name: &[u8]| [b"PK\x03\x04", &[0; 22][..], &[name.len() as u8, 0, 0, 0], name].concat();
        assert_eq!(format(&archive(b"model/data.pkl")), Some(Format::Torch));
        assert_eq!(format(&archive(b"data.npy")), Some(Format::Npz));
        assert_eq!(format(b"\x20\0\0\0\0\0\0\0{\"a\""), Some(Format::Safetensors));
        for size in [[0x5c, 1, 0, 0], [0, 0, 1, 0x5c]] {
            let mut start = [&size[..], &[0; 340], b"n+1\0"].concat();
            assert_eq!(format(&start), Some(Format::Nifti));
            start.truncate(347);
            assert_eq!(format(&start), None);
        }
        assert_eq!(format(b"\0\0\x02\x1cn+2\0\r\n\x1a\n"), Some(Format::Nifti));
        for other in [&b""[..], b"{", b"\x20\0\0\0\0\0\0\0[", b"\x20\0\0\0\0\0\0\x01{", b"GIF89a"] {
            assert_eq!(format(other), None, "{other:?}");
        }
    }

    #[test]
    fn no_format_hides_another() {
        for (index, Other(at, magic, ..)) in OTHERS.iter().enumerate() {
            assert!(at + magic.len() <= NBYTES, "{magic:?}");
            let hides = |other: &Other| other.0 == *at && magic.starts_with(other.1);
            assert!(!OTHERS[..index].iter().any(hides), "{magic:?}");
            assert!(format(magic).is_none() || *at > 0, "{magic:?}");
        }
    }
}
