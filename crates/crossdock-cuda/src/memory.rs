//! The memory managers: device memory, pinned memory, and managed memory.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock, Weak};

use crate::block::{Block, Source};
use crate::core::Core;
use crate::engine::CudaEngine;
use crate::stream::CudaStream;
use crate::sys::Address;
use crate::{copy, map};
use crossdock::buffer::Buffer;
use crossdock::device::driver::report_release_error;
use crossdock::device::engine::Engine;
use crossdock::device::{
    DeviceRegion, Effect, Event, MemoryManager, Meter, Stream, Transfer, Usage, adopt, adopt_own,
};
use crossdock::memory::{Birth, DeviceKind, Place};
use crossdock::{Error, Result};

/// The address of empty memory, which no allocation has.
#[repr(align(256))]
struct Nothing;
static NOTHING: (Nothing, u8) = (Nothing, 0);

/// Memory of one kind, of one device.
pub(crate) struct CudaMemory {
    this: Weak<Self>,
    core: Arc<Core>,
    source: Source,
    meter: Arc<Meter>,
    /// Counts imported and mapped memory, which does not count as usage of this manager.
    others: Arc<Meter>,
    /// Device memory that other processes can open, created on first use.
    exportable: OnceLock<Arc<CudaMemory>>,
    /// Device memory with descriptors, created on first use.
    shareable: OnceLock<Arc<CudaMemory>>,
}

impl CudaMemory {
    pub(crate) fn new(core: Arc<Core>, source: Source) -> Arc<Self> {
        let meter = || Arc::new(Meter::new(u64::MAX));
        let (meter, others) = (meter(), meter());
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            core,
            source,
            meter,
            others,
            exportable: OnceLock::new(),
            shareable: OnceLock::new(),
        })
    }

    /// This manager as a [`CudaMemory`], if it is one.
    pub(crate) fn of(manager: &dyn MemoryManager) -> Option<&Self> {
        let manager: &dyn Any = manager;
        manager.downcast_ref()
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn source(&self) -> Source {
        self.source
    }

    pub(crate) fn exportable(&self) -> &Arc<Self> {
        self.exportable.get_or_init(|| Self::new(self.core.clone(), Source::Driver))
    }

    pub(crate) fn shareable(&self) -> &Arc<Self> {
        self.shareable.get_or_init(|| Self::new(self.core.clone(), Source::Shareable))
    }

    /// A buffer of memory that was not allocated here. On failure, the memory is released
    /// immediately.
    ///
    /// # Errors
    ///
    /// `is_out_of_memory` where the header cannot be allocated; `is_device` for a null address.
    ///
    /// # Safety
    ///
    /// The contract of [`adopt`] holds for the bytes at `address`, as aliased memory, and
    /// `release`.
    pub(crate) unsafe fn lend(
        &self,
        address: Address,
        nbytes: usize,
        release: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<Buffer> {
        // Never fails: all managers are in an `Arc`.
        let this = self.this.upgrade().ok_or_else(|| Error::device("memory without a manager"));
        let prepared = this.and_then(|this| {
            Ok((this, region(address, nbytes, Birth::Aliased)?, Meter::charge(&self.others, nbytes)?))
        });
        match prepared {
            // SAFETY: `# Safety` is the contract of `adopt` for this region, which is `nbytes`
            // aliased bytes at `address`.
            Ok((this, region, charge)) => unsafe { adopt(this, region, charge, release) },
            Err(error) => {
                if let Err(also) = release() {
                    report_release_error(self.place(), also);
                }
                Err(error)
            }
        }
    }
}

fn region(address: Address, nbytes: usize, birth: Birth) -> Result<DeviceRegion<'static>> {
    let address = std::ptr::with_exposed_provenance_mut(address as usize);
    let address = NonNull::new(address)
        .ok_or_else(|| Error::device(format!("{nbytes} bytes were given without an address")))?;
    Ok(DeviceRegion { address: Some(address), nbytes, object: std::ptr::null_mut(), birth, aliases: &[] })
}

impl MemoryManager for CudaMemory {
    fn place(&self) -> Place {
        Place::new(self.source.device_kind(), self.core.context().ordinal())
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        if nbytes > isize::MAX as usize {
            return Err(Error::out_of_memory(nbytes, 1));
        }
        let charge = Meter::charge(&self.meter, nbytes)?;
        if nbytes == 0 {
            let address = (&raw const NOTHING).expose_provenance() as Address;
            let region = region(address, 0, Birth::Sole)?;
            // SAFETY: the region has no bytes, so no access can be out of bounds or race; `NOTHING`
            // is a static, so the release has nothing to free.
            return unsafe { adopt_own(self, region, charge, || Ok(())) };
        }
        let block = Block::allocate(&self.core, self.source, nbytes)?;
        let (region, event) = (region(block.address(), nbytes, Birth::Sole)?, block.event());
        // SAFETY: the driver allocated `nbytes` bytes for this block, and only this region has
        // their address; they stay until `block.free()`. `Block::allocate` initialised host memory.
        let fresh = unsafe { adopt_own(self, region, charge, move || block.free()) }?;
        if let Some(event) = event {
            fresh.note_event(event, Effect::Writes)?;
        }
        Ok(fresh)
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        let own = self.place();
        let is_reached = |place: Place| place.is_host() || place.kind() == DeviceKind::CUDA;
        (from == own && is_reached(to)) || (to == own && is_reached(from))
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        copy::now(&self.core, transfer)
    }

    fn can_enqueue(&self, stream: &dyn Stream) -> bool {
        CudaStream::of(stream).is_some()
    }

    fn enqueue(&self, transfer: Transfer, stream: &dyn Stream) -> Result<Arc<dyn Event>> {
        let Some(stream) = CudaStream::of(stream) else {
            return Err(Error::unsupported(format!(
                "the memory manager of {} cannot copy in {stream:?}",
                self.place()
            )));
        };
        copy::later(stream, transfer)
    }

    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        map::map(self, buffer, to)
    }

    fn engine(self: Arc<Self>) -> Result<Option<Arc<dyn Engine>>> {
        let has_kernels = self.source.device_kind() == DeviceKind::CUDA;
        Ok(has_kernels.then(|| -> Arc<dyn Engine> { Arc::new(CudaEngine::new(self.core.clone())) }))
    }

    fn usage(&self) -> Usage {
        self.meter.usage()
    }
}

impl fmt::Debug for CudaMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaMemory({}, {:?})", self.place(), self.source)
    }
}
