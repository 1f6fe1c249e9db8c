//! Devices of CUDA, by its driver, which is loaded when the first of them is asked for.
//!
//! ```text
//!   Place          memory                                            who reaches it
//!   cuda:n         the device's, from a stream-ordered pool          the device, and its peers
//!   cuda_host:n    the host's, pinned for all contexts and mapped    the host, and every device
//!   cuda_managed:n memory that goes where it is used                 the host, and every device
//! ```
//!
//! All three are had by [`device::get`](crossdock::device::get) and
//! [`device::memory`](crossdock::device::memory), as every device is, and work with the methods of
//! [`Buffer`]; what is here is what only CUDA has. Nothing of CUDA is needed to build or to start.
//! The library is `libcuda.so.1`, or what the environment variable `CROSSDOCK_CUDA_DRIVER` names;
//! without it, or without a device, every call returns an error for which
//! [`is_unsupported`](Error::is_unsupported) holds. A program calls [`register`] once.
//!
//! ```
//! use crossdock::buffer::Buffer;
//! use crossdock::device;
//! use crossdock::memory::{DeviceKind, Place};
//! use crossdock_cuda as cuda;
//!
//! cuda::register()?;
//! let Ok(memory) = device::memory(Place::new(DeviceKind::CUDA, 0)) else { return Ok(()) };
//! let pinned = Buffer::from_vec(vec![7u8; 1000])?.copy_to(&device::memory(Place::new(DeviceKind::CUDA_HOST, 0))?)?;
//! let there = pinned.copy_to(&memory)?;
//! assert_eq!(there.place().to_string(), "cuda:0");
//! assert!(there.read().unwrap_err().is_place()); // only the device reaches it
//! println!("{} bytes are free", cuda::free_nbytes(0)?);
//! # Ok::<(), crossdock::Error>(())
//! ```
//!
//! # Contexts, streams, and others in the process
//!
//! A device's primary context is used, which the CUDA runtime uses as well; it is current during
//! calls only, and what was current before is so again after them. Streams made here do not wait
//! for the legacy default stream. Those of others are wrapped by
//! [`Device::wrap_stream`](crossdock::device::Device::wrap_stream), which takes the driver's
//! handle, 1 for the legacy default stream and 2 for the one of the calling thread.
//!
//! New memory of a pool has an event ([`Buffer::events`]), which is over in a moment; everything
//! that works on buffers waits for it, by itself. Memory goes back to the pool when its last holder
//! drops it. In-flight work of this library holds it; a caller that passes the address to another
//! library must keep the buffer until that library's work is over.
//!
//! Copies in a stream between a device and usual (pageable) memory of the host go over pinned
//! memory of the library's, so that the call returns at once; pinned memory is copied without that
//! way, and faster.
//!
//! # Forks
//!
//! A driver that was in use does not survive a fork: in the child every call is an error, and what
//! is dropped there is forgotten. Pinned and managed memory that a child inherits is not to be
//! touched there; copy it to usual memory before.

mod block;
mod context;
mod copy;
mod core;
mod description;
mod device;
mod driver;
mod engine;
mod event;
mod handle;
mod import;
mod info;
mod ipc;
mod ipc_handle;
mod load;
mod lookup;
mod map;
mod memory;
mod modules;
mod peers;
mod pool;
mod staging;
mod stream;
mod sys;

use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(doc)]
use crossdock::Error;
use crossdock::Result;
use crossdock::buffer::Buffer;
use crossdock::device::MemoryManager;
use crossdock::memory::{Birth, Place};

pub use description::Description;
pub use ipc_handle::{IpcExport, IpcHandle};

/// Makes the places of CUDA known to the library: from now on
/// [`device::get`](crossdock::device::get) opens its devices. Loads nothing. To call it again
/// changes nothing.
///
/// # Errors
///
/// `is_conflict` where another driver has one of the kinds.
pub fn register() -> Result<()> {
    device::register()
}

/// All devices of the driver, in the order of their numbers. Opens none of them: no context is
/// made, and no memory used.
///
/// ```
/// for device in crossdock_cuda::devices().unwrap_or_default() {
///     println!("{}: {}, {} bytes", device.place, device.name, device.total_nbytes);
/// }
/// ```
///
/// # Errors
///
/// `is_unsupported` where there is no driver, or no device for it; `is_device` where the driver
/// failed.
pub fn devices() -> Result<Vec<Description>> {
    info::devices()
}

/// The version of CUDA for which the driver was made: major and minor.
///
/// # Errors
///
/// As [`devices`].
pub fn driver_version() -> Result<(u32, u32)> {
    info::driver_version()
}

/// The number of bytes of a device's memory that no process has allocated. Opens the device.
///
/// # Errors
///
/// As [`devices`]; `is_bounds` where there is none of the number.
pub fn free_nbytes(ordinal: i32) -> Result<u64> {
    info::free_nbytes(ordinal)
}

/// Returns unused memory that is kept for reuse to the system: all of the idle pinned memory for
/// staged copies, and all but `keep_nbytes` of the idle memory of the device's pool. A pool keeps
/// up to a thirty-second part of the device's memory by itself.
///
/// # Errors
///
/// As [`free_nbytes`].
pub fn trim(ordinal: i32, keep_nbytes: usize) -> Result<()> {
    info::trim(ordinal, keep_nbytes)
}

/// Memory of a device that other processes can open ([`export_ipc`]): of the place `cuda:n`, and so
/// beside the usual memory there. It is not of a pool, hence slower to allocate, and freeing it
/// waits for all work of the device.
///
/// # Errors
///
/// As [`free_nbytes`].
pub fn exportable_memory(ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    info::exportable_memory(ordinal)
}

/// What another process needs to open memory of a device, which is of [`exportable_memory`], or a
/// slice of it. Waits for the work that is under way on it. O(1).
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock_cuda::{self as cuda, IpcHandle};
///
/// let Ok(memory) = cuda::exportable_memory(0) else { return Ok(()) };
/// let buffer = Buffer::on(&memory, 1000)?;
/// let export = cuda::export_ipc(&buffer.slice(100..300)?)?; // kept as long as others have it open
/// let sent = export.handle().to_bytes(); // by a pipe, say
/// assert_eq!(IpcHandle::from_bytes(&sent)?.nbytes(), 200);
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_place` for memory that is not a CUDA device's; `is_device` for memory of a pool, or where
/// the driver failed; `is_conflict` and `is_read_only`, since others may write it: as
/// [`Buffer::share`].
pub fn export_ipc(buffer: &Buffer) -> Result<IpcExport> {
    ipc::export_ipc(buffer)
}

/// Opens memory that another process exported, on the device that has this number here. It is
/// aliased; an allocation is opened once, however many parts of it are asked for, and closed when
/// the last of them is dropped.
///
/// # Errors
///
/// `is_bounds` where the handle says more than the allocation has; `is_device` where the driver
/// does not open it, as in the process that exported it; and as [`free_nbytes`].
///
/// # Safety
///
/// The process that exported the memory keeps it until the buffer has been dropped.
pub unsafe fn open_ipc(handle: &IpcHandle, ordinal: i32) -> Result<Buffer> {
    // SAFETY: the exporting process keeps the memory until the buffer is dropped (`# Safety`).
    unsafe { ipc::open_ipc(handle, ordinal) }
}

/// Where memory is, as the driver says: device, pinned or managed memory, with the number of the
/// device. `cpu` for an address that the driver does not know.
///
/// # Errors
///
/// As [`devices`].
pub fn place_of(address: *const u8) -> Result<Place> {
    Ok(lookup::place_of(address)?.unwrap_or(Place::CPU))
}

/// Adopts memory of CUDA that another library allocated, by its address alone: as
/// [`Buffer::from_foreign`], with the place that the driver names ([`place_of`]), and device memory
/// checked to have so many bytes. Work that is under way on it is told by [`Buffer::note_event`]
/// with an event of [`Device::wrap_event`](crossdock::device::Device::wrap_event).
///
/// `release` is called exactly once: when the last holder goes, on whichever thread that is, or
/// before this returns an error.
///
/// # Errors
///
/// `is_place` for memory that the driver does not know; `is_bounds` where the allocation ends
/// before; as [`Buffer::from_foreign`], and as [`devices`].
///
/// # Safety
///
/// As for [`Buffer::from_foreign`].
pub unsafe fn import(
    address: NonNull<u8>,
    nbytes: usize,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<Buffer> {
    // SAFETY: both functions require what `Buffer::from_foreign` requires.
    unsafe { import::import(address, nbytes, birth, release) }
}

/// The bytes of a buffer in usual memory of the host, as pinned memory of the place `cuda_host:n`:
/// no copy, but the pages are locked, which takes about as long as touching all of them. It keeps
/// the buffer under Share (Pin where that is read-only), and unpins the pages when the last holder
/// drops it.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::device;
/// use crossdock::memory::{DeviceKind, Place};
/// use crossdock_cuda as cuda;
///
/// cuda::register()?;
/// let Ok(device) = device::memory(Place::new(DeviceKind::CUDA, 0)) else { return Ok(()) };
/// let pinned = cuda::pin(&Buffer::from_vec(vec![1u8; 4096])?, 0)?;
/// let seen_by_the_device = pinned.map_to(&device)?.expect("pinned memory is mapped");
/// assert_eq!(seen_by_the_device.place(), device.place());
/// # Ok::<(), crossdock::Error>(())
/// ```
///
/// # Errors
///
/// `is_place` for memory that is not at `cpu`; `is_device` where the driver refuses, as for pages a
/// part of which is pinned already; `is_unsupported` for read-only memory where the device cannot;
/// `is_conflict` as [`Buffer::share`]; and as [`free_nbytes`].
pub fn pin(buffer: &Buffer, ordinal: i32) -> Result<Buffer> {
    import::pin(buffer, ordinal)
}
