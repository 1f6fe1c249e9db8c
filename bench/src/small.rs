//! Small arrays beside hand-written loops: most copies are small, and then a call costs more than
//! its bytes.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crossdock::element::{DType, Element};
use crossdock::layout::Order;
use crossdock::{Array, Casting, DArray};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[
    Measure { group: "arrays", name: "small-copies", run: copies },
    Measure { group: "arrays", name: "small-casts", run: casts },
    Measure { group: "arrays", name: "small-transposes", run: transposes },
];

const LOOP: &str = "hand-written loop";
/// The least that a copy under leases can take.
const FLOOR: &str = "that loop under two leases";
const REACH: f64 = 1.3;

/// The sides of squares of floats, and their bytes.
const SIZES: [(usize, &str); 6] =
    [(4, "64 B"), (8, "256 B"), (16, "1 KiB"), (32, "4 KiB"), (64, "16 KiB"), (128, "64 KiB")];

/// The atomics of two leases around some work: a compare-and-swap and a subtraction on a word of
/// each array.
fn under_two_leases(words: &[AtomicU64; 2], work: impl FnOnce()) {
    for word in words {
        let now = word.load(Ordering::Relaxed);
        let _alone = word.compare_exchange(now, now + 1, Ordering::Acquire, Ordering::Relaxed);
    }
    work();
    for word in words {
        word.fetch_sub(1, Ordering::Release);
    }
}

/// One row for each size: Crossdock's assignment to an existing array, beside a loop over the same
/// numbers, and beside that loop under the atomics of two leases.
fn by_size<T: Element + From<u8>>(
    title: &'static str,
    transposed: bool,
    by_hand: impl Fn(usize, &[T], &mut [f32]) + Copy,
) -> Result<Table> {
    harness::measure_sizes(title, &[LOOP, FLOOR], SIZES, |(side, name)| {
        let len = side * side;
        let numbers: Vec<T> = (0..len).map(|index| T::from((index % 251) as u8)).collect();
        let array = DArray::from(Array::from_vec(numbers.clone(), [side, side])?);
        let source = if transposed { array.permute(&[1, 0])? } else { array };
        let target = DArray::zeros(DType::F32, &[side, side], Order::RowMajor)?;
        let mut result = vec![0f32; len];
        by_hand(side, &numbers, &mut result);
        target.assign(&source, Casting::Checked)?;
        let own: Array<f32, 2> = target.clone().try_into()?;
        assert_eq!(own.read()?.to_vec(), result, "{title}, {name}");
        let (leased_numbers, mut leased_result) = (numbers.clone(), result.clone());
        let words = [const { AtomicU64::new(1) }; 2];
        Ok([
            Case::new(LOOP, len, move || {
                by_hand(side, black_box(&numbers), black_box(&mut result));
                len
            }),
            Case::new(FLOOR, len, move || {
                under_two_leases(black_box(&words), || {
                    by_hand(side, black_box(&leased_numbers), black_box(&mut leased_result));
                });
                len
            }),
            Case::new(name, len, move || {
                match black_box(&target).assign(black_box(&source), Casting::Checked) {
                    Ok(()) => len,
                    Err(_) => 0,
                }
            })
            .reaching(Reach::ratio(REACH, LOOP)),
        ])
    })
}

fn straight<T: Copy>(from: &[T], to: &mut [f32], number: impl Fn(T) -> f32) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = number(from);
    }
}

fn copies(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    by_size("f32 copy, small", false, |_, from: &[f32], to| straight(from, to, |number| number))
}

fn casts(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    by_size("u8 to f32, small", false, |_, from: &[u8], to| straight(from, to, f32::from))
}

fn transposes(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    by_size("f32 transpose, small", true, |side, from: &[f32], to| {
        for (row, to) in to.chunks_exact_mut(side).enumerate() {
            for (column, to) in to.iter_mut().enumerate() {
                *to = from[column * side + row];
            }
        }
    })
}
