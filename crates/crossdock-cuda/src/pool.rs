//! The stream-ordered pool of a device.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Context;
use crate::core::Core;
use crate::driver::{Driver, Failure};
use crate::handle::Owned;
use crate::sys::{self, Address, attribute, code};
use crossdock::Result;
use crossdock::device::Event;

/// How much idle memory the pool keeps for reuse: one in so many bytes of the device's memory.
const KEPT_ONE_IN: u64 = 32;

/// A pool of this library, apart from the device's default pool, so that the memory it keeps does
/// not affect other libraries in the process; and a stream for allocations and frees alone.
///
/// Memory that is freed here is in use in no stream: work holds a lease of its memory until it is
/// over. So the pool waits for no work. New memory can be used in another stream after the
/// allocation has run in this one; an event on the allocation ([`Allocated`]) marks that moment.
pub(crate) struct StreamPool {
    context: Arc<Context>,
    raw: sys::Pool,
    stream: Owned<sys::Stream>,
    /// How many allocations were put into the stream.
    taken: AtomicU64,
    /// How many of them the stream is known to have come to.
    ready: AtomicU64,
}

impl StreamPool {
    /// `None` where the device has no pools.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub(crate) fn open(context: &Arc<Context>, total_nbytes: u64) -> Result<Option<Self>> {
        if context.attribute(attribute::MEMORY_POOLS_SUPPORTED)? == 0 {
            return Ok(None);
        }
        let stream = Owned::new(context)?;
        let _current = context.enter()?;
        let properties = sys::PoolProperties::on(context.device());
        let mut raw = sys::Pool::NULL;
        // SAFETY: both point to live local variables.
        unsafe { context.driver().mem_pool_create(&raw mut raw, &raw const properties) }?;
        // From here on it is destroyed when something fails.
        let (taken, ready) = (AtomicU64::new(0), AtomicU64::new(0));
        let pool = Self { context: context.clone(), raw, stream, taken, ready };
        let mut kept = total_nbytes / KEPT_ONE_IN;
        // SAFETY: the pool is alive, and the attribute is a number of 64 bits.
        unsafe {
            context.driver().mem_pool_set_attribute(raw, sys::POOL_RELEASE_THRESHOLD, (&raw mut kept).cast())
        }?;
        Ok(Some(pool))
    }

    pub(crate) fn raw(&self) -> sys::Pool {
        self.raw
    }

    /// Memory, and its number for [`StreamPool::wait`].
    ///
    /// # Errors
    ///
    /// What the driver says.
    ///
    /// # Safety
    ///
    /// The context is current.
    pub(crate) unsafe fn allocate(&self, driver: &Driver, nbytes: usize) -> Result<(Address, u64), Failure> {
        let mut address = 0;
        // SAFETY: the pool and the stream are of the context, and alive.
        unsafe { driver.mem_alloc_from_pool_async(&raw mut address, nbytes, self.raw, self.stream.raw()) }?;
        // AcqRel: a thread that reads this number, or a higher one, asks the driver after the call
        // above.
        Ok((address, self.taken.fetch_add(1, Ordering::AcqRel) + 1))
    }

    /// Waits until memory can be used in every stream: seldom for long, since the stream has little
    /// to do.
    ///
    /// # Errors
    ///
    /// What the driver says.
    fn wait(&self, number: u64) -> Result<()> {
        if self.ready.load(Ordering::Acquire) >= number {
            return Ok(());
        }
        let taken = self.taken.load(Ordering::Acquire);
        let (stream, _current) = (self.stream.raw(), self.context.enter()?);
        // SAFETY: the stream is alive. Asking takes less time than waiting.
        let mut outcome = unsafe { self.context.driver().stream_query(stream) };
        if outcome.is_err_and(|failure| failure.code == code::NOT_READY) {
            // SAFETY: the pool owns the stream, which is alive.
            outcome = unsafe { self.context.driver().stream_synchronize(stream) };
        }
        outcome?;
        self.ready.fetch_max(taken, Ordering::AcqRel);
        Ok(())
    }

    /// # Errors
    ///
    /// What the driver says.
    ///
    /// # Safety
    ///
    /// The context is current; the memory is of this pool, and no work uses it from now on.
    pub(crate) unsafe fn free(&self, driver: &Driver, address: Address) -> Result<(), Failure> {
        // SAFETY: the memory is of this pool and no longer used, and the context is current
        // (`# Safety`); the stream lives as long as the pool.
        unsafe { driver.mem_free_async(address, self.stream.raw()) }
    }

    /// Returns unused memory to the device, all but so many bytes.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub(crate) fn trim(&self, keep_nbytes: usize) -> Result<()> {
        let _current = self.context.enter()?;
        // What was freed a moment ago can be given back when the stream has come to it.
        // SAFETY: the stream is alive.
        unsafe { self.context.driver().stream_synchronize(self.stream.raw()) }?;
        // SAFETY: the pool is alive.
        Ok(unsafe { self.context.driver().mem_pool_trim_to(self.raw, keep_nbytes) }?)
    }
}

impl Drop for StreamPool {
    fn drop(&mut self) {
        // SAFETY: created in `open`, and destroyed here alone. Each block of the pool keeps the
        // `Core` that owns the pool, so none is alive.
        self.context.release_quietly(|driver| unsafe { driver.mem_pool_destroy(self.raw) });
    }
}

/// The moment from which on memory of the pool can be used in every stream.
pub(crate) struct Allocated {
    core: Arc<Core>,
    number: u64,
}

impl Allocated {
    pub(crate) fn new(core: Arc<Core>, number: u64) -> Self {
        Self { core, number }
    }
}

impl Event for Allocated {
    fn wait(&self) -> Result<()> {
        self.core.pool().map_or(Ok(()), |pool| pool.wait(self.number))
    }

    fn poll(&self) -> Option<Result<()>> {
        // It takes no longer than asking, or hardly so.
        Some(self.wait())
    }
}

impl fmt::Debug for Allocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocation {} of {}", self.number, self.core.context().place())
    }
}

impl fmt::Debug for StreamPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamPool({:?})", self.raw)
    }
}
