//! Arrays into `.npy` files.

use std::io::Write;

use crate::array::DArray;
use crate::error::Result;
use crate::exchange::files::elements;
use crate::exchange::files::new_file::{put, write_error};
use crate::exchange::files::npy::Header;
use crate::layout::Order;
use crate::memory::LeaseKind;

/// Writes an array as an `.npy` file: as it lies where that is row-major or column-major, otherwise
/// row-major. Copies, and counts, [`DArray::nbytes`]; never more than 256 KiB (or one element) of
/// them at a time.
///
/// An array whose elements are sub-arrays is written as NumPy sees it, with the sub-array's axes
/// behind its own.
///
/// # Errors
///
/// `is_unsupported` for a dtype that NumPy cannot spell; `is_io` where the writer refuses;
/// `is_conflict` while another party holds Write; `is_place` on a device. Whatever was written
/// until then stays written: [`save`](crate::exchange::files::save) leaves nothing.
pub fn write(mut writer: impl Write, array: &DArray) -> Result<()> {
    let array = &elements::with_plain_elements(array)?;
    // Refused, if at all, before anything is written.
    let _pin = array.lease(LeaseKind::Pin)?;
    let order = array.layout().order().unwrap_or(Order::RowMajor);
    let header = Header::new(array.dtype().clone(), array.shape(), order)?.to_bytes()?;
    put(&mut writer, &header)?;
    elements::write(&mut writer, array, order)?;
    writer.flush().map_err(write_error)
}
