//! The fenced device's memory: inaccessible pages for the addresses, and separate pages for the
//! bytes.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::buffer::Buffer;
use crate::device::engine::{Engine, Start, Work};
use crate::device::fenced::stream::FencedStream;
use crate::device::fenced::{FencedCore, Operation};
use crate::device::pages::Pages;
use crate::device::{
    DeviceLease, DeviceRegion, Event, MemoryManager, Meter, Stream, Transfer, Usage, adopt, adopt_own,
};
use crate::error::{Error, Result};
use crate::memory::{Backing, Birth, DeviceKind, LeaseKind, Place, racy};

/// The memory of a [`FencedDevice`](super::FencedDevice).
#[derive(Debug)]
pub(super) struct FencedMemory {
    core: Arc<FencedCore>,
}

impl FencedMemory {
    pub(super) fn new(core: Arc<FencedCore>) -> Self {
        Self { core }
    }

    pub(super) fn core(&self) -> &Arc<FencedCore> {
        &self.core
    }

    /// A buffer with inaccessible addresses, whose bytes are at `object`.
    ///
    /// # Safety
    ///
    /// Until `behind` is dropped, `nbytes` bytes at `object` are valid for reads and writes; other
    /// code accesses them only as `birth` describes.
    unsafe fn fenced(
        self: Arc<Self>,
        nbytes: usize,
        object: NonNull<u8>,
        birth: Birth,
        behind: impl Send + 'static,
    ) -> Result<Buffer> {
        let charge = Meter::charge(&self.core.meter, nbytes)?;
        let object = object.as_ptr().cast::<c_void>();
        // The device's addresses, at which the CPU faults.
        let addresses = Pages::reserved(nbytes)?;
        let region = DeviceRegion { address: Some(addresses.base()), nbytes, object, birth, aliases: &[] };
        let core = self.core.clone();
        let release = move || {
            drop((behind, addresses));
            core.attempt(Operation::Release)
        };
        // Aliased memory keeps a `DeviceLease` of other memory, whose owner may run foreign code on
        // release.
        let adopt = if birth == Birth::Sole { adopt_own } else { adopt };
        // SAFETY: 1. the reserved `addresses` live until `release` runs, and no code follows
        // them; 2. the bytes at `object` are valid until `release` drops `behind` (`# Safety`), and
        // there are no aliases.
        unsafe { adopt(self, region, charge, release) }
    }

    /// Maps host memory to the device: the device uses the host's bytes directly.
    fn map_from_host(self: Arc<Self>, buffer: &Buffer) -> Result<Buffer> {
        let lease = lease_for_mapping(buffer)?;
        let Some(object) = NonNull::new(lease.address()) else { return Err(lost(self.core.place)) };
        // SAFETY: `hold`, passed as `behind`, keeps `nbytes` bytes of host memory at `object`,
        // under Share, or under Pin if read-only. The mapping is aliased, and read-only if the
        // buffer is.
        let mapped = unsafe { self.fenced(buffer.nbytes(), object, Birth::Aliased, lease) }?;
        Ok(as_readonly_as(buffer, mapped))
    }

    /// Maps the device's memory to the host, as memory that the device may write concurrently.
    fn map_to_host(buffer: &Buffer) -> Result<Option<Buffer>> {
        let lease = lease_for_mapping(buffer)?;
        let Some(address) = address(&lease) else { return Ok(None) };
        let release = move || drop(lease);
        // SAFETY: `address` found the device's bytes of the buffer: initialised pages, or host
        // memory, which `hold` keeps under Share or Pin until `release` drops it. The device
        // accesses them racily, as `Aliased` permits, and a mapping of read-only memory is
        // read-only.
        let mapped =
            unsafe { Buffer::from_foreign(address, buffer.nbytes(), Place::CPU, Birth::Aliased, release) }?;
        Ok(Some(as_readonly_as(buffer, mapped)))
    }
}

fn as_readonly_as(buffer: &Buffer, mapped: Buffer) -> Buffer {
    if buffer.is_readonly() { mapped.into_readonly() } else { mapped }
}

/// Takes Share or Pin, so that no other holder relies on constancy while a second allocation has
/// the same bytes.
fn lease_for_mapping(buffer: &Buffer) -> Result<DeviceLease> {
    buffer.device_lease(if buffer.is_readonly() { LeaseKind::Pin } else { LeaseKind::Share })
}

/// The address of the bytes for the device's copy engine; `None` for memory that another device
/// allocated.
fn address(lease: &DeviceLease) -> Option<*mut u8> {
    if lease.place().is_host() {
        return Some(lease.address());
    }
    // The object of another manager has another meaning.
    let manager = lease.manager()?;
    let manager: &dyn Any = &*manager;
    if !manager.is::<FencedMemory>() {
        return None;
    }
    let (object, offset) = lease.object()?;
    Some(object.cast::<u8>().as_ptr().wrapping_add(offset))
}

#[cold]
fn lost(place: Place) -> Error {
    Error::device(format!("memory on {place} was allocated by another device of that name"))
}

/// A copy as the device's copy engine sees it: the addresses of the device's own bytes.
pub(super) struct Copying {
    src: Option<*mut u8>,
    dst: Option<*mut u8>,
    nbytes: usize,
}

// SAFETY: plain addresses, not bound to a thread; only `run` follows them, whose `# Safety`
// requires that the transfer is alive.
unsafe impl Send for Copying {}

impl Copying {
    pub(super) fn of(transfer: &Transfer) -> Self {
        Self { src: address(transfer.src()), dst: address(transfer.dst()), nbytes: transfer.nbytes() }
    }

    /// The copy engine.
    ///
    /// # Safety
    ///
    /// The transfer that this was made from is alive.
    pub(super) unsafe fn run(&self, core: &FencedCore) -> Result<()> {
        core.attempt(Operation::Transfer)?;
        let (Some(src), Some(dst)) = (self.src, self.dst) else { return Err(lost(core.place)) };
        // SAFETY: `address` returned host memory, or a fenced device's own bytes, of `nbytes`
        // bytes, which the live transfer keeps (`# Safety`). Its leases permit racy loads of the
        // source and racy stores to the destination, and the two do not overlap (Transfer 1).
        unsafe { racy::copy(src, dst, self.nbytes) };
        Ok(())
    }
}

impl MemoryManager for FencedMemory {
    fn place(&self) -> Place {
        self.core.place
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        let room = Pages::zeroed(nbytes)?;
        // SAFETY: `room` is a new mapping of at least `nbytes` zeroed bytes at `room.base()`, which
        // `behind` keeps and no other code accesses (Pages 1).
        unsafe { self.fenced(nbytes, room.base(), Birth::Sole, room) }
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        let (core, own) = (&self.core, self.core.place);
        let is_fenced = |place: Place| place.kind() == DeviceKind::EXT_DEV;
        match (from == own, to == own) {
            (true, true) => true,
            (false, true) if from.is_host() => core.from_host.load(Ordering::Relaxed),
            (true, false) if to.is_host() => core.to_host.load(Ordering::Relaxed),
            (false, true) => is_fenced(from) && core.between.load(Ordering::Relaxed),
            (true, false) => is_fenced(to) && core.between.load(Ordering::Relaxed),
            (false, false) => false,
        }
    }

    fn copy(&self, work: &Transfer) -> Result<()> {
        // SAFETY: `work`, the transfer that `Copying` is made from, is borrowed until this returns,
        // hence alive.
        unsafe { Copying::of(work).run(&self.core) }
    }

    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        FencedStream::of(stream).is_some()
    }

    fn enqueue(&self, transfer: Transfer, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        match FencedStream::of(stream) {
            Some(stream) => stream.copy(self.core.clone(), transfer),
            None => Err(Error::unsupported(format!("{stream:?} is not a stream of a fenced device"))),
        }
    }

    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        let is_mine = |place: Place| place == self.core.place;
        let usual = |place: Place, backing: Backing| place == Place::CPU && backing != Backing::Shared;
        let incoming = is_mine(to.place()) && buffer.place() == Place::CPU;
        let outgoing = is_mine(buffer.place()) && usual(to.place(), to.backing());
        if !self.core.mappable.load(Ordering::Relaxed) || !(incoming || outgoing) {
            return Ok(None);
        }
        self.core.attempt(Operation::Map)?;
        if outgoing {
            return Self::map_to_host(buffer);
        }
        Arc::new(Self::new(self.core.clone())).map_from_host(buffer).map(Some)
    }

    fn engine(self: Arc<Self>) -> Result<Option<Arc<dyn Engine>>> {
        let engine = self.core.engine.clone();
        Ok(engine.map(|engine| -> Arc<dyn Engine> { Arc::new(FencedEngine(engine)) }))
    }

    fn usage(&self) -> Usage {
        self.core.meter.usage()
    }
}

/// A synchronous engine, and the enqueueing of its work in streams.
#[derive(Debug)]
struct FencedEngine(Arc<dyn Engine>);

impl Engine for FencedEngine {
    fn start(&self, lease: &DeviceLease) -> Result<Start> {
        self.0.start(lease)
    }

    fn run(&self, work: &Work) -> Result<()> {
        self.0.run(work)
    }

    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        FencedStream::of(stream).is_some()
    }

    fn enqueue(&self, work: Work, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        match FencedStream::of(stream) {
            Some(stream) => stream.work(self.0.clone(), work),
            None => Err(Error::unsupported(format!("{stream:?} is not a stream of a fenced device"))),
        }
    }

    fn reaches(&self, memory: &dyn MemoryManager) -> bool {
        self.0.reaches(memory)
    }
}
