//! Arrays into `.npy` files.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::array::DArray;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::npy::Header;
use crate::layout::{AxisSlice, Layout, Order};
use crate::memory::{LeaseKind, count_copied};

/// How many bytes are gathered before they are written: enough to make calls cheap, few enough to stay in the cache.
const CHUNK: usize = 256 << 10;

/// Writes an array as an `.npy` file: as it lies where that is row-major or column-major, otherwise row-major. Copies, and
/// counts, [`DArray::nbytes`]; never more than 256 KiB (or one element) of them at a time.
///
/// An array whose elements are sub-arrays is written as NumPy sees it, with the sub-array's axes behind its own.
///
/// # Errors
///
/// `is_unsupported` for a dtype that NumPy cannot spell; `is_io` where the writer refuses; `is_conflict` while somebody
/// holds Write; `is_place` on a device. Whatever was written until then stays written: [`save`] leaves nothing.
pub fn write(mut writer: impl Write, array: &DArray) -> Result<()> {
    let array = &with_plain_elements(array)?;
    // Held until the end, so that nobody takes Write between two chunks.
    let _pin = array.lease(LeaseKind::Pin)?;
    let order = array.layout().order().unwrap_or(Order::RowMajor);
    let header = Header::new(array.dtype().clone(), array.shape(), order)?.to_bytes()?;
    put(&mut writer, &header)?;
    match order {
        Order::RowMajor => write_elements(&mut writer, array)?,
        // Its elements in column-major order are those of its transpose in row-major order.
        Order::ColumnMajor => write_elements(&mut writer, &array.transpose()?)?,
    }
    writer.flush().map_err(write_error)
}

/// Writes an array to a file, as [`write`](fn@write) does. The file appears, or is replaced, when all of it is on disk; where
/// anything fails, whatever was there before is untouched.
///
/// # Errors
///
/// As [`write`](fn@write), with the path named.
pub fn save(path: impl AsRef<Path>, array: &DArray) -> Result<()> {
    let path = path.as_ref();
    save_beside(path, array).map_err(|error| error.within(path.display()))
}

fn save_beside(path: &Path, array: &DArray) -> Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(Error::new(Kind::Unsupported, "a directory, not a file: name a file in it"));
    };
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    part.push(format!(".{}-{count}.part", std::process::id()));
    let (file, part) = Part::create(path.with_file_name(part))?;
    write(&file, array)?;
    file.sync_all().map_err(write_error)?;
    part.rename(&path)
}

/// A file that is gone when this is dropped: removed, or renamed before.
struct Part(PathBuf);

impl Part {
    fn create(path: PathBuf) -> Result<(File, Self)> {
        let file = File::create_new(&path).map_err(|error| {
            Error::caused(
                Kind::Io,
                format!("no file could be made in the directory that it is to lie in: {error}"),
                error,
            )
        })?;
        Ok((file, Self(path)))
    }

    fn rename(self, path: &Path) -> Result<()> {
        std::fs::rename(&self.0, path).map_err(write_error)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Not there any more after a renaming; and on the way of an error, that one says more.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The elements in row-major order.
fn write_elements(writer: &mut impl Write, array: &DArray) -> Result<()> {
    if array.layout().is_contiguous(Order::RowMajor)
        && let Ok(bytes) = array.buffer()?.0.read()
    {
        put(writer, &bytes)?;
        count_copied(bytes.len());
        return Ok(());
    }
    write_gathered(writer, array)
}

/// The same where the elements lie apart, or where others may write them meanwhile. Halves the slowest axis until a piece
/// fits the chunk.
fn write_gathered(writer: &mut impl Write, array: &DArray) -> Result<()> {
    let longest = array.shape().iter().position(|&len| len > 1);
    let Some(axis) = longest.filter(|_| array.nbytes() > CHUNK) else {
        let (piece, _) = array.to_order(Order::RowMajor)?.buffer()?;
        return put(writer, &piece.read()?);
    };
    let half = Some((array.shape()[axis] / 2) as isize);
    for (start, stop) in [(None, half), (half, None)] {
        let mut slices = vec![AxisSlice::ALL; axis];
        slices.extend([AxisSlice::Range { start, stop, step: 1 }, AxisSlice::Ellipsis]);
        write_gathered(writer, &array.slice(slices)?)?;
    }
    Ok(())
}

/// The axes of a sub-array behind those of the array, in place.
fn with_plain_elements(array: &DArray) -> Result<DArray> {
    let Some(subarray) = array.dtype().as_subarray() else { return Ok(array.clone()) };
    let base = subarray.base().clone();
    let inner = Layout::contiguous(subarray.shape(), base.itemsize(), Order::RowMajor)?;
    let layout = array.layout().with_inner(&inner)?;
    let (buffer, offset) = array.buffer()?;
    DArray::from_buffer(buffer, base, layout, offset)
}

fn put(writer: &mut impl Write, bytes: &[u8]) -> Result<()> {
    writer.write_all(bytes).map_err(write_error)
}

fn write_error(error: std::io::Error) -> Error {
    Error::caused(Kind::Io, format!("it could not be written: {error}"), error)
}
