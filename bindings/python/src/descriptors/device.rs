//! Descriptors of the memory of CUDA devices.

use std::os::fd::{AsFd, OwnedFd};

use crossdock::bindings::description::Description;
use crossdock::{DArray, Error};
use crossdock_cuda as cuda;
use pyo3::prelude::*;

use crate::errors::{self, Raise};

/// Separates the two descriptions of an array's text: of the memory, and of the array in it.
const SEPARATOR: &str = "; ";

/// A descriptor of the memory, which belongs to the caller, and a text that describes both; `None`
/// for memory that has none.
pub(super) fn lend(array: &DArray) -> PyResult<Option<(OwnedFd, String)>> {
    let Ok((buffer, offset)) = array.buffer() else { return Ok(None) };
    if !cuda::has_descriptor(&buffer) {
        return Ok(None);
    }
    let text = Description::new(array.dtype().clone(), array.shape(), array.strides(), offset as u64, false)
        .and_then(|description| description.to_text())
        .raise()?;
    let export = cuda::export_descriptor(&buffer).map_err(|error| errors::refusal(&error))?;
    let fd = export.fd().try_clone_to_owned()?;
    Ok(Some((fd, format!("{}{SEPARATOR}{text}", export.range()))))
}

/// The array that another process described by [`lend`]; `None` for another text.
pub(super) fn map(fd: &OwnedFd, text: &str) -> Option<crossdock::Result<DArray>> {
    let (range, description) = text.split_once(SEPARATOR)?;
    if !range.starts_with("cuda-descriptor ") {
        return None;
    }
    let array = || {
        let (range, description): (cuda::DescriptorRange, Description) =
            (range.parse()?, description.parse()?);
        let buffer = cuda::import_descriptor(fd.as_fd(), &range)?;
        let within = usize::try_from(description.offset())
            .map_err(|_| Error::bounds(format!("byte {} exceeds all memory", description.offset())))?;
        DArray::from_buffer(buffer, description.dtype().clone(), description.layout().clone(), within)
    };
    Some(array())
}
