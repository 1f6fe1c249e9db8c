//! Copies. All memory of CUDA shares them, because devices and the host use the same addresses.

use std::sync::Arc;

use crate::core::Core;
use crate::memory::CudaMemory;
use crate::staging::{Calls, Direction, Staged};
use crate::stream::CudaStream;
use crate::sys::{self, Address};
use crate::virtual_memory;
use crossdock::device::{DeviceLease, Event, Transfer};
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Error, Result};

/// How the driver can access the source or the destination of a copy asynchronously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyAccess {
    /// Not at all: the copy must be staged.
    Pageable,
    /// Directly; but copies within the host are not the driver's task.
    Pinned,
    Managed,
    Device(i32),
}

impl CopyAccess {
    /// # Errors
    ///
    /// `is_device` for memory whose address the driver does not know.
    fn of(lease: &DeviceLease) -> Result<Self> {
        let place = lease.place();
        let side = match place.kind() {
            DeviceKind::CUDA => Self::Device(place.ordinal()),
            DeviceKind::CUDA_MANAGED => Self::Managed,
            DeviceKind::CUDA_HOST => Self::Pinned,
            _ if place.is_host() => Self::Pageable,
            _ => return Err(Error::unsupported(format!("CUDA cannot copy memory on {place}"))),
        };
        // CUDA's memory is identified by its address alone. A hold with an object belongs to the
        // device of another driver.
        if side != Self::Pageable && lease.object().is_some() {
            return Err(Error::device(format!("memory on {place} was not allocated by CUDA")));
        }
        Ok(side)
    }

    fn is_of_the_host(self) -> bool {
        matches!(self, Self::Pageable | Self::Pinned)
    }
}

fn address(lease: &DeviceLease) -> Address {
    lease.address().expose_provenance() as Address
}

/// The device of one endpoint of a copy, kept in use until the copy is over.
fn core_of(lease: &DeviceLease, ordinal: i32) -> Result<Arc<Core>> {
    let manager = lease.manager();
    match manager.as_deref().and_then(CudaMemory::of) {
        Some(memory) => Ok(memory.core().clone()),
        None => Core::of(ordinal),
    }
}

/// The two devices of a copy between devices, the source first.
type Between = Option<(Arc<Core>, Arc<Core>)>;

fn between(by: &Core, transfer: &Transfer, src: CopyAccess, dst: CopyAccess) -> Result<Between> {
    let (CopyAccess::Device(from), CopyAccess::Device(to)) = (src, dst) else { return Ok(None) };
    if from == to {
        return Ok(None);
    }
    let (from, to) = (core_of(transfer.src(), from)?, core_of(transfer.dst(), to)?);
    for (core, lease) in [(&from, transfer.src()), (&to, transfer.dst())] {
        let pool = core.pool().map(|pool| pool.raw());
        if by.peers().allow(by.context(), core.context(), pool)? {
            virtual_memory::allow(by, address(lease))?;
        }
    }
    Ok(Some((from, to)))
}

/// Enqueues a copy that the driver performs by itself.
///
/// # Errors
///
/// The driver's error.
///
/// # Safety
///
/// 1. Both ranges are kept, under leases for racy loads and racy stores, until the work is over.
/// 2. The stream is the core's, and alive, and its context is current.
unsafe fn put(
    core: &Core,
    (dst, src, nbytes): (Address, Address, usize),
    between: &Between,
    stream: sys::Stream,
) -> Result<()> {
    let driver = core.driver();
    let outcome = match between {
        // SAFETY: clause 1 of `# Safety`: leases keep both ranges until the work is over; clause 2:
        // the stream is the core's and alive, with its context current.
        None => unsafe { driver.memcpy_async(dst, src, nbytes, stream) },
        Some((from, to)) => {
            let (from, to) = (from.context().raw(), to.context().raw());
            // SAFETY: clause 1 of `# Safety`: leases keep both ranges until the work is over;
            // clause 2: the stream is the core's and alive. `between` retains both contexts.
            unsafe { driver.memcpy_peer_async(dst, to, src, from, nbytes, stream) }
        }
    };
    Ok(outcome?)
}

/// Copies synchronously.
pub(crate) fn now(core: &Arc<Core>, transfer: &Transfer) -> Result<()> {
    let (src, dst) = (CopyAccess::of(transfer.src())?, CopyAccess::of(transfer.dst())?);
    if transfer.nbytes() == 0 {
        return Ok(());
    }
    if src.is_of_the_host() && dst.is_of_the_host() {
        return crossdock::device::memory(Place::CPU)?.copy(transfer);
    }
    let between = between(core, transfer, src, dst)?;
    let what = (address(transfer.dst()), address(transfer.src()), transfer.nbytes());
    // SAFETY: the transfer permits the copy (Transfer 1) and is borrowed until `Core::now` returns,
    // when the work is over; `Core::now` passes a stream of this core, with its context current.
    core.now(|stream| unsafe { put(core, what, &between, stream) })
        .map_err(|error| error.within(text(transfer)))
}

/// Enqueues a copy.
pub(crate) fn later(stream: &CudaStream, transfer: Transfer) -> Result<Arc<dyn Event>> {
    let core = stream.core();
    let (src, dst) = (CopyAccess::of(transfer.src())?, CopyAccess::of(transfer.dst())?);
    let (to, from, nbytes) = (transfer.dst().address(), transfer.src().address(), transfer.nbytes());
    let context = text(&transfer);
    let outcome = if nbytes == 0 {
        stream.push(transfer, |_, _| Ok(()))
    } else if src.is_of_the_host() && dst.is_of_the_host() {
        staged(stream, transfer, Ok(Staged::on_host(core, to, from, nbytes)))
    } else if src == CopyAccess::Pageable {
        let device = address(transfer.dst());
        staged(stream, transfer, Staged::over_slot(core, Direction::FromHost, from, device, nbytes))
    } else if dst == CopyAccess::Pageable {
        let device = address(transfer.src());
        staged(stream, transfer, Staged::over_slot(core, Direction::ToHost, to, device, nbytes))
    } else {
        let between = between(core, &transfer, src, dst)?;
        let what = (address(transfer.dst()), address(transfer.src()), nbytes);
        // SAFETY: the transfer permits the copy (Transfer 1), and the stream holds it and both
        // devices until the work is over; `push` passes the core's stream, with its context
        // current.
        stream.push((transfer, between), |(_, between), raw| unsafe { put(core, what, between, raw) })
    };
    outcome.map_err(|error| error.within(context))
}

fn staged(
    stream: &CudaStream,
    transfer: Transfer,
    staged: Result<(Staged, Calls)>,
) -> Result<Arc<dyn Event>> {
    let (staged, calls) = staged?;
    // SAFETY: the stream holds the leases of the transfer (Transfer 1) and `staged`, which `calls`
    // belongs to, until the work is over; `push` passes a live stream, with its context current.
    stream.push((transfer, staged), |_, raw| unsafe { calls.enqueue(stream.core(), raw) })
}

#[cold]
fn text(transfer: &Transfer) -> String {
    let (src, dst) = (transfer.src().place(), transfer.dst().place());
    format!("copying {} bytes from {src} to {dst}", transfer.nbytes())
}
