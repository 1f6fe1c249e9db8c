//! Files as other programs write and read them: naively, by the description of the formats.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossdock::layout::Order;
use crossdock_testkit::Nested;
use image::{ImageBuffer, ImageFormat, Luma};
use rawzip::{CompressionMethod, ZipArchiveWriter};

use crate::classes::{Kind, Specimen};
use crate::twice;

/// A path that no other process uses.
pub(crate) fn new_path() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("crossdock-matrix-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    std::env::temp_dir().join(name)
}

/// A named file of these bytes while `open` runs, and the file.
pub(crate) fn with_file<R>(bytes: &[u8], open: impl FnOnce(&PathBuf) -> R) -> std::io::Result<(R, File)> {
    if let Some((path, file)) = twice::file_of(bytes) {
        return Ok((open(&path), file));
    }
    let path = new_path();
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    file.write_all_at(bytes, 0)?;
    let opened = open(&path);
    std::fs::remove_file(&path)?;
    Ok((opened, file))
}

/// An unnamed file of these bytes.
pub(crate) fn scratch(bytes: &[u8]) -> std::io::Result<File> {
    with_file(bytes, |_| ()).map(|(_, file)| file)
}

/// Memory as another process would share it, with a sealed size; sealed against writing, too, if
/// requested.
pub(crate) fn shared_memory(bytes: &[u8], is_sealed: bool) -> std::io::Result<File> {
    if let Some((_, file)) = twice::file_of(bytes).filter(|_| !is_sealed) {
        return Ok(file);
    }
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a C string, and `memfd_create` accesses no other memory.
    let fd = unsafe { libc::memfd_create(c"crossdock-matrix".as_ptr(), flags) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: `memfd_create` returned this new descriptor, and no other object owns it.
    let file = unsafe { File::from_raw_fd(fd) };
    file.write_all_at(bytes, 0)?;
    let size = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    let seals = if is_sealed { size | libc::F_SEAL_WRITE } else { size };
    // SAFETY: `F_ADD_SEALS` takes an integer and accesses no memory; `file` keeps the descriptor
    // open.
    match unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } {
        0 => Ok(file),
        _ => Err(std::io::Error::last_os_error()),
    }
}

// ===== .npy

/// The header in front of the elements, which are as far behind a multiple of 64 as those of the
/// specimen. The header is at byte `begin` of the file.
pub(crate) fn npy_header(specimen: &Specimen, order: Order, begin: usize) -> Vec<u8> {
    let shape: String = specimen.shape.iter().map(|len| format!("{len}, ")).collect();
    let fortran = if order == Order::ColumnMajor { "True" } else { "False" };
    let text =
        format!("{{'descr': {}, 'fortran_order': {fortran}, 'shape': ({shape}), }}", specimen.kind.descr());
    let least = begin + 10 + text.len() + 1;
    let end = (least..).find(|end| end % 64 == specimen.offset % 64).unwrap();
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(((end - begin - 10) as u16).to_le_bytes());
    header.extend(text.bytes());
    header.resize(end - begin - 1, b' ');
    header.push(b'\n');
    header
}

/// The elements of a file, in row-major order of the indices.
pub(crate) fn npy_elements(file: &[u8], shape: &[usize], itemsize: usize) -> Vec<Vec<u8>> {
    let begin = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let text = std::str::from_utf8(&file[10..begin]).unwrap();
    let is_fortran = text.contains("'fortran_order': True");
    elements(&file[begin..], shape, itemsize, is_fortran)
}

/// Contiguous elements, in row-major order of the indices.
pub(crate) fn elements(bytes: &[u8], shape: &[usize], itemsize: usize, is_fortran: bool) -> Vec<Vec<u8>> {
    let inner = |axis: usize| if is_fortran { &shape[..axis] } else { &shape[axis + 1..] };
    let numbers = Nested::from_fn(shape, |index| {
        index.iter().enumerate().map(|(axis, i)| (i * inner(axis).iter().product::<usize>()) as i128).sum()
    });
    numbers.cells.iter().map(|&number| bytes[number as usize * itemsize..][..itemsize].to_vec()).collect()
}

// ===== .npz

/// An archive of one array, and the position of its elements if they are stored.
pub(crate) fn npz(specimen: &Specimen, order: Order, is_deflated: bool) -> (Vec<u8>, usize) {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    let method = if is_deflated { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
    let path = rawzip::path::EntryPath::verbatim(b"a.npy");
    let (mut entry, config) = archive.new_file(path).compression_method(method).start().unwrap();
    // Deflated data begin anew when they are inflated.
    let begin = if is_deflated { 0 } else { entry.stream_offset() as usize };
    let header = npy_header(specimen, order, begin);
    let elements = &specimen.bytes[specimen.offset..];
    let sums = if is_deflated {
        let mut writer =
            config.wrap(flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast()));
        writer.write_all(&header).unwrap();
        writer.write_all(elements).unwrap();
        let (encoder, sums) = writer.finish().unwrap();
        encoder.finish().unwrap();
        sums
    } else {
        let mut writer = config.wrap(&mut entry);
        writer.write_all(&header).unwrap();
        writer.write_all(elements).unwrap();
        writer.finish().unwrap().1
    };
    entry.finish(sums).unwrap();
    (archive.finish().unwrap(), begin + header.len())
}

/// The elements of an archive of one array.
pub(crate) fn npz_elements(file: &[u8], shape: &[usize], itemsize: usize) -> Vec<Vec<u8>> {
    let number = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let member = &file[30 + number(26) + number(28)..];
    if number(8) == 0 {
        return npy_elements(member, shape, itemsize);
    }
    let mut inflated = Vec::new();
    flate2::read::DeflateDecoder::new(member).read_to_end(&mut inflated).unwrap();
    npy_elements(&inflated, shape, itemsize)
}

// ===== .safetensors

/// A file of one tensor, and the position of its elements.
pub(crate) fn safetensors(specimen: &Specimen) -> (Vec<u8>, usize) {
    let elements = &specimen.bytes[specimen.offset..];
    let json = format!(
        r#"{{"a":{{"dtype":"U16","shape":{:?},"data_offsets":[0,{}]}}}}"#,
        specimen.shape,
        elements.len()
    );
    let begin = (8 + json.len()..).find(|begin| begin % 64 == specimen.offset % 64).unwrap();
    let mut file = ((begin - 8) as u64).to_le_bytes().to_vec();
    file.extend(json.bytes());
    file.resize(begin, b' ');
    file.extend(elements);
    (file, begin)
}

/// The elements of the tensor `a`.
pub(crate) fn safetensors_elements(file: &[u8], shape: &[usize], itemsize: usize) -> Vec<Vec<u8>> {
    let begin = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let json: serde_json::Value = serde_json::from_slice(&file[8..begin]).unwrap();
    let start = json["a"]["data_offsets"][0].as_u64().unwrap() as usize;
    elements(&file[begin + start..], shape, itemsize, false)
}

// ===== images

/// The picture of numbers, if they are one.
pub(crate) fn picture(specimen: &Specimen) -> Option<ImageBuffer<Luma<u16>, Vec<u16>>> {
    let is_picture = specimen.kind == Kind::Number
        && specimen.order() == Some(Order::RowMajor)
        && specimen.is_aligned()
        && !specimen.expected.is_empty();
    let &[height, width] = &specimen.shape[..] else { return None };
    let numbers = specimen.expected.iter().map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]])).collect();
    let picture = ImageBuffer::from_vec(width as u32, height as u32, numbers);
    picture.filter(|_| is_picture)
}

/// Encoded as PNG.
pub(crate) fn png(picture: &ImageBuffer<Luma<u16>, Vec<u16>>) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// The samples of an image of one channel.
pub(crate) fn png_elements(file: &[u8]) -> Vec<Vec<u8>> {
    let image = image::load_from_memory_with_format(file, ImageFormat::Png).unwrap();
    let image::DynamicImage::ImageLuma16(image) = image else { panic!("{:?}", image.color()) };
    image.into_raw().iter().map(|sample| sample.to_ne_bytes().to_vec()).collect()
}
