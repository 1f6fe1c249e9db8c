//! Bitmaps, from an odd bit on: counted, combined, and as a byte for each element.
//!
//! Combining loads two bitmaps where `memcpy` loads one. Bitmaps of 1 MiB do not fit the L2 cache
//! together, so two thirds of `memcpy` are the most: a loop for AVX-512, and one that shifts one
//! side only, were no faster than the one for AVX2.

use std::hint::black_box;

use arrow_buffer::BooleanBuffer;
use crossdock::buffer::{Bitmap, BitmapBuilder, Buffer};
use crossdock::element::DType;
use crossdock::table::{Checks, Column, ColumnParts, ColumnType};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::tables::ARROW;
use crate::{Measure, Result};

/// The number of elements: a bitmap of 1 MiB, and masks of 8 MiB.
const COUNT: usize = 8 << 20;
const LIMIT: &str = "memcpy of the larger side";
const TO_REACH: f64 = 0.8;
/// The first bit, and that of a second bitmap.
const START: usize = 3;
const OTHER: usize = 5;

/// Bytes of a bitmap in which two bits of three are set.
fn bytes() -> Vec<u8> {
    (0..COUNT / 8 + 8).map(|k| [0b1101_1011u8, 0b1011_0110, 0b0110_1101][k % 3]).collect()
}

/// How many of the bits from `START` on are set, also in those from `other` on.
fn ones(other: usize) -> usize {
    let bytes = bytes();
    let bit = |i: usize| bytes[i / 8] >> (i % 8) & 1 != 0;
    (0..COUNT).filter(|i| bit(START + i) && bit(other + i)).count()
}

/// A copy of so many warm bytes; the answer is their last one.
fn memcpy(nbytes: usize) -> Case<'static> {
    let (source, mut target) = (vec![7u8; nbytes], vec![1u8; nbytes]);
    Case::new(LIMIT, 7, move || {
        black_box(&mut target[..]).copy_from_slice(black_box(&source));
        usize::from(black_box(&target)[nbytes - 1])
    })
}

pub(super) fn count(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let buffer = Buffer::from_vec(bytes())?; // not constant, so that the count is not kept
    let bitmap = Bitmap::new(buffer, START, COUNT)?;
    let theirs = BooleanBuffer::new(bytes().into(), START, COUNT);
    let zeros = COUNT - ones(START);
    let cases = vec![
        memcpy(COUNT / 8),
        Case::new(ARROW, zeros, || COUNT - black_box(&theirs).count_set_bits()),
        Case::new("crossdock", zeros, || black_box(&bitmap).count_false().unwrap_or(0))
            .reaching(Reach::ratio(TO_REACH, LIMIT)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("nulls of 8 Mi elements", Scale::gigabytes(COUNT / 8), &[LIMIT, ARROW], cases)
}

/// The larger side is the two bitmaps that are read.
pub(super) fn and(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let nbytes = 2 * COUNT / 8;
    let one = Bitmap::new(Buffer::from_vec(bytes())?, START, COUNT)?;
    let other = Bitmap::new(Buffer::from_vec(bytes())?, OTHER, COUNT)?;
    let theirs = BooleanBuffer::new(bytes().into(), START, COUNT);
    let their_other = BooleanBuffer::new(bytes().into(), OTHER, COUNT);
    let answer = ones(OTHER);
    assert_eq!((&theirs & &their_other).count_set_bits(), answer, "arrow-rs combines the same bits");
    assert_eq!(COUNT - one.and(&other)?.count_false()?, answer, "the bits are combined");
    let cases = vec![
        memcpy(nbytes),
        Case::new(ARROW, COUNT, || black_box(black_box(&theirs) & black_box(&their_other)).len()),
        Case::new("crossdock", COUNT, || {
            let both = black_box(&one).and(black_box(&other));
            black_box(&both).as_ref().map_or(0, Bitmap::len)
        })
        .reaching(Reach::ratio(TO_REACH, LIMIT)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("and of 8 Mi bits, unaligned", Scale::gigabytes(nbytes), &[LIMIT, ARROW], cases)
}

pub(super) fn to_mask(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let parts = ColumnParts {
        len: COUNT,
        offset: START,
        validity: Some(Buffer::from_vec(bytes())?),
        buffers: vec![Buffer::from_vec(vec![0u8; COUNT + START])?],
        ..ColumnParts::default()
    };
    let column = Column::new(ColumnType::Fixed(DType::U8), parts, Checks::Shape)?;
    let theirs = BooleanBuffer::new(bytes().into(), START, COUNT);
    let first: Vec<bool> = theirs.iter().take(1000).collect();
    let mask = column.mask()?;
    assert!(first.iter().enumerate().all(|(i, &bit)| mask.get(&[i]).is_ok_and(|value| value == bit.into())));
    let cases = vec![
        memcpy(COUNT),
        Case::new(ARROW, COUNT, || black_box(black_box(&theirs).iter().collect::<Vec<bool>>()).len()),
        Case::new("crossdock", COUNT, || {
            let mask = black_box(&column).mask();
            black_box(&mask).as_ref().map_or(0, |mask| mask.len())
        })
        .reaching(Reach::ratio(TO_REACH, LIMIT)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("bitmap to 8 MiB of booleans", Scale::gigabytes(COUNT), &[LIMIT, ARROW], cases)
}

pub(super) fn from_mask(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let bytes = bytes();
    let mask: Vec<bool> = (0..COUNT).map(|i| bytes[i / 8] >> (i % 8) & 1 != 0).collect();
    let zeros = mask.iter().filter(|&&bit| !bit).count();
    let built = |mask: &[bool]| -> crossdock::Result<usize> {
        let mut bits = BitmapBuilder::with_capacity(mask.len())?;
        bits.append_slice(mask)?;
        let zeros = bits.count_false();
        black_box(bits.finish());
        Ok(zeros)
    };
    let cases = vec![
        memcpy(COUNT),
        Case::new(ARROW, zeros, || {
            let bits = black_box(BooleanBuffer::from(black_box(&mask[..])));
            COUNT - bits.count_set_bits()
        }),
        Case::new("crossdock", zeros, || built(black_box(&mask)).unwrap_or(0))
            .reaching(Reach::ratio(TO_REACH, LIMIT)),
    ];
    let cases = cases.into_iter().map(Case::settled).collect();
    harness::measure("8 MiB of booleans to a bitmap", Scale::gigabytes(COUNT), &[LIMIT, ARROW], cases)
}
