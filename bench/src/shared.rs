//! The sizes from which large work is shared: two threads beside one.

use crossdock::bindings::threads::set_num_threads;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Casting, DArray};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[
    Measure { group: "threads", name: "shared-copy", run: copy },
    Measure { group: "threads", name: "shared-cast", run: cast },
    Measure { group: "threads", name: "shared-compare", run: compare },
    Measure { group: "threads", name: "shared-fill", run: fill },
];

const ONE: &str = "1 thread";

/// One work on one thread and on two. The target: at the smallest size that is shared, two are
/// faster.
fn table(name: &'static str, nbytes: usize, work: impl Fn() -> usize + Copy) -> Result<Table> {
    let answer = work();
    let on = move |threads| {
        move || {
            set_num_threads(threads).expect("a number from 1 to 1024");
            work()
        }
    };
    let cases = vec![
        Case::new(ONE, answer, on(1)),
        Case::new("2 threads", answer, on(2)).reaching(Reach::ratio(1.0, ONE)),
    ];
    harness::measure(name, Scale::gigabytes(nbytes), &[ONE], cases)
}

fn ones(dtype: DType, len: usize) -> Result<DArray> {
    let array = DArray::zeros(dtype, &[len], Order::RowMajor)?;
    array.fill(&1.into())?;
    Ok(array)
}

/// The last number, converted.
fn last(array: &DArray) -> usize {
    let value = array.get(&[array.len() - 1]).ok().and_then(|value| value.as_f64());
    value.map_or(0, |value| value as usize)
}

fn copy(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const NBYTES: usize = 4 << 20;
    let (source, target) = (ones(DType::F32, NBYTES / 4)?, ones(DType::F32, NBYTES / 4)?);
    table("copy of 4 MiB", NBYTES, || target.assign(&source, Casting::Checked).map_or(0, |()| last(&target)))
}

fn cast(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const LEN: usize = 1 << 19;
    let (source, target) = (ones(DType::F32, LEN)?, ones(DType::F64, LEN)?);
    let work = || target.assign(&source, Casting::Checked).map_or(0, |()| last(&target));
    table("cast of 2^19 f32 to f64", LEN * 4, work)
}

fn compare(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const LEN: usize = 1 << 19;
    let (one, other) = (ones(DType::F32, LEN)?, ones(DType::F32, LEN)?);
    table("comparison of 2^19 f32", LEN * 4, || one.equals(&other).map_or(0, usize::from))
}

fn fill(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    const NBYTES: usize = 8 << 20;
    let target = ones(DType::F32, NBYTES / 4)?;
    table("fill of 8 MiB", NBYTES, || target.fill(&3.into()).map_or(0, |()| last(&target)))
}
