//! Opens arrays in `.npy` files, in place.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::exchange::files::npy::header::NpyHeader;

/// The array in the bytes of an `.npy` file. In place: the array keeps the buffer alive, and copies
/// nothing. O(length of the header).
///
/// Bytes after the last element are ignored. The elements may have any address; only typed
/// references and slices require alignment.
///
/// ```
/// use crossdock::{Array, buffer::Buffer, exchange::files::npy};
///
/// let mut bytes = Vec::new();
/// npy::write(&mut bytes, &Array::from_vec(vec![1.5f32, 2.5], [2])?.into())?;
/// let array = npy::from_buffer(Buffer::from_vec(bytes)?)?;
/// assert_eq!(array.get(&[1])?.as_f64(), Some(2.5));
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_malformed` for another magic, a header that breaks the rules of the format, or fewer bytes
/// than it promises; `is_unsupported` for other versions than 1.0, 2.0 and 3.0, objects (a pickle,
/// which is never executed), types of NumPy without a fixed width, more than 64 dimensions;
/// `is_conflict` while another party holds Write; `is_place` on a device.
pub fn from_buffer(buffer: Buffer) -> Result<DArray> {
    read(buffer).map(|(array, _)| array)
}

/// The array, and the number of bytes after its last element.
pub(in crate::exchange::files) fn read(buffer: Buffer) -> Result<(DArray, usize)> {
    let header = read_header(&buffer);
    // If a guarded file shrank meanwhile, the header was read as zeros, and the fault is the
    // reason.
    if let Some(fault) = buffer.fault() {
        return Err(fault);
    }
    let header = header?;
    let rest = header.check_fits(buffer.nbytes())?;
    let data_offset = header.data_offset();
    let (dtype, layout) = header.into_parts();
    DArray::from_buffer(buffer, dtype, layout, data_offset).map(|array| (array, rest))
}

/// Copies the header under a Pin lease, since another party may write it meanwhile.
fn read_header(buffer: &Buffer) -> Result<NpyHeader> {
    let bytes = buffer.pin()?;
    NpyHeader::read(buffer.nbytes(), |at, dst| bytes.copy_out(at, dst))
}
