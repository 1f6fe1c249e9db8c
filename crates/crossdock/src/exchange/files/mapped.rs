//! Where the bytes of a buffer lie in a mapped file.

use std::fs::File;
use std::io;

use crate::buffer::Buffer;

/// The byte of the mapped file, or of the shared memory, at which the buffer begins; `None` for
/// other memory.
pub fn mapped_offset(buffer: &Buffer) -> Option<u64> {
    buffer.publish().ok()?.map(|(_, offset)| offset)
}

/// The size of the mapped file, or of the shared memory, at present, in bytes; `None` for other
/// memory.
///
/// # Errors
///
/// Those of the system.
pub fn mapped_nbytes(buffer: &Buffer) -> Option<io::Result<u64>> {
    let (fd, _) = buffer.publish().ok()??;
    let file = fd.try_clone_to_owned().map(File::from);
    Some(file.and_then(|file| file.metadata()).map(|found| found.len()))
}
