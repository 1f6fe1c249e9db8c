//! A build without CUDA.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory::device::cuda::{Description, IpcExport, IpcHandle};
use crate::memory::device::{Device, MemoryManager};
use crate::memory::{Birth, Buffer, Place};

/// Says what is missing.
#[cold]
fn missing<T>() -> Result<T> {
    Err(Error::unsupported("there is no CUDA in this program: it was built without the feature `cuda`"))
}

pub(in crate::memory::device) fn open(place: Place) -> Result<Arc<dyn Device>> {
    missing().map_err(|error: Error| error.within(place))
}

pub(super) fn devices() -> Result<Vec<Description>> {
    missing()
}

pub(super) fn driver_version() -> Result<(u32, u32)> {
    missing()
}

pub(super) fn free_nbytes(_: i32) -> Result<u64> {
    missing()
}

pub(super) fn trim(_: i32, _: usize) -> Result<()> {
    missing()
}

pub(super) fn exportable_memory(_: i32) -> Result<Arc<dyn MemoryManager>> {
    missing()
}

pub(super) fn export_ipc(_: &Buffer) -> Result<IpcExport> {
    missing()
}

pub(super) unsafe fn open_ipc(_: &IpcHandle, _: i32) -> Result<Buffer> {
    missing()
}

pub(super) fn place_of(_: *const u8) -> Result<Place> {
    missing()
}

pub(super) unsafe fn import(
    _: NonNull<u8>,
    _: usize,
    _: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<Buffer> {
    release();
    missing()
}

pub(super) fn pin(_: &Buffer, _: i32) -> Result<Buffer> {
    missing()
}
