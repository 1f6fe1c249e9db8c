//! Opens tensors in files, in place.

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result};
use crate::exchange::files::contents::{Contents, Entry};
use crate::exchange::files::format::Format;
use crate::exchange::files::readahead;
use crate::exchange::files::safetensors::header::{self, SafetensorsHeader, Tensor};
use crate::exchange::files::safetensors::packed::Packed;

/// Divides a file into its tensors.
pub(in crate::exchange::files) fn read(buffer: Buffer) -> Result<Contents> {
    let header = read_header(&buffer);
    // If a guarded file shrank meanwhile, the header was read as zeros, and the fault is the
    // reason.
    if let Some(fault) = buffer.fault() {
        return Err(fault);
    }
    let SafetensorsHeader { tensors, refused, metadata } = header?;
    let ranges: Vec<_> = tensors.iter().map(|tensor| tensor.range.clone()).collect();
    let parts = buffer
        .partition(&ranges)
        .map_err(|rejected| rejected.error.within("the file could not be divided into its tensors"))?;
    let entries = tensors.into_iter().zip(parts).map(|(tensor, part)| entry(tensor, part));
    Ok(Contents::new(Format::Safetensors, entries.collect::<Result<_>>()?, metadata).with_refused(refused))
}

fn entry(tensor: Tensor, bytes: Buffer) -> Result<Entry> {
    let Tensor { name, stored, layout, .. } = tensor;
    if !stored.is_packed() {
        return Ok(Entry::mapped(name, DArray::from_buffer(bytes, stored.dtype, layout, 0)?));
    }
    let (dtype, shape) = (stored.dtype.clone(), layout.shape().to_vec());
    Ok(Entry::encoded(name, dtype, shape, Packed { bytes, bits: stored.bits, dtype: stored.dtype, layout }))
}

fn read_header(buffer: &Buffer) -> Result<SafetensorsHeader> {
    let bytes = buffer.pin()?;
    let mut start = [0; 8];
    let start = &mut start[..buffer.nbytes().min(8)];
    bytes.copy_out(0, start)?;
    let length = header::length(start, buffer.nbytes())?;
    let mut json = Vec::new();
    json.try_reserve_exact(length).map_err(|_| Error::out_of_memory(length, 1))?;
    json.resize(length, 0);
    readahead::fetch(buffer, 8, length);
    bytes.copy_out(8, &mut json)?;
    SafetensorsHeader::parse(&json, buffer.nbytes()).map_err(|error| match error {
        error if error.is_malformed() && length == 0 => {
            Error::new(Kind::Malformed, "the file is damaged: its header has 0 bytes; save the tensors again")
        }
        error => error,
    })
}
