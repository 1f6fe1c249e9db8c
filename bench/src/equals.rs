//! Comparisons of large arrays, which stay in no cache: the limit is to read both.

use std::hint::black_box;

use crossdock::bindings::threads::set_num_threads;
use crossdock::buffer::MutableBuffer;
use crossdock::element::DType;
use crossdock::layout::Order;
use crossdock::{Casting, DArray};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[Measure { group: "arrays", name: "equals", run: equals }];

const LIMIT: &str = "a read of as many bytes";
const ONE: &str = "DArray::equals, 1 thread";

/// The elements of each array, of four bytes.
const LEN: usize = 16 << 20;

/// Adds up the words of some bytes, so that the compiler cannot leave any out.
fn sum(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

fn equals(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let numbers = DArray::zeros(DType::F32, &[LEN], Order::RowMajor)?;
    numbers.fill(&3.into())?;
    let same = DArray::zeros(DType::F32, &[LEN], Order::RowMajor)?;
    same.assign(&numbers, Casting::Checked)?;
    let swapped = DArray::zeros(DType::F32.swapped(), &[LEN], Order::RowMajor)?;
    swapped.assign(&numbers, Casting::Checked)?;
    let mut bytes = MutableBuffer::new()?;
    bytes.resize(2 * 4 * LEN)?;
    bytes.fill(1);
    let answer = sum(&bytes) as usize;
    let on = |threads, other: &DArray| {
        let (numbers, other) = (numbers.clone(), other.clone());
        move || {
            set_num_threads(threads).expect("a number from 1 to 1024");
            black_box(&numbers).equals(black_box(&other)).map_or(0, usize::from)
        }
    };
    let cases = vec![
        Case::new(LIMIT, answer, || sum(black_box(&bytes)) as usize),
        Case::new(ONE, 1, on(1, &same)).reaching(Reach::ratio(0.7, LIMIT)),
        Case::new("DArray::equals, 2 threads", 1, on(2, &same)).reaching(Reach::ratio(1.0, ONE)),
        Case::new("with bytes swapped, 1 thread", 1, on(1, &swapped)).reaching(Reach::ratio(0.7, LIMIT)),
    ];
    harness::measure("comparison of 16 Mi f32", Scale::gigabytes(2 * 4 * LEN), &[LIMIT, ONE], cases)
}
