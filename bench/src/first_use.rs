//! The time that the first use of the library takes in a process beyond every later one: it detects
//! the CPU, and starts threads for the first large copy.

use std::process::Command;
use std::time::Instant;

use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Casting, DArray};
use crossdock_measure::{Figure, Reach, Unit, median};

use crate::arrow::Arrow;
use crate::harness::{Row, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[Measure { group: "arrays", name: "first-use", run: first_use }];

/// The argument of a child process.
pub(crate) const ARGUMENT: &str = "--first-use";

const PROCESSES: usize = 41;
const REACH: f64 = 50_000.0;

/// Copies by hand before the first one: without them, even a loop of the caller's takes a hundred
/// microseconds longer at first.
const WARM: usize = 8;

/// Copies of these sizes are compared with later copies of the same arrays.
const COPIES: [(&str, usize); 2] =
    [("first copy of 4 KiB", 4 << 10), ("first copy of 4 MiB, by threads", 4 << 20)];

fn first_use(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let mut samples = [const { Vec::new() }; COPIES.len()];
    for _ in 0..PROCESSES {
        let output = Command::new(std::env::current_exe()?).arg(ARGUMENT).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if figures.len() != COPIES.len() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        samples.iter_mut().zip(figures).for_each(|(samples, figure)| samples.push(figure));
    }
    let row = |(&(name, _), samples)| {
        let figure = Figure::alone(median(samples), Unit::Nanoseconds);
        Row { name, figure: figure.reaching(Some(Reach::value(REACH))) }
    };
    let rows = COPIES.iter().zip(samples).map(row).collect();
    let title = "first use, beyond a later one";
    Ok(Table { title, unit: Unit::Nanoseconds, against: vec![], rows, bars: false })
}

/// In the child: prints, for each copy, the nanoseconds of the first one less those of a later one.
pub(crate) fn child() -> Result {
    for (_, nbytes) in COPIES {
        let array = || DArray::zeros(DType::U8, &[nbytes], Order::RowMajor);
        let (source, target) = (array()?, array()?);
        // So that the pages are there, and where a later copy finds them: in caches and tables.
        for array in [&source, &target] {
            array.buffer()?.0.write()?.fill(1);
        }
        let (from, to) = (source.buffer()?.0, target.buffer()?.0);
        for _ in 0..WARM {
            to.write()?.copy_from_slice(&from.read()?);
        }
        let copy = || -> Result<f64> {
            let start = Instant::now();
            target.assign(&source, Casting::Checked)?;
            Ok(start.elapsed().as_secs_f64() * 1e9)
        };
        let first = copy()?;
        let later = (0..9).map(|_| copy()).collect::<Result<Vec<_>>>()?;
        println!("{:.0}", first - median(later));
    }
    Ok(())
}
