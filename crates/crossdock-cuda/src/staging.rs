//! Copies in a stream between a device and pageable host memory: through pinned memory of this
//! library, by functions that the driver calls in the stream's order.
//!
//! The driver by itself reads pageable memory when it is asked for such a copy, though work that is
//! to write it may be before it in the stream; and in the other direction it does not return before
//! the stream has come so far.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::Context;
use crate::core::Core;
use crate::sys::{self, Address};
use crossdock::device::driver::racy_copy;
use crossdock::{Error, Result};

/// Sizes of slots are powers of two from this one on, so that few of them serve all copies.
const SMALLEST: usize = 64 << 10;
/// More than this goes in pieces through one slot,
const LARGEST: usize = 4 << 20;
/// of which there are no more than this, so that a long copy does not fill the driver's queue.
const MOST_PIECES: usize = 128;
/// How much pinned memory waits for its next use.
const IDLE_NBYTES: usize = 32 << 20;

/// Pinned memory of one context.
struct Slot {
    context: Arc<Context>,
    address: NonNull<u8>,
    nbytes: usize,
}

// SAFETY: pinned memory is bound to no thread, and the slot is its only owner.
unsafe impl Send for Slot {}
// SAFETY: `&Slot` gives no access to the bytes.
unsafe impl Sync for Slot {}

impl Slot {
    fn new(context: &Arc<Context>, nbytes: usize) -> Result<Self> {
        let _current = context.enter()?;
        let mut address = std::ptr::null_mut();
        // SAFETY: the context is current; the driver writes the address to a live local variable.
        unsafe { context.driver().mem_host_alloc(&raw mut address, nbytes, sys::HOST_PORTABLE_AND_MAPPED) }?;
        let address =
            NonNull::new(address.cast()).ok_or_else(|| Error::device("cuMemHostAlloc gave no memory"))?;
        Ok(Self { context: context.clone(), address, nbytes })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, and freed here alone.
        self.context.release_quietly(|driver| unsafe { driver.mem_free_host(self.address.as_ptr().cast()) });
    }
}

/// The slots that wait for their next use.
pub(crate) struct Slots(Mutex<Vec<Slot>>);

impl Slots {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn take(&self, context: &Arc<Context>, nbytes: usize) -> Result<Slot> {
        let mut idle = self.lock();
        let found = idle.iter().position(|slot| slot.nbytes == nbytes).map(|place| idle.swap_remove(place));
        drop(idle);
        found.map_or_else(|| Slot::new(context, nbytes), Ok)
    }

    fn give(&self, slot: Slot) {
        let mut idle = self.lock();
        let waiting: usize = idle.iter().map(|slot| slot.nbytes).sum();
        let surplus = if waiting + slot.nbytes <= IDLE_NBYTES && idle.try_reserve(1).is_ok() {
            idle.push(slot);
            None
        } else {
            Some(slot)
        };
        drop(idle);
        drop(surplus);
    }

    /// Gives all of it back.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.lock());
        drop(idle);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy within host memory that a stream makes.
struct HostCopy {
    dst: *mut u8,
    src: *const u8,
    nbytes: usize,
}

unsafe extern "C" fn copy_on_host(copy: *mut c_void) {
    let copy: *const HostCopy = copy.cast_const().cast();
    // SAFETY: `enqueue` passes one entry of `Staged::copies`, which its caller keeps until the
    // stream is done.
    let HostCopy { dst, src, nbytes } = unsafe { copy.read() };
    // SAFETY: `nbytes` bytes of host memory on both sides. They are in the slot, or under leases
    // that the work in the stream holds.
    unsafe { racy_copy(src, dst, nbytes) };
}

/// Which way host memory goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    FromHost,
    ToHost,
}

/// What copies by the host in a stream need until they are over.
pub(crate) struct Staged {
    core: Arc<Core>,
    slot: Option<Slot>,
    /// A leaked box, which only this frees; the stream reads it until the copies are done.
    copies: NonNull<[HostCopy]>,
}

// SAFETY: this frees the copies and never follows the addresses in them. Only the stream does,
// while the work that owns this also owns the `Transfer` with the leases of the memory.
unsafe impl Send for Staged {}

/// The calls that put them into the stream: of addresses that stay where they are when [`Staged`]
/// is moved.
pub(crate) struct Calls {
    copies: NonNull<[HostCopy]>,
    /// Of each piece: the device's memory, and the slot's.
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
    /// What the driver says; where there is no memory.
    pub(crate) fn over_slot(
        core: &Arc<Core>,
        direction: Direction,
        host: *mut u8,
        device: Address,
        nbytes: usize,
    ) -> Result<(Self, Calls)> {
        let piece = LARGEST.max(nbytes.div_ceil(MOST_PIECES)).min(nbytes);
        let slot = core.slots().take(core.context(), piece.next_power_of_two().max(SMALLEST))?;
        let staged = slot.address.as_ptr();
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
        Ok(Self::with(core, Some(slot), copies.into_boxed_slice(), way))
    }

    fn with(
        core: &Arc<Core>,
        slot: Option<Slot>,
        copies: Box<[HostCopy]>,
        device: Option<(Direction, Address, Address)>,
    ) -> (Self, Calls) {
        let copies = NonNull::from(Box::leak(copies));
        (Self { core: core.clone(), slot, copies }, Calls { copies, device })
    }
}

impl Calls {
    /// Puts all of it into the stream.
    ///
    /// # Errors
    ///
    /// What the driver says. A part may be under way then.
    ///
    /// # Safety
    ///
    /// The [`Staged`] that came with this, and leases of the memory on both sides, are kept until
    /// what is in the stream now is over. The stream is alive, and a context current.
    pub(crate) unsafe fn enqueue(self, core: &Core, stream: sys::Stream) -> Result<()> {
        let driver = core.driver();
        let mut done = 0;
        for place in 0..self.copies.len() {
            let copy = self.copies.cast::<HostCopy>().as_ptr().wrapping_add(place);
            // SAFETY: `place` is less than the number of copies. The caller keeps the `Staged` that
            // owns them (`# Safety`), and no code writes them after `with`.
            let nbytes = unsafe { (*copy).nbytes };
            // SAFETY: `copy_on_host` gets the `HostCopy` that it expects, which the caller keeps
            // until the stream is done (`# Safety`).
            let on_host = || unsafe { driver.launch_host_func(stream, copy_on_host, copy.cast()) };
            match self.device {
                None => on_host()?,
                Some((Direction::FromHost, device, slot)) => {
                    on_host()?;
                    // SAFETY: the caller keeps the slot and leases of the device's memory until the
                    // stream is done (`# Safety`); stream order puts the next piece after this one.
                    unsafe { driver.memcpy_async(device + done, slot, nbytes, stream) }?;
                }
                Some((Direction::ToHost, device, slot)) => {
                    // SAFETY: the caller keeps the slot and leases of the device's memory until the
                    // stream is done (`# Safety`); stream order puts the next piece after this one.
                    unsafe { driver.memcpy_async(slot, device + done, nbytes, stream) }?;
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
        // SAFETY: the box that was leaked in `with`, freed here alone. `enqueue` requires that this
        // is kept until the stream is done, so the stream no longer reads it.
        drop(unsafe { Box::from_raw(self.copies.as_ptr()) });
        let Some(slot) = self.slot.take() else { return };
        // A child takes no lock of its parent's.
        if self.core.context().is_inherited() {
            drop(slot);
        } else {
            self.core.slots().give(slot);
        }
    }
}
