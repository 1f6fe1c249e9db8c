//! Imports an array from a descriptor.

use std::fs::File;
use std::os::fd::OwnedFd;

use crate::array::DArray;
use crate::buffer::Buffer;
use crate::error::{Error, Kind, Result, system_text};
use crate::exchange::description::Description;
use crate::memory::MapOptions;

/// Maps the array that another process described, zero-copy. O(rank).
///
/// Memory that is sealed against writing is constant: Read and Pin leases can be taken. All other
/// memory is aliased: Share (if the description is writable) and Pin.
///
/// Nothing in the description is trusted: all of its bytes must exist.
///
/// # Errors
///
/// `is_bounds` if the descriptor has fewer bytes than the array covers; `is_io` if it cannot be
/// mapped with this access; `is_read_only` for a writable description of memory that is sealed
/// against writing; `is_unsupported` if it is neither a file nor shared memory.
pub fn import(fd: OwnedFd, description: &Description) -> Result<DArray> {
    let twin = fd.try_clone().map_err(|error| {
        Error::caused(
            Kind::Io,
            format!("the descriptor could not be duplicated: {}", system_text(&error)),
            error,
        )
    })?;
    match import_sealed(twin, description) {
        // Not sealed against shrinking: a file, for example.
        Err(error) if error.is_unsupported() => {
            let (start, nbytes) = extent(description)?;
            let options = MapOptions::new().range(start, nbytes).writable(description.is_writable());
            array(Buffer::map(File::from(fd), options)?, description)
        }
        imported => imported,
    }
}

/// As [`import`], but only for memory that no process can shrink under its map.
///
/// # Errors
///
/// As [`import`], and `is_unsupported` for all other memory; `is_read_only` for a writable
/// description of memory that is sealed against writing.
pub(super) fn import_sealed(fd: OwnedFd, description: &Description) -> Result<DArray> {
    let (start, nbytes) = extent(description)?;
    array(Buffer::map_shared(fd, start, nbytes, description.is_writable())?, description)
}

/// The first byte that the array covers, and the number of bytes.
fn extent(description: &Description) -> Result<(u64, usize)> {
    let span = description.span();
    let nbytes = usize::try_from(span.end - span.start).map_err(|_| {
        Error::new(
            Kind::Overflow,
            format!("{} bytes cannot be mapped: they exceed the address space", span.end - span.start),
        )
    })?;
    Ok((span.start, nbytes))
}

/// The array in a map of its extent.
fn array(buffer: Buffer, description: &Description) -> Result<DArray> {
    let within = (description.offset() - description.span().start) as usize;
    DArray::from_buffer(buffer, description.dtype().clone(), description.layout().clone(), within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::DType;

    #[test]
    fn a_description_that_lies_is_refused() {
        let buffer = Buffer::shared(100).unwrap();
        let (fd, _) = buffer.descriptor().unwrap();
        let open = |shape: &[usize], strides: &[isize], offset| {
            let description = Description::new(DType::I32, shape, strides, offset, true)?;
            import(fd.try_clone_to_owned().unwrap(), &description)
        };
        assert!(open(&[25], &[4], 0).is_ok());
        assert!(open(&[25], &[-4], 96).is_ok());
        assert!(open(&[25], &[4], 1).unwrap_err().is_bounds());
        assert!(open(&[2], &[97], 0).unwrap_err().is_bounds());
        assert!(open(&[], &[], u64::MAX - 4).unwrap_err().is_bounds());
        assert!(open(&[0], &[4], 101).unwrap_err().is_bounds());
    }

    #[test]
    fn what_is_no_memory_is_refused() {
        let description = Description::new(DType::U8, &[1], &[1], 0, false).unwrap();
        let null = File::open("/dev/null").unwrap();
        assert!(import(null.into(), &description).unwrap_err().is_unsupported());
    }
}
