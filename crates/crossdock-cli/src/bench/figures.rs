//! Taking the figures.

use std::time::Duration;

use crossdock_measure::bandwidth::{self, Level};
use crossdock_measure::{
    Contender, Crossdock, Engine, Into, LONG_SAMPLE, Limits, Memcpy, Operation, Result, Task, median, ratio,
    rounds,
};

use crate::bench::report::{Figure, Memory, Traffic, Work};

/// What is done with one kind of memory.
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

/// One work beside `memcpy`, on one thread and on all.
pub(super) fn work(
    work: &'static crossdock_measure::Work,
    shrink: usize,
    threads: usize,
    limits: Limits,
) -> Result<Work> {
    let task = Task::new(work, shrink)?;
    let into = if work.operation == Operation::New { Into::New } else { Into::Target };
    let mut engines: Vec<Box<dyn Engine>> =
        vec![Box::new(Memcpy), Box::new(Crossdock::new("one thread", 1, into)?)];
    if threads > 1 {
        engines.push(Box::new(Crossdock::new("all threads", threads, into)?));
    }
    let mut contenders = Vec::new();
    for engine in &engines {
        let job = engine.job(&task)?.ok_or("it cannot be done")?;
        contenders.push(Contender { sample: LONG_SAMPLE, ..Contender::new(job.proven(&task)?) });
    }
    let samples = rounds(&mut contenders, limits)?;
    let gigabytes = |of: usize| task.nbytes() as f64 / median(samples[of].clone());
    // The samples are times, of which `memcpy` has the shorter ones.
    let figure = |of: usize| Figure { gigabytes: gigabytes(of), ratio: ratio(&samples[0], &samples[of]) };
    Ok(Work {
        name: work.name,
        section: work.section.name(),
        nbytes: task.nbytes(),
        memcpy: gigabytes(0),
        one_thread: figure(1),
        all_threads: (threads > 1).then(|| figure(2)),
    })
}
