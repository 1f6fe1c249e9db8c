//! The state of the driver, under one lock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::config::Config;
use crate::counts::Counts;
use crate::memory::{Allocation, Pool};
use crate::module::{Function, Module};
use crate::pages::Pages;
use crate::queue::{Mark, Queue};
use crate::status::{Result, Status};
use crate::virtual_memory::{Physical, Range};

pub(crate) type Locked = MutexGuard<'static, State>;

static STATE: Mutex<State> = Mutex::new(State::new());

/// Notified when a stream has received work, or has done some.
static CHANGED: Condvar = Condvar::new();

pub(crate) fn lock() -> Locked {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn changed() {
    CHANGED.notify_all();
}

/// Waits for a change.
pub(crate) fn sleep(state: Locked) -> Locked {
    CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// Waits until a condition holds. After a minute it fails, since a paused stream may be waited for.
pub(crate) fn wait_until(mut state: Locked, mut holds: impl FnMut(&mut State) -> bool) -> Result<Locked> {
    state.waiters += 1;
    changed();
    let waited = CHANGED.wait_timeout_while(state, Duration::from_secs(60), |state| !holds(state));
    let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
    state.waiters -= 1;
    if timeout.timed_out() {
        return Err(state.misuse(Status::LAUNCH_TIMEOUT, "waited for a minute: is a stream paused?"));
    }
    Ok(state)
}

/// A device.
#[derive(Debug, Default)]
pub(crate) struct Device {
    /// The bytes that allocations and pools use on it.
    pub(crate) used: u64,
    pub(crate) primary: Option<usize>,
    pub(crate) retained: u64,
    pub(crate) default_pool: Option<usize>,
}

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: i32,
    pub(crate) is_primary: bool,
    /// The error that all calls in the context return from now on.
    pub(crate) sticky: Option<Status>,
    /// The stream with the numbers 0 and 1.
    pub(crate) legacy: Option<usize>,
    /// The contexts whose memory it may access.
    pub(crate) peers: BTreeSet<usize>,
}

/// A stream. Its queue of work outlives it.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: usize,
    /// Whether the legacy stream and this one wait for each other.
    pub(crate) is_blocking: bool,
    /// Whether the program created it, and must destroy it.
    pub(crate) is_made: bool,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: usize,
    /// The mark of its last record.
    pub(crate) mark: Option<Arc<Mark>>,
}

/// A requested failure of a function.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) function: String,
    pub(crate) left: u64,
    pub(crate) status: Status,
}

/// Memory of another process, opened in this one.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) handle: [u8; 64],
    pub(crate) context: usize,
    pub(crate) address: usize,
    pub(crate) count: u64,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) is_initialized: bool,
    pub(crate) is_gone: bool,
    pub(crate) config: Config,
    pub(crate) devices: BTreeMap<i32, Device>,
    pub(crate) contexts: BTreeMap<usize, Context>,
    pub(crate) streams: BTreeMap<usize, Stream>,
    pub(crate) queues: BTreeMap<usize, Queue>,
    pub(crate) events: BTreeMap<usize, Event>,
    pub(crate) pools: BTreeMap<usize, Pool>,
    pub(crate) modules: BTreeMap<usize, Module>,
    pub(crate) functions: BTreeMap<usize, Function>,
    /// By address.
    pub(crate) allocations: BTreeMap<usize, Allocation>,
    /// Memory of the virtual memory calls, by handle.
    pub(crate) physical: BTreeMap<usize, Physical>,
    /// Reserved addresses, by the first.
    pub(crate) ranges: BTreeMap<usize, Range>,
    pub(crate) opened: Vec<Opened>,
    /// Freed addresses, which stay reserved for a while so that a use after free is detected.
    pub(crate) freed: VecDeque<Pages>,
    /// How often all streams are paused.
    pub(crate) pauses: u64,
    /// The number of threads that wait for streams.
    pub(crate) waiters: u64,
    pub(crate) failures: Vec<Failure>,
    /// The requested failure of work in a stream.
    pub(crate) failing_work: Option<(u64, Status)>,
    pub(crate) calls: Counts,
    /// The number of copies, fills and launches done in streams.
    pub(crate) work_done: u64,
    /// The running function.
    pub(crate) function: &'static str,
    pub(crate) misuses: Vec<String>,
    last_handle: usize,
}

impl State {
    const fn new() -> Self {
        Self {
            is_initialized: false,
            is_gone: false,
            config: Config::new(),
            devices: BTreeMap::new(),
            contexts: BTreeMap::new(),
            streams: BTreeMap::new(),
            queues: BTreeMap::new(),
            events: BTreeMap::new(),
            pools: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            allocations: BTreeMap::new(),
            physical: BTreeMap::new(),
            ranges: BTreeMap::new(),
            opened: Vec::new(),
            freed: VecDeque::new(),
            pauses: 0,
            waiters: 0,
            failures: Vec::new(),
            failing_work: None,
            calls: Counts::new(),
            work_done: 0,
            function: "",
            misuses: Vec::new(),
            last_handle: 0x0C0D_A000_0000,
        }
    }

    /// A handle that was never used before.
    pub(crate) fn handle(&mut self) -> usize {
        self.last_handle += 0x40;
        self.last_handle
    }

    /// Records a misuse of the driver.
    pub(crate) fn misuse(&mut self, status: Status, what: impl AsRef<str>) -> Status {
        let name = status.name().unwrap_or("\0").trim_end_matches('\0');
        self.misuses.push(format!("{}: {} ({name})", self.function, what.as_ref()));
        status
    }

    /// The device with this ordinal.
    pub(crate) fn device(&mut self, ordinal: i32) -> Result<&mut Device> {
        if !(0..self.config.device_count).contains(&ordinal) {
            return Err(Status::INVALID_DEVICE);
        }
        Ok(self.devices.entry(ordinal).or_default())
    }

    /// The context with this handle.
    pub(crate) fn context(&mut self, handle: usize) -> Result<&mut Context> {
        if !self.contexts.contains_key(&handle) {
            return Err(self.misuse(Status::INVALID_CONTEXT, format!("{handle:#x} is no context")));
        }
        self.contexts.get_mut(&handle).ok_or(Status::INVALID_CONTEXT)
    }

    /// Destroys a context and all objects in it.
    pub(crate) fn destroy_context(&mut self, context: usize) {
        let Some(gone) = self.contexts.remove(&context) else { return };
        let made = |stream: &Stream| stream.is_made && stream.context == context;
        let left = [
            ("streams", self.streams.values().filter(|stream| made(stream)).count()),
            ("events", self.events.values().filter(|event| event.context == context).count()),
            ("modules", self.modules.values().filter(|module| module.context == context).count()),
            ("allocations", self.allocations.values().filter(|memory| memory.context == context).count()),
        ];
        for (what, count) in left {
            if count > 0 {
                self.misuse(
                    Status::CONTEXT_IS_DESTROYED,
                    format!("a context goes with {count} {what} in it"),
                );
            }
        }
        let streams: Vec<_> =
            self.streams.iter().filter(|(_, stream)| stream.context == context).map(|(&id, _)| id).collect();
        for stream in streams {
            self.streams.remove(&stream);
            self.close_queue(stream);
        }
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.functions.retain(|_, function| function.context != context);
        let memory = self.allocations.values().filter(|memory| memory.context == context);
        let memory: Vec<_> = memory.map(|memory| memory.address).collect();
        for address in memory {
            self.release(address);
        }
        if let Ok(device) = self.device(gone.device)
            && gone.is_primary
        {
            device.primary = None;
        }
    }
}
