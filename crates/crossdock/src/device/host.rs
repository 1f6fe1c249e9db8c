//! Host memory: of the default pool, and shared with other processes.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::adopt::keeping;
use crate::device::{Device, MemoryManager, Meter, Transfer, Usage};
use crate::error::{Error, Result};
use crate::memory::{Backing, Place, racy};
use crate::pool::Pool;

/// The CPU.
#[derive(Debug)]
pub(super) struct HostDevice {
    memory: Arc<HostMemory>,
}

impl HostDevice {
    pub(super) fn new(memory: Arc<HostMemory>) -> Self {
        Self { memory }
    }
}

impl Device for HostDevice {
    fn place(&self) -> Place {
        Place::CPU
    }

    fn name(&self) -> String {
        "the processor".to_owned()
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.memory.clone()
    }
}

/// Memory of a pool, the default one if `None`. It copies between all kinds of host memory.
#[derive(Debug)]
pub(super) struct HostMemory {
    pool: Option<Pool>,
}

impl HostMemory {
    pub(super) fn new(pool: Option<Pool>) -> Self {
        Self { pool }
    }
}

/// Memory of this process from a pool, for copies charged to that pool.
///
/// ```
/// use crossdock::buffer::Buffer;
/// use crossdock::device;
/// use crossdock::pool::Pool;
///
/// let pool = Pool::system()?;
/// let copy = Buffer::from_static(&[1u8, 2, 3])?.copy_to(&device::pool_memory(pool.clone()))?;
/// assert_eq!(pool.statistics().live_count, 1);
/// # drop(copy);
/// # Ok::<(), crossdock::Error>(())
/// ```
pub fn pool_memory(pool: Pool) -> Arc<dyn MemoryManager> {
    Arc::new(HostMemory::new(Some(pool)))
}

impl MemoryManager for HostMemory {
    fn place(&self) -> Place {
        Place::CPU
    }

    fn backing(&self) -> Backing {
        Backing::Heap
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        match &self.pool {
            Some(pool) => pool.zeroed(nbytes),
            None => Buffer::zeroed(nbytes),
        }
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        from.is_host() && to.is_host()
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        copy_on_host(transfer)
    }

    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        // Memory at `cpu` with any backing counts as this memory. The reverse does not hold, see
        // `SharedMemory`.
        let is_here = is(self, to) && buffer.place() == Place::CPU;
        Ok(if is_here { Some(buffer.try_clone()?) } else { None })
    }

    fn usage(&self) -> Usage {
        let statistics = match &self.pool {
            Some(pool) => pool.statistics(),
            // If the pool itself could not be allocated, none of it is in use.
            None => Pool::try_default().map_or_else(|_| Default::default(), |pool| pool.statistics()),
        };
        Usage {
            live_nbytes: statistics.live_nbytes,
            live_count: statistics.live_count,
            peak_nbytes: statistics.peak_nbytes,
        }
    }
}

/// Memory that was created for other processes to map.
#[derive(Debug)]
pub(super) struct SharedMemory {
    meter: Arc<Meter>,
}

impl SharedMemory {
    pub(super) fn new() -> Self {
        Self { meter: Arc::new(Meter::new(u64::MAX)) }
    }
}

impl MemoryManager for SharedMemory {
    fn place(&self) -> Place {
        Place::CPU
    }

    fn backing(&self) -> Backing {
        Backing::Shared
    }

    fn allocate(self: Arc<Self>, nbytes: usize) -> Result<Buffer> {
        let charge = Meter::charge(&self.meter, nbytes)?;
        let fresh = Buffer::shared(nbytes)?;
        keeping(fresh, charge)
    }

    fn can_copy(&self, from: Place, to: Place) -> bool {
        from.is_host() && to.is_host()
    }

    fn copy(&self, transfer: &Transfer) -> Result<()> {
        copy_on_host(transfer)
    }

    fn map(&self, buffer: &Buffer, to: &dyn MemoryManager) -> Result<Option<Buffer>> {
        let is_shared = is(self, to) && buffer.backing() == Backing::Shared && buffer.place() == Place::CPU;
        Ok(if is_shared { Some(buffer.try_clone()?) } else { None })
    }

    fn usage(&self) -> Usage {
        self.meter.usage()
    }
}

fn is(this: &impl MemoryManager, other: &dyn MemoryManager) -> bool {
    std::ptr::addr_eq(std::ptr::from_ref(this), std::ptr::from_ref(other))
}

pub(super) fn copy_on_host(transfer: &Transfer) -> Result<()> {
    let (src, dst) = (transfer.src(), transfer.dst());
    if !(src.place().is_host() && dst.place().is_host()) {
        return Err(Error::unsupported(format!("the CPU cannot copy from {src:?} to {dst:?}")));
    }
    // SAFETY: both places were found to be the host above. Transfer 1: both regions have `nbytes`
    // bytes, under leases that permit racy loads of the source and racy stores to the destination,
    // and do not overlap.
    unsafe { racy::copy(src.address(), dst.address(), transfer.nbytes()) };
    Ok(())
}
