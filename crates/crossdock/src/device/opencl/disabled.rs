//! A build without OpenCL.

use std::convert::Infallible;
use std::ffi::c_void;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::device::opencl::description::Description;
use crate::error::{Error, Result};
use crate::memory::{Birth, LeaseKind, Place};

fn missing() -> Error {
    Error::unsupported("this program was built without the feature `opencl`")
}

/// A memory object of a range: there is none in this build.
#[derive(Debug)]
pub struct SubBuffer(Infallible);

impl SubBuffer {
    /// The memory object.
    pub fn raw(&self) -> *mut c_void {
        match self.0 {}
    }
}

/// Says what is missing.
pub(in crate::device) fn open(_: Place) -> Result<Arc<dyn Device>> {
    Err(missing())
}

pub(super) fn devices() -> Result<Vec<Description>> {
    Err(missing())
}

/// # Safety
///
/// None: nothing is looked at.
pub(super) unsafe fn import(_: *mut c_void, _: Place, _: Birth) -> Result<Buffer> {
    Err(missing())
}

pub(super) fn sub_buffer(_: &Buffer, _: LeaseKind) -> Result<SubBuffer> {
    Err(missing())
}
