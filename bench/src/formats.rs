//! The cost of item formats: parsing one, and reading the numbers of an item by it.

use std::hint::black_box;
use std::sync::Arc;

use crossdock::bindings::dialect::pack::{self, Member};

use crate::arrow::Arrow;
use crate::harness::{self, Case, Reach, Scale, Table};
use crate::{Measure, Result};

pub(crate) const MEASURES: &[Measure] = &[Measure { group: "hand-over", name: "formats", run: formats }];

const PEER: &str = "Arc::clone + drop";

/// One number, a few, and a format with all features.
const ONE: &[u8] = b"d";
const FEW: &[u8] = b"iqc";
const ALL: &[u8] = b"ccc2f3x2d4q!<";

/// The number of components of a format, and the last byte of the last one.
fn parse(format: &[u8]) -> usize {
    let template = pack::parse(black_box(format));
    let Ok(template) = black_box(&template) else { return 0 };
    let components = template.components();
    components.len() + components.last().map_or(0, |last| last.offset + last.size * last.repeat)
}

fn size(format: &[u8]) -> usize {
    pack::item_size(black_box(format)).unwrap_or(0)
}

/// The sum of all numbers; for floats, of their bits.
fn sum(item: &[u8], components: &[pack::Component]) -> usize {
    let mut sum = 0_usize;
    let done = pack::read_members(black_box(item), black_box(components), |member| {
        let word = match member {
            Member::Int(value) => value as u64,
            Member::UInt(value) => value,
            Member::Float(value) => value.to_bits(),
        };
        sum = sum.wrapping_add(word as usize);
    });
    if done.is_ok() { sum } else { 0 }
}

fn formats(_: &Measure, _: Option<&Arrow>) -> Result<Table> {
    let arc = Arc::new(41usize);
    let (one, few) = (pack::parse(ONE)?, pack::parse(FEW)?);
    let numbers = [Member::Int(3), Member::Int(30), Member::Int(8)];
    let (mut item, mut target) = ([0; 13], [0; 13]);
    pack::write_members(&mut item, few.components(), &numbers)?;
    let double = 41_f64;
    let (bits, double) = (double.to_bits() as usize, double.to_ne_bytes());
    let cases = vec![
        Case::new(PEER, 41, || **black_box(&Arc::clone(black_box(&arc)))),
        Case::new("parse 'd' + drop", 1 + 8, || parse(ONE)).reaching(Reach::ratio(10.0 / 10.6, PEER)),
        Case::new("parse 'iqc' + drop", 3 + 13, || parse(FEW)).reaching(Reach::ratio(25.0 / 10.6, PEER)),
        Case::new("parse 'ccc2f3x2d4q!<' + drop", 6 + 58, || parse(ALL))
            .reaching(Reach::ratio(60.0 / 10.6, PEER)),
        Case::new("item size of 'd'", 8, || size(ONE)),
        Case::new("item size of 'iqc'", 13, || size(FEW)),
        Case::new("item size of 'ccc2f3x2d4q!<'", 58, || size(ALL)),
        Case::new("read an item of 'd'", bits, || sum(&double, one.components()))
            .reaching(Reach::ratio(3.0 / 10.6, PEER)),
        Case::new("read an item of 'iqc'", 41, || sum(&item, few.components()))
            .reaching(Reach::ratio(10.0 / 10.6, PEER)),
        Case::new("write an item of 'iqc'", 8, || {
            let done =
                pack::write_members(black_box(&mut target), black_box(few.components()), black_box(&numbers));
            if done.is_ok() { usize::from(target[12]) } else { 0 }
        }),
    ];
    harness::measure("item formats", Scale::NANOSECONDS, &[PEER], cases)
}
