//! Measures the figures.

use std::time::Duration;

use crossdock::device::Device;
use crossdock_measure::bandwidth::{self, Level};
use crossdock_measure::{
    Case, Crossdock, DeviceCopy, Engine, Into, Limits, Link, Memcpy, Memset, OnDevice, Operation, Result,
    Scale, Task, compare,
};

use crate::bench::report::{Figure, Memory, Traffic, Work};

/// The traffic of one kind of memory.
pub(super) fn memory(level: &Level, threads: usize, time: Duration) -> Result<Memory> {
    let traffic = bandwidth::Traffic::ALL.into_iter().map(|traffic| {
        let by = |threads| bandwidth::gigabytes(traffic, level, threads, time);
        let all_threads = if threads > 1 { Some(by(threads)?) } else { None };
        Ok(Traffic { name: traffic.name(), one_thread: by(1)?, all_threads })
    });
    Ok(Memory {
        level: level.name.clone(),
        nbytes: level.nbytes(1),
        traffic: traffic.collect::<Result<_>>()?,
    })
}

/// Measures one work against `memcpy`, or `memset` if the work reads nothing, on one thread and on
/// all.
pub(super) fn work(
    work: &'static crossdock_measure::Work,
    shrink: usize,
    threads: usize,
    limits: Limits,
) -> Result<Work> {
    let task = Task::new(work, shrink)?;
    let into = if work.operation == Operation::New { Into::New } else { Into::Target };
    let limit: Box<dyn Engine> =
        if work.operation == Operation::Fill { Box::new(Memset) } else { Box::new(Memcpy) };
    let mut engines: Vec<Box<dyn Engine>> = vec![limit, Box::new(Crossdock::new("one thread", 1, into))];
    if threads > 1 {
        engines.push(Box::new(Crossdock::new("all threads", threads, into)));
    }
    beside_the_limit(work, &task, &engines, limits)
}

/// Measures one work against the device's own copy.
pub(super) fn work_on(
    device: &dyn Device,
    work: &'static crossdock_measure::Work,
    shrink: usize,
    limits: Limits,
) -> Result<Work> {
    let task = Task::on(&device.memory(), work, shrink)?;
    let engines: [Box<dyn Engine>; 2] =
        [Box::new(DeviceCopy::new(device)?), Box::new(OnDevice::new(device)?)];
    beside_the_limit(work, &task, &engines, limits)
}

/// The figures of two or three engines, of which the first is the limit.
fn beside_the_limit(
    work: &'static crossdock_measure::Work,
    task: &Task,
    engines: &[Box<dyn Engine>],
    limits: Limits,
) -> Result<Work> {
    let mut cases = Vec::new();
    for engine in engines {
        cases.push(Case::of(&**engine, task)?.ok_or("it is not possible")?);
    }
    let limit = cases[0].name();
    let figures = compare(cases, &[limit], Scale::gigabytes(task.nbytes()), limits)?;
    let figure = |of: usize| {
        let figure = &figures[of].1;
        Figure { gigabytes: figure.value, ratio: figure.ratio(limit).unwrap_or(1.0) }
    };
    Ok(Work {
        name: work.name,
        section: work.section.name(),
        nbytes: task.nbytes(),
        memcpy: figure(0).gigabytes,
        one_thread: figure(1),
        all_threads: (engines.len() > 2).then(|| figure(2)),
    })
}

/// Measures one link: to a device, from it, or within it.
pub(super) fn link(link: &Link, time: Duration) -> Result<Memory> {
    let copy = Traffic {
        name: bandwidth::Traffic::Copy.name(),
        one_thread: link.gigabytes(time)?,
        all_threads: None,
    };
    Ok(Memory { level: link.name.to_owned(), nbytes: link.nbytes(), traffic: vec![copy] })
}
