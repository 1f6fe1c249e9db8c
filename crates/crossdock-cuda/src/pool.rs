//! The stream-ordered memory pool of a device.
//!
//! Reasons: `DESIGN.md`, "CUDA memory comes from an idle stream".

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

/// The pool keeps idle memory for reuse: this fraction of the device's memory.
const KEPT_ONE_IN: u64 = 32;

/// A pool of this library, separate from the device's default pool, so that the memory it caches
/// does not affect other libraries in the process; and a stream that carries only allocations and
/// frees.
///
/// Freed memory is in use in no stream: work holds a lease of its memory until it is over. So the
/// pool waits for no work. New memory can be used in another stream after the allocation has run in
/// this one; the event [`Allocated`] marks that moment.
pub(crate) struct StreamPool {
    context: Arc<Context>,
    raw: sys::Pool,
    stream: Owned<sys::Stream>,
    /// The number of allocations put into the stream.
    taken: AtomicU64,
    /// The number of allocations that are known to be complete.
    ready: AtomicU64,
}

impl StreamPool {
    /// `None` where the device has no pools.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn open(context: &Arc<Context>, total_nbytes: u64) -> Result<Option<Self>> {
        if context.attribute(attribute::MEMORY_POOLS_SUPPORTED)? == 0 {
            return Ok(None);
        }
        let stream = Owned::new(context)?;
        let _current = context.enter()?;
        let properties = sys::PoolProperties::on(context.device());
        let mut raw = sys::Pool::NULL;
        // SAFETY: `_current` keeps the context current, and both pointers are to live local
        // variables.
        unsafe { context.driver().mem_pool_create(&raw mut raw, &raw const properties) }?;
        // From here on, a failure destroys the pool by its drop.
        let (taken, ready) = (AtomicU64::new(0), AtomicU64::new(0));
        let pool = Self { context: context.clone(), raw, stream, taken, ready };
        let mut kept = total_nbytes / KEPT_ONE_IN;
        // SAFETY: the pool was created above and is alive, and this attribute is a number of 64
        // bits, as `kept` is.
        unsafe {
            context.driver().mem_pool_set_attribute(raw, sys::POOL_RELEASE_THRESHOLD, (&raw mut kept).cast())
        }?;
        Ok(Some(pool))
    }

    pub(crate) fn raw(&self) -> sys::Pool {
        self.raw
    }

    /// Allocates memory, and returns its number for [`StreamPool::wait`].
    ///
    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Safety
    ///
    /// The context is current.
    pub(crate) unsafe fn allocate(&self, driver: &Driver, nbytes: usize) -> Result<(Address, u64), Failure> {
        let mut address = 0;
        // SAFETY: `self` owns the pool and the stream, both of the context that `# Safety` says is
        // current; the address goes to a live local variable.
        unsafe { driver.mem_alloc_from_pool_async(&raw mut address, nbytes, self.raw, self.stream.raw()) }?;
        // AcqRel: a thread that reads this number, or a higher one, queries the driver after the
        // call above.
        Ok((address, self.taken.fetch_add(1, Ordering::AcqRel) + 1))
    }

    /// Waits until memory can be used in every stream. This is usually short, since the stream has
    /// little work.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn wait(&self, number: u64) -> Result<()> {
        if self.ready.load(Ordering::Acquire) >= number {
            return Ok(());
        }
        let taken = self.taken.load(Ordering::Acquire);
        let (stream, _current) = (self.stream.raw(), self.context.enter()?);
        // SAFETY: `self` owns the stream, which is alive, and `_current` keeps its context current.
        // A query takes less time than a wait.
        let mut outcome = unsafe { self.context.driver().stream_query(stream) };
        if outcome.is_err_and(|failure| failure.code == code::NOT_READY) {
            // SAFETY: `self` owns the stream, which is alive, and `_current` keeps its context
            // current.
            outcome = unsafe { self.context.driver().stream_synchronize(stream) };
        }
        outcome?;
        self.ready.fetch_max(taken, Ordering::AcqRel);
        Ok(())
    }

    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Safety
    ///
    /// 1. The context is current.
    /// 2. The memory is of this pool, and no work uses it any more.
    pub(crate) unsafe fn free(&self, driver: &Driver, address: Address) -> Result<(), Failure> {
        // SAFETY: clause 1 of `# Safety`: the context is current; clause 2: the memory is of this
        // pool and not used any more. `self` owns the stream.
        unsafe { driver.mem_free_async(address, self.stream.raw()) }
    }

    /// Returns unused memory to the device, except `keep_nbytes` bytes.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn trim(&self, keep_nbytes: usize) -> Result<()> {
        let _current = self.context.enter()?;
        // Recently freed memory can be returned once the stream has executed the free.
        // SAFETY: `self` owns the stream, which is alive, and `_current` keeps its context current.
        unsafe { self.context.driver().stream_synchronize(self.stream.raw()) }?;
        // SAFETY: `self` owns the pool, which only its drop destroys, and `_current` keeps the
        // context current.
        Ok(unsafe { self.context.driver().mem_pool_trim_to(self.raw, keep_nbytes) }?)
    }
}

impl Drop for StreamPool {
    fn drop(&mut self) {
        // SAFETY: `open` created the pool, and only this drop destroys it. Each block of the pool
        // keeps the `Core` that owns the pool, so no block is alive.
        self.context.release_quietly(|driver| unsafe { driver.mem_pool_destroy(self.raw) });
    }
}

/// The event after which memory of the pool can be used in every stream.
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
        // A wait takes hardly longer than a query.
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
