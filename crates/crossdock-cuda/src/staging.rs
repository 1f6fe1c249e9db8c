//! Copies in a stream between a device and pageable host memory: staged through pinned memory of
//! this library, by host functions that the driver calls in stream order.
//!
//! The driver's own copy reads pageable memory during the call, although work earlier in the stream
//! may still have to write it; in the other direction, the call returns only when the stream has
//! reached it.
//!
//! Reasons: `DESIGN.md`, "Copies of pageable memory in a stream go through pinned memory".

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::core::Core;
use crate::sys::{self, Address};
use crossdock::device::driver::racy_copy;
use crossdock::{Error, Result};

/// The smallest buffer. Sizes are powers of two, so that few buffers serve all copies.
const SMALLEST: usize = 64 << 10;
/// The largest piece: longer copies use one buffer, in pieces.
const LARGEST: usize = 4 << 20;
/// The most pieces of one copy, so that a long copy does not fill the driver's queue.
const MOST_PIECES: usize = 128;
/// How much idle pinned memory is kept for reuse.
const IDLE_NBYTES: usize = 32 << 20;

/// Pinned memory of one context.
struct StagingBuffer {
    context: Arc<Context>,
    address: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: pinned memory may be used and freed on any thread, and the buffer is the only owner of
// its address.
unsafe impl Send for StagingBuffer {}
// SAFETY: `&StagingBuffer` reads the address and the size only, and no code accesses the bytes
// through it.
unsafe impl Sync for StagingBuffer {}

impl StagingBuffer {
    fn new(context: &Arc<Context>, nbytes: usize) -> Result<Self> {
        let _current = context.enter()?;
        let mut address = std::ptr::null_mut();
        // SAFETY: `_current` keeps the context current, and the driver writes the address to a live
        // local variable.
        unsafe { context.driver().mem_host_alloc(&raw mut address, nbytes, sys::HOST_PORTABLE_AND_MAPPED) }?;
        let address =
            NonNull::new(address.cast()).ok_or_else(|| Error::device("cuMemHostAlloc returned no memory"))?;
        Ok(Self { context: context.clone(), address, nbytes })
    }
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the address as pinned memory, and only this drop frees it.
        self.context.release_quietly(|driver| unsafe { driver.mem_free_host(self.address.as_ptr().cast()) });
    }
}

/// The idle buffers, kept for reuse.
pub(crate) struct StagingBuffers(Mutex<Vec<StagingBuffer>>);

impl StagingBuffers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn take(&self, context: &Arc<Context>, nbytes: usize) -> Result<StagingBuffer> {
        let mut idle = self.lock();
        let found =
            idle.iter().position(|buffer| buffer.nbytes == nbytes).map(|place| idle.swap_remove(place));
        drop(idle);
        found.map_or_else(|| StagingBuffer::new(context, nbytes), Ok)
    }

    fn give(&self, buffer: StagingBuffer) {
        let mut idle = self.lock();
        let waiting: usize = idle.iter().map(|buffer| buffer.nbytes).sum();
        let surplus = if waiting + buffer.nbytes <= IDLE_NBYTES && idle.try_reserve(1).is_ok() {
            idle.push(buffer);
            None
        } else {
            Some(buffer)
        };
        drop(idle);
        drop(surplus);
    }

    /// Frees all idle buffers.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.lock());
        drop(idle);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<StagingBuffer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy within host memory that a stream performs.
struct HostCopy {
    dst: *mut u8,
    src: *const u8,
    nbytes: usize,
}

/// # Safety
///
/// 1. `copy` points to a [`HostCopy`] that stays until this returns.
/// 2. Both ranges are `nbytes` bytes of host memory, in the buffer or under leases for racy
///    accesses.
unsafe extern "C" fn copy_on_host(copy: *mut c_void) {
    let copy: *const HostCopy = copy.cast_const().cast();
    // SAFETY: clause 1 of `# Safety`: `enqueue` passes an entry of `Staged::copies`, which its
    // caller keeps until the stream is done.
    let HostCopy { dst, src, nbytes } = unsafe { copy.read() };
    // SAFETY: clause 2 of `# Safety`: both ranges are `nbytes` bytes of host memory, in the buffer
    // or under leases that the work in the stream holds.
    unsafe { racy_copy(src, dst, nbytes) };
}

/// The direction of a copy, seen from host memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    FromHost,
    ToHost,
}

/// The resources that staged copies need until they are over.
pub(crate) struct Staged {
    core: Arc<Core>,
    buffer: Option<StagingBuffer>,
    /// A leaked box that only this frees; the stream reads it until the copies are done.
    copies: NonNull<[HostCopy]>,
}

// SAFETY: `Staged` frees the copies and never dereferences the addresses in them. Only the stream
// does, while the work that owns `Staged` also owns the `Transfer` with the leases of the memory.
unsafe impl Send for Staged {}

/// The calls that enqueue the copies. Their addresses stay valid when [`Staged`] is moved.
pub(crate) struct Calls {
    copies: NonNull<[HostCopy]>,
    /// The direction, the device's memory, and the buffer.
    device: Option<(Direction, Address, Address)>,
}

impl Staged {
    /// A copy from host memory to host memory.
    pub(crate) fn on_host(core: &Arc<Core>, dst: *mut u8, src: *const u8, nbytes: usize) -> (Self, Calls) {
        Self::with(core, None, Box::new([HostCopy { dst, src, nbytes }]), None)
    }

    /// A copy between host memory and memory of a device.
    ///
    /// # Errors
    ///
    /// The driver's error; `is_out_of_memory`.
    pub(crate) fn over_slot(
        core: &Arc<Core>,
        direction: Direction,
        host: *mut u8,
        device: Address,
        nbytes: usize,
    ) -> Result<(Self, Calls)> {
        let piece = LARGEST.max(nbytes.div_ceil(MOST_PIECES)).min(nbytes);
        let buffer = core.staging().take(core.context(), piece.next_power_of_two().max(SMALLEST))?;
        let staged = buffer.address.as_ptr();
        let (mut copies, pieces) = (Vec::new(), nbytes.div_ceil(piece));
        copies
            .try_reserve_exact(pieces)
            .map_err(|_| Error::out_of_memory(pieces * size_of::<HostCopy>(), align_of::<HostCopy>()))?;
        for start in (0..nbytes).step_by(piece) {
            let (host, nbytes) = (host.wrapping_add(start), piece.min(nbytes - start));
            copies.push(match direction {
                Direction::FromHost => HostCopy { dst: staged, src: host, nbytes },
                Direction::ToHost => HostCopy { dst: host, src: staged, nbytes },
            });
        }
        let way = Some((direction, device, staged.expose_provenance() as Address));
        Ok(Self::with(core, Some(buffer), copies.into_boxed_slice(), way))
    }

    fn with(
        core: &Arc<Core>,
        buffer: Option<StagingBuffer>,
        copies: Box<[HostCopy]>,
        device: Option<(Direction, Address, Address)>,
    ) -> (Self, Calls) {
        let copies = NonNull::from(Box::leak(copies));
        (Self { core: core.clone(), buffer, copies }, Calls { copies, device })
    }
}

impl Calls {
    /// Enqueues all copies.
    ///
    /// # Errors
    ///
    /// The driver's error. In that case some copies may be in flight.
    ///
    /// # Safety
    ///
    /// 1. The caller keeps the [`Staged`] that was created with this until the work that is in the
    ///    stream when this returns is over.
    /// 2. The caller keeps leases of source and destination as long.
    /// 3. The stream is alive, and its context is current.
    pub(crate) unsafe fn enqueue(self, core: &Core, stream: sys::Stream) -> Result<()> {
        let driver = core.driver();
        let mut done = 0;
        for place in 0..self.copies.len() {
            let copy = self.copies.cast::<HostCopy>().as_ptr().wrapping_add(place);
            // SAFETY: `place` is less than the number of copies. Clause 1 of `# Safety`: the caller
            // keeps the `Staged` that owns them, and no code writes them after `with`.
            let nbytes = unsafe { (*copy).nbytes };
            // SAFETY: clause 1 of `# Safety`: the caller keeps the `HostCopy` that `copy_on_host`
            // reads until the stream is done; clause 3: the stream is alive.
            let on_host = || unsafe { driver.launch_host_func(stream, copy_on_host, copy.cast()) };
            match self.device {
                None => on_host()?,
                Some((Direction::FromHost, device, buffer)) => {
                    on_host()?;
                    // SAFETY: clauses 1 and 2 of `# Safety`: the caller keeps the buffer and leases
                    // of the device's memory until the stream is done; stream order puts the next
                    // piece after this one.
                    unsafe { driver.memcpy_async(device + done, buffer, nbytes, stream) }?;
                }
                Some((Direction::ToHost, device, buffer)) => {
                    // SAFETY: clauses 1 and 2 of `# Safety`: the caller keeps the buffer and leases
                    // of the device's memory until the stream is done; stream order puts the next
                    // piece after this one.
                    unsafe { driver.memcpy_async(buffer, device + done, nbytes, stream) }?;
                    on_host()?;
                }
            }
            done += nbytes as Address;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // SAFETY: `with` leaked this box, and only this drop frees it. Clause 1 of the contract of
        // `enqueue` keeps `self` until the stream is done, so the stream no longer reads it.
        drop(unsafe { Box::from_raw(self.copies.as_ptr()) });
        let Some(buffer) = self.buffer.take() else { return };
        // A forked child takes no lock that its parent may have held.
        if self.core.context().is_inherited() {
            drop(buffer);
        } else {
            self.core.staging().give(buffer);
        }
    }
}
