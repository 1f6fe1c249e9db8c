//! Writes arrays to `.npy` files.

use std::io::Write;

use crate::array::DArray;
use crate::error::Result;
use crate::exchange::files::elements;
use crate::exchange::files::new_file::{put, write_error};
use crate::exchange::files::npy::NpyHeader;
use crate::exchange::files::outgoing::OutgoingArray;
use crate::memory::LeaseKind;

/// Writes an array as an `.npy` file: in its own order if it is C- or F-contiguous, otherwise in C
/// order (row-major). Copies, and counts, [`DArray::nbytes`]; never more than 256 KiB (or one
/// element) at a time.
///
/// An array of sub-arrays is written as NumPy sees it, with the sub-array's axes after its own.
///
/// # Errors
///
/// `is_unsupported` for a dtype that NumPy cannot express; `is_io` if the writer fails;
/// `is_conflict` while another party holds Write; `is_place` on a device. Bytes written before an
/// error stay written; [`save`](crate::exchange::files::save) leaves no file.
pub fn write(writer: impl Write, array: &DArray) -> Result<()> {
    encode(writer, &OutgoingArray::new(array.clone()))
}

/// What becomes an `.npy` file, alone or in an archive.
#[cfg(feature = "npz")]
pub(in crate::exchange::files) trait NpyMember {
    /// Writes the file.
    fn encode(&self, writer: &mut dyn Write) -> Result<()>;
}

#[cfg(feature = "npz")]
impl NpyMember for OutgoingArray {
    fn encode(&self, writer: &mut dyn Write) -> Result<()> {
        encode(writer, self)
    }
}

/// Like `write`, converted.
pub(in crate::exchange::files) fn encode(mut writer: impl Write, outgoing: &OutgoingArray) -> Result<()> {
    let outgoing = &outgoing.with_plain_elements()?;
    // Takes the lease before anything is written, so that a refusal writes nothing.
    let _pin = outgoing.array.lease(LeaseKind::Pin)?;
    let order = outgoing.written_order()?;
    let header = NpyHeader::new(outgoing.dtype.clone(), outgoing.array.shape(), order)?.to_bytes()?;
    put(&mut writer, &header)?;
    elements::write(&mut writer, outgoing, order)?;
    writer.flush().map_err(write_error)
}
