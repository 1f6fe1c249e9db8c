//! A device for tests, with memory that faults on CPU access.
//!
//! Its buffers carry addresses of inaccessible pages, so code that ignores the place gets a signal
//! at once, instead of wrong numbers on a machine with a real device. The bytes are in separate
//! pages that only the device knows. A thread copies them for streams. Switches make the device
//! refuse, fail, run out of memory, or delay its work.
//!
//! ```
//! use crossdock::buffer::Buffer;
//! use crossdock::device::Device;
//! use crossdock::device::fenced::FencedDevice;
//!
//! let device = FencedDevice::new(0);
//! let stream = device.stream()?.expect("it has streams");
//! let source = Buffer::from_vec(vec![7u8; 100])?;
//!
//! let paused = device.pause(); // work in its streams waits
//! let placed = source.copy_to_in(&device.memory(), &*stream)?;
//! let event = placed.event.expect("the work is in flight");
//! assert!(!event.is_done());
//! drop(paused);
//! source.write()?.fill(0); // waits for the copy, which reads the source
//! assert!(event.is_done());
//! # Ok::<(), crossdock::Error>(())
//! ```

mod memory;
mod stream;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};

use crate::device::engine::Engine;
use crate::device::fenced::memory::FencedMemory;
use crate::device::fenced::stream::FencedStream;
use crate::device::{Device, MemoryManager, Meter, Stream};
use crate::error::{Error, Result};
use crate::memory::fork::ForkLock;
use crate::memory::{DeviceKind, Place};

/// The operations that a [`FencedDevice`] can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A copy, in a stream or not. (Not named `Copy`, so that compiler messages need not qualify
    /// the trait `Copy`.)
    Transfer,
    /// A mapping.
    Map,
    /// Freeing memory.
    Release,
}

/// The directions in which a [`FencedDevice`] copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// From the host to the device.
    pub from_host: bool,
    /// From the device to the host.
    pub to_host: bool,
    /// Between this and another fenced device, in either direction.
    pub between: bool,
}

impl Ways {
    /// All directions: the initial state of a device.
    pub const ALL: Self = Self { from_host: true, to_host: true, between: true };
    /// None, except within its own memory.
    pub const NONE: Self = Self { from_host: false, to_host: false, between: false };
}

/// A device of the kind [`DeviceKind::EXT_DEV`] whose memory the CPU cannot access.
pub struct FencedDevice {
    memory: Arc<FencedMemory>,
}

impl FencedDevice {
    /// A device with a number, independent of other devices of the same number. It does no strided
    /// work.
    pub fn new(ordinal: i32) -> Arc<Self> {
        Self::of(ordinal, None)
    }

    /// A device with an engine for strided work. The threads of its streams call [`Engine::run`].
    /// The engine finds the bytes of the memory by
    /// [`DeviceLease::object`](crate::device::DeviceLease::object), which is their address.
    pub fn with_engine(ordinal: i32, engine: Arc<dyn Engine>) -> Arc<Self> {
        Self::of(ordinal, Some(engine))
    }

    fn of(ordinal: i32, engine: Option<Arc<dyn Engine>>) -> Arc<Self> {
        let place = Place::new(DeviceKind::EXT_DEV, ordinal);
        Arc::new(Self { memory: Arc::new(FencedMemory::new(Arc::new(FencedCore::new(place, engine)))) })
    }

    fn core(&self) -> &Arc<FencedCore> {
        self.memory.core()
    }

    /// Limits the bytes allocated at a time; `u64::MAX` is no limit.
    pub fn set_limit(&self, nbytes: u64) {
        self.core().meter.set_limit(nbytes);
    }

    /// Sets whether its memory can be mapped to the host, and host memory to it. Initially off.
    pub fn set_mappable(&self, mappable: bool) {
        self.core().mappable.store(mappable, Ordering::Relaxed);
    }

    /// Sets the directions in which it copies.
    pub fn set_ways(&self, ways: Ways) {
        let core = self.core();
        core.from_host.store(ways.from_host, Ordering::Relaxed);
        core.to_host.store(ways.to_host, Ordering::Relaxed);
        core.between.store(ways.between, Ordering::Relaxed);
    }

    /// Makes the `nth` such operation from now on fail, where 1 is the next; 0 cancels.
    pub fn fail(&self, operation: Operation, nth: u64) {
        self.core().failures(operation).store(nth, Ordering::Relaxed);
    }

    /// Pauses all work in its streams until the result is dropped. Running work continues.
    #[must_use]
    pub fn pause(&self) -> Paused {
        *self.core().pauses() += 1;
        Paused(self.core().clone())
    }
}

impl Device for FencedDevice {
    fn place(&self) -> Place {
        self.core().place
    }

    fn name(&self) -> String {
        format!("fenced device {}", self.core().place.ordinal())
    }

    fn memory(&self) -> Arc<dyn MemoryManager> {
        self.memory.clone()
    }

    fn stream(&self) -> Result<Option<Arc<dyn Stream>>> {
        Ok(Some(Arc::new(FencedStream::new(self.core().clone()))))
    }
}

impl fmt::Debug for FencedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FencedDevice({})", self.core().place)
    }
}

/// Pauses work in streams while it lives.
#[derive(Debug)]
pub struct Paused(Arc<FencedCore>);

impl Drop for Paused {
    fn drop(&mut self) {
        *self.0.pauses() -= 1;
        self.0.resumed.notify_all();
    }
}

/// The state shared by the device, its memory and its streams.
struct FencedCore {
    place: Place,
    engine: Option<Arc<dyn Engine>>,
    meter: Arc<Meter>,
    mappable: AtomicBool,
    from_host: AtomicBool,
    to_host: AtomicBool,
    between: AtomicBool,
    fail_copy: AtomicU64,
    fail_map: AtomicU64,
    fail_release: AtomicU64,
    pauses: ForkLock<usize>,
    resumed: Condvar,
}

impl FencedCore {
    fn new(place: Place, engine: Option<Arc<dyn Engine>>) -> Self {
        Self {
            place,
            engine,
            meter: Arc::new(Meter::new(u64::MAX)),
            mappable: AtomicBool::new(false),
            from_host: AtomicBool::new(true),
            to_host: AtomicBool::new(true),
            between: AtomicBool::new(true),
            fail_copy: AtomicU64::new(0),
            fail_map: AtomicU64::new(0),
            fail_release: AtomicU64::new(0),
            pauses: ForkLock::new(0),
            resumed: Condvar::new(),
        }
    }

    fn failures(&self, operation: Operation) -> &AtomicU64 {
        match operation {
            Operation::Transfer => &self.fail_copy,
            Operation::Map => &self.fail_map,
            Operation::Release => &self.fail_release,
        }
    }

    /// Counts one operation, which fails if it is the chosen one.
    fn attempt(&self, operation: Operation) -> Result<()> {
        let count_down = |left: u64| left.checked_sub(1);
        match self.failures(operation).fetch_update(Ordering::Relaxed, Ordering::Relaxed, count_down) {
            Ok(1) => Err(Error::device(format!(
                "{operation:?} on {} failed with error {FAILURE}, as configured for this test",
                self.place
            ))),
            _ => Ok(()),
        }
    }

    fn pauses(&self) -> MutexGuard<'_, usize> {
        // SAFETY: `FencedDevice::of`, the only caller of `FencedCore::new`, moves the core into an
        // `Arc` before the first lock, so `pauses` keeps its address until it is dropped.
        unsafe { self.pauses.lock_in_place() }
    }

    fn wait_while_paused(&self) {
        let mut pauses = self.pauses();
        while *pauses > 0 {
            pauses = self.resumed.wait(pauses).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The error number of deliberate failures.
pub const FAILURE: i32 = 719;

impl fmt::Debug for FencedCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Core({})", self.place)
    }
}
