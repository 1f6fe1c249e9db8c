//! The state that all memory, streams and events of one device share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::context::{Context, Current};
use crate::driver::Driver;
use crate::handle::{Kind, Owned};
use crate::modules::Modules;
use crate::peers::Peers;
use crate::pool::StreamPool;
use crate::staging::StagingBuffers;
use crate::{load, sys};
use crossdock::Result;

/// How many idle events and streams are kept for reuse.
const IDLE_EVENTS: usize = 64;
const IDLE_STREAMS: usize = 8;

/// One device. Its first user in the process opens it, and its last user closes it. In a forked
/// child every call fails, and no lock is taken.
pub(crate) struct Core {
    context: Arc<Context>,
    total_nbytes: u64,
    pool: Option<StreamPool>,
    events: Idle<sys::Event>,
    streams: Idle<sys::Stream>,
    staging: StagingBuffers,
    modules: Modules,
    peers: Peers,
}

static CORES: Mutex<BTreeMap<i32, Weak<Core>>> = Mutex::new(BTreeMap::new());

fn cores() -> MutexGuard<'static, BTreeMap<i32, Weak<Core>>> {
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    /// The device of an ordinal.
    ///
    /// # Errors
    ///
    /// As [`Context::retain`].
    pub(crate) fn of(ordinal: i32) -> Result<Arc<Self>> {
        // Before the lock, which another thread may have held when this process was forked.
        load::loaded()?;
        if let Some(core) = cores().get(&ordinal).and_then(Weak::upgrade) {
            return Ok(core);
        }
        let opened = Arc::new(Self::open(ordinal)?);
        let mut cores = cores();
        if let Some(first) = cores.get(&ordinal).and_then(Weak::upgrade) {
            drop(cores);
            return Ok(first);
        }
        cores.insert(ordinal, Arc::downgrade(&opened));
        Ok(opened)
    }

    /// A device that is already in use, if any.
    pub(crate) fn any() -> Option<Arc<Self>> {
        cores().values().find_map(Weak::upgrade)
    }

    fn open(ordinal: i32) -> Result<Self> {
        let context = Arc::new(Context::retain(ordinal)?);
        let mut total = 0;
        // SAFETY: the device is a handle that this driver returned, and the size goes to a live
        // local variable.
        unsafe { context.driver().device_total_mem(&raw mut total, context.device()) }?;
        let pool = StreamPool::open(&context, total as u64)?;
        Ok(Self {
            total_nbytes: total as u64,
            pool,
            events: Idle::new(IDLE_EVENTS),
            streams: Idle::new(IDLE_STREAMS),
            staging: StagingBuffers::new(),
            modules: Modules::new(context.clone()),
            peers: Peers::new(),
            context,
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.context.driver()
    }

    /// As [`Context::enter`].
    pub(crate) fn enter(&self) -> Result<Current<'_>> {
        self.context.enter()
    }

    /// The total memory of the device, in bytes.
    pub(crate) fn total_nbytes(&self) -> u64 {
        self.total_nbytes
    }

    /// The free memory of the device in bytes, as the driver reports it.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn free_nbytes(&self) -> Result<u64> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: `_current` keeps a context current, and the driver writes to two live local
        // variables.
        unsafe { self.driver().mem_get_info(&raw mut free, &raw mut total) }?;
        Ok(free as u64)
    }

    pub(crate) fn pool(&self) -> Option<&StreamPool> {
        self.pool.as_ref()
    }

    pub(crate) fn staging(&self) -> &StagingBuffers {
        &self.staging
    }

    pub(crate) fn modules(&self) -> &Modules {
        &self.modules
    }

    pub(crate) fn peers(&self) -> &Peers {
        &self.peers
    }

    /// An event for one use.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub(crate) fn event(self: &Arc<Self>) -> Result<PooledObject<sys::Event>> {
        PooledObject::of(self, |core| &core.events)
    }

    /// A stream for this caller alone, for synchronous work.
    ///
    /// # Errors
    ///
    /// The driver's error.
    fn stream(self: &Arc<Self>) -> Result<PooledObject<sys::Stream>> {
        PooledObject::of(self, |core| &core.streams)
    }

    /// Performs work synchronously: `enqueue` puts it into a stream that has no other work, with
    /// the context current.
    ///
    /// # Errors
    ///
    /// Those of `enqueue`, and the driver's. In that case no work is in flight.
    pub(crate) fn now(self: &Arc<Self>, enqueue: impl FnOnce(sys::Stream) -> Result<()>) -> Result<()> {
        let _current = self.enter()?;
        let stream = self.stream()?;
        let outcome = enqueue(stream.raw());
        // SAFETY: clause 1 of `finish`: `stream` is one of this core's, and alive.
        let done = unsafe { self.finish(stream.raw()) };
        outcome.and(done)
    }

    /// Waits until a stream has no work in flight.
    ///
    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Safety
    ///
    /// 1. The stream is one of the driver's, and alive during the call.
    pub(crate) unsafe fn finish(&self, stream: sys::Stream) -> Result<()> {
        // SAFETY: clause 1 of `# Safety`: the stream is one of the driver's, and alive.
        let synchronize = || unsafe { self.driver().stream_synchronize(stream) };
        // Even after an error, work must not continue while its memory is freed: if the context
        // still works, a second call waits. A broken context performs no more work.
        let outcome = synchronize();
        if outcome.is_err() {
            let _now_it_may = synchronize();
        }
        Ok(outcome?)
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Core({})", self.context.place())
    }
}

/// Idle objects, kept for reuse.
struct Idle<T: Kind> {
    objects: Mutex<Vec<Owned<T>>>,
    room: usize,
}

impl<T: Kind> Idle<T> {
    fn new(room: usize) -> Self {
        Self { objects: Mutex::new(Vec::new()), room }
    }

    fn take(&self) -> Option<Owned<T>> {
        self.lock().pop()
    }

    /// Returns the object if there is no room for it.
    fn give(&self, object: Owned<T>) -> Option<Owned<T>> {
        let mut objects = self.lock();
        if objects.len() == self.room || objects.try_reserve(1).is_err() {
            return Some(object);
        }
        objects.push(object);
        None
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Owned<T>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An object borrowed from the idle ones, to which it returns when dropped.
pub(crate) struct PooledObject<T: Kind> {
    /// Present until the drop.
    object: Option<Owned<T>>,
    raw: T,
    core: Arc<Core>,
    home: fn(&Core) -> &Idle<T>,
}

impl<T: Kind> PooledObject<T> {
    fn of(core: &Arc<Core>, home: fn(&Core) -> &Idle<T>) -> Result<Self> {
        let object = match home(core).take() {
            Some(object) => object,
            None => Owned::new(&core.context)?,
        };
        Ok(Self { raw: object.raw(), object: Some(object), core: core.clone(), home })
    }

    pub(crate) fn raw(&self) -> T {
        self.raw
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

impl<T: Kind> Drop for PooledObject<T> {
    fn drop(&mut self) {
        let Some(object) = self.object.take() else { return };
        // A forked child takes no lock that its parent may have held.
        let surplus = if self.core.context.is_inherited() {
            Some(object)
        } else {
            (self.home)(&self.core).give(object)
        };
        drop(surplus);
    }
}

impl<T: Kind> fmt::Debug for PooledObject<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}
