//! Devices of CUDA. The driver is loaded when the first device is requested.
//!
//! ```text
//!   Place          memory                                            who reaches it
//!   cuda:n         the device's, from a stream-ordered pool          the device, and its peers
//!   cuda_host:n    the host's, pinned for all contexts and mapped    the host, and every device
//!   cuda_managed:n memory that goes where it is used                 the host, and every device
//! ```
//!
//! [`device::get`](crossdock::device::get) and [`device::memory`](crossdock::device::memory) return
//! all three, as for every device, and they work with the methods of [`Buffer`]; this crate adds
//! what only CUDA has. A program builds and starts without CUDA. The library is `libcuda.so.1`, or
//! the one that the environment variable `CROSSDOCK_CUDA_DRIVER` names. Without it, or without a
//! device, every call returns an error for which [`is_unsupported`](Error::is_unsupported) holds. A
//! program calls [`register`] once.
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
//! # Contexts, streams, and other libraries in the process
//!
//! The crate uses a device's primary context, as the CUDA runtime does. The context is current
//! during calls only; each call restores the previous one. Streams of this crate do not wait for
//! the legacy default stream. [`Device::wrap_stream`](crossdock::device::Device::wrap_stream) wraps
//! streams of other libraries: it accepts the driver's handle, 1 for the legacy default stream and
//! 2 for that of the calling thread.
//!
//! New memory of a pool has an event ([`Buffer::events`]), which completes quickly; all operations
//! on buffers wait for it. Memory returns to the pool when its last holder drops it. In-flight work
//! of this library holds its memory; a caller that passes the address to another library must keep
//! the buffer until that library's work is over.
//!
//! Copies in a stream between a device and pageable host memory are staged through pinned memory of
//! the library, so that the call returns immediately. Pinned memory is copied directly, and faster.
//!
//! # Forks
//!
//! A driver that was in use does not survive a fork. In the child every call is an error, and drops
//! release nothing. A child must not access pinned or managed memory that it inherits; copy it to
//! pageable memory before the fork.
//!
//! # Files
//!
//! `driver.rs` is the one table of the driver's functions; `load.rs` opens the library.

#![cfg_attr(not(unix), expect(dead_code, reason = "what serves only descriptors of memory"))]

mod block;
mod context;
mod copy;
mod core;
mod description;
#[cfg(unix)]
mod descriptor;
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
mod virtual_calls;
mod virtual_memory;

#[cfg(unix)]
use std::os::fd::BorrowedFd;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(doc)]
use crossdock::Error;
use crossdock::Result;
use crossdock::buffer::Buffer;
use crossdock::device::MemoryManager;
use crossdock::memory::{Birth, Place};

pub use description::Description;
#[cfg(unix)]
pub use descriptor::{DescriptorExport, DescriptorRange};
pub use ipc_handle::{IpcExport, IpcHandle};

/// Registers the places of CUDA, so that [`device::get`](crossdock::device::get) opens its devices.
/// Loads nothing. Further calls have no effect.
///
/// # Errors
///
/// `is_conflict` where another driver has registered one of the kinds.
pub fn register() -> Result<()> {
    device::register()
}

/// All devices of the driver, by ordinal. Opens none of them: it creates no context and uses no
/// memory.
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

/// The version of CUDA that the driver supports: major and minor.
///
/// # Errors
///
/// As [`devices`].
pub fn driver_version() -> Result<(u32, u32)> {
    info::driver_version()
}

/// The free memory of a device, in bytes, over all processes. Opens the device.
///
/// # Errors
///
/// As [`devices`]; `is_bounds` where no device has the ordinal.
pub fn free_nbytes(ordinal: i32) -> Result<u64> {
    info::free_nbytes(ordinal)
}

/// Returns cached memory to the system: all idle pinned memory for staged copies, and all but
/// `keep_nbytes` of the idle memory of the device's pool. By itself, a pool keeps up to a
/// thirty-second of the device's memory.
///
/// # Errors
///
/// As [`free_nbytes`].
pub fn trim(ordinal: i32, keep_nbytes: usize) -> Result<()> {
    info::trim(ordinal, keep_nbytes)
}

/// Memory of a device that other processes can open ([`export_ipc`]). Its place is `cuda:n`, like
/// the default memory there. It is not pooled, so it is slower to allocate, and freeing it waits
/// for all work of the device.
///
/// # Errors
///
/// As [`free_nbytes`].
pub fn exportable_memory(ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    info::exportable_memory(ordinal)
}

/// Exports memory of [`exportable_memory`], or a slice of it, for another process to open. Waits
/// for in-flight work on it. O(1).
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
/// the driver failed; `is_conflict` and `is_read_only` as [`Buffer::share`], because other
/// processes may write the memory.
pub fn export_ipc(buffer: &Buffer) -> Result<IpcExport> {
    ipc::export_ipc(buffer)
}

/// Opens memory that another process exported, on the device with this ordinal in this process. The
/// buffer is aliased. An allocation is opened once for all its parts, and closed when the last of
/// them is dropped.
///
/// # Errors
///
/// `is_bounds` where the range of the handle exceeds the allocation; `is_device` where the driver
/// does not open it, as in the process that exported it; and as [`free_nbytes`].
///
/// # Safety
///
/// The process that exported the memory keeps it until the buffer has been dropped.
pub unsafe fn open_ipc(handle: &IpcHandle, ordinal: i32) -> Result<Buffer> {
    // SAFETY: `# Safety`: the exporting process keeps the memory until the buffer is dropped, which
    // is the contract of `ipc::open_ipc`.
    unsafe { ipc::open_ipc(handle, ordinal) }
}

/// Memory of a device that leaves the process as a file descriptor ([`export_descriptor`]), of the
/// driver's virtual memory calls. Its place is `cuda:n`, like the default memory there. It is not
/// pooled, and an allocation takes a multiple of the device's granularity, which usually is 2 MiB.
///
/// # Errors
///
/// `is_unsupported` where the driver or the device has no such memory, which
/// [`exportable_memory`] does not need; and as [`free_nbytes`].
pub fn shareable_memory(ordinal: i32) -> Result<Arc<dyn MemoryManager>> {
    info::shareable_memory(ordinal)
}

/// Exports memory of [`shareable_memory`], a slice of it, or what another process sent, as a
/// descriptor that a process can import. Waits for in-flight work on it. O(1).
///
/// The descriptor leads to the whole allocation, and keeps it: either process may end first. The
/// importing process only reads the memory, while this one may write it at any time, so processes
/// agree on when. (The device enforces the access of a mapping. A program that calls the driver
/// itself could map the descriptor for writing: send it only to processes that you trust.)
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock_cuda as cuda;
/// use std::os::unix::net::UnixStream;
///
/// let Ok(memory) = cuda::shareable_memory(0) else { return Ok(()) };
/// let buffer = Buffer::from_vec(vec![7u8; 1000])?.copy_to(&memory)?;
/// let (ours, theirs) = UnixStream::pair()?; // one of them goes to the other process
/// cuda::export_descriptor(&buffer.slice(100..300)?)?.send(&ours)?;
///
/// // What the other process does:
/// let received = cuda::receive(&theirs)?.expect("memory was sent");
/// assert_eq!((received.nbytes(), received.is_readonly()), (200, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// `is_place` for other memory, and for no bytes; `is_device` where the driver failed;
/// `is_conflict` while a Write lease is held.
#[cfg(unix)]
pub fn export_descriptor(buffer: &Buffer) -> Result<DescriptorExport> {
    descriptor::export_descriptor(buffer)
}

/// Whether [`export_descriptor`] has a descriptor of this memory. O(log n) in the number of such
/// allocations.
#[cfg(unix)]
pub fn has_descriptor(buffer: &Buffer) -> bool {
    descriptor::has_descriptor(buffer)
}

/// Imports memory that another process, or this one, exported, on the device that has it. The
/// buffer is aliased and read-only: a lease for writing is refused with `is_read_only`. The mapping
/// keeps the memory, so the exporting process may end.
///
/// The descriptor remains the caller's. Nothing in `range` is trusted.
///
/// # Errors
///
/// `is_device` where the driver does not import the descriptor, or the allocation is smaller than
/// the range says; `is_malformed` for a size that no allocation has; `is_unsupported` as
/// [`shareable_memory`]; and as [`free_nbytes`].
#[cfg(unix)]
pub fn import_descriptor(fd: BorrowedFd<'_>, range: &DescriptorRange) -> Result<Buffer> {
    descriptor::import_descriptor(fd, range)
}

/// Receives and imports the memory that [`DescriptorExport::send`] sent; `None` if the peer closed
/// the stream instead.
///
/// # Errors
///
/// As [`import_descriptor`]; `is_malformed` for another message; `is_io` if the socket failed. The
/// stream must then be closed.
#[cfg(unix)]
pub fn receive(socket: &UnixStream) -> Result<Option<Buffer>> {
    descriptor::receive(socket)
}

/// The place of an address, as the driver reports it: device, pinned or managed memory, with the
/// ordinal of the device. `cpu` for an address that the driver does not know.
///
/// # Errors
///
/// As [`devices`].
pub fn place_of(address: *const u8) -> Result<Place> {
    Ok(lookup::place_of(address)?.unwrap_or(Place::CPU))
}

/// Imports memory of CUDA that another library allocated, by its address alone: as
/// [`Buffer::from_foreign`], at the place that the driver reports ([`place_of`]). Device memory is
/// checked to have `nbytes` bytes. If work on it is in flight, call [`Buffer::note_event`] with an
/// event of [`Device::wrap_event`](crossdock::device::Device::wrap_event).
///
/// `release` is called exactly once: when the last holder goes, on whichever thread that is, or
/// before this returns an error.
///
/// # Errors
///
/// `is_place` for memory that the driver does not know; `is_bounds` where the allocation ends
/// earlier; as [`Buffer::from_foreign`], and as [`devices`].
///
/// # Safety
///
/// The contract of [`Buffer::from_foreign`] holds for the bytes, `birth` and `release`.
pub unsafe fn import(
    address: NonNull<u8>,
    nbytes: usize,
    birth: Birth,
    release: impl FnOnce() + Send + 'static,
) -> Result<Buffer> {
    // SAFETY: `# Safety` is the contract of `import::import`: both require what
    // `Buffer::from_foreign` requires.
    unsafe { import::import(address, nbytes, birth, release) }
}

/// Pins a buffer in pageable host memory, as memory of the place `cuda_host:n`. It copies nothing,
/// but locks the pages, which takes about as long as touching all of them. The result keeps the
/// buffer under Share (Pin where that is read-only), and unpins the pages when the last holder
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
/// `is_place` for memory that is not at `cpu`; `is_device` where the driver refuses, for example
/// because part of the pages is pinned already; `is_unsupported` for read-only memory where the
/// device cannot pin it; `is_conflict` as [`Buffer::share`]; and as [`free_nbytes`].
pub fn pin(buffer: &Buffer, ordinal: i32) -> Result<Buffer> {
    import::pin(buffer, ordinal)
}
