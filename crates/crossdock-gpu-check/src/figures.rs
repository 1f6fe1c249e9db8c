//! The figures: copies compared with the driver's, works compared with copies, allocations compared
//! with the driver's pool.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock::buffer::Buffer;
use crossdock::device::{self, Device, MemoryManager, Stream};
use crossdock::memory::{DeviceKind, Place};
use crossdock_measure::{
    Case, DEVICE_WORKS, DeviceCopy, Figure, Limits, OnDevice, Reach, Scale, Task, Work, compare,
};

use crate::Result;
use crate::peer::Peer;
use crate::table::{Outcome, Row};

const LIMITS: Limits = Limits { most: 21, least: 5, budget: Duration::from_millis(800) };

/// The reason for the missing figure of a work.
const DECLINED: &str = "it cannot be done";

/// The number of bytes copied on the device.
const COPIED: usize = 1 << 30;
/// The number of bytes copied over the link to the host.
const LINKED: usize = 256 << 20;
/// The number of bytes allocated.
const ALLOCATED: usize = 1 << 20;

/// Measures all figures, until the deadline.
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

/// The figure of the first case, with its ratio to the second.
fn beside(own: Case<'_>, peer: Case<'_>, scale: Scale) -> Result<Figure> {
    let against = [peer.name()];
    let figures = compare(vec![own, peer], &against, scale, LIMITS)?;
    Ok(figures.into_iter().next().ok_or("there is no figure")?.1)
}

/// The library compared with the driver's function of this name. `bound` is the ratio to reach.
fn beside_the_driver<'a>(
    name: &'static str,
    bound: f64,
    own: impl FnMut(usize) -> Result<Duration> + 'a,
    theirs: impl FnMut(usize) -> Result<Duration> + 'a,
    scale: Scale,
) -> Result<Figure> {
    let own = Case::proven("crossdock", own).threaded().reaching(Reach::ratio(bound, name));
    beside(own, Case::proven(name, theirs).threaded(), scale)
}

/// A repeated copy between two buffers in a stream.
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
    let (own, theirs) = (copies(&source, &target, &*stream), peer.copies_within(nbytes)?);
    let scale = Scale::terabytes(2 * nbytes);
    let figure = beside_the_driver("cuMemcpyDtoDAsync", 0.95, own, theirs, scale)?;
    prove(&target)?;
    Ok(figure)
}

fn copy_from_pinned(device: &dyn Device, nbytes: usize) -> Result<Figure> {
    let (peer, stream, memory) = (Peer::open()?, stream_of(device)?, device.memory());
    let pinned = device::memory(Place::new(DeviceKind::CUDA_HOST, device.place().ordinal()))?;
    let (source, target) = (filled(&pinned, nbytes)?, Buffer::on(&memory, nbytes)?);
    let (own, theirs) = (copies(&source, &target, &*stream), peer.copies_from_pinned(nbytes)?);
    let scale = Scale::gigabytes(nbytes);
    let figure = beside_the_driver("cuMemcpyHtoDAsync", 0.97, own, theirs, scale)?;
    prove(&target)?;
    Ok(figure)
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
    beside_the_driver("cuMemAllocAsync", 1.2, own, theirs, Scale::NANOSECONDS)
}

/// A work compared with the device's own copy of as many bytes.
fn beside_a_copy(device: &dyn Device, work: &'static Work, shrink: usize) -> Result<Figure> {
    let task = Task::on(&device.memory(), work, shrink)?;
    let (own, copy) = (OnDevice::new(device)?, DeviceCopy::new(device)?);
    let own = Case::of(&own, &task)?.ok_or(DECLINED)?;
    let peer = Case::of(&copy, &task)?.ok_or(DECLINED)?;
    let reach = work.reach.one.map(|bound| Reach::ratio(bound, peer.name()));
    // The mean of the bytes read and written; the figure counts both.
    let figure = beside(own, peer, Scale::terabytes(2 * task.nbytes()))?;
    Ok(figure.reaching(reach))
}

fn filled(memory: &Arc<dyn MemoryManager>, nbytes: usize) -> Result<Buffer> {
    Ok(Buffer::from_vec(vec![FILLING; nbytes])?.copy_to(memory)?)
}

const FILLING: u8 = 0xA5;

/// Fails if other bytes arrived.
fn prove(target: &Buffer) -> Result {
    let arrived = target.copy_to(&device::memory(Place::CPU)?)?;
    if arrived.read()?.iter().any(|&byte| byte != FILLING) {
        return Err("other bytes arrived than were sent".into());
    }
    Ok(())
}
