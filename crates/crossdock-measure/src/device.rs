//! Works on a device, and the limits of its memory and its link.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, MemoryManager, Stream};
use crossdock::memory::{DeviceKind, Place};
use crossdock::{Casting, Error};

use crate::{Engine, Job, Result, Task};

/// Enqueues the requested number of operations in a stream, and waits for them: the device works
/// while further ones are enqueued.
fn timed(
    stream: &dyn Stream,
    count: usize,
    mut enqueue: impl FnMut() -> Result<(), Error>,
) -> Result<Duration> {
    stream.synchronize()?;
    let start = Instant::now();
    for _ in 0..count {
        enqueue()?;
    }
    stream.synchronize()?;
    Ok(start.elapsed())
}

fn stream_of(device: &dyn Device) -> Result<Arc<dyn Stream>> {
    Ok(device.stream()?.ok_or_else(|| format!("{} has no streams", device.name()))?)
}

/// The device's own copy of the mean of the bytes that a work reads and writes: the limit to reach.
pub struct DeviceCopy {
    memory: Arc<dyn MemoryManager>,
    stream: Arc<dyn Stream>,
}

impl DeviceCopy {
    /// In a stream of its own.
    ///
    /// # Errors
    ///
    /// The device's error.
    pub fn new(device: &dyn Device) -> Result<Self> {
        Ok(Self { memory: device.memory(), stream: stream_of(device)? })
    }
}

impl Engine for DeviceCopy {
    fn name(&self) -> &'static str {
        "a copy"
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        let content = vec![1u8; task.nbytes()];
        let source = Buffer::from_vec(content)?.copy_to(&self.memory)?;
        let target = Buffer::on(&self.memory, task.nbytes())?;
        let copied = target.clone();
        let run = move |count| {
            timed(&*self.stream, count, || source.copy_into_in(&target, &*self.stream).map(drop))
        };
        let is_done = move || {
            let host = device::memory(Place::CPU)?;
            Ok(copied.copy_to(&host)?.read()?.iter().all(|&byte| byte == 1))
        };
        Ok(Some(Job::timed(run, is_done)))
    }
}

/// The library's work on a device, in a stream.
pub struct OnDevice {
    stream: Arc<dyn Stream>,
}

impl OnDevice {
    /// In a stream of its own.
    ///
    /// # Errors
    ///
    /// The device's error.
    pub fn new(device: &dyn Device) -> Result<Self> {
        Ok(Self { stream: stream_of(device)? })
    }
}

impl Engine for OnDevice {
    fn name(&self) -> &'static str {
        "crossdock"
    }

    fn job<'a>(&'a self, task: &'a Task) -> Result<Option<Job<'a>>> {
        let enqueue = || task.target().assign_in(task.source(), Casting::Saturating, &*self.stream).map(drop);
        Ok(Some(Job::timed(
            move |count| timed(&*self.stream, count, enqueue),
            || task.is_done(task.target()),
        )))
    }
}

/// A path of bytes to a device, from it, or within it.
pub struct Link {
    /// The display name.
    pub name: &'static str,
    source: Buffer,
    target: Buffer,
    stream: Arc<dyn Stream>,
}

/// The links of a device, for copies of `nbytes` bytes: those with pinned host memory only where
/// the device has it.
///
/// # Errors
///
/// `is_out_of_memory`, or the device's error.
pub fn links(device: &dyn Device, nbytes: usize) -> Result<Vec<Link>> {
    let (memory, stream, host) = (device.memory(), stream_of(device)?, device::memory(Place::CPU)?);
    let content = Buffer::from_vec(vec![1u8; nbytes])?;
    let link = |name, source: &Arc<dyn MemoryManager>, target: &Arc<dyn MemoryManager>| {
        let (source, target) = (content.copy_to(source)?, Buffer::on(target, nbytes)?);
        Ok::<_, Error>(Link { name, source, target, stream: stream.clone() })
    };
    let mut links = vec![
        link("within the device", &memory, &memory)?,
        link("host to device", &host, &memory)?,
        link("device to host", &memory, &host)?,
    ];
    if device.place().kind() == DeviceKind::CUDA {
        let pinned = device::memory(Place::new(DeviceKind::CUDA_HOST, 0))?;
        links.push(link("pinned host to device", &pinned, &memory)?);
        links.push(link("device to pinned host", &memory, &pinned)?);
    }
    Ok(links)
}

impl Link {
    /// The number of bytes of one copy.
    pub fn nbytes(&self) -> usize {
        self.source.nbytes()
    }

    /// Gigabytes per second, each byte counted once, by consecutive copies over about this time.
    ///
    /// # Errors
    ///
    /// The device's error.
    pub fn gigabytes(&self, time: Duration) -> Result<f64> {
        let copy = || self.source.copy_into_in(&self.target, &*self.stream).map(drop);
        let mut count = 1;
        loop {
            let elapsed = timed(&*self.stream, count, copy)?;
            if elapsed >= time {
                return Ok(count as f64 * self.source.nbytes() as f64 / elapsed.as_secs_f64() / 1e9);
            }
            count *= 2;
        }
    }
}
