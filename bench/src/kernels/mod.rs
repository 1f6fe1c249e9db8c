//! Kernels beside `memcpy`, beside the library's best copy, and beside the usual alternatives, for
//! the works of `crossdock-measure`.

mod crates;
pub(crate) mod native;
mod ndarray;
mod numpy;
mod plain;
mod process;
mod typed;

use std::time::Duration;

use crossdock_measure::{
    BEST_COPY, BEST_COPY_TWO, BestCopy, Crossdock, Engine, Into, Limits, MEMCPY, MEMSET, Memcpy, Memset,
    Operation, Task, WORKS, Work, WorkReach,
};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::{Measure, Result};

pub(crate) use self::numpy::{NumPy, PYTHON};

/// Each operation takes milliseconds.
const LIMITS: Limits = Limits { most: 101, least: 5, budget: Duration::from_millis(1500) };

/// The case that is compared with the targets of the works.
const ONE: &str = "crossdock, 1 thread";
const TWO: &str = "crossdock, 2 threads";
const NEW: &str = "crossdock, into a new array";
const NEW_TWO: &str = "crossdock, into a new array, 2 threads";

/// One table for each work.
pub(crate) fn measures() -> impl Iterator<Item = Measure> {
    WORKS.iter().map(|work| Measure { group: "kernels", name: work.name, run: kernel })
}

/// All possible participants; those of the ratios come first.
fn engines() -> Result<Vec<Box<dyn Engine>>> {
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(Memcpy),
        Box::new(BestCopy::ONE),
        Box::new(BestCopy::TWO),
        Box::new(Crossdock::new(ONE, 1, Into::Target)),
        Box::new(Crossdock::new(TWO, 2, Into::Target)),
        Box::new(Crossdock::new(NEW, 1, Into::New)),
        Box::new(Crossdock::new(NEW_TWO, 2, Into::New)),
        Box::new(Memset),
        Box::new(plain::Plain),
        Box::new(crates::Transpose),
        Box::new(crates::StridedPerm::new("strided-perm", 1)?),
        Box::new(crates::StridedPerm::new("strided-perm, 2 threads", 2)?),
        Box::new(crates::Half),
        Box::new(ndarray::NdArray::new("ndarray", 1)?),
        Box::new(ndarray::NdArray::new("ndarray, 2 threads", 2)?),
    ];
    engines.extend(native::all().map(|native| Box::new(native) as Box<dyn Engine>));
    if let Some(numpy) = NumPy::find() {
        engines.push(Box::new(numpy));
    }
    Ok(engines)
}

fn kernel(measure: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let work = WORKS.iter().find(|work| work.name == measure.name).ok_or("there is no such work")?;
    let task = Task::new(work, 1)?;
    let engines = engines()?;
    let mut cases = Vec::new();
    for engine in &engines {
        let name = engine.name();
        let told = |error| format!("{}, {name}: {error}", work.name);
        let Some(case) = Case::of(&**engine, &task).map_err(told)? else { continue };
        let case = case.settled();
        cases.push(match reach(work, name) {
            Some(reach) => case.reaching(reach),
            None => case,
        });
    }
    let scale = Scale::gigabytes(task.nbytes());
    let table = harness::measure_within(
        LIMITS,
        measure.name,
        scale,
        &[MEMCPY, MEMSET, BEST_COPY, BEST_COPY_TWO, ONE],
        cases,
    )?;
    Ok(table.with_bars())
}

/// The target of one of Crossdock's cases.
fn reach(work: &Work, name: &str) -> Option<Reach> {
    let WorkReach { one, best } = work.reach;
    match (work.operation, name) {
        // The target of a new array is compared with an existing array.
        (Operation::New, NEW) => Some(Reach::ratio(one?, ONE)),
        (Operation::New, _) => None,
        (_, ONE) => match best {
            Some(best) => Some(Reach::ratio(best, BEST_COPY)),
            None => Some(Reach::ratio(one?, MEMCPY)),
        },
        (_, TWO) => Some(Reach::ratio(best?, BEST_COPY_TWO)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_the_right_answer_to_every_work_that_is_taken() {
        let engines = engines().unwrap();
        let mut taken = vec![0; engines.len()];
        for work in WORKS {
            let task = Task::new(work, 1024).unwrap();
            for (engine, taken) in engines.iter().zip(&mut taken) {
                let job = engine.job(&task).and_then(|job| job.map(|job| job.proven(&task)).transpose());
                match job {
                    Ok(job) => *taken += usize::from(job.is_some()),
                    Err(error) => panic!("{}, {}: {error}", work.name, engine.name()),
                }
            }
        }
        for (engine, taken) in engines.iter().zip(taken) {
            assert!(taken > 0, "{} did nothing", engine.name());
        }
    }
}
