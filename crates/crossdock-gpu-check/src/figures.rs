//! The figures: copies beside the driver's own, works beside copies, allocations beside the driver's pool.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, MemoryManager, Stream};
use crossdock::memory::{DeviceKind, Place};
use crossdock_measure::{
    Contender, DEVICE_WORKS, DeviceCopy, Engine, LONG_SAMPLE, Limits, OnDevice, Task, Work, median, ratio,
    rounds,
};

use crate::Result;
use crate::peer::Peer;
use crate::table::{Figure, Outcome, Reach, Row};

const LIMITS: Limits = Limits { most: 21, least: 5, budget: Duration::from_millis(800) };

/// How many bytes are copied.
const COPIED: usize = 1 << 30;
/// How many are copied over the link to the host.
const LINKED: usize = 256 << 20;
/// How many are allocated.
const ALLOCATED: usize = 1 << 20;

/// Takes all of them, until the time is over.
pub(crate) fn take(device: &dyn Device, shrink: usize, deadline: Instant) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |what: &str, measure: &dyn Fn() -> Result<Figure>| {
        let outcome = match measure {
            _ if Instant::now() >= deadline => Outcome::LeftOut("there was no time left".to_owned()),
            measure => measure().map_or_else(|error| Outcome::Failed(error.to_string()), Outcome::Measured),
        };
        rows.push(Row::new(what, outcome));
    };
    add("copy within the device, read + written", &|| copy_within(device, COPIED / shrink));
    add("copy from pinned memory of the host", &|| copy_from_pinned(device, LINKED / shrink));
    add("allocate + free 1 MiB", &|| allocate_and_free(device));
    for work in DEVICE_WORKS {
        add(work.name, &|| beside_a_copy(device, work, shrink));
    }
    rows
}

fn stream_of(device: &dyn Device) -> Result<Arc<dyn Stream>> {
    Ok(device.stream()?.ok_or("the device has no streams")?)
}

/// Two contenders, of which the second one is the peer: the medians of their times, and the ratio of their speeds.
fn compare(own: Contender<'_>, peer: Contender<'_>) -> Result<(f64, f64)> {
    let samples = rounds(&mut [own, peer], LIMITS)?;
    Ok((median(samples[0].clone()), ratio(&samples[1], &samples[0])))
}

fn long<'a>(run: impl FnMut(usize) -> Result<Duration> + 'a) -> Contender<'a> {
    Contender { sample: LONG_SAMPLE, ..Contender::new(run) }
}

/// A copy between two buffers in a stream, again and again.
fn copies<'a>(
    source: &'a Buffer,
    target: &'a Buffer,
    stream: &'a dyn Stream,
) -> impl FnMut(usize) -> Result<Duration> + 'a {
    move |count| {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..count {
            source.copy_into_in(target, stream)?;
        }
        stream.synchronize()?;
        Ok(start.elapsed())
    }
}

fn copy_within(device: &dyn Device, nbytes: usize) -> Result<Figure> {
    let (peer, stream, memory) = (Peer::open()?, stream_of(device)?, device.memory());
    let (source, target) = (filled(&memory, nbytes)?, Buffer::on(&memory, nbytes)?);
    let own = copies(&source, &target, &*stream);
    let (nanoseconds, ratio) = compare(long(own), long(peer.copies_within(nbytes)?))?;
    prove(&target)?;
    let value = 2.0 * nbytes as f64 / nanoseconds / 1e3;
    Ok(Figure {
        value,
        unit: "TB/s".into(),
        ratio,
        peer: "cuMemcpyDtoDAsync".into(),
        reach: Some(Reach::AtLeast(0.95)),
    })
}

fn copy_from_pinned(device: &dyn Device, nbytes: usize) -> Result<Figure> {
    let (peer, stream, memory) = (Peer::open()?, stream_of(device)?, device.memory());
    let pinned = device::memory(Place::new(DeviceKind::CUDA_HOST, device.place().ordinal()))?;
    let (source, target) = (filled(&pinned, nbytes)?, Buffer::on(&memory, nbytes)?);
    let own = copies(&source, &target, &*stream);
    let (nanoseconds, ratio) = compare(long(own), long(peer.copies_from_pinned(nbytes)?))?;
    prove(&target)?;
    let value = nbytes as f64 / nanoseconds;
    Ok(Figure {
        value,
        unit: "GB/s".into(),
        ratio,
        peer: "cuMemcpyHtoDAsync".into(),
        reach: Some(Reach::AtLeast(0.97)),
    })
}

fn allocate_and_free(device: &dyn Device) -> Result<Figure> {
    let (peer, memory) = (Peer::open()?, device.memory());
    let own = |count| {
        let start = Instant::now();
        for _ in 0..count {
            drop(Buffer::on(&memory, ALLOCATED)?);
        }
        Ok(start.elapsed())
    };
    let theirs = |count| peer.allocate_and_free(ALLOCATED, count);
    let (nanoseconds, speed) = compare(long(own), long(theirs))?;
    // Of times, less is better.
    let ratio = 1.0 / speed;
    Ok(Figure {
        value: nanoseconds,
        unit: "ns".into(),
        ratio,
        peer: "cuMemAllocAsync".into(),
        reach: Some(Reach::AtMost(1.2)),
    })
}

/// A work beside the device's own copy of as many bytes.
fn beside_a_copy(device: &dyn Device, work: &'static Work, shrink: usize) -> Result<Figure> {
    let task = Task::on(&device.memory(), work, shrink)?;
    let (own, copy) = (OnDevice::new(device)?, DeviceCopy::new(device)?);
    let (nanoseconds, ratio) = compare(proven(&own, &task)?, proven(&copy, &task)?)?;
    let value = 2.0 * task.nbytes() as f64 / nanoseconds / 1e3;
    let reach = work.reach.one.map(Reach::AtLeast);
    Ok(Figure { value, unit: "TB/s".into(), ratio, peer: "a copy".into(), reach })
}

fn proven<'a>(engine: &'a dyn Engine, task: &'a Task) -> Result<Contender<'a>> {
    Ok(long(engine.job(task)?.ok_or("it cannot be done")?.proven(task)?))
}

fn filled(memory: &Arc<dyn MemoryManager>, nbytes: usize) -> Result<Buffer> {
    Ok(Buffer::from_vec(vec![FILLING; nbytes])?.copy_to(memory)?)
}

const FILLING: u8 = 0xA5;

/// Fails where something else arrived.
fn prove(target: &Buffer) -> Result {
    let arrived = target.copy_to(&device::memory(Place::CPU)?)?;
    if arrived.read()?.iter().any(|&byte| byte != FILLING) {
        return Err("other bytes arrived than were sent".into());
    }
    Ok(())
}
